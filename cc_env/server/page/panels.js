// The panels beside the board: seats with clocks, moves, messages, buttons and links.

import { button, element, renderShape, svgElement } from "./board.js";
import { describePlayer } from "./ladder.js";

const LOW_CLOCK_SECONDS = 10;
const CLOCK_INTERVAL_MS = 200;

const find = (id) => document.getElementById(id);

export const SHORTCUTS = { take_back: "u", hint: "h", flip: "f" };
// Offers of a player; `field` of the state contains the player who offers, or null.
const OFFERS = [
  { offer: "draw", field: "draw_offered_by", status: ["offer", "a draw"], accept: "Accept draw", decline: "Decline draw" },
  { offer: "take_back", field: "take_back_requested_by", status: ["ask", "for an undo"], accept: "Allow undo", decline: "Decline undo" },
  { offer: "rematch", field: "rematch_offered_by", status: ["offer", "a rematch"], accept: "Accept rematch", decline: "Decline rematch" },
];

/** Return a sentence about a player in the present tense. */
const sentence = (name, verb, object) => `${name} ${name === "you" ? verb : `${verb}s`} ${object}`;

export class Panels {
  /** `permissions`: the client's seats, `assistance` and `canRematch`; `execute` runs a command. */
  constructor(setting, permissions, execute) {
    Object.assign(this, { ...permissions, setting, execute, presentSeats: [], notice: "" });
    this.makeButtons();
    clearInterval(Panels.clockTimer);
    Panels.clockTimer = setInterval(() => this.showClocks(), CLOCK_INTERVAL_MS);
  }

  makeButtons() {
    this.buttons = {
      take_back: button("Undo", () => this.execute("take_back"), { title: SHORTCUTS.take_back }),
      hint: button("Hint", () => this.execute("hint"), { title: SHORTCUTS.hint }),
      draw: button("Offer draw", () => this.execute("draw")),
      resign: button("Resign", () => this.resign()),
      rematch: button("Rematch", () => this.execute("rematch"), { title: "seats swapped" }),
      flip: button("Flip", () => this.execute("flip"), { title: SHORTCUTS.flip }),
      analyze: button("Analyze", () => this.execute("analyze"), { title: "step through the game, with evaluations by a player" }),
      newGame: button("New game", () => this.execute("new_game")),
    };
    find("buttons").replaceChildren(...Object.values(this.buttons));
  }

  /** Resign at the second click within three seconds. */
  resign() {
    const { resign } = this.buttons;
    if (resign.textContent === "Resign") {
      resign.textContent = "Resign: sure?";
      setTimeout(() => (resign.textContent = "Resign"), 3000);
    } else {
      resign.textContent = "Resign";
      this.execute("resign");
    }
  }

  show(state, isFlipped) {
    this.state = state;
    this.receivedAt = performance.now();
    this.isFlipped = isFlipped;
    this.showSeats();
    this.showMoves();
    this.showStatus();
    this.showInvitation();
    this.showButtons();
    this.showOffers();
  }

  showButtons() {
    const { state } = this;
    const isOver = Boolean(state.result);
    const isSpectator = !this.seats.length;
    const { take_back: takeBack, hint, draw, resign, rematch, analyze } = this.buttons;
    takeBack.hidden = isSpectator;
    hint.hidden = isSpectator || isOver || !this.assistance;
    draw.hidden = resign.hidden = isSpectator || isOver;
    rematch.hidden = !(isOver && this.canRematch);
    analyze.hidden = !isOver && !this.assistance;
    takeBack.disabled = !state.decisions || state.take_back_requested_by !== null;
    hint.disabled = isOver || !this.isMine;
    draw.disabled = state.draw_offered_by !== null;
    rematch.disabled = state.rematch_offered_by !== null;
  }

  /** Show buttons to accept and decline the offers of the other player. */
  showOffers() {
    const offers = OFFERS.filter(({ field }) => this.state[field] !== null && this.seats.some((seat) => seat !== this.state[field]));
    const buttons = offers.flatMap(({ offer, accept, decline }) => [
      button(accept, () => this.execute(offer), { className: "main" }),
      button(decline, () => this.execute("decline", { offer })),
    ]);
    find("offers").replaceChildren(...buttons);
  }

  showDeclined(offer, player) {
    this.showMessage(sentence(this.names[player], "decline", `the ${offer === "take_back" ? "undo" : offer}`));
  }

  /** Turn the rematch button into a link to the rematch. */
  showRematch() {
    Object.assign(this.buttons.rematch, { textContent: "Go to the rematch", hidden: false, disabled: false });
    this.canRematch = true;
  }

  get isMine() {
    return this.state.is_person && this.seats.includes(this.state.mover);
  }

  /** The names of both players. */
  get names() {
    const otherName = this.seats.length ? "other player" : "person";
    const { rungs } = this.setting;
    return this.state.seats.map((name, player) =>
      name !== "human" ? describePlayer(name, rungs) : this.seats.includes(player) ? "you" : otherName);
  }

  /** The seat of a client with one seat, which texts call "you"; undefined for others. */
  get ownSeat() {
    return this.seats.length === 1 ? this.seats[0] : undefined;
  }

  /** Return the color of a player, or "you". */
  subject(player) {
    return player === this.ownSeat ? "you" : this.setting.players[player];
  }

  /** Return whose turn it is, or the result, in a few words. */
  describeStanding() {
    const { result, caption, mover } = this.state;
    if (this.ownSeat === undefined) return result?.text ?? caption;
    if (result) return { 0: "A draw", 1: "You won", "-1": "You lost" }[this.ownScore];
    return mover === this.ownSeat ? "Your move" : caption;
  }

  /** 1 if the only own seat has won, -1 if it has lost, otherwise 0. */
  get ownScore() {
    const { outcome } = this.state.result;
    if (outcome === this.ownSeat) return 1;
    return outcome === 1 - this.ownSeat ? -1 : 0;
  }

  isAway(player) {
    return this.state.seats[player] === "human" && !this.presentSeats.includes(player);
  }

  showSeats() {
    const { top, colors, players } = this.setting;
    const bottomPlayer = this.isFlipped ? top : 1 - top;
    for (const [id, player] of [["bottom-seat", bottomPlayer], ["top-seat", 1 - bottomPlayer]]) {
      const [fill, rim] = colors[player];
      const stone = svgElement("svg", { viewBox: "0 0 20 20", class: "stone", "aria-hidden": "true" });
      stone.append(renderShape(["disc", 10, 10, 8.5, fill, rim, 2]));
      const title = this.names[player] + (this.isAway(player) ? " (away)" : "");
      const parts = [
        stone,
        element("span", { className: "name", textContent: title }),
        element("span", { className: "detail", textContent: players[player] }),
        element("span", { className: "detail count", textContent: this.describePieceCount(player) }),
      ];
      if (this.state.clocks) parts.push(element("span", { className: "clock", id: `clock${player}` }));
      find(id).replaceChildren(...parts);
      find(id).classList.toggle("to-move", !this.state.result && this.state.mover === player);
    }
    this.showClocks();
  }

  describePieceCount(player) {
    const { owners } = this.setting;
    const count = this.state.pieces.filter(([, , letter]) => owners[letter] === player).length;
    return count === 1 ? "1 piece" : `${count} pieces`;
  }

  showClocks() {
    if (!this.state?.clocks) return;
    this.state.clocks.forEach((secondsLeft, player) => {
      const clock = find(`clock${player}`);
      if (!clock) return;
      const isRunning = !this.state.result && !this.state.clocks_paused && this.state.mover === player;
      const elapsed = isRunning ? (performance.now() - this.receivedAt) / 1000 : 0;
      const left = Math.max(0, secondsLeft - elapsed);
      const seconds = left < 10 ? left.toFixed(1).padStart(4, "0") : String(Math.floor(left % 60)).padStart(2, "0");
      clock.textContent = `${Math.floor(left / 60)}:${seconds}`;
      clock.classList.toggle("low", isRunning && left < LOW_CLOCK_SECONDS);
    });
  }

  showMoves() {
    const { players } = this.setting;
    const rows = this.state.turns.map(([player, text, value]) => {
      const row = element("li", { className: player ? "second" : "first" }, text.trim());
      row.title = players[player];
      if (value !== null) {
        const sign = value > 0 ? "+" : "";
        const title = `${players[player]}'s evaluation, from the view of ${players[0]}: 1 win, 0 draw, -1 loss`;
        row.append(element("span", { className: "value", title, textContent: sign + value.toFixed(2) }));
      }
      return row;
    });
    const list = find("moves");
    list.replaceChildren(...rows);
    rows.at(-1)?.setAttribute("aria-current", "true");
    list.scrollTop = list.scrollHeight;
  }

  /** Mark the turn of the past position on the board, and show what has happened since. */
  showPast(turns, news = "") {
    const rows = [...find("moves").children];
    rows.forEach((row, index) => row.setAttribute("aria-current", index === turns - 1));
    rows[Math.max(0, turns - 1)].scrollIntoView({ block: "nearest" });
    const position = `Position after turn ${turns} of ${rows.length}; press → to return`;
    this.showMessage([position, news].filter(Boolean).join(" · "));
  }

  showStatus() {
    const { result, remark, summary, games_ahead: gamesAhead } = this.state;
    const isOwn = this.ownSeat !== undefined;
    const parts = [this.describeStanding()];
    if (result) {
      if (isOwn) parts[0] += `: ${result.explanation}`;
      if (result.detail && result.reason !== "time") parts[0] += ` (${result.detail})`;
      if (result.scores) parts.push(`scores ${result.scores.join(" – ")}`);
    } else {
      if (isOwn && this.isMine && remark) parts.push(remark);
      if (this.state.clocks && this.state.clocks_paused) parts.push("clocks start when both players have joined");
      if (this.state.pace === null) parts.push("paused");
      else if (!this.state.is_person) parts.push(gamesAhead ? `waiting for ${gamesAhead} other ${gamesAhead === 1 ? "game" : "games"}` : "thinking …");
    }
    for (const { field, status } of OFFERS) {
      if (this.state[field] !== null) parts.push(sentence(this.subject(this.state[field]), ...status));
    }
    if (this.notice) parts.push(this.notice);
    this.showMessage(parts.join(" · "), Boolean(this.notice));
    find("summary").textContent = summary;
    this.announce();
  }

  showMessage(text, isError = false) {
    const status = find("status");
    status.textContent = text;
    status.classList.toggle("error", isError);
  }

  /** Announce a new decision to screen readers. */
  announce() {
    const { decisions, last_decision: decision } = this.state;
    if (this.announcedDecisions !== undefined && decisions > this.announcedDecisions && decision) {
      const { player, text } = decision;
      find("announcements").textContent = `${this.setting.players[player]}, ${this.names[player]}: ${text}`;
    }
    this.announcedDecisions = decisions;
  }

  showPresence(seats) {
    this.presentSeats = seats;
    if (this.state) this.showSeats();
    this.showInvitation();
  }

  /** Put the link for the other player first until that player has joined. */
  showInvitation() {
    const isWaiting = this.hasInvitation && this.state && !this.state.decisions
      && [0, 1].some((player) => !this.seats.includes(player) && this.isAway(player));
    find("side").classList.toggle("inviting", Boolean(isWaiting));
  }

  /** Copy a link; select it if the browser denies access to the clipboard. */
  async copyLink(input, button) {
    input.select();
    try {
      await navigator.clipboard.writeText(input.value);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    } catch {
      this.showMessage("copy the selected link");
    }
  }

  /** Show links, [label, hash]; the last one is for spectators. */
  showLinks(links) {
    this.hasInvitation = links.length > 1;
    const rows = links.map(([label, hash]) => {
      const input = element("input", { readOnly: true, value: location.href.split("#")[0] + hash });
      input.addEventListener("focus", () => input.select());
      const copy = button("Copy", () => this.copyLink(input, copy));
      return element("div", {}, element("label", {}, label, input), copy);
    });
    find("links").replaceChildren(...rows);
  }
}
