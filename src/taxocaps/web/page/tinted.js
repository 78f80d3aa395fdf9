// The text of a document, its words tinted by what they weigh for a label, and the weightiest words as bars.

import { greatest, isWeighty, make, tint } from "./dom.js";

const MOST_WORDS = 5_000;
const MOST_BARS = 8;

export const METHODS = {
  occlusion: "The weight of a word is how far the score falls when the word becomes an unknown one, wherever it stands.",
  linear: "The weight of a word is its weight in the linear classifier of the label, times its value in the document.",
  none: "This model cannot tell what its words weigh.",
};

// Puts the text into `place`; gives the function that tints it for the reasons of a label.
export function drawText(place, explanation) {
  const marks = [];
  place.replaceChildren();
  for (const { text, words, known } of piecesOf(explanation)) {
    if (!words.length) { place.append(text); continue; }
    const mark = make("mark", known ? {} : { class: "unknown" }, text);
    marks.push({ words, mark });
    place.append(mark);
  }
  return reasons => {
    const weights = new Map(reasons.words.map(one => [one.word, one.weight])), most = greatest([...weights.values()]);
    for (const { words, mark } of marks) {
      const weight = words.reduce((sum, word) => sum + (weights.get(word) ?? 0), 0);
      mark.style.background = tint(weight, most);
      mark.title = words.map(word => `${word}: ${(weights.get(word) ?? 0).toPrecision(3)}`).join(", ");
    }
  };
}

export function drawMeters(place, reasons) {
  place.replaceChildren();
  const most = greatest(reasons.words.map(one => one.weight));
  const words = reasons.words.filter(one => isWeighty(one.weight, most)).map(one => [one.word, one.weight]);
  meters("Words for it", words.filter(([, weight]) => weight > 0).slice(0, MOST_BARS), most);
  meters("Words against it", words.filter(([, weight]) => weight < 0).reverse().slice(0, MOST_BARS), most);
  const rows = (reasons.rows ?? []).slice(0, MOST_BARS).map(one => [one.central_word, one.share]);
  meters("Rows routed to it", rows, greatest(rows.map(([, share]) => share)));

  function meters(title, lines, most) {
    if (!lines.length) return;
    const table = make("table");
    for (const [name, value] of lines) {
      const meter = make("i");
      meter.style.width = `${100 * Math.abs(value) / most}%`;
      meter.style.background = tint(value, most);
      table.append(make("tr", {}, make("td", {}, name), make("td", { class: "meter" }, meter), make("td", { class: "rank" }, value.toPrecision(2))));
    }
    place.append(make("div", {}, make("h3", {}, title), table));
  }
}

// The text cut up at its words. The server counts characters, JavaScript counts halves of some: so they are listed.
function piecesOf(explanation) {
  const letters = Array.from(explanation.text), at = new Map(), pieces = [];
  for (const word of explanation.words) {
    if (word.start === null) continue;
    const key = word.start;
    if (!at.has(key)) at.set(key, { start: word.start, end: word.end, words: [], known: false });
    at.get(key).words.push(word.word);
    at.get(key).known ||= word.is_known;
  }
  const spans = [...at.values()].sort((a, b) => a.start - b.start).slice(0, MOST_WORDS);
  let done = 0;
  const plain = end => { if (end > done) pieces.push({ text: letters.slice(done, end).join(""), words: [] }); };
  for (const { start, end, words, known } of spans) {
    plain(start);
    pieces.push({ text: letters.slice(start, end).join(""), words, known });
    done = end;
  }
  plain(letters.length);
  return pieces;
}
