"use strict";
(() => {
  // ---- Small things. Text always goes in as text: nothing from the data is ever read as markup.
  const byId = (id) => document.getElementById(id);
  const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)}%`;
  const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
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

  // ---- The table, unpacked: see report/explorer.py for what it is made of.
  const TYPES = { u1: Uint8Array, i1: Int8Array, u2: Uint16Array, i2: Int16Array, i4: Int32Array, f4: Float32Array };
  const NOWHERE = -32768;
  const SCALE = 256;

  async function unpack(text) {
    const packed = Uint8Array.from(atob(text.trim()), (char) => char.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const buffer = await new Response(stream).arrayBuffer();
    const size = new DataView(buffer).getUint32(0, true);
    const facts = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
    const table = { ...facts };
    for (const [name, [type, start, length]] of Object.entries(facts.arrays)) {
      table[name] = new TYPES[type](buffer, 4 + size + start, length);
    }
    return indexed(table);
  }
  const hasBit = (bits, row, width, item) => (bits[row * width + (item >> 3)] & (128 >> (item & 7))) !== 0;

  // Entries of each rule and of each input, and the counts that the choice needs again and again.
  function indexed(table) {
    const K = table.rules.length;
    const N = table.index.length;
    const width = Math.ceil(N / 8);
    const E = table.afterwards.length;
    const ptr = new Int32Array(K + 1);
    const input = new Int32Array(E);
    const ruleOf = new Int32Array(E);
    const confirmed = new Uint8Array(E);
    const columnPtr = new Int32Array(N + 1);
    const splits = table.splits;
    const count = () => new Int32Array(K);
    const perFold = () => Array.from({ length: splits }, count);
    const inFold = { turned: perFold(), confirmed: perFold(), applicable: perFold() };
    const applicable = count();
    let entry = 0;
    for (let rule = 0; rule < K; rule += 1) {
      for (let item = 0; item < N; item += 1) {
        const fold = table.foldOf[item];
        if (hasBit(table.applicable, rule, width, item)) {
          applicable[rule] += 1;
          inFold.applicable[fold][rule] += 1;
        }
        if (!hasBit(table.turned, rule, width, item)) continue;
        input[entry] = item;
        ruleOf[entry] = rule;
        columnPtr[item + 1] += 1;
        inFold.turned[fold][rule] += 1;
        if (table.majority > 0 && table.votes[entry] >= table.majority) {
          confirmed[entry] = 1;
          inFold.confirmed[fold][rule] += 1;
        }
        entry += 1;
      }
      ptr[rule + 1] = entry;
    }
    for (let item = 0; item < N; item += 1) columnPtr[item + 1] += columnPtr[item];
    const next = columnPtr.slice(0, N);
    const column = new Int32Array(E);
    for (let at = 0; at < E; at += 1) column[next[input[at]]++] = at;
    const turned = count();
    const numConfirmed = count();
    const numChanges = new Uint8Array(K);
    const success = new Float64Array(K);
    const placeStart = new Int32Array(K + 1);
    for (let rule = 0; rule < K; rule += 1) {
      turned[rule] = ptr[rule + 1] - ptr[rule];
      for (let at = ptr[rule]; at < ptr[rule + 1]; at += 1) numConfirmed[rule] += confirmed[at];
      for (let change = 0; change < 3; change += 1) numChanges[rule] += table.kindOf[3 * rule + change] >= 0 ? 1 : 0;
      success[rule] = turned[rule] / Math.max(applicable[rule], 1);
      placeStart[rule + 1] = placeStart[rule] + 2 * numChanges[rule] * table.numPlaces[rule];
    }
    const placeOf = new Map(Array.from(table.index, (index, place) => [index, place]));
    return {
      ...table, K, N, width, ptr, input, ruleOf, confirmed, columnPtr, column, inFold, numApplicable: applicable, numTurned: turned,
      numConfirmed, numChanges, success, placeStart, placeOf,
    };
  }

  // ---- The choice: the same rules, in the same order, as `comrecgc.rules.choose` takes.
  function isAllowed(table, wishes, rule) {
    const labels = table.labels.length;
    if (wishes.drops.includes(rule)) return false;
    if (table.numChanges[rule] > wishes.maxChanges || !wishes.radii.includes(table.radius[rule])) return false;
    if (wishes.maxCost !== null && table.cost[rule] > wishes.maxCost) return false;
    for (let change = 3 * rule; change < 3 * rule + 3; change += 1) {
      const kind = table.kindOf[change];
      if (kind >= 0 && wishes.forbiddenKinds.has(kind)) return false;
      if (table.attached[change] >= 0 && wishes.forbiddenGroups.has(table.attached[change])) return false;
    }
    for (const label of wishes.forbiddenLabels) if (table.adds[rule * labels + label]) return false;
    for (const label of wishes.protectedLabels) if (table.removes[rule * labels + label]) return false;
    return true;
  }
  // Fewer changes first, then the higher success, the lower cost, the wider context, the order of the table.
  function byPreference(table, rules, success) {
    return rules.sort((a, b) => table.numChanges[a] - table.numChanges[b] || success[b] - success[a]
      || table.cost[a] - table.cost[b] || table.radius[a] - table.radius[b] || a - b);
  }
  function sumOfLargest(gains, rules, count, most) {
    const histogram = new Int32Array(most + 1);
    for (const rule of rules) histogram[Math.max(gains[rule], 0)] += 1;
    let sum = 0;
    for (let gain = most; gain > 0 && count > 0; gain -= 1) {
      const taken = Math.min(count, histogram[gain]);
      sum += taken * gain;
      count -= taken;
    }
    return sum;
  }
  // Greedy cover. `left` says which inputs count and are not covered yet, `gains` what every rule would add; both are changed.
  function cover(table, order, num, left, gains, onlyConfirmed, picks = []) {
    const rules = [];
    const added = [];
    let covered = 0;
    const take = (rule) => {
      let gain = 0;
      for (let at = table.ptr[rule]; at < table.ptr[rule + 1]; at += 1) {
        const item = table.input[at];
        if (!left[item] || (onlyConfirmed && !table.confirmed[at])) continue;
        left[item] = 0;
        gain += 1;
        for (let k = table.columnPtr[item]; k < table.columnPtr[item + 1]; k += 1) {
          const other = table.column[k];
          if (!onlyConfirmed || table.confirmed[other]) gains[table.ruleOf[other]] -= 1;
        }
      }
      rules.push(rule);
      added.push(gain);
      covered += gain;
    };
    let coverable = 0;
    const seen = new Uint8Array(table.N);
    for (const rule of order) {
      for (let at = table.ptr[rule]; at < table.ptr[rule + 1]; at += 1) {
        const item = table.input[at];
        if (left[item] && !seen[item] && (!onlyConfirmed || table.confirmed[at])) {
          seen[item] = 1;
          coverable += 1;
        }
      }
    }
    let bound = Math.min(coverable, sumOfLargest(gains, order, num, table.N));
    for (const rule of picks) take(rule);
    while (rules.length < num) {
      let best = 0;
      for (const rule of order) best = Math.max(best, gains[rule]);
      if (best <= 0) break;
      const least = (1 - table.slack) * best;
      take(order.find((rule) => gains[rule] >= least));
      bound = Math.min(bound, covered + sumOfLargest(gains, order, num, table.N));
    }
    return { rules, added, covered, bound: Math.max(bound, covered) };
  }
  function chooseRules(table, wishes) {
    const allowed = [];
    for (let rule = 0; rule < table.K; rule += 1) {
      if (table.success[rule] >= wishes.minSuccess && table.numTurned[rule] >= wishes.minSupport && isAllowed(table, wishes, rule)) {
        allowed.push(rule);
      }
    }
    const gains = (wishes.confirmed ? table.numConfirmed : table.numTurned).slice();
    const left = new Uint8Array(table.N).fill(1);
    const order = byPreference(table, allowed.slice(), table.success);
    const found = cover(table, order, wishes.num, left, gains, wishes.confirmed, wishes.picks);
    return { ...found, left, gains, allowed };
  }
  // Chosen on four fifths of the inputs, measured on one fifth, five times; null for fewer than ten inputs.
  function heldOutCoverage(table, wishes) {
    if (table.N < 2 * table.splits) return null;
    const counts = wishes.confirmed ? table.inFold.confirmed : table.inFold.turned;
    const totals = wishes.confirmed ? table.numConfirmed : table.numTurned;
    const free = [];
    for (let rule = 0; rule < table.K; rule += 1) if (isAllowed(table, wishes, rule)) free.push(rule);
    let sum = 0;
    for (let fold = 0; fold < table.splits; fold += 1) {
      const gains = new Int32Array(table.K);
      const rate = new Float64Array(table.K);
      for (let rule = 0; rule < table.K; rule += 1) {
        gains[rule] = totals[rule] - counts[fold][rule];
        rate[rule] = gains[rule] / Math.max(table.numApplicable[rule] - table.inFold.applicable[fold][rule], 1);
      }
      const allowed = free.filter((rule) => rate[rule] >= wishes.minSuccess && gains[rule] >= wishes.minSupport);
      const left = new Uint8Array(table.N);
      for (let item = 0; item < table.N; item += 1) left[item] = table.foldOf[item] !== fold ? 1 : 0;
      const chosen = cover(table, byPreference(table, allowed, rate), wishes.num, left, gains, wishes.confirmed, wishes.picks).rules;
      const reached = new Uint8Array(table.N);
      for (const rule of chosen) {
        for (let at = table.ptr[rule]; at < table.ptr[rule + 1]; at += 1) {
          if (!wishes.confirmed || table.confirmed[at]) reached[table.input[at]] = 1;
        }
      }
      let hit = 0;
      let all = 0;
      for (let item = 0; item < table.N; item += 1) {
        if (table.foldOf[item] !== fold) continue;
        all += 1;
        hit += reached[item];
      }
      sum += hit / all;
    }
    return sum / table.splits;
  }
  // Success of one rule on the part of the inputs that each split leaves out, over the splits where it can be carried out.
  function unseenSuccess(table, rule) {
    let sum = 0;
    let splits = 0;
    for (let fold = 0; fold < table.splits; fold += 1) {
      let can = 0;
      let turned = 0;
      for (let item = 0; item < table.N; item += 1) {
        if (table.ruleFoldOf[item] !== fold || !hasBit(table.applicable, rule, table.width, item)) continue;
        can += 1;
        turned += hasBit(table.turned, rule, table.width, item) ? 1 : 0;
      }
      if (can) [sum, splits] = [sum + turned / can, splits + 1];
    }
    return splits ? sum / splits : null;
  }
  function wilson(successes, trials) {
    if (!trials) return [0, 1];
    const z = 1.96;
    const share = successes / trials;
    const centre = share + (z * z) / (2 * trials);
    const spread = z * Math.sqrt((share * (1 - share)) / trials + (z * z) / (4 * trials * trials));
    const scale = 1 + (z * z) / trials;
    return [Math.max(0, (centre - spread) / scale), Math.min(1, (centre + spread) / scale)];
  }
  // What is known of a rule. The table counts a composite rule as possible where its parts are; for the run's own rules the exact count is known.
  function statistics(table, rule) {
    const exact = (table.known[rule] || {}).applicable;
    const applicable = exact || table.numApplicable[rule];
    const turned = table.numTurned[rule];
    const rises = [];
    for (let at = table.ptr[rule]; at < table.ptr[rule + 1]; at += 1) {
      rises.push(table.afterwards[at] / 255 - table.beforehand[table.input[at]]);
    }
    rises.sort((a, b) => a - b);
    const middle = rises.length >> 1;
    return {
      applicable, turned, success: turned / Math.max(applicable, 1), interval: wilson(turned, applicable),
      unseen: unseenSuccess(table, rule), confirmed: table.majority ? table.numConfirmed[rule] / Math.max(turned, 1) : null,
      random: table.random[rule] < 0 ? null : table.random[rule], atMost: !exact && table.numChanges[rule] > 1,
      rise: rises.length ? (rises.length % 2 ? rises[middle] : (rises[middle - 1] + rises[middle]) / 2) : 0,
    };
  }

  // ---- Rules on graphs: where a rule fits, and what comes of it (the contract of `explanation.json`).
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
    for (const order of orders) {
      const fixed = new Map();
      let agrees = true;
      order.forEach((change, place) => {
        for (const end of [0, 1]) {
          const node = pattern.ends[2 * place + end];
          if (node < 0) continue;
          const target = nodes[2 * change + end];
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

  // ---- Places on paper: distances follow those of the graph, chains zigzag; nodes that have a place keep it.
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

  // ---- Drawing.
  const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";
  const subscript = (count) => String(count).replace(/\d/g, (digit) => SUBSCRIPTS[Number(digit)]);
  const at1 = (value) => String(Math.round(value * 10) / 10);
  const markOf = (one) => (one.before === one.after ? "" : one.before < 0 ? "come" : one.after < 0 ? "gone" : "other");
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
      const mark = markOf(node);
      if (mark && mark !== markOf(change.nodes[beside[0]])) return;
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
      if (count > 0 && (element !== "C" || markOf(node))) counts.set(number, count);
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
    paint(picture, table, change, side, at, folded, hidden, false);
    return picture;
  }
  function paint(picture, table, change, side, at, folded, hidden, asPattern) {
    const here = (node) => at.has(node) && !hidden.has(node) && change.nodes[node][side] >= 0;
    const edges = change.edges.filter((edge) => edge[side] >= 0 && here(edge.i) && here(edge.j));
    const ties = new Map();
    for (const { i, j } of edges) {
      ties.set(i, [...(ties.get(i) || []), j]);
      ties.set(j, [...(ties.get(j) || []), i]);
    }
    const nameOf = (node) => (table.isMolecular ? table.atoms[change.nodes[node][side]].slice(0, 2).join("") : table.labels[change.nodes[node][side]]);
    const gap = (node) => {
      if (!table.isMolecular) return asPattern ? 0 : 9;
      const bare = nameOf(node) === "C" && !markOf(change.nodes[node]) && ties.has(node) && !asPattern;
      return bare ? 0 : nameOf(node) === "H" ? 6.5 : 8.5;
    };
    const lines = new Map();
    for (const edge of edges) {
      const mark = markOf(edge);
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
      const mark = markOf(change.nodes[node]);
      if (!table.isMolecular) drawNode(picture, table, nameOf(node), at.get(node), mark, asPattern);
      else if (gap(node) > 0) {
        const beside = (ties.get(node) || []).map((other) => at.get(other)[0] - at.get(node)[0]);
        drawAtom(picture, table.atoms[change.nodes[node][side]], folded.get(node) || 0, at.get(node), mark, beside.length === 1 && beside[0] > 12);
      }
    }
  }
  function halo(picture, [x, y], mark, reach = 10) {
    if (mark === "other") picture.append(svg("rect", { class: "halo other", x: at1(x - reach), y: at1(y - reach), width: 2 * reach, height: 2 * reach, rx: 3 }));
    else if (mark) picture.append(svg("circle", { class: `halo ${mark}`, cx: at1(x), cy: at1(y), r: reach }));
  }
  function drawAtom(picture, [name, charge], hydrogens, [x, y], mark, toTheLeft) {
    halo(picture, [x, y], mark);
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

  // A rule: its parts before, an arrow, its parts after. Dotted lines say that a node may have further neighbours.
  const ruleDrawings = new Map();
  function drawRule(table, rule) {
    if (!ruleDrawings.has(rule)) ruleDrawings.set(rule, makeRuleDrawing(table, rule));
    return ruleDrawings.get(rule).cloneNode(true);
  }
  function makeRuleDrawing(table, rule) {
    const pattern = patternOf(table, rule);
    const { before, closed } = pattern;
    const whole = { labels: before.labels, around: before.around, edges: before.edges, positions: before.labels.map(() => null) };
    const change = carryOut(pattern, whole, before.labels.map((label, node) => node));
    // A node that comes or goes is known with all its bonds; others may have more.
    const isWhole = (node) => change.nodes[node].before < 0 || change.nodes[node].after < 0;
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
      for (let k = 0; k < (taken.length < 3 ? 2 : 1) && k < 2; k += 1) {
        const angle = freeAngle(taken);
        taken.push(angle);
        ends.push([x + 0.62 * scale * Math.cos(angle), y + 0.62 * scale * Math.sin(angle)]);
      }
      stubs.set(node, ends);
    }
    return composeRule(table, change, parts, at, stubs, sides, pattern.summary);
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
  function composeRule(table, change, parts, at, stubs, sides, title) {
    const reach = (node) => (table.isMolecular ? 11 : pillWidth(table.labels.length > 1 ? table.labels[Math.max(change.nodes[node].before, change.nodes[node].after)] : "") / 2);
    const ends = [...stubs.values()].flat();
    const ys = [...at.values(), ...ends].map((point) => point[1]);
    const top = Math.min(...ys) - 16;
    const height = Math.max(...ys) - top + 16;
    const picture = svg("svg", { class: table.isMolecular ? "drawing rule" : "drawing rule net", role: "img", "aria-label": `Before and after: ${title}` });
    let left = 8;
    ["before", "after"].forEach((side, k) => {
      for (const part of parts) {
        const here = part.filter((node) => at.has(node) && change.nodes[node][side] >= 0 && !sides[k].hidden.has(node));
        if (!here.length) continue;
        const tails = here.flatMap((node) => stubs.get(node) || []);
        const wide = (node) => (sides[k].folded.get(node) ? 12 : 0);
        const low = Math.min(...tails.map((point) => point[0]), ...here.map((node) => at.get(node)[0] - reach(node)));
        const high = Math.max(...tails.map((point) => point[0]), ...here.map((node) => at.get(node)[0] + reach(node) + wide(node)));
        const group = svg("g", { transform: `translate(${at1(left - low)} ${at1(-top)})` });
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
      if (side === "before") {
        const [start, end, middle] = [left + 4, left + 38, height / 2];
        picture.append(svg("path", { class: "arrow", d: `M${at1(start)} ${at1(middle)}H${at1(end)}M${at1(end - 6)} ${at1(middle - 4.5)}L${at1(end)} ${at1(middle)}L${at1(end - 6)} ${at1(middle + 4.5)}` }));
        left += 56;
      }
    });
    picture.setAttribute("viewBox", `0 0 ${at1(left)} ${at1(height)}`);
    picture.setAttribute("width", at1(left));
    picture.setAttribute("height", at1(height));
    return picture;
  }

  // ---- The page.
  const SHOWN_AT_ONCE = 20;
  const EXAMPLES = 4;
  const DRAWN_UNCOVERED = 24;
  const KIND_WORDS = {
    relabel: ["replace an atom", "relabel a node"], attach: ["attach a group", "attach a group"], detach: ["remove a group", "remove a group"],
    swap: ["swap a group", "swap a group"], join: ["join two atoms", "join two nodes"], cut: ["cut a bond", "cut an edge"],
    rebond: ["change a bond", "relabel an edge"],
  };
  const SORTS = {
    adds: ["adds most to the choice above", (t, c) => (a, b) => c.gains[b] - c.gains[a]],
    works: ["works for most", (t) => (a, b) => t.numTurned[b] - t.numTurned[a]],
    success: ["highest success", (t) => (a, b) => t.success[b] - t.success[a] || t.numTurned[b] - t.numTurned[a]],
    confirmed: ["most often confirmed", (t) => (a, b) => t.numConfirmed[b] - t.numConfirmed[a]],
    edits: ["fewest edits", (t) => (a, b) => t.cost[a] - t.cost[b] || t.numTurned[b] - t.numTurned[a]],
  };

  function start(table) {
    const thing = table.isMolecular ? "molecule" : "graph";
    const atomic = table.isMolecular ? 0 : 1;
    const groupNames = new Map(table.groups);
    const called = (item) => `${thing[0].toUpperCase()}${thing.slice(1)} ${table.index[item]}${table.names[item] ? ` (${table.names[item]})` : ""}`;
    const maxCost = table.cost.reduce((most, cost) => Math.max(most, cost), 1);
    const maxChanges = table.numChanges.reduce((most, count) => Math.max(most, count), 1);
    const reject = table.classes[0] === "reject" ? "rejected" : table.classes[0];
    const accept = table.classes[1] === "accept" ? "accepted" : table.classes[1];
    const initial = () => {
      const asked = table.wishes;
      return {
        num: table.numRecourses, minSuccess: asked.min_success ?? 0, minSupport: asked.min_support ?? 1, maxCost: asked.max_cost ?? null,
        maxChanges: asked.max_changes ?? 3, radii: asked.radii ?? [0, 1, 2], forbiddenLabels: new Set(asked.forbidden_labels ?? []),
        forbiddenGroups: new Set(asked.forbidden_groups ?? []), protectedLabels: new Set(asked.protected_labels ?? []),
        forbiddenKinds: new Set((asked.forbidden_kinds ?? []).map((kind) => table.kinds.indexOf(kind))),
        confirmed: asked.confirmed ?? false, picks: [], drops: [],
      };
    };
    let wishes = initial();
    let choice = null;
    const opened = new Set();
    const browse = { sort: "adds", words: "", allowedOnly: true, shown: SHOWN_AT_ONCE };

    // Wishes in the address, so that a choice can be kept and sent: only what differs from the run's own.
    const LISTS = { "no-add": ["forbiddenLabels", table.labels.length], protect: ["protectedLabels", table.labels.length], "no-kind": ["forbiddenKinds", table.kinds.length] };
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
      for (const [name, [field]] of Object.entries(LISTS)) put(name, [...now[field]].sort((a, b) => a - b).join("."), [...own[field]].sort((a, b) => a - b).join("."));
      put("no-group", [...now.forbiddenGroups].sort((a, b) => a - b).join("."), [...own.forbiddenGroups].sort((a, b) => a - b).join("."));
      put("pick", now.picks.join("."), "");
      put("drop", now.drops.join("."), "");
      return parts.length ? `#${parts.join("&")}` : "#";
    }
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
        if (name === "confirmed") now.confirmed = value === 1 && table.majority > 0;
        if (LISTS[name]) now[LISTS[name][0]] = new Set(numbers(text, LISTS[name][1]));
        if (name === "no-group") now.forbiddenGroups = new Set(numbers(text, 65536).filter((group) => groupNames.has(group)));
        if (name === "pick") now.picks = numbers(text, table.K);
        if (name === "drop") now.drops = numbers(text, table.K).filter((rule) => !now.picks.includes(rule));
      }
      return now;
    }
    // The same choice on the command line; null where it has no such option.
    function commandOf(now) {
      if (now.picks.length || now.drops.length || now.radii.join() !== "0,1,2") return null;
      const own = initial();
      // A name forbids all groups that are called so.
      const names = new Set([...now.forbiddenGroups].map((group) => groupNames.get(group)));
      if (table.groups.some(([group, name]) => names.has(name) && !now.forbiddenGroups.has(group))) return null;
      const quoted = (name) => (/^[\w.+-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);
      const words = ["comrecgc choose RUN", `--recourses ${now.num}`];
      if (now.minSuccess !== own.minSuccess) words.push(`--min-success ${now.minSuccess}`);
      if (now.minSupport !== own.minSupport) words.push(`--min-support ${now.minSupport}`);
      if (now.maxCost !== null) words.push(`--max-cost ${now.maxCost}`);
      if (now.maxChanges !== own.maxChanges) words.push(`--max-changes ${now.maxChanges}`);
      for (const kind of now.forbiddenKinds) words.push(`--forbid-kind ${table.kinds[kind]}`);
      for (const label of now.forbiddenLabels) words.push(`--forbid-label ${quoted(table.labels[label])}`);
      for (const name of names) words.push(`--forbid-group ${quoted(name)}`);
      for (const label of now.protectedLabels) words.push(`--protect-label ${quoted(table.labels[label])}`);
      if (now.confirmed) words.push("--confirmed");
      return words.join(" ");
    }

    // -- Controls.
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
      field("group").append(...table.groups.map(([k, name]) => Object.assign(element("option", name), { value: k })));
      field("group").closest(".wish").hidden = !table.groups.length;
      field("group").addEventListener("change", () => {
        if (field("group").value !== "") wishes.forbiddenGroups.add(Number(field("group").value));
        field("group").value = "";
        update();
      });
      field("num").max = table.K;
      field("num-range").max = Math.min(table.K, Math.max(30, table.numRecourses));
      field("edits").max = maxCost;
      field("changes").append(...["one change", "one or two changes", "up to three changes"].slice(0, maxChanges)
        .map((words, k) => Object.assign(element("option", words), { value: k + 1 })));
      field("changes").closest(".wish").hidden = maxChanges < 2;
      field("panel").hidden = !table.majority;
      const on = (id, event, action) => field(id).addEventListener(event, () => { action(field(id)); update(); });
      on("num-range", "input", (it) => { wishes.num = Number(it.value); });
      on("num", "input", (it) => { if (it.value >= 1) wishes.num = Math.floor(Math.min(Number(it.value), table.K)); });
      on("success", "input", (it) => { wishes.minSuccess = Number(it.value) / 100; });
      on("support", "input", (it) => { if (it.value >= 1) wishes.minSupport = Math.floor(Number(it.value)); });
      on("edits", "input", (it) => { wishes.maxCost = Number(it.value) >= maxCost ? null : Number(it.value); });
      on("changes", "change", (it) => { wishes.maxChanges = Number(it.value) >= maxChanges ? Math.max(initial().maxChanges, maxChanges) : Number(it.value); });
      for (const radio of document.getElementsByName("counts")) {
        radio.addEventListener("change", () => { wishes.confirmed = radio.value === "confirmed" && radio.checked; update(); });
      }
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
      for (const radio of document.getElementsByName("counts")) radio.checked = (radio.value === "confirmed") === wishes.confirmed;
      pressChips(field("kinds"), wishes.forbiddenKinds);
      pressChips(field("adds"), wishes.forbiddenLabels);
      pressChips(field("protects"), wishes.protectedLabels);
      field("groups").replaceChildren(...[...wishes.forbiddenGroups].map((group) => {
        const chip = button(groupNames.get(group), "chip", () => { wishes.forbiddenGroups.delete(group); update(); });
        chip.setAttribute("aria-pressed", "true");
        chip.setAttribute("aria-label", `Allow ${groupNames.get(group)} again`);
        return chip;
      }));
      const command = commandOf(wishes);
      byId("command").hidden = command === null;
      byId("command").querySelector("code").textContent = command ?? "";
      byId("reset").disabled = addressOf(wishes) === "#";
    }

    // -- What follows from a wish.
    let pending = 0;
    function update(keepAddress = false) {
      const begin = performance.now();
      choice = chooseRules(table, wishes);
      document.documentElement.dataset.milliseconds = (performance.now() - begin).toFixed(1);
      if (!keepAddress) window.history.replaceState(null, "", addressOf(wishes));
      browse.shown = SHOWN_AT_ONCE;
      showWishes();
      showFigures();
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
      byId("title-rules").textContent = `${counted(num, "rule")} turn${num === 1 ? "s" : ""}`;
      byId("title-share").textContent = percent(share);
      setFigure("covered", percent(share));
      // The run itself looked longer for a bound on its own choice.
      const isOwn = addressOf(wishes) === "#" && typeof table.bound === "number";
      const bound = isOwn ? table.bound : choice.bound / Math.max(table.N, 1);
      const best = bound - share < 5e-4 && !wishes.picks.length;
      setFigure("bound", percent(bound), num === 0 ? "no rule is like that" : `no ${num === 1 ? "other rule covers" : `${num} of the ${table.K} rules kept cover`} more${best ? `: ${num === 1 ? "this is" : "these are"} the best` : ""}`);
      const first = firstEntries();
      setFigure("confirmed", percent(first.filter((at) => at >= 0 && table.confirmed[at]).length / Math.max(table.N, 1)));
      const cost = choice.rules.reduce((sum, rule, k) => sum + table.cost[rule] * choice.added[k], 0) / Math.max(choice.covered, 1);
      setFigure("cost", cost.toFixed(1));
      const left = table.N - choice.covered;
      const words = num ? `${counted(num, "rule")} cover${num === 1 ? "s" : ""} ${percent(share)} of ${table.N} ${thing}s; ${left} remain.` : "No rule is as you wish. Allow more.";
      byId("answer").textContent = words;
      byId("picked").textContent = pickedWords();
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
          if (first[table.input[at]] < 0 && (!wishes.confirmed || table.confirmed[at])) first[table.input[at]] = at;
        }
      }
      return first;
    }
    function showSlowFigures() {
      const unseen = heldOutCoverage(table, wishes);
      if (unseen !== null) setFigure("unseen", percent(unseen));
      for (const [k, row] of [...document.querySelectorAll("#frontier > div")].entries()) {
        const found = chooseRules(table, { ...wishes, picks: [], maxChanges: Math.min(wishes.maxChanges, k + 1) });
        const share = found.covered / Math.max(table.N, 1);
        row.querySelector("b").textContent = percent(share);
        row.querySelectorAll("rect")[1].setAttribute("width", 100 * share);
      }
      document.documentElement.dataset.unseen = unseen === null ? "" : unseen;
      document.documentElement.dataset.settled = "yes";
    }

    // -- The rules chosen.
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
      return cell("works for", `${known.turned} of ${known.applicable} `, small, bar);
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
      toggle.append(element("bdi", patternOf(table, rule).summary));
      toggle.setAttribute("aria-expanded", String(isOpen));
      const picture = element("span", undefined, "pattern");
      picture.append(drawRule(table, rule));
      title.append(toggle, picture);
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
        const row = rowOf([
          element("td", k + 1, "n"), titleCell(rule, `c${rule}`), worksCell(known),
          ...(table.N >= 2 * table.splits ? [cell("unseen", known.unseen === null ? "–" : percent(known.unseen, 0))] : []),
          ...(table.majority ? [cell("confirmed", percent(known.confirmed, 0))] : []),
          cell("edits", table.cost[rule]), cell("adds", choice.added[k]), cell("so far", percent(covered / table.N)), actions,
        ]);
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

    // -- A rule, opened.
    function ruleDetail(rule) {
      const pattern = patternOf(table, rule);
      const known = statistics(table, rule);
      const parts = [element("p", pattern.description), factList(rule, pattern, known)];
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
      return parts;
    }
    const links = (items) => items.flatMap((item, k) => [...(k ? [", "] : []), button(table.index[item], "link", () => openGraph(item))]);
    function factList(rule, pattern, known) {
      const list = element("dl", undefined, "known");
      const put = (name, words) => list.append(element("dt", name), element("dd", words));
      const range = `${percent(known.interval[0], 0)}–${percent(known.interval[1], 0)}`.replace("%–", "–");
      put("Works for", `${known.turned} of ${known.atMost ? "at most " : ""}${known.applicable} ${thing}s that it can be carried out on (${percent(known.success, 0)}; with 95% confidence ${range})`);
      if (known.unseen !== null && table.N >= 2 * table.splits) put(`On unseen ${thing}s`, `${percent(known.unseen, 0)}, mean of ${table.splits} splits`);
      if (table.majority) put("Confirmed", `${percent(known.confirmed, 0)}: most of the panel accept ${table.numConfirmed[rule]} of ${known.turned} results too`);
      if (known.random !== null) {
        const ratio = known.random > 0 ? known.success / known.random : Infinity;
        const better = ratio >= 1.15 ? `; this rule works ${Number.isFinite(ratio) ? `${Number(ratio.toPrecision(2))} times` : "infinitely"} as often` : ratio >= 0.9 ? "; this rule is hardly better" : "; this rule works less often";
        put("Random changes", `${percent(known.random, 0)} of all changes of the same kind work on these ${thing}s${known.random > 0 ? better : ""}`);
      }
      put("Probability", `rises by ${Math.round(100 * known.rise)} points where it works (median)`);
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
    const rejectWords = (item) => `${reject} ${percent(1 - table.beforehand[item], 0)}`;
    function workingExample(rule, item) {
      const entry = entryOf(rule, item);
      const graph = inputGraph(table, item);
      const site = siteOfEntry(table, rule, entry, graph);
      if (!site) return null;
      const change = carryOut(patternOf(table, rule), graph, site);
      const votes = table.majority ? `, ${table.votes[entry]} of ${table.panel} of the panel agree` : "";
      return changeFigure(change, item, `${rejectWords(item)} becomes ${accept} ${percent(table.afterwards[entry] / 255, 0)}, ${counted(change.cost, "edit")}, distance ${change.distance.toFixed(3)}${votes}.`);
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

    // -- All other rules, by what they would add.
    function showBrowser() {
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
          titleCell(rule, `b${rule}`), worksCell(known), ...(table.majority ? [cell("confirmed", percent(known.confirmed, 0))] : []),
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
      byId("more-sort").append(...Object.entries(SORTS).filter(([name]) => name !== "confirmed" || table.majority)
        .map(([name, [words]]) => Object.assign(element("option", words), { value: name })));
      byId("more-sort").addEventListener("change", () => { browse.sort = byId("more-sort").value; showBrowser(); });
      byId("more-search").addEventListener("input", () => { browse.words = byId("more-search").value; browse.shown = SHOWN_AT_ONCE; showBrowser(); });
      byId("more-allowed").addEventListener("change", () => { browse.allowedOnly = byId("more-allowed").checked; showBrowser(); });
      byId("more-rows").addEventListener("click", () => { browse.shown += SHOWN_AT_ONCE; showBrowser(); });
      byId("more").addEventListener("submit", (event) => event.preventDefault());
    }

    // -- One graph, and every rule that works for it.
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
      summary.append(element("bdi", patternOf(table, rule).summary), " ");
      const votes = table.majority ? `, ${table.votes[at]} of ${table.panel} of the panel agree` : "";
      summary.append(element("span", `${counted(table.cost[rule], "edit")}, then ${accept} ${percent(table.afterwards[at] / 255, 0)}${votes}`, "muted"));
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

    // -- What is not covered.
    function showUncovered() {
      const left = [];
      for (let item = 0; item < table.N; item += 1) if (choice.left[item]) left.push(item);
      byId("uncovered-count").textContent = left.length ? `${left.length} of ${table.N} ${thing}s (${percent(left.length / table.N)}) are turned by no rule above.` : `Every ${thing} is covered.`;
      const turned = (item) => table.columnPtr[item + 1] > table.columnPtr[item];
      const groups = [
        ["Other rules would cover them", "Rules that turn these are in the table, but are not chosen or not as you wish. Open one to see them.", left.filter(turned)],
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

    // -- The curve of the choice, drawn at the width it has, so that its words keep their size.
    function drawCurve() {
      const holder = byId("curve");
      const total = choice.rules.length;
      let sum = 0;
      const shares = [0, ...choice.added.map((gain) => (sum += gain) / Math.max(table.N, 1))];
      const width = Math.max(240, holder.clientWidth);
      const height = Math.round(clamp(width * 0.42, 200, 300));
      const edge = { left: 44, right: 16, top: 26, bottom: 34 };
      const end = shares[total];
      const step = end > 0.5 ? 0.2 : end > 0.2 ? 0.1 : 0.05;
      const top = step * Math.max(1, Math.ceil(end / step - 1e-9));
      const x = (count) => edge.left + (count / Math.max(total, 1)) * (width - edge.left - edge.right);
      const y = (share) => height - edge.bottom - (share / top) * (height - edge.top - edge.bottom);
      const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
      for (let tick = 0; tick <= Math.round(top / step); tick += 1) {
        const share = step * tick;
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

    // -- Taking the choice away.
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
      const rows = [["recourse", "summary", "description", "gain", "coverage", "applicable", "accepted", "success", "success_low", "success_high", "held_out_success", "confirmed", "cost", "changes", "smirks", "inputs"]];
      exported().forEach(({ rule, pattern, known, inputs, adds, coverage }, k) => rows.push([
        k + 1, pattern.summary, pattern.description, adds, coverage, known.applicable, known.turned, known.success, known.interval[0], known.interval[1],
        known.unseen, table.majority ? table.numConfirmed[rule] : "", table.cost[rule], table.numChanges[rule], pattern.smirks, inputs.join(" "),
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
        forbidden_kinds: [...wishes.forbiddenKinds].map((kind) => table.kinds[kind]), forbidden_groups: [...wishes.forbiddenGroups].map((group) => groupNames.get(group)),
        confirmed: wishes.confirmed, picked: wishes.picks, dropped: wishes.drops,
      };
      return JSON.stringify({
        dataset: table.dataset, recourse: "rules", changes: table.changes, wishes: now, coverage: choice.covered / table.N, num_inputs: table.N,
        label_names: table.labels, edge_label_names: table.edgeLabels,
        recourses: exported().map(({ rule, pattern, known, inputs, adds, coverage }) => ({
          summary: pattern.summary, description: pattern.description, gain: adds, coverage,
          rule: { before: side(pattern.before, { closed: pattern.closed.map(Boolean) }), after: side(pattern.after), kept: [...pattern.image], radius: table.radius[rule], smirks: pattern.smirks || null },
          statistics: { applicable: known.applicable, accepted: known.turned, success: known.success, interval: known.interval, held_out: { success: known.unseen }, confirmed: table.majority ? table.numConfirmed[rule] : null, cost: table.cost[rule], num_changes: table.numChanges[rule], median_rise: known.rise },
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
    byId("export-csv").addEventListener("click", () => save("rules.csv", "text/csv", asCsv()));
    byId("export-json").addEventListener("click", () => save("rules.json", "application/json", asJson()));

    // -- Beginning.
    buildControls();
    buildBrowser();
    buildLookup();
    for (const node of document.querySelectorAll("[data-live]")) node.hidden = false;
    const named = /^#recourse-(\d+)$/.exec(window.location.hash);
    if (!named && window.location.hash.length > 1) wishes = wishesOf(window.location.hash);
    window.addEventListener("hashchange", () => {
      if (/^#recourse-\d+$|^#[a-z-]+$/.test(window.location.hash)) return;
      wishes = wishesOf(window.location.hash);
      update(true);
    });
    choice = chooseRules(table, wishes);
    const first = choice.rules[named ? Number(named[1]) - 1 : 0];
    if (first !== undefined) opened.add(`c${first}`);
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
      choose: (asked) => chooseRules(table, { ...initial(), ...asked }),
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
})();
