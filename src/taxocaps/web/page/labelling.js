// Labels for many documents, in requests as large as this server accepts.

import { ask, ServerError } from "./server.js";

const AT_ONCE = 32;
const MOST_SCORES = 500;
const ALL_SCORES = 20_000;
const ENVELOPE = 500;  // bytes of a request beside its documents
const LONGEST_WAIT = 5;  // seconds

// Returns for each document { id, text, trained, scores, lowest, warning }; `trained` are the labels that it gets, `scores` the
// scores of labels by themselves, without regard to what is below them, and `lowest` the score below which scores are not
// loaded, or null if all are. There are two requests for each document: for the labels that it gets as the model was
// trained, and for the scores of its best labels, so that the threshold can be moved without another request.
export async function labelAll(documents, model, limits, signal, tell) {
  const top_k = Math.min(MOST_SCORES, Math.max(20, Math.floor(ALL_SCORES / documents.length)));
  const found = [];
  for (const one of documents) check(one, limits);
  for (const some of portions(documents, limits, AT_ONCE)) {
    const sent = some.map(({ id, text }) => ({ id, text }));
    const trained = await predict({ model: model.card.name, documents: sent }, signal);
    const best = await predict({ model: model.card.name, documents: sent, top_k, at_least: 0, hierarchy: "as-is" }, signal);
    some.forEach((one, index) => found.push(joined(one, trained.predictions[index], best.predictions[index], top_k, model)));
    tell(found.length);
  }
  return found;
}

// Puts documents with a text into the queue of reviewers. Where there is no column of ids, numbers are mere positions: another document
// may have the same, and a correction would be taken for one of that.
export async function queueAll(documents, hasIds, model, limits) {
  const sent = ({ id, text }) => hasIds || !/^\d+$/.test(id) ? { id, text } : { text };
  for (const some of portions(documents.filter(one => one.text), limits, limits.documents)) {
    await ask("v1/queue", { model: model.card.name, documents: some.map(sent) });
  }
}

// The server would refuse the whole request, and name only the document's position in it.
function check(one, limits) {
  const refuse = (most, unit, number) => {
    throw new Error(`Document ${one.id}: at most ${most.toLocaleString("en")} ${unit}; got ${number.toLocaleString("en")}.`);
  };
  const letters = one.text.length > limits.text_length ? Array.from(one.text).length : 0, bytes = bytesOf(one) + ENVELOPE;
  if (letters > limits.text_length) refuse(limits.text_length, "characters", letters);
  if (bytes > limits.body_bytes) refuse(limits.body_bytes, "bytes", bytes);
}

const bytesOf = ({ id, text }) => new TextEncoder().encode(JSON.stringify({ id, text })).length + 1;

// A busy server is asked once more, after the time that it names.
async function predict(asked, signal) {
  try {
    return await ask("v1/predict", asked, signal);
  } catch (error) {
    if (!(error instanceof ServerError) || error.status !== 503) throw error;
    await new Promise(resolve => setTimeout(resolve, 1_000 * Math.min(error.retryAfter, LONGEST_WAIT)));
    return ask("v1/predict", asked, signal);
  }
}

function joined({ id, text }, trained, best, top_k, model) {
  const learned = trained.labels.filter(one => model.threshold(one.label) !== null);  // others are ancestors of these
  const scores = new Map([...learned, ...best.labels].map(one => [one.label, one.score]));
  const lowest = best.labels.length < top_k ? null : Math.min(...best.labels.map(one => one.score));
  return { id, text, scores, lowest, trained: new Set(trained.labels.map(one => one.label)), warning: trained.warning ?? null };
}

function* portions(documents, limits, most) {
  let some = [], size = ENVELOPE;
  for (const one of documents) {
    const bytes = bytesOf(one);
    if (some.length && (some.length >= Math.min(most, limits.documents) || size + bytes > limits.body_bytes)) {
      yield some;
      some = []; size = ENVELOPE;
    }
    some.push(one);
    size += bytes;
  }
  if (some.length) yield some;
}
