// What was not chosen: all other rules, one graph with every rule that works for it, the graphs not covered.
const SHOWN_AT_ONCE = 20;
const DRAWN_UNCOVERED = 24;
const SORTS = {
  trust: ["most likely to come true", (t) => (a, b) => t.meanTruth[b] - t.meanTruth[a]],
  adds: ["adds most to the choice above", (t, c) => (a, b) => c.gains[b] - c.gains[a]],
  works: ["works for most", (t) => (a, b) => t.numTurned[b] - t.numTurned[a]],
  success: ["highest success", (t) => (a, b) => t.success[b] - t.success[a] || t.numTurned[b] - t.numTurned[a]],
  confirmed: ["most often confirmed", (t) => (a, b) => t.numConfirmed[b] - t.numConfirmed[a]],
  edits: ["fewest edits", (t) => (a, b) => t.cost[a] - t.cost[b] || t.numTurned[b] - t.numTurned[a]],
};
const browse = { sort: "trust", words: "", allowedOnly: true, shown: SHOWN_AT_ONCE };

function showBrowser() {
  if (!byId("more-holder").open) return;
  const words = browse.words.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const number = /^#?\d+$/.test(browse.words.trim()) ? table.placeOf.get(Number(browse.words.trim().replace("#", ""))) : undefined;
  const chosen = new Set(choice.rules);
  const pool = browse.allowedOnly ? choice.allowed : Array.from({ length: table.K }, (unused, rule) => rule);
  const found = pool.filter((rule) => {
    if (chosen.has(rule)) return false;
    if (number !== undefined) return hasBit(table.turned, rule, table.width, number);
    const text = `${table.rules[rule][0]} ${table.rules[rule][1]}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const compare = SORTS[browse.sort][1](table, choice);
  found.sort((a, b) => compare(a, b) || table.numChanges[a] - table.numChanges[b] || table.success[b] - table.success[a] || a - b);
  const rows = found.slice(0, browse.shown).map((rule) => {
    const known = statistics(table, rule);
    const actions = cell("");
    actions.className = "acts";
    const picked = button("Pick", "act", () => pick(rule, true));
    picked.setAttribute("aria-label", `Pick: ${patternOf(table, rule).summary}`);
    actions.append(picked);
    const row = rowOf([
      titleCell(rule, `b${rule}`), worksCell(known), ...(table.hasPanel ? [cell("panel", percent(known.confirmed, 0))] : []),
      cell("edits", table.cost[rule]), cell("would add", Math.max(choice.gains[rule], 0)), actions,
    ]);
    row.dataset.rule = rule;
    return row;
  });
  byId("more-table").tBodies[0].replaceChildren(...rows);
  for (const row of rows) if (opened.has(`b${row.dataset.rule}`)) showDetail(row, Number(row.dataset.rule), `b${row.dataset.rule}`);
  byId("more-count").textContent = `${found.length} of ${table.K} rules${browse.allowedOnly ? " are as you wish and not chosen" : " not chosen"}${browse.words ? ` and match “${browse.words.trim()}”` : ""}`;
  byId("more-rows").hidden = found.length <= browse.shown;
}
function buildBrowser() {
  byId("more-sort").append(...Object.entries(SORTS).filter(([name]) => (name !== "confirmed" || table.hasPanel) && (name !== "trust" || table.hasJury))
    .map(([name, [words]]) => Object.assign(element("option", words), { value: name })));
  browse.sort = byId("more-sort").value;
  byId("more-holder").addEventListener("toggle", showBrowser);
  byId("more-sort").addEventListener("change", () => { browse.sort = byId("more-sort").value; showBrowser(); });
  byId("more-search").addEventListener("input", () => { browse.words = byId("more-search").value; browse.shown = SHOWN_AT_ONCE; showBrowser(); });
  byId("more-allowed").addEventListener("change", () => { browse.allowedOnly = byId("more-allowed").checked; showBrowser(); });
  byId("more-rows").addEventListener("click", () => { browse.shown += SHOWN_AT_ONCE; showBrowser(); });
  byId("more").addEventListener("submit", (event) => event.preventDefault());
}

// One graph, and every rule that works for it.
function openGraph(item) {
  const dialog = byId("graph");
  const graph = inputGraph(table, item);
  const entries = [];
  for (let k = table.columnPtr[item]; k < table.columnPtr[item + 1]; k += 1) entries.push(table.column[k]);
  const ruleOf = (at) => table.ruleOf[at];
  entries.sort((a, b) => table.cost[ruleOf(a)] - table.cost[ruleOf(b)] || table.numChanges[ruleOf(a)] - table.numChanges[ruleOf(b)]
    || table.afterwards[b] - table.afterwards[a] || ruleOf(a) - ruleOf(b));
  byId("graph-title").textContent = called(item);
  const drawn = drawChange(table, unchanged(graph), `${thing} ${table.index[item]}`);
  byId("graph-picture").replaceChildren(drawn.before);
  byId("graph-words").textContent = `The model says: ${rejectWords(item)}. ${counted(graph.labels.length, table.isMolecular ? "atom" : "node")}, ${counted(graph.edges.length, table.isMolecular ? "bond" : "edge")}.`
    + (drawn.hidden ? ` ${drawn.hidden} nodes are not drawn.` : "");
  const first = firstEntries()[item];
  byId("graph-cover").textContent = first >= 0 ? `Of the rules chosen, no. ${choice.rules.indexOf(ruleOf(first)) + 1} covers it.` : "No rule chosen covers it.";
  byId("graph-count").textContent = entries.length ? `${counted(entries.length, "rule")} ${entries.length === 1 ? "works" : "work"} for it, cheapest first` : "No rule in the table turns it";
  const holder = byId("graph-rules");
  holder.replaceChildren();
  let next = 0;
  const more = byId("graph-more");
  const add = () => {
    for (const at of entries.slice(next, next + SHOWN_AT_ONCE)) holder.append(graphRule(item, at));
    next += SHOWN_AT_ONCE;
    more.hidden = next >= entries.length;
  };
  more.onclick = add;
  add();
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}
function graphRule(item, at) {
  const rule = table.ruleOf[at];
  const place = choice.rules.indexOf(rule);
  const entry = element("li");
  const details = element("details");
  const summary = element("summary");
  summary.append(summaryOf(rule), " ");
  summary.append(element("span", `${counted(table.cost[rule], "edit")}, ${rejectWords(item, at)}${votesWords(at)}`, "muted"));
  if (place >= 0) summary.append(" ", element("span", `chosen, no. ${place + 1}`, "badge"));
  details.append(summary);
  details.addEventListener("toggle", () => {
    if (!details.open || details.childElementCount > 1) return;
    details.append(workingExample(rule, item) || element("p", "The page does not know where it is carried out.", "muted"));
  });
  entry.append(details);
  return entry;
}
function buildLookup() {
  const find = () => {
    const words = byId("lookup-number").value.trim().toLowerCase();
    const named = words ? table.names.findIndex((name) => name.toLowerCase() === words) : -1;
    const part = words && named < 0 ? table.names.findIndex((name) => name.toLowerCase().includes(words)) : named;
    const item = /^\d+$/.test(words) ? table.placeOf.get(Number(words)) : part < 0 ? undefined : part;
    byId("lookup-words").textContent = item === undefined ? `There is no rejected ${thing} of that number${table.names.length ? " or name" : ""}.` : "";
    if (item !== undefined) openGraph(item);
  };
  if (table.names.length) byId("lookup-label").textContent = `Number or name of a rejected ${thing}`;
  byId("lookup").addEventListener("submit", (event) => { event.preventDefault(); find(); });
  byId("lookup-any").addEventListener("click", () => {
    const left = choice.left.indexOf(1);
    byId("lookup-number").value = table.index[Math.max(left, 0)];
    find();
  });
  byId("graph-close").addEventListener("click", () => byId("graph").close());
  byId("graph").addEventListener("click", (event) => { if (event.target === byId("graph")) byId("graph").close(); });
}

// What is not covered.
function showUncovered() {
  const left = [];
  for (let item = 0; item < table.N; item += 1) if (choice.left[item]) left.push(item);
  byId("uncovered-count").textContent = left.length ? `${left.length} of ${table.N} ${thing}s (${percent(left.length / table.N)}) are covered by no rule above.` : `Every ${thing} is covered.`;
  const turned = (item) => table.columnPtr[item + 1] > table.columnPtr[item];
  const groups = [
    ["Other rules turn them", "Rules that turn these are in the table, but are not chosen, or their results do not count under your conditions. Open one to see them.", left.filter(turned)],
    [table.complete ? "No change that was tried makes the model accept them" : "Time was up before a rule was found",
      table.complete ? "No rule within theta turns these. A larger theta, more changes in a rule or a lower rung may." : "A larger time budget may find one.",
      left.filter((item) => !turned(item))],
  ];
  const isOpen = [...byId("uncovered").children].map((node) => node.open);
  byId("uncovered").replaceChildren(...groups.map(([name, advice, items], k) => {
    const group = element("details", undefined, "reason");
    const summary = element("summary");
    summary.append(element("span", name), " ", element("span", counted(items.length, thing), "muted"));
    group.append(summary);
    group.hidden = !items.length;
    const fill = () => {
      if (!group.open || group.childElementCount > 1) return;
      const smallest = items.slice().sort((a, b) => table.nodePtr[a + 1] - table.nodePtr[a] - table.nodePtr[b + 1] + table.nodePtr[b] || a - b);
      const cards = element("div", undefined, "cards");
      cards.append(...smallest.slice(0, DRAWN_UNCOVERED).map((item) => {
        const figure = element("figure");
        const caption = element("figcaption");
        caption.append(button(called(item), "link", () => openGraph(item)), `, ${rejectWords(item)}`);
        figure.append(drawChange(table, unchanged(inputGraph(table, item)), `${thing} ${table.index[item]}`).before, caption);
        return figure;
      }));
      const numbers = element("p", undefined, "indices");
      numbers.append(...links(items));
      group.append(element("p", advice, "muted"), cards, numbers);
    };
    group.addEventListener("toggle", fill);
    if (isOpen[k] && items.length) {
      group.open = true;
      fill();
    }
    return group;
  }));
}
