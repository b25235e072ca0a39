// What lies over a board: arrows of moves, and a heat map of cells.

import { drawn, made } from "./board.js";

const HEAT = "#d9480f";
const SEEN = 0.02; // so much of it is said in words

/** Draw arrows, {from, to, colour, width} by cells, and heat, [row, column, share]. */
export function overlay(board, arrows = [], heat = []) {
  const { cell, margin } = board.setting;
  const centre = (place) => board.at(place).map((edge) => edge + margin + cell / 2);
  board.layers.heat.replaceChildren(...heat.map(([row, column, share]) => {
    const [x, y] = centre([row, column]);
    return made("circle", { cx: x, cy: y, r: cell / 2 - 1, fill: HEAT, opacity: 0.15 + 0.8 * share ** 0.6 });
  }));
  const words = heat.filter(([, , share]) => share >= SEEN).map(([row, column, share]) => {
    const [x, y] = centre([row, column]);
    const text = drawn(["words", x, y, `${Math.round(100 * share)}%`, 15, "#000"]);
    text.classList.add("share");
    return text;
  });
  board.layers.arrows.replaceChildren(...[...arrows].reverse().map((shape) => arrow(shape, centre, cell)), ...words);
}

function arrow({ from, to, colour, width }, centre, cell) {
  const [x, y] = centre(to);
  if (!from) return made("circle", { cx: x, cy: y, r: cell / 2 - 6, fill: "none", stroke: colour, "stroke-width": width });
  const [left, top] = centre(from);
  const length = Math.hypot(x - left, y - top);
  const [dx, dy] = [(x - left) / length, (y - top) / length];
  const head = 2.2 * width;
  const [bx, by] = [x - dx * head, y - dy * head];
  const points = [[x, y], [bx - dy * width, by + dx * width], [bx + dy * width, by - dx * width]];
  const group = made("g", { class: "arrow" });
  group.append(
    made("line", { x1: left, y1: top, x2: bx, y2: by, stroke: colour, "stroke-width": width, "stroke-linecap": "round" }),
    made("polygon", { points: points.map((point) => point.join(",")).join(" "), fill: colour }),
  );
  return group;
}
