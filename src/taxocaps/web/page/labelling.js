// Labels for many documents: a few at a time, as many as fit into a request of this server.

import { ask } from "./server.js";

const AT_ONCE = 32;
const MOST_SCORES = 500;
const ALL_SCORES = 20_000;

// Gives for each document { id, text, trained, scores, warning }. Each is asked about twice: which labels it gets as the
// model was trained, by the server's own rules; and the scores of its best labels, whatever the rules say, so that the
// page can move the cut without asking again.
export async function labelAll(documents, model, limits, signal, tell) {
  const top_k = Math.min(MOST_SCORES, Math.max(20, Math.floor(ALL_SCORES / documents.length)));
  const found = [];
  for (const some of portions(documents, limits)) {
    const sent = some.map(({ id, text }) => ({ id, text }));
    const trained = await ask("v1/predict", { model, documents: sent }, signal);
    const best = await ask("v1/predict", { model, documents: sent, top_k, at_least: 0, hierarchy: "as-is" }, signal);
    some.forEach((one, place) => found.push(joined(one, trained.predictions[place], best.predictions[place])));
    tell(found.length);
  }
  return found;
}

function joined({ id, text }, trained, best) {
  const scores = new Map([...best.labels, ...trained.labels].map(one => [one.label, one.score]));
  return { id, text, scores, trained: new Set(trained.labels.map(one => one.label)), warning: trained.warning ?? null };
}

function* portions(documents, limits) {
  let some = [], size = 0;
  for (const one of documents) {
    const bytes = 3 * one.text.length + 200;  // generous: most characters take one or two
    if (some.length && (some.length >= Math.min(AT_ONCE, limits.documents) || size + bytes > limits.body_bytes)) {
      yield some;
      some = []; size = 0;
    }
    some.push(one);
    size += bytes;
  }
  if (some.length) yield some;
}
