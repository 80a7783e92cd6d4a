// What the page is about, what is wished, and what was chosen: set when the table is unpacked.
let table = null;
let thing = "graph";
let atomic = 1;
let groupNames = new Map();
let maxCost = 1;
let maxChanges = 1;
let reject = "rejected";
let accept = "accepted";
let wishes = null;
let choice = null;
const opened = new Set();
const USUAL_TRUTH = 0.6;

const KIND_WORDS = {
  relabel: ["replace an atom", "relabel a node"], attach: ["attach a group", "attach a group"], detach: ["remove a group", "remove a group"],
  swap: ["swap a group", "swap a group"], join: ["join two atoms", "join two nodes"], cut: ["cut a bond", "cut an edge"],
  rebond: ["change a bond", "relabel an edge"], tie: ["tie a new atom to two others", "tie a new node to two others"],
};
const called = (item) => `${thing[0].toUpperCase()}${thing.slice(1)} ${table.index[item]}${table.names[item] ? ` (${table.names[item]})` : ""}`;

// What the run itself wished for.
function initial() {
  const asked = table.wishes;
  return {
    num: table.numRecourses, minSuccess: asked.min_success ?? 0, minSupport: asked.min_support ?? 1, maxCost: asked.max_cost ?? null,
    maxChanges: asked.max_changes ?? 3, radii: asked.radii ?? [0, 1, 2], forbiddenLabels: new Set(asked.forbidden_labels ?? []),
    forbiddenGroups: new Set(asked.forbidden_groups ?? []), protectedLabels: new Set(asked.protected_labels ?? []),
    forbiddenKinds: new Set((asked.forbidden_kinds ?? []).map((kind) => table.kinds.indexOf(kind))),
    confirmed: asked.confirmed ?? false, minTruth: table.hasJury ? asked.min_truth ?? 0 : 0, picks: [], drops: [], further: 0,
  };
}

// Wishes in the address, so that a choice can be kept and sent: only what differs from the run's own.
const LISTS = { "no-add": ["forbiddenLabels", "labels"], protect: ["protectedLabels", "labels"], "no-kind": ["forbiddenKinds", "kinds"] };
function addressOf(now) {
  const own = initial();
  const parts = [];
  const put = (name, value, usual) => { if (String(value) !== String(usual)) parts.push(`${name}=${value}`); };
  put("rules", now.num, own.num);
  put("success", now.minSuccess, own.minSuccess);
  put("support", now.minSupport, own.minSupport);
  put("edits", now.maxCost ?? "any", own.maxCost ?? "any");
  put("changes", now.maxChanges, own.maxChanges);
  put("radii", now.radii.join("."), own.radii.join("."));
  put("confirmed", Number(now.confirmed), Number(own.confirmed));
  put("truth", now.minTruth, own.minTruth);
  put("goal", now.further, own.further);
  for (const [name, [field]] of Object.entries(LISTS)) put(name, [...now[field]].sort((a, b) => a - b).join("."), [...own[field]].sort((a, b) => a - b).join("."));
  put("no-group", [...now.forbiddenGroups].sort((a, b) => a - b).join("."), [...own.forbiddenGroups].sort((a, b) => a - b).join("."));
  put("pick", now.picks.join("."), "");
  put("drop", now.drops.join("."), "");
  return parts.length ? `#${parts.join("&")}` : "#";
}
const isOwn = () => addressOf(wishes) === "#";
function wishesOf(address) {
  const now = initial();
  const numbers = (text, most) => [...new Set(text.split(".").filter((part) => /^\d+$/.test(part)).map(Number).filter((value) => value < most))];
  for (const part of address.replace(/^#/, "").split("&")) {
    const [name, text = ""] = part.split("=");
    const value = Number(text);
    if (name === "rules" && value >= 1) now.num = Math.floor(Math.min(value, table.K));
    if (name === "success" && value >= 0 && value <= 1) now.minSuccess = value;
    if (name === "support" && value >= 1) now.minSupport = Math.floor(value);
    if (name === "edits") now.maxCost = value >= 1 ? Math.floor(value) : null;
    if (name === "changes" && [1, 2, 3].includes(value)) now.maxChanges = value;
    if (name === "radii") now.radii = numbers(text, 3);
    if (name === "confirmed") now.confirmed = value === 1 && table.hasPanel;
    if (name === "truth" && value >= 0 && value <= 1 && table.hasJury) now.minTruth = Math.round(100 * value) / 100;
    if (name === "goal" && value >= 0 && table.goal) now.further = value;
    if (LISTS[name]) now[LISTS[name][0]] = new Set(numbers(text, table[LISTS[name][1]].length));
    if (name === "no-group") now.forbiddenGroups = new Set(numbers(text, 65536).filter((group) => groupNames.has(group)));
    if (name === "pick") now.picks = numbers(text, table.K);
    if (name === "drop") now.drops = numbers(text, table.K).filter((rule) => !now.picks.includes(rule));
  }
  return now;
}
// A name forbids all groups that are called so: the same atoms on another bond, say.
const groupsCalled = (name) => [...groupNames.keys()].filter((group) => groupNames.get(group) === name);
const forbiddenNames = (now) => [...new Set([...now.forbiddenGroups].map((group) => groupNames.get(group)))];
// The same choice on the command line; null where it has no such option.
function commandOf(now) {
  if (now.further || now.picks.length || now.drops.length || now.radii.join() !== "0,1,2") return null;
  const own = initial();
  if (own.confirmed && !now.confirmed) return null;
  const names = new Set(forbiddenNames(now));
  if (table.groups.some(([group, name]) => names.has(name) && !now.forbiddenGroups.has(group))) return null;
  const words = [`comrecgc choose ${quoted(runFolder)}`, `--recourses ${now.num}`];
  if (now.minSuccess !== own.minSuccess) words.push(`--min-success ${now.minSuccess}`);
  if (now.minSupport !== own.minSupport) words.push(`--min-support ${now.minSupport}`);
  if (now.maxCost !== null) words.push(`--max-cost ${now.maxCost}`);
  if (now.maxChanges !== own.maxChanges) words.push(`--max-changes ${now.maxChanges}`);
  for (const kind of now.forbiddenKinds) words.push(`--forbid-kind ${table.kinds[kind]}`);
  for (const label of now.forbiddenLabels) words.push(`--forbid-label ${quoted(table.labels[label])}`);
  for (const name of names) words.push(`--forbid-group ${quoted(name)}`);
  for (const label of now.protectedLabels) words.push(`--protect-label ${quoted(table.labels[label])}`);
  if (now.confirmed && !own.confirmed) words.push("--confirmed");
  if (now.minTruth !== own.minTruth) words.push(`--min-truth ${now.minTruth}`);
  return words.join(" ");
}

// Controls.
const field = (id) => byId(`wish-${id}`);
function chips(holder, items, set) {
  holder.replaceChildren(...items.map(([value, name, title]) => {
    const chip = button(name, "chip", () => {
      if (set().has(value)) set().delete(value);
      else set().add(value);
      update();
    });
    if (title) chip.title = title;
    chip.dataset.value = value;
    return chip;
  }));
}
function pressChips(holder, set) {
  for (const chip of holder.children) chip.setAttribute("aria-pressed", String(set.has(Number(chip.dataset.value))));
}
function buildControls() {
  const present = (kind) => table.kindOf.includes(kind);
  // Where hydrogens are nodes, a group is attached in the place of one.
  if (!present(table.kinds.indexOf("attach"))) KIND_WORDS.swap[0] = "attach, remove or swap a group";
  chips(field("kinds"), table.kinds.map((kind, k) => [k, KIND_WORDS[kind][atomic]]).filter(([k]) => present(k)), () => wishes.forbiddenKinds);
  const some = (bits) => table.labels.map((name, label) => [label, name]).filter(([label]) => {
    for (let rule = 0; rule < table.K; rule += 1) if (bits[rule * table.labels.length + label]) return true;
    return false;
  });
  chips(field("adds"), some(table.adds), () => wishes.forbiddenLabels);
  chips(field("protects"), some(table.removes), () => wishes.protectedLabels);
  field("adds").parentElement.hidden = !field("adds").childElementCount;
  field("protects").parentElement.hidden = !field("protects").childElementCount;
  field("group").append(...[...new Set(groupNames.values())].map((name) => Object.assign(element("option", name), { value: name })));
  field("group").closest(".wish").hidden = !table.groups.length;
  field("group").addEventListener("change", () => {
    for (const group of groupsCalled(field("group").value)) wishes.forbiddenGroups.add(group);
    field("group").value = "";
    update();
  });
  field("num").max = table.K;
  field("num-range").max = Math.min(table.K, Math.max(30, table.numRecourses));
  field("edits").max = maxCost;
  field("changes").append(...["one change", "one or two changes", "up to three changes"].slice(0, maxChanges)
    .map((words, k) => Object.assign(element("option", words), { value: k + 1 })));
  field("changes").closest(".wish").hidden = maxChanges < 2;
  field("panel").hidden = !table.hasPanel && !table.hasJury;
  field("confirmed").parentElement.hidden = !table.hasPanel;
  field("true").parentElement.hidden = !table.hasJury;
  const on = (id, event, action) => field(id).addEventListener(event, () => { action(field(id)); update(); });
  on("num-range", "input", (it) => { wishes.num = Number(it.value); });
  on("num", "input", (it) => { if (it.value >= 1) wishes.num = Math.floor(Math.min(Number(it.value), table.K)); });
  on("success", "input", (it) => { wishes.minSuccess = Number(it.value) / 100; });
  on("support", "input", (it) => { if (it.value >= 1) wishes.minSupport = Math.floor(Number(it.value)); });
  on("edits", "input", (it) => { wishes.maxCost = Number(it.value) >= maxCost ? null : Number(it.value); });
  on("changes", "change", (it) => { wishes.maxChanges = Number(it.value) >= maxChanges ? Math.max(initial().maxChanges, maxChanges) : Number(it.value); });
  on("confirmed", "change", (it) => { wishes.confirmed = it.checked; });
  on("true", "change", (it) => { wishes.minTruth = it.checked ? initial().minTruth || USUAL_TRUTH : 0; });
  on("truth", "input", (it) => { wishes.minTruth = Number(it.value) / 100; });
  field("goal").closest(".wish").hidden = !table.goal;
  if (table.goal) field("goal").max = Math.ceil(10 * table.surplus.reduce((most, value) => Math.max(most, value), 0)) / 10;
  on("goal", "input", (it) => { wishes.further = Number(it.value); });
  byId("wishes").addEventListener("submit", (event) => event.preventDefault());
  byId("reset").addEventListener("click", () => { wishes = initial(); update(); });
}
function showWishes() {
  const quietly = (node, value) => { if (document.activeElement !== node || Number(node.value) !== Number(value)) node.value = value; };
  quietly(field("num"), wishes.num);
  field("num-range").value = wishes.num;
  field("num-range").setAttribute("aria-valuetext", counted(wishes.num, "rule"));
  field("success").value = Math.round(100 * wishes.minSuccess);
  const success = wishes.minSuccess ? `at least ${percent(wishes.minSuccess, Number.isInteger(100 * wishes.minSuccess) ? 0 : 1)}` : "any";
  byId("wish-success-words").textContent = success;
  field("success").setAttribute("aria-valuetext", success);
  quietly(field("support"), wishes.minSupport);
  field("edits").value = wishes.maxCost ?? maxCost;
  const edits = wishes.maxCost === null ? "any number" : `at most ${wishes.maxCost}`;
  byId("wish-edits-words").textContent = edits;
  field("edits").setAttribute("aria-valuetext", edits);
  field("changes").value = Math.min(wishes.maxChanges, maxChanges);
  field("confirmed").checked = wishes.confirmed;
  field("true").checked = wishes.minTruth > 0;
  field("truth").hidden = !table.hasJury || !wishes.minTruth;
  field("truth").value = Math.round(100 * (wishes.minTruth || USUAL_TRUTH));
  byId("wish-truth-words").textContent = wishes.minTruth ? `at least ${percent(wishes.minTruth, 0)} likely` : "";
  field("truth").setAttribute("aria-valuetext", byId("wish-truth-words").textContent);
  if (table.goal) {
    const { amount, sign, isRelative, name } = table.goal;
    const goal = isRelative ? amount + wishes.further : amount + sign * wishes.further;
    field("goal").value = wishes.further;
    byId("wish-goal-words").textContent = isRelative ? `${sign > 0 ? "raise" : "lower"} ${name} by ${goal.toFixed(1)}` : `${name} ${sign > 0 ? "≥" : "≤"} ${goal.toFixed(1)}`;
    field("goal").setAttribute("aria-valuetext", byId("wish-goal-words").textContent);
  }
  pressChips(field("kinds"), wishes.forbiddenKinds);
  pressChips(field("adds"), wishes.forbiddenLabels);
  pressChips(field("protects"), wishes.protectedLabels);
  field("groups").replaceChildren(...forbiddenNames(wishes).map((name) => {
    const chip = button(name, "chip", () => {
      for (const group of groupsCalled(name)) wishes.forbiddenGroups.delete(group);
      update();
    });
    chip.setAttribute("aria-pressed", "true");
    chip.setAttribute("aria-label", `Allow ${name} again`);
    return chip;
  }));
  const command = commandOf(wishes);
  byId("command").hidden = command === null;
  byId("command").querySelector("code").textContent = command ?? "";
  byId("reset").disabled = isOwn();
}
