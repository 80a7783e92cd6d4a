// The choice: the same rules, in the same order, as `algorithms.rules.choice.choose` takes; and what is known of a rule.
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
// Fewer changes first, then properties in the range of drugs, the higher success, the lower cost, the smaller radius, the order of the table.
function byPreference(table, rules, success) {
  return rules.sort((a, b) => table.numChanges[a] - table.numChanges[b] || table.strays[a] - table.strays[b] || success[b] - success[a]
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
// What each entry is worth: 1, or for truth the likelihood that it comes true less that it does not, in tenths, less one for every further
// change that is made; 0 where it does not count.
function worthOf(table, wishes) {
  const worth = new Uint8Array(table.input.length);
  const least = Math.round(100 * wishes.minTruth);
  const forTruth = least > 0 && table.hasJury;
  const further = table.goal ? wishes.further : 0;
  for (let at = 0; at < worth.length; at += 1) {
    if (wishes.confirmed && !table.confirmed[at]) continue;
    if (further && table.surplus[at] < further) continue;
    const truth = further ? likelyBeyond(table, at, further) : table.truth[at];
    if (!forTruth) worth[at] = 1;
    else if (truth >= least) worth[at] = Math.max(1, Math.floor((2 * truth - 95) / 10) - (table.numChanges[table.ruleOf[at]] - 1));
  }
  return worth;
}
// How likely a result exceeds the goal by so much more, in percent: the jury's estimate, moved by that many times its noise.
function likelyBeyond(table, at, further) {
  const share = Math.min(Math.max(table.truth[at], 0.5), 99.5) / 100;
  return Math.round(100 / (1 + Math.exp(1.702 * further / table.goal.noise - Math.log(share / (1 - share)))));
}
const hasLevels = (worth) => {
  const one = worth.find((value) => value > 0);
  return worth.some((value) => value > 0 && value !== one);
};
const asCounts = (worth) => worth.map((value) => (value > 0 ? 1 : 0));
// Greedy cover: `order` are the rules by preference, `open` the inputs that count. A rule gains what its results are worth beyond the best that is
// reached already; where all are worth 1, no choice of as many rules covers more than `bound`.
function cover(table, order, num, worth, { open = null, picks = [], slack = table.slack, bounded = false } = {}) {
  const { ptr, input, columnPtr, column, ruleOf } = table;
  const gains = new Int32Array(table.K);
  const have = new Uint8Array(table.N);
  const rules = [];
  let covered = 0;
  for (let at = 0; at < worth.length; at += 1) if (worth[at] && (!open || open[input[at]])) gains[ruleOf[at]] += worth[at];
  const take = (rule) => {
    for (let at = ptr[rule]; at < ptr[rule + 1]; at += 1) {
      const item = input[at];
      const now = have[item];
      if (worth[at] <= now || (open && !open[item])) continue;
      have[item] = worth[at];
      covered += worth[at] - now;
      for (let k = columnPtr[item]; k < columnPtr[item + 1]; k += 1) {
        const other = Math.min(worth[column[k]], worth[at]);
        if (other > now) gains[ruleOf[column[k]]] -= other - now;
      }
    }
    rules.push(rule);
  };
  let bound = bounded ? Math.min(coverableBy(table, order, worth), sumOfLargest(gains, order, num, table.N)) : Infinity;
  for (const rule of picks) take(rule);
  while (rules.length < num) {
    let best = 0;
    for (const rule of order) best = Math.max(best, gains[rule]);
    if (best <= 0) break;
    const least = (1 - slack) * best;
    take(order.find((rule) => gains[rule] >= least));
    if (bounded) bound = Math.min(bound, covered + sumOfLargest(gains, order, num, table.N));
  }
  return { rules, covered, bound: Math.max(bound, covered) };
}
function coverableBy(table, rules, worth) {
  const reached = new Uint8Array(table.N);
  for (const rule of rules) for (let at = table.ptr[rule]; at < table.ptr[rule + 1]; at += 1) if (worth[at]) reached[table.input[at]] = 1;
  return reached.reduce((sum, one) => sum + one, 0);
}
function chooseRules(table, wishes) {
  const allowed = [];
  for (let rule = 0; rule < table.K; rule += 1) {
    if (table.success[rule] >= wishes.minSuccess && table.numTurned[rule] >= wishes.minSupport && isAllowed(table, wishes, rule)) {
      allowed.push(rule);
    }
  }
  const { picks } = wishes;
  const order = byPreference(table, allowed.slice(), table.success);
  const worth = worthOf(table, wishes);
  const forTruth = hasLevels(worth);
  let { rules } = cover(table, order, wishes.num, worth, { picks });
  const spelt = picks.length ? rules : spellOut(table, order, rules, worth, wishes.num);
  if (spelt.length > rules.length) rules = cover(table, byPreference(table, spelt, table.success), wishes.num, worth).rules;
  if (forTruth) {
    rules = [...picks, ...byTrust(table, rules.filter((rule) => !picks.includes(rule)), worth)];
    const { added } = reachOf(table, rules, worth);
    rules = rules.filter((rule, k) => added[k] > 0 || picks.includes(rule)); // surer rules before it may leave it nothing
  }
  // No choice of as many rules turns more inputs than this; it takes as long as the choice, and is asked for later.
  const boundOf = () => cover(table, order, wishes.num, asCounts(worth), { picks, bounded: true }).bound;
  return { ...reachOf(table, rules, worth), boundOf, allowed, worth };
}
// The rules whose results are the most likely to come true first; two results that fail are added to those of every rule, as few say little.
function byTrust(table, rules, worth) {
  const trust = new Map(rules.map((rule) => {
    let [total, count] = [0, 0];
    for (let at = table.ptr[rule]; at < table.ptr[rule + 1]; at += 1) [total, count] = [total + worth[at], count + (worth[at] ? 1 : 0)];
    return [rule, total / (count + table.doubt)];
  }));
  return rules.sort((a, b) => trust.get(b) - trust.get(a));
}
// What rules do one after the other: inputs that each adds, those left, and how many of them every other rule would add.
function reachOf(table, rules, worth) {
  const left = new Uint8Array(table.N).fill(1);
  const added = rules.map((rule) => {
    let gain = 0;
    for (let at = table.ptr[rule]; at < table.ptr[rule + 1]; at += 1) {
      if (!worth[at] || !left[table.input[at]]) continue;
      left[table.input[at]] = 0;
      gain += 1;
    }
    return gain;
  });
  const gains = new Int32Array(table.K);
  for (let at = 0; at < worth.length; at += 1) if (worth[at] && left[table.input[at]]) gains[table.ruleOf[at]] += 1;
  return { rules, added, covered: added.reduce((sum, gain) => sum + gain, 0), left, gains };
}
// The rules that the run itself chose; with a census it chose them for more inputs than the page has.
function ownChoice(table, wishes) {
  return chooseRules(table, { ...wishes, picks: table.chosen, num: table.chosen.length });
}
// Where fewer rules are enough, a general one gives way to a few of the same changes that say where, if these turn all that it adds.
function spellOut(table, allowed, chosen, worth, num) {
  const left = new Uint8Array(table.N).fill(1);
  const counts = asCounts(worth);
  const result = [];
  let room = num - chosen.length;
  for (const rule of chosen) {
    const added = new Uint8Array(table.N);
    let need = 0;
    for (let at = table.ptr[rule]; at < table.ptr[rule + 1]; at += 1) {
      const item = table.input[at];
      if (!left[item] || !counts[at]) continue;
      [left[item], added[item], need] = [0, 1, need + 1];
    }
    const least = (1 - table.slack) * table.success[rule];
    const parts = room > 0 ? allowed.filter((other) => table.generalOf[other] === rule && table.success[other] >= least) : [];
    const found = parts.length > 1 ? cover(table, parts, Math.min(room + 1, table.mostParts), counts, { open: added, slack: 0 }) : { rules: [] };
    const isSplit = found.rules.length > 1 && found.covered === need;
    result.push(...(isSplit ? found.rules : [rule]));
    room -= isSplit ? found.rules.length - 1 : 0;
  }
  return result;
}
// Chosen on four fifths of the inputs, measured on one fifth, five times; null for fewer than ten inputs.
function heldOutCoverage(table, wishes) {
  if (table.N < 2 * table.splits) return null;
  const worth = worthOf(table, wishes);
  const free = [];
  for (let rule = 0; rule < table.K; rule += 1) if (isAllowed(table, wishes, rule)) free.push(rule);
  let sum = 0;
  for (let fold = 0; fold < table.splits; fold += 1) {
    const seen = Uint8Array.from(table.foldOf, (one) => (one === fold ? 0 : 1));
    const turned = new Int32Array(table.K);
    for (let at = 0; at < worth.length; at += 1) if (worth[at] && seen[table.input[at]]) turned[table.ruleOf[at]] += 1;
    const rate = new Float64Array(table.K);
    for (const rule of free) rate[rule] = turned[rule] / Math.max(table.numApplicable[rule] - table.inFold[fold][rule], 1);
    const allowed = free.filter((rule) => rate[rule] >= wishes.minSuccess && turned[rule] >= wishes.minSupport);
    const chosen = cover(table, byPreference(table, allowed, rate), wishes.num, worth, { open: seen, picks: wishes.picks }).rules;
    const { left } = reachOf(table, chosen, worth);
    let [hit, all] = [0, 0];
    for (let item = 0; item < table.N; item += 1) if (!seen[item]) [hit, all] = [hit + 1 - left[item], all + 1];
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
// What is known of a rule. Of the run's own rules it is known too where a chemist's wishes let them be carried out.
function statistics(table, rule) {
  const applicable = (table.known[rule] || {}).applicable || table.numApplicable[rule];
  const turned = table.numTurned[rule];
  const rises = [];
  for (let at = table.ptr[rule]; at < table.ptr[rule + 1]; at += 1) {
    rises.push(table.afterwards[at] / 255 - table.beforehand[table.input[at]]);
  }
  rises.sort((a, b) => a - b);
  const middle = rises.length >> 1;
  return {
    applicable, turned, least: (table.known[rule] || {}).least || "", success: turned / Math.max(applicable, 1), interval: wilson(turned, applicable),
    unseen: unseenSuccess(table, rule), confirmed: table.hasPanel ? table.numConfirmed[rule] / Math.max(turned, 1) : null,
    truth: table.hasJury ? table.meanTruth[rule] : null,
    random: table.random[rule] < 0 ? null : table.random[rule],
    rise: rises.length ? (rises.length % 2 ? rises[middle] : (rises[middle - 1] + rises[middle]) / 2) : 0,
  };
}
