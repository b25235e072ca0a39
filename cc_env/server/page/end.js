// New games that follow a game: on the card at its end, with its review, and in the panel More.

import { button, element } from "./board.js";
import { startGame } from "./create.js";
import { defaultOpponent, levelOf } from "./ladder.js";

/** Fill the card of a finished game. */
export function showEndCard(card, { game, state, panels, request }) {
  const review = element("a", { href: `#/${game}/review`, className: "button main", textContent: "Review" });
  const [level, label] = nextLevel(state, panels);
  const next = level && renderStart(label, withLevel(level, panels, request), panels);
  const nodes = [state.turns.length && review, panels.canRematch && panels.buttons.rematch, next].filter(Boolean);
  card.replaceChildren(...nodes);
  card.hidden = !nodes.length;
}

/** Show the new games that a client can start without another person: the same, the next level, a custom one. */
export function showNewGames(place, { panels, request }) {
  const { ownSeat, names, seats, setting: { game, rungs } } = panels;
  const isFree = request.seats.every((spec, seat) => spec !== "human" || seats.includes(seat));
  const level = ownSeat === undefined ? 0 : levelOf(request.seats[1 - ownSeat]);
  const same = isFree && renderStart(ownSeat === undefined ? "Same again" : `${names[1 - ownSeat]} again`, request, panels);
  const next = isFree && level && level < rungs.length && renderStart(`${rungs[level]}, level ${level + 1}`, withLevel(level + 1, panels, request), panels);
  const custom = element("a", { href: `#/new/${game}`, className: "button", textContent: "Custom game" });
  place.replaceChildren(...[same, next, custom].filter(Boolean));
}

/** Return the level above a beaten opponent, or the lower one after losses, with a label; [] if there is none. */
function nextLevel(state, { ownSeat, ownScore, setting: { game, rungs } }) {
  const level = ownSeat === undefined ? 0 : levelOf(state.seats[1 - ownSeat]);
  const storedLevel = levelOf(defaultOpponent(game, rungs));
  if (level && ownScore > 0 && level < rungs.length) return [level + 1, `Next: ${rungs[level]}, level ${level + 1}`];
  if (level && ownScore < 0 && storedLevel < level) return [storedLevel, "Play an easier one"];
  return [];
}

/** Return a request for the same game against another level. */
const withLevel = (level, { ownSeat }, request) => ({ ...request, seats: request.seats.map((spec, seat) => (seat === ownSeat ? spec : `ladder:${level}`)) });

/** Return a button that starts a game with the own seats of this one. */
function renderStart(label, request, panels) {
  const node = button(label, () => startGame(request, panels.seats, node, (reason) => panels.showMessage(reason, true)));
  return node;
}
