// Which boxes are visible when some groups are unfolded, and which edges join them.
const MOST_BOXES = 1000; // beyond this neither the layout nor the reader keeps up
const MOST_TRIES = 40; // layouts, when the graph is opened

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

// What a choice of folding leaves folded. Each leaves less than the one before; "automatic" fits the window.
const LEVELS = {
  modules: (model, group) => (isKind(model, group, "module") ? !holdsModules(model, group) : true),
  functions: (model, group) => !isKind(model, group, "module"),
  loops: (model, group) => isKind(model, group, "loop", "part"),
  nothing: () => false,
};
const isKind = (model, group, ...kinds) => kinds.includes(GROUP_KINDS[model.group_kind[group]]);

function holdsModules(model, group) {
  return model.childGroups[group].some((child) => isKind(model, child, "module") || holdsModules(model, child));
}

// Unfolds outer groups before inner ones, all but those that stay folded, while `most` boxes suffice.
function unfoldAllBut(model, staysFolded, most = MOST_BOXES) {
  const unfolded = new Set([0]);
  let shown = sizeOf(model, 0);
  let complete = true;
  for (const group of unfolded) {
    for (const child of model.childGroups[group]) {
      if (staysFolded(model, child)) continue;
      if (shown + sizeOf(model, child) - 1 > most) complete = false;
      else {
        unfolded.add(child);
        shown += sizeOf(model, child) - 1;
      }
    }
  }
  return { unfolded, complete };
}

// As much of what Python proposes as can be read at once; outer groups before inner ones.
function unfoldToFit(model, fits) {
  const unfolded = new Set([0]);
  for (const group of model.unfolded.slice(1, MOST_TRIES)) {
    if (!unfolded.has(model.group_parent[group])) continue;
    const wanted = new Set(unfolded).add(group);
    // A group that is most of the graph says nothing as one box: it is unfolded even if not all of it can be seen at once.
    const isMost = !isKind(model, group, "inputs") && 2 * (model.group_end[group] - model.group_first[group]) > model.count;
    if (isMost || fits(wanted)) unfolded.add(group);
  }
  return unfolded;
}

function groupsAround(model, item) {
  const found = [];
  let group = isGroup(item) ? model.group_parent[groupOf(item)] : model.node_group[item];
  for (; group > 0; group = model.group_parent[group]) found.push(group);
  return found.reverse();
}
