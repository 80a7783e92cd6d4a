// The rules chosen, and a rule opened.
const EXAMPLES = 4;
const FIRST_RULES = 3;

function enlarged(picture, factor) {
  for (const side of ["width", "height"]) picture.setAttribute(side, at1(factor * Number(picture.getAttribute(side))));
  return picture;
}
// The first rules as cards at the top, so that the page says at once what to do.
function showFirstRules() {
  byId("first-rules").replaceChildren(...choice.rules.slice(0, FIRST_RULES).map((rule, k) => {
    const known = statistics(table, rule);
    const card = element("li");
    const words = element("p", undefined, "muted");
    words.append("works for ", element("b", `${known.least}${grouped(known.turned)} of ${grouped(known.applicable)}`), ` ${thing}s (${percent(known.success, 0)})`);
    const places = (table.known[rule] || {}).places ?? null;
    if (places !== null) words.append(`, at ${percent(places, 0)} of the places`);
    if (table.hasJury && wishes.minTruth) words.append(", likely true for ", element("b", grouped(numLikely(rule))), " of them");
    const open = button(undefined, "", () => {
      opened.add(`c${rule}`);
      showDetail(byId(`recourse-${k + 1}`), rule, `c${rule}`);
      byId(`recourse-${k + 1}`).scrollIntoView({ block: "start" });
    });
    open.append(summaryOf(rule));
    const picture = element("div");
    picture.append(enlarged(drawRuleWithin(table, rule, 330, 190), 1.5));
    card.append(picture, open, badges(rule), words);
    return card;
  }));
}

// Results of a rule that count, which are those that are likely to come true where this is wished for.
function numLikely(rule) {
  let count = 0;
  for (let at = table.ptr[rule]; at < table.ptr[rule + 1]; at += 1) count += choice.worth[at] ? 1 : 0;
  return count;
}
// What speaks for a rule: the run's own were judged by models that took no part, of others there is the estimate that the table keeps.
function badges(rule) {
  const holder = element("p", undefined, "badges");
  const known = isOwn() ? (table.known[rule] || {}).badges || [] : [];
  holder.append(...known.map(([level, words]) => element("span", words, `verdict ${level}`)));
  if (!known.length && table.hasJury) {
    const truth = table.meanTruth[rule];
    holder.append(element("span", `expected to come true: ${percent(truth, 0)}`, `verdict ${truth >= 0.8 ? "strong" : truth >= 0.6 ? "mixed" : "weak"}`));
  }
  return holder;
}
// The words of a rule: formulas have their subscripts, and the name of a group stays on one line.
const summaryOf = (rule) => written(patternOf(table, rule).summary, "bdi");
function written(text, tag) {
  const holder = element(tag);
  for (const part of text.split(/(\S+ \([–=≡][^\s()]*(?:\([^\s()]*\)[^\s()]*)*\)|[–=≡]\S+)/)) {
    const name = /[–=≡]/.test(part) && part.length < 40 ? holder.appendChild(element("span", undefined, "whole-name")) : holder;
    part.split(/((?<=[A-Z][a-z]?|\))\d+)/).forEach((piece, k) => name.append(k % 2 && table.isMolecular ? element("sub", piece) : piece));
  }
  return holder;
}

const rowOf = (cells) => {
  const row = element("tr", undefined, "row");
  row.append(...cells);
  return row;
};
function cell(name, ...content) {
  const node = element("td", undefined, "r");
  node.dataset.name = name;
  node.append(...content);
  return node;
}
function worksCell(known) {
  const small = element("small");
  const range = `${percent(known.interval[0], 0)}–${percent(known.interval[1], 0)}`.replace("%–", "–");
  small.append(element("b", percent(known.success, 0)), ` (${range})`);
  const bar = svg("svg", { class: "bar interval", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" });
  bar.append(
    svg("rect", { class: "whole", y: 2, width: 100, height: 2 }),
    svg("rect", { x: 100 * known.interval[0], y: 1, width: 100 * (known.interval[1] - known.interval[0]), height: 4 }),
    svg("rect", { class: "dot", x: 100 * known.success - 0.75, width: 1.5, height: 6 }),
  );
  return cell("works for", `${known.least}${grouped(known.turned)} of ${grouped(known.applicable)} `, small, bar);
}
function titleCell(rule, key) {
  const title = element("th");
  title.scope = "row";
  const isOpen = opened.has(key);
  const toggle = button(undefined, "", () => {
    if (opened.has(key)) opened.delete(key);
    else opened.add(key);
    showDetail(title.closest("tr"), rule, key);
  });
  toggle.append(summaryOf(rule));
  toggle.setAttribute("aria-expanded", String(isOpen));
  const picture = element("span", undefined, "pattern");
  picture.append(enlarged(drawRule(table, rule), 1.3));
  title.append(toggle, badges(rule), picture);
  if (table.evidence[rule]) toggle.append(verdictBadge(table.evidence[rule]));
  return title;
}
function showDetail(row, rule, key) {
  const isOpen = opened.has(key);
  row.querySelector("button").setAttribute("aria-expanded", String(isOpen));
  if (row.nextElementSibling && row.nextElementSibling.className === "detail") row.nextElementSibling.remove();
  if (!isOpen) return;
  const detail = element("tr", undefined, "detail");
  const holder = element("td");
  holder.colSpan = row.children.length;
  holder.append(...ruleDetail(rule));
  detail.append(holder);
  row.after(detail);
}
function showRules() {
  const columns = [...byId("table").tHead.querySelectorAll("[data-column]")].map((head) => head.dataset.column);
  const rows = [];
  let covered = 0;
  choice.rules.forEach((rule, k) => {
    covered += choice.added[k];
    const known = statistics(table, rule);
    const picked = wishes.picks.includes(rule);
    const actions = cell("");
    actions.className = "acts";
    actions.append(
      toggleButton(picked ? "Kept" : "Keep", picked, "Keep this rule whatever you wish", () => pick(rule, !picked), `rule ${k + 1}`),
      button("Drop", "act", () => { wishes.picks = wishes.picks.filter((one) => one !== rule); wishes.drops.push(rule); update(); }),
    );
    actions.lastElementChild.title = "Never choose this rule";
    actions.lastElementChild.setAttribute("aria-label", `Drop rule ${k + 1}`);
    const cells = {
      works: () => worksCell(known), unseen: () => cell("unseen", known.unseen === null ? "–" : percent(known.unseen, 0)),
      confirmed: () => cell("panel", known.confirmed === null ? "–" : percent(known.confirmed, 0)), cost: () => cell("edits", table.cost[rule]),
      gain: () => cell("adds", choice.added[k]), coverage: () => cell("so far", percent(covered / table.N)),
    };
    const row = rowOf([element("td", k + 1, "n"), titleCell(rule, `c${rule}`), ...columns.map((name) => cells[name]()), actions]);
    row.id = `recourse-${k + 1}`;
    row.dataset.rule = rule;
    row.dataset.adds = choice.added[k];
    rows.push(row);
  });
  byId("table").tBodies[0].replaceChildren(...rows);
  for (const row of rows) if (opened.has(`c${row.dataset.rule}`)) showDetail(row, Number(row.dataset.rule), `c${row.dataset.rule}`);
  byId("nothing").hidden = rows.length > 0;
  byId("dropped").hidden = !wishes.drops.length;
  byId("dropped-rules").replaceChildren(...wishes.drops.map((rule) => {
    const item = element("li");
    item.append(element("bdi", patternOf(table, rule).summary), " ", button("Allow", "act", () => { wishes.drops = wishes.drops.filter((one) => one !== rule); update(); }));
    return item;
  }));
}
function toggleButton(text, pressed, title, action, about) {
  const node = button(text, "act", action);
  node.setAttribute("aria-pressed", String(pressed));
  node.setAttribute("aria-label", `Keep ${about}`);
  node.title = title;
  return node;
}
function pick(rule, wanted) {
  wishes.picks = wishes.picks.filter((one) => one !== rule);
  wishes.drops = wishes.drops.filter((one) => one !== rule);
  if (wanted) wishes.picks.push(rule);
  wishes.num = Math.max(wishes.num, wishes.picks.length);
  update();
}

// A rule, opened.
function ruleDetail(rule) {
  const pattern = patternOf(table, rule);
  const known = statistics(table, rule);
  const parts = [written(pattern.description, "p"), factList(rule, pattern, known)];
  const { effect } = table.known[rule] || {};
  if (table.goal && effect && effect.length) parts.push(effectFigure(effect));
  if (table.evidence[rule]) parts.push(evidenceList(table.evidence[rule]));
  const works = examplesOf(rule, true);
  const fails = failuresOf(rule);
  parts.push(exampleBlock(`${thing[0].toUpperCase()}${thing.slice(1)}s that it turns`, works, (item) => workingExample(rule, item)));
  if (fails.length) parts.push(exampleBlock("Where it fails", fails, (item) => failingExample(rule, item), 2));
  const covered = [];
  for (let at = table.ptr[rule]; at < table.ptr[rule + 1]; at += 1) covered.push(table.input[at]);
  const list = element("details");
  const numbers = element("p", undefined, "indices");
  list.append(element("summary", `All ${counted(covered.length, thing)} that it turns`), numbers);
  list.addEventListener("toggle", () => { if (list.open && !numbers.childElementCount) numbers.append(...links(covered)); });
  parts.push(list);
  const { pairs } = table.known[rule] || {};
  if (pairs && pairs.length) parts.push(pairList(pairs));
  return parts;
}
function pairList(pairs) {
  const holder = element("details");
  const list = element("ul", undefined, "pairs");
  const words = ([name, label]) => `${name} (${label})`;
  list.append(...pairs.map(([before, after]) => element("li", `${words(before)} → ${words(after)}`)));
  holder.append(element("summary", `${counted(pairs.length, "pair")} of real ${thing}s that differ by exactly this change, with their labels`), list);
  return holder;
}
const links = (items) => items.flatMap((item, k) => [...(k ? [", "] : []), button(table.index[item], "link", () => openGraph(item))]);
function factList(rule, pattern, known) {
  const list = element("dl", undefined, "known");
  const put = (name, words) => list.append(element("dt", name), element("dd", words));
  const range = `${percent(known.interval[0], 0)}–${percent(known.interval[1], 0)}`.replace("%–", "–");
  put("Works for", `${known.turned} of ${known.applicable} ${thing}s that it can be carried out on (${percent(known.success, 0)}; with 95% confidence ${range})`);
  if (known.unseen !== null && table.N >= 2 * table.splits) put(`On unseen ${thing}s`, `${percent(known.unseen, 0)}, mean of ${table.splits} splits`);
  for (const [name, words] of isOwn() ? (table.known[rule] || {}).facts || [] : []) put(name, words);
  if (table.hasPanel) put("Panel", `most of it accept ${table.numConfirmed[rule]} of ${known.turned} results too (${percent(known.confirmed, 0)})`);
  if (known.random !== null) {
    const ratio = known.random > 0 ? known.success / known.random : Infinity;
    const better = ratio >= 1.15 ? `; this rule works ${Number.isFinite(ratio) ? `${Number(ratio.toPrecision(2))} times` : "infinitely"} as often` : ratio >= 0.9 ? "; this rule is hardly better" : "; this rule works less often";
    put("Random changes", `${percent(known.random, 0)} of all changes of the same kind work on these ${thing}s${known.random > 0 ? better : ""}`);
  }
  if (!table.goal) put("Probability", `P(${reject}) falls by ${Math.round(100 * known.rise)} points where it works (median)`);
  const { valid, properties } = table.known[rule] || {};
  if (valid !== undefined && valid !== null) put("Valid molecules", `${percent(valid, 0)} of the results`);
  if (properties) put("Properties", properties);
  if (pattern.smirks) {
    const code = element("dd");
    code.append(element("code", pattern.smirks));
    list.append(element("dt", "SMIRKS"), code);
  }
  return list;
}
// Whether to believe a rule: gathered for the rules that the run chose.
function verdictBadge({ level, shortcut }) {
  const badge = element("span", shortcut ? `${level}, a shortcut` : level, `verdict ${level}`);
  badge.title = "Verdict of the evidence";
  return badge;
}
function evidenceList(evidence) {
  const holder = element("div", undefined, "evidence trust");
  const title = element("h4", "Can I trust it? ");
  title.append(verdictBadge(evidence));
  const list = element("ul");
  list.append(...evidence.findings.map(([question, speaks, sentence]) => element("li", sentence, speaks)));
  holder.append(title, list);
  return holder;
}
// Inputs that a rule turns, or could be carried out on and does not turn; the smaller ones first, which are easier to read.
function examplesOf(rule, works) {
  const items = [];
  for (let item = 0; item < table.N; item += 1) {
    const turned = hasBit(table.turned, rule, table.width, item);
    if (works ? turned : !turned && hasBit(table.applicable, rule, table.width, item)) items.push(item);
  }
  const size = (item) => table.nodePtr[item + 1] - table.nodePtr[item];
  items.sort((a, b) => size(a) - size(b) || a - b);
  const half = items.slice(0, Math.max(EXAMPLES * 2, Math.ceil(items.length / 2)));
  const step = Math.max(1, Math.floor(half.length / EXAMPLES));
  const spread = half.filter((item, k) => k % step === 0);
  const taken = new Set(spread);
  return [...spread, ...items.filter((item) => !taken.has(item))];
}
// Failures: those whose reason the run looked into first, then one that is too small, which says the least, after the others.
function failuresOf(rule) {
  const items = examplesOf(rule, false);
  const told = new Map((table.failures[rule] || []).map(([item]) => [item, true]));
  const tooSmall = (item) => {
    const size = table.nodePtr[item + 1] - table.nodePtr[item] + table.edgePtr[item + 1] - table.edgePtr[item];
    return table.cost[rule] > table.theta * 2 * size;
  };
  const worth = (item) => (told.has(item) ? 0 : tooSmall(item) ? 2 : 1);
  return items.map((item, k) => [worth(item), k, item]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((row) => row[2]);
}
function exampleBlock(title, items, figureOf, first = EXAMPLES) {
  const block = element("div", undefined, "example-block");
  const holder = element("div", undefined, "examples");
  let next = 0;
  const more = button("", "more", () => add(EXAMPLES));
  function add(count) {
    let drawn = 0;
    for (; drawn < count && next < items.length; next += 1) {
      const figure = figureOf(items[next]);
      if (!figure) continue;
      holder.append(figure);
      drawn += 1;
    }
    more.hidden = next >= items.length;
    more.textContent = `Show more of ${items.length}`;
  }
  add(first);
  if (!holder.childElementCount) return element("div");
  block.append(element("h4", title), holder, more);
  return block;
}
function changeFigure(change, item, words, reason) {
  const index = table.index[item];
  const drawing = drawChange(table, change, `${thing} ${index}`);
  const figure = element("figure", undefined, drawing.width > 246 ? "example wide" : "example");
  const pair = element("div", undefined, "pair");
  const arrow = element("div", "→", "arrow");
  arrow.setAttribute("aria-hidden", "true");
  const sides = [drawing.before, drawing.after].map((picture) => {
    const holder = element("div");
    holder.append(picture);
    return holder;
  });
  pair.append(sides[0], arrow, sides[1]);
  const caption = element("figcaption");
  caption.append(button(called(item), "link", () => openGraph(item)), `: ${words}`);
  if (drawing.hidden) caption.append(` ${drawing.hidden} nodes far from the change are not drawn.`);
  if (reason) caption.append(element("br"), element("b", reason));
  figure.append(pair, caption);
  return figure;
}
// Before and after: the number where there is a goal for it, else the probability.
function numberWords(item, entry) {
  const { name, amount, sign, isRelative } = table.goal;
  const before = table.number[item];
  const measured = Number.isNaN(table.measured[item]) ? "" : `, measured ${table.measured[item].toFixed(2)}`;
  const after = entry < 0 ? "" : ` → ${((isRelative ? before + sign * amount : amount) + sign * table.surplus[entry]).toFixed(2)}`;
  return `${name} predicted ${before.toFixed(2)}${after}${measured}`;
}
// A small distribution: a dot for every change, a line at the median, one row for each who says so.
function effectFigure(effect) {
  const all = effect.flatMap(([, changes]) => changes);
  const [low, high] = [Math.min(0, ...all), Math.max(0, ...all)];
  const span = high - low || 1;
  const x = (change) => 6 + 188 * (change - low) / span;
  const picture = svg("svg", { class: "effect", viewBox: `0 0 200 ${20 * effect.length + 12}`, role: "img", "aria-label": "Changes of the number: predicted and measured" });
  picture.append(svg("line", { x1: x(0), x2: x(0), y1: 0, y2: 20 * effect.length, class: "zero" }));
  effect.forEach(([who, changes], k) => {
    const sorted = [...changes].sort((a, b) => a - b);
    const middle = sorted[Math.floor(sorted.length / 2)];
    for (const change of changes) picture.append(svg("circle", { cx: x(change), cy: 20 * k + 9, r: 2.2, class: who === "measured" ? "measured" : "predicted" }));
    picture.append(svg("line", { x1: x(middle), x2: x(middle), y1: 20 * k + 2, y2: 20 * k + 16, class: "median" }));
  });
  for (const [value, anchor] of [[low, "start"], [high, "end"]]) {
    const label = svg("text", { x: x(value), y: 20 * effect.length + 10, "text-anchor": anchor });
    label.textContent = (value > 0 ? "+" : "") + value.toFixed(1);
    picture.append(label);
  }
  const figure = element("figure", undefined, "effect");
  figure.append(picture, element("figcaption", `Change of ${table.goal.name}; rows: ${effect.map(([who, changes]) => `${who} (${changes.length})`).join(", ")}. The line is the median.`));
  return figure;
}
const rejectWords = (item, entry = -1) => table.goal ? numberWords(item, entry) : `P(${reject}) ${percent(1 - table.beforehand[item], 0)}${entry < 0 ? "" : ` → ${percent(1 - table.afterwards[entry] / 255, 0)}`}`;
// Members of the panel that reject the input and accept the result, and what the jury expects.
const votesWords = (at) => (table.hasPanel ? `, ${table.votes[at]} of the panel agree` : "") + (table.hasJury ? `, expected to come true: ${table.truth[at]}%` : "");
function workingExample(rule, item) {
  const entry = entryOf(rule, item);
  const graph = inputGraph(table, item);
  const site = siteOfEntry(table, rule, entry, graph);
  if (!site) return null;
  const change = carryOut(patternOf(table, rule), graph, site);
  return changeFigure(change, item, `${rejectWords(item, entry)}, ${counted(change.cost, "edit")}, distance ${change.distance.toFixed(3)}${votesWords(entry)}.`);
}
function failingExample(rule, item) {
  const graph = inputGraph(table, item);
  const pattern = patternOf(table, rule);
  const told = (table.failures[rule] || []).find(([one]) => one === item);
  const site = told ? told[2] : findSite(pattern, graph);
  if (!site) return null;
  const change = carryOut(pattern, graph, site);
  return changeFigure(change, item, `${rejectWords(item)}.`, reasonOf(change, told && told[1]));
}
function reasonOf(change, told) {
  if (change.distance > table.theta) return `Too much for so small a ${thing}: the change is ${change.distance.toFixed(3)} of it, theta is ${table.theta}.`;
  const judges = table.changes === "confirmed" ? "The model or most of the panel still reject the result" : "The model still rejects the result";
  if (told === "rejected" || table.changes === "any") return `${judges}.`;
  if (told === "rung") return `The result is not ${table.changes === "connected" ? "connected" : "plausible"}.`;
  return `The model still rejects the result, or the result is not ${table.changes}.`;
}
function entryOf(rule, item) {
  let [low, high] = [table.ptr[rule], table.ptr[rule + 1]];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (table.input[middle] < item) low = middle + 1;
    else high = middle;
  }
  return low < table.ptr[rule + 1] && table.input[low] === item ? low : -1;
}
