// Which boxes are visible when some groups are unfolded, and which edges join them.
const MOST_BOXES = 400; // beyond this neither the layout nor the reader keeps up

function visibleParts(model, unfolded) {
  const items = [];
  const frame = new Map(); // item -> the unfolded group around it
  const box = new Int32Array(model.count); // node -> the item that stands for it
  const visit = (group) => {
    let node = model.group_first[group];
    for (const child of [...model.childGroups[group], -1]) {
      const until = child < 0 ? model.group_end[group] : model.group_first[child];
      for (; node < until; node++) {
        items.push(node);
        frame.set(node, group);
        box[node] = node;
      }
      if (child < 0) break;
      if (unfolded.has(child)) visit(child);
      else {
        const item = itemOfGroup(child);
        items.push(item);
        frame.set(item, group);
        box.fill(item, model.group_first[child], model.group_end[child]);
      }
      node = model.group_end[child];
    }
  };
  visit(0);
  const edges = new Map();
  const place = new Map(items.map((item, number) => [item, number]));
  for (let edge = 0; edge < model.edge_from.length; edge++) {
    const from = box[model.edge_from[edge]];
    const to = box[model.edge_to[edge]];
    if (from === to) continue;
    const key = place.get(from) * items.length + place.get(to);
    const known = edges.get(key);
    if (known) known.count++;
    else edges.set(key, { from, to, count: 1 });
  }
  return { items, frame, box, edges: [...edges.values()] };
}

const sizeOf = (model, group) => {
  let nodes = model.group_end[group] - model.group_first[group];
  for (const child of model.childGroups[group]) nodes -= model.group_end[child] - model.group_first[child];
  return nodes + model.childGroups[group].length;
};

// Unfolds outer groups before inner ones, all but those of the kinds in `closed`, while `most` boxes suffice.
function unfoldAllBut(model, closed, most) {
  const unfolded = new Set([0]);
  let shown = sizeOf(model, 0);
  let complete = true;
  for (const group of unfolded) {
    for (const child of model.childGroups[group]) {
      if (closed.includes(GROUP_KINDS[model.group_kind[child]])) continue;
      if (shown + sizeOf(model, child) - 1 > most) complete = false;
      else {
        unfolded.add(child);
        shown += sizeOf(model, child) - 1;
      }
    }
  }
  return { unfolded, complete };
}

function groupsAround(model, item) {
  const found = [];
  let group = isGroup(item) ? model.group_parent[groupOf(item)] : model.node_group[item];
  for (; group > 0; group = model.group_parent[group]) found.push(group);
  return found.reverse();
}
