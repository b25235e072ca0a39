// A curve of the winning chances during a game, of which a click selects a turn, and a gauge of them.

import { svgElement } from "./board.js";

const WIDTH = 300;
const HEIGHT = 80;
const PADDING = 4;
export const MARK_COLORS = { best: "#1d7a43", good: "#5d8a1f", doubtful: "#c77700", mistake: "#d0481a", blunder: "#b3261e" };
// Marks of turning points, which have a dot.
const TURNING_POINTS = ["mistake", "blunder"];

const round = (value) => Math.round(10 * value) / 10;

/** Draw the known chances of the first player along a line of nodes; `onClick` receives a node. */
export function drawGraph(element, line, current, { colors }, onClick) {
  const step = WIDTH / Math.max(1, line.length - 1);
  const point = (index) => [round(index * step), round(HEIGHT * (1 - line[index].chances / 100))];
  const known = [...line.keys()].filter((index) => line[index].chances !== null);
  const svg = svgElement("svg", {
    viewBox: `${-PADDING} ${-PADDING} ${WIDTH + 2 * PADDING} ${HEIGHT + 2 * PADDING}`,
    preserveAspectRatio: "none", role: "img",
    "aria-label": `Winning chances after each of ${line.length - 1} turns; ${known.length} known`,
  });
  svg.append(svgElement("rect", { width: WIDTH, height: HEIGHT, class: "unknown" }));
  if (known.length > 1) {
    const points = known.map((index) => point(index).join(",")).join(" ");
    const [first, last] = [point(known[0])[0], point(known.at(-1))[0]];
    svg.append(svgElement("rect", { x: first, width: last - first, height: HEIGHT, fill: colors[1][0] }));
    svg.append(svgElement("polygon", { points: `${first},${HEIGHT} ${points} ${last},${HEIGHT}`, fill: colors[0][0] }));
    svg.append(svgElement("polyline", { points, class: "curve" }));
  }
  svg.append(svgElement("line", { x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2, class: "even" }));
  const x = round(line.indexOf(current) * step);
  svg.append(svgElement("line", { x1: x, x2: x, y1: 0, y2: HEIGHT, class: "current" }));
  for (const index of known) {
    const mark = line[index].assessment?.mark;
    if (TURNING_POINTS.includes(mark)) svg.append(...renderDot(point(index), MARK_COLORS[mark]));
  }
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const position = ((event.clientX - box.left) / box.width) * (WIDTH + 2 * PADDING) - PADDING;
    onClick(line[Math.max(0, Math.min(line.length - 1, Math.round(position / step)))]);
  });
  element.replaceChildren(svg);
}

/** Return a dot that stays round in a stretched graph: a line of length 0 with round caps. */
function renderDot([x, y], color) {
  const d = `M${x} ${y}h0`;
  return [svgElement("path", { d, class: "rim" }), svgElement("path", { d, class: "mistake", stroke: color })];
}

/** Show the first player's winning chances, null if they are unknown, with the lower side below. */
export function drawGauge(gauge, { top, colors, players }, isFlipped, chances) {
  const bottomPlayer = isFlipped ? top : 1 - top;
  const percent = chances ?? 50;
  gauge.style.setProperty("--bottom", colors[bottomPlayer][0]);
  gauge.style.setProperty("--top", colors[1 - bottomPlayer][0]);
  gauge.style.setProperty("--share", `${bottomPlayer ? 100 - percent : percent}%`);
  gauge.classList.toggle("unknown", chances === null);
  gauge.setAttribute("aria-valuenow", Math.round(percent));
  gauge.setAttribute("aria-valuetext", chances === null ? "unknown" : `${players[0]} ${Math.round(percent)} %, ${players[1]} ${Math.round(100 - percent)} %`);
}
