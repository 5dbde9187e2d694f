// The side panel: what there is to know of the selected box. Text goes in as text, never as markup.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const key in attributes) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), attributes[key]);
    else made.setAttribute(key, attributes[key]);
  }
  made.append(...children);
  return made;
}

// Pieces of a text with places between them where a line may end.
const breakable = (text, where) => text.split(where).flatMap((piece, number) => (number ? [element("wbr"), piece] : [piece]));

function facts(pairs) {
  const list = element("dl");
  for (const [name, value] of pairs) if (value !== "" && value !== null) list.append(element("dt", {}, name), element("dd", {}, value));
  return list;
}

// Time and work; a rate where both are known.
function costText(nanoseconds, flops) {
  const rate = nanoseconds && flops > 0 ? ` (${unbroken(flopsText((flops / nanoseconds) * 1e9))}/s)` : "";
  return joined(nanoseconds ? unbroken(timeText(nanoseconds)) : "", flops > 0 ? unbroken(flopsText(flops)) + rate : "");
}

function costFacts(sum) {
  return [
    ["parameters", sum.parameters ? numberText(sum.parameters) : ""],
    ["forward", costText(sum.forward, sum.flops)],
    ["backward", sum.backward ? timeText(sum.backward) : ""],
  ];
}

function releaseText(model, number) {
  const { call, place, source } = model.releases[number];
  return `freed by ${call}()${place ? ` at ${place}` : ""}${source ? `: ${source}` : ""}`;
}

function describe(model, moment, item, actions) {
  return isGroup(item) ? describeGroup(model, moment, groupOf(item), actions) : describeNode(model, moment, item, actions);
}

function describeNode(model, moment, node, actions) {
  const title = headingOf(model, node);
  const state = stateOf(model, moment, node);
  const parts = [element("h2", {}, ...breakable(title, /(?<=[a-z0-9])(?=[A-Z])/), element("span", { class: `chip ${state}` }, state === "plain" ? "saved nothing" : state))];
  if (model.place[node] >= 0) {
    const [, , full, source] = model.places[model.place[node]];
    parts.push(element("p", { class: "place" }, ...breakable(full, /(?<=\/)(?=\w)/)));
    if (source) parts.push(element("pre", {}, source));
  }
  if (model.remarks[node]) parts.push(element("p", {}, model.remarks[node]));
  const around = groupsAround(model, node).map((group) => groupTitle(model, group)).join(" › ");
  const gradient = moment.gradients[node];
  parts.push(facts([
    ["module", model.text[model.module[node]]],
    ["shape", model.text[model.shape[node]]],
    ["parameters", model.parameters[node] ? numberText(model.parameters[node]) : ""],
    ["forward", costText(model.forward_ns[node], model.flops[node])],
    ["backward", model.backward_ns[node] ? timeText(model.backward_ns[node]) : ""],
    ["attributes", model.attributes[node] || ""],
    ["in", around],
    ["the node itself", model.nbytes[node] ? bytesText(model.nbytes[node]) : ""],
    ["gradient norm", gradient === undefined ? "" : Number(gradient).toPrecision(6)],
  ]));
  if (moment.release[node] >= 0) parts.push(element("p", { class: "release" }, releaseText(model, moment.release[node])));
  if (moment.gone[node]) parts.push(element("p", { class: "release" }, "nothing references its result any more, so the node and what it saved were freed"));
  const first = firstSlot(model, node);
  if (model.slot_end[node] > first) {
    const rows = [];
    for (let slot = first; slot < model.slot_end[node]; slot++) {
      const fate = FATES[moment.slotFate[slot]];
      let slotState = moment.gone[node] ? "gone" : STATES[moment.slotState[slot]];
      const notes = [];
      if (slotState === "freed" && (fate === "dropped" || fate === "elsewhere")) {
        slotState = "dropped";
        notes.push(`still referenced ${fate === "dropped" ? "elsewhere" : "by other graphs"}`);
      }
      if (slotState === "freed" && fate === "held") notes.push("still referenced by another node");
      if (model.slot_flags[slot] & 1) notes.push("memory counted elsewhere");
      if (model.slot_flags[slot] & 2) notes.push("another library's memory");
      if (model.slot_view_bytes[slot] < model.slot_bytes[slot]) notes.push(`${bytesText(model.slot_view_bytes[slot])} of it are used`);
      rows.push(element("tr", {}, element("td", {}, model.text[model.slot_name[slot]]), element("td", {}, model.text[model.slot_shape[slot]], element("small", {}, notes.join("; "))),
        element("td", { class: "number" }, bytesText(model.slot_bytes[slot])), element("td", {}, element("span", { class: `chip ${slotState}` }, slotState))));
    }
    parts.push(element("h3", {}, "saved"), element("table", {}, element("tbody", {}, ...rows)));
  }
  parts.push(...neighbours(model, "inputs", model.inputs(node), actions), ...neighbours(model, "used by", model.users(node), actions));
  return parts;
}

function neighbours(model, title, nodes, actions) {
  if (!nodes.length) return [];
  return [element("h3", {}, title), nodeList(model, [...new Set(nodes)], actions, 12)];
}

// The module that a node is in, else the innermost group around it.
function whereText(model, node) {
  return model.text[model.module[node]] || groupsAround(model, node).slice(-1).map((group) => groupTitle(model, group)).join("");
}

function nodeList(model, nodes, actions, most) {
  const list = element("ul", { class: "nodes" });
  for (const node of nodes.slice(0, most)) {
    const place = placeText(model, model.place[node]);
    list.append(element("li", {}, element("button", { type: "button", onclick: () => actions.reveal(node) }, element("b", {}, model.text[model.title[node]]), ` ${place || model.text[model.shape[node]]}`, element("small", {}, whereText(model, node)))));
  }
  if (nodes.length > most) list.append(element("li", {}, `… ${numberText(nodes.length - most)} more`));
  return list;
}

function describeGroup(model, moment, group, actions) {
  const sum = totals(model, moment, itemOfGroup(group));
  const byName = new Map();
  for (let node = model.group_first[group]; node < model.group_end[group]; node++) {
    if (model.kind[node] !== KIND.operation) continue;
    const key = `${model.text[model.title[node]]}\u0000${placeText(model, model.place[node])}`;
    byName.set(key, (byName.get(key) || 0) + 1);
  }
  const rows = [...byName].sort((a, b) => b[1] - a[1]).slice(0, 20).map(([key, count]) => {
    const [name, place] = key.split("\u0000");
    return element("tr", {}, element("td", {}, name), element("td", {}, place), element("td", { class: "number" }, numberText(count)));
  });
  return [
    element("h2", {}, groupTitle(model, group)),
    element("p", {}, `${GROUP_KINDS[model.group_kind[group]]}, ${counted(sum.nodes, "operation")}`),
    element("p", {}, element("button", { type: "button", class: "action", onclick: () => actions.unfold(group) }, "Unfold")),
    facts([...costFacts(sum), ...memoryFacts(sum)]),
    element("h3", {}, "operations"),
    element("table", {}, element("tbody", {}, ...rows)),
  ];
}

function describeAll(model, moment) {
  const sum = totals(model, moment, itemOfGroup(0));
  return [
    element("h2", {}, "The graph"),
    facts([["operations", numberText(sum.nodes)], ...costFacts(sum)]),
    ...model.moments.flatMap((one) => [element("h3", { class: "moment-label" }, one === moment && model.moments.length > 1 ? `${one.label} (shown)` : one.label), facts(memoryFacts(totals(model, one, itemOfGroup(0))))]),
    element("p", { class: "hint" }, "Click a box to see what it is. Drag to move, turn the wheel to zoom, + and − on boxes unfold and fold."),
  ];
}
