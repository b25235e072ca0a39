// Creation of games, and the way to them. The server answers when it has compiled what a game needs;
// meanwhile a bar shows the progress.

import { element, toTitle } from "./board.js";
import { fetchJson } from "./connection.js";
import { updateGame } from "./games.js";
import { levelOf, storeLevel } from "./ladder.js";

const PROGRESS_DELAY_MS = 500;
const PROGRESS_INTERVAL_MS = 500;

/** Create a game; return its name and tokens. The button is disabled meanwhile. */
export async function createGame(request, button) {
  const label = button.textContent;
  button.disabled = true;
  button.textContent = "Starting …";
  // Loaded meanwhile.
  import("./game.js").catch(() => {});
  try {
    const created = await withProgress(request.game, fetchJson("/games", request));
    storeLevel(request.game, Math.max(...request.seats.map(levelOf)));
    return created;
  } finally {
    button.disabled = false;
    button.textContent = label;
  }
}

/** Create a game and go to it with some of its seats; `showError` receives the message of an error. */
export async function startGame(request, seats, button, showError) {
  try {
    openGame(await createGame(request, button), seats);
  } catch (error) {
    showError(error.message);
  }
}

/** Return a response of the server that waits until a game is prepared. */
export async function withProgress(kind, response) {
  const progress = new Progress(kind);
  try {
    return await response;
  } finally {
    progress.close();
  }
}

/** Go to a created game with some of its seats. */
export function openGame({ game, tokens, owner_token: ownerToken }, seats) {
  if (ownerToken) return enterGame(game, [ownerToken], []);
  const otherTokens = tokens.filter((token, seat) => token && !seats.includes(seat));
  enterGame(game, seats.map((seat) => tokens[seat]), otherTokens);
}

/** Go to a game with the seats of `tokens`; `links` are the tokens of other players. */
export function enterGame(game, tokens, links) {
  if (tokens.length) updateGame(game, { tokens, links });
  history.pushState({ tokens, links }, "", `#/${game}`);
  dispatchEvent(new Event("hashchange"));
}

class Progress {
  constructor(kind) {
    this.kind = kind;
    this.timer = setTimeout(() => this.update(), PROGRESS_DELAY_MS);
  }

  async update() {
    const { elapsed, expected } = await fetchJson(`/preparation/${this.kind}`).catch(() => ({ expected: 0 }));
    if (this.isClosed) return;
    if (expected) this.show(elapsed, expected);
    this.timer = setTimeout(() => this.update(), PROGRESS_INTERVAL_MS);
  }

  show(elapsed, expected) {
    this.bar ??= element("progress", { ariaLabel: "Preparation" });
    this.text ??= element("p", { role: "status" });
    if (!this.box) {
      this.box = element("div", { id: "preparation", popover: "manual" }, this.text, this.bar);
      document.body.append(this.box);
      this.box.showPopover();
    }
    const seconds = Math.ceil(expected - elapsed);
    const wait = seconds > 0 ? `about ${seconds} s` : "a few seconds";
    this.text.textContent = `Preparing ${toTitle(this.kind)} for the first time: ${wait}`;
    this.bar.value = Math.min(0.95, elapsed / expected);
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.box?.remove();
  }
}
