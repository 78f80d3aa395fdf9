// What reports are made of: elements, tables, and plots of lines.

import { makeSvg } from "./dom.js";

export const add = (parent, name, text = "", className = "") => {
  const element = document.createElement(name);
  element.textContent = text;
  if (className) element.className = className;
  parent.append(element);
  return element;
};
export const share = (value, digits = 3) => value === null ? "–" : value.toFixed(digits);
export function heading(table, names, texts = 1) {
  const row = table.createTHead().insertRow();
  names.forEach((name, index) => { const cell = add(row, "th", name, index < texts ? "text" : ""); cell.scope = "col"; });
  return row;
}

// A plot: lines over x, upright marks, bars at the foot, intervals [x, low, high], and a legend. A point alone is drawn as a dot.
const W = 440, H = 270, LEFT = 42, RIGHT = 12, TOP = 26, FOOT = 36;
const COLOURS = ["rgb(var(--for))", "rgb(var(--against))", "var(--high)"];
function shape(parent, name, attributes, text) {
  const element = makeSvg(name, attributes, ...(text === undefined ? [] : [text]));
  parent.append(element);
  return element;
}
function ticks(low, high, wanted = 5) {
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough * .999);
  const found = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-6; index++) found.push(+(index * step).toPrecision(10));
  return found;
}
export function plot(parent, { title, about, x, y, lines, marks = [], bars = [], rug = [], even = false, whole = false, dots = false }) {
  const figure = add(parent, "figure"), svg = shape(figure, "svg", { class: "plot", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${title}. ${about}` });
  const at = ([a, b]) => [LEFT + (a - x.low) / (x.high - x.low || 1) * (W - LEFT - RIGHT), H - FOOT - (b - y.low) / (y.high - y.low || 1) * (H - TOP - FOOT)];
  const foot = H - FOOT;
  for (const value of ticks(y.low, y.high)) {
    const height = at([x.low, value])[1];
    shape(svg, "line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: height, y2: height });
    shape(svg, "text", { x: LEFT - 6, y: height + 4, "text-anchor": "end" }, value);
  }
  for (const value of ticks(x.low, x.high, 8)) if (!whole || Number.isInteger(value)) shape(svg, "text", { x: at([value, y.low])[0], y: foot + 15, "text-anchor": "middle" }, value);
  shape(svg, "text", { x: (LEFT + W - RIGHT) / 2, y: H - 5, "text-anchor": "middle" }, x.name);
  shape(svg, "text", { x: 8, y: 15 }, y.name);
  const most = Math.log1p(Math.max(1, ...bars.map(bar => bar.count)));
  for (const bar of bars) {
    const left = at([bar.low, y.low])[0], right = at([bar.high, y.low])[0], height = Math.log1p(bar.count) / most * (foot - TOP) * .3;
    shape(shape(svg, "rect", { class: "count", x: left + 1, width: right - left - 2, y: foot - height, height }), "title", {}, bar.title);
  }
  if (even) shape(svg, "line", { class: "even", x1: at([0, 0])[0], y1: at([0, 0])[1], x2: at([1, 1])[0], y2: at([1, 1])[1] });
  for (const value of rug) { const position = at([value, y.low])[0]; shape(svg, "line", { class: "rug", x1: position, x2: position, y1: foot, y2: foot - 9 }); }
  for (const mark of marks) {
    const position = at([mark.at, y.low])[0], isRight = position > W * .7;
    shape(svg, "line", { class: "mark", x1: position, x2: position, y1: TOP - 6, y2: foot });
    shape(svg, "text", { class: "marked", x: isRight ? position : Math.max(position - 3, 100), y: 15, "text-anchor": isRight ? "end" : "start" }, mark.name);
  }
  lines.forEach((line, number) => {
    const colour = COLOURS[number % COLOURS.length], known = line.points.filter(point => point[1] !== null);
    // An unknown value interrupts the line.
    const runs = line.points.reduce((all, point) => { if (point[1] === null) all.push([]); else all.at(-1).push(at(point)); return all; }, [[]]);
    for (const [position, low, high] of line.intervals ?? []) {
      const [[x1, y1], [x2, y2]] = [at([position, low]), at([position, high])];
      shape(svg, "line", { class: "interval", x1, y1, x2, y2, style: `stroke: ${colour}` });
    }
    for (const run of runs) shape(svg, "polyline", { points: run.map(point => point.join()).join(" "), style: `stroke: ${colour}` });
    if (dots || known.length < 30) for (const point of known) {
      const [cx, cy] = at(point);
      shape(shape(svg, "circle", { cx, cy, r: dots ? 4 : 2.5, style: `fill: ${colour}` }), "title", {}, point[2] ?? `${line.name}: ${point[1]} at ${point[0]}`);
    }
  });
  if (lines.length > 1) {
    const legend = add(figure, "p", "", "legend");
    lines.forEach((line, number) => { const item = add(legend, "span"); add(item, "i").style.background = COLOURS[number % COLOURS.length]; item.append(line.name); });
  }
  const caption = add(figure, "figcaption");
  add(caption, "strong", `${title}. `);
  caption.append(about);
}
