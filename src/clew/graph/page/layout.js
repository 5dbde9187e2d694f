// Where the boxes go. Each unfolded group is laid out by dagre on its own and is one box for the layout around it: so
// what belongs together stays together, and each layout is small. An edge that leaves a group goes through a port in
// the group's frame, and on from there.
const TITLE_ROOM = 30;
const PORT_ROOM = 30;
const MARGIN = 12;
const END_ROOM = 14; // of an edge from the corner of a box

function layOut(model, moment, unfolded, parts, style) {
  const levels = new Map(); // unfolded group -> what its layout is made of
  for (const group of unfolded) levels.set(group, { children: [], edges: new Map(), joins: new Map() });
  const parent = new Map(); // item or frame -> the unfolded group around it
  for (const [item, group] of parts.frame) {
    parent.set(`i${item}`, group);
    for (let inner = group; inner > 0 && !parent.has(`f${inner}`); inner = model.group_parent[inner]) parent.set(`f${inner}`, model.group_parent[inner]);
  }
  for (const [child, group] of parent) levels.get(group).children.push(child);
  for (const edge of parts.edges) addEdge(levels, parent, edge);
  const size = (item) => boxSize(model, moment, item, style);
  // `entries`: where edges come in through the top of a frame, by its group.
  const result = { boxes: [], frames: [], edges: [], entries: new Map() };
  const whole = layOutLevel(model, 0, levels, size);
  place(whole, -whole.left, -whole.top, levels, result);
  return { ...result, width: whole.width, height: whole.height };
}

// As large as its text at any moment.
function boxSize(model, moment, item, style) {
  const lines = linesOf(model, moment, item, style);
  const state = stateLine(model, moment, item);
  const before = lines.length && state ? lines.at(-1).slice(0, -state.length) : "";
  const others = state ? model.moments.map((one) => before + stateLine(model, one, item)) : [];
  const button = isGroup(item) ? 26 : 0;
  const widths = [...lines, ...others].map((line, number) => (number ? widthOf(line, TEXT_FONT) : widthOf(line, TITLE_FONT) + button));
  return { item, lines, before, width: Math.ceil(Math.max(...widths, 96)) + 2 * PAD + 8, height: lines.length * LINE + 10 };
}

// Cuts an edge between two boxes into one piece for each level that it passes.
function addEdge(levels, parent, { from, to, count }) {
  const way = (name) => {
    const found = [name];
    while (parent.get(name)) found.push((name = `f${parent.get(name)}`));
    return found.reverse();
  };
  const [above, below] = [way(`i${from}`), way(`i${to}`)];
  let depth = 0;
  while (above[depth] === below[depth]) depth++;
  const piece = (group, start, end) => {
    const { edges } = levels.get(group);
    const key = `${start} ${end}`;
    if (!edges.has(key)) edges.set(key, { start, end, count: 0, key });
    edges.get(key).count += count;
    return key;
  };
  const groupAt = (chain, at) => (at === 0 ? 0 : Number(chain[at - 1].slice(1)));
  const join = (group, inner, outer, side) => levels.get(group).joins.set(`${inner}|${outer}|${side}`, { inner, outer, side });
  const middle = piece(groupAt(above, depth), above[depth], below[depth]);
  let outer = middle;
  for (let at = depth + 1; at < above.length; at++) {
    const inner = piece(groupAt(above, at), above[at], `out:${above[at]}`);
    join(groupAt(above, at), inner, outer, "start");
    outer = inner;
  }
  outer = middle;
  for (let at = depth + 1; at < below.length; at++) {
    const inner = piece(groupAt(below, at), `in:${below[at]}`, below[at]);
    join(groupAt(below, at), inner, outer, "end");
    outer = inner;
  }
}

function layOutLevel(model, group, levels, size) {
  const level = levels.get(group);
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 20, ranksep: 17, edgesep: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  level.inner = new Map();
  for (const child of level.children) {
    const node = child[0] === "i" ? size(Number(child.slice(1))) : layOutLevel(model, Number(child.slice(1)), levels, size);
    level.inner.set(child, node);
    graph.setNode(child, { width: node.width, height: node.height });
  }
  const fed = new Set();
  const used = new Set();
  const ports = { in: [], out: [] };
  for (const { start, end } of level.edges.values()) {
    if (start.startsWith("in:")) ports.in.push(start);
    else used.add(start);
    if (end.startsWith("out:")) ports.out.push(end);
    else fed.add(end);
  }
  for (const port of [...ports.in, ...ports.out]) graph.setNode(port, { width: 1, height: 1 });
  if (ports.in.length) {
    graph.setNode("top", { width: 1, height: 1 });
    for (const port of ports.in) graph.setEdge("top", port, { weight: 20 });
    for (const child of level.children) if (!fed.has(child)) graph.setEdge("top", child, { weight: 0, minlen: 2 });
  }
  if (ports.out.length) {
    graph.setNode("bottom", { width: 1, height: 1 });
    for (const port of ports.out) graph.setEdge(port, "bottom", { weight: 20 });
    for (const child of level.children) if (!used.has(child)) graph.setEdge(child, "bottom", { weight: 0, minlen: 2 });
  }
  for (const { start, end, key } of level.edges.values()) graph.setEdge(start, end, { weight: 2, key });
  dagre.layout(graph);
  return measure(model, group, level, graph, ports);
}

// The frame around a level, and its ports moved to the frame's edge.
function measure(model, group, level, graph, ports) {
  const extreme = (choose, sign, axis, side) => choose(...level.children.map((name) => graph.node(name)[axis] + (sign * graph.node(name)[side]) / 2));
  const [top, bottom] = [extreme(Math.min, -1, "y", "height"), extreme(Math.max, 1, "y", "height")];
  let [left, right] = [extreme(Math.min, -1, "x", "width"), extreme(Math.max, 1, "x", "width")];
  const ranks = heightsOfRanks(graph);
  for (const { start, end, key, count } of level.edges.values()) {
    let points = straightened(graph, ranks, start, end);
    // A port stands where its edge comes near, whatever place dagre found for it far outside.
    if (start.startsWith("in:")) {
      points = points.filter((point) => point.y > top - MARGIN);
      points.unshift({ x: points[0].x, y: top - MARGIN });
    }
    if (end.startsWith("out:")) {
      points = points.filter((point) => point.y < bottom + MARGIN);
      points.push({ x: points.at(-1).x, y: bottom + MARGIN });
    }
    for (const { x } of points) [left, right] = [Math.min(left, x), Math.max(right, x)];
    level.edges.get(key).route = { points, count, arrow: end[0] === "i" && !end.startsWith("in:") };
  }
  level.graph = graph;
  if (group === 0) return frameOf(group, left - MARGIN, right + MARGIN, top - MARGIN, bottom + MARGIN);
  // The title stands beside what comes in from above, on whichever side.
  const turns = [...level.joins.values()].some(({ outer, side }, at, all) => side === "end" && all.some((one, other) => other !== at && one.side === side && one.outer === outer));
  const wanted = (widthOf(groupTitle(model, group), TEXT_FONT) + 48) * (ports.in.length ? 2 : 1);
  const spare = Math.max(0, wanted - (right - left) - 2 * MARGIN) / 2;
  return frameOf(group, left - MARGIN - spare, right + MARGIN + spare, top - TITLE_ROOM - (turns ? PORT_ROOM : 0), bottom + MARGIN);
}

// The heights of the rows that dagre has made, by where their middle is.
function heightsOfRanks(graph) {
  const heights = new Map();
  for (const name of graph.nodes()) {
    const { y, height } = graph.node(name);
    heights.set(Math.round(y), Math.max(heights.get(Math.round(y)) || 0, height));
  }
  return heights;
}

// An edge goes straight down through the rows that it passes, and turns between them only: so it crosses no box.
function straightened(graph, ranks, start, end) {
  const [above, below] = [graph.node(start), graph.node(end)];
  const inner = graph.edge(start, end).points.slice(1, -1).filter(({ y }) => ranks.has(Math.round(y)) && y > above.y + 1 && y < below.y - 1);
  const at = (box, toward, side) => ({ x: within(box, toward.x), y: box.y + (side * box.height) / 2 });
  const passed = inner.flatMap(({ x, y }) => {
    const half = ranks.get(Math.round(y)) / 2;
    return [{ x, y: y - half }, { x, y: y + half }];
  });
  if (passed.length) return [at(above, inner[0], 1), ...passed, at(below, inner.at(-1), -1)];
  // From the middle of the smaller one, if the other has that above or below it.
  const [smaller, other] = above.width < below.width ? [above, below] : [below, above];
  const near = { x: within(smaller, within(other, smaller.x)) };
  return [at(above, near, 1), at(below, near, -1)];
}

// The nearest to x where an edge may meet a box.
function within({ x: middle, width }, x) {
  const reach = Math.max(0, width / 2 - END_ROOM);
  return Math.min(middle + reach, Math.max(middle - reach, x));
}

const frameOf = (group, left, right, top, bottom) => ({ group, left, top, width: right - left, height: bottom - top });

// From the coordinates of each level to those of the picture.
function place(frame, dx, dy, levels, result) {
  const level = levels.get(frame.group);
  for (const edge of level.edges.values()) {
    edge.route.points = edge.route.points.map(({ x, y }) => ({ x: x + dx, y: y + dy }));
    result.edges.push(edge.route);
  }
  for (const [child, node] of level.inner) {
    const { x, y } = level.graph.node(child);
    if (child[0] === "i") result.boxes.push({ ...node, x: x + dx, y: y + dy });
    else {
      result.frames.push({ ...node, x: x + dx, y: y + dy });
      place(node, x + dx - node.left - node.width / 2, y + dy - node.top - node.height / 2, levels, result);
      joinPorts(levels.get(node.group), level, node, { x: dx, y: y + dy }, result);
    }
  }
}

// Leads each edge at a group's frame on to the ports inside: straight down if there is one, else to all of them. Past
// the title it goes straight; only below that it turns.
function joinPorts(level, around, { group, height }, shift, result) {
  const joins = [...level.joins.values()];
  const times = new Map();
  for (const { outer, side } of joins) times.set(outer + side, (times.get(outer + side) || 0) + 1);
  const entries = [];
  for (const { inner, outer, side } of joins) {
    const [inside, outside] = [level.edges.get(inner).route, around.edges.get(outer).route];
    const port = side === "start" ? inside.points.at(-1) : inside.points[0];
    const at = side === "start" ? 0 : outside.points.length - 1;
    const edge = shift.y + ((side === "start" ? 1 : -1) * height) / 2;
    const joint = times.get(outer + side) === 1 ? { x: port.x, y: edge } : { x: outside.points[at].x, y: edge };
    outside.points[at] = joint;
    const far = around.edges.get(outer)[side === "start" ? "end" : "start"];
    if (outside.points.length === 2 && far[0] === "i" && around.inner.has(far)) {
      const box = around.graph.node(far);
      outside.points[1 - at] = { ...outside.points[1 - at], x: within({ x: box.x + shift.x, width: box.width }, joint.x) };
    }
    if (side === "start") result.edges.push({ points: [port, joint], count: inside.count });
    else {
      entries.push(joint.x);
      result.edges.push({ points: [joint, { x: joint.x, y: Math.min(edge + TITLE_ROOM - 4, port.y) }, port], count: inside.count });
    }
  }
  result.entries.set(group, [...(result.entries.get(group) || []), ...entries]);
}

// The title of a frame, and where it does not lie on an edge that comes in.
function titled(model, frame, entries = []) {
  const title = groupTitle(model, frame.group);
  const left = frame.x - frame.width / 2;
  const crossings = entries.map((x) => x - left).sort((a, b) => a - b);
  const starts = [8, ...crossings.map((x) => x + 8)];
  const room = (start) => Math.min(frame.width, ...crossings.filter((x) => x > start)) - 8 - start;
  const needed = widthOf(title, TEXT_FONT) + 28;
  const titleAt = starts.find((start) => room(start) >= needed) ?? starts.reduce((one, other) => (room(other) > room(one) ? other : one));
  const fits = Math.max(8, Math.floor(((room(titleAt) - 28) / widthOf(title, TEXT_FONT)) * title.length));
  return { ...frame, titleAt, title: shortened(title, fits) };
}
