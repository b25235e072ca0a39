// The ladder of a game: its opponents, ladder:1 and so on, and the level of the next game, which the
// browser stores for each kind of game.

import { readStored, store } from "./storage.js";

// Results in a row that change the level.
const RESULTS_PER_LEVEL = 2;

/** Return the level in a player spec, 0 if it names no opponent of a ladder. */
export const levelOf = (spec) => (spec.startsWith("ladder:") ? Number(spec.slice(7)) : 0);

/** Return a player spec as text; `rungs` are the names of the opponents of the ladder. */
export function describePlayer(spec, rungs) {
  const level = levelOf(spec);
  return level ? `${rungs[level - 1]}, level ${level} of ${rungs.length}` : spec;
}

/** Return "you" for the only one of `ownSeats`, the name of a player, or the color of a person. */
export function nameOf(seat, ownSeats, specs, { players, rungs }) {
  if (ownSeats.length === 1 && ownSeats[0] === seat) return "you";
  return specs[seat] === "human" ? players[seat] : describePlayer(specs[seat], rungs).split(", ")[0];
}

/** Return the spec of the opponent that the form selects by default. */
export function defaultOpponent(kind, rungs) {
  if (!rungs.length) return "minimax:easy";
  return `ladder:${Math.min(readProgress(kind).level, rungs.length)}`;
}

/** Return the progress in a game: `streak` is the number of wins, or losses if negative, at the level. */
const readProgress = (kind) => ({ level: 1, streak: 0, game: "", beaten: [], ...readStored(`ladder ${kind}`) });

export const hasBeaten = (kind, level) => readProgress(kind).beaten.includes(level);

/** Store the level of a game that starts. */
export function storeLevel(kind, level) {
  const progress = readProgress(kind);
  if (level && level !== progress.level) store(`ladder ${kind}`, { ...progress, level, streak: 0 });
}

/** Count the result of a game once: 1 for a win, -1 for a loss, 0 for a draw. */
export function countResult(kind, game, level, score, rungs) {
  const progress = readProgress(kind);
  if (progress.game === game || progress.level !== level || !score) return;
  const beaten = score > 0 ? [...new Set([...progress.beaten, level])] : progress.beaten;
  let streak = score * Math.max(0, score * progress.streak) + score;
  if (Math.abs(streak) === RESULTS_PER_LEVEL) {
    level = Math.min(rungs.length, Math.max(1, level + score));
    streak = 0;
  }
  store(`ladder ${kind}`, { level, streak, game, beaten });
}
