// How fast a watched game goes on: buttons and keys of who opened it.

import { button, element } from "./board.js";

const PACES = [[0, "full speed"], [0.3, "0.3 s a move"], [0.8, "0.8 s a move"], [2, "2 s a move"],
  [5, "5 s a move"], [10, "10 s a move"]]; // seconds between two decisions

export class Pace {
  constructor(ask) {
    this.ask = ask;
    this.pause = button("", () => this.toggle(), { title: "space bar" });
    this.step = button("Step", () => this.ask("step"), { title: "right arrow" });
    this.select = element("select", {}, ...PACES.map(([value, textContent]) => element("option", { value, textContent })));
    this.select.setAttribute("aria-label", "Speed");
    this.select.addEventListener("change", () => this.set(Number(this.select.value)));
    const place = document.getElementById("pace");
    place.replaceChildren(this.pause, this.step, this.select);
    place.hidden = false;
  }

  set(seconds) {
    this.ask("pace", { seconds });
  }

  toggle() {
    this.set(this.isPaused ? Number(this.select.value) : null);
  }

  show({ pace, result }) {
    this.isOver = Boolean(result);
    this.isPaused = pace === null;
    this.pause.textContent = this.isPaused ? "Go on" : "Pause";
    for (const control of [this.pause, this.step, this.select]) control.disabled = this.isOver;
    if (!this.isPaused) this.select.value = PACES.find(([seconds]) => seconds >= pace)[0];
    else if (!this.select.value) this.select.value = 0.8;
  }

  /** Do what a key means; return whether it means something. */
  type(key) {
    if (this.isOver) return false;
    if (key === " ") this.toggle();
    else if (key === "ArrowRight") this.ask("step");
    else return false;
    return true;
  }
}
