// Creation of games. A game is created when its rules are compiled; meanwhile a bar shows the progress.

import { element, toTitle } from "./board.js";
import { fetchJson } from "./connection.js";

const PROGRESS_DELAY_MS = 500;
const PROGRESS_INTERVAL_MS = 500;

/** Create a game; return its name and tokens. The button is disabled meanwhile. */
export async function createGame(request, button) {
  const label = button.textContent;
  button.disabled = true;
  button.textContent = "Starting …";
  const progress = new Progress(request.game);
  try {
    return await fetchJson("/games", request);
  } finally {
    progress.close();
    button.disabled = false;
    button.textContent = label;
  }
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
