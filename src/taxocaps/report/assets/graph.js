// The graph-of-words as a drawing. Hover or focus a word for details, drag a word or the background, scroll to zoom; with
// the keyboard, Tab moves from word to word, arrows move, + and - zoom, 0 resets.

import { make, makeSvg } from "./dom.js";

const MARKED = 10;  // words marked as central: in a short document every word heads a row, and marking all would mark none
const ITERATIONS = 200;
const MARGINS = { left: 24, right: 96, top: 30, bottom: 30 };  // words are written to the right of their nodes
const MOST_POSITIONS = 20;
const ARROWS = { ArrowLeft: [-20, 0], ArrowRight: [20, 0], ArrowUp: [0, -20], ArrowDown: [0, 20] };
const HELP = "Highlighted: the ten most central words. Line width: how often one word follows the other nearby. " +
  "Hover for details, drag a word, scroll to zoom; or use Tab, arrows, + and −.";

// Draws the `most` most central words of a graph into `container`, which must be visible, since the drawing has its size.
// graph: { nodes: [{ word, closeness, positions, row }], edges: [{ source, target, count }] }
export function drawGraph(container, graph, most) {
  const svg = makeSvg("svg", { id: "graph", role: "group", "aria-label": "Graph of words", tabindex: 0 });
  const note = make("p", { id: "note", class: "hint" }, HELP);
  container.replaceChildren(svg, zoomButtons(svg), note);
  const drawing = new GraphDrawing(svg, note, graph, most);
  drawing.listen();
}

// For touch screens, which have neither a wheel nor keys: the buttons press the keys.
function zoomButtons(svg) {
  const button = (key, text, label = text) => {
    const element = make("button", { type: "button", class: "quiet", "data-key": key, "aria-label": label }, text);
    element.addEventListener("click", () => svg.dispatchEvent(new KeyboardEvent("keydown", { key })));
    return element;
  };
  return make("div", { class: "row" }, button("+", "+", "Zoom in"), button("-", "−", "Zoom out"), button("0", "Whole graph"));
}

class GraphDrawing {
  constructor(svg, note, graph, most) {
    Object.assign(this, { svg, note, view: { x: 0, y: 0, scale: 1 }, held: null });
    this.world = makeSvg("g");
    svg.append(makeSvg("defs", {}, arrowHead()), this.world);
    this.nodes = graph.nodes.slice(0, most).map(node => ({ ...node }));
    const index = new Map(this.nodes.map((node, position) => [node.word, position]));
    this.edges = graph.edges.filter(edge => index.has(edge.source) && index.has(edge.target))
      .map(edge => ({ from: index.get(edge.source), to: index.get(edge.target), count: edge.count }));
    this.placeNodes();
    this.edges.forEach(edge => this.drawEdge(edge));
    this.nodes.forEach((node, position) => this.drawNode(node, position));
    this.update();
  }

  placeNodes() {
    const box = this.svg.getBoundingClientRect(), highest = this.nodes[0]?.closeness || 1;
    const width = box.width - MARGINS.left - MARGINS.right, height = box.height - MARGINS.top - MARGINS.bottom;
    layOut(this.nodes.length, this.edges).forEach(({ x, y }, position) => Object.assign(this.nodes[position], {
      x: MARGINS.left + x * width, y: MARGINS.top + y * height,
      radius: 4 + 7 * (this.nodes[position].closeness / highest) ** 3,
    }));
  }

  drawEdge(edge) {
    const title = makeSvg("title", {}, `${this.nodes[edge.from].word} → ${this.nodes[edge.to].word}: ${edge.count}`);
    edge.line = makeSvg("path", { class: "edge", "stroke-width": Math.min(edge.count, 12), "marker-end": "url(#arrow)" }, title);
    this.world.append(edge.line);
  }

  drawNode(node, position) {
    const isCentral = node.row !== null && node.row <= MARKED;
    node.group = makeSvg("g", { class: isCentral ? "node central" : "node", tabindex: 0, role: "img", "aria-label": details(node) },
      makeSvg("circle", { r: node.radius }), makeSvg("text", { x: node.radius + 3, y: 4 }, node.word));
    for (const event of ["pointerenter", "focus"]) node.group.addEventListener(event, () => this.highlight(position));
    for (const event of ["pointerleave", "blur"]) node.group.addEventListener(event, () => this.highlight(null));
    this.world.append(node.group);
  }

  update() {
    for (const node of this.nodes) node.group.setAttribute("transform", `translate(${node.x} ${node.y})`);
    for (const { from, to, line } of this.edges) line.setAttribute("d", curve(this.nodes[from], this.nodes[to]));
  }

  highlight(position) {
    const near = new Set([position]);
    for (const { from, to, line } of this.edges) {
      const touches = from === position || to === position;
      if (touches) near.add(from).add(to);
      line.classList.toggle("faded", position !== null && !touches);
    }
    this.nodes.forEach((node, other) => node.group.classList.toggle("faded", position !== null && !near.has(other)));
    this.note.textContent = position === null ? HELP : details(this.nodes[position]);
  }

  show() {
    this.world.setAttribute("transform", `translate(${this.view.x} ${this.view.y}) scale(${this.view.scale})`);
  }

  zoom(factor, x, y) {
    const { view } = this;
    this.view = { x: x - (x - view.x) * factor, y: y - (y - view.y) * factor, scale: view.scale * factor };
    this.show();
  }

  move(node, dx, dy) {
    if (node) {
      node.x += dx / this.view.scale;
      node.y += dy / this.view.scale;
      this.update();
    } else {
      this.view.x += dx;
      this.view.y += dy;
      this.show();
    }
  }

  nodeAt(target) {
    const group = target.closest(".node");
    return this.nodes.find(node => node.group === group) ?? null;
  }

  listen() {
    const { svg } = this;
    svg.addEventListener("pointerdown", event => {
      this.held = { node: this.nodeAt(event.target), x: event.clientX, y: event.clientY };
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", event => {
      if (!this.held) return;
      this.move(this.held.node, event.clientX - this.held.x, event.clientY - this.held.y);
      Object.assign(this.held, { x: event.clientX, y: event.clientY });
    });
    for (const event of ["pointerup", "pointercancel"]) svg.addEventListener(event, () => { this.held = null; });
    svg.addEventListener("wheel", event => {
      event.preventDefault();
      const box = svg.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 500), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    svg.addEventListener("keydown", event => this.press(event));
  }

  press(event) {
    const box = this.svg.getBoundingClientRect();
    if (ARROWS[event.key]) this.move(this.nodeAt(event.target), ...ARROWS[event.key]);
    else if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? 1.25 : 0.8, box.width / 2, box.height / 2);
    else if (event.key === "0") { this.view = { x: 0, y: 0, scale: 1 }; this.show(); }
    else return;
    event.preventDefault();
  }
}

function details({ word, closeness, positions, row }) {
  const shown = positions.slice(0, MOST_POSITIONS).join(", ") + (positions.length > MOST_POSITIONS ? ", …" : "");
  return `${word}: closeness ${closeness.toFixed(4)}, at positions ${shown}${row ? `; row ${row}` : ""}`;
}

function arrowHead() {
  const size = { viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse" };
  return makeSvg("marker", { id: "arrow", orient: "auto", ...size }, makeSvg("path", { d: "M0 0 L8 4 L0 8 z" }));
}

// A slightly bent line, so that edges in both directions are seen; it ends at the rim of the target.
function curve(a, b) {
  const dx = b.x - a.x, dy = b.y - a.y, length = Math.hypot(dx, dy) || 1, bend = 0.08;
  const middle = [(a.x + b.x) / 2 - dy * bend, (a.y + b.y) / 2 + dx * bend], rim = (b.radius + 2) / length;
  return `M${a.x} ${a.y} Q${middle[0]} ${middle[1]} ${b.x - dx * rim} ${b.y - dy * rim}`;
}

// Positions in the unit square: nodes repel each other, edges attract (Fruchterman and Reingold). The start is a spiral
// and not random, so that a graph looks the same each time.
export function layOut(size, edges) {
  const points = Array.from({ length: size }, (_, position) => {
    const angle = position * 2.4, radius = 0.5 * Math.sqrt((position + 0.5) / size);
    return { x: 0.5 + radius * Math.cos(angle), y: 0.5 + radius * Math.sin(angle), dx: 0, dy: 0 };
  });
  const k = 0.9 / Math.sqrt(size || 1);
  for (let iteration = 0; iteration < ITERATIONS; iteration += 1) {
    for (const point of points) point.dx = point.dy = 0;
    for (let a = 0; a < size; a += 1) for (let b = a + 1; b < size; b += 1) repel(points[a], points[b], distance => k * k / distance);
    for (const { from, to } of edges) repel(points[from], points[to], distance => -distance * distance / k / 2);
    const heat = 0.1 * (1 - iteration / ITERATIONS);
    for (const point of points) {
      const length = Math.hypot(point.dx, point.dy) || 1, step = Math.min(length, heat);
      point.x += point.dx / length * step;
      point.y += point.dy / length * step;
    }
  }
  return stretch(points);
}

function repel(a, b, force) {
  const x = a.x - b.x || 1e-6, y = a.y - b.y, distance = Math.hypot(x, y), strength = force(distance) / distance;
  a.dx += x * strength; a.dy += y * strength;
  b.dx -= x * strength; b.dy -= y * strength;
}

function stretch(points) {
  const scale = axis => {
    const values = points.map(point => point[axis]), low = Math.min(...values), high = Math.max(...values);
    return value => high > low ? (value - low) / (high - low) : 0.5;
  };
  const x = scale("x"), y = scale("y");
  return points.map(point => ({ x: x(point.x), y: y(point.y) }));
}
