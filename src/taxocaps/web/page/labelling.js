// Labels for many documents: a few at a time, as many as fit into a request of this server.

import { ask, ServerError } from "./server.js";

const AT_ONCE = 32;
const MOST_SCORES = 500;
const ALL_SCORES = 20_000;
const ENVELOPE = 500;  // bytes of a request beside its documents
const LONGEST_WAIT = 5;  // seconds

// Gives for each document { id, text, trained, scores, lowest, warning }; `lowest` is the score below which scores are
// not held, or null if all are. Each is asked about twice: which labels it gets as the
// model was trained, by the server's own rules; and the scores of its best labels, whatever the rules say, so that the
// page can move the cut without asking again.
export async function labelAll(documents, model, limits, signal, tell) {
  const top_k = Math.min(MOST_SCORES, Math.max(20, Math.floor(ALL_SCORES / documents.length)));
  const found = [];
  for (const one of documents) check(one, limits);
  for (const some of portions(documents, limits)) {
    const sent = some.map(({ id, text }) => ({ id, text }));
    const trained = await predict({ model, documents: sent }, signal);
    const best = await predict({ model, documents: sent, top_k, at_least: 0, hierarchy: "as-is" }, signal);
    some.forEach((one, place) => found.push(joined(one, trained.predictions[place], best.predictions[place], top_k)));
    tell(found.length);
  }
  return found;
}

// The server would refuse the whole request, and tell the document's place in it only.
function check(one, limits) {
  const refuse = (most, unit, number) => {
    throw new Error(`Document ${one.id}: at most ${most.toLocaleString("en")} ${unit}; got ${number.toLocaleString("en")}.`);
  };
  const letters = one.text.length > limits.text_length ? Array.from(one.text).length : 0, bytes = bytesOf(one) + ENVELOPE;
  if (letters > limits.text_length) refuse(limits.text_length, "characters", letters);
  if (bytes > limits.body_bytes) refuse(limits.body_bytes, "bytes", bytes);
}

const bytesOf = ({ id, text }) => new TextEncoder().encode(JSON.stringify({ id, text })).length + 1;

// A server that has too much to do is asked once more, when it says.
async function predict(asked, signal) {
  try {
    return await ask("v1/predict", asked, signal);
  } catch (error) {
    if (!(error instanceof ServerError) || error.status !== 503) throw error;
    await new Promise(resolve => setTimeout(resolve, 1_000 * Math.min(error.retryAfter, LONGEST_WAIT)));
    return ask("v1/predict", asked, signal);
  }
}

function joined({ id, text }, trained, best, top_k) {
  const scores = new Map([...best.labels, ...trained.labels].map(one => [one.label, one.score]));
  const lowest = best.labels.length < top_k ? null : Math.min(...best.labels.map(one => one.score));
  return { id, text, scores, lowest, trained: new Set(trained.labels.map(one => one.label)), warning: trained.warning ?? null };
}

function* portions(documents, limits) {
  let some = [], size = ENVELOPE;
  for (const one of documents) {
    const bytes = bytesOf(one);
    if (some.length && (some.length >= Math.min(AT_ONCE, limits.documents) || size + bytes > limits.body_bytes)) {
      yield some;
      some = []; size = ENVELOPE;
    }
    some.push(one);
    size += bytes;
  }
  if (some.length) yield some;
}
