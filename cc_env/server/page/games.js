// The games of this browser: the tokens of their seats, which are secret, and their standing.

import { readStored, store } from "./storage.js";

const MAX_GAMES = 100;

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
