// The page that `taxocaps graph` writes: the graph-of-words of one document and its words-matrix.

import { counted, find, formatNumber } from "./dom.js";
import { drawGraph } from "./graph.js";
import { drawMatrix } from "./matrix.js";

const { graph, matrix, words, distinct } = JSON.parse(find("data").textContent);
find("summary").textContent = `${counted(words, "word")} kept, ${formatNumber(distinct)} of them distinct; ` +
  `the ${counted(graph.nodes.length, "most central word")} and ${counted(graph.edges.length, "edge")} are drawn.`;
drawGraph(find("drawing"), graph, Infinity);
drawMatrix(find("rows"), matrix);
