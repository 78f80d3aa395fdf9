// Which labels of a document are shown: those that are given, and some that nearly are.

import { drawLabels } from "./labels.js";

const MOST_GIVEN = 100;
const NEAR_MISSES = 6;

// Draws into `container`; returns how many given labels were left out. `choose` is called with the label that is chosen.
export function drawTree(container, model, found, given, { threshold, chosen, choose }) {
  const scores = model.scoresOf(found, given), shown = [...given].sort(byScore(scores)).slice(0, MOST_GIVEN);
  const describe = label => {
    const canChoose = found.scores.has(label) && model.threshold(label) !== null;
    return {
      name: model.name(label),
      score: scores.get(label) ?? null,
      threshold: canChoose ? model.thresholdOf(label, threshold) : null,
      isGiven: given.has(label),
      canChoose,
    };
  };
  const labels = [...shown, ...nearMisses(model, found, given, threshold)];
  drawLabels(container, labels.flatMap(label => model.paths(label)), describe, { chosen, choose });
  return given.size - shown.length;
}

// The label to explain first: the most probable of the leaves.
export function firstChoice(model, found, given) {
  return leavesOf(model, found, given)[0] ?? [...found.scores.keys()].sort(byScore(found.scores))[0] ?? null;
}

// The labels below which no other is given, since ancestors come with them; the most probable first.
export function leavesOf(model, found, given) {
  const above = new Set([...given].flatMap(label => model.paths(label)).flatMap(path => path.slice(0, -1)));
  return [...given].filter(label => !above.has(label)).sort(byScore(found.scores));
}

const byScore = scores => (a, b) => (scores.get(b) ?? 0) - (scores.get(a) ?? 0);

function nearMisses(model, found, given, threshold) {
  const gap = label => (model.thresholdOf(label, threshold) ?? 1) - found.scores.get(label);
  return [...found.scores.keys()].filter(label => !given.has(label)).sort((a, b) => gap(a) - gap(b)).slice(0, NEAR_MISSES);
}
