// The report of a training run: learning curves, calibration, thresholds, levels, the taxonomy, confusions and labels.

import { counted, find, formatNumber } from "./dom.js";
import { add, heading, plot, share } from "./plot.js";

const data = JSON.parse(find("data").textContent);
const percent = value => (100 * value).toFixed(2);
const f1Colour = f1 => f1 < .5 ? `color-mix(in oklab, var(--middle) ${percent(2 * f1)}%, var(--low))` : `color-mix(in oklab, var(--high) ${percent(2 * f1 - 1)}%, var(--middle))`;
const parts = Object.keys(data.summary);  // "validation", and "test" where there are test documents
const NAME = 0, TITLE = 1, LEVEL = 2, THRESHOLD = 3, METRICS = 4;  // indices of a label
const titled = label => label[TITLE] ?? label[NAME];

// What was trained.
const { model, summary } = data;
find("about").textContent = `Preset ${model.preset}, seed ${model.seed}, ${counted(model.parameters, "parameter")}${model.epochs ? `; ${counted(model.epochs, "epoch")} trained, epoch ${model.best_epoch} kept` : ""}. taxocaps ${model.version}.`;
find("parts").textContent = `Documents: ${Object.entries(model.documents).map(([name, number]) => `${formatNumber(number)} ${name}`).join(", ")}. ` +
  (model.documents.dev ? "" : "For validation some of the training documents were held out, or all used where there are very few. ") +
  (model.is_tuned ? "Thresholds were tuned on the validation documents, so these metrics are slightly optimistic." : "") +
  (model.is_calibrated ? "" : " Scores are not probabilities: there were too few documents, or calibration was not wanted.") +
  (summary.test?.unseen ? ` ${counted(summary.test.unseen, "label")} of test documents cannot be given by the model; they count as missed.` : "");
function tile(title, value) {
  const box = add(find("tiles"), "div", "", "tile");
  add(box, "span", title);
  add(box, "b", value(summary.validation));
  if (summary.test) add(box, "small", `test ${value(summary.test)}`);
}
tile("micro-F1", one => share(one.micro[2]));
tile("precision", one => share(one.micro[0]));
tile("recall", one => share(one.micro[1]));
tile("macro-F1", one => share(one.macro_f1));
if (summary.validation.hierarchical_f1 !== null) tile("hierarchical F1", one => share(one.hierarchical_f1));
tile("calibration error", one => share(one.calibration_error, 4));
tile("documents", one => formatNumber(one.documents));
tile("labels with documents", one => `${formatNumber(one.with_support)} of ${formatNumber(one.labels)}`);

// Learning curves: those of a name that some epoch has a number of.
const epochs = data.history;
function learning(title, about, names, range) {
  const lines = names.map(([key, name]) => ({ name, points: epochs.map(row => [row.epoch, row[key]]) })).filter(line => line.points.some(point => point[1] !== null));
  if (!lines.length) return;
  const values = lines.flatMap(line => line.points.map(point => point[1])).filter(value => value !== null);
  const x = { name: "epoch", low: Math.min(epochs[0].epoch, 1), high: Math.max(epochs.at(-1).epoch, 2) };
  plot(find("learning-plots"), { title, about: `${about}${lines.length === 1 ? `: ${lines[0].name}` : ""}.`, x, y: range ?? { name: "loss", low: 0, high: Math.max(...values) * 1.05 || 1 }, lines, marks: [{ at: model.best_epoch, name: `kept: ${model.best_epoch}` }], whole: true });
}
find("learning").textContent = epochs.length ? "Each epoch sees all training documents once; the weights of the marked epoch were kept." : "This model is not trained in epochs, so there are no learning curves.";
if (epochs.length) {
  learning("Loss", "Over epochs", [["loss", "training"], ["validation_loss", "validation"]]);
  learning("Validation F1", "Over epochs, at the one threshold that was best in that epoch", [["micro_f1", "micro-F1"], ["macro_f1", "macro-F1"]], { name: "F1", low: 0, high: 1 });
}

// Calibration.
const unit = name => ({ name, low: 0, high: 1 });
plot(find("score-plots"), {
  title: "Calibration", about: `Of the labels scored 0.7, seven in ten should be true: points on the dotted line. Bars: pairs of a document and a label in each bin, on a logarithmic scale. Calibration error ${share(summary.validation.calibration_error, 5)}.`,
  x: unit("score"), y: unit("share of true labels"), even: true, dots: true,
  bars: data.reliability.map(([low, high, , , number]) => ({ low, high, count: number, title: counted(number, "pair") })),
  lines: [{ name: "observed", points: data.reliability.filter(bin => bin[4]).map(([, , score, observed, number]) => [score, observed, `mean score ${share(score)}, true ${share(observed)}, ${counted(number, "pair")}`]) }],
});
const bins = find("bins");
heading(bins, ["scores", "mean score", "share of true labels", "pairs"]);
const binRows = bins.createTBody();
for (const [low, high, score, observed, number] of data.reliability) {
  const row = binRows.insertRow();
  add(row, "td", `${low.toFixed(2)} to ${high.toFixed(2)}`, "text");
  for (const value of number ? [share(score), share(observed)] : ["–", "–"]) add(row, "td", value);
  add(row, "td", formatNumber(number));
}

// Thresholds: one mark if all labels have the same, else a stroke for each that differs.
const thresholds = [...new Set(data.labels.map(label => label[THRESHOLD]))].sort((a, b) => a - b), median = data.labels.map(label => label[THRESHOLD]).sort((a, b) => a - b)[data.labels.length >> 1];
find("thresholds").textContent = data.top_k !== null ? `Every document gets its ${counted(data.top_k, "label")} with the highest scores; thresholds are not used.`
  : thresholds.length === 1 ? `A label is given if its score reaches ${share(thresholds[0])}, the same for all labels.`
  : `Each label has its own threshold, from ${share(thresholds[0])} to ${share(thresholds.at(-1))}; the median is ${share(median)}.`;
const isOneThreshold = data.top_k === null && thresholds.length === 1;
plot(find("score-plots"), {
  title: "Threshold", about: "Micro-averages if all labels shared one threshold, before labels without their parents are dropped and documents get a minimum number of labels." + (data.top_k === null && !isOneThreshold ? " Marks at the bottom: the thresholds of the labels." : ""),
  x: unit("threshold"), y: unit("micro-average"), rug: data.top_k === null && !isOneThreshold ? [...new Set(thresholds.map(threshold => Math.round(threshold * 500) / 500))] : [],
  marks: data.top_k !== null ? [] : isOneThreshold ? [{ at: thresholds[0], name: `chosen: ${share(thresholds[0])}` }] : [{ at: median, name: `median: ${share(median)}` }],
  lines: ["precision", "recall", "F1"].map((name, index) => ({ name, points: data.curve.map(row => [row[0], row[index + 1]]) })),
});

// Levels, test documents beside.
function partsRow(table, before, columns) {
  if (parts.length < 2) return;
  const row = table.createTHead().insertRow();
  add(row, "th").colSpan = before;
  for (const part of parts) { const cell = add(row, "th", part, "part"); cell.colSpan = columns; cell.scope = "colgroup"; }
}
const levels = find("levels"), columnNames = ["support", "predicted", "precision", "recall", "F1"];
partsRow(levels, 2, 6);
const levelHead = heading(levels, ["level", "labels", ...parts.flatMap(() => [...columnNames, "macro-F1"])]);
parts.forEach((_, part) => levelHead.cells[2 + 6 * part].classList.add("begin"));
const levelRows = levels.createTBody();
data.levels.validation.forEach((level, index) => {
  const row = levelRows.insertRow();
  add(row, "td", level[0], "text"); add(row, "td", formatNumber(level[1]));
  for (const part of parts) data.levels[part][index].slice(2).forEach((value, number) => add(row, "td", number < 2 ? formatNumber(value) : share(value), number ? "" : "begin"));
});

// The taxonomy. Lines are made when their parent is opened: thousands of them cost nothing until somebody looks.
const below = data.tree.map(() => []), tops = [];
data.tree.forEach(([, , above], node) => (above < 0 ? tops : below[above]).push(node));
const f1Of = node => { const label = data.labels[data.tree[node][3]]; return label && label[METRICS][0] ? label[METRICS][4] : null; };
const colour = f1 => f1 === null ? "var(--none)" : f1Colour(f1);
function strip(node) {  // labels below in their order, each once, at most 60 of them, as stripes
  const all = [], seen = new Set([-1]), open = [...below[node]].reverse();
  while (open.length) { const one = open.pop(), column = data.tree[one][3]; if (!seen.has(column)) all.push(f1Of(one)); seen.add(column); for (let n = below[one].length - 1; n >= 0; n--) open.push(below[one][n]); }
  const kept = all.length > 60 ? Array.from({ length: 60 }, (_, index) => all[Math.floor(index * all.length / 60)]) : all;
  return { number: all.length, style: `linear-gradient(to right, ${kept.map((f1, index) => `${colour(f1)} ${percent(index / kept.length)}% ${percent((index + 1) / kept.length)}%`).join(", ")})` };
}
function nodeLine(parent, node) {
  const [name, id, , column] = data.tree[node], label = data.labels[column], f1 = f1Of(node), children = below[node];
  const line = add(parent, "div", "", "node-line");
  const text = add(line, "span", name, "name");
  if (id !== null) add(text, "small", ` ${id}`);
  const bars = add(line, "div"), bar = add(add(bars, "div", "", "meter"), "i");
  bar.style.width = f1 === null ? "100%" : `${Math.max(1, 100 * f1)}%`;
  bar.style.background = label ? colour(f1) : "transparent";
  if (children.length) { const { number, style } = strip(node), stripes = add(bars, "div", "", "strip"); stripes.style.background = style; stripes.title = `${counted(number, "label")} below`; }
  add(line, "span", label ? share(f1, 2) : "", "number");
  add(line, "span", label ? counted(label[METRICS][0], "doc") : "no label", "number dim");
  if (label) line.title = `${label[NAME]}: F1 ${share(f1)}, precision ${share(label[METRICS][2])}, recall ${share(label[METRICS][3])}, ${counted(label[METRICS][0], "document")}, predicted ${formatNumber(label[METRICS][1])}`;
}
const MOST = 300;
function branch(parent, nodes, from = 0) {
  for (const node of nodes.slice(from, from + MOST)) {
    if (!below[node].length) { nodeLine(add(parent, "div", "", "leaf"), node); continue; }
    const fold = add(parent, "details");
    nodeLine(add(fold, "summary"), node);
    fold.addEventListener("toggle", () => { if (fold.open && fold.childElementCount === 1) branch(fold, below[node]); });
  }
  if (nodes.length <= from + MOST) return;
  const more = add(parent, "button", `Show more of ${formatNumber(nodes.length)}`, "more");
  more.type = "button";
  more.addEventListener("click", () => { more.remove(); branch(parent, nodes, from + MOST); });
}
find("tree-about").textContent = "Bars are the F1 of a label on the validation documents. The thin strip below a bar shows the labels below it, coloured the same; open a line to see them." + (data.tree.some(node => node[2] < 0) ? " Lines without a bar are labels that the model cannot give." : "");
branch(find("tree"), tops);
if (tops.length === 1) { const only = find("tree").querySelector("details"); if (only) only.open = true; }

// Confusions.
find("confusions-about").textContent = data.confusions.length
  ? `Validation documents that have a label and not its sibling, but were given the sibling and not the label. The share is of all documents that have the label and not the sibling. ${counted(data.confusions.length, "pair")}, the most frequent first.`
  : "No validation document was given a sibling of one of its labels instead of that label.";
if (data.confusions.length) {
  heading(find("confusions"), ["label", "predicted instead", "common parent", "documents", "of", "share"], 3);
  const rows = find("confusions").createTBody(), FIRST = 15;
  data.confusions.forEach(([label, instead, above, number, carriers, part], index) => {
    const row = rows.insertRow();
    row.classList.toggle("hidden", index >= FIRST);
    for (const text of [titled(data.labels[label]), titled(data.labels[instead]), above.join(", ") || "the root"]) add(row, "td", text, "text");
    for (const text of [formatNumber(number), formatNumber(carriers), share(part, 2)]) add(row, "td", text);
  });
  find("more-confusions").classList.toggle("hidden", data.confusions.length <= FIRST);
  find("more-confusions").textContent = `Show all ${data.confusions.length}`;
  find("more-confusions").addEventListener("click", event => { for (const row of rows.rows) row.classList.remove("hidden"); event.target.classList.add("hidden"); });
}

// Labels with few documents.
find("rare").textContent = data.rare.length ? `${counted(data.rare.length, "label")} with only one or two training documents, too few to learn from: ${data.rare.map(([label, number]) => `${titled(data.labels[label])} (${number})`).join(", ")}.` : "";

// Labels: sorted by any column, found by name and level, a hundred at a time.
const table = find("labels"), PAGE = 100;
const columns = [
  { name: "label", value: label => titled(label).toLowerCase(), text: true },
  { name: "level", value: label => label[LEVEL], show: String },
  ...(data.top_k === null ? [{ name: "threshold", value: label => label[THRESHOLD], show: share }] : []),
  ...parts.flatMap((_, part) => columnNames.map((name, index) => ({
    // Without support there is no recall and no F1; without predictions no precision.
    name, first: !index, show: index < 2 ? formatNumber : share,
    value: label => { const row = label[METRICS + part]; return index < 2 ? row[index] : (index === 2 ? row[1] : row[0]) ? row[index] : null; },
  }))),
];
const before = columns.findIndex(column => column.first);
partsRow(table, before, columnNames.length);
const head = table.createTHead().insertRow(), body = table.createTBody();
let sorted = { column: columns[before], down: true }, limit = PAGE;
columns.forEach((column, index) => {
  const cell = add(head, "th", "", column.text ? "text" : column.first ? "begin" : ""), button = add(cell, "button", column.name);
  cell.scope = "col"; button.type = "button";
  button.addEventListener("click", () => { sorted = { column, down: sorted.column === column ? !sorted.down : !column.text }; limit = PAGE; list(); });
  column.cell = cell;
});
for (const level of [...new Set(data.labels.map(label => label[LEVEL]))].sort((a, b) => a - b)) add(find("level"), "option", level).value = level;
const compare = (a, b) => a === null || b === null ? (a === null) - (b === null) : (a < b ? -1 : a > b ? 1 : 0) * (sorted.down ? -1 : 1);
function list() {
  const wanted = find("filter").value.trim().toLowerCase(), level = find("level").value;
  const found = data.labels.filter(label => (!level || String(label[LEVEL]) === level) && (!wanted || label[NAME].toLowerCase().includes(wanted) || titled(label).toLowerCase().includes(wanted)));
  found.sort((a, b) => compare(sorted.column.value(a), sorted.column.value(b)));
  for (const column of columns) { if (column === sorted.column) column.cell.setAttribute("aria-sort", sorted.down ? "descending" : "ascending"); else column.cell.removeAttribute("aria-sort"); }
  body.replaceChildren();
  for (const label of found.slice(0, limit)) {
    const row = body.insertRow();
    for (const column of columns) {
      if (column.text) { const cell = add(row, "td", titled(label), "text"); if (label[TITLE]) add(cell, "small", label[NAME]); continue; }
      const value = column.value(label);
      add(row, "td", value === null ? "–" : column.show(value), column.first ? "begin" : "");
    }
  }
  find("shown").textContent = found.length > limit ? `${formatNumber(limit)} of ${counted(found.length, "label")} shown` : counted(found.length, "label");
  find("more").classList.toggle("hidden", found.length <= limit);
}
find("filter").addEventListener("input", () => { limit = PAGE; list(); });
find("level").addEventListener("change", () => { limit = PAGE; list(); });
find("more").addEventListener("click", () => { limit += 5 * PAGE; list(); });
list();
