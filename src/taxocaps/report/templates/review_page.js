// The report on a corpus: suspicious labels, the learning curve, what to label next, odd documents and labels.

import { counted, find, formatNumber } from "./dom.js";
import { add, heading, plot, share } from "./plot.js";

const data = JSON.parse(find("data").textContent);
const MOST = 200;  // rows of a table that is not paged
const signed = value => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
const named = (name, id) => name === id ? name : `${name} (${id})`;

find("about").textContent = `${counted(data.documents, "document")} with ${counted(data.assignments, "label")} out of ${formatNumber(data.labels)} different ones, scored by ${data.model} in ${data.folds} folds: each document by a model that has seen neither it nor a near copy of it. taxocaps ${data.version}.`;
const tile = (title, value, note = "") => { const box = add(find("tiles"), "div", "", "tile"); add(box, "span", title); add(box, "b", value); if (note) add(box, "small", note); };
tile("agreement, micro-F1", share(data.micro_f1), `macro-F1 ${share(data.macro_f1)}`);
tile("look wrong", formatNumber(data.suspects.filter(one => one.kind === "wrong").length));
tile("look forgotten", formatNumber(data.suspects.filter(one => one.kind === "forgotten").length));
tile("in doubt", formatNumber(data.doubtful), "by confident learning");
tile("copies that differ", formatNumber(data.copies.length));
tile("rare labels", formatNumber(data.rare.length), `${formatNumber(data.unused.length)} of the taxonomy unused`);

// A table with a heading; cells are texts, or numbers, which stand to the right.
function rows(id, names, texts, lines) {
  const table = find(id);
  if (!lines.length) return;
  heading(table, names, texts);
  const body = table.createTBody();
  for (const line of lines.slice(0, MOST)) {
    const row = body.insertRow();
    line.forEach((value, index) => add(row, "td", value, index < texts ? "text" : ""));
  }
  if (lines.length > MOST) add(body.insertRow(), "td", `and ${formatNumber(lines.length - MOST)} more, in the JSONL file`, "text").colSpan = names.length;
}

// Suspects.
find("suspects-about").textContent = data.suspects.length
  ? "The most suspicious first. Suspicion is the probability of a mistake, if 5 % of all labels were mistakes; the score is that of the label by models that have not seen the document."
  : "No label looks wrong or forgotten.";
if (data.suspects.length) {
  const bins = Array.from({ length: 8 }, (_, index) => ({ low: .2 + index / 10, wrong: 0, forgotten: 0 }));
  for (const one of data.suspects) bins[Math.min(7, Math.max(0, Math.floor((one.suspicion - .2) * 10)))][one.kind] += 1;
  const most = Math.max(...bins.flatMap(bin => [bin.wrong, bin.forgotten]));
  plot(find("suspect-plots"), {
    title: "How many, how sure", about: "Suspicious labels by suspicion, in steps of a tenth.", x: { name: "suspicion", low: .2, high: 1 }, y: { name: "labels", low: 0, high: Math.max(5, most) },
    lines: ["wrong", "forgotten"].map(kind => ({ name: `look ${kind}`, points: bins.map(bin => [+(bin.low + .05).toFixed(2), bin[kind], `${counted(bin[kind], "label")} that look ${kind}, suspicion ${bin.low.toFixed(1)} to ${(bin.low + .1).toFixed(1)}`]) })),
  });
  const counts = new Map();
  for (const one of data.suspects) counts.set(one.name, (counts.get(one.name) ?? 0) + 1);
  const worst = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 10);
  const figure = add(find("suspect-plots"), "figure");
  const table = add(add(figure, "div", "", "scroll"), "table");
  heading(table, ["labels with most suspects", "suspects", ""]);
  const body = table.createTBody();
  for (const [name, number] of worst) {
    const row = body.insertRow();
    add(row, "td", name, "text"); add(row, "td", formatNumber(number));
    const bar = add(add(add(row, "td"), "div", "", "meter bar-cell"), "i");
    bar.style.width = `${100 * number / worst[0][1]}%`;
    bar.style.background = "rgb(var(--against))";
  }
}
const PAGE = 50;
let limit = PAGE;
const suspects = find("suspects");
heading(suspects, ["", "label", "document", "given", "score", "suspicion"], 4);
const suspectRows = suspects.createTBody();
function list() {
  const wanted = find("filter").value.trim().toLowerCase(), kind = find("kind").value;
  const found = data.suspects.filter(one => (!kind || one.kind === kind) && (!wanted || [one.label, one.name, one.id, one.text].some(text => text.toLowerCase().includes(wanted))));
  suspectRows.replaceChildren();
  for (const one of found.slice(0, limit)) {
    const row = suspectRows.insertRow();
    add(row, "td", one.kind === "wrong" ? "wrong?" : "forgotten?", "text kind");
    add(row, "td", named(one.name, one.label), "text");
    const cell = add(row, "td", one.id, "text"); add(cell, "small", one.text);
    add(row, "td", one.labels.join(", ") || "none", "text");
    add(row, "td", share(one.score)); add(row, "td", share(one.suspicion));
  }
  find("shown").textContent = found.length > limit ? `${formatNumber(limit)} of ${formatNumber(found.length)} shown` : formatNumber(found.length);
  find("more").classList.toggle("hidden", found.length <= limit);
}
find("filter").addEventListener("input", () => { limit = PAGE; list(); });
find("kind").addEventListener("change", () => { limit = PAGE; list(); });
find("more").addEventListener("click", () => { limit += 5 * PAGE; list(); });
list();

// The learning curve.
const { curve } = data;
if (curve === null) {
  find("curve-about").textContent = "There are too few documents for a learning curve.";
  find("label-curves").classList.add("hidden");
} else {
  const says = (name, one) => `${name} ${share(one.now)} with all documents, ${share(one.f1)} with twice as many (${share(one.low)} to ${share(one.high)})`;
  find("curve-about").textContent = `By a linear model, which is quick: ${says("micro-F1", curve.micro)}; ${says("macro-F1", curve.macro)}. The intervals of 90 % hold for documents like these; they are widened by what the law, fitted without the last point, misses there.`;
  const last = 2 * data.documents;
  const lines = [["micro-F1", "micro_f1", curve.micro], ["macro-F1", "macro_f1", curve.macro]].map(([name, key, forecast]) => ({
    name, points: [...curve.points.map(point => [point.documents, point[key]]), [last, forecast.f1, `${name} foretold for ${formatNumber(last)} documents: ${share(forecast.f1)}`]], intervals: [[last, forecast.low, forecast.high]],
  }));
  plot(find("curve-plots"), { title: "Learning curve", about: "F1 of labels by the number of documents learned from, measured on others. The last points are foretold, with their intervals.", x: { name: "documents", low: 0, high: last * 1.02 }, y: { name: "F1", low: 0, high: 1 }, lines, marks: [{ at: data.documents, name: "all documents" }], dots: true });
  rows("gains", ["label", "documents", "F1 now", "with twice as many", "gain", "from", "to"], 1, curve.labels.map(one => [named(one.name, one.label), formatNumber(one.documents), share(one.forecast.now), share(one.forecast.f1), signed(one.forecast.f1 - one.forecast.now), share(one.forecast.low), share(one.forecast.high)]));
  find("label-curves").classList.toggle("hidden", !curve.labels.length);
}

// What to label next, odd documents, labels.
find("next-about").textContent = data.next.length ? "Rare labels first, then what the model is in doubt about, and nothing twice. Each was chosen for one label most, though it may have others." : "No unlabelled documents were given: --pool FILE.";
rows("next", ["document", "chosen for", "text", "score", "documents with it", "doubt, bits"], 3, data.next.map(one => [one.id, one.label === null ? "no probable label" : named(one.name, one.label), one.text, share(one.score), formatNumber(one.label_documents), one.doubt.toFixed(1)]));
find("copies-about").textContent = data.copies.length ? "Documents with the same words, or four fifths of their phrases in common, and different labels." : "None.";
rows("copies", ["", "documents and their labels", "text"], 3, data.copies.map(one => [one.is_exact ? "exact" : "near", one.documents.map(copy => `${copy.id}: ${copy.labels.join(", ") || "none"}`).join("; "), one.text]));
const odd = [...data.wordless, ...data.foreign];
find("odd-about").textContent = odd.length ? "" : "None.";
rows("odd", ["document", "why", "text"], 3, odd.map(one => [one.id, one.language === null ? "no words" : `looks like ${one.language}`, one.text]));
find("children-about").textContent = data.missing_children.length ? "Documents with a label below which most others have another one, and these have none." : "None.";
rows("children", ["document", "label", "perhaps", "score"], 3, data.missing_children.map(one => [one.id, named(one.name, one.label), named(one.child_name, one.child), share(one.score)]));
find("confused-about").textContent = data.confused.length ? "Documents are given the first label, and by the model its sibling instead." : "None.";
rows("confused", ["label", "given by the model instead", "documents", "of"], 2, data.confused.map(one => [named(one.name, one.label), named(one.other_name, one.other), formatNumber(one.documents), formatNumber(one.of)]));
find("rare-about").textContent = data.rare.length ? `Fewer than ${data.few} documents are too few to learn a label well.` : "None.";
rows("rare", ["label", "documents"], 1, data.rare.map(one => [named(one.name, one.label), one.documents]));
