// The solver's progress, which the browser stores: a plain Elo rating and results for each game, and
// the days in a row with a solved puzzle.

import { readStored, store } from "./storage.js";

// How far one result moves the rating: the first ones move it further.
const FIRST_FACTOR = 40;
const FACTOR = 20;
const FIRST_RESULTS = 20;
const MS_PER_DAY = 86_400_000;

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Return the rating, and by puzzle number whether it was solved without a mistake or help. */
export function readProgress(kind, firstRating) {
  const stored = readStored(`puzzles ${kind}`);
  const results = isObject(stored?.results) ? stored.results : {};
  return { rating: Number.isFinite(stored?.rating) ? stored.rating : firstRating, results };
}

/** Count the first result of a puzzle; return the change of the rating, 0 for a later result. */
export function recordResult({ game, number, rating: puzzleRating }, firstRating, isSolved) {
  const { rating, results } = readProgress(game, firstRating);
  if (number in results) return 0;
  const factor = Object.keys(results).length < FIRST_RESULTS ? FIRST_FACTOR : FACTOR;
  const expected = 1 / (1 + 10 ** ((puzzleRating - rating) / 400));
  const change = Math.round(factor * (Number(isSolved) - expected));
  store(`puzzles ${game}`, { rating: rating + change, results: { ...results, [number]: isSolved } });
  return change;
}

/** Count a puzzle solved on a day, such as 2026-11-29; return the days in a row. */
export function recordDay(day) {
  const { last, days } = readDays();
  if (last === day) return days;
  const isNext = Date.parse(day) - Date.parse(last) === MS_PER_DAY;
  const count = isNext ? days + 1 : 1;
  store("puzzle days", { last: day, days: count });
  return count;
}

/** Return the days in a row up to a day or the day before it. */
export function countDays(day) {
  const { last, days } = readDays();
  return Date.parse(day) - Date.parse(last) <= MS_PER_DAY ? days : 0;
}

function readDays() {
  const stored = readStored("puzzle days");
  return isObject(stored) && Number.isInteger(stored.days) ? stored : { last: "", days: 0 };
}

/** Return the number of the next puzzle: one without a result, rated nearest to the solver. */
export function chooseNext(ratings, { rating, results }, numbers = ratings.map((_, index) => index + 1), current = 0) {
  const others = numbers.filter((number) => number !== current);
  const open = others.filter((number) => !(number in results));
  const unsolved = others.filter((number) => !results[number]);
  const candidates = [open, unsolved, others, numbers].find((list) => list.length);
  const distance = (number) => Math.abs(ratings[number - 1] - rating);
  return candidates.reduce((best, number) => (distance(number) < distance(best) ? number : best));
}
