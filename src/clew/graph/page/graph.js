// One graph on the page: toolbar, search, slider, and what they do.
const MOST_FLAT = 60; // boxes; a larger graph is not in sight, however they are written
const NARROW = 600; // pixels of a canvas; below that boxes may be narrow
const LEGIBLE = 0.4; // of the scale: titles can be read
const [LOW, HIGH] = [0.64, 0.9]; // of the window: the height of a canvas with the panel below it, which leaves something to scroll by

async function startGraph(root) {
  const model = await readModel(root.querySelector("script[type='application/json']"));
  const find = (name) => root.querySelector(`.${name}`);
  const state = { moment: model.moments[0], unfolded: new Set(model.unfolded), selected: null, matches: null, match: -1, showSaved: model.show_saved };
  const say = (text) => (find("message").textContent = text);

  const actions = {
    select(item) {
      state.selected = item;
      paint();
    },
    fold(group) {
      state.unfolded.delete(group);
      redraw(itemOfGroup(group));
    },
    unfold(group) {
      const wanted = new Set(state.unfolded).add(group);
      if (shownBy(wanted) > MOST_BOXES) return say(`That would show more than ${MOST_BOXES} boxes: fold something first.`);
      state.unfolded = wanted;
      state.selected = null;
      redraw(null, group);
    },
    reveal(node) {
      const wanted = new Set(state.unfolded);
      for (const group of groupsAround(model, node)) wanted.add(group);
      if (shownBy(wanted) > MOST_BOXES) {
        wanted.clear();
        for (const group of [0, ...groupsAround(model, node)]) wanted.add(group);
      }
      const changed = wanted.size !== state.unfolded.size;
      state.unfolded = wanted;
      state.selected = node;
      if (changed) redraw(node);
      else {
        paint();
        view.centre(node);
      }
    },
  };
  const shownBy = (unfolded) => [...unfolded].reduce((sum, group) => sum + (groupsAround(model, itemOfGroup(group)).every((one) => unfolded.has(one)) ? sizeOf(model, group) - 1 : 0), 1);
  const view = new View(find("canvas"), actions);

  // The most that the canvas may take.
  const room = () => ({ width: find("canvas").clientWidth, height: matchMedia("(max-width: 800px)").matches ? HIGH * innerHeight : find("canvas").clientHeight });

  // What is shown, with boxes in a form in which all of it is in sight or, where the canvas is small, as much as can be.
  function arranged(unfolded) {
    const { width, height } = room();
    const parts = visibleParts(model, unfolded);
    const lay = (form) => ({ parts, ...layOut(model, state.moment, unfolded, parts, { showSaved: state.showSaved, form }) });
    const usual = lay("usual");
    if (inSight(usual, width, height)) return usual;
    const flat = !state.showSaved && parts.items.length <= MOST_FLAT && lay("flat");
    if (flat && inSight(flat, width, width < NARROW ? Infinity : height)) return flat;
    return width >= NARROW || inSight(usual, width, Infinity) ? usual : lay("narrow");
  }

  function fitted() {
    const { width, height } = room();
    return unfoldToFit(model, (unfolded) => inSight(arranged(unfolded), width, height));
  }

  // As much as is in sight with the groups of marked nodes unfolded, or only these groups, where that is too much.
  function fittedAround(marked) {
    const { width, height } = room();
    const around = marked.flatMap((node) => groupsAround(model, node));
    const more = new Set([...fitted(), ...around]);
    const least = new Set([0, ...around]);
    return inSight(arranged(more), width, height) || shownBy(more) <= shownBy(least) ? more : least;
  }

  function redraw(centre = null, group = null) {
    const layout = arranged(state.unfolded);
    root.style.setProperty("--canvas-height", `${Math.min(HIGH * innerHeight, Math.max(LOW * innerHeight, Math.ceil(layout.height * READABLE)))}px`);
    view.draw(model, state.moment, layout);
    say(`${counted(view.parts.items.length, "box")} for ${counted(model.count, "node")}`);
    paint();
    if (centre !== null) view.centre(centre);
    else if (group !== null) view.centre(view.parts.box[model.group_first[group]]);
    else view.fit();
  }

  function paint() {
    view.paint(model, state.moment, state.selected, state.matches);
    const content = state.selected === null ? describeAll(model, state.moment) : describe(model, state.moment, state.selected, actions);
    if (state.matches) content.push(element("h3", {}, `found ${numberText(state.matches.length)}`), nodeList(model, state.matches, actions, 50));
    find("panel").replaceChildren(...content);
  }

  function search(text) {
    const wanted = text.trim().toLowerCase();
    state.match = -1;
    state.matches = null;
    if (wanted) {
      const inText = model.text.map((one) => one.toLowerCase().includes(wanted));
      const inPlace = model.places.map(([short, name]) => `${short} ${name}`.toLowerCase().includes(wanted));
      const inGroup = Array.from(model.group_label, (label) => inText[label] && model.text[label] !== "");
      for (let group = 1; group < model.groups; group++) inGroup[group] ||= inGroup[model.group_parent[group]];
      const matching = (test) => Array.from({ length: model.count }, (_, node) => node).filter(test);
      state.matches = matching((node) => inText[model.title[node]] || model.variables[node]?.toLowerCase().includes(wanted) || inText[model.module[node]] || inText[model.shape[node]] || inPlace[model.place[node]] || inGroup[model.node_group[node]]);
      // The text of a line comes last: most words of it are names of operations on the same line.
      if (!state.matches.length) state.matches = matching((node) => model.places[model.place[node]]?.[3].toLowerCase().includes(wanted));
    }
    find("found").textContent = state.matches ? counted(state.matches.length, "match") : "";
    paint();
  }

  function showMoment(number) {
    state.moment = model.moments[number];
    find("moment").textContent = `moment ${number + 1} of ${model.moments.length}: ${state.moment.label}`;
    find("life").setAttribute("aria-valuetext", state.moment.label);
    paint();
  }

  find("search").addEventListener("input", (event) => search(event.target.value));
  find("search").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !state.matches?.length) return;
    state.match = (state.match + (event.shiftKey ? -1 : 1) + state.matches.length) % state.matches.length;
    actions.reveal(state.matches[state.match]);
  });
  find("folding").addEventListener("change", (event) => {
    const staysFolded = LEVELS[event.target.value];
    const { unfolded, complete } = staysFolded ? unfoldAllBut(model, staysFolded) : { unfolded: fitted(), complete: true };
    state.unfolded = unfolded;
    state.selected = null;
    redraw();
    if (!complete) say(`Unfolded as far as ${MOST_BOXES} boxes go.`);
  });
  find("saved").addEventListener("change", (event) => {
    state.showSaved = event.target.checked;
    redraw(state.selected);
  });
  find("life").addEventListener("input", (event) => showMoment(Number(event.target.value)));
  find("closer").addEventListener("click", () => view.zoom(1.25));
  find("farther").addEventListener("click", () => view.zoom(0.8));
  find("fit").addEventListener("click", () => view.whole());
  find("canvas").addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (step) view.move(view.at.x + step[0], view.at.y + step[1], view.at.scale);
    else if (event.key === "+") view.zoom(1.25);
    else if (event.key === "-") view.zoom(0.8);
    else if (event.key === "0") view.whole();
    else return;
    event.preventDefault();
  });

  find("switch")?.addEventListener("change", (event) => {
    const graphs = [...root.parentElement.children];
    const chosen = graphs[Number(event.target.value)];
    for (const one of graphs) one.hidden = one !== chosen;
    event.target.value = graphs.indexOf(root);
    chosen.querySelector(".switch").focus();
  });

  find("saved").checked = state.showSaved;
  find("life").max = model.moments.length - 1;
  find("life").value = 0;
  find("life").disabled = model.moments.length < 2;
  showMoment(0);
  const marked = Object.keys(model.marks).map(Number);
  state.unfolded = marked.length ? fittedAround(marked) : fitted();
  redraw();
  // Who took part stands at both ends of a graph: all of it, or the first of them where that would be too small.
  if (marked.length && !view.whole(LEGIBLE)) view.centre(marked[0]);
  root.dataset.ready = "yes";
}
