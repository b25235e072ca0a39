// The page: #/GAME/TOKEN/TOKEN is a game with the seats that one holds, # the form that begins one,
// #/new/KIND the form for a kind of game, #/learn/KIND/NUMBER how to play it,
// #/analyse the analysis, #/analyse/GAME/TOKEN/TOKEN of a game.

import { Board, element, titled } from "./board.js";
import { Connection } from "./connection.js";
import { showExports } from "./export.js";
import { leaveLessons, showLessons } from "./learn.js";
import { Pace } from "./pace.js";
import { KEYS, Panels } from "./panels.js";
import { sound } from "./settings.js";
import { kept, showForm } from "./start.js";

const find = (name) => document.getElementById(name);
let table = null; // what is shown: connection, board, panels
let analysis = null; // its module, which is loaded when it is first wanted

async function showAnalysis(room, tokens) {
  analysis ??= await import("./analysis.js");
  if (location.hash.startsWith("#/analyse")) analysis.showStudy(room, tokens);
}

function show() {
  const [, place, ...rest] = location.hash.split("/");
  const game = ["learn", "new", "analyse"].includes(place) ? null : place;
  table?.connection.close();
  table = null;
  find("lost").hidden = true;
  find("lost").classList.remove("final");
  find("game").hidden = true; // until the state of the new game is there
  delete find("game").dataset.decisions;
  find("pace").hidden = true;
  find("start").hidden = true;
  find("where").textContent = "";
  find("rules").hidden = true;
  find("learn").hidden = place !== "learn";
  document.title = "cc_env";
  scrollTo(0, 0); // the button that led here may have been far down
  if (place !== "learn") leaveLessons();
  analysis?.hideStudy();
  if (game) table = new Table(game, rest);
  else if (place === "learn") showLessons(...rest);
  else if (place === "analyse") showAnalysis(rest[0], rest.slice(1));
  else showForm(begin, rest[0]);
}

function begin({ game, tokens, owner }) {
  if (owner) {
    location.hash = `#/${game}/${owner}`;
    return;
  }
  const mine = kept(tokens);
  const others = tokens.filter((token, seat) => token && !mine.includes(seat));
  sessionStorage.setItem(`links ${game}`, JSON.stringify(others));
  location.hash = ["#", game, ...mine.map((seat) => tokens[seat])].join("/");
}

class Table {
  constructor(game, tokens) {
    this.game = game;
    this.tokens = tokens;
    this.connection = new Connection(game, tokens, (message) => this[`on_${message.type}`]?.(message));
  }

  on_welcome({ setting, seats, is_owner, assistance, exports }) {
    this.seats = seats;
    find("lost").hidden = true;
    find("where").textContent = find("game-title").textContent = titled(setting.game);
    find("rules").hidden = false;
    find("rules").href = `#/learn/${setting.game}`;
    if (this.board) {
      if (!this.isBack) this.board.state = null; // nothing moves on after a lost connection
      return;
    }
    this.board = new Board(find("board"), setting, (action) => this.play(action), (why) => this.panels.say(why, true));
    this.board.svg.addEventListener("mousedown", (event) => event.preventDefault()); // arrow keys look back
    if (seats.length === 1 && setting.top === seats[0]) this.board.flip();
    const rights = { seats, assistance, mayRematch: seats.length > 0 || is_owner };
    this.panels = new Panels(setting, rights, (what, values) => this.ask(what, values));
    if (is_owner) this.pace = new Pace((what, values) => this.connection.ask(what, values));
    showExports(this.game, exports, (why, isWrong) => this.panels.say(why, isWrong));
    const others = JSON.parse(sessionStorage.getItem(`links ${this.game}`) ?? "[]");
    const links = others.map((token) => ["Link for the other player", `#/${this.game}/${token}`]);
    this.panels.showLinks([...links, ["Link for onlookers", `#/${this.game}`]]);
  }

  on_state(state) {
    if (this.state?.decisions + 1 === state.decisions) {
      sound(state.result ? "end" : state.moved.captured.length ? "capture" : "move");
    }
    const { state: before, isBack } = this;
    const known = before?.turns.slice(0, state.turns_from) ?? [];
    this.state = { ...state, turns: [...known, ...state.turns] };
    if (!state.result) this.wantsRematch = false;
    if (isBack && this.isStillBack(before)) this.showChangeBehind();
    else this.showNow();
    this.pace?.show(this.state);
    document.title = `${this.panels.names.join(" – ")}, ${find("where").textContent}`;
    find("typed").hidden = !this.seats.length || Boolean(state.result);
    find("game").hidden = false;
    if (!before && document.activeElement === document.body) find("game-title").focus({ preventScroll: true });
    find("game").dataset.decisions = state.decisions; // now all is shown
  }

  /** Return whether the turns up to the one that is looked back at are as they were before. */
  isStillBack(before) {
    const { turns } = this.state;
    return this.turns < turns.length && before.turns.slice(0, this.turns).every(([, text], place) => text === turns[place][1]);
  }

  /** Show that the game went on while the board shows an earlier position. */
  showChangeBehind() {
    this.panels.show(this.state, this.board.isFlipped);
    this.panels.showPast(this.turns, this.changeBehind);
  }

  /** What has changed in the game since an earlier position was selected: "" without a new turn or a result. */
  get changeBehind() {
    const { state, presentState } = this;
    if (state.result && !presentState.result) return "the game is over";
    return state.turns.length > presentState.turns.length ? "new move" : "";
  }

  showNow() {
    const { state } = this;
    this.turns = state.turns.length;
    this.board.show(state, state.is_person && this.seats.includes(state.mover));
    this.panels.show(state, this.board.isFlipped);
    find("words").replaceChildren(...this.board.words());
  }

  get isBack() {
    return this.turns < this.state?.turns.length;
  }

  /** Show how the board stood after a number of turns. */
  lookBack(turns) {
    if (turns < 0) return;
    if (turns < this.state.turns.length) {
      if (!this.isBack) this.presentState = this.state;
      this.turns = turns;
      this.connection.ask("look_back", { turns });
    } else if (this.isBack) this.showNow();
  }

  on_past({ turns, ...board }) {
    if (turns !== this.turns) return; // it is no longer wanted
    this.board.show({ ...this.state, ...board, decisions: -1 }, false);
    find("words").replaceChildren();
    this.panels.showPast(turns, this.changeBehind);
  }

  on_present({ seats }) {
    this.panels.showPresence(seats);
  }

  on_queue({ ahead }) {
    this.state.ahead = ahead;
    this.panels.showStatus();
  }

  on_hint({ by, action, text }) {
    this.board.hint(action);
    this.panels.say(`${by} would play ${text.trim()}`);
  }

  on_meant({ piece, several }) {
    if (piece) {
      this.board.selected = piece;
      this.board.mark();
      this.panels.say("where to?");
    } else {
      const choices = this.board.choices.filter((choice) => several.includes(choice.action));
      this.board.close();
      this.board.inquire(choices, choices[0].cell);
    }
  }

  /** Go to the rematch if it was wanted here; else offer a way to it. */
  on_next({ game }) {
    this.next = game;
    if (this.wantsRematch) this.goToRematch();
    else this.panels.showRematch();
  }

  goToRematch() {
    location.hash = ["#", this.next, ...this.tokens].join("/");
  }

  on_declined({ offer, player }) {
    if (offer === "rematch") this.wantsRematch = false;
    this.panels.showDeclined(offer, player);
  }

  on_refused({ why, final }) {
    if (final) {
      find("game").hidden = true;
      find("lost").hidden = false;
      find("lost").classList.add("final");
      find("lost").replaceChildren(`${why}. `, element("a", { href: "#", textContent: "Begin a new game" }));
      return;
    }
    this.board.drop();
    this.panels.say(why, true);
  }

  on_lost() {
    find("lost").textContent = "The connection is lost; trying again …";
    find("lost").hidden = false;
  }

  play(action) {
    this.board.close();
    this.connection.ask("play", { action, version: this.state.version });
  }

  ask(what, values) {
    if (this.isBack) this.showNow();
    if (what === "rematch") this.wantsRematch = true;
    if (what === "start") location.hash = "";
    else if (what === "analyse") location.hash = ["#/analyse", this.game, ...this.tokens].join("/");
    else if (what === "rematch" && this.next) this.goToRematch();
    else if (what === "flip") {
      this.board.flip();
      this.panels.show(this.state, this.board.isFlipped);
    } else this.connection.ask(what, { version: this.state.version, ...values });
  }

  say(text) {
    const piece = this.board.selected;
    this.connection.ask("say", { text, piece, version: this.state.version });
  }
}

find("typed").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = event.target.elements.text;
  if (input.value.trim()) table?.say(input.value.trim());
  input.value = "";
});

find("moves").addEventListener("click", ({ target, currentTarget }) => {
  const row = [...currentTarget.children].indexOf(target.closest("li"));
  if (row >= 0) table?.lookBack(row + 1);
});

document.addEventListener("keydown", (event) => {
  if (!table?.state || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/INPUT|SELECT/.test(event.target.tagName)) return;
  const act = Object.keys(KEYS).find((what) => KEYS[what] === event.key);
  const step = { ArrowLeft: -1, ArrowRight: table.isBack ? 1 : 0 }[event.key];
  if (act) table.ask(act);
  else if (step && !event.defaultPrevented) table.lookBack(table.turns + step);
  else if (!event.defaultPrevented && !/BUTTON|SUMMARY/.test(event.target.tagName) && table.pace?.type(event.key)) {
    event.preventDefault();
  }
});

addEventListener("hashchange", show);
show();
