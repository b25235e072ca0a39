// The card at the end of a game: its review, a rematch, and another opponent of the ladder.

import { button, element } from "./board.js";
import { createGame, openGame } from "./create.js";
import { defaultOpponent, levelOf, storeLevel } from "./ladder.js";

/** Fill the card of a finished game. */
export function showEndCard(card, { game, state, panels }) {
  const review = element("a", { href: `#/${game}/review`, className: "button main", textContent: "Review" });
  const opponent = nextOpponent(state, panels);
  const next = opponent && button(opponent.label, () => start(opponent.level, next, panels));
  const nodes = [state.turns.length && review, panels.canRematch && panels.buttons.rematch, next].filter(Boolean);
  card.replaceChildren(...nodes);
  card.hidden = !nodes.length;
}

/** Return the level above a beaten opponent, or the lower one after losses, with a label; or null. */
function nextOpponent(state, { ownSeat, ownScore, setting: { game, rungs } }) {
  const level = ownSeat === undefined ? 0 : levelOf(state.seats[1 - ownSeat]);
  const storedLevel = levelOf(defaultOpponent(game, rungs));
  if (!level) return null;
  if (ownScore > 0 && level < rungs.length) return { level: level + 1, label: `Next: ${rungs[level]}, level ${level + 1}` };
  if (ownScore < 0 && storedLevel < level) return { level: storedLevel, label: "Play an easier one" };
  return null;
}

async function start(level, startButton, panels) {
  const { ownSeat, setting: { game, options } } = panels;
  try {
    const seats = ["human", "human"];
    seats[1 - ownSeat] = `ladder:${level}`;
    const created = await createGame({ game, options, seats }, startButton);
    storeLevel(game, level);
    openGame(created, [ownSeat]);
  } catch (error) {
    panels.showMessage(error.message, true);
  }
}
