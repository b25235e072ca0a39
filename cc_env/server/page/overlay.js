// Arrows of moves and a heat map of cells, drawn over a board.

import { renderShape, svgElement } from "./board.js";

const HEAT_COLOR = "#d9480f";
const MIN_LABELED_SHARE = 0.02;

/** Draw arrows, {from, to, color, width, isDashed} with cells, and a heat map, [row, column, share]. */
export function drawOverlay(board, arrows = [], heat = []) {
  const { cell, margin } = board.setting;
  const center = (place) => board.cellOrigin(place).map((edge) => edge + margin + cell / 2);
  board.layers.heat.replaceChildren(...heat.map(([row, column, share]) => {
    const [x, y] = center([row, column]);
    return svgElement("circle", { cx: x, cy: y, r: cell / 2 - 1, fill: HEAT_COLOR, opacity: 0.15 + 0.8 * share ** 0.6 });
  }));
  const labels = heat.filter(([, , share]) => share >= MIN_LABELED_SHARE).map(([row, column, share]) => {
    const text = renderShape(["text", ...center([row, column]), `${Math.round(100 * share)}%`, 15, "#000"]);
    text.classList.add("share");
    return text;
  });
  board.layers.arrows.replaceChildren(...[...arrows].reverse().map((arrow) => renderArrow(arrow, center, cell)), ...labels);
}

function renderArrow({ from, to, color, width, isDashed }, center, cell) {
  const [x, y] = center(to);
  if (!from) return svgElement("circle", { cx: x, cy: y, r: cell / 2 - 6, fill: "none", stroke: color, "stroke-width": width });
  const [left, top] = center(from);
  const length = Math.hypot(x - left, y - top);
  const [dx, dy] = [(x - left) / length, (y - top) / length];
  const headLength = 2.2 * width;
  const [baseX, baseY] = [x - dx * headLength, y - dy * headLength];
  const points = [[x, y], [baseX - dy * width, baseY + dx * width], [baseX + dy * width, baseY - dx * width]];
  const group = svgElement("g", { class: "arrow" });
  group.append(
    svgElement("line", { x1: left, y1: top, x2: baseX, y2: baseY, stroke: color, "stroke-width": width, "stroke-linecap": "round", "stroke-dasharray": isDashed ? `${width} ${2 * width}` : "none" }),
    svgElement("polygon", { points: points.map((point) => point.join(",")).join(" "), fill: color }),
  );
  return group;
}
