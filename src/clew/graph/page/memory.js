// The chart of memory over time, and the table of one moment beside it.
const CHART = { left: 74, right: 12, top: 10, bottom: 26 };

async function startMemory(root) {
  const model = await readMemory(root.querySelector("script[type='application/json']"));
  const find = (name) => root.querySelector(`.${name}`);
  const svg = find("memory-chart");
  const state = { filter: { by: "category", category: "", modules: [], line: "" }, from: 0, to: model.end, step: model.peak.step, time: model.peak.time };
  const colours = new Map();
  const heading = find("note").textContent;

  function colourOf(name) {
    if (name === REST) return "var(--rest)";
    if (CATEGORIES.includes(name)) return `var(--colour-${CATEGORIES.indexOf(name)})`;
    if (!colours.has(name)) {
      const number = colours.size;
      const shade = Math.floor(number / 9) % 3; // nine colours, then darker and lighter ones
      colours.set(name, `color-mix(in oklab, var(--colour-${number % 9}) ${[100, 62, 78][shade]}%, ${["black", "black", "white"][shade]})`);
    }
    return colours.get(name);
  }

  function draw() {
    const width = svg.clientWidth - CHART.left - CHART.right;
    if (width <= 0) return;
    const bottom = svg.clientHeight - CHART.bottom;
    const height = bottom - CHART.top;
    const stack = memoryStack(model, state.filter, state.from, state.to, Math.min(600, Math.floor(width)));
    const { shown, left } = memoryNames(stack);
    const most = Math.max(1, ...stack.columns.map(({ total }) => total));
    const step = roundStep(most, height / 60, "bytes");
    const top = Math.ceil(most / step) * step;
    const x = (time) => CHART.left + (width * (time - state.from)) / (state.to - state.from);
    const y = (bytes) => CHART.top + height * (1 - bytes / top);
    const areas = [];
    let base = stack.columns.map(() => 0);
    const series = shown.map((row) => [stack.names[row], stack.columns.map(({ values }) => values[row])]);
    if (left) series.push([REST, left]);
    for (const [name, values] of series) {
      const upper = base.map((below, at) => below + values[at]);
      const area = make("path", { d: steps(base, upper, width, y), style: `fill: ${colourOf(name)}`, "data-name": name });
      area.addEventListener("dblclick", () => drill(name));
      areas.push(area);
      base = upper;
    }
    svg.setAttribute("viewBox", `0 0 ${svg.clientWidth} ${svg.clientHeight}`);
    svg.replaceChildren(...areas, ...byteAxis(top, step, y, svg.clientWidth), ...timeAxis(state, x, width, bottom), marker(x, bottom));
    find("memory-legend").replaceChildren(...series.map(([name]) => element("span", {}, element("span", { class: "swatch", style: `background: ${colourOf(name)}` }), name)));
    state.scale = { x, width, stack, series };
  }

  function marker(x, bottom) {
    const inside = state.time >= state.from && state.time <= state.to;
    return make("line", { class: "rule", x1: x(state.time), x2: x(state.time), y1: CHART.top, y2: bottom, visibility: inside ? "visible" : "hidden" });
  }

  function tell() {
    const rows = memoryAt(model, state.step, state.filter);
    const total = rows.reduce((sum, row) => sum + row.bytes, 0);
    const what = state.step === model.peak.step ? "Peak" : "Moment";
    const inChart = new Set(state.scale?.series.map(([name]) => name));
    find("memory-title").textContent = `${what}: ${bytesText(total)} after ${timeText(state.time)}`;
    find("memory-title").dataset.bytes = total;
    find("memory-table").replaceChildren(...rows.map((row) =>
      element("tr", {},
        element("td", {}, element("button", { type: "button", class: "drill", onclick: () => drill(row.name) },
          element("span", { class: "swatch", style: `background: ${colourOf(inChart.has(row.name) ? row.name : REST)}` }), row.name), sourceOf(row)),
        element("td", { class: "number" }, numberText(row.blocks)),
        element("td", { class: "number", "data-bytes": row.bytes }, bytesText(row.bytes)),
        element("td", { class: "number" }, shareText(row.bytes / Math.max(1, total))))));
    const { category, modules, line } = state.filter;
    find("memory-path").replaceChildren(...["everything", category, ...modules, line].filter(Boolean).flatMap((name, depth) => [
      ...(depth ? [" › "] : []), element("button", { type: "button", class: "drill", onclick: () => back(depth) }, name)]));
    find("memory-by").value = state.filter.by;
  }

  const sourceOf = (row) => (state.filter.by === "line" && model.groups[row.group].source ? element("small", {}, element("code", {}, ...breakable(model.groups[row.group].source, /(?<=[.(_])(?=\w)/))) : "");

  // From a category to its modules, from a module to what is in it, and to lines.
  function drill(name) {
    const { filter } = state;
    if (name === REST || filter.line) return;
    if (filter.by === "category") state.filter = { ...filter, category: name, by: "module" };
    else if (filter.by === "line") state.filter = { ...filter, line: name };
    else if (model.moduleParts.some((parts) => parts[filter.modules.length] === name)) {
      const modules = [...filter.modules, name];
      const deeper = model.moduleParts.some((parts) => modules.every((part, depth) => parts[depth] === part) && parts.length > modules.length);
      state.filter = { ...filter, modules, by: deeper ? "module" : "line" };
    } else state.filter = { ...filter, by: "line" };
    refill();
  }

  function back(depth) {
    const { category, modules } = state.filter;
    const place = depth - (category ? 1 : 0);
    if (depth === 0) state.filter = { by: "category", category: "", modules: [], line: "" };
    else state.filter = { by: place > modules.length ? "line" : "module", category, modules: modules.slice(0, Math.max(0, place)), line: "" };
    refill();
  }

  // Other names: their colours start anew, and what was read off is of the names before.
  function refill() {
    colours.clear();
    find("note").textContent = heading;
    update();
  }

  function update() {
    draw();
    tell();
  }

  function show(from, to) {
    const span = Math.min(model.end, Math.max(to - from, model.end * 1e-6, 10));
    state.from = Math.min(Math.max(0, from), model.end - span);
    state.to = state.from + span;
    update();
  }

  function zoom(factor, at = (state.from + state.to) / 2) {
    show(at - (at - state.from) * factor, at + (state.to - at) * factor);
  }

  const timeAt = (event) => state.from + ((event.clientX - svg.getBoundingClientRect().left - CHART.left) / state.scale.width) * (state.to - state.from);

  function choose(time) {
    let step = 0;
    for (const event of model.events) if (event[1] <= time) step = event[0];
    Object.assign(state, { step, time: Math.min(model.end, Math.max(0, time)) });
    update();
  }

  listenToChart(svg, { state, show, zoom, timeAt, choose, read: (event) => readOff(find("note"), state, timeAt(event)) });
  find("memory-by").addEventListener("change", (event) => {
    state.filter = { ...state.filter, by: event.target.value, line: "" };
    refill();
  });
  find("memory-peak").addEventListener("click", () => {
    Object.assign(state, { step: model.peak.step, time: model.peak.time });
    update();
  });
  find("closer").addEventListener("click", () => zoom(0.5));
  find("farther").addEventListener("click", () => zoom(2));
  find("memory-all").addEventListener("click", () => show(0, model.end));
  new ResizeObserver(draw).observe(svg);
  update();
  root.dataset.ready = "yes";
}

function listenToChart(svg, { state, show, zoom, timeAt, choose, read }) {
  let last = null;
  let dragged = false;
  svg.addEventListener("pointerdown", (event) => {
    last = event.clientX;
    dragged = false;
  });
  svg.addEventListener("pointermove", (event) => {
    read(event);
    if (last === null || !event.buttons) return;
    const shift = ((last - event.clientX) / state.scale.width) * (state.to - state.from);
    if (!dragged && Math.abs(event.clientX - last) < 4) return;
    if (!dragged) svg.setPointerCapture(event.pointerId);
    dragged = true;
    last = event.clientX;
    show(state.from + shift, state.to + shift);
  });
  svg.addEventListener("pointerup", () => (last = null));
  svg.addEventListener("click", (event) => !dragged && choose(timeAt(event)));
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(event.deltaY * 0.0015), timeAt(event));
  }, { passive: false });
  svg.addEventListener("keydown", (event) => {
    const span = state.to - state.from;
    if (event.key === "ArrowLeft") show(state.from - span / 10, state.to - span / 10);
    else if (event.key === "ArrowRight") show(state.from + span / 10, state.to + span / 10);
    else if (event.key === "+") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else return;
    event.preventDefault();
  });
}

// What is under the pointer: the largest names at that time.
function readOff(note, state, time) {
  const { stack, series } = state.scale;
  const column = Math.min(stack.columns.length - 1, Math.max(0, Math.floor(((time - state.from) / (state.to - state.from)) * stack.columns.length)));
  const values = series.map(([name, all]) => [name, all[column]]).filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]);
  note.textContent = [`${timeText(Math.max(0, time))}: ${bytesText(stack.columns[column].total)}`, ...values.slice(0, 4).map(([name, value]) => `${name}: ${bytesText(value)}`)].join(" · ");
}

// The outline between two flights of steps.
function steps(lower, upper, width, y) {
  const count = upper.length;
  const x = (at) => (CHART.left + (width * at) / count).toFixed(1);
  const flight = (values) => values.flatMap((value, at) => [`${x(at)},${y(value).toFixed(1)}`, `${x(at + 1)},${y(value).toFixed(1)}`]);
  return `M${[...flight(upper), ...flight(lower).reverse()].join(" ")}Z`;
}

const shareText = (share) => (share > 0 && share < 0.001 ? "< 0.1 %" : `${(100 * share).toFixed(1)} %`);

// All ticks in one unit: that of the highest.
function byteAxis(top, step, y, width) {
  const place = Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(top) / 10));
  const marks = [];
  for (let value = 0; value <= top; value += step) {
    marks.push(make("line", { class: "axis", x1: CHART.left, x2: width - CHART.right, y1: y(value), y2: y(value) }));
    marks.push(make("text", { x: CHART.left - 8, y: y(value) + 4, "text-anchor": "end" }, `${value / 1024 ** place} ${BYTE_UNITS[place]}`));
  }
  return marks;
}

function timeAxis({ from, to }, x, width, bottom) {
  const step = roundStep(to - from, width / 90, "time");
  const unit = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]].find(([, size]) => to >= size) || ["ns", 1];
  const digits = Math.max(0, -Math.floor(Math.log10(step / unit[1]) + 1e-9));
  const marks = [];
  for (let value = Math.ceil(from / step) * step; value <= to; value += step) {
    marks.push(make("line", { class: "tick", x1: x(value), x2: x(value), y1: bottom, y2: bottom + 5 }));
    const anchor = x(value) + 24 > CHART.left + width ? "end" : "middle";
    marks.push(make("text", { x: x(value), y: bottom + 20, "text-anchor": anchor }, `${(value / unit[1]).toFixed(digits)} ${unit[0]}`));
  }
  return marks;
}
