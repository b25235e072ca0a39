// Speed controls of a game between two players, for the client that created it.

import { button, element } from "./board.js";

// Seconds between two decisions.
const PACES = [[0, "full speed"], [0.3, "0.3 s per move"], [0.8, "0.8 s per move"], [2, "2 s per move"],
  [5, "5 s per move"], [10, "10 s per move"]];
const DEFAULT_PACE = 0.8;

export class Pace {
  /** `send` receives a command and its fields. */
  constructor(send) {
    this.send = send;
    this.pauseButton = button("", () => this.togglePause(), { title: "space bar" });
    this.stepButton = button("Step", () => this.send("step"), { title: "right arrow" });
    this.select = element("select", {}, ...PACES.map(([value, textContent]) => element("option", { value, textContent })));
    this.select.setAttribute("aria-label", "Speed");
    this.select.addEventListener("change", () => this.setPace(Number(this.select.value)));
    this.controls = [this.pauseButton, this.stepButton, this.select];
    const container = document.getElementById("pace");
    container.replaceChildren(...this.controls);
    container.hidden = false;
  }

  setPace(seconds) {
    this.send("pace", { seconds });
  }

  togglePause() {
    this.setPace(this.isPaused ? Number(this.select.value) : null);
  }

  show({ pace, result }) {
    this.isOver = Boolean(result);
    this.isPaused = pace === null;
    this.pauseButton.textContent = this.isPaused ? "Resume" : "Pause";
    for (const control of this.controls) control.disabled = this.isOver;
    if (!this.isPaused) this.select.value = PACES.find(([seconds]) => seconds >= pace)[0];
    else if (!this.select.value) this.select.value = DEFAULT_PACE;
  }

  /** Handle a key; return whether it is one of these controls'. */
  onKey(key) {
    if (this.isOver) return false;
    if (key === " ") this.togglePause();
    else if (key === "ArrowRight") this.send("step");
    else return false;
    return true;
  }
}
