// The choice: the same rules, in the same order, as `comrecgc.rules.choose` takes; and what is known of a rule.
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
// Fewer changes first, then the higher success, the lower cost, the smaller radius, the order of the table.
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
// What each entry is worth: 1, or for truth the likelihood that it comes true less that it does not, in tenths; 0 where it does not count.
function worthOf(table, wishes) {
  const worth = new Uint8Array(table.input.length);
  const forTruth = wishes.minTruth > 0 && table.hasJury;
  for (let at = 0; at < worth.length; at += 1) {
    if (wishes.confirmed && !table.confirmed[at]) continue;
    if (forTruth && table.truth[at] < wishes.minTruth) continue;
    worth[at] = forTruth ? Math.max(1, table.surplus[at]) : 1;
  }
  return worth;
}
// Greedy cover. `open` says which inputs count, `have` what is reached for each already, `gains` what every rule would add; the last two are changed.
function cover(table, order, num, worth, have, { open = null, picks = [], slack = table.slack } = {}) {
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
    const least = (1 - slack) * best;
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
  const order = byPreference(table, allowed.slice(), table.success);
  const choose = (rules, picks) => {
    const gains = (wishes.confirmed ? table.numConfirmed : table.numTurned).slice();
    const left = new Uint8Array(table.N).fill(1);
    return { ...cover(table, rules, wishes.num, left, gains, wishes.confirmed, { picks }), left, gains, allowed };
  };
  const found = choose(order, wishes.picks);
  const spelt = wishes.picks.length ? found.rules : spellOut(table, order, found.rules, wishes);
  if (spelt.length === found.rules.length) return found;
  return { ...choose(byPreference(table, spelt, table.success), []), bound: found.bound };
}
// The rules that the run itself chose; with a census it chose them for more inputs than the page has.
function ownChoice(table, wishes) {
  return chooseRules(table, { ...wishes, picks: table.chosen, num: table.chosen.length });
}
// Where fewer rules are enough, a general one gives way to a few of the same changes that say where, if these turn all that it adds.
function spellOut(table, allowed, chosen, wishes) {
  const left = new Uint8Array(table.N).fill(1);
  const result = [];
  let room = wishes.num - chosen.length;
  for (const rule of chosen) {
    const added = new Uint8Array(table.N);
    let need = 0;
    for (let at = table.ptr[rule]; at < table.ptr[rule + 1]; at += 1) {
      const item = table.input[at];
      if (!left[item] || (wishes.confirmed && !table.confirmed[at])) continue;
      [left[item], added[item], need] = [0, 1, need + 1];
    }
    const least = (1 - table.slack) * table.success[rule];
    const parts = allowed.filter((other) => table.generalOf[other] === rule && table.success[other] >= least);
    const gains = new Int32Array(table.K);
    for (const part of parts) {
      for (let at = table.ptr[part]; at < table.ptr[part + 1]; at += 1) {
        gains[part] += added[table.input[at]] && (!wishes.confirmed || table.confirmed[at]) ? 1 : 0;
      }
    }
    const found = cover(table, parts, Math.min(room + 1, table.mostParts), added, gains, wishes.confirmed, { slack: 0 });
    const isSplit = found.rules.length > 1 && found.covered === need;
    result.push(...(isSplit ? found.rules : [rule]));
    room -= isSplit ? found.rules.length - 1 : 0;
  }
  return result;
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
    const chosen = cover(table, byPreference(table, allowed, rate), wishes.num, left, gains, wishes.confirmed, { picks: wishes.picks }).rules;
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
    applicable, turned, success: turned / Math.max(applicable, 1), interval: wilson(turned, applicable),
    unseen: unseenSuccess(table, rule), confirmed: table.majority ? table.numConfirmed[rule] / Math.max(turned, 1) : null,
    random: table.random[rule] < 0 ? null : table.random[rule],
    rise: rises.length ? (rises.length % 2 ? rises[middle] : (rises[middle - 1] + rises[middle]) / 2) : 0,
  };
}
