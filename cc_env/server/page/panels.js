// What stands beside the board: seats with clocks, the list of moves, what was said, buttons.

import { button, drawn, element, made } from "./board.js";

const LOW = 10; // seconds on a clock that is shown as a warning

const find = (name) => document.getElementById(name);

export const KEYS = { take_back: "u", hint: "h", flip: "f" }; // of the keyboard
const OFFERS = [ // of the other player: what it is, where the state has it, and how it is said
  { offer: "draw", field: "offered", said: "offers a draw", accept: "Accept draw", decline: "Decline draw", declined: "declines the draw" },
  { offer: "take_back", field: "wanted_back", said: "asks for an undo", accept: "Allow undo", decline: "Decline undo", declined: "declines the undo" },
  { offer: "rematch", field: "rematch_offered", said: "offers a rematch", accept: "Accept rematch", decline: "Decline rematch", declined: "declines the rematch" },
];

export class Panels {
  /** `rights`: the seats that one holds, whether hints and analysis are allowed, and a rematch. */
  constructor(setting, rights, ask) {
    this.setting = setting;
    Object.assign(this, rights);
    this.ask = ask;
    this.present = [];
    this.makeButtons();
    clearInterval(Panels.ticking);
    Panels.ticking = setInterval(() => this.tick(), 200);
  }

  makeButtons() {
    this.buttons = {
      take_back: button("Undo", () => this.ask("take_back"), { title: KEYS.take_back }),
      hint: button("Hint", () => this.ask("hint"), { title: KEYS.hint }),
      draw: button("Offer draw", () => this.ask("draw")),
      resign: button("Resign", () => this.resign()),
      rematch: button("Rematch", () => this.ask("rematch"), { title: "seats swapped" }),
      flip: button("Flip", () => this.ask("flip"), { title: KEYS.flip }),
      analyse: button("Analyse", () => this.ask("analyse"), { title: "step through the game, with a player's opinion of it" }),
      start: button("New game", () => this.ask("start")),
    };
    find("buttons").replaceChildren(...Object.values(this.buttons));
  }

  resign() {
    const button = this.buttons.resign;
    if (button.textContent === "Resign") {
      button.textContent = "Resign: sure?";
      setTimeout(() => (button.textContent = "Resign"), 3000);
    } else {
      button.textContent = "Resign";
      this.ask("resign");
    }
  }

  show(state, isFlipped) {
    this.state = state;
    this.since = performance.now();
    this.isFlipped = isFlipped;
    this.showSeats();
    this.showMoves();
    this.showStatus();
    this.invite();
    const over = Boolean(state.result);
    const { take_back, hint, draw, resign, rematch, analyse } = this.buttons;
    for (const button of [take_back, hint, draw, resign]) button.hidden = !this.seats.length;
    take_back.disabled = !state.decisions;
    hint.disabled = over || !this.isMine;
    hint.hidden ||= over || !this.assistance;
    analyse.hidden = !over && !this.assistance;
    resign.hidden ||= over;
    draw.hidden ||= over;
    rematch.hidden = !(over && this.mayRematch);
    draw.disabled = state.offered !== null;
    take_back.disabled ||= state.wanted_back !== null;
    rematch.disabled = state.rematch_offered !== null;
    this.showOffers();
  }

  /** Let the offers of the other player be accepted and declined. */
  showOffers() {
    const standing = OFFERS.filter(({ field }) => this.state[field] !== null && this.seats.some((seat) => seat !== this.state[field]));
    const shown = standing.flatMap(({ offer, accept, decline }) => [
      button(accept, () => this.ask(offer), { className: "main" }),
      button(decline, () => this.ask("decline", { offer })),
    ]);
    find("offers").replaceChildren(...shown);
  }

  showDeclined(offer, player) {
    const { declined } = OFFERS.find((other) => other.offer === offer);
    this.say(`${this.names[player]} ${this.names[player] === "you" ? declined.replace("declines", "decline") : declined}`);
  }

  /** Offer the way to a rematch that has begun. */
  showRematch() {
    Object.assign(this.buttons.rematch, { textContent: "Go to the rematch", hidden: false, disabled: false });
    this.mayRematch = true;
  }

  get isMine() {
    return this.state.is_person && this.seats.includes(this.state.mover);
  }

  /** What those who play are called here, the first player first. */
  get names() {
    const person = this.seats.length ? "other player" : "person";
    return this.state.seats.map((name, player) => (name !== "human" ? name : this.seats.includes(player) ? "you" : person));
  }

  showSeats() {
    const top = this.setting.top;
    const near = this.isFlipped ? top : 1 - top;
    for (const [place, player] of [["near", near], ["far", 1 - near]]) {
      const [fill, rim] = this.setting.colours[player];
      const stone = made("svg", { viewBox: "0 0 20 20", class: "stone", "aria-hidden": "true" });
      stone.append(drawn(["disc", 10, 10, 8.5, fill, rim, 2]));
      const colour = element("span", { className: "word", textContent: this.setting.players[player] });
      const isAway = this.state.seats[player] === "human" && !this.present.includes(player);
      const title = element("span", { className: "who", textContent: this.names[player] + (isAway ? " (away)" : "") });
      const count = element("span", { className: "word count", textContent: this.counted(player) });
      const parts = [stone, title, colour, count];
      if (this.state.clocks) parts.push(element("span", { className: "clock", id: `clock${player}` }));
      find(place).replaceChildren(...parts);
      find(place).classList.toggle("turn", !this.state.result && this.state.mover === player);
    }
    this.tick();
  }

  /** Return how many pieces a player has on the board. */
  counted(player) {
    const { owners } = this.setting;
    const count = this.state.pieces.filter(([, , letter]) => owners[letter] === player).length;
    return count === 1 ? "1 piece" : `${count} pieces`;
  }

  tick() {
    if (!this.state?.clocks) return;
    this.state.clocks.forEach((left, player) => {
      const runs = !this.state.result && !this.state.is_held && this.state.mover === player;
      const now = Math.max(0, left - (runs ? (performance.now() - this.since) / 1000 : 0));
      const seconds = now < 10 ? now.toFixed(1).padStart(4, "0") : String(Math.floor(now % 60)).padStart(2, "0");
      const clock = find(`clock${player}`);
      if (!clock) return;
      clock.textContent = `${Math.floor(now / 60)}:${seconds}`;
      clock.classList.toggle("low", runs && now < LOW);
    });
  }

  showMoves() {
    const rows = this.state.turns.map(([player, text, value]) => {
      const row = element("li", { className: player ? "second" : "first" }, text.trim());
      row.title = this.setting.players[player];
      if (value !== null) {
        const sign = value > 0 ? "+" : "";
        const title = `what ${this.setting.players[player]}'s player expects for ${this.setting.players[0]}: 1 a win, 0 a draw, -1 a loss`;
        row.append(element("span", { className: "value", title, textContent: sign + value.toFixed(2) }));
      }
      return row;
    });
    const list = find("moves");
    list.replaceChildren(...rows);
    rows.at(-1)?.setAttribute("aria-current", "true");
    list.scrollTop = list.scrollHeight;
  }

  /** Say after how many turns the board is shown, and what has happened since it is. */
  showPast(turns, since = "") {
    const rows = [...find("moves").children];
    rows.forEach((row, index) => row.setAttribute("aria-current", index === turns - 1));
    rows[Math.max(0, turns - 1)].scrollIntoView({ block: "nearest" });
    const place = `Position after turn ${turns} of ${rows.length}; press → to return`;
    this.say([place, since].filter(Boolean).join(" · "));
  }

  showStatus() {
    const { result, caption, said, ahead } = this.state;
    const parts = [];
    if (result) {
      parts.push(result.text + (result.detail && result.reason !== "time" ? ` (${result.detail})` : ""));
      if (result.scores) parts.push(`scores ${result.scores.join(" – ")}`);
    } else {
      parts.push(caption);
      if (this.state.clocks && this.state.is_held) parts.push("the clocks wait for all to come");
      if (this.state.pace === null) parts.push("paused");
      else if (!this.state.is_person) parts.push(ahead ? `waiting, ${ahead} think before` : "thinking …");
    }
    for (const { field, said } of OFFERS) {
      if (this.state[field] !== null) parts.push(`${this.setting.players[this.state[field]]} ${said}`);
    }
    this.say(parts.join(" · "));
    find("said").textContent = said;
    this.announce();
  }

  say(text, isWrong = false) {
    const status = find("status");
    status.textContent = text;
    status.classList.toggle("wrong", isWrong);
  }

  announce() {
    const { decisions, moved, seats } = this.state;
    if (this.told !== undefined && decisions > this.told && moved) {
      const who = this.setting.players[moved.by];
      find("news").textContent = `${who}, ${seats[moved.by]}: ${moved.text}`;
    }
    this.told = decisions;
  }

  showPresence(seats) {
    this.present = seats;
    if (this.state) this.showSeats();
    this.invite();
  }

  /** Put the link for another person first while nobody has come by it. */
  invite() {
    const isAway = (name, player) => name === "human" && !this.seats.includes(player) && !this.present.includes(player);
    const isWaiting = this.hasLink && !this.state?.decisions && this.state?.seats.some(isAway);
    find("side").classList.toggle("inviting", Boolean(isWaiting));
  }

  /** Copy a link; where the browser does not let us it is selected, to be copied by hand. */
  async copy(input, button) {
    input.select();
    try {
      await navigator.clipboard.writeText(input.value);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    } catch {
      this.say("copy the link that is selected");
    }
  }

  showLinks(links) {
    this.hasLink = links.length > 1;
    const rows = links.map(([label, hash]) => {
      const input = element("input", { readOnly: true, value: location.href.split("#")[0] + hash });
      input.addEventListener("focus", () => input.select());
      const copy = button("Copy", () => this.copy(input, copy));
      return element("div", {}, element("label", {}, label, input), copy);
    });
    find("links").replaceChildren(...rows);
  }
}
