// The graph of words: its most central words get places here, and are drawn by the code that written pages use too.

const MOST_WORDS = 60;
const MARKED = 10;
const ROUNDS = 200;
const HELP = "Coloured: the ten most central words. Width of a line: how often two words stand together. " +
  "Hover for details, drag a word, scroll to zoom; or use Tab, arrows, + and −.";

// `place` gets a new <svg>, since the old one keeps the listeners of its own graph. It must be visible to have a size.
export function drawInto(place, note, graph) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.id = "graph";
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", "Graph of words");
  place.replaceChildren(svg);
  note.textContent = HELP;
  globalThis.drawGraph(svg, note, placed(graph));
}

function placed(graph) {
  const nodes = graph.nodes.slice(0, MOST_WORDS), number = new Map(nodes.map((node, place) => [node.word, place]));
  const edges = graph.edges.filter(edge => number.has(edge.source) && number.has(edge.target))
    .map(edge => [number.get(edge.source), number.get(edge.target), edge.count]);
  const places = springs(nodes.length, edges);
  return { edges, nodes: nodes.map((node, place) => ({ ...node, ...places[place], central: node.row !== null && node.row <= MARKED })) };
}

// Places in the unit square: words push each other away, edges pull, and all cools down (Fruchterman and Reingold).
// It begins on a spiral and not by chance, so that a graph looks the same each time.
function springs(size, edges) {
  const points = Array.from({ length: size }, (_, place) => {
    const angle = place * 2.4, radius = 0.5 * Math.sqrt((place + 0.5) / size);
    return { x: 0.5 + radius * Math.cos(angle), y: 0.5 + radius * Math.sin(angle), dx: 0, dy: 0 };
  });
  const k = 0.9 / Math.sqrt(size || 1);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const point of points) point.dx = point.dy = 0;
    points.forEach((a, place) => points.slice(place + 1).forEach(b => push(a, b, distance => k * k / distance)));
    for (const [from, to] of edges) push(points[from], points[to], distance => -distance * distance / k / 2);
    const heat = 0.1 * (1 - round / ROUNDS);
    for (const point of points) {
      const length = Math.hypot(point.dx, point.dy) || 1, step = Math.min(length, heat);
      point.x += point.dx / length * step;
      point.y += point.dy / length * step;
    }
  }
  return stretched(points);
}

function push(a, b, force) {
  const x = a.x - b.x || 1e-6, y = a.y - b.y, distance = Math.hypot(x, y), strength = force(distance) / distance;
  a.dx += x * strength; a.dy += y * strength;
  b.dx -= x * strength; b.dy -= y * strength;
}

function stretched(points) {
  const range = axis => {
    const values = points.map(point => point[axis]), low = Math.min(...values);
    return value => (value - low) / (Math.max(...values) - low || 1);
  };
  const x = range("x"), y = range("y");
  return points.map(point => ({ x: x(point.x), y: y(point.y) }));
}
