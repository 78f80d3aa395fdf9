// The right half of the page: asks the server why the chosen document gets, or does not get, the chosen label.

import { find, say } from "./dom.js";
import { drawExplanation } from "./explanation.js";
import { ask, replacing } from "./server.js";

const latest = replacing();
let current = null;  // { found, show, judged, reasons }: what is drawn, and what the server has said about its labels

export function forgetExplanation() {
  cancel();
  current = null;
  find("explained").hidden = true;
  find("why").textContent = "Why?";
  say(find("why-status"));
  say(find("why-error"));
}

// Explains a label of a document. The server is asked only for what is not known yet, and only if nothing else is to be
// explained within `delay` milliseconds.
export async function explain(model, found, label, delay) {
  find("why").textContent = label === null ? "Why?" : `Why “${model.name(label)}”?`;
  say(find("why-error"));
  if (current?.found === found && current.reasons.has(label)) {
    cancel();
    say(find("why-status"));
    current.show(current.judged.get(label), current.reasons.get(label));
    return;
  }
  say(find("why-status"), "Trying the text without each of its words…");
  find("reasons").setAttribute("aria-busy", "true");
  try {
    await latest(async signal => {
      await new Promise(resolve => setTimeout(resolve, delay));
      signal.throwIfAborted();
      const labels = label === null ? {} : { labels: [label] };
      add(found, await ask("v1/explain", { model: model.card.name, text: found.text, near_misses: 0, ...labels }, signal));
      current.show(current.judged.get(label), current.reasons.get(label));
      find("reasons").removeAttribute("aria-busy");
    });
  } catch (error) {
    find("reasons").removeAttribute("aria-busy");
    say(find("why-status"));
    say(find("why-error"), error.message);
  }
}

// Whatever has been asked for is not wanted any more.
function cancel() {
  latest(async () => {});
  find("reasons").removeAttribute("aria-busy");
}

function add(found, explanation) {
  if (current?.found !== found) {
    find("explained").hidden = false;
    current = { found, show: drawExplanation(find("explained"), explanation), judged: new Map(), reasons: new Map() };
  }
  for (const one of explanation.labels) current.judged.set(one.label, one);
  for (const one of explanation.reasons) current.reasons.set(one.label, one);
  say(find("why-status"), explanation.warning ? `Nothing can be explained: ${explanation.warning}.` : "");
}
