// The winning chances over a game as a curve; a click on it goes to the turn.

import { made } from "./board.js";

const WIDTH = 300;
const HEIGHT = 80;
export const COLOURS = { best: "#1d7a43", good: "#5d8a1f", doubtful: "#c77700", blunder: "#b3261e" }; // of marks
const BAD = ["doubtful", "blunder"];

const round = (value) => Math.round(10 * value) / 10;

/** Draw the chances of the first player at the nodes of a line, those that are known. */
export function drawGraph(element, line, current, colours, go) {
  const step = WIDTH / Math.max(1, line.length - 1);
  const at = (index) => [round(index * step), round(HEIGHT * (1 - line[index].chances / 100))];
  const known = line.map((node, index) => index).filter((index) => line[index].chances !== null);
  const svg = made("svg", { viewBox: `-4 -4 ${WIDTH + 8} ${HEIGHT + 8}`, preserveAspectRatio: "none", role: "img" });
  svg.setAttribute("aria-label", `Winning chances after each of ${line.length - 1} turns; ${known.length} known`);
  svg.append(made("rect", { width: WIDTH, height: HEIGHT, class: "unknown" }));
  if (known.length > 1) {
    const points = known.map((index) => at(index).join(",")).join(" ");
    const [first, last] = [at(known[0])[0], at(known.at(-1))[0]];
    svg.append(made("rect", { x: first, width: last - first, height: HEIGHT, fill: colours[1] }));
    svg.append(made("polygon", { points: `${first},${HEIGHT} ${points} ${last},${HEIGHT}`, fill: colours[0] }));
    svg.append(made("polyline", { points, class: "curve" }));
  }
  svg.append(made("line", { x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2, class: "even" }));
  const here = round(line.indexOf(current) * step);
  svg.append(made("line", { x1: here, x2: here, y1: 0, y2: HEIGHT, class: "here" }));
  for (const index of known) {
    const mark = line[index].judged?.mark;
    if (!BAD.includes(mark)) continue;
    const [x, y] = at(index);
    const dot = (values) => made("path", { d: `M${x} ${y}h0`, ...values }); // round, however the graph is stretched
    svg.append(dot({ class: "rim" }), dot({ class: "bad", stroke: COLOURS[mark] }));
  }
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const share = ((event.clientX - box.left) / box.width) * (WIDTH + 8) - 4;
    go(line[Math.max(0, Math.min(line.length - 1, Math.round(share / step)))]);
  });
  element.replaceChildren(svg);
}
