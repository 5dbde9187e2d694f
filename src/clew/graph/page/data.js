// A graph as Python wrote it: columns of numbers, compressed. Nothing here makes an object for each node.
const KIND = { operation: 0, leaf: 1, result: 2, input: 3 };
const GROUP_KINDS = ["module", "function", "loop", "step", "part", "inputs"];
const STATES = ["held", "packed", "freed"];
const FATES = ["", "foreign", "gone", "elsewhere", "dropped", "released", "held"];
const ARRAYS = { B: Uint8Array, I: Uint32Array, i: Int32Array, d: Float64Array };

async function readColumns(element) {
  const head = JSON.parse(element.textContent);
  const packed = Uint8Array.from(atob(head.columns), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const column = {};
  for (const [name, type, offset, length] of head.layout) column[name] = new ARRAYS[type](buffer, offset, length);
  return { head, column };
}

async function readModel(element) {
  const { head, column } = await readColumns(element);
  const count = column.kind.length;
  const model = { ...head, ...column, count, groups: column.group_parent.length };
  model.childGroups = Array.from({ length: model.groups }, () => []);
  for (let group = 1; group < model.groups; group++) model.childGroups[column.group_parent[group]].push(group);
  model.inputs = adjacency(count, column.edge_to, column.edge_from);
  model.users = adjacency(count, column.edge_from, column.edge_to);
  model.costs = {
    nodes: sumsOf(model, (node) => column.kind[node] === KIND.operation),
    parameters: sumsOf(model, (node) => column.parameters[node]),
    flops: sumsOf(model, (node) => Math.max(0, column.flops[node])), // -1: not known
    forward: sumsOf(model, (node) => column.forward_ns[node]),
    backward: sumsOf(model, (node) => column.backward_ns[node]),
  };
  model.moments = head.snapshots.map((snapshot, number) => readMoment(model, snapshot, column, number));
  return model;
}

// Rows of other ends, by node: neighbours(i) are values[start[i]] to values[start[i + 1] - 1].
function adjacency(count, keys, values) {
  const start = new Uint32Array(count + 1);
  for (const key of keys) start[key + 1]++;
  for (let i = 0; i < count; i++) start[i + 1] += start[i];
  const next = start.slice();
  const ends = new Uint32Array(values.length);
  for (let i = 0; i < keys.length; i++) ends[next[keys[i]]++] = values[i];
  return (node) => ends.subarray(start[node], start[node + 1]);
}

function sumsOf(model, value) {
  const sums = new Float64Array(model.count + 1);
  for (let node = 0; node < model.count; node++) sums[node + 1] = sums[node] + value(node);
  return sums;
}

// Running sums, so that the state of a folded group costs as little as that of a node.
function readMoment(model, snapshot, column, number) {
  const slotState = column[`slot_state_${number}`];
  const slotFate = column[`slot_fate_${number}`];
  const gone = column[`gone_${number}`];
  const release = column[`release_${number}`];
  const sums = {};
  for (const name of ["heldBytes", "releasedBytes", "droppedBytes", "elsewhereBytes", "goneBytes", "foreignBytes", "held", "packed", "freed", "released", "gone", "goneSlots"])
    sums[name] = new Float64Array(model.count + 1);
  for (let node = 0; node < model.count; node++) {
    for (const name in sums) sums[name][node + 1] = sums[name][node];
    sums.gone[node + 1] += gone[node];
    if (release[node] >= 0) sums.released[node + 1]++;
    for (let slot = firstSlot(model, node); slot < model.slot_end[node]; slot++) {
      const state = STATES[gone[node] ? 2 : slotState[slot]];
      sums[state][node + 1]++;
      if (gone[node]) sums.goneSlots[node + 1]++;
      // A storage counts once, at the first slot that has it: see src/clew/graph/model/account.py.
      if (slotFate[slot] && !(model.slot_flags[slot] & 1)) sums[FATES[slotFate[slot]] + "Bytes"][node + 1] += model.slot_bytes[slot];
    }
  }
  return { ...snapshot, slotState, slotFate, gone, release, sums };
}

const firstSlot = (model, node) => (node ? model.slot_end[node - 1] : 0);

// An item is what is drawn as one box: a node (its number), or a folded group (-1 - its number).
const isGroup = (item) => item < 0;
const groupOf = (item) => -1 - item;
const itemOfGroup = (group) => -1 - group;

function extent(model, item) {
  return isGroup(item) ? [model.group_first[groupOf(item)], model.group_end[groupOf(item)]] : [item, item + 1];
}

function totals(model, moment, item) {
  return { ...sumsBetween(moment.sums, extent(model, item)), ...costTotals(model, item) };
}

const costTotals = (model, item) => sumsBetween(model.costs, extent(model, item));

function sumsBetween(sums, [first, end]) {
  const result = {};
  for (const name in sums) result[name] = sums[name][end] - sums[name][first];
  return result;
}

function stateOf(model, moment, item) {
  if (!isGroup(item) && model.kind[item] !== KIND.operation) {
    if (moment.gone[item]) return "gone";
    return Object.keys(KIND)[model.kind[item]];
  }
  const sum = totals(model, moment, item);
  if (sum.nodes > 0 && sum.gone >= sum.nodes) return "gone";
  if (sum.held) return "held";
  if (sum.packed) return "packed";
  if (sum.freed || sum.released) return "freed";
  if (!sum.nodes) return model.kind[extent(model, item)[0]] === KIND.input ? "input" : "leaf";
  return "plain";
}

// What was let go, and where it went.
function freedText(sum) {
  const parts = [];
  if (sum.releasedBytes || !(sum.droppedBytes || sum.elsewhereBytes)) parts.push(`${bytesText(sum.releasedBytes)} released to the allocator`);
  if (sum.droppedBytes) parts.push(`${bytesText(sum.droppedBytes)} still referenced elsewhere`);
  if (sum.elsewhereBytes) parts.push(`${bytesText(sum.elsewhereBytes)} still referenced by other graphs`);
  return parts.join("; ");
}

function memoryFacts(sum) {
  return [
    ["held", sum.held ? `${bytesText(sum.heldBytes)} in ${counted(sum.held, "tensor")}` : ""],
    ["other libraries' memory", sum.foreignBytes ? bytesText(sum.foreignBytes) : ""],
    ["packed", sum.packed ? counted(sum.packed, "tensor") : ""],
    ["freed", sum.freed && sum.freed > sum.goneSlots ? `${freedText(sum)} in ${counted(sum.freed - sum.goneSlots, "tensor")}` : ""],
    ["gone with its node", sum.gone ? `${bytesText(sum.goneBytes)} in ${counted(sum.goneSlots, "tensor")} of ${counted(sum.gone, "node")}` : ""],
  ];
}

// The title of a node, and before it the variable that holds its result.
function headingOf(model, node) {
  const title = model.text[model.title[node]];
  return model.variables[node] ? `${model.variables[node]} = ${title}` : title;
}

function placeText(model, place) {
  return place < 0 ? "" : model.places[place][0];
}
