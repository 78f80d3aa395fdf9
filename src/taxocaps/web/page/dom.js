// Elements out of data. Whatever a document or a label says goes in as text, never as HTML: there is no other way here.

export const find = id => document.getElementById(id);

// make("p", { class: "hint" }, "text", element): attributes, then children; a text becomes a text node.
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Shows a message, or hides its place when there is none.
export function say(element, message = "") {
  element.textContent = message;
  if (element.classList.contains("error")) element.hidden = !message;
}

// A hundredth of the greatest weight is as good as none.
export const isWeighty = (value, most) => Math.abs(value) >= most / 100;

// The colour of a weight: more of it, the nearer it comes to the greatest. Colours are variables, for day and night.
export const tint = (value, most) =>
  isWeighty(value, most) ? `rgba(var(--${value > 0 ? "for" : "against"}), ${(0.07 + 0.58 * Math.min(1, Math.abs(value) / most)).toFixed(3)})` : "";

export const greatest = values => values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-30);

export const counted = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
