// The analysis page: #/analyze shows an imported game or position, #/analyze/GAME a served one.
// It keeps a tree of turns; the server provides positions, legal moves and evaluations.

import { Board, button, capitalize, element, find, pressedKey, toTitle } from "./board.js";
import { fetchCatalogue, fetchJson } from "./connection.js";
import { MARK_COLORS, drawGauge, drawGraph } from "./graph.js";
import { levelOf, nameOf } from "./ladder.js";
import { drawOverlay } from "./overlay.js";
import { playerSpecs, readOptions, renderOptionField } from "./start.js";
import { readStored, store } from "./storage.js";
import { Node, listRows } from "./tree.js";

// The sessionStorage key of the tree, so that it survives a reload.
const STORAGE_KEY = "analysis";
// Thinking time for a first evaluation, and for each turn of a game.
const QUICK_SECONDS = 0.3;
const LONGEST_ANALYST = "minimax:seconds=60";
const PERFECT_ANALYST = "perfect:seconds=60";
const MAX_LINES = 3;
const MAX_ARROWS = 5;
const MIN_REPORTED_LOSS = 2; // percent
const SHORTCUTS = { ArrowLeft: "back", ArrowRight: "forward", Home: "first", ArrowUp: "first", End: "last", ArrowDown: "last", f: "flip" };

let view = null;
let catalogue = null;

/** Show a served game, "study" with the text of an analysis, or the analysis of this tab. */
export async function show(room, tokens, study) {
  find("analysis").classList.add("empty");
  find("import").open = true;
  try {
    catalogue ??= await fetchCatalogue();
    fillGames();
    find("analysis").hidden = !location.hash.startsWith("#/analyze");
    const saved = study ? JSON.parse(decodeURIComponent(study)) : room ? null : readStored(STORAGE_KEY, "sessionStorage");
    if (room && !study) openView(await fetchJson("/open", { room, tokens }), readStored("reviewed", "sessionStorage"), room);
    else if (saved) openView(await fetchJson("/open", saved.start), saved);
  } catch (error) {
    showError(error);
  }
}

export function hide() {
  view?.close();
  view = null;
  find("analysis").hidden = true;
}

/** Open a game: a saved tree, or a served game in `room`, at the turn and the side of its review. */
function openView(data, saved, room) {
  view?.close();
  const reviewed = room && saved?.room === room ? saved : null;
  view = new AnalysisView(data, room ? null : saved, room);
  if (reviewed && reviewed.isFlipped !== view.board.isFlipped) view.board.flip();
  find("analysis").classList.remove("empty");
  find("import").open = false;
  find("analysis-error").textContent = "";
  view.goTo(view.root.line[reviewed?.turn ?? -1] ?? (room ? view.root.line.at(-1) : view.root));
  if (document.activeElement === document.body) find("analysis-heading").focus({ preventScroll: true });
}

function showError(error) {
  if (error.name !== "AbortError") find("analysis-error").textContent = error.message;
}

/** Show the numbers of games of a text that were read, skipped and invalid, with reasons. */
function showImportReport({ games, total, broken, broken_total: brokenTotal }) {
  const [counts, details] = find("import-report").children;
  // The report is about a text; other games have none.
  find("import-report").hidden = total === undefined;
  if (find("import-report").hidden) return;
  const skipped = total - games.length - brokenTotal;
  counts.textContent = `${total} ${total === 1 ? "game" : "games"} in the text: ${games.length} read, ${skipped} skipped, ${brokenTotal} invalid`;
  details.hidden = !broken.length;
  details.firstChild.textContent = broken.length < brokenTotal ? `The first ${broken.length} invalid games` : "Invalid games";
  details.lastChild.replaceChildren(...broken.map(({ line, reason }) => element("li", { textContent: `line ${line}: ${reason}` })));
}

/** Return the winning chances of the first player after the end of a game. */
const finalChances = ({ outcome }) => ({ 0: 100, 1: 0 })[outcome] ?? 50;

class AnalysisView {
  constructor(data, saved, room) {
    const { game, options, start, setting, seats, players, analysts, result, turns } = data;
    // A served game is not saved.
    Object.assign(this, { data, setting, room, seats, start: { game, options, start }, partialTurn: [], isSaved: !room });
    this.root = this.current = new Node();
    // Responses of the server by path and request.
    this.responses = new Map();
    turns.reduce((node, [mover, text, actions]) => node.add(actions, text.trim(), mover), this.root);
    if (saved) this.root.restore(saved.tree);
    this.players = saved?.players ?? players;
    this.result = saved?.result ?? result;
    const showReason = (reason) => (find("analysis-status").textContent = reason);
    this.board = new Board(find("analysis-board"), setting, (action) => this.play(action), showReason);
    this.board.takeSide(seats);
    document.title = `cc_env: analysis of ${toTitle(game)}`;
    find("header-title").textContent = find("analysis-heading").textContent = `Analysis of ${toTitle(game)}`;
    fillAnalysts(analysts);
    this.showTitle();
    this.save();
  }

  close() {
    this.request?.abort();
    this.stopSweep();
  }

  get saved() {
    const { start, players, result, root: { children: tree } } = this;
    return { start, players, result, tree };
  }

  save() {
    if (this.isSaved) store(STORAGE_KEY, this.saved, "sessionStorage");
  }

  /** Put the tree into the address, for others to open. */
  share() {
    history.replaceState(null, "", `#/analyze/study/${encodeURIComponent(JSON.stringify(this.saved))}`);
    find("analysis-status").textContent = "The address of this page now contains the analysis: copy it";
  }

  showTitle() {
    const { games, index } = this.data;
    const nameOfSeat = (seat) => nameOf(Number(seat), this.seats, this.players, this.setting);
    const names = this.setting.players.map((color, seat) => (this.players[seat] === color ? color : `${nameOfSeat(seat)} (${color})`));
    const result = this.result.replace(/\{([01])\}/g, (_, seat) => nameOfSeat(seat));
    const parts = [this.players.some(Boolean) && names.join(" – "), result].filter(Boolean);
    find("analysis-title").textContent = parts.map((text) => (this.room ? capitalize(text) : text)).join(" · ");
    if (this.room) find("analysis-title").append(" · ", element("a", { href: `#/${this.room}/review`, textContent: "Review" }));
    find("game-select").parentNode.hidden = games.length < 2;
    find("game-select").replaceChildren(...games.map((title, value) => element("option", { value, textContent: title })));
    find("game-select").value = index;
    showImportReport(this.data);
  }

  // Navigation

  async goTo(node, partialTurn = []) {
    this.request?.abort();
    this.request = new AbortController();
    const { signal } = this.request;
    find("analysis-error").textContent = "";
    const actions = [...node.actions, ...partialTurn];
    try {
      const state = await this.fetch("/position", { actions }, signal);
      Object.assign(this, { current: node, partialTurn, state });
      this.show();
      await this.analyze(actions, signal);
    } catch (error) {
      if (this.state && error.name !== "AbortError") this.showEvaluation(null);
      showError(error);
    }
  }

  /** Repeat the analysis of the current position, with the current settings. */
  refresh() {
    this.goTo(this.current, this.partialTurn);
  }

  async play(action) {
    this.board.closeMenu();
    const node = this.current;
    const turn = [...this.partialTurn, action];
    try {
      const state = await this.fetch("/position", { actions: [...node.actions, ...turn] });
      if (state.mid_turn) return await this.goTo(node, turn);
      const [mover, text] = state.turns.at(-1);
      const child = node.add(turn, text.trim(), mover);
      this.save();
      await this.goTo(child);
    } catch (error) {
      showError(error);
    }
  }

  step(name) {
    const { current, partialTurn } = this;
    const target = {
      back: partialTurn.length ? current : current.parent,
      forward: current.children[0],
      first: this.root,
      last: current.line.at(-1),
    }[name];
    if (name === "flip") {
      this.board.flip();
      this.show();
    } else if (target) this.goTo(target);
  }

  removeTurn() {
    const { current } = this;
    if (!current.parent) return;
    current.remove();
    this.save();
    this.goTo(current.parent);
  }

  /** Return the server's response to a request about this game; each one is sent once. */
  async fetch(path, fields, signal) {
    const key = path + JSON.stringify(fields);
    if (!this.responses.has(key)) this.responses.set(key, await fetchJson(path, { ...this.start, ...fields }, signal));
    return this.responses.get(key);
  }

  // Evaluation

  get analyst() {
    return find("analyst").value;
  }

  get analystName() {
    return find("analyst").selectedOptions[0].textContent;
  }

  async analyze(actions, signal) {
    if (this.state.result) this.current.chances = finalChances(this.state.result);
    if (this.isSweeping || this.state.result || !Number(find("seconds").value)) return this.showEvaluation(null);
    this.showEvaluation(null, "thinking …");
    if (this.current.parent && !this.partialTurn.length && !this.current.assessment) await this.assess(this.current, signal);
    for (const seconds of [QUICK_SECONDS, Number(find("seconds").value)]) {
      const analysis = await this.fetch("/analyze", { actions, player: this.analyst, seconds }, signal);
      if (!this.partialTurn.length) this.current.chances ??= analysis.chances;
      this.showEvaluation(analysis);
      this.showGraph();
    }
  }

  /** Assess the turn that leads to a node. */
  async assess(node, signal) {
    const { parent } = node;
    const fields = { actions: parent.actions, turn: node.turn, player: this.analyst, seconds: QUICK_SECONDS };
    node.assessment = await this.fetch("/assess", fields, signal);
    parent.chances ??= node.assessment.chances;
    this.showMoves();
  }

  /** Assess all turns of the current line, with the same player and time. */
  async sweep() {
    if (this.isSweeping) return this.stopSweep();
    this.request?.abort();
    this.sweepRequest = new AbortController();
    const { signal } = this.sweepRequest;
    this.isSweeping = true;
    this.showButtons();
    try {
      const { line } = this.current;
      for (const node of line) Object.assign(node, { assessment: null, chances: null });
      for (const node of line.slice(1)) {
        await this.assess(node, signal);
        this.showGraph();
      }
      await this.evaluateLast(line.at(-1), signal);
    } catch (error) {
      showError(error);
    }
    this.stopSweep();
    if (view === this) this.refresh();
  }

  /** Set the winning chances of the last node of a line. */
  async evaluateLast(node, signal) {
    const { actions } = node;
    const { result } = await this.fetch("/position", { actions }, signal);
    if (result) node.chances = finalChances(result);
    else node.chances ??= (await this.fetch("/assess", { actions, player: this.analyst, seconds: QUICK_SECONDS }, signal)).chances;
  }

  stopSweep() {
    this.isSweeping = false;
    this.sweepRequest?.abort();
    if (view === this) this.showButtons();
  }

  // Display

  show() {
    const { state } = this;
    this.board.show(state, !state.result);
    find("analysis-off-board").replaceChildren(...this.board.offBoardButtons());
    this.showMoves();
    this.showGraph();
    this.showButtons();
    find("analysis-status").textContent = capitalize(state.result?.text ?? state.caption);
    find("analysis-position").value = state.position;
    // The display is complete, except for the evaluation.
    find("analysis").dataset.decisions = state.decisions;
  }

  showEvaluation(analysis, message = "") {
    const chances = this.partialTurn.length ? null : this.current.chances;
    drawGauge(find("gauge"), this.setting, this.board.isFlipped, analysis ? analysis.chances : chances);
    const moves = analysis?.moves ?? [];
    find("evaluation").textContent = analysis ? this.describeAnalysis(analysis) : message;
    find("best-lines").replaceChildren(...moves.slice(0, MAX_LINES).map((move) => this.renderLine(move, ...move.line)));
    find("all-moves").replaceChildren(...moves.map((move) => this.renderLine(move, this.findChoice(move.action)?.text.trim() ?? "")));
    find("lines-caption").textContent = moves.length ? `Best moves, with ${this.setting.players[this.state.mover]}'s winning chances` : "";
    this.analysis = analysis;
    this.showOverlay();
    find("analysis").dataset.depth = analysis?.depth ?? "";
  }

  describeAnalysis(analysis) {
    const [best] = analysis.moves;
    const hasChances = analysis.moves.length || analysis.chances !== null;
    const parts = [best?.turns_to_win ? this.describeWin(best) : hasChances ? this.describeChances(analysis.chances) : `${this.analystName} gives no winning chances`];
    parts.push(`best ${analysis.line[0]}`);
    if (analysis.depth) parts.push(`depth ${analysis.depth}`);
    if (analysis.nodes) parts.push(`${analysis.nodes.toLocaleString("en")} nodes`);
    if (this.heatMap && !analysis[this.heatMap].length) parts.push(`${this.analystName} has no heat map; mcts has one`);
    return parts.join(" · ");
  }

  /** Return the distance to a proven win, in the winner's own turns. */
  describeWin({ chances, turns_to_win: turns }) {
    const winner = chances > 50 ? this.state.mover : 1 - this.state.mover;
    return `${this.setting.players[winner]} wins in ${turns} ${turns === 1 ? "turn" : "turns"}`;
  }

  describeChances(chances) {
    const [first, second] = this.setting.players;
    if (Math.round(chances) === 50) return "even";
    return chances > 50 ? `${first} ${Math.round(chances)} %` : `${second} ${Math.round(100 - chances)} %`;
  }

  findChoice(action) {
    return this.board.choices.find((choice) => choice.action === action);
  }

  renderLine(move, ...turns) {
    const distance = move.turns_to_win && `${move.chances > 50 ? "win" : "loss"} ${move.turns_to_win}`;
    const chances = element("span", { className: `chances ${move.mark}`, textContent: distance || `${Math.round(move.chances)} %`, title: move.mark });
    const row = button("", () => this.play(move.action));
    const nodes = turns.flatMap((textContent, index) => [index ? " · " : "", element("span", { className: "turn", textContent })]);
    row.append(chances, element("span", {}, ...nodes), element("span", { className: "visually-hidden", textContent: `, ${move.mark}` }));
    return element("li", {}, row);
  }

  showOverlay() {
    const { analysis } = this;
    const hasArrows = find("overlay").value === "arrows";
    const arrows = hasArrows && analysis ? analysis.moves.slice(0, MAX_ARROWS).map((move, rank) => this.arrow(move, rank)) : [];
    drawOverlay(this.board, arrows.filter(Boolean), this.heatMap && analysis ? analysis[this.heatMap] : []);
  }

  /** The selected heat map: "from", "to", or null. */
  get heatMap() {
    const { value } = find("overlay");
    return value === "from" || value === "to" ? value : null;
  }

  arrow({ action, mark }, rank) {
    const choice = this.findChoice(action);
    if (!choice?.cell) return null;
    return { from: choice.pieces[0], to: choice.cell, color: MARK_COLORS[mark], width: rank ? 5 : 9 };
  }

  showMoves() {
    const list = find("analysis-moves");
    const renderBranch = (items) => element("li", { className: "branch" }, element("ol", {}, ...items));
    list.replaceChildren(...listRows(this.root, (node, number) => this.renderTurn(node, number), renderBranch));
    const current = list.querySelector("[aria-current]");
    if (current) list.scrollTop += current.getBoundingClientRect().top - list.getBoundingClientRect().top - list.clientHeight / 2;
    else list.scrollTop = 0;
  }

  renderTurn(node, number) {
    const turn = button(node.text, () => this.goTo(node));
    if (node === this.current) turn.setAttribute("aria-current", "true");
    const { mark, sign, loss, line } = node.assessment ?? {};
    if (mark) {
      turn.append(element("span", { className: `sign ${mark.replace(" ", "-")}`, textContent: ` ${sign}`, ariaHidden: "true" }));
      turn.append(element("span", { className: "visually-hidden", textContent: `, ${mark}` }));
      turn.title = mark + (loss >= MIN_REPORTED_LOSS ? `: loses ${loss} %, better ${line[0]}` : "");
    }
    return element("li", { className: node.mover ? "second" : "first", value: number }, turn);
  }

  showGraph() {
    const { line } = this.current;
    find("graph").hidden = line.length < 2;
    drawGraph(find("graph"), line, this.current, this.setting, (node) => this.goTo(node));
    const hasMarks = line.slice(1).some((node) => node.assessment?.mark);
    const counts = this.setting.players.map((name, player) => element("span", { textContent: `${name}: ${this.countMarks(line, player)}` }));
    find("counts").replaceChildren(...(hasMarks ? counts : []));
  }

  /** Return the number of a player's turns with each mark, as text. */
  countMarks(line, player) {
    const marks = line.slice(1).filter((node) => node.mover === player).map((node) => node.assessment?.mark);
    const counts = Object.keys(MARK_COLORS).map((mark) => {
      const count = marks.filter((other) => other === mark).length;
      return `${count} ${mark}${["mistake", "blunder"].includes(mark) && count !== 1 ? "s" : ""}`;
    });
    return counts.join(", ");
  }

  showButtons() {
    const { current } = this;
    find("sweep").textContent = this.isSweeping ? "Stop" : "Analyze all turns";
    find("sweep").disabled = (current?.line.length ?? 0) < 2;
    find("remove").disabled = !current?.parent;
  }

  playFromHere() {
    store("setup", { ...this.start, start: this.state.position }, "sessionStorage");
    location.hash = "#/new";
  }
}

// The import form

const importForm = find("import-form");

function fillGames() {
  const select = importForm.elements.game;
  if (select.length) return;
  const names = Object.keys(catalogue.games).map((value) => element("option", { value, textContent: toTitle(value) }));
  select.append(element("option", { value: "", textContent: "detect from the text" }), ...names);
  select.addEventListener("change", () => fillOptions(select.value));
}

/** Fill the list of analysts: minimax with the maximum time first, then the other players. */
function fillAnalysts(players) {
  const specs = playerSpecs({ players }).filter((spec) => !["random", "perfect"].includes(spec) && !levelOf(spec));
  const before = find("analyst").value;
  const options = specs.map((value) => element("option", { value, textContent: value }));
  // Where tables ship, values are exact by default.
  if (players.perfect) options.unshift(element("option", { value: PERFECT_ANALYST, textContent: "perfect" }));
  options.splice(players.perfect ? 1 : 0, 0, element("option", { value: LONGEST_ANALYST, textContent: "minimax" }));
  find("analyst").replaceChildren(...options);
  find("analyst").value = specs.includes(before) ? before : options[0].value;
}

function fillOptions(game) {
  const { options = {}, values } = catalogue.games[game] ?? {};
  const fields = Object.entries(options).map(([name, value]) => renderOptionField(name, value, values[name]));
  find("import-options").hidden = !fields.length;
  find("import-options").replaceChildren(element("legend", {}, "Options"), ...fields);
}

async function importText(index = 0) {
  const { game, text } = importForm.elements;
  if (!text.value.trim() && !game.value) return showError(new Error("Choose a game, or paste one."));
  const request = text.value.trim() ? { text: text.value, index } : {};
  if (game.value) Object.assign(request, { game: game.value, options: readOptions(importForm) });
  view?.close();
  try {
    const data = await fetchJson("/open", request);
    if (location.hash !== "#/analyze") history.replaceState(null, "", "#/analyze");
    openView(data);
  } catch (error) {
    view?.refresh();
    showError(error);
  }
}

/** Decode bytes: UTF-16 if they start with its byte order mark, else UTF-8, else Windows-1252. */
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

importForm.addEventListener("submit", (event) => {
  event.preventDefault();
  importText();
});
importForm.elements.file.addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (file) importForm.elements.text.value = decode(new Uint8Array(await file.arrayBuffer()));
});
find("game-select").addEventListener("change", (event) => importText(Number(event.target.value)));
find("overlay").addEventListener("change", () => view?.showEvaluation(view.analysis, find("evaluation").textContent));
for (const id of ["analyst", "seconds"]) find(id).addEventListener("change", () => view?.refresh());
find("sweep").addEventListener("click", () => view?.sweep());
find("share").addEventListener("click", () => view?.share());
find("remove").addEventListener("click", () => view?.removeTurn());
find("play-from-here").addEventListener("click", () => view?.state && view.playFromHere());
find("analysis-position").addEventListener("focus", (event) => event.target.select());
for (const button of document.querySelectorAll("#steps button")) button.addEventListener("click", () => view?.state && view.step(button.value));
document.addEventListener("keydown", (event) => {
  const name = view?.state && SHORTCUTS[pressedKey(event)];
  if (!name) return;
  event.preventDefault();
  view.step(name);
});
