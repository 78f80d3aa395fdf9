// Draws a graph-of-words into an <svg>: hover or focus a word for details, drag a word or the whole, scroll to zoom;
// with the keyboard, Tab goes from word to word, arrows move, + and - zoom, 0 goes back.
// graph: { nodes: [{ word, x, y, closeness, positions, row, central }], edges: [[from, to, count]] }; x and y from 0 to 1.
function drawGraph(svg, note, graph) {
  const help = note.textContent;
  const make = (name, attributes = {}, parent = null) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (parent) parent.append(element);
    return element;
  };
  const marker = make("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" }, make("defs", {}, svg));
  make("path", { d: "M0 0 L8 4 L0 8 z" }, marker);
  const world = make("g", {}, svg);
  const box = svg.getBoundingClientRect(), margin = 60;
  const nodes = graph.nodes.map(node => ({ ...node,
    x: margin + node.x * (box.width - 2 * margin), y: margin + node.y * (box.height - 2 * margin),
    radius: 4 + 7 * (node.closeness / (graph.nodes[0].closeness || 1)) ** 3 }));
  const edges = graph.edges.map(([from, to, count]) => ({ from, to, count,
    line: make("path", { class: "edge", "stroke-width": Math.min(count, 12), "marker-end": "url(#arrow)" }, world) }));
  for (const edge of edges) make("title", {}, edge.line).textContent = `${nodes[edge.from].word} → ${nodes[edge.to].word}: ${edge.count}`;
  nodes.forEach((node, number) => {
    node.group = make("g", { class: node.central ? "node central" : "node", tabindex: 0, role: "img" }, world);
    node.group.setAttribute("aria-label", details(node));
    make("circle", { r: node.radius }, node.group);
    make("text", { x: node.radius + 3, y: 4 }, node.group).textContent = node.word;
    for (const event of ["pointerenter", "focus"]) node.group.addEventListener(event, () => highlight(number));
    for (const event of ["pointerleave", "blur"]) node.group.addEventListener(event, () => highlight(null));
  });
  function details(node) {
    return `${node.word}: closeness ${node.closeness.toFixed(4)}, at positions ${node.positions.slice(0, 20).join(", ")}${node.positions.length > 20 ? ", …" : ""}${node.row ? `; row ${node.row}` : ""}`;
  }
  function place() {
    for (const node of nodes) node.group.setAttribute("transform", `translate(${node.x} ${node.y})`);
    for (const { from, to, line } of edges) {
      const a = nodes[from], b = nodes[to], dx = b.x - a.x, dy = b.y - a.y, length = Math.hypot(dx, dy) || 1;
      const bend = 0.08, middle = [(a.x + b.x) / 2 - dy * bend, (a.y + b.y) / 2 + dx * bend];
      line.setAttribute("d", `M${a.x} ${a.y} Q${middle[0]} ${middle[1]} ${b.x - dx / length * (b.radius + 2)} ${b.y - dy / length * (b.radius + 2)}`);
    }
  }
  function highlight(number) {
    const near = new Set([number]);
    for (const { from, to, line } of edges) {
      const touches = from === number || to === number;
      if (touches) near.add(from).add(to);
      line.classList.toggle("faded", number !== null && !touches);
    }
    nodes.forEach((node, other) => node.group.classList.toggle("faded", number !== null && !near.has(other)));
    note.textContent = number === null ? help : details(nodes[number]);
  }
  let view = { x: 0, y: 0, scale: 1 }, held = null;
  const show = () => world.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
  const zoom = (factor, x, y) => {
    view = { x: x - (x - view.x) * factor, y: y - (y - view.y) * factor, scale: view.scale * factor };
    show();
  };
  const nodeOf = target => { const group = target.closest(".node"); return nodes.find(node => node.group === group) ?? null; };
  function move(node, dx, dy) {
    if (node) { node.x += dx / view.scale; node.y += dy / view.scale; place(); }
    else { view.x += dx; view.y += dy; show(); }
  }
  svg.addEventListener("pointerdown", event => {
    held = { node: nodeOf(event.target), x: event.clientX, y: event.clientY };
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", event => {
    if (!held) return;
    move(held.node, event.clientX - held.x, event.clientY - held.y);
    held.x = event.clientX; held.y = event.clientY;
  });
  svg.addEventListener("pointerup", () => { held = null; });
  svg.addEventListener("wheel", event => {
    event.preventDefault();
    const frame = svg.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 500), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });
  const steps = { ArrowLeft: [-20, 0], ArrowRight: [20, 0], ArrowUp: [0, -20], ArrowDown: [0, 20] };
  svg.addEventListener("keydown", event => {
    const frame = svg.getBoundingClientRect();
    if (steps[event.key]) move(nodeOf(event.target), ...steps[event.key]);
    else if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 1.25 : 0.8, frame.width / 2, frame.height / 2);
    else if (event.key === "0") { view = { x: 0, y: 0, scale: 1 }; show(); }
    else return;
    event.preventDefault();
  });
  svg.setAttribute("tabindex", 0);
  place();
}
