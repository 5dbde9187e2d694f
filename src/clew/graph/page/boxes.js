// What is written into the boxes. Everything is cut between words, never inside of one.
const INK = document.createElement("canvas").getContext("2d");
const FONT = 'system-ui, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif';
const TITLE_FONT = `600 13px ${FONT}`;
const TEXT_FONT = `12px ${FONT}`;
const PAD = 12;
const LINE = 15;
const MOST_TITLE = 52;

function widthOf(text, font) {
  INK.font = font;
  return INK.measureText(text).width;
}

function shortened(text, most) {
  if (text.length <= most) return text;
  const cut = text.slice(0, most - 2);
  return `${cut.slice(0, Math.max(1, cut.search(/[\s.,_]+[^\s.,_]*$/)))} …`;
}

function groupTitle(model, group) {
  const label = model.text[model.group_label[group]];
  const kind = GROUP_KINDS[model.group_kind[group]];
  return kind === "step" || kind === "part" ? `${kind} ${label}` : label;
}

// The first of several results speaks for all.
function firstShape(text) {
  const shapes = text.split(/(?<=\w), (?=\()/);
  return shapes.length > 1 ? `${shapes[0]} + ${shapes.length - 1}` : text;
}

// The module that made a node, unless the frame around it says so already.
function moduleOf(model, node) {
  const module = model.text[model.module[node]];
  const group = model.node_group[node];
  return module && (GROUP_KINDS[model.group_kind[group]] !== "module" || model.text[model.group_label[group]] !== module) ? module : "";
}

const joined = (...parts) => parts.filter(Boolean).join(" · ");

// The lines of a box. The last is the state, if it has one, which changes with the moment. In the form "narrow" each
// thing has a line, for little width; in "flat" there is one line below the title, for little height.
function linesOf(model, moment, item, { showSaved, form }) {
  const lay = (...parts) => (form === "narrow" ? parts : [joined(...parts)]);
  const [title, ...details] = titleLines(model, item, lay, form);
  const titles = form === "narrow" && title.split(" · ").length === 2 ? title.split(" · ") : [title];
  const costs = lay(costsOf(model, item), stateLine(model, moment, item));
  const below = form === "flat" ? [joined(...details, ...costs)] : [...details, ...(showSaved && !isGroup(item) ? savedLines(model, item) : []), ...costs];
  return [...titles, ...markLines(model, item), ...below].filter(Boolean);
}

function titleLines(model, item, lay, form) {
  if (isGroup(item)) {
    const sum = costTotals(model, item);
    const count = sum.nodes && (form === "usual" || !sum.parameters) ? counted(sum.nodes, "operation") : "";
    return [shortened(groupTitle(model, groupOf(item)), MOST_TITLE), ...lay(count, sum.parameters ? counted(sum.parameters, "parameter") : "")];
  }
  const title = shortened(headingOf(model, item), MOST_TITLE);
  const shape = firstShape(model.text[model.shape[item]]);
  if (model.kind[item] === KIND.input) return [title, ...lay(shape, "data")];
  if (model.kind[item] !== KIND.operation) return [title, ...lay(shape, model.parameters[item] ? counted(model.parameters[item], "parameter") : "")];
  const module = moduleOf(model, item);
  const lines = module ? [shortened(module, MOST_TITLE), ...lay(title, shape)] : [title, ...lay(placeText(model, model.place[item]), shape)];
  return model.attributes[item] ? [...lines, shortened(model.attributes[item], 60)] : lines;
}

// What is said of a node, or of those in a folded group.
function markLines(model, item) {
  const [first, end] = extent(model, item);
  return [...new Set(Object.keys(model.marks).filter((node) => node >= first && node < end).map((node) => `▸ ${model.marks[node]}`))];
}

function savedLines(model, node) {
  const lines = [];
  for (let slot = firstSlot(model, node); slot < model.slot_end[node]; slot++)
    lines.push(`${model.text[model.slot_name[slot]]}: ${model.text[model.slot_shape[slot]]}, ${bytesText(model.slot_bytes[slot])}`);
  return lines;
}

function costsOf(model, item) {
  const sum = costTotals(model, item);
  return joined(sum.forward ? timeText(sum.forward) : "", sum.flops ? flopsText(sum.flops) : "");
}

// Empty for what saves nothing by its nature: leaves and data.
const stateLine = (model, moment, item) => (isGroup(item) || model.kind[item] === KIND.operation ? stateText(model, moment, item) : "");

function stateText(model, moment, item) {
  const sum = totals(model, moment, item);
  switch (stateOf(model, moment, item)) {
    case "gone":
      return "gone";
    case "held":
      return `${bytesText(sum.heldBytes)} held`;
    case "packed":
      return `${numberText(sum.packed)} packed`;
    case "freed":
      return freedInBox(sum);
    case "plain":
      return "saved nothing";
    default:
      return "";
  }
}

function freedInBox(sum) {
  const dropped = sum.droppedBytes + sum.elsewhereBytes;
  const parts = [];
  if (sum.releasedBytes) parts.push(`${bytesText(sum.releasedBytes)} freed`);
  if (dropped) parts.push(`${bytesText(dropped)} dropped`);
  return parts.join(", ") || "freed";
}
