// An explanation: the text tinted for a label, the words and rows that matter most, the words-matrix and the graph-of-words.
// The data is taxocaps.explanations.explanation.Explanation as JSON.

import { isVisible, largest, make, tint } from "./dom.js";
import { drawGraph } from "./graph.js";
import { drawMatrix } from "./matrix.js";

const MOST_MARKS = 20_000;
const MOST_BARS = 10;
const MOST_NODES = 60;
const METHODS = {
  occlusion: "The weight of a word is how much the score drops when all its occurrences are replaced by the unknown word.",
  linear: "The weight of a word is its coefficient in the linear classifier of the label, times its value in the document.",
  none: "This model cannot tell how much its words weigh.",
};

// Draws an explanation into `container`. Options: whether words-matrix and graph are `open`, how many `rows` are shown at first.
// Returns show(judged, reasons), which shows why the label `judged` was or was not given; both may be missing.
export function drawExplanation(container, explanation, { open = false, rows = 12, nodes = MOST_NODES } = {}) {
  const text = make("div", { id: "tinted", tabindex: 0, role: "region", "aria-label": "The text, tinted" });
  const verdict = make("p", { id: "verdict", class: "hint" }), method = make("p", { id: "method", class: "hint" });
  const bars = make("div", { id: "bars", class: "bars", "aria-live": "polite" });
  const matrix = part("matrix-part", "Words-matrix and block attention", open), graph = part("graph-part", "Graph of words", open);
  container.replaceChildren(verdict, legend(), text, method, bars, matrix.box, graph.box, ...missingParts(explanation));
  const tintText = drawText(text, explanation), hasMatrix = Boolean(explanation.matrix?.length);
  const tintMatrix = hasMatrix ? drawMatrix(matrix.content, explanation.matrix, rows) : () => {};
  matrix.box.hidden = !hasMatrix;
  graph.box.hidden = !explanation.graph?.nodes.length;
  if (!graph.box.hidden) whenOpen(graph.box, () => drawGraph(graph.content, explanation.graph, nodes));

  return (judged, reasons) => {
    verdict.textContent = judged ? describeVerdict(judged, reasons) : "";
    method.textContent = reasons ? METHODS[explanation.method] : "";
    bars.replaceChildren();
    if (!reasons) return;
    tintText(reasons);
    tintMatrix(reasons);
    drawBars(bars, reasons);
  };
}

function part(id, title, isOpen) {
  const content = make("div"), box = make("details", { id, ...(isOpen ? { open: "" } : {}) }, make("summary", {}, title), content);
  return { box, content };
}

// A drawing has no size before its part is open.
function whenOpen(box, draw) {
  if (box.open) { draw(); return; }
  box.addEventListener("toggle", draw, { once: true });
}

const legend = () => make("p", { class: "key" }, make("span", { class: "for" }, "for the label"), " ",
  make("span", { class: "against" }, "against it"), " ", make("span", { class: "unknown" }, "unknown to the model"));

function describeVerdict({ score, raw_score, threshold, is_given }, reasons) {
  const raw = raw_score === score ? "" : ` (${reasons?.rows ? "capsule length" : "before calibration"} ${raw_score.toFixed(3)})`;
  const limit = threshold === null ? "" : `, threshold ${threshold.toFixed(3)}`;
  const isBelow = is_given && threshold !== null && score < threshold;
  return `Score ${score.toFixed(3)}${raw}${limit}: ${is_given ? "given" : "not given"}${isBelow ? " below its threshold, by the rules of the model" : ""}.`;
}

// What this kind of model does not have, for readers who look for it.
function missingParts({ graph, matrix, reasons, warning }) {
  const lines = [];
  if (!warning && !graph) lines.push("This model reads no graph of words and no words-matrix.");
  if (graph && !matrix?.some(row => row.attention.length)) lines.push("This model has no block attention.");
  if (graph && reasons.every(one => one.rows === null)) lines.push("This model has no capsules of rows: how much each row contributed to a label is not known.");
  return lines.map(line => make("p", { class: "hint absent" }, line));
}

// Puts the text into `container`; returns the function that tints it for the reasons of a label.
function drawText(container, explanation) {
  const marks = [];
  for (const { text, words, isKnown } of piecesOf(explanation)) {
    const piece = words.length ? make("mark", isKnown ? {} : { class: "unknown" }, text) : text;
    if (words.length) marks.push({ words, mark: piece });
    container.append(piece);
  }
  return reasons => {
    const weights = new Map(reasons.words.map(one => [one.word, one.weight])), most = largest([...weights.values()]);
    for (const { words, mark } of marks) {
      mark.style.background = tint(words.reduce((sum, word) => sum + (weights.get(word) ?? 0), 0), most);
      mark.title = words.map(word => `${word}: ${(weights.get(word) ?? 0).toPrecision(3)}`).join(", ");
    }
  };
}

// The text split at its words. Offsets count characters as Python does, not the UTF-16 units of JavaScript.
export function piecesOf({ text, words }) {
  const letters = Array.from(text), spans = new Map(), pieces = [];
  for (const { word, start, end, is_known } of words) {
    if (start === null) continue;
    const span = spans.get(start) ?? { start, end, words: [], isKnown: false };
    spans.set(start, { start, end: Math.max(end, span.end), words: [...span.words, word], isKnown: span.isKnown || is_known });
  }
  let done = 0;
  const add = (end, found, isKnown) => { if (end > done) pieces.push({ text: letters.slice(done, end).join(""), words: found, isKnown }); done = Math.max(done, end); };
  for (const span of [...spans.values()].sort((a, b) => a.start - b.start).slice(0, MOST_MARKS)) {
    add(span.start, [], true);
    add(span.end, span.words, span.isKnown);
  }
  add(letters.length, [], true);
  return pieces;
}

function drawBars(container, { words, rows, evidence }) {
  const most = largest(words.map(one => one.weight));
  const visible = words.filter(one => isVisible(one.weight, most)).map(one => [one.word, one.weight]).sort((a, b) => b[1] - a[1]);
  const shares = (rows ?? []).slice(0, MOST_BARS).map(one => [`${one.row}. ${one.central_word}`, one.share]);
  const kinds = (evidence ?? []).filter(one => one.weight).slice(0, MOST_BARS).map(one => [one.kind, one.weight]);
  container.append(...[
    barTable("Words for it", visible.filter(([, weight]) => weight > 0).slice(0, MOST_BARS), most),
    barTable("Words against it", visible.filter(([, weight]) => weight < 0).reverse().slice(0, MOST_BARS), most),
    barTable("Evidence", kinds, largest(kinds.map(([, weight]) => weight)), "What each kind of evidence adds to the logit"),
    barTable("Rows routed to it", shares, largest(shares.map(([, share]) => share)), "Coupling times agreement, as a share of all rows"),
  ].filter(Boolean));
}

function barTable(title, lines, most, description = title) {
  if (!lines.length) return null;
  const table = make("table", { "aria-label": description });
  for (const [name, value] of lines) {
    const bar = make("i", { class: value > 0 ? "for" : "against" });
    bar.style.width = `${100 * Math.abs(value) / most}%`;
    table.append(make("tr", {}, make("td", {}, name), make("td", { class: "meter" }, bar), make("td", { class: "rank" }, value.toPrecision(2))));
  }
  return make("div", {}, make("h3", { title: description }, title), table);
}
