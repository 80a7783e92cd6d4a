// Graphs on paper, before and after a change.

// Places: distances follow those of the graph, chains zigzag; nodes that have a place keep it.
function hops(size, around) {
  return Array.from({ length: size }, (unused, start) => {
    const far = new Array(size).fill(-1);
    far[start] = 0;
    const queue = [start];
    for (const node of queue) {
      for (const other of around[node]) {
        if (far[other] >= 0) continue;
        far[other] = far[node] + 1;
        queue.push(other);
      }
    }
    return far;
  });
}
const zigzag = (steps) => (steps % 2 ? Math.hypot((steps * Math.sqrt(3)) / 2, 0.5) : (steps * Math.sqrt(3)) / 2);
// The direction at a place that is furthest from the directions taken; more room than 120° is no better.
function freeAngle(taken, wanted = Math.PI) {
  if (!taken.length) return wanted;
  let best = 0;
  let worth = -Infinity;
  for (let k = 0; k < 36; k += 1) {
    const angle = (k * Math.PI) / 18;
    const apart = (other) => Math.abs(((angle - other + 3 * Math.PI) % (2 * Math.PI)) - Math.PI);
    const value = Math.min((2 * Math.PI) / 3 + 0.01, ...taken.map(apart)) - 0.01 * apart(wanted);
    if (value > worth + 1e-9) [best, worth] = [angle, value];
  }
  return best;
}
function placed(size, around, known, hints = new Map()) {
  const far = hops(size, around);
  const at = known.map((point) => point && [...point]);
  const pinned = known.map((point) => point !== null);
  const start = at.findIndex((point) => point !== null);
  const queue = at.map((point, node) => (point ? node : -1)).filter((node) => node >= 0);
  if (start < 0 && size) {
    at[0] = [0, 0];
    queue.push(0);
  }
  for (let done = 0; done < size || queue.length > done; done += 1) {
    if (done >= queue.length) {
      const lost = at.findIndex((point) => !point);
      if (lost < 0) break;
      at[lost] = [Math.max(...at.filter(Boolean).map((point) => point[0])) + 1.6, 0];
      queue.push(lost);
    }
    const node = queue[done];
    for (const other of around[node]) {
      if (at[other]) continue;
      const taken = [...around[node]].filter((beside) => at[beside])
        .map((beside) => Math.atan2(at[beside][1] - at[node][1], at[beside][0] - at[node][0]));
      const angle = hints.has(other) && !taken.some((one) => Math.abs(one - hints.get(other)) < 0.3) ? hints.get(other) : freeAngle(taken, done % 2 ? 0.5 : -0.5);
      at[other] = [at[node][0] + Math.cos(angle), at[node][1] + Math.sin(angle)];
      queue.push(other);
    }
  }
  for (let round = 0; round < 90; round += 1) {
    for (let node = 0; node < size; node += 1) {
      if (pinned[node]) continue;
      let [x, y, weights] = [0, 0, 0];
      for (let other = 0; other < size; other += 1) {
        if (other === node || far[node][other] < 0) continue;
        const wanted = zigzag(far[node][other]);
        const weight = 1 / (wanted * wanted);
        const [dx, dy] = [at[node][0] - at[other][0], at[node][1] - at[other][1]];
        const apart = Math.hypot(dx, dy) || 1e-3;
        x += weight * (at[other][0] + (wanted * dx) / apart);
        y += weight * (at[other][1] + (wanted * dy) / apart);
        weights += weight;
      }
      if (weights) at[node] = [x / weights, y / weights];
    }
  }
  return at;
}

const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";
const subscript = (count) => String(count).replace(/\d/g, (digit) => SUBSCRIPTS[Number(digit)]);
const at1 = (value) => String(Math.round(value * 10) / 10);
// What happens to a node or an edge; one of a group that leaves, or enters, does so on either side.
const markOf = (one, side) => {
  if (one.grouped && one[side] >= 0) return side === "before" ? "gone" : "come";
  return one.before === one.after ? "" : one.before < 0 ? "come" : one.after < 0 ? "gone" : "other";
};
const MOST_DRAWN = 70;

// Lines of an edge, each with whether it is dashed; the second line of a double bond lies inside its ring.
function bondLines(from, to, kind, gaps, leaning, isEnd) {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
  const [ux, uy] = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
  const [head, tail] = [Math.min(gaps[0], length / 3), Math.min(gaps[1], length / 3)];
  const line = (aside, shorter = 0) => {
    const [start, end] = [head + shorter, length - tail - shorter];
    const [dx, dy] = [-uy * aside, ux * aside];
    return `M${at1(from[0] + ux * start + dx)} ${at1(from[1] + uy * start + dy)}L${at1(from[0] + ux * end + dx)} ${at1(from[1] + uy * end + dy)}`;
  };
  if (kind === "triple") return [[line(0), false], [line(3.6), false], [line(-3.6), false]];
  if (kind !== "double" && kind !== "aromatic") return [[line(0), false]];
  if (kind === "double" && isEnd) return [[line(1.8), false], [line(-1.8), false]];
  const lean = leaning.reduce((sum, point) => sum + ux * (point[1] - from[1]) - uy * (point[0] - from[0]), 0);
  return [[line(0), false], [line(lean < 0 ? -3.6 : 3.6, 3), kind === "aromatic"]];
}
// Hydrogens that need no place of their own: those that share the fate of their only neighbour are written with it.
function foldedHydrogens(table, change, side, isKnown) {
  const folded = impliedHydrogens(table, change, side, isKnown);
  const hidden = new Set();
  if (!table.isMolecular) return { folded, hidden };
  const hydrogen = table.labels.indexOf("H");
  const ties = new Map();
  for (const edge of change.edges) {
    if (edge[side] < 0) continue;
    for (const [node, other] of [[edge.i, edge.j], [edge.j, edge.i]]) ties.set(node, [...(ties.get(node) || []), other]);
  }
  change.nodes.forEach((node, number) => {
    const beside = ties.get(number) || [];
    if (node[side] !== hydrogen || beside.length !== 1 || change.nodes[beside[0]][side] === hydrogen) return;
    const mark = markOf(node, side);
    if (mark && mark !== markOf(change.nodes[beside[0]], side)) return;
    hidden.add(number);
    folded.set(beside[0], (folded.get(beside[0]) || 0) + 1);
  });
  return { folded, hidden };
}
// Where hydrogens are no nodes they fill the valences, and are written with atoms other than carbon all of whose bonds are known.
const ORDERS = { single: 1, double: 2, triple: 3, aromatic: 1.5 };
function impliedHydrogens(table, change, side, isKnown) {
  const counts = new Map();
  if (!table.isMolecular || table.labels.includes("H") || !table.edgeLabels || !table.bonds.length) return counts;
  if (!table.edgeLabels.every((name) => ORDERS[name])) return counts;
  const orders = change.nodes.map(() => 0);
  const ties = change.nodes.map(() => []);
  for (const edge of change.edges) {
    if (edge[side] < 0) continue;
    for (const [node, other] of [[edge.i, edge.j], [edge.j, edge.i]]) {
      orders[node] += ORDERS[table.edgeLabels[edge[side]]];
      ties[node].push(other);
    }
  }
  const nameOf = (node) => table.labels[change.nodes[node][side]];
  change.nodes.forEach((node, number) => {
    if (node[side] < 0 || !isKnown(number)) return;
    const [element, , fixed, valences] = table.atoms[node[side]];
    // Data without charges: the oxygen on a nitrogen of four bonds has one, as in a nitro group, and that nitrogen too.
    const charged = nameOf(number) === "O" && ties[number].some((other) => nameOf(other) === "N" && orders[other] >= 4);
    const room = valences.find((valence) => valence >= orders[number]);
    const count = fixed ?? (charged || room === undefined ? 0 : Math.floor(room - orders[number]));
    if (count > 0 && (element !== "C" || markOf(node, side))) counts.set(number, count);
  });
  return counts;
}
// Of a large graph, the nodes nearest to the change.
function shownNodes(change, most) {
  const around = change.nodes.map(() => new Set());
  for (const { i, j } of change.edges) {
    around[i].add(j);
    around[j].add(i);
  }
  if (change.nodes.length <= most) return { shown: new Set(change.nodes.keys()), around };
  let shown = new Set([...change.nodes.keys()].filter((node) => change.nodes[node].before !== change.nodes[node].after));
  for (const edge of change.edges) if (edge.before !== edge.after) shown.add(edge.i).add(edge.j);
  if (!shown.size) shown.add(0);
  for (;;) {
    const ring = new Set();
    for (const node of shown) for (const other of around[node]) if (!shown.has(other)) ring.add(other);
    if (!ring.size || shown.size + ring.size > most) return { shown, around };
    shown = new Set([...shown, ...ring]);
  }
}
// Both sides of a change, everything unchanged in the same place: [before, after, nodes not drawn].
function drawChange(table, change, title) {
  const { shown, around } = shownNodes(change, table.isMolecular && change.positions.some(Boolean) ? 3 * MOST_DRAWN : MOST_DRAWN);
  const sides = ["before", "after"].map((side) => foldedHydrogens(table, change, side, () => true));
  const drawn = [...shown].filter((node) => ["before", "after"].some((side, k) => change.nodes[node][side] >= 0 && !sides[k].hidden.has(node)));
  const rank = new Map(drawn.map((node, k) => [node, k]));
  const near = drawn.map((node) => new Set([...around[node]].filter((other) => rank.has(other)).map((other) => rank.get(other))));
  const known = drawn.map((node) => change.positions[node] || null);
  // What comes takes the direction of what goes at the same node.
  const hints = new Map();
  drawn.forEach((node, k) => {
    if (change.nodes[node].before >= 0) return;
    for (const other of near[k]) {
      const gone = [...near[other]].find((beside) => known[beside] && change.nodes[drawn[beside]].after < 0);
      if (known[other] && gone !== undefined) hints.set(k, Math.atan2(known[gone][1] - known[other][1], known[gone][0] - known[other][0]));
    }
  });
  const comes = new Set(drawn.map((node, k) => k).filter((k) => change.nodes[drawn[k]].before < 0));
  const goes = new Set(drawn.map((node, k) => k).filter((k) => change.nodes[drawn[k]].after < 0));
  const without = (gone) => near.map((beside, k) => (gone.has(k) ? new Set() : new Set([...beside].filter((other) => !gone.has(other)))));
  const first = placed(drawn.length, without(comes), known);
  const base = drawn.map((node, k) => (comes.has(k) ? null : first[k]));
  const second = comes.size ? placed(drawn.length, without(goes), base, hints) : first;
  const at = new Map(drawn.map((node, k) => [node, (comes.has(k) ? second[k] : first[k]).map((value) => 30 * value)]));
  const xs = [...at.values()].map((point) => point[0]);
  const ys = [...at.values()].map((point) => point[1]);
  const frame = [Math.min(...xs) - 26, Math.min(...ys) - 16, Math.max(...xs) - Math.min(...xs) + 52, Math.max(...ys) - Math.min(...ys) + 32];
  const draw = (side, k) => drawSide(table, change, side, at, sides[k], frame, `${title} ${side}`);
  return { before: draw("before", 0), after: draw("after", 1), width: frame[2], hidden: change.nodes.length - shown.size };
}
function drawSide(table, change, side, at, { folded, hidden }, frame, title) {
  const picture = svg("svg", {
    class: table.isMolecular ? "drawing" : "drawing net", role: "img", "aria-label": title,
    viewBox: frame.map(at1).join(" "), width: at1(frame[2]), height: at1(frame[3]),
  });
  paint(picture, table, change, side, at, folded, hidden, null);
  return picture;
}
// `asPattern` holds what a rule writes for some atoms, and the dotted lines of others.
function paint(picture, table, change, side, at, folded, hidden, asPattern) {
  const here = (node) => at.has(node) && !hidden.has(node) && change.nodes[node][side] >= 0;
  const edges = change.edges.filter((edge) => edge[side] >= 0 && here(edge.i) && here(edge.j));
  const ties = new Map();
  for (const { i, j } of edges) {
    ties.set(i, [...(ties.get(i) || []), j]);
    ties.set(j, [...(ties.get(j) || []), i]);
  }
  const nameOf = (node) => (table.isMolecular ? table.atoms[change.nodes[node][side]].slice(0, 2).join("") : table.labels[change.nodes[node][side]]);
  const hasTriple = (node) => table.edgeLabels && edges.some((edge) => (edge.i === node || edge.j === node) && table.edgeLabels[edge[side]] === "triple");
  // A rule writes the carbons at the end of a chain, of a triple bond and those that are a group of their own; others are corners.
  const isCorner = (node) => {
    if (!asPattern) return !markOf(change.nodes[node], side) && ties.has(node);
    const beside = ties.get(node) || [];
    const alone = markOf(change.nodes[node], side) && beside.every((other) => !markOf(change.nodes[other], side));
    return !asPattern.texts.has(node) && beside.length + (asPattern.stubs.get(node) || []).length > 1 && !alone && !hasTriple(node);
  };
  const gap = (node) => {
    if (!table.isMolecular) return asPattern ? 0 : 9;
    if (asPattern && asPattern.texts.has(node)) return 4 + 4.2 * asPattern.texts.get(node).length;
    return nameOf(node) === "C" && isCorner(node) ? 0 : nameOf(node) === "H" ? 6.5 : 8.5;
  };
  const lines = new Map();
  for (const edge of edges) {
    const mark = markOf(edge, side);
    const kind = table.isMolecular && table.edgeLabels ? table.edgeLabels[edge[side]] : "single";
    const leaning = [edge.i, edge.j].flatMap((node) => ties.get(node).filter((other) => other !== edge.i && other !== edge.j).map((other) => at.get(other)));
    const isEnd = Math.min(ties.get(edge.i).length, ties.get(edge.j).length) === 1;
    for (const [path, dashed] of bondLines(at.get(edge.i), at.get(edge.j), kind, [gap(edge.i), gap(edge.j)], leaning, isEnd)) {
      const style = `${mark}${dashed ? " dash" : ""}`.trim();
      lines.set(style, (lines.get(style) || "") + path);
    }
  }
  for (const [style, path] of [...lines].sort()) picture.append(svg("path", { ...(style ? { class: style } : {}), d: path }));
  for (const node of at.keys()) {
    if (!here(node)) continue;
    const mark = markOf(change.nodes[node], side);
    if (!table.isMolecular) drawNode(picture, table, nameOf(node), at.get(node), mark, asPattern);
    else if (gap(node) > 0) {
      const beside = (ties.get(node) || []).map((other) => at.get(other)[0] - at.get(node)[0]);
      const text = asPattern && asPattern.texts.get(node);
      if (text) picture.append(svg("text", { class: "rest", x: at1(at.get(node)[0]), y: at1(at.get(node)[1]) }, text));
      else drawAtom(picture, table.atoms[change.nodes[node][side]], folded.get(node) || 0, at.get(node), mark, beside.length === 1 && beside[0] > 12, !asPattern);
    }
  }
}
// What surrounds a node that changes; wider to one side where hydrogens are written there.
function halo(picture, [x, y], mark, { reach = 10, left = 0, right = 0 } = {}) {
  const round = mark === "other" ? 3 : reach;
  const box = { x: at1(x - reach - left), y: at1(y - reach), width: 2 * reach + left + right, height: 2 * reach, rx: round };
  if (mark && (mark === "other" || left || right)) picture.append(svg("rect", { class: `halo ${mark}`, ...box }));
  else if (mark) picture.append(svg("circle", { class: `halo ${mark}`, cx: at1(x), cy: at1(y), r: reach }));
}
function drawAtom(picture, [name, charge], hydrogens, [x, y], mark, toTheLeft, withHalo) {
  const wider = hydrogens > 1 ? 12 : hydrogens ? 8 : 0;
  if (withHalo) halo(picture, [x, y], mark, { [toTheLeft ? "left" : "right"]: wider });
  const style = [name === "H" && !mark ? "h" : "", mark].filter(Boolean).join(" ");
  const text = svg("text", { x: at1(x), y: at1(y), ...(style ? { class: style } : {}) }, name + charge);
  // Hydrogens stand on the side away from the bond, and leave the atom in its place.
  if (hydrogens) {
    const many = `H${hydrogens > 1 ? subscript(hydrogens) : ""}`;
    text.classList.add(toTheLeft ? "end" : "start");
    text.setAttribute("x", at1(x + (toTheLeft ? 4.3 : -4.3) * name.length));
    text.textContent = toTheLeft ? many + name + charge : name + many + charge;
  }
  picture.append(text);
}
const pillWidth = (name) => (name ? Math.max(18, 6.2 * Math.min(name.length, 12) + 12) : 18);
function drawNode(picture, table, name, [x, y], mark, asPattern) {
  const group = svg("g", {});
  const named = table.labels.length > 1;
  group.append(svg("title", {}, name.slice(0, 200)));
  if (asPattern) {
    const wide = pillWidth(named ? name : "");
    group.append(svg("rect", { class: `pill ${mark}`.trim(), x: at1(x - wide / 2), y: at1(y - 9), width: at1(wide), height: 18, rx: 9 }));
    if (named) group.append(svg("text", { x: at1(x), y: at1(y), ...(mark ? { class: mark } : {}) }, name.length > 12 ? `${name.slice(0, 11)}…` : name));
  } else {
    group.append(svg("circle", { class: "node", cx: at1(x), cy: at1(y), r: 9 }));
    halo(group, [x, y], mark);
    const short = named ? [...name].slice(0, 2).join("") : "";
    const style = [short.length > 1 ? "small" : "", mark].filter(Boolean).join(" ");
    if (short) group.append(svg("text", { x: at1(x), y: at1(y), ...(style ? { class: style } : {}) }, short));
  }
  picture.append(group);
}
