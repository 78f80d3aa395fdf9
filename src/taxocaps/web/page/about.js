// What a model is and how good it is, out of its card.

import { counted, find, formatNumber, make } from "./dom.js";

export function showAbout(card) {
  const quality = qualityOf(card), learned = card.documents.train;
  const short = [card.model, counted(card.labels, "label"), learned && `learned from ${counted(learned, "document")}`, quality && `micro-F1 ${quality.micro}`, quality && `macro-F1 ${quality.macro}`];
  find("about-short").textContent = short.filter(Boolean).join(" · ");
  find("about-facts").replaceChildren(...facts(card, quality).flatMap(([name, fact]) => [make("dt", {}, name), make("dd", {}, fact)]));
  find("about").hidden = false;
}

// Metrics of documents that the model has not learned from; null if there are none. Those of the test are the most honest.
function qualityOf({ test, validation, validation_kind, takes_best }) {
  const found = test?.flat ? test : validation?.flat ? validation : null;
  if (!found) return null;
  const number = formatNumber(found.documents);
  const where = found === test ? `${number} test documents, which it has not seen in training`
    : validation_kind === "learned" ? `${number} documents that it has learned from: there are too few to hold any out`
    : validation_kind === "out-of-fold" ? `${number} training documents, each labelled by a model that has not learned from it${takes_best ? "" : "; thresholds were tuned on these"}`
      : `${number} validation documents${takes_best ? "" : ", on which thresholds were tuned"}`;
  return { micro: found.flat.micro.f1.toFixed(2), macro: found.flat.macro.f1.toFixed(2), where };
}

function facts(card, quality) {
  const rare = Object.keys(card.rare_labels).length, documents = Object.entries(card.documents);
  return [
    ["Model", `${card.name}: ${card.model}, preset ${card.preset}`],
    ["Labels", `${formatNumber(card.labels)}${rare ? `; ${formatNumber(rare)} of them have only one or two training documents, so expect little of these` : ""}`],
    ["Documents", documents.map(([part, number]) => `${formatNumber(number)} ${part}`).join(", ") || "not known"],
    ["Micro-F1, over all labels", quality?.micro ?? "not measured"],
    ["Macro-F1, the mean of labels", quality?.macro ?? "not measured"],
    ...(quality ? [["Measured on", quality.where]] : []),
    ["Scores", card.is_calibrated ? "probabilities, for documents like those that it was trained on" : "no probabilities: there were too few documents, or calibration was not wanted"],
    ["Language", card.language],
    ...(card.written ? [["Written", card.written]] : []),
    ...(card.version ? [["Version", card.version]] : []),
  ];
}
