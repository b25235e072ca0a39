// The games of this browser: the tokens of their seats, which are secret, and their standing.

import { capitalize } from "./board.js";
import { fetchJson } from "./connection.js";
import { readStored, store } from "./storage.js";

const MAX_GAMES = 100;
// The name of another person without one.
export const OTHER_PLAYER = "other player";

/** Return the games, the latest first. */
export function readGames() {
  const games = readStored("games");
  return Array.isArray(games) ? games : [];
}

export const findGame = (name) => readGames().find(({ game }) => game === name);

/** Store fields of a game, which becomes the latest one; return whether the browser keeps them. */
export function updateGame(name, fields) {
  const entry = { ...findGame(name), ...fields, game: name, at: Date.now() };
  return store("games", [entry, ...readGames().filter(({ game }) => game !== name)].slice(0, MAX_GAMES));
}

/** Whether two people play a game. */
export const isBetweenPeople = ({ seats = [] }) => seats.length > 0 && seats.every((spec) => spec === "human");

/** Update the standings of unfinished games between people, which go on without this browser; return whether one has changed. */
export async function refreshStandings({ games: catalogue }) {
  const open = readGames().filter((entry) => !entry.isOver && isBetweenPeople(entry) && entry.kind in catalogue);
  const changes = new Map();
  await Promise.all(open.map(async (entry) => {
    const current = await fetchJson(`/standings/${entry.game}`).catch(() => null);
    if (!current) return;
    const { kind, player, opponent = OTHER_PLAYER } = entry;
    const names = catalogue[kind].names.map((color) => (opponent === OTHER_PLAYER ? color : opponent));
    const standing = describeStanding(player, current, names);
    if (standing !== entry.standing) changes.set(entry.game, { standing, isOver: current.is_over, version: null });
  }));
  if (changes.size) store("games", readGames().map((entry) => ({ ...entry, ...changes.get(entry.game) })));
  return changes.size > 0;
}

/** Return the standing of a game in a few words, for one of the players or, if undefined, a spectator. */
export function describeStanding(player, { mover, outcome, is_over: isOver }, names) {
  if (isOver && player === undefined) return [0, 1].includes(outcome) ? `${capitalize(names[outcome])} won` : "A draw";
  if (isOver) return { [player]: "You won", [1 - player]: "You lost" }[outcome] ?? "A draw";
  return mover === player ? "Your move" : `${capitalize(names[mover])} to move`;
}

export function forgetGame(name) {
  store("games", readGames().filter(({ game }) => game !== name));
}

/** Return the own tokens of a game, and those of `links` for the other players. */
export function readSeats(name) {
  // A browser that stores nothing still keeps the state of its history.
  const { tokens = [], links = [] } = findGame(name) ?? history.state ?? {};
  return { tokens, links };
}

/** Store the tokens of an address; links for other players give no seat to who made them. */
export function addTokens(name, addressTokens) {
  const { tokens, links } = readSeats(name);
  const seats = { tokens: [...new Set([...tokens, ...addressTokens.filter((token) => !links.includes(token))])], links };
  updateGame(name, seats);
  return seats;
}
