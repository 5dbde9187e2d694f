// Draws the visible boxes as SVG, and moves the window over them.
const SVG = "http://www.w3.org/2000/svg";
const READABLE = 11 / 12; // of the scale: the smallest text has 12 px
const ARROW = 6; // of its 9 pixels beyond the end of the line
const inSight = (layout, width, height) => layout.width * READABLE <= width && layout.height * READABLE <= height;

function make(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  element.append(...children);
  return element;
}

// A smooth line that leaves and reaches each point straight down.
function path([start, ...points]) {
  let text = `M${start.x},${start.y}`;
  let before = start;
  for (const point of points) {
    const middle = (before.y + point.y) / 2;
    text += point.x === before.x ? `V${point.y}` : `C${before.x},${middle} ${point.x},${middle} ${point.x},${point.y}`;
    before = point;
  }
  return text;
}

class View {
  constructor(svg, handlers) {
    this.svg = svg;
    this.handlers = handlers;
    this.scene = svg.querySelector(".scene");
    this.at = { x: 0, y: 0, scale: 1 };
    this.boxes = new Map();
    this.listen();
  }

  draw(model, moment, layout) {
    this.parts = layout.parts;
    this.size = layout;
    this.boxes.clear();
    const marker = `url(#${this.svg.querySelector("marker").id})`;
    const edges = layout.edges.map(({ points, count, arrow }) => {
      // A line with an arrow ends within the arrow, whose tip a broad line would blunt.
      const ends = arrow ? [...points.slice(0, -1), { x: points.at(-1).x, y: points.at(-1).y - ARROW }] : points;
      const line = make("path", { class: "edge", d: path(ends), "stroke-width": 1.2 + Math.min(2, Math.log2(count) / 3) });
      if (arrow) line.setAttribute("marker-end", marker);
      return line;
    });
    const frames = layout.frames.map((frame) => this.frame(model, titled(model, frame, layout.entries.get(frame.group)))); // outer before inner
    this.scene.replaceChildren(...frames, ...edges, ...layout.boxes.map((box) => this.box(model, moment, box)));
  }

  frame(model, { group, x, y, width, height, title, titleAt }) {
    const kind = GROUP_KINDS[model.group_kind[group]];
    const button = make("g", { class: "fold", role: "button", tabindex: 0, "aria-label": `fold ${groupTitle(model, group)}` },
      make("rect", { x: titleAt, y: 6, width: widthOf(title, TEXT_FONT) + 28, height: 18, rx: 4 }),
      make("path", { d: `M${titleAt + 6},15h8`, class: "sign" }),
      make("text", { x: titleAt + 20, y: 19 }, title));
    this.onPress(button, () => this.handlers.fold(group));
    return make("g", { class: `frame ${kind}`, transform: `translate(${x - width / 2},${y - height / 2})` },
      make("rect", { width, height, rx: 10 }), button);
  }

  box(model, moment, { item, lines, before, x, y, width, height }) {
    const texts = lines.map((line, number) =>
      make("text", { x: PAD + 4, y: 17 + number * LINE, class: line.startsWith("▸ ") ? "mark" : number ? "detail" : "title" }, line));
    const shape = make("g", { transform: `translate(${x - width / 2},${y - height / 2})`, role: "button", tabindex: 0, "aria-label": lines.join(", "), "data-item": item });
    if (isGroup(item)) shape.append(make("rect", { class: "behind", x: 5, y: 5, width, height, rx: 7 }));
    shape.append(make("rect", { class: "card", width, height, rx: 7 }), make("rect", { class: "stripe", width: 5, height: height - 12, x: 5, y: 6, rx: 2.5 }), ...texts);
    if (isGroup(item)) {
      const button = make("g", { class: "fold", role: "button", tabindex: 0, "aria-label": `unfold ${lines[0]}`, transform: `translate(${width - 26},4)` },
        make("rect", { width: 20, height: 16, rx: 4 }), make("path", { d: "M6,8h8M10,4v8", class: "sign" }));
      this.onPress(button, () => this.handlers.unfold(groupOf(item)));
      shape.append(button);
    }
    this.onPress(shape, () => this.handlers.select(item));
    shape.addEventListener("dblclick", () => isGroup(item) && this.handlers.unfold(groupOf(item)));
    this.boxes.set(item, { shape, x, y, width, height, before, state: texts[texts.length - 1] });
    return shape;
  }

  paint(model, moment, selected, matches) {
    for (const [item, box] of this.boxes) {
      const kind = isGroup(item) ? `group ${GROUP_KINDS[model.group_kind[groupOf(item)]]}` : "node";
      const [first, end] = extent(model, item);
      const found = matches && matches.some((node) => node >= first && node < end);
      box.shape.setAttribute("class", `box ${kind} ${stateOf(model, moment, item)}${item === selected ? " selected" : ""}${markLines(model, item).length ? " marked" : ""}${matches ? (found ? " found" : " other") : ""}`);
      const state = stateLine(model, moment, item);
      if (state) box.state.textContent = box.before + state;
    }
  }

  onPress(element, action) {
    element.addEventListener("click", (event) => {
      event.stopPropagation();
      if (!this.dragged) action();
    });
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      action();
    });
  }

  listen() {
    let last = null;
    this.svg.addEventListener("pointerdown", (event) => {
      last = [event.clientX, event.clientY];
      this.dragged = false;
    });
    this.svg.addEventListener("pointermove", (event) => {
      if (!last || !event.buttons) return;
      const [dx, dy] = [event.clientX - last[0], event.clientY - last[1]];
      if (!this.dragged && Math.hypot(dx, dy) < 4) return;
      if (!this.dragged) this.svg.setPointerCapture(event.pointerId);
      this.dragged = true;
      last = [event.clientX, event.clientY];
      this.move(this.at.x + dx, this.at.y + dy, this.at.scale);
    });
    this.svg.addEventListener("pointerup", () => (last = null));
    this.svg.addEventListener("click", () => !this.dragged && this.handlers.select(null));
    this.svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const area = this.svg.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - area.left, event.clientY - area.top);
    }, { passive: false });
  }

  zoom(factor, x = this.svg.clientWidth / 2, y = this.svg.clientHeight / 2) {
    const scale = Math.min(4, Math.max(0.02, this.at.scale * factor));
    const ratio = scale / this.at.scale;
    this.move(x - (x - this.at.x) * ratio, y - (y - this.at.y) * ratio, scale);
  }

  fit() {
    const [width, height] = [this.svg.clientWidth, this.svg.clientHeight];
    if (!width || !this.size) return;
    const whole = Math.min(width / this.size.width, height / this.size.height);
    const scale = Math.min(1.25, Math.max(whole, READABLE)); // legible rather than complete: the rest is a drag away
    // What does not fit is shown from where the graph begins.
    const first = [...this.boxes.values()].reduce((one, other) => (other.y < one.y ? other : one));
    const x = this.size.width * scale > 1.3 * width ? width / 2 - first.x * scale : (width - this.size.width * scale) / 2;
    this.move(x, this.size.height * scale > height ? 0 : (height - this.size.height * scale) / 2, scale);
  }

  // Shows all of it, unless that needs a smaller scale than the least; says whether it does.
  whole(least = 0) {
    const [width, height] = [this.svg.clientWidth, this.svg.clientHeight];
    const scale = Math.min(1.25, width / this.size.width, height / this.size.height);
    if (scale < least) return false;
    this.move((width - this.size.width * scale) / 2, (height - this.size.height * scale) / 2, scale);
    return true;
  }

  centre(item, scale = Math.max(this.at.scale, 0.8)) {
    const box = this.boxes.get(item);
    if (box) this.move(this.svg.clientWidth / 2 - box.x * scale, this.svg.clientHeight / 2 - box.y * scale, scale);
  }

  move(x, y, scale) {
    this.at = { x, y, scale };
    this.scene.setAttribute("transform", `translate(${x},${y}) scale(${scale})`);
  }
}
