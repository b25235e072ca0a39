// The panels beside the board: seats with clocks, moves, messages, buttons and links.

import { button, capitalize, control, element, find, renderShape, svgElement, updateTabStop } from "./board.js";
import { OTHER_PLAYER, describeStanding } from "./games.js";
import { describePlayer } from "./ladder.js";
import { playerName } from "./settings.js";

const LOW_CLOCK_SECONDS = 10;
const CLOCK_INTERVAL_MS = 200;
// Time after which a win can be claimed against a player who has left.
const CLAIM_DELAY_MS = 61000;
// Turns after which a declined offer can be repeated.
const TURNS_TO_REOFFER = 2;
// Controls beside "More".
const MAX_CONTROLS = 4;


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
    Object.assign(this, { ...permissions, setting, execute, presentSeats: [], playerNames: [], notice: "", reoffers: {} });
    this.makeButtons();
    clearInterval(Panels.clockTimer);
    clearTimeout(Panels.claimTimer);
    Panels.clockTimer = setInterval(() => this.showClocks(), CLOCK_INTERVAL_MS);
  }

  makeButtons() {
    this.buttons = {
      take_back: control("↶", "Undo", () => this.execute("take_back"), SHORTCUTS.take_back),
      hint: control("✧", "Hint", () => this.execute("hint"), SHORTCUTS.hint),
      draw: control("½", "Draw", () => this.execute("draw"), null, { title: "offer a draw" }),
      resign: control("⚑", "Resign", () => this.resign()),
      more: control("⋯", "More", () => {}),
      flip: control("⇅", "Flip", () => this.execute("flip"), SHORTCUTS.flip),
      rematch: button("Rematch", () => this.execute("rematch"), { title: "seats swapped" }),
      analyze: control("∿", "Analyze", () => this.execute("analyze"), null, { title: "step through the game, with evaluations by a player" }),
    };
    this.buttons.more.setAttribute("popovertarget", "more");
    find("buttons").replaceChildren(this.buttons.more);
  }

  /** Press a button by its key. */
  press(name) {
    const { [name]: node } = this.buttons;
    if (node.hidden || node.disabled) this.showMessage(`${node.lastChild.textContent} is not possible now`);
    else node.click();
  }

  /** Place the first available controls in the row below, the other ones in the panel More. */
  placeButtons() {
    const { take_back: takeBack, hint, draw, resign, flip, analyze, more } = this.buttons;
    const controls = [takeBack, hint, draw, resign, flip, analyze].filter((node) => !node.hidden);
    const row = [...controls.slice(0, MAX_CONTROLS), more];
    // Nodes that are placed again lose the focus.
    if (row.every((node, index) => node === find("buttons").children[index])) return;
    find("buttons").replaceChildren(...row);
    find("more-buttons").replaceChildren(...controls.slice(MAX_CONTROLS));
  }

  /** Resign at the second click; the question is withdrawn when the button loses the focus. */
  resign() {
    const { resign } = this.buttons;
    const word = resign.lastChild;
    if (word.textContent === "Resign") {
      word.textContent = "Really resign?";
      // Not every browser focuses a clicked button.
      resign.focus();
      resign.addEventListener("blur", () => (word.textContent = "Resign"), { once: true });
    } else {
      resign.blur();
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
    const isBetweenPeople = state.seats.every((name) => name === "human") && this.seats.length < 2;
    const { take_back: takeBack, hint, draw, resign, rematch, analyze } = this.buttons;
    takeBack.hidden = isSpectator || (isOver && isBetweenPeople);
    hint.hidden = isSpectator || isOver || !this.assistance;
    draw.hidden = resign.hidden = isSpectator || isOver;
    analyze.hidden = !isOver && !this.assistance;
    takeBack.disabled = !state.decisions || state.take_back_requested_by !== null || this.mustWait("take_back");
    hint.disabled = isOver || !this.isMine;
    draw.disabled = state.draw_offered_by !== null || this.mustWait("draw");
    rematch.disabled = state.rematch_offered_by !== null;
    this.placeButtons();
  }

  /** Whether a declined offer cannot be repeated yet. */
  mustWait(offer) {
    return this.state.turns.length < this.reoffers[offer];
  }

  /** Show buttons to accept and decline the offers of the other player. */
  showOffers() {
    const offers = OFFERS.filter(({ field }) => this.state[field] !== null && this.seats.some((seat) => seat !== this.state[field]));
    const buttons = offers.flatMap(({ offer, accept, decline }) => [
      button(accept, () => this.execute(offer), { className: "main" }),
      button(decline, () => this.execute("decline", { offer })),
    ]);
    if (this.canClaim && !this.state.result) buttons.push(button("Claim the win", () => this.execute("claim")));
    find("offers").replaceChildren(...buttons);
  }

  showDeclined(offer, player) {
    if (player !== this.ownSeat) this.reoffers[offer] = this.state.turns.length + TURNS_TO_REOFFER;
    this.showButtons();
    this.showMessage(sentence(this.subject(player), "decline", `the ${offer === "take_back" ? "undo" : offer}`));
  }

  /** Turn the rematch button into a link to the rematch. */
  showRematch() {
    Object.assign(this.buttons.rematch, { textContent: "Go to the rematch", disabled: false });
    this.canRematch = true;
  }

  get isMine() {
    return this.state.is_person && this.seats.includes(this.state.mover);
  }

  /** The names of both players. */
  get names() {
    const otherName = this.seats.length ? OTHER_PLAYER : "person";
    const { rungs } = this.setting;
    return this.state.seats.map((name, player) =>
      name !== "human" ? describePlayer(name, rungs).split(", ")[0] : this.seats.includes(player) ? "you" : this.playerNames[player] || otherName);
  }

  /** The seat of a client with one seat, which texts call "you"; undefined for others. */
  get ownSeat() {
    return this.seats.length === 1 ? this.seats[0] : undefined;
  }

  /** Return "you", the name of a player, or the color of one without a name. */
  subject(player) {
    if (player === this.ownSeat) return "you";
    const isNamed = this.state.seats[player] !== "human" || this.playerNames[player];
    // Two players of one name have their colors.
    return isNamed && this.names[0] !== this.names[1] ? this.names[player] : this.setting.players[player];
  }

  /** Return whose turn it is, or the result, in a few words. */
  describeStanding() {
    const { result, mover, is_person: isPerson } = this.state;
    if (!result && this.ownSeat !== undefined && !isPerson) return `${this.names[mover]} is thinking …`;
    return describeStanding(this.ownSeat, { mover, outcome: result?.outcome, is_over: Boolean(result) }, [0, 1].map((player) => this.subject(player)));
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

  showSeats(trays = this.state.trays) {
    const { top, colors, players, rungs } = this.setting;
    const bottomPlayer = this.isFlipped ? top : 1 - top;
    for (const [id, player] of [["bottom-seat", bottomPlayer], ["top-seat", 1 - bottomPlayer]]) {
      const [fill, rim] = colors[player];
      const stone = svgElement("svg", { viewBox: "0 0 20 20", class: "stone", role: "img", "aria-label": players[player] });
      stone.append(renderShape(["disc", 10, 10, 8.5, fill, rim, 2]));
      const [, level] = describePlayer(this.state.seats[player], rungs).split(", ");
      const parts = [
        stone,
        element("span", { className: "name", textContent: capitalize(this.names[player]) }),
        element("span", { className: "detail", textContent: this.isAway(player) ? "away" : level ?? "" }),
        this.renderTray(player, trays[player]),
      ];
      if (this.state.clocks) parts.push(element("span", { className: "clock", id: `clock${player}` }));
      find(id).replaceChildren(...parts);
      find(id).classList.toggle("to-move", !this.state.result && this.state.mover === player);
    }
    this.showClocks();
  }

  /** Return a player's captures and pieces in hand as small pieces. */
  renderTray(player, [captured, hand]) {
    const { figures, owners, margin, cell, players } = this.setting;
    const ownLetter = Object.keys(owners).find((letter) => owners[letter] === player);
    const texts = [hand && `${hand} in hand`, captured && `${captured.length} ${players[1 - player]} captured`].filter(Boolean);
    const tray = element("span", { className: "tray", title: texts.join(", "), role: "img", ariaLabel: texts.join(", ") || "nothing captured" });
    for (const [letters, className] of [[ownLetter.repeat(hand), "hand"], [captured, "captured"]]) {
      for (const letter of letters) {
        const piece = svgElement("svg", { viewBox: `${margin} ${margin} ${cell} ${cell}`, class: className, preserveAspectRatio: "xMinYMid slice" });
        piece.append(...figures[letter].map(renderShape));
        tray.append(piece);
      }
    }
    return tray;
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
      // Evaluations are for those who watch.
      if (value !== null && !this.seats.length) {
        const sign = value > 0 ? "+" : "";
        const title = `${players[player]}'s evaluation, from the view of ${players[0]}: 1 win, 0 draw, -1 loss`;
        row.append(element("span", { className: "value", title, textContent: sign + value.toFixed(2) }));
      }
      return row;
    });
    const list = find("moves");
    list.replaceChildren(...rows);
    this.markTurn(rows.length);
  }

  /** Mark the turn that the board shows, and scroll the list to it but not the page. */
  markTurn(turns) {
    const list = find("moves");
    [...list.children].forEach((row, index) => row.setAttribute("aria-current", index === turns - 1));
    const row = list.children[Math.max(0, turns - 1)];
    if (row) list.scrollTo(row.offsetLeft - list.clientWidth / 2, row.offsetTop - list.clientHeight / 2);
  }

  /** Mark the turn of the past position on the board, and show what has happened since. */
  showPast(turns, trays, news = "") {
    this.markTurn(turns);
    this.showSeats(trays);
    const position = `Position after turn ${turns} of ${this.state.turns.length}; press → to return`;
    this.showMessage([position, news].filter(Boolean).join(" · "));
  }

  showStatus() {
    find("status").textContent = this.describeStanding();
    this.showMessage(this.describeSituation(), Boolean(this.notice));
    find("summary").textContent = this.state.summary || "no statistics";
    this.announce();
  }

  /** Return what there is to know about the turn or the result. */
  describeSituation() {
    const { result, remark, games_ahead: gamesAhead } = this.state;
    const isOwn = this.ownSeat !== undefined;
    const parts = [];
    if (result) {
      parts.push(this.explainResult());
      if (result.scores) parts.push(`points: ${[0, 1].map((player) => `${this.subject(player)} ${result.scores[player]}`).join(", ")}`);
    } else {
      if (remark && !(isOwn && !this.isMine)) parts.push(remark);
      if (this.state.clocks && this.state.clocks_paused) parts.push("clocks start when both players have joined");
      if (this.state.pace === null) parts.push("paused");
      else if (!this.state.is_person && gamesAhead) parts.push(`waiting for ${gamesAhead} other ${gamesAhead === 1 ? "game" : "games"}`);
      else if (!this.state.is_person && !isOwn) parts.push("thinking …");
    }
    for (const { field, status } of OFFERS) {
      if (this.state[field] !== null) parts.push(sentence(this.subject(this.state[field]), ...status));
    }
    return [...parts, this.notice].filter(Boolean).join(" · ");
  }

  /** Return the reason of the result, with the names of the players and the last turn. */
  explainResult() {
    const { result: { explanation, detail, reason }, turns } = this.state;
    const text = explanation.replace(/\{([01])\}/g, (_, player) => this.subject(Number(player)));
    if (/^(illegal|error)$/.test(reason)) return `${text} (${detail})`;
    return text === explanation || !turns.length ? text : `${text} on turn ${turns.length}`;
  }

  showMessage(text, isError = false) {
    const message = find("message");
    text = capitalize(text);
    // Screen readers announce a repeated text only if it differs.
    message.textContent = text && text === message.textContent ? `${text}\u00a0` : text;
    message.classList.toggle("error", isError);
    updateTabStop(message);
  }

  /** Announce a new decision or an undo to screen readers. */
  announce() {
    const { decisions, last_decision: decision } = this.state;
    const before = this.announcedDecisions;
    if (decisions > before && decision) find("announcements").textContent = `${capitalize(this.names[decision.player])}: ${decision.text}`;
    else if (decisions < before) find("announcements").textContent = `Undone. ${this.describeStanding()}`;
    this.announcedDecisions = decisions;
  }

  showPresence(seats, playerNames) {
    Object.assign(this, { presentSeats: seats, playerNames });
    this.canClaim = false;
    clearTimeout(Panels.claimTimer);
    if (this.state) {
      this.showSeats();
      this.showOffers();
      find("status").textContent = this.describeStanding();
      if (this.ownSeat !== undefined && this.isAway(1 - this.ownSeat)) Panels.claimTimer = setTimeout(() => this.offerClaim(), CLAIM_DELAY_MS);
    }
    this.showInvitation();
  }

  offerClaim() {
    this.canClaim = true;
    this.showOffers();
  }

  /** Show the link for the other player until that player has joined, who may enter a name. */
  showInvitation() {
    const isWaiting = this.hasInvitation && this.state && !this.state.decisions
      && [0, 1].some((player) => !this.seats.includes(player) && this.isAway(player));
    find("invitation").hidden = !isWaiting;
    const isInvited = !this.hasInvitation && this.ownSeat !== undefined && this.state?.seats.every((name) => name === "human");
    find("own-name").hidden = !isInvited || this.state.decisions > 1 || Boolean(playerName());
  }

  /** Copy a link; select it if the browser denies access to the clipboard. */
  async copyLink(input, button) {
    input.select();
    try {
      await navigator.clipboard.writeText(input.value);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    } catch {
      this.showMessage("Copy the selected link");
    }
  }

  /** Show links, [label, hash]; the invitations also beside the board. */
  showLinks(invitations, links) {
    this.hasInvitation = invitations.length > 0;
    find("links").replaceChildren(...[...invitations, ...links].map((link) => this.renderLink(...link)));
    find("invitation").replaceChildren(...invitations.map((link) => this.renderLink(...link)));
  }

  renderLink(label, hash) {
    const input = element("input", { readOnly: true, value: location.href.split("#")[0] + hash });
    input.addEventListener("focus", () => input.select());
    const copy = button("Copy", () => this.copyLink(input, copy));
    return element("div", {}, element("label", {}, label, input), copy);
  }
}
