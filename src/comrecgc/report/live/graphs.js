// Rules on graphs: where a rule fits, and what comes of it (the contract of `explanation.json`).
const edgeKey = (i, j) => (i < j ? i * 65536 + j : j * 65536 + i);
function inputGraph(table, item) {
  const first = table.nodePtr[item];
  const labels = Array.from(table.nodeLabels.subarray(first, table.nodePtr[item + 1]));
  const around = labels.map(() => new Map());
  const edges = [];
  for (let row = table.edgePtr[item]; row < table.edgePtr[item + 1]; row += 1) {
    const [i, j] = [table.edges[2 * row], table.edges[2 * row + 1]];
    const bond = table.bonds.length ? table.bonds[row] : 0;
    around[i].set(j, bond);
    around[j].set(i, bond);
    edges.push([i, j, bond]);
  }
  const positions = labels.map((label, node) => {
    const x = table.positions.length ? table.positions[2 * (first + node)] : NOWHERE;
    return x === NOWHERE ? null : [x / SCALE, table.positions[2 * (first + node) + 1] / SCALE];
  });
  return { labels, around, edges, positions, size: labels.length + edges.length };
}
const patterns = new Map();
function patternOf(table, rule) {
  if (patterns.has(rule)) return patterns.get(rule);
  const [summary, description, smirks, before, after, kept, closed, ends] = table.rules[rule];
  const side = ([labels, edges, bonds]) => {
    const around = labels.map(() => new Map());
    const rows = bonds.map((bond, row) => [edges[2 * row], edges[2 * row + 1], bond]);
    for (const [i, j, bond] of rows) {
      around[i].set(j, bond);
      around[j].set(i, bond);
    }
    return { labels, edges: rows, around };
  };
  const image = new Map();
  for (let k = 0; k < kept.length; k += 2) image.set(kept[k], kept[k + 1]);
  const back = new Map(Array.from(image, ([old, now]) => [now, old]));
  const sides = { before: side(before), after: side(after) };
  const apart = sides.after.edges.filter(([i, j]) => back.has(i) && back.has(j) && !sides.before.around[back.get(i)].has(back.get(j)))
    .map(([i, j]) => [back.get(i), back.get(j)]);
  const pattern = { summary, description, smirks, ...sides, image, back, closed, ends, apart };
  patterns.set(rule, pattern);
  return pattern;
}
// The first place of a pattern in a graph where the given nodes of the pattern stand on the given nodes of the graph; null if there is none.
function findSite(pattern, graph, fixed = new Map()) {
  const { before, closed, apart } = pattern;
  const size = before.labels.length;
  const order = [];
  while (order.length < size) {
    let best = -1;
    let worth = -1;
    for (let node = 0; node < size; node += 1) {
      if (order.includes(node)) continue;
      const beside = [...before.around[node].keys()].some((other) => order.includes(other));
      const value = (fixed.has(node) ? 8 : 0) + (beside ? 4 : 0) + (closed[node] ? 2 : 0) + before.around[node].size / 16;
      if (value > worth) [best, worth] = [node, value];
    }
    order.push(best);
  }
  const site = new Array(size).fill(-1);
  const used = new Set();
  let budget = 200000;
  const fits = (node, target) => {
    if (graph.labels[target] !== before.labels[node] || used.has(target)) return false;
    const around = graph.around[target];
    if (around.size < before.around[node].size) return false;
    for (const [other, bond] of before.around[node]) if (site[other] >= 0 && around.get(site[other]) !== bond) return false;
    return !apart.some(([i, j]) => (i === node && around.has(site[j])) || (j === node && around.has(site[i])));
  };
  const isClosed = () => order.every((node) => !closed[node] || [...graph.around[site[node]].keys()].every((target) => used.has(target)));
  const extend = (depth) => {
    if (depth === size) return isClosed();
    const node = order[depth];
    const tied = [...before.around[node].keys()].find((other) => site[other] >= 0);
    const targets = fixed.has(node) ? [fixed.get(node)]
      : tied !== undefined ? [...graph.around[site[tied]].keys()].sort((a, b) => a - b) : graph.labels.keys();
    for (const target of targets) {
      budget -= 1;
      if (budget < 0) return false;
      if (!fits(node, target)) continue;
      site[node] = target;
      used.add(target);
      if (extend(depth + 1)) return true;
      used.delete(target);
      site[node] = -1;
    }
    return false;
  };
  return extend(0) ? site : null;
}
// Where an entry of the table carries its rule out; null where the page does not know.
function siteOfEntry(table, rule, entry, graph) {
  const pattern = patternOf(table, rule);
  const row = entry - table.ptr[rule];
  const rows = table.numPlaces[rule];
  if (row >= rows) return null;
  const columns = pattern.ends.length;
  const nodes = Array.from({ length: columns }, (unused, column) => table.places[table.placeStart[rule] + column * rows + row]);
  const changes = columns / 2;
  const orders = changes === 1 ? [[0]] : changes === 2 ? [[0, 1], [1, 0]]
    : [[0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1]];
  // The two ends of a change that joins or ties are alike, and an entry may name them the other way round.
  const turns = orders.flatMap((order) => Array.from({ length: 2 ** changes }, (unused, turned) => [order, turned]));
  turns.sort((one, other) => one[1] - other[1]);
  for (const [order, turned] of turns) {
    const fixed = new Map();
    let agrees = true;
    order.forEach((change, place) => {
      for (const end of [0, 1]) {
        const node = pattern.ends[2 * place + end];
        if (node < 0) continue;
        const target = nodes[2 * change + ((turned >> change) & 1 ? 1 - end : end)];
        if (fixed.has(node) && fixed.get(node) !== target) agrees = false;
        fixed.set(node, target);
      }
    });
    const site = agrees ? findSite(pattern, graph, fixed) : null;
    if (site) return site;
  }
  return null;
}
// A graph before and after a rule: every node and edge with its label on both sides, -1 where it is not there.
function carryOut(pattern, graph, site) {
  const nodes = graph.labels.map((label) => ({ before: label, after: label }));
  const edges = new Map(graph.edges.map(([i, j, bond]) => [edgeKey(i, j), { i, j, before: bond, after: bond }]));
  const place = new Map();
  site.forEach((target, node) => {
    if (pattern.image.has(node)) {
      nodes[target].after = pattern.after.labels[pattern.image.get(node)];
      place.set(pattern.image.get(node), target);
    } else nodes[target].after = -1;
  });
  for (const edge of edges.values()) if (nodes[edge.i].after < 0 || nodes[edge.j].after < 0) edge.after = -1;
  for (const [i, j] of pattern.before.edges) {
    const edge = edges.get(edgeKey(site[i], site[j]));
    if (edge) edge.after = -1;
  }
  pattern.after.labels.forEach((label, node) => {
    if (place.has(node)) return;
    place.set(node, nodes.length);
    nodes.push({ before: -1, after: label });
  });
  for (const [i, j, bond] of pattern.after.edges) {
    const [a, b] = [place.get(i), place.get(j)];
    const edge = edges.get(edgeKey(a, b));
    if (edge) edge.after = bond;
    else edges.set(edgeKey(a, b), { i: Math.min(a, b), j: Math.max(a, b), before: -1, after: bond });
  }
  const change = { nodes, edges: [...edges.values()], positions: graph.positions };
  const count = (side) => nodes.filter((node) => node[side] >= 0).length + change.edges.filter((edge) => edge[side] >= 0).length;
  const cost = nodes.filter((node) => node.before !== node.after).length + change.edges.filter((edge) => edge.before !== edge.after).length;
  return { ...change, cost, distance: cost / (count("before") + count("after")) };
}
const unchanged = (graph) => ({
  nodes: graph.labels.map((label) => ({ before: label, after: label })),
  edges: graph.edges.map(([i, j, bond]) => ({ i, j, before: bond, after: bond })),
  positions: graph.positions, cost: 0, distance: 0,
});
