// What reviewers say, sent to the server until it has it, and which verdict on each label counts.

import { ask, ServerError } from "./server.js";

const TRIES = 4;
const LONGEST_WAIT = 5;  // seconds

// A key that no other correction has. crypto.randomUUID is missing where the page comes over plain HTTP from another machine.
export const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map(one => one.toString(16).padStart(2, "0")).join("");

// Sends a correction; returns its event. It is sent again, with the same key, if the server cannot be reached or is busy: it is
// kept once, however often it arrives.
export async function send(model, correction) {
  for (let left = TRIES - 1; ; left--) {
    try {
      const { events } = await ask("v1/feedback", { model, corrections: [correction] });
      return events[0];
    } catch (error) {
      if (!left || !(error instanceof ServerError) || ![0, 503].includes(error.status)) throw error;
      await new Promise(resolve => setTimeout(resolve, 1_000 * Math.min(error.retryAfter, LONGEST_WAIT)));
    }
  }
}

// The last verdict on each label, in the order of the first ones; `events` has none that were undone.
export function verdictsOf(events) {
  return new Map(events.filter(one => one.label !== null).map(one => [one.label, one.verdict]));
}
