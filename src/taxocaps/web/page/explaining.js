// The right half of the page: why the chosen document gets, or does not get, the chosen label.

import { find, say } from "./dom.js";
import { drawInto } from "./graph.js";
import { drawMatrix } from "./matrix.js";
import { ask, replacing } from "./server.js";
import { drawMeters, drawText, METHODS } from "./tinted.js";

const latest = replacing();
let shown = null;  // { found, explanation, reasons, paintText, paintMatrix, isGraphDrawn }

export const forgetExplanation = () => {
  latest(async () => {});  // whatever is on its way is not wanted any more
  shown = null;
  find("explained").hidden = true;
  find("reasons").removeAttribute("aria-busy");
  find("why").textContent = "Why?";
  say(find("why-status"));
  say(find("why-error"));
};

// Explains a label of a document; the server is asked only for what it has not told yet, and only if nothing else is
// to be explained within some milliseconds, the `patience`.
export async function explain(model, found, label, patience) {
  find("why").textContent = label === null ? "Why?" : `Why “${model.title(label)}”?`;
  say(find("why-error"));
  if (shown?.found === found && shown.reasons.has(label)) {
    latest(async () => {});
    find("reasons").removeAttribute("aria-busy");
    say(find("why-status"));
    paint(label);
    return;
  }
  say(find("why-status"), "Trying the text without each of its words…");
  find("reasons").setAttribute("aria-busy", "true");
  try {
    await latest(async signal => {
      await new Promise(resolve => setTimeout(resolve, patience));
      signal.throwIfAborted();
      const labels = label === null ? {} : { labels: [label] };
      const answer = await ask("v1/explain", { model: model.card.name, text: found.text, near_misses: 0, ...labels }, signal);
      if (shown?.found !== found) open(found, answer);
      for (const one of answer.reasons) shown.reasons.set(one.label, one);
      say(find("why-status"), answer.warning ? `Nothing can be explained: ${answer.warning}.` : "");
      paint(label);
      find("reasons").removeAttribute("aria-busy");
    });
  } catch (error) {
    find("reasons").removeAttribute("aria-busy");
    say(find("why-status"));
    say(find("why-error"), error.message);
  }
}

function open(found, explanation) {
  shown = { found, explanation, reasons: new Map(), isGraphDrawn: false };
  find("explained").hidden = false;
  shown.paintText = drawText(find("tinted"), explanation);
  find("matrix-part").hidden = !explanation.matrix?.length;
  find("graph-part").hidden = !explanation.graph?.nodes.length;
  shown.paintMatrix = drawMatrix(find("matrix"), explanation.matrix ?? [], { hint: find("matrix-hint"), all: find("all-rows") });
  find("absent").textContent = explanation.graph || explanation.warning ? "" : "This model reads no graph of words and no words-matrix.";
  drawGraph();
}

function paint(label) {
  const reasons = shown.reasons.get(label);
  find("method").textContent = reasons ? METHODS[shown.explanation.method] : "";
  find("meters").replaceChildren();
  if (!reasons) return;
  shown.paintText(reasons);
  shown.paintMatrix(reasons);
  drawMeters(find("meters"), reasons);
}

// A graph has no size before its part is open.
function drawGraph() {
  if (!shown?.explanation.graph || shown.isGraphDrawn || !find("graph-part").open) return;
  shown.isGraphDrawn = true;
  drawInto(find("graph-place"), find("note"), shown.explanation.graph);
}

find("graph-part").addEventListener("toggle", drawGraph);
// For fingers, which have neither wheel nor keys: the buttons press the keys that the drawing knows.
for (const button of document.querySelectorAll("[data-key]"))
  button.addEventListener("click", () => find("graph")?.dispatchEvent(new KeyboardEvent("keydown", { key: button.dataset.key })));
