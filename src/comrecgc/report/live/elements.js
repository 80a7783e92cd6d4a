// Small things. Text always goes in as text: nothing from the data is ever read as markup.
const byId = (id) => document.getElementById(id);
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)}%`;
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const grouped = (count) => count.toLocaleString("en");
const quoted = (name) => (/^[\w./~+:-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);
// The folder that the page lies in, for commands to copy.
const runFolder = window.location.protocol === "file:" ? decodeURIComponent(window.location.pathname).replace(/^\/([A-Z]:)/, "$1").replace(/\/[^/]*$/, "") : "DIR";
function element(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = text;
  if (className) node.className = className;
  return node;
}
const NS = "http://www.w3.org/2000/svg";
function svg(tag, attributes, text) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}
function button(text, className, action) {
  const node = element("button", text, className);
  node.type = "button";
  node.addEventListener("click", action);
  return node;
}
