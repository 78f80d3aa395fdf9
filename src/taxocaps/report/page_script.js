"use strict";
// What every page begins with: its data, and elements made of text, never of HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const find = id => document.getElementById(id);
const add = (parent, name, text = "", className = "") => {
  const element = document.createElement(name);
  element.textContent = text;
  if (className) element.className = className;
  parent.append(element);
  return element;
};
