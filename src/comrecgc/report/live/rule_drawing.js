// A rule: its parts before, an arrow, its parts after. Dotted lines say that a node may have further neighbours.
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
function makeRuleDrawing(table, rule, below) {
  const pattern = patternOf(table, rule);
  const { before, closed } = pattern;
  const whole = { labels: before.labels, around: before.around, edges: before.edges, positions: before.labels.map(() => null) };
  const change = carryOut(pattern, whole, before.labels.map((label, node) => node));
  // A node that comes, goes or is closed is known with all its bonds; others may have more.
  const isWhole = (node) => change.nodes[node].before < 0 || change.nodes[node].after < 0 || Boolean(closed[node]);
  const sides = ["before", "after"].map((side) => foldedHydrogens(table, change, side, isWhole));
  const size = change.nodes.length;
  const union = Array.from({ length: size }, () => new Set());
  for (const { i, j } of change.edges) {
    union[i].add(j);
    union[j].add(i);
  }
  const parts = [];
  const seen = new Set();
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
    if (closed[node] || !at.has(node) || (table.isMolecular && table.labels[before.labels[node]] === "H")) continue;
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
  return composeRule(table, change, parts, at, stubs, sides, pattern.summary, below);
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
}
function composeRule(table, change, parts, at, stubs, sides, title, below) {
  const reach = (node) => (table.isMolecular ? 11 : pillWidth(table.labels.length > 1 ? table.labels[Math.max(change.nodes[node].before, change.nodes[node].after)] : "") / 2);
  // Side by side both sides are as high as the higher one; one below the other, each as high as it is.
  const extents = ["before", "after"].map((side) => {
    const nodes = [...at.keys()].filter((node) => !below || change.nodes[node][side] >= 0);
    const ys = nodes.flatMap((node) => [at.get(node), ...(stubs.get(node) || [])]).map((point) => point[1]);
    const top = Math.min(...ys, Infinity) - 16;
    return ys.length ? { top, height: Math.max(...ys) - top + 16 } : { top: 0, height: 32 };
  });
  const picture = svg("svg", { class: table.isMolecular ? "drawing rule" : "drawing rule net", role: "img", "aria-label": `Before and after: ${title}` });
  let [left, down, width] = [8, 0, 0];
  ["before", "after"].forEach((side, k) => {
    const { top, height } = extents[k];
    for (const part of parts) {
      const here = part.filter((node) => at.has(node) && change.nodes[node][side] >= 0 && !sides[k].hidden.has(node));
      if (!here.length) continue;
      const tails = here.flatMap((node) => stubs.get(node) || []);
      const wide = (node) => (sides[k].folded.get(node) ? 12 : 0);
      const low = Math.min(...tails.map((point) => point[0]), ...here.map((node) => at.get(node)[0] - reach(node)));
      const high = Math.max(...tails.map((point) => point[0]), ...here.map((node) => at.get(node)[0] + reach(node) + wide(node)));
      const group = svg("g", { transform: `translate(${at1(left - low)} ${at1(down - top)})` });
      const dotted = here.flatMap((node) => (stubs.get(node) || []).map(([x, y]) => {
        const [x0, y0] = at.get(node);
        const far = Math.hypot(x - x0, y - y0) || 1;
        const gap = table.isMolecular ? 9 : 0;
        return `M${at1(x0 + ((x - x0) * gap) / far)} ${at1(y0 + ((y - y0) * gap) / far)}L${at1(x)} ${at1(y)}`;
      }));
      if (dotted.length) group.append(svg("path", { class: "open", d: dotted.join("") }));
      paint(group, table, change, side, new Map(here.map((node) => [node, at.get(node)])), sides[k].folded, sides[k].hidden, true);
      picture.append(group);
      left += high - low + 14;
    }
    width = Math.max(width, left);
    if (side === "after") return;
    const arrow = svg("path", { class: "arrow", d: "M0 0H34M28 -4.5L34 0L28 4.5" });
    arrow.setAttribute("transform", below ? `translate(${at1(left / 2)} ${at1(height)}) rotate(90)` : `translate(${at1(left + 4)} ${at1(height / 2)})`);
    picture.append(arrow);
    if (below) [left, down] = [8, height + 36];
    else left += 56;
  });
  const height = down + extents[1].height;
  picture.setAttribute("viewBox", `0 0 ${at1(width)} ${at1(height)}`);
  picture.setAttribute("width", at1(width));
  picture.setAttribute("height", at1(height));
  return picture;
}
