// Elements and colours. Whatever a document or a label says is inserted as text, never as HTML: there is no other way here.

export const find = id => document.getElementById(id);

// make("p", { class: "hint" }, "text", element): attributes, then children; a string becomes a text node.
export const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

// The same for elements of an SVG drawing.
export const makeSvg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Shows a message; an element for errors is hidden when there is none.
export function say(element, message = "") {
  element.textContent = message;
  if (element.classList.contains("error")) element.hidden = !message;
}

export const formatNumber = number => number.toLocaleString("en");

export const counted = (number, word) => `${formatNumber(number)} ${word}${number === 1 ? "" : "s"}`;

export const largest = values => values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-30);

// Weights below a hundredth of the largest one are not shown.
export const isVisible = (weight, most) => Math.abs(weight) >= most / 100;

// The colour of a weight, stronger the closer it is to the largest one. The two colours are variables of the style sheet.
export const tint = (weight, most) =>
  isVisible(weight, most) ? `rgba(var(--${weight > 0 ? "for" : "against"}), ${(0.07 + 0.58 * Math.min(1, Math.abs(weight) / most)).toFixed(3)})` : "";
