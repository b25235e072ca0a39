// The analysis page: #/analyse is a game or position that is brought, #/analyse/GAME one served here.
//
// It keeps a tree of turns; what a position holds, what is legal and how good it is says the server.

import { Board, button, element, titled } from "./board.js";
import { fetched } from "./connection.js";
import { COLOURS, drawGraph } from "./graph.js";
import { overlay } from "./overlay.js";
import { catalogued, field, filledOptions, spokenNames } from "./start.js";
import { Node, rows } from "./tree.js";

const find = (name) => document.getElementById(name);
const KEPT = "study"; // in sessionStorage: the tree, so that it is there after a reload
const GLANCE = 0.3; // seconds for a first answer, and for each turn of a game
const LONG = "minimax:seconds=60"; // as long as is asked for
const LINES = 3;
const ARROWS = 5;
const KEYS = { ArrowLeft: "back", ArrowRight: "forward", Home: "first", ArrowUp: "first", End: "last", ArrowDown: "last", f: "flip" };

let study = null;
let catalogue = null;

export async function showStudy(room, tokens) {
  find("study").classList.add("empty");
  find("bring").open = true;
  try {
    catalogue ??= await catalogued();
    fillGames();
    find("study").hidden = !location.hash.startsWith("#/analyse");
    const kept = room ? null : JSON.parse(sessionStorage.getItem(KEPT));
    if (room) begin(await fetched("/open", { room, tokens }), null, true);
    else if (kept) begin(await fetched("/open", kept.node), kept);
  } catch (error) {
    refuse(error);
  }
}

export function hideStudy() {
  study?.close();
  study = null;
  find("study").hidden = true;
}

function begin(opened, kept, atEnd = false) {
  study?.close();
  study = new Study(opened, kept);
  find("study").classList.remove("empty");
  find("bring").open = false;
  find("study-wrong").textContent = "";
  study.go(atEnd ? study.root.line.at(-1) : study.root);
  if (document.activeElement === document.body) find("study-heading").focus({ preventScroll: true });
}

function refuse(error) {
  if (error.name !== "AbortError") find("study-wrong").textContent = error.message;
}

/** Show how many games of a text were read, skipped and refused, and why. */
function showImported({ games, total, refused, refused_total: count }) {
  const [counts, details] = find("imported").children;
  find("imported").hidden = total === undefined; // not of a text
  if (find("imported").hidden) return;
  const skipped = total - games.length - count;
  counts.textContent = `${total} ${total === 1 ? "game" : "games"} in the text: ${games.length} read, ${skipped} skipped, ${count} refused`;
  details.hidden = !refused.length;
  details.firstChild.textContent = refused.length < count ? `The first ${refused.length} that were refused` : "Refused games";
  details.lastChild.replaceChildren(...refused.map(({ line, reason }) => element("li", { textContent: `line ${line}: ${reason}` })));
}

/** Return the winning chances of the first player in a game that is over. */
const chancesOf = ({ outcome }) => ({ 0: 100, 1: 0 })[outcome] ?? 50;

class Study {
  constructor(opened, kept) {
    const { game, options, start, setting, players, analysts, result, turns } = opened;
    Object.assign(this, { opened, setting, node: { game, options, start }, begun: [], isKept: !location.hash.split("/")[2] });
    this.root = this.current = new Node();
    this.known = new Map(); // what the server said, by question
    turns.reduce((node, [mover, text, actions]) => node.add(actions, text.trim(), mover), this.root);
    if (kept) this.root.restore(kept.tree);
    this.people = kept?.players ?? players;
    this.result = kept?.result ?? result;
    this.board = new Board(find("study-board"), setting, (action) => this.play(action), (why) => (find("study-status").textContent = why));
    this.board.svg.addEventListener("mousedown", (event) => event.preventDefault()); // arrow keys stay with the game
    document.title = `cc_env: analysis of ${titled(game)}`;
    find("where").textContent = find("study-heading").textContent = `Analysis of ${titled(game)}`;
    fillAnalysts(analysts);
    this.showHead();
    this.keep();
  }

  close() {
    this.asking?.abort();
    this.stop();
  }

  keep() {
    if (!this.isKept) return;
    const { node, people: players, result } = this;
    sessionStorage.setItem(KEPT, JSON.stringify({ node, players, result, tree: this.root.saved()[3] }));
  }

  showHead() {
    const { games, which } = this.opened;
    const who = this.people.some(Boolean) ? this.setting.players.map((colour, seat) => `${this.people[seat]} (${colour})`).join(" – ") : "";
    find("study-title").textContent = [who, this.result].filter(Boolean).join(" · ");
    find("which").parentNode.hidden = games.length < 2;
    find("which").replaceChildren(...games.map((title, value) => element("option", { value, textContent: title })));
    find("which").value = which;
    showImported(this.opened);
  }

  // Where we are

  async go(node, begun = []) {
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    find("study-wrong").textContent = "";
    const actions = [...node.actions, ...begun];
    try {
      const state = await this.ask("/look", { actions }, signal);
      Object.assign(this, { current: node, begun, state });
      this.show();
      await this.think(actions, signal);
    } catch (error) {
      if (this.state && error.name !== "AbortError") this.showAnalysis(null);
      refuse(error);
    }
  }

  async play(action) {
    this.board.close();
    const [node, turn] = [this.current, [...this.begun, action]];
    try {
      const state = await this.ask("/look", { actions: [...node.actions, ...turn] });
      if (state.mid_turn) return await this.go(node, turn);
      const [mover, text] = state.turns.at(-1);
      const child = node.add(turn, text.trim(), mover);
      this.keep();
      await this.go(child);
    } catch (error) {
      refuse(error);
    }
  }

  step(what) {
    const { current, begun } = this;
    const to = {
      back: begun.length ? current : current.parent,
      forward: current.children[0],
      first: this.root,
      last: current.line.at(-1),
    }[what];
    if (what === "flip") {
      this.board.flip();
      this.show();
    } else if (to) this.go(to);
  }

  remove() {
    const { current } = this;
    if (!current.parent) return;
    current.remove();
    this.keep();
    this.go(current.parent);
  }

  /** Ask the server about these decisions; what it said before is not asked again. */
  async ask(path, values, signal) {
    const body = { ...this.node, ...values };
    const question = path + JSON.stringify(values);
    if (!this.known.has(question)) this.known.set(question, await fetched(path, body, signal));
    return this.known.get(question);
  }

  // What players think

  get by() {
    return find("analyst").value;
  }

  get byName() {
    return find("analyst").selectedOptions[0].textContent;
  }

  async think(actions, signal) {
    if (this.state.result) this.current.chances = chancesOf(this.state.result);
    if (this.isSweeping || this.state.result || !Number(find("seconds").value)) return this.showAnalysis(null);
    this.showAnalysis(null, "thinking …");
    if (this.current.parent && !this.begun.length && !this.current.judged) await this.judge(this.current, signal);
    for (const seconds of [GLANCE, Number(find("seconds").value)]) {
      const analysis = await this.ask("/analyse", { actions, player: this.by, seconds }, signal);
      if (!this.begun.length) this.current.chances ??= analysis.chances;
      this.showAnalysis(analysis);
      this.showGraph();
    }
  }

  /** Find out how good the turn to a node was. */
  async judge(node, signal) {
    const before = node.parent;
    const question = { actions: before.actions, turn: node.turn, player: this.by, seconds: GLANCE };
    node.judged = await this.ask("/judge", question, signal);
    before.chances ??= node.judged.chances;
    this.showMoves();
  }

  async sweep() {
    if (this.isSweeping) return this.stop();
    this.asking?.abort();
    this.sweeping = new AbortController();
    const { signal } = this.sweeping;
    this.isSweeping = true;
    this.showButtons();
    try {
      const { line } = this.current; // all of it by the same player, in the same time
      for (const node of line) Object.assign(node, { judged: null, chances: null });
      for (const node of line.slice(1)) {
        await this.judge(node, signal);
        this.showGraph();
      }
      await this.finish(line.at(-1), signal);
    } catch (error) {
      refuse(error);
    }
    this.stop();
    if (study === this) this.go(this.current, this.begun);
  }

  /** Find out how the last position of a line stands. */
  async finish(node, signal) {
    const { actions } = node;
    const { result } = await this.ask("/look", { actions }, signal);
    if (result) node.chances = chancesOf(result);
    else node.chances ??= (await this.ask("/judge", { actions, player: this.by, seconds: GLANCE }, signal)).chances;
  }

  stop() {
    this.isSweeping = false;
    this.sweeping?.abort();
    if (study === this) this.showButtons();
  }

  // What is shown

  show() {
    const { state } = this;
    this.board.show(state, !state.result);
    find("study-words").replaceChildren(...this.board.words());
    this.showMoves();
    this.showGraph();
    this.showButtons();
    find("study-status").textContent = state.result?.text ?? state.caption;
    find("study-position").value = state.position;
    find("study").dataset.decisions = state.decisions; // now all but what is thought is shown
  }

  showAnalysis(analysis, said = "") {
    const { chances } = this.current;
    this.showGauge(analysis ? analysis.chances : this.begun.length ? null : chances);
    const moves = analysis?.moves ?? [];
    if (analysis) {
      said = [moves.length || analysis.chances !== null ? this.inWords(analysis.chances) : `${this.byName} gives no winning chances`, `best ${analysis.line[0]}`];
      if (analysis.depth) said.push(`depth ${analysis.depth}`);
      if (analysis.nodes) said.push(`${analysis.nodes.toLocaleString("en")} nodes`);
      if (this.heat && !analysis[this.heat].length) said.push(`${this.byName} has no heat map, mcts has one`);
      said = said.join(" · ");
    }
    find("study-said").textContent = said;
    find("study-lines").replaceChildren(...moves.slice(0, LINES).map((move) => this.row(move, ...move.line)));
    find("study-all").replaceChildren(...moves.map((move) => this.row(move, this.choice(move.action)?.text.trim() ?? "")));
    find("study-whose").textContent = moves.length ? `Best moves, with ${this.setting.players[this.state.mover]}'s winning chances` : "";
    this.analysis = analysis;
    this.showOverlay();
    find("study").dataset.depth = analysis?.depth ?? "";
  }

  inWords(chances) {
    const [first, second] = this.setting.players;
    if (Math.round(chances) === 50) return "even";
    return chances > 50 ? `${first} ${Math.round(chances)} %` : `${second} ${Math.round(100 - chances)} %`;
  }

  choice(action) {
    return this.board.choices.find((choice) => choice.action === action);
  }

  row(move, ...texts) {
    const chances = element("span", { className: `chances ${move.mark}`, textContent: `${Math.round(move.chances)} %`, title: move.mark });
    const row = button("", () => this.play(move.action));
    const turns = texts.flatMap((textContent, place) => [place ? " · " : "", element("span", { className: "turn", textContent })]);
    row.append(chances, element("span", {}, ...turns), element("span", { className: "visually-hidden", textContent: `, ${move.mark}` }));
    return element("li", {}, row);
  }

  showOverlay() {
    const { analysis } = this;
    const isArrows = find("overlay").value === "arrows";
    const arrows = isArrows && analysis ? analysis.moves.slice(0, ARROWS).map((move, rank) => this.arrow(move, rank)) : [];
    overlay(this.board, arrows.filter(Boolean), this.heat && analysis ? analysis[this.heat] : []);
  }

  /** Which heat map is wanted: "from", "to", or null. */
  get heat() {
    const what = find("overlay").value;
    return what === "from" || what === "to" ? what : null;
  }

  arrow({ action, mark }, rank) {
    const choice = this.choice(action);
    if (!choice?.cell) return null;
    return { from: choice.pieces[0], to: choice.cell, colour: COLOURS[mark], width: rank ? 5 : 9 };
  }

  showGauge(chances) {
    const { top, colours, players } = this.setting;
    const near = this.board.isFlipped ? top : 1 - top;
    const known = chances ?? 50;
    const gauge = find("gauge");
    gauge.style.setProperty("--near", colours[near][0]);
    gauge.style.setProperty("--far", colours[1 - near][0]);
    gauge.style.setProperty("--share", `${near ? 100 - known : known}%`);
    gauge.classList.toggle("unknown", chances === null);
    gauge.setAttribute("aria-valuenow", Math.round(known));
    gauge.setAttribute("aria-valuetext", chances === null ? "unknown" : `${players[0]} ${Math.round(known)} %, ${players[1]} ${Math.round(100 - known)} %`);
  }

  showMoves() {
    const list = find("study-moves");
    const branch = (items) => element("li", { className: "branch" }, element("ol", {}, ...items));
    list.replaceChildren(...rows(this.root, (node, number) => this.turn(node, number), branch));
    const here = list.querySelector("[aria-current]");
    if (here) list.scrollTop += here.getBoundingClientRect().top - list.getBoundingClientRect().top - list.clientHeight / 2;
    else list.scrollTop = 0;
  }

  turn(node, number) {
    const move = button(node.text, () => this.go(node));
    if (node === this.current) move.setAttribute("aria-current", "true");
    const { mark, sign, loss, line } = node.judged ?? {};
    if (mark) {
      move.append(element("span", { className: `sign ${mark.replace(" ", "-")}`, textContent: ` ${sign}`, ariaHidden: "true" }));
      move.append(element("span", { className: "visually-hidden", textContent: `, ${mark}` }));
      move.title = mark + (loss >= 2 ? `: ${loss} % lost, better ${line[0]}` : "");
    }
    return element("li", { className: node.mover ? "second" : "first", value: number }, move);
  }

  showGraph() {
    const { line } = this.current;
    find("graph").hidden = line.length < 2;
    drawGraph(find("graph"), line, this.current, this.setting.colours.map(([fill]) => fill), (node) => this.go(node));
    const marks = line.slice(1).map((node) => [node.mover, node.judged?.mark]);
    const told = this.setting.players.map((name, player) => {
      const counts = ["best", "good", "doubtful", "blunder"].map((mark) => [mark, marks.filter((judged) => judged[0] === player && judged[1] === mark).length]);
      return `${name}: ${counts.map(([mark, count]) => `${count} ${mark}${mark === "blunder" && count !== 1 ? "s" : ""}`).join(", ")}`;
    });
    const lines = told.map((textContent) => element("span", { textContent }));
    find("counts").replaceChildren(...(marks.some(([, mark]) => mark) ? lines : []));
  }

  showButtons() {
    const { current } = this;
    find("sweep").textContent = this.isSweeping ? "Stop" : "Analyse all turns";
    find("sweep").disabled = (current?.line.length ?? 0) < 2;
    find("remove").disabled = !current?.parent;
  }

  playFromHere() {
    sessionStorage.setItem("begin", JSON.stringify({ ...this.node, start: this.state.position }));
    location.hash = "";
  }
}

// The form for what is brought

const bring = find("bring-form");

function fillGames() {
  const select = bring.elements.game;
  if (select.length) return;
  const names = Object.keys(catalogue.games).map((value) => element("option", { value, textContent: titled(value) }));
  select.append(element("option", { value: "", textContent: "what the text says" }), ...names);
  select.addEventListener("change", () => fillOptions(select.value));
}

/** Offer the players that can play a game: minimax first, for as long as it may think. */
function fillAnalysts(players) {
  const names = spokenNames({ players }).filter((name) => name !== "random");
  const before = find("analyst").value;
  const options = names.map((value) => element("option", { value, textContent: value }));
  find("analyst").replaceChildren(element("option", { value: LONG, textContent: "minimax" }), ...options);
  find("analyst").value = names.includes(before) ? before : LONG;
}

function fillOptions(game) {
  const options = Object.entries(catalogue.games[game]?.options ?? {}).map(([name, value]) => field(name, value, catalogue.games[game].values[name]));
  find("bring-options").hidden = !options.length;
  find("bring-options").replaceChildren(element("legend", {}, "Options"), ...options);
}

async function open(which = 0) {
  const { game, text } = bring.elements;
  const options = filledOptions(bring);
  const asked = text.value.trim() ? { text: text.value, which } : {};
  if (game.value) Object.assign(asked, { game: game.value, options });
  study?.close(); // nothing is thought meanwhile
  try {
    const opened = await fetched("/open", asked);
    if (location.hash !== "#/analyse") history.replaceState(null, "", "#/analyse");
    begin(opened);
  } catch (error) {
    study?.go(study.current, study.begun); // thinks on, for which the refusal does not wait
    refuse(error);
  }
}

/** Return the text of bytes: UTF-16 by its byte order mark, UTF-8, or else Windows-1252. */
function decode(bytes) {
  const mark = bytes.length > 1 ? (bytes[0] << 8) | bytes[1] : 0;
  if (mark === 0xfffe) return new TextDecoder("utf-16le").decode(bytes);
  if (mark === 0xfeff) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

bring.addEventListener("submit", (event) => {
  event.preventDefault();
  open();
});
bring.elements.file.addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (file) bring.elements.text.value = decode(new Uint8Array(await file.arrayBuffer()));
});
find("which").addEventListener("change", (event) => open(Number(event.target.value)));
find("overlay").addEventListener("change", () => study?.showAnalysis(study.analysis, find("study-said").textContent));
for (const name of ["analyst", "seconds"]) find(name).addEventListener("change", () => study?.go(study.current, study.begun));
find("sweep").addEventListener("click", () => study?.sweep());
find("remove").addEventListener("click", () => study?.remove());
find("from-here").addEventListener("click", () => study?.state && study.playFromHere());
find("study-position").addEventListener("focus", (event) => event.target.select());
for (const button of document.querySelectorAll("#steps button")) button.addEventListener("click", () => study?.state && study.step(button.value));
document.addEventListener("keydown", (event) => {
  if (!study?.state || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!KEYS[event.key] || /INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) return;
  event.preventDefault();
  study.step(KEYS[event.key]);
});
