// A rule: its parts before, an arrow, its parts after. Dotted lines say that a node may have further neighbours; R is the rest of a molecule.
const ruleDrawings = new Map();
const drawRule = (table, rule) => ruleDrawing(table, rule, false).cloneNode(true);
// The same for a place of a given size: what comes of the rule is drawn below, not beside, where it is larger so.
function drawRuleWithin(table, rule, width, height) {
  const fit = (picture) => Math.min(width / Number(picture.getAttribute("width")), height / Number(picture.getAttribute("height")));
  const [beside, below] = [ruleDrawing(table, rule, false), ruleDrawing(table, rule, true)];
  return (Math.min(fit(beside), 1.2) >= fit(below) ? beside : below).cloneNode(true);
}
function ruleDrawing(table, rule, below) {
  const key = 2 * rule + Number(below);
  if (!ruleDrawings.has(key)) ruleDrawings.set(key, makeRuleDrawing(table, rule, below));
  return ruleDrawings.get(key);
}
// In molecules the whole group that leaves goes, and the whole group that enters comes, whichever of their atoms are alike: what hangs on nothing but
// the atoms that change belongs to the group.
function markGroups(table, change, pattern) {
  if (!table.isMolecular) return;
  const { before, closed } = pattern;
  const core = new Set([...before.labels.keys()].filter((node) => change.nodes[node].before !== change.nodes[node].after));
  const seen = new Set(core);
  const group = new Set(core);
  for (const start of core.size ? before.labels.keys() : []) {
    if (seen.has(start)) continue;
    const part = [start];
    seen.add(start);
    for (const node of part) for (const other of before.around[node].keys()) if (!seen.has(other)) { seen.add(other); part.push(other); }
    if (part.every((node) => closed[node]) && part.some((node) => [...before.around[node].keys()].some((other) => core.has(other)))) {
      for (const node of part) group.add(node);
    }
  }
  // The middle of a group belongs to it too, as the nitrogen of nitro that becomes amino.
  for (const node of before.labels.keys()) {
    const around = [...before.around[node].keys()];
    if (closed[node] && around.filter((other) => core.has(other)).length > 1 && around.filter((other) => !group.has(other)).length <= 1) group.add(node);
  }
  for (const node of group.size < before.labels.length ? group : core) change.nodes[node].grouped = true;
  for (const edge of change.edges) edge.grouped = edge.before !== edge.after || Boolean(change.nodes[edge.i].grouped || change.nodes[edge.j].grouped);
}
// Atoms that stay and stand for the rest of the molecule: a carbon of which nothing else is said is R, one of an aromatic ring Ar; [names, atoms that these hide].
function attachments(table, change, closed) {
  const names = new Map();
  const hidden = new Set();
  if (!table.isMolecular) return { names, hidden };
  const bondsOf = (node, side) => change.edges.filter((edge) => edge[side] >= 0 && (edge.i === node || edge.j === node));
  const beyond = (edge, node) => (edge.i === node ? edge.j : edge.i);
  const kindOf = (edge, side) => (table.edgeLabels ? table.edgeLabels[edge[side]] : "single");
  const isKept = (node) => change.nodes[node].before >= 0 && change.nodes[node].before === change.nodes[node].after && !change.nodes[node].grouped;
  const isCarbon = (node) => isKept(node) && table.atoms[change.nodes[node].before][0] === "C";
  const hasHydrogens = table.labels.includes("H");
  for (const node of change.nodes.keys()) {
    if (!isCarbon(node)) continue;
    const sides = ["before", "after"].map((side) => bondsOf(node, side));
    const ring = sides[0].filter((edge) => edge.before === edge.after && kindOf(edge, "before") === "aromatic" && isCarbon(beyond(edge, node))
      && !closed[beyond(edge, node)] && bondsOf(beyond(edge, node), "before").length === 1 && bondsOf(beyond(edge, node), "after").length === 1);
    const isAromatic = Boolean(closed[node]) && ring.length === 2;
    const others = sides.map((edges) => edges.filter((edge) => !isAromatic || !ring.includes(edge)));
    const isOwn = (edge) => edge.before !== edge.after && isKept(beyond(edge, node));
    if ((!isAromatic && closed[node]) || others.some((edges, k) => edges.length > 1 || edges.some((edge) => isOwn(edge) || kindOf(edge, ["before", "after"][k]) !== "single"))) continue;
    if (!others.some((edges) => edges.length)) continue;
    for (const edge of isAromatic ? ring : []) hidden.add(beyond(edge, node));
    names.set(node, others.map((edges) => `${isAromatic ? "Ar" : "R"}${edges.length || hasHydrogens ? "" : "–H"}`));
  }
  return { names, hidden };
}
function makeRuleDrawing(table, rule, below) {
  const pattern = patternOf(table, rule);
  const { before, closed } = pattern;
  const whole = { labels: before.labels, around: before.around, edges: before.edges, positions: before.labels.map(() => null) };
  const change = carryOut(pattern, whole, before.labels.map((label, node) => node));
  markGroups(table, change, pattern);
  const { names, hidden } = attachments(table, change, closed);
  // A node that comes, goes or is closed is known with all its bonds; others may have more.
  const isWhole = (node) => change.nodes[node].before < 0 || change.nodes[node].after < 0 || Boolean(closed[node]);
  const sides = ["before", "after"].map((side) => foldedHydrogens(table, change, side, isWhole));
  for (const side of sides) for (const node of hidden) side.hidden.add(node);
  const size = change.nodes.length;
  const union = Array.from({ length: size }, () => new Set());
  for (const { i, j } of change.edges) {
    if (hidden.has(i) || hidden.has(j)) continue;
    union[i].add(j);
    union[j].add(i);
  }
  const parts = [];
  const seen = new Set(hidden);
  for (let node = 0; node < size; node += 1) {
    if (seen.has(node)) continue;
    const part = [node];
    seen.add(node);
    for (const one of part) for (const other of union[one]) if (!seen.has(other)) { seen.add(other); part.push(other); }
    parts.push(part.sort((a, b) => a - b));
  }
  const scale = table.isMolecular ? 34 : 62;
  const at = new Map();
  const stubs = new Map();
  for (const part of parts) layPart(table, change, part, union, sides, scale, at);
  for (let node = 0; node < before.labels.length; node += 1) {
    if (closed[node] || !at.has(node) || names.has(node) || (table.isMolecular && table.labels[before.labels[node]] === "H")) continue;
    const [x, y] = at.get(node);
    const taken = [...union[node]].filter((other) => at.has(other)).map((other) => Math.atan2(at.get(other)[1] - y, at.get(other)[0] - x));
    const ends = [];
    for (let k = 0; k < Math.min(taken.length < 3 ? 2 : 1, spareBonds(table, change, node)); k += 1) {
      const angle = freeAngle(taken);
      taken.push(angle);
      ends.push([x + 0.62 * scale * Math.cos(angle), y + 0.62 * scale * Math.sin(angle)]);
    }
    stubs.set(node, ends);
  }
  return composeRule(table, change, parts, at, stubs, sides, names, pattern.summary, below);
}
// Bonds that an atom may have beyond those of its pattern: the oxygen of C=O has none. A nitrogen may be charged, and other nodes take any number.
function spareBonds(table, change, node) {
  const [element, , , valences] = table.isMolecular ? table.atoms[change.nodes[node].before] : ["", "", null, []];
  if (!table.edgeLabels || !table.edgeLabels.every((name) => ORDERS[name]) || element === "N" || !valences.length) return 2;
  const bonds = change.edges.filter((edge) => edge.before >= 0 && (edge.i === node || edge.j === node));
  return Math.max(...valences) - bonds.reduce((sum, edge) => sum + ORDERS[table.edgeLabels[edge.before]], 0);
}
// Positions of one part: what is there before, then what comes, in the direction of what goes.
function layPart(table, change, part, union, sides, scale, at) {
  const visible = part.filter((node) => ["before", "after"].some((side, k) => change.nodes[node][side] >= 0 && !sides[k].hidden.has(node)));
  const rank = new Map(visible.map((node, k) => [node, k]));
  const near = visible.map((node) => new Set([...union[node]].filter((other) => rank.has(other)).map((other) => rank.get(other))));
  const is = (side, k) => change.nodes[visible[k]][side] >= 0;
  const limited = (side) => near.map((beside, k) => (is(side, k) ? new Set([...beside].filter((other) => is(side, other))) : new Set()));
  const first = placed(visible.length, limited("before"), visible.map(() => null));
  const known = visible.map((node, k) => (is("before", k) ? first[k] : null));
  const hints = new Map();
  visible.forEach((node, k) => {
    if (is("before", k)) return;
    for (const other of near[k]) {
      const gone = [...near[other]].find((beside) => is("before", beside) && !is("after", beside));
      if (is("before", other) && gone !== undefined) hints.set(k, Math.atan2(first[gone][1] - first[other][1], first[gone][0] - first[other][0]));
    }
  });
  const second = placed(visible.length, limited("after"), known, hints);
  visible.forEach((node, k) => at.set(node, (is("before", k) ? first[k] : second[k]).map((value) => scale * value)));
  // A triple bond is straight.
  for (const edge of change.edges) {
    if (!table.edgeLabels || ![edge.before, edge.after].some((label) => table.edgeLabels[label] === "triple")) continue;
    for (const [end, node] of [[edge.i, edge.j], [edge.j, edge.i]]) {
      const beside = [...union[node]].filter((other) => other !== end && at.has(other));
      if (!at.has(end) || !at.has(node) || union[end].size !== 1 || beside.length !== 1) continue;
      at.set(end, at.get(node).map((value, axis) => 2 * value - at.get(beside[0])[axis]));
    }
  }
}
// Each change is drawn before, an arrow, after; a plus stands between changes. Below: what comes of a single change stands below it, several are rows.
function composeRule(table, change, parts, at, stubs, sides, names, title, below) {
  const picture = svg("svg", { class: table.isMolecular ? "drawing rule" : "drawing rule net", role: "img", "aria-label": `Before and after: ${title}` });
  const stacked = below && parts.length === 1;
  let [x, y, width, height] = [8, 0, 0, 0];
  const put = (node, left, top) => {
    node.setAttribute("transform", `translate(${at1(left)} ${at1(top)})`);
    picture.append(node);
  };
  parts.forEach((part, number) => {
    const drawn = ["before", "after"].map((side, k) => sideOf(table, change, side, part, at, stubs, sides[k], names, k));
    const tall = Math.max(...drawn.map((one) => one.height));
    if (number) {
      if (below) [x, y] = [8, height + 22];
      put(svg("text", { class: "plus" }, "+"), below ? 20 : x + 4, below ? y - 10 : tall / 2);
      if (!below) x += 26;
    }
    drawn.forEach(({ group, wide, high }, k) => {
      put(group, x, y + (stacked ? 0 : (tall - high) / 2));
      if (k === 0) {
        const arrow = svg("path", { class: "arrow", d: "M0 0H34M28 -4.5L34 0L28 4.5" });
        picture.append(arrow);
        arrow.setAttribute("transform", stacked ? `translate(${at1(x + wide / 2)} ${at1(high)}) rotate(90)` : `translate(${at1(x + wide + 8)} ${at1(y + tall / 2)})`);
        width = Math.max(width, x + wide);
        if (stacked) y += high + 38;
        else x += wide + 54;
      } else {
        x += wide + 14;
        width = Math.max(width, x);
        height = Math.max(height, y + (stacked ? high : tall));
      }
    });
  });
  width += 8;
  picture.setAttribute("viewBox", `0 0 ${at1(width)} ${at1(height)}`);
  picture.setAttribute("width", at1(width));
  picture.setAttribute("height", at1(height));
  return picture;
}
// One side of one change, in its own frame.
function sideOf(table, change, side, part, at, stubs, { folded, hidden }, names, k) {
  const here = part.filter((node) => at.has(node) && change.nodes[node][side] >= 0 && !hidden.has(node));
  const reach = (node) => {
    if (table.isMolecular) return names.has(node) ? 4 + 5 * names.get(node)[k].length : 11;
    return pillWidth(table.labels.length > 1 ? table.labels[Math.max(change.nodes[node].before, change.nodes[node].after)] : "") / 2;
  };
  const group = svg("g", {});
  if (!here.length) return { group, wide: 20, high: 32 };
  const tails = here.flatMap((node) => stubs.get(node) || []);
  const wider = (node) => (folded.get(node) ? 12 : 0);
  const low = Math.min(...tails.map((point) => point[0]), ...here.map((node) => at.get(node)[0] - reach(node) - wider(node)));
  const high = Math.max(...tails.map((point) => point[0]), ...here.map((node) => at.get(node)[0] + reach(node) + wider(node)));
  const ys = [...here.map((node) => at.get(node)[1]), ...tails.map((point) => point[1])];
  const top = Math.min(...ys) - 14;
  const inner = svg("g", { transform: `translate(${at1(-low)} ${at1(-top)})` });
  const dotted = here.flatMap((node) => (stubs.get(node) || []).map(([x, y]) => {
    const [x0, y0] = at.get(node);
    const far = Math.hypot(x - x0, y - y0) || 1;
    const gap = table.isMolecular ? 9 : 0;
    return `M${at1(x0 + ((x - x0) * gap) / far)} ${at1(y0 + ((y - y0) * gap) / far)}L${at1(x)} ${at1(y)}`;
  }));
  if (dotted.length) inner.append(svg("path", { class: "open", d: dotted.join("") }));
  const texts = new Map([...names].map(([node, both]) => [node, both[k]]));
  paint(inner, table, change, side, new Map(here.map((node) => [node, at.get(node)])), folded, hidden, { texts, stubs });
  group.append(inner);
  return { group, wide: high - low, high: Math.max(...ys) - top + 14, height: Math.max(...ys) - top + 14 };
}
