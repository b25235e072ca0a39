// A game: its board and panels, the messages of the server, and past positions.

import { Board, capitalize, element, find, pressedKey, toTitle } from "./board.js";
import { Connection } from "./connection.js";
import { enterGame } from "./create.js";
import { showEndCard, showNewGames } from "./end.js";
import { showExports } from "./export.js";
import { findGame, updateGame } from "./games.js";
import { countResult, levelOf } from "./ladder.js";
import { drawOverlay } from "./overlay.js";
import { Pace } from "./pace.js";
import { Panels, SHORTCUTS } from "./panels.js";
import { isOn, playSound } from "./settings.js";

const HINT_COLOR = "#1d6b3c";
const HINT_WIDTH = 9;
const THREAT_COLOR = "#b3261e";
const THREAT_WIDTH = 7;
let gameView = null;

/** Show a game with the seats of `tokens`; `links` are the tokens of other players. */
export function show(game, tokens, links) {
  gameView = new GameView(game, tokens, links);
}

export function hide() {
  gameView?.connection.close();
  gameView = null;
  find("more").hidePopover();
}

class GameView {
  constructor(game, tokens, links) {
    Object.assign(this, { game, tokens, links });
    this.connection = new Connection(game, tokens, (message) => this[`on_${message.type}`]?.(message));
  }

  // Messages of the server

  on_welcome({ setting, seats, request, is_owner: isOwner, assistance, exports }) {
    Object.assign(this, { seats, request });
    find("connection-alert").hidden = true;
    find("header-title").textContent = find("game-title").textContent = toTitle(setting.game);
    find("rules-link").hidden = false;
    find("rules-link").href = `#/learn/${setting.game}`;
    if (this.board) {
      // There is no animation after a reconnection.
      if (this.isViewingPast) this.connection.query("view_turn", { turns: this.turns });
      else this.board.state = null;
      return;
    }
    const showError = (reason) => this.panels.showMessage(reason, true);
    this.board = new Board(find("board"), setting, (action) => this.play(action), showError);
    this.board.takeSide(seats);
    const permissions = { seats, assistance, canRematch: seats.length > 0 || isOwner };
    this.panels = new Panels(setting, permissions, (name, fields) => this.execute(name, fields));
    if (isOwner) this.pace = new Pace((command, fields) => this.send(command, fields));
    showExports(this.game, exports, showError);
    const nameSeat = (seat) => (this.links.length > 1 ? setting.players[seat] : "the other player");
    const invitations = this.links.map((token, seat) => [`Link for ${nameSeat(seat)}`, `#/${this.game}/${token}`]);
    const links = [["Link for spectators", `#/${this.game}`]];
    if (seats.length) links.push(["Your own seat, for another device: a secret", ["#", this.game, ...this.tokens].join("/")]);
    this.panels.showLinks(invitations, links);
  }

  on_state(state) {
    if (this.state?.decisions < state.decisions) {
      playSound(state.result ? "end" : state.last_decision.captured.length ? "capture" : "move");
    }
    const { state: before, isViewingPast } = this;
    if (before?.version !== state.version) this.panels.notice = "";
    const keptTurns = before?.turns.slice(0, state.turns_from) ?? [];
    this.state = { ...state, turns: [...keptTurns, ...state.turns] };
    if (!state.result) this.hasOfferedRematch = false;
    if (isViewingPast && this.isPastUnchanged(before)) this.showPastWithNews();
    else this.showPresent();
    this.pace?.show(this.state);
    if (state.result && before && !before.result) this.countResult();
    this.storeStanding();
    this.showEnd();
    document.title = this.title;
    find("move-form").hidden = !this.seats.length || Boolean(state.result);
    find("game").hidden = false;
    if (!before) {
      this.panels.markTurn(this.turns);
      showNewGames(find("new-games"), this);
    }
    if (!before && document.activeElement === document.body) find("game-title").focus({ preventScroll: true });
    // The display is complete.
    find("game").dataset.decisions = state.decisions;
  }

  /** Show the card of a finished game. */
  showEnd() {
    find("end-card").hidden = true;
    if (!this.state.result) return;
    showEndCard(find("end-card"), this);
    this.panels.markTurn(this.turns);
  }

  /** Count the end of a game against an opponent of the ladder. */
  countResult() {
    const { panels, state } = this;
    const { game, rungs } = panels.setting;
    if (panels.ownSeat === undefined) return;
    countResult(game, this.game, levelOf(state.seats[1 - panels.ownSeat]), panels.ownScore, rungs);
  }

  /** Store the standing for the list of games, which a client without a seat does not need. */
  storeStanding() {
    const { panels, state } = this;
    const { version, result } = state;
    const { tokens, links } = this;
    if (!tokens.length || findGame(this.game)?.version === version) return;
    const [opponent] = panels.names.filter((name) => name !== "you");
    const { game: kind } = panels.setting;
    const standing = panels.describeStanding();
    updateGame(this.game, { tokens, links, kind, opponent, version, standing, isOver: Boolean(result), pieces: state.pieces, player: panels.ownSeat, seats: state.seats, options: panels.setting.options });
  }

  /** The title of the page: whose turn it is or the result; for spectators also the players. */
  get title() {
    const { panels } = this;
    const isOwn = panels.ownSeat !== undefined;
    const mark = isOwn && panels.isMine ? "● " : "";
    const players = isOwn ? "" : `${panels.names.join(" – ")}: `;
    return `${mark}${players}${panels.describeStanding()} – ${toTitle(panels.setting.game)}`;
  }

  on_past_state({ turns, trays, ...board }) {
    // Another turn has been selected since.
    if (turns !== this.turns) return;
    this.board.show({ ...this.state, ...board, decisions: -1 }, false);
    drawOverlay(this.board);
    find("off-board").replaceChildren();
    this.pastTrays = trays;
    this.panels.showPast(turns, trays, this.newsSincePast);
  }

  on_presence({ seats, names }) {
    this.panels.showPresence(seats, names);
    if (this.state) document.title = this.title;
  }

  on_queue({ games_ahead: gamesAhead }) {
    this.state.games_ahead = gamesAhead;
    this.panels.showStatus();
  }

  on_hint({ action, text }) {
    const choice = this.board.choices.find((choice) => choice.action === action);
    if (choice?.cell) drawOverlay(this.board, [{ from: choice.pieces[0], to: choice.cell, color: HINT_COLOR, width: HINT_WIDTH }]);
    this.panels.showMessage(`Hint: ${text.trim()}`);
  }

  /** Show what a typed text may mean: a selected piece, or several choices. */
  on_candidates({ piece, actions }) {
    if (piece) {
      this.board.selected = piece;
      this.board.drawMarks();
      this.panels.showMessage("Where to?");
    } else {
      const choices = this.board.choices.filter((choice) => actions.includes(choice.action));
      this.board.closeMenu();
      this.board.openMenu(choices, choices[0].cell);
    }
  }

  on_rematch({ game }) {
    this.rematch = game;
    if (this.hasOfferedRematch) this.goToRematch();
    else this.panels.showRematch();
  }

  on_declined({ offer, player }) {
    if (offer === "rematch") this.hasOfferedRematch = false;
    this.panels.showDeclined(offer, player);
  }

  on_error({ reason, final }) {
    if (final) {
      find("game").hidden = true;
      const alert = find("connection-alert");
      alert.hidden = false;
      alert.classList.add("final");
      const heading = element("h1", { textContent: capitalize(reason) });
      alert.replaceChildren(heading, element("a", { href: "#", textContent: "Start a new game" }));
      return;
    }
    if (!this.board) return;
    this.board.cancelDrag();
    this.panels.showMessage(reason, true);
  }

  on_connection_lost({ label }) {
    find("connection-alert").textContent = `Connection lost; reconnecting${label ? ` to send ${label}` : ""} …`;
    find("connection-alert").hidden = false;
  }

  on_command_abandoned({ name, label }) {
    const done = name.startsWith("play") ? "played" : "executed";
    this.panels.notice = `${label} not ${done}, unless it appears after reconnecting`;
    this.showPresent();
  }

  // The present, and past positions

  get isViewingPast() {
    return this.turns < this.state?.turns.length;
  }

  /** Return whether the turns up to the viewed position are the same as in an earlier state. */
  isPastUnchanged(before) {
    const { turns } = this.state;
    return this.turns < turns.length && before.turns.slice(0, this.turns).every(([, text], index) => text === turns[index][1]);
  }

  showPresent() {
    const { state } = this;
    this.turns = state.turns.length;
    this.board.show(state, state.is_person && this.seats.includes(state.mover));
    this.showThreat();
    this.panels.show(state, this.board.isFlipped);
    find("off-board").replaceChildren(...this.board.offBoardButtons());
  }

  /** Show what a weak opponent threatens, if the person wants to see it. */
  showThreat() {
    const { threat } = this.state;
    find("threats").hidden = !threat;
    if (!threat?.length || !isOn("threats")) return drawOverlay(this.board);
    const [from, to] = threat.length === 2 ? threat : [null, threat[0]];
    return drawOverlay(this.board, [{ from, to, color: THREAT_COLOR, width: THREAT_WIDTH, isDashed: true }]);
  }

  /** Update the panels while the board keeps showing a past position. */
  showPastWithNews() {
    this.panels.show(this.state, this.board.isFlipped);
    this.panels.showPast(this.turns, this.pastTrays, this.newsSincePast);
  }

  /** What has happened since a past position was selected: a new turn, a result, or "". */
  get newsSincePast() {
    const { state, stateBeforePast } = this;
    if (state.result && !stateBeforePast.result) return "the game is over";
    return state.turns.length > stateBeforePast.turns.length ? "new move" : "";
  }

  /** Show the position after a number of turns. */
  viewTurn(turns) {
    if (turns < 0) return;
    if (turns < this.state.turns.length) {
      if (!this.isViewingPast) this.stateBeforePast = this.state;
      this.turns = turns;
      this.connection.query("view_turn", { turns });
    } else if (this.isViewingPast) this.showPresent();
  }

  // Commands

  send(command, fields = {}, label = command.replace("_", " ")) {
    this.panels.notice = "";
    this.connection.send(command, fields, label);
  }

  play(action) {
    this.board.closeMenu();
    const choice = this.state.choices.find(([id]) => id === action);
    this.send("play", { action, version: this.state.version }, choice?.[1].trim());
  }

  playText(text) {
    const piece = this.board.selected;
    this.send("play_text", { text, piece, version: this.state.version }, text);
  }

  /** Execute a button's or key's command. */
  execute(name, fields) {
    if (this.isViewingPast) this.showPresent();
    if (name === "rematch") this.hasOfferedRematch = true;
    if (name === "analyze") location.hash = `#/analyze/${this.game}`;
    else if (name === "rematch" && this.rematch) this.goToRematch();
    else if (name === "flip") {
      this.board.flip();
      this.panels.show(this.state, this.board.isFlipped);
    } else this.send(name, { version: this.state.version, ...fields });
  }

  goToRematch() {
    enterGame(this.rematch, this.tokens, this.links);
  }
}

find("move-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = event.target.elements.text;
  if (input.value.trim()) gameView?.playText(input.value.trim());
  input.value = "";
  find("more").hidePopover();
});

find("moves").addEventListener("click", ({ target, currentTarget }) => {
  const index = [...currentTarget.children].indexOf(target.closest("li"));
  if (index >= 0) gameView?.viewTurn(index + 1);
});

document.addEventListener("keydown", (event) => {
  const key = gameView?.state && pressedKey(event);
  if (!key) return;
  const command = Object.keys(SHORTCUTS).find((name) => SHORTCUTS[name] === key);
  const step = { ArrowLeft: -1, ArrowRight: gameView.isViewingPast ? 1 : 0 }[key];
  if (command) gameView.panels.press(command);
  else if (step) gameView.viewTurn(gameView.turns + step);
  else if (gameView.pace?.onKey(key)) event.preventDefault();
});

find("threats").addEventListener("change", () => gameView?.showPresent());
addEventListener("playername", () => gameView?.connection.rejoin());
addEventListener("blur", () => gameView?.board?.cancelDrag());
