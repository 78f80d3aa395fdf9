// The page that `taxocaps explain` writes: one document, the labels that were explained.

import { counted, find, say } from "./dom.js";
import { drawExplanation } from "./explanation.js";
import { drawLabels } from "./labels.js";

const explanation = JSON.parse(find("data").textContent);
const judged = new Map(explanation.labels.map(one => [one.label, one]));
const reasons = new Map(explanation.reasons.map(one => [one.label, one]));
const show = drawExplanation(find("explained"), explanation, { open: true, rows: Infinity, nodes: Infinity });

const nameOf = label => explanation.names[label] ?? label;

function describe(label) {
  const one = judged.get(label), name = nameOf(label);
  if (!one) return { name, score: null, threshold: null, isGiven: false, canChoose: false };
  return { name, score: one.score, threshold: one.threshold, isGiven: one.is_given, canChoose: reasons.has(label) };
}

const paths = explanation.labels.flatMap(one => one.paths.length ? one.paths : [[one.label]]);  // the root has no path

function choose(label) {
  drawLabels(find("tree"), paths, describe, { chosen: label, choose });
  if (label !== null) find("why").textContent = `Why “${nameOf(label)}”?`;
  show(judged.get(label), reasons.get(label));
}

const given = explanation.labels.filter(one => one.is_given).length;
find("summary").textContent = `${explanation.model}: ${counted(given, "label")} given, ${counted(explanation.words.length, "word")} kept.`;
say(find("warning"), explanation.warning ? `Nothing can be explained: ${explanation.warning}.` : "");
find("labels").hidden = !explanation.labels.length;
choose(explanation.labels.find(one => reasons.has(one.label))?.label ?? null);
