// Draws the visible boxes as SVG, and moves the window over them.
const SVG = "http://www.w3.org/2000/svg";
const ink = document.createElement("canvas").getContext("2d");
const FONT = 'system-ui, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif';
const TITLE_FONT = `600 13px ${FONT}`;
const TEXT_FONT = `12px ${FONT}`;
const PAD = 12;
const LINE = 17;

function make(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  element.append(...children);
  return element;
}

function widthOf(text, font) {
  ink.font = font;
  return ink.measureText(text).width;
}

const shortened = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

function groupTitle(model, group) {
  const label = model.text[model.group_label[group]];
  const kind = GROUP_KINDS[model.group_kind[group]];
  return kind === "function" ? label : `${kind} ${label}`;
}

// The lines of a box; the last is the state, which changes with the moment.
function linesOf(model, moment, item, showSaved) {
  if (isGroup(item)) {
    const sum = totals(model, moment, item);
    return [shortened(groupTitle(model, groupOf(item)), 44), counted(sum.nodes, "operation"), stateText(model, moment, item)];
  }
  const shape = model.text[model.shape[item]];
  const lines = [shortened(model.text[model.title[item]], 44), shortened(shape, 44)];
  const place = placeText(model, model.place[item]);
  if (place) lines[1] = shape ? `${place} · ${shortened(shape, 36)}` : place;
  if (model.attributes[item]) lines.push(shortened(model.attributes[item], 60));
  if (model.kind[item] !== KIND.operation) return lines.filter(Boolean);
  if (showSaved)
    for (let slot = firstSlot(model, item); slot < model.slot_end[item]; slot++)
      lines.push(`${model.text[model.slot_name[slot]]}: ${model.text[model.slot_shape[slot]]}, ${bytesText(model.slot_bytes[slot])}`);
  lines.push(stateText(model, moment, item));
  return lines;
}

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
      return boxText(sum);
    default:
      return "saved nothing";
  }
}

function boxText(sum) {
  const dropped = sum.droppedBytes + sum.elsewhereBytes;
  const parts = [];
  if (sum.releasedBytes) parts.push(`${bytesText(sum.releasedBytes)} freed`);
  if (dropped) parts.push(`${bytesText(dropped)} dropped`);
  return parts.join(", ") || "freed";
}

function path(points) {
  // A smooth line through the points that the layout gives.
  let text = `M${points[0].x},${points[0].y}`;
  for (let i = 1; i < points.length - 1; i++) {
    const end = i < points.length - 2 ? { x: (points[i].x + points[i + 1].x) / 2, y: (points[i].y + points[i + 1].y) / 2 } : points[i + 1];
    text += `Q${points[i].x},${points[i].y} ${end.x},${end.y}`;
  }
  return points.length > 2 ? text : `${text}L${points[1].x},${points[1].y}`;
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

  draw(model, moment, unfolded, showSaved) {
    this.parts = visibleParts(model, unfolded);
    const layout = layOut(model, moment, unfolded, this.parts, showSaved);
    this.size = layout;
    this.boxes.clear();
    const marker = `url(#${this.svg.querySelector("marker").id})`;
    const edges = layout.edges.map(({ points, count, arrow, bend }) => {
      const line = make("path", { class: "edge", d: bend || path(points), "stroke-width": 1.2 + Math.min(3, Math.log2(count) / 2) });
      if (arrow) line.setAttribute("marker-end", marker);
      return line;
    });
    const frames = layout.frames.map((frame) => this.frame(model, frame)); // outer before inner
    this.scene.replaceChildren(...frames, ...edges, ...layout.boxes.map((box) => this.box(model, moment, box)));
  }

  frame(model, { group, x, y, width, height }) {
    const kind = GROUP_KINDS[model.group_kind[group]];
    const title = shortened(groupTitle(model, group), Math.max(8, Math.floor(width / 7.2) - 4));
    const button = make("g", { class: "fold", role: "button", tabindex: 0, "aria-label": `fold ${groupTitle(model, group)}` },
      make("rect", { x: 8, y: 6, width: widthOf(title, TEXT_FONT) + 32, height: 18, rx: 4 }),
      make("path", { d: "M14,15h8", class: "sign" }),
      make("text", { x: 28, y: 19 }, title));
    this.onPress(button, () => this.handlers.fold(group));
    return make("g", { class: `frame ${kind}`, transform: `translate(${x - width / 2},${y - height / 2})` },
      make("rect", { width, height, rx: 10 }), button);
  }

  box(model, moment, { item, lines, x, y, width, height }) {
    const texts = lines.map((line, number) =>
      make("text", { x: PAD + 4, y: 19 + number * LINE, class: number ? "detail" : "title" }, line));
    const shape = make("g", { transform: `translate(${x - width / 2},${y - height / 2})`, role: "button", tabindex: 0, "aria-label": lines.join(", "), "data-item": item });
    if (isGroup(item)) shape.append(make("rect", { class: "behind", x: 5, y: 5, width, height, rx: 7 }));
    shape.append(make("rect", { class: "card", width, height, rx: 7 }), make("rect", { class: "stripe", width: 5, height: height - 12, x: 5, y: 6, rx: 2.5 }), ...texts);
    if (isGroup(item)) {
      const button = make("g", { class: "fold", role: "button", tabindex: 0, "aria-label": `unfold ${lines[0]}`, transform: `translate(${width - 26},5)` },
        make("rect", { width: 20, height: 18, rx: 4 }), make("path", { d: "M6,9h8M10,5v8", class: "sign" }));
      this.onPress(button, () => this.handlers.unfold(groupOf(item)));
      shape.append(button);
    }
    this.onPress(shape, () => this.handlers.select(item));
    shape.addEventListener("dblclick", () => isGroup(item) && this.handlers.unfold(groupOf(item)));
    this.boxes.set(item, { shape, x, y, width, height, state: texts[texts.length - 1] });
    return shape;
  }

  paint(model, moment, selected, matches) {
    for (const [item, box] of this.boxes) {
      const kind = isGroup(item) ? `group ${GROUP_KINDS[model.group_kind[groupOf(item)]]}` : "node";
      const [first, end] = extent(model, item);
      const found = matches && matches.some((node) => node >= first && node < end);
      box.shape.setAttribute("class", `box ${kind} ${stateOf(model, moment, item)}${item === selected ? " selected" : ""}${matches ? (found ? " found" : " other") : ""}`);
      if (isGroup(item) || model.kind[item] === KIND.operation) box.state.textContent = stateText(model, moment, item);
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
    const scale = Math.min(1.25, Math.max(whole, 0.55)); // legible rather than complete: the rest is a drag away
    // What does not fit is shown from where the graph begins.
    const first = [...this.boxes.values()].reduce((one, other) => (other.y < one.y ? other : one));
    const x = this.size.width * scale > width ? width / 2 - first.x * scale : (width - this.size.width * scale) / 2;
    this.move(x, this.size.height * scale > height ? 0 : (height - this.size.height * scale) / 2, scale);
  }

  whole() {
    const [width, height] = [this.svg.clientWidth, this.svg.clientHeight];
    const scale = Math.min(1.25, width / this.size.width, height / this.size.height);
    this.move((width - this.size.width * scale) / 2, (height - this.size.height * scale) / 2, scale);
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
