// What follows from a wish: figures, curve, files to save. And the beginning.

let pending = 0;
let ownAgreement = "";
function update(keepAddress = false) {
  const begin = performance.now();
  choice = isOwn() ? ownChoice(table, wishes) : chooseRules(table, wishes);
  document.documentElement.dataset.milliseconds = (performance.now() - begin).toFixed(1);
  if (!keepAddress) window.history.replaceState(null, "", addressOf(wishes));
  browse.shown = SHOWN_AT_ONCE;
  showWishes();
  showFigures();
  showFirstRules();
  showRules();
  showBrowser();
  showUncovered();
  drawCurve();
  document.documentElement.dataset.settled = "";
  clearTimeout(pending);
  pending = setTimeout(showSlowFigures, 30);
}
const setFigure = (name, value, hint) => {
  const figure = document.querySelector(`[data-figure="${name}"]`);
  if (!figure) return;
  figure.children[1].textContent = value;
  if (hint !== undefined) figure.children[2].textContent = hint;
};
function showFigures() {
  const num = choice.rules.length;
  const share = choice.covered / Math.max(table.N, 1);
  byId("title-rules").textContent = `${counted(num, "rule")} ${byId("title-rules").dataset.verb}${num === 1 ? "s" : ""}`;
  byId("title-count").textContent = grouped(choice.covered);
  setFigure("covered", percent(share));
  const first = firstEntries().filter((at) => at >= 0);
  const confirmed = first.filter((at) => table.confirmed[at]).length;
  setFigure("confirmed", percent(confirmed / Math.max(table.N, 1)));
  byId("agreement").textContent = isOwn() ? ownAgreement : agreementOf(first, confirmed);
  const cost = choice.rules.reduce((sum, rule, k) => sum + table.cost[rule] * choice.added[k], 0) / Math.max(choice.covered, 1);
  setFigure("cost", cost.toFixed(1));
  const left = table.N - choice.covered;
  const words = num ? `${counted(num, "rule")} cover${num === 1 ? "s" : ""} ${percent(share)} of ${table.N} ${thing}s; ${left} remain.` : "No rule is as you wish. Allow more.";
  byId("answer").textContent = words;
  byId("picked").textContent = pickedWords();
}
// Members of the jury that took no part were asked about the run's own results alone; of others there is the estimate that the table keeps.
function agreementOf(first, confirmed) {
  if (!first.length) return "";
  const truth = first.reduce((sum, at) => sum + table.truth[at], 0) / (100 * first.length);
  if (table.hasJury) return `Models of other kinds expect ${percent(truth, 0)} of these results to come true.`;
  return table.hasPanel ? `Most of a panel of networks trained on the same data agree for ${grouped(confirmed)} of them.` : "";
}
function pickedWords() {
  const parts = [];
  if (wishes.picks.length) parts.push(`${wishes.picks.length} picked by hand`);
  if (wishes.drops.length) parts.push(`${wishes.drops.length} never chosen`);
  return parts.length ? `${parts.join(", ")}.` : "";
}
// The entry by which each input is covered: that of the first chosen rule that turns it; -1 where none does.
function firstEntries() {
  const first = new Array(table.N).fill(-1);
  for (const rule of choice.rules) {
    for (let at = table.ptr[rule]; at < table.ptr[rule + 1]; at += 1) {
      if (first[table.input[at]] < 0 && choice.worth[at]) first[table.input[at]] = at;
    }
  }
  return first;
}
function showSlowFigures() {
  const num = choice.rules.length;
  const share = choice.covered / Math.max(table.N, 1);
  // The run itself looked longer for a bound on its own choice.
  const bound = isOwn() && typeof table.bound === "number" ? table.bound : choice.boundOf() / Math.max(table.N, 1);
  const best = bound - share < 5e-4 && !wishes.picks.length;
  setFigure("bound", percent(bound), num === 0 ? "no rule is like that" : `no ${num === 1 ? "other rule covers" : `${num} of the ${table.K} rules kept cover`} more${best ? ": this choice is the best" : ""}`);
  const unseen = heldOutCoverage(table, wishes);
  if (unseen !== null) setFigure("unseen", percent(unseen));
  for (const [k, row] of [...document.querySelectorAll("#frontier > div")].entries()) {
    const found = chooseRules(table, { ...wishes, picks: [], maxChanges: k + 1 });
    const share = found.covered / Math.max(table.N, 1);
    row.querySelector("b").textContent = percent(share);
    row.querySelectorAll("rect")[1].setAttribute("width", 100 * share);
  }
  document.documentElement.dataset.unseen = unseen === null ? "" : unseen;
  document.documentElement.dataset.settled = "yes";
}

// The curve of the choice, drawn at the width it has, so that its words keep their size.
function drawCurve() {
  const holder = byId("curve");
  const total = choice.rules.length;
  let sum = 0;
  const shares = [0, ...choice.added.map((gain) => (sum += gain) / Math.max(table.N, 1))];
  const width = Math.max(240, holder.clientWidth);
  const height = Math.round(clamp(width * 0.42, 200, 300));
  const edge = { left: 44, right: 16, top: 26, bottom: 34 };
  const end = shares[total];
  const x = (count) => edge.left + (count / Math.max(total, 1)) * (width - edge.left - edge.right);
  const y = (share) => height - edge.bottom - share * (height - edge.top - edge.bottom);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  for (const share of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
    picture.append(svg("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: y(share), y2: y(share) }));
    picture.append(svg("text", { x: edge.left - 8, y: y(share) + 4, "text-anchor": "end" }, `${Math.round(100 * share)}%`));
  }
  const stride = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((s) => total / s <= width / 70) || 2000;
  for (let count = stride; count <= total; count += stride) {
    picture.append(svg("text", { x: x(count), y: height - 12, "text-anchor": "middle" }, count));
  }
  const points = shares.map((share, count) => `${at1(x(count))} ${at1(y(share))}`);
  picture.append(svg("path", { class: "area", d: `M${points.join("L")}L${at1(x(total))} ${at1(y(0))}Z` }));
  picture.append(svg("path", { class: "curve", d: `M${points.join("L")}` }));
  shares.slice(1).forEach((share, k) => picture.append(svg("circle", { class: "dot", cx: at1(x(k + 1)), cy: at1(y(share)), r: total > 40 ? 2 : 4 })));
  if (total) picture.append(svg("text", { class: "now", x: x(total), y: y(end) - 12, "text-anchor": "end" }, percent(end)));
  holder.setAttribute("aria-label", `Share of ${thing}s covered by the first 1 to ${total} rules: ${shares.slice(1, 11).map((share) => percent(share)).join(", ")}`);
  holder.replaceChildren(picture);
}

// Taking the choice away.
function exported() {
  let covered = 0;
  return choice.rules.map((rule, k) => {
    covered += choice.added[k];
    const pattern = patternOf(table, rule);
    const known = statistics(table, rule);
    const inputs = [];
    for (let at = table.ptr[rule]; at < table.ptr[rule + 1]; at += 1) inputs.push(table.index[table.input[at]]);
    return { rule, pattern, known, inputs, adds: choice.added[k], coverage: covered / table.N };
  });
}
const STARTS = /^[=+\-@＝＋－＠]/; // a spreadsheet would run such a cell as a formula
function asCsv() {
  const safe = (value) => {
    if (typeof value === "number") return String(value);
    const words = String(value ?? "").replace(/\s+/g, " ").trim();
    const text = STARTS.test(words) ? `'${words}` : words;
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const rows = [["recourse", "summary", "description", "gain", "coverage", "applicable", "accepted", "success", "success_low", "success_high", "held_out_success", "confirmed", "mean_truth", "cost", "changes", "smirks", "inputs"]];
  exported().forEach(({ rule, pattern, known, inputs, adds, coverage }, k) => rows.push([
    k + 1, pattern.summary, pattern.description, adds, coverage, known.applicable, known.turned, known.success, known.interval[0], known.interval[1],
    known.unseen, table.hasPanel ? table.numConfirmed[rule] : "", known.truth, table.cost[rule], table.numChanges[rule], pattern.smirks, inputs.join(" "),
  ]));
  return `${rows.map((row) => row.map(safe).join(",")).join("\n")}\n`;
}
function asJson() {
  const side = ({ labels, edges }, extra) => ({
    labels, edges: edges.map(([i, j]) => [i, j]), edge_labels: table.edgeLabels && table.bonds.length ? edges.map((edge) => edge[2]) : null, ...extra,
  });
  const now = {
    num_recourses: wishes.num, min_success: wishes.minSuccess, min_support: wishes.minSupport, max_cost: wishes.maxCost, max_changes: wishes.maxChanges,
    forbidden_labels: [...wishes.forbiddenLabels].map((label) => table.labels[label]), protected_labels: [...wishes.protectedLabels].map((label) => table.labels[label]),
    forbidden_kinds: [...wishes.forbiddenKinds].map((kind) => table.kinds[kind]), forbidden_groups: forbiddenNames(wishes),
    confirmed: wishes.confirmed, min_truth: wishes.minTruth, picked: wishes.picks, dropped: wishes.drops,
  };
  return JSON.stringify({
    dataset: table.dataset, recourse: "rules", changes: table.changes, wishes: now, coverage: choice.covered / table.N, num_inputs: table.N,
    label_names: table.labels, edge_label_names: table.edgeLabels,
    recourses: exported().map(({ rule, pattern, known, inputs, adds, coverage }) => ({
      summary: pattern.summary, description: pattern.description, gain: adds, coverage,
      rule: { before: side(pattern.before, { closed: pattern.closed.map(Boolean) }), after: side(pattern.after), kept: [...pattern.image], radius: table.radius[rule], smirks: pattern.smirks || null },
      statistics: { applicable: known.applicable, accepted: known.turned, success: known.success, interval: known.interval, held_out: { success: known.unseen }, confirmed: table.hasPanel ? table.numConfirmed[rule] : null, mean_truth: known.truth, cost: table.cost[rule], num_changes: table.numChanges[rule], median_rise: known.rise },
      inputs,
    })),
  }, null, 1);
}
function save(name, type, text) {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
function buildSaving() {
  byId("export-csv").addEventListener("click", () => save("rules.csv", "text/csv", asCsv()));
  byId("export-json").addEventListener("click", () => save("rules.json", "application/json", asJson()));
}

// Beginning.
function start(unpacked) {
  table = unpacked;
  thing = table.isMolecular ? "molecule" : "graph";
  atomic = table.isMolecular ? 0 : 1;
  groupNames = new Map(table.groups);
  maxCost = table.cost.reduce((most, cost) => Math.max(most, cost), 1);
  maxChanges = table.numChanges.reduce((most, count) => Math.max(most, count), 1);
  reject = table.classes[0] === "reject" ? "rejected" : table.classes[0];
  accept = table.classes[1] === "accept" ? "accepted" : table.classes[1];
  wishes = initial();
  buildControls();
  buildBrowser();
  buildLookup();
  buildSaving();
  for (const node of document.querySelectorAll("[data-live]")) node.hidden = false;
  for (const node of document.querySelectorAll("[data-folder]")) node.textContent = node.textContent.replace("DIR", quoted(runFolder));
  ownAgreement = byId("agreement").textContent;
  const named = /^#recourse-(\d+)$/.exec(window.location.hash);
  if (!named && window.location.hash.length > 1) wishes = wishesOf(window.location.hash);
  window.addEventListener("hashchange", () => {
    if (/^#recourse-\d+$|^#[a-z-]+$/.test(window.location.hash)) return;
    wishes = wishesOf(window.location.hash);
    update(true);
  });
  choice = isOwn() ? ownChoice(table, wishes) : chooseRules(table, wishes);
  const asked = named ? choice.rules[Number(named[1]) - 1] : undefined;
  if (asked !== undefined) opened.add(`c${asked}`);
  update(true);
  if (named && byId(`recourse-${named[1]}`)) byId(`recourse-${named[1]}`).scrollIntoView({ block: "start" });
  let resizing = 0;
  window.addEventListener("resize", () => {
    cancelAnimationFrame(resizing);
    resizing = requestAnimationFrame(drawCurve);
  });
  // For those who want to ask the table themselves, in the browser's console.
  window.comrecgc = Object.freeze({
    table,
    choose: (asked) => {
      const found = chooseRules(table, { ...initial(), ...asked });
      return { ...found, bound: found.boundOf() };
    },
    heldOut: (asked) => heldOutCoverage(table, { ...initial(), ...asked }),
    result: (rule, index) => {
      const item = table.placeOf.get(index);
      const graph = inputGraph(table, item);
      const site = siteOfEntry(table, rule, entryOf(rule, item), graph);
      return site && carryOut(patternOf(table, rule), graph, site);
    },
  });
  document.documentElement.dataset.ready = "yes";
}

if (typeof DecompressionStream === "undefined") byId("too-old").hidden = false;
else unpack(byId("packed").textContent).then(start);
