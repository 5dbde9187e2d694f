// Memory over time: blocks as columns of numbers, and their sums by whatever is asked.
const MEMORY_LEVELS = ["category", "module", "line"];
const REST = "everything else";
const MOST_REST = 0.1; // of the whole: beyond it another name is shown

async function readMemory(element) {
  const { head, column } = await readColumns(element);
  const count = column.size.length;
  const model = { ...head, ...column, count, moduleParts: head.groups.map((group) => partsOf(group.module)) };
  const steps = [];
  for (let block = 0; block < count; block++) {
    if (column.taken_step[block] > 0) steps.push([column.taken_step[block], column.taken_ns[block], block, 1]);
    if (column.given_step[block] > 0) steps.push([column.given_step[block], column.given_ns[block], block, -1]);
  }
  model.events = steps.sort((a, b) => a[0] - b[0]);
  model.end = Math.max(1, ...model.events.map((event) => event[1]));
  let live = 0;
  for (let block = 0; block < count; block++) if (column.taken_step[block] === 0) live += column.size[block];
  model.peak = { bytes: live, step: 0, time: 0 };
  for (const [step, time, block, sign] of model.events) {
    live += sign * column.size[block];
    if (live > model.peak.bytes) model.peak = { bytes: live, step, time };
  }
  return model;
}

// "Net.blocks.0.attn" as ["blocks.0", "attn"]: the class of the root is left out, numbers stay with their list.
function partsOf(path) {
  const parts = [];
  for (const part of (path || "").split(".").slice(1)) {
    if (/^\d+$/.test(part) && parts.length) parts[parts.length - 1] += `.${part}`;
    else parts.push(part);
  }
  return parts;
}

// What a group of blocks is called on the present level; null if it is filtered out.
function memoryLabel(model, group, { by, category, modules, line }) {
  const facts = model.groups[group];
  const parts = model.moduleParts[group];
  if (category && facts.category !== category) return null;
  if (modules.some((part, depth) => parts[depth] !== part)) return null;
  if (line && facts.line !== line) return null;
  if (by === "category") return facts.category;
  if (by === "module") return parts[modules.length] || (modules.length ? "itself" : facts.module ? facts.module : "outside of modules");
  return facts.line;
}

// Sums at a moment: for each name bytes and blocks, the largest first.
function memoryAt(model, step, filter) {
  const rows = new Map();
  const labels = model.groups.map((_, group) => memoryLabel(model, group, filter));
  for (let block = 0; block < model.count; block++) {
    const label = labels[model.group[block]];
    if (label === null || model.taken_step[block] > step || (model.given_step[block] > 0 && model.given_step[block] <= step)) continue;
    const row = rows.get(label) || { name: label, bytes: 0, blocks: 0, group: model.group[block] };
    row.bytes += model.size[block];
    row.blocks++;
    rows.set(label, row);
  }
  return [...rows.values()].sort((a, b) => b.bytes - a.bytes);
}

// For each of `count` stretches of time the moment with the most bytes: what each name held then.
function memoryStack(model, filter, from, to, count) {
  const names = new Map();
  const rowOf = model.groups.map((_, group) => {
    const label = memoryLabel(model, group, filter);
    if (label === null) return -1;
    if (!names.has(label)) names.set(label, names.size);
    return names.get(label);
  });
  const now = new Float64Array(names.size);
  let total = 0;
  const change = (block, sign) => {
    const row = rowOf[model.group[block]];
    if (row < 0) return;
    now[row] += sign * model.size[block];
    total += sign * model.size[block];
  };
  for (let block = 0; block < model.count; block++) if (model.taken_step[block] === 0) change(block, 1);
  const columns = [];
  let next = 0;
  for (let column = 0; column < count; column++) {
    const end = from + ((to - from) * (column + 1)) / count;
    let best = column ? { total, values: now.slice() } : null; // what the stretch begins with counts, too
    for (; next < model.events.length && (model.events[next][1] <= end || column === count - 1); next++) {
      const [, time, block, sign] = model.events[next];
      if (time > to) break;
      change(block, sign);
      if (time >= from && (!best || total > best.total)) best = { total, values: now.slice() };
    }
    columns.push(best || { total, values: now.slice() });
  }
  return { names: [...names.keys()], columns };
}

const CATEGORIES = ["parameters and buffers", "optimizer state", "gradients", "input data", "activations saved by the graph", "temporaries"];

// The names to show, the bottom one first: the largest, so many that what is left is nowhere more than a tenth.
// Categories keep their places.
function memoryNames({ names, columns }) {
  const most = names.map((_, row) => Math.max(...columns.map(({ values }) => values[row])));
  const order = names.map((_, row) => row).filter((row) => most[row] > 0).sort((a, b) => most[b] - most[a]);
  const left = columns.map(({ total }) => total);
  let shown = 0;
  while (shown < order.length && (shown < 6 || columns.some(({ total }, at) => left[at] > MOST_REST * total))) {
    columns.forEach(({ values }, at) => (left[at] -= values[order[shown]]));
    shown++;
  }
  const chosen = order.slice(0, shown).sort((a, b) => CATEGORIES.indexOf(names[a]) - CATEGORIES.indexOf(names[b]));
  return { shown: chosen, left: shown < order.length ? left : null };
}
