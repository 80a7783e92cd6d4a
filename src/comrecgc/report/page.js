const data = JSON.parse(document.getElementById("data").textContent);
const total = data.recourses.length;
const dark = window.matchMedia("(prefers-color-scheme: dark)");

// Only drawings, made and escaped by the package, go in as markup.
function drawing(markup) {
  const holder = element("div");
  holder.innerHTML = markup;
  return holder;
}

function fillReason(details) {
  const cards = details.querySelector(".cards");
  if (cards.childElementCount) return;
  for (const card of data.uncovered[Number(details.dataset.reason)]) {
    const figure = element("figure");
    figure.append(drawing(card.svg), element("figcaption", card.words));
    cards.append(figure);
  }
}
for (const details of document.querySelectorAll(".reason")) {
  details.addEventListener("toggle", () => details.open && fillReason(details));
}
if (!total) return;

const rows = [...document.querySelectorAll("#table .row")];
const details = rows.map((row) => row.nextElementSibling);

function exampleFigure(example) {
  const figure = element("figure", undefined, example.wide ? "example wide" : "example");
  const pair = element("div", undefined, "pair");
  const arrow = element("div", "→", "arrow");
  arrow.setAttribute("aria-hidden", "true");
  pair.append(drawing(example.before), arrow, drawing(example.after));
  const caption = element("figcaption");
  if (example.pattern) caption.append(element("b", example.pattern), element("br"));
  caption.append(example.words);
  const script = element("details");
  const steps = element("ol");
  steps.append(...example.steps.map((step) => element("li", step)));
  script.append(element("summary", `Edit script, ${example.steps.length} ${example.steps.length === 1 ? "step" : "steps"}`), steps);
  caption.append(script);
  figure.append(pair, caption);
  return figure;
}
function fill(place) {
  const cell = details[place].firstElementChild;
  if (cell.childElementCount) return;
  const recourse = data.recourses[place];
  cell.append(element("p", recourse.description));
  if (recourse.facts) cell.append(factList(recourse));
  const examples = element("div", undefined, "examples");
  examples.append(...recourse.examples.map(exampleFigure));
  cell.append(examples);
  const inputs = element("details");
  inputs.append(element("summary", recourse.reach), element("p", recourse.inputs.join(", "), "indices"));
  cell.append(inputs);
  if (recourse.also && recourse.also.length) {
    const also = element("details");
    also.append(element("summary", recourse.also_reach), element("p", recourse.also.join(", "), "indices"));
    cell.append(also);
  }
}
// What is known of a rule, and the rule as SMIRKS to copy.
function factList(rule) {
  const list = element("dl", undefined, "known");
  for (const [name, words] of rule.facts) list.append(element("dt", name), element("dd", words));
  if (rule.smirks) {
    const code = element("dd");
    code.append(element("code", rule.smirks));
    list.append(element("dt", "SMIRKS"), code);
  }
  return list;
}
function open(place, isOpen) {
  if (isOpen) fill(place);
  rows[place].querySelector("button").setAttribute("aria-expanded", String(isOpen));
  details[place].hidden = !isOpen || rows[place].hidden;
}
const isOpen = (place) => rows[place].querySelector("button").getAttribute("aria-expanded") === "true";
rows.forEach((row, place) => row.addEventListener("click", () => {
  if (!String(window.getSelection())) open(place, !isOpen(place));
}));
function visit(place) {
  if (rows[place].hidden) reset();
  open(place, true);
  rows[place].scrollIntoView({ block: "start" });
  rows[place].querySelector("button").focus({ preventScroll: true });
}

// Search, kind and the first R together decide which rows are shown.
const first = byId("first");
const search = byId("search");
const kind = byId("kind");
function matches(place) {
  const recourse = data.recourses[place];
  const words = search.value.trim().toLowerCase();
  if (kind.value && !recourse.kinds.includes(kind.value)) return false;
  if (!words) return true;
  if (/^#?\d+$/.test(words)) {
    const number = Number(words.replace("#", ""));
    return recourse.inputs.includes(number) || (recourse.also || []).includes(number);
  }
  return words.split(/\s+/).every((word) => recourse.text.includes(word));
}
function refresh() {
  const shown = Number(first.value);
  let count = 0;
  rows.forEach((row, place) => {
    row.hidden = place >= shown || !matches(place);
    details[place].hidden = row.hidden || !isOpen(place);
    count += row.hidden ? 0 : 1;
  });
  byId("count").textContent = `${count} of ${total} ${data.noun}${total === 1 ? "" : "s"}`;
  byId("nothing").hidden = count > 0;
  const words = `${shown} cover${shown === 1 ? "s" : ""} ${percent(data.curve[shown - 1])}`;
  byId("first-words").textContent = words;
  first.setAttribute("aria-valuetext", words);
  moveMarker(shown);
  drawMap();
}
function reset() {
  search.value = "";
  kind.value = "";
  first.value = String(total);
  refresh();
}
for (const control of [first, search, kind]) control.addEventListener("input", refresh);
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("reset").addEventListener("click", reset);

// The curve is drawn at the width it has, so that its words keep their size.
const curve = { scale: null, drop: null, dot: null, now: null };
function drawCurve() {
  const holder = byId("curve");
  const width = Math.max(240, holder.clientWidth);
  const height = Math.round(Math.min(340, Math.max(220, width * 0.36)));
  const edge = { left: 44, right: 14, top: 26, bottom: 34 };
  const end = data.curve[total - 1];
  const step = end > 0.5 ? 0.2 : end > 0.2 ? 0.1 : 0.05;
  const top = step * Math.max(1, Math.ceil(end / step - 1e-9));
  const x = (count) => edge.left + (count / total) * (width - edge.left - edge.right);
  const y = (share) => height - edge.bottom - (share / top) * (height - edge.top - edge.bottom);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  for (let tick = 0; tick <= Math.round(top / step); tick += 1) {
    const share = step * tick;
    picture.append(svg("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: y(share), y2: y(share) }));
    picture.append(svg("text", { x: edge.left - 8, y: y(share) + 4, "text-anchor": "end" }, `${Math.round(100 * share)}%`));
  }
  const stride = Math.max(1, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((s) => total / s <= width / 70) || 2000);
  for (let count = stride; count <= total; count += stride) {
    picture.append(svg("text", { x: x(count), y: height - 12, "text-anchor": "middle" }, count));
  }
  const points = [0, ...data.curve].map((share, count) => `${x(count).toFixed(1)} ${y(share).toFixed(1)}`);
  picture.append(svg("path", { class: "area", d: `M${points.join("L")}L${x(total)} ${y(0)}Z` }));
  picture.append(svg("path", { class: "curve", d: `M${points.join("L")}` }));
  curve.drop = svg("line", { class: "drop", id: "drop" });
  curve.dot = svg("circle", { class: "dot", id: "marker", r: 5 });
  curve.now = svg("text", { class: "now" });
  picture.append(curve.drop, curve.dot, curve.now);
  curve.scale = { x, y, width };
  holder.replaceChildren(picture);
  moveMarker(Number(first.value));
}
function moveMarker(shown) {
  if (!curve.scale) return;
  const { x, y, width } = curve.scale;
  const at = { x: x(shown), y: y(data.curve[shown - 1]) };
  for (const [name, value] of Object.entries({ x1: at.x, x2: at.x, y1: y(0), y2: at.y })) curve.drop.setAttribute(name, value);
  curve.dot.setAttribute("cx", at.x);
  curve.dot.setAttribute("cy", at.y);
  curve.now.setAttribute("x", at.x + (at.x > width / 2 ? -10 : 10));
  curve.now.setAttribute("y", at.y - 10);
  curve.now.setAttribute("text-anchor", at.x > width / 2 ? "end" : "start");
  curve.now.textContent = percent(data.curve[shown - 1]);
}

// The map, of vectors alone: colour and shape for the recourses with most inputs, grey dots for the rest.
const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B", "#6A51A3", "#2B2B2B"];
const DARK = ["#64B5F6", "#FF9650", "#3DDBA8", "#F0A6CF", "#F2C14E", "#B9A5F0", "#F5F5F5"];
const canvas = byId("map");
const ranked = data.recourses.map((recourse, place) => place).filter((place) => data.recourses[place].points.length)
  .sort((a, b) => data.recourses[b].points.length - data.recourses[a].points.length || a - b).slice(0, LIGHT.length);
const rank = new Map(ranked.map((place, order) => [place, order]));
const SHAPES = ["M-4-0A4 4 0 1 0 4 0A4 4 0 1 0-4 0Z", "M-3.5-3.5H3.5V3.5H-3.5Z", "M0-4.8L4.6 3.4H-4.6Z", "M0-5L5 0L0 5L-5 0Z",
  "M-1.5-4.5H1.5V-1.5H4.5V1.5H1.5V4.5H-1.5V1.5H-4.5V-1.5H-1.5Z", "M0 4.8L4.6-3.4H-4.6Z", "M-4.5-3L-3-4.5L0-1.5L3-4.5L4.5-3L1.5 0L4.5 3L3 4.5L0 1.5L-3 4.5L-4.5 3L-1.5 0Z"];
let placed = [];
let hovered = -1;
function drawMap() {
  if (!canvas) return;
  const width = canvas.parentElement.clientWidth;
  const height = Math.round(Math.min(460, Math.max(260, width * 0.5)));
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const margin = 18;
  const scale = Math.min((width - 2 * margin) / data.extent[0], (height - 2 * margin) / data.extent[1]);
  const left = (width - data.extent[0] * scale) / 2;
  const top = (height - data.extent[1] * scale) / 2;
  const colours = dark.matches ? DARK : LIGHT;
  placed = [];
  const order = data.recourses.map((recourse, place) => place).sort((a, b) => rank.has(a) - rank.has(b));
  for (const place of hovered < 0 ? order : [...order.filter((other) => other !== hovered), hovered]) {
    const recourse = data.recourses[place];
    const strong = rank.has(place) || place === hovered;
    const path = new Path2D(strong ? SHAPES[rank.get(place) ?? 0] : "M-2 0A2 2 0 1 0 2 0A2 2 0 1 0-2 0Z");
    const faded = rows[place].hidden || (hovered >= 0 && place !== hovered);
    pen.globalAlpha = faded ? 0.12 : strong ? 0.8 : 0.5;
    pen.fillStyle = rank.has(place) ? colours[rank.get(place)] : place === hovered ? (dark.matches ? "#fff" : "#000") : dark.matches ? "#9aa0a6" : "#80868b";
    recourse.points.forEach(([px, py], index) => {
      const at = { x: left + px * scale, y: top + py * scale, place, input: recourse.inputs[index] };
      pen.translate(at.x, at.y);
      pen.fill(path);
      pen.translate(-at.x, -at.y);
      if (!rows[place].hidden) placed.push(at);
    });
  }
  pen.globalAlpha = 1;
}
function nearest(event) {
  const box = canvas.getBoundingClientRect();
  const x = event.clientX - box.left;
  const y = event.clientY - box.top;
  let best = null;
  let reach = 14 * 14;
  for (const point of placed) {
    const apart = (point.x - x) ** 2 + (point.y - y) ** 2;
    if (apart < reach) [best, reach] = [point, apart];
  }
  return best;
}
function hover(place, words) {
  byId("map-tip").hidden = !words;
  byId("map-tip").textContent = words;
  if (place === hovered) return;
  hovered = place;
  drawMap();
}
canvas?.addEventListener("pointermove", (event) => {
  const point = nearest(event);
  hover(point ? point.place : -1, point ? `Input ${point.input}, recourse ${point.place + 1}: ${data.recourses[point.place].summary}` : "");
});
canvas?.addEventListener("pointerleave", () => hover(-1, ""));
canvas?.addEventListener("click", (event) => {
  const point = nearest(event);
  if (point) visit(point.place);
});
function drawKey() {
  if (!canvas) return;
  const colours = dark.matches ? DARK : LIGHT;
  byId("map-key").replaceChildren(...ranked.map((place, order) => {
    const item = element("li");
    const button = element("button");
    button.type = "button";
    const icon = svg("svg", { viewBox: "-6 -6 12 12", "aria-hidden": "true" });
    icon.append(svg("path", { d: SHAPES[order], fill: colours[order] }));
    button.append(icon, element("bdi", `${place + 1}. ${data.recourses[place].summary}`));
    button.addEventListener("click", () => visit(place));
    item.append(button);
    return item;
  }));
}

let resizing = 0;
window.addEventListener("resize", () => {
  cancelAnimationFrame(resizing);
  resizing = requestAnimationFrame(() => { drawCurve(); drawMap(); });
});
dark.addEventListener("change", () => { drawKey(); drawMap(); });
drawCurve();
drawKey();
refresh();
const named = /^#recourse-(\d+)$/.exec(window.location.hash);
if (named && rows[Number(named[1]) - 1]) visit(Number(named[1]) - 1);
else if (data.noun === "rule") open(0, true);
