// The table, unpacked: see report/explorer.py for what it is made of.
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
  const count = () => new Int32Array(K);
  const inFold = Array.from({ length: table.splits }, count); // inputs of each fifth that a rule can be carried out on
  const applicable = count();
  let entry = 0;
  for (let rule = 0; rule < K; rule += 1) {
    for (let item = 0; item < N; item += 1) {
      if (hasBit(table.applicable, rule, width, item)) {
        applicable[rule] += 1;
        inFold[table.foldOf[item]][rule] += 1;
      }
      if (!hasBit(table.turned, rule, width, item)) continue;
      input[entry] = item;
      ruleOf[entry] = rule;
      columnPtr[item + 1] += 1;
      confirmed[entry] = table.needed[item] > 0 && table.votes[entry] >= table.needed[item] ? 1 : 0;
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
  const meanTruth = new Float64Array(K);
  const numChanges = new Uint8Array(K);
  const success = new Float64Array(K);
  const placeStart = new Int32Array(K + 1);
  for (let rule = 0; rule < K; rule += 1) {
    turned[rule] = ptr[rule + 1] - ptr[rule];
    for (let at = ptr[rule]; at < ptr[rule + 1]; at += 1) {
      numConfirmed[rule] += confirmed[at];
      meanTruth[rule] += table.truth[at] / (100 * turned[rule]);
    }
    for (let change = 0; change < 3; change += 1) numChanges[rule] += table.kindOf[3 * rule + change] >= 0 ? 1 : 0;
    success[rule] = turned[rule] / Math.max(applicable[rule], 1);
    placeStart[rule + 1] = placeStart[rule] + 2 * numChanges[rule] * table.numPlaces[rule];
  }
  const placeOf = new Map(Array.from(table.index, (index, place) => [index, place]));
  return {
    ...table, K, N, width, ptr, input, ruleOf, confirmed, columnPtr, column, inFold, numApplicable: applicable, numTurned: turned,
    numConfirmed, meanTruth, numChanges, success, placeStart, placeOf,
  };
}
