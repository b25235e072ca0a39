// The puzzle of the day, as a card of the home page and of the puzzles.

import { element, toTitle } from "./board.js";
import { fetchJson } from "./connection.js";
import { renderPicture } from "./picture.js";
import { countDays, readProgress } from "./progress.js";
import { loadStyle } from "./styles.js";

export const describeDays = (days) => (days > 1 ? `${days} days in a row` : "");

export function puzzleAddress(kind, number, theme) {
  const path = ["#/puzzle", kind, String(number).padStart(4, "0")];
  return [...path, ...(theme ? [encodeURIComponent(theme)] : [])].join("/");
}

/** Show the puzzle of the day in an element whose place is reserved; it stays empty without one. */
export async function showDaily(place) {
  try {
    const [daily] = await Promise.all([fetchJson("/puzzles/daily"), loadStyle("puzzles.css")]);
    place.replaceChildren(renderDaily(daily));
  } catch {
    place.replaceChildren();
  }
}

/** Return a card with the daily puzzle, as POST /puzzle returns it. */
export function renderDaily({ game, number, setting, state, task, difficulty, date }) {
  const isSolved = readProgress(game, 0).results[number];
  const lines = [toTitle(game), difficulty, describeDays(countDays(date))];
  const text = element("div", {},
    element("h2", { textContent: "Puzzle of the day" }),
    element("p", { className: "task-title", textContent: task }),
    element("p", { textContent: lines.filter(Boolean).join(" · ") }),
    element("a", { href: puzzleAddress(game, number), className: "button main", textContent: isSolved ? "Solved · look again" : "Solve" }));
  return element("section", { className: "daily", ariaLabel: "Puzzle of the day" }, renderPicture({ setting }, state, state.mover), text);
}
