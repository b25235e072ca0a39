// A task on a board: a puzzle, or a moment of a game to try again. A source judges the turns:
//
//   judge(turns, turn)   the judgment of a turn after the correct ones, as POST /puzzle/turn
//   solve(turns)         the best turns after the correct ones, as POST /puzzle/solution

import { Board, capitalize, element, pressedKey, renderShape, updateTabStop } from "./board.js";
import { drawOverlay } from "./overlay.js";
import { playSound } from "./settings.js";

const REFUTATION_MS = 600;
const REPLY_MS = 300;
const SLOW_MS = 1000;
const REFUTATION_COLOR = "#b3261e";
const SOLUTION_COLOR = "#1d7a43";
const ARROW_WIDTH = 9;

// Class of controls that end with the task.
export const UNTIL_END = { className: "until-end" };

/** Press the control that has the pressed key. */
export function pressControl(root, event) {
  const key = pressedKey(event).replace(" ", "Space");
  const nodes = [...root.querySelectorAll("[aria-keyshortcuts]:enabled")];
  const node = nodes.find(({ ariaKeyShortcuts }) => ariaKeyShortcuts.split(" ").includes(key));
  if (!node) return;
  event.preventDefault();
  node.click();
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export class TaskView {
  /** `task` has a title, a note, the setting and the state; `controls` are elements below. */
  constructor(root, task, source, { onMistake = () => {}, onSolved, onSolutionShown = () => {}, controls }) {
    Object.assign(this, { root, source, onMistake, onSolved, onSolutionShown });
    this.start = task.state;
    this.controls = controls;
    this.mistakes = 0;
    // Whether a hint or the solution was shown.
    this.hasHelp = false;
    this.render(task, controls);
    const refuse = (reason) => this.showMessage(reason);
    this.board = new Board(this.parts.board, task.setting, (action) => this.play(action), refuse);
    if (task.setting.top === this.start.mover) this.board.flip();
    Object.assign(this, { turns: [], isOver: false });
    this.showMessage("Your move");
    this.beginTurn(this.start);
  }

  render({ title, note }, controls) {
    const parts = {
      board: element("div"),
      title: element("h1", { tabIndex: -1, textContent: title }),
      status: element("p", { className: "status", role: "status" }),
      card: element("div", { className: "task-card" }),
      offBoard: element("div", { className: "off-board" }),
      turns: element("ol", { className: "task-turns", ariaLabel: "Turns", tabIndex: 0 }),
    };
    const panel = element("section", { className: "task-board", ariaLabel: "Board" }, parts.board);
    const side = element("section", { className: "task-side", ariaLabel: "Task" },
      parts.title, element("p", { className: "note", textContent: note }), parts.status, parts.offBoard,
      parts.turns, parts.card, element("div", { className: "task-controls" }, ...controls));
    this.root.replaceChildren(element("div", { className: "task" }, panel, side));
    this.parts = parts;
  }

  close() {
    this.isClosed = true;
  }

  /** Wait for a turn of the solver, who has not begun it. */
  beginTurn(state) {
    Object.assign(this, { turnStart: state, state, turn: [], solution: null, hints: 0 });
    this.wait("turn");
  }

  /** Wait for the next decision in the current state; style sheets and tests read the phase. */
  wait(phase) {
    this.isBusy = false;
    this.show(this.state, !this.isOver);
    this.parts.offBoard.replaceChildren(...this.board.offBoardButtons());
    this.setPhase(phase);
  }

  setPhase(phase) {
    Object.assign(this.root.dataset, { phase, turns: this.turns.length, mistakes: this.mistakes });
  }

  /** Show a state, without the arrow of an earlier one. */
  show(state, isMine = false) {
    this.drawArrow([]);
    this.board.show(state, isMine);
  }

  drawArrow(cells, color) {
    const [from, to] = cells.length === 2 ? cells : [null, cells[0]];
    this.arrows = to ? [{ from, to, color, width: ARROW_WIDTH }] : [];
    drawOverlay(this.board, this.arrows);
  }

  /** Draw a tick where a decision ends, until the next state is shown. */
  drawTick({ path, captured }) {
    const cell = path.at(-1) ?? captured.at(-1);
    if (!cell) return;
    const { cell: size, margin } = this.board.setting;
    const [x, y] = this.board.cellOrigin(cell).map((edge) => edge + margin + size / 2);
    const tick = renderShape(["text", x, y, "✓", size / 2, "#fff"]);
    tick.classList.add("tick");
    this.board.layers.arrows.append(tick);
  }

  showMessage(text) {
    this.parts.status.textContent = capitalize(text);
    updateTabStop(this.parts.status);
  }

  flip() {
    this.board.flip();
    drawOverlay(this.board, this.arrows);
  }

  // Turns

  /** Run a request and its display, for which the board waits, and then the latest control pressed meanwhile. An error is shown. */
  async run(work, isControl = false) {
    if (this.isBusy && isControl) this.nextControl = work;
    if (this.isBusy || this.isOver) return;
    this.isBusy = true;
    this.setPhase("busy");
    this.board.closeMenu();
    try {
      await work();
    } catch (error) {
      if (this.isClosed) return;
      this.showMessage(error.message);
      this.wait("turn");
    }
    const { nextControl } = this;
    this.nextControl = null;
    if (nextControl && !this.isClosed) this.run(nextControl);
  }

  /** Return the response of the server; a slow one is announced. */
  async request(response) {
    const timer = setTimeout(() => this.showMessage("Checking …"), SLOW_MS);
    try {
      return await response;
    } finally {
      clearTimeout(timer);
    }
  }

  play(action) {
    return this.run(async () => {
      const turn = [...this.turn, action];
      const judgment = await this.request(this.source.judge(this.turns, turn));
      if (this.isClosed) return;
      if (!judgment.is_finished) this.continueTurn(judgment, turn);
      else if (judgment.is_correct) await this.accept(judgment, turn);
      else await this.refute(judgment);
    });
  }

  continueTurn({ states }, turn) {
    this.turn = turn;
    this.state = states.at(-1);
    this.showMessage(this.state.remark || "Continue your turn");
    this.wait("unfinished");
  }

  async accept({ states, reply_states: replies, message, is_solved: isSolved }, turn) {
    this.turns.push(turn);
    this.showMessage(isSolved ? "" : `✓ ${message}`);
    await this.showStates(states.slice(-1), 0);
    this.drawTick(states.at(-1).last_decision);
    await pause(REPLY_MS);
    await this.showStates(replies, REPLY_MS);
    if (this.isClosed) return;
    this.isOver = isSolved;
    this.beginTurn(replies.at(-1) ?? states.at(-1));
    if (isSolved) this.finish("solved", this.onSolved);
  }

  /** Show the refutation of a wrong turn, and return to the position before the turn. */
  async refute({ states, reply_states: replies, arrow, message }) {
    this.mistakes += 1;
    this.onMistake();
    this.showMessage(`${message} Try again.`);
    this.show(states.at(-1));
    this.drawArrow(arrow, REFUTATION_COLOR);
    this.setPhase("refuted");
    await pause(REFUTATION_MS);
    await this.showStates(replies, REFUTATION_MS, false);
    await pause(REFUTATION_MS);
    if (this.isClosed) return;
    this.board.state = null;
    this.beginTurn(this.turnStart);
  }

  /** Show states after turns and parts of them, one after the other, and list the turns. */
  async showStates(states, milliseconds, isListed = true) {
    for (const state of states) {
      if (state !== states[0]) await pause(milliseconds);
      if (this.isClosed) return;
      this.show(state);
      playSound(state.last_decision.captured.length ? "capture" : "move");
      if (isListed && !state.mid_turn) this.listTurn(state);
    }
  }

  listTurn({ turns }) {
    const [mover, text] = turns.at(-1);
    const className = mover === this.start.mover ? "first" : "second";
    this.parts.turns.append(element("li", { className, textContent: text.trim() }));
  }

  /** Show the piece that moves first; a second time the move. */
  hint() {
    return this.run(async () => {
      this.hasHelp = true;
      this.solution ??= await this.request(this.source.solve(this.turns));
      if (!this.isClosed) this.beginHint();
    }, true);
  }

  beginHint() {
    const { solution } = this;
    const hints = Math.min(2, this.hints + 1);
    this.beginTurn(this.turnStart);
    Object.assign(this, { solution, hints });
    if (hints === 2) this.drawArrow(solution.arrow, SOLUTION_COLOR);
    else if (solution.piece) {
      this.board.highlighted = [solution.piece];
      this.board.drawMarks();
    }
    this.showMessage(hints === 2 ? `Hint: ${solution.text}` : "Hint: begin with the marked piece or cell");
    this.setPhase(`hint${hints}`);
  }

  /** Play the solution from here to the end. */
  showSolution() {
    return this.run(async () => {
      this.hasHelp = true;
      const { states, text } = (this.solution ??= await this.request(this.source.solve(this.turns)));
      if (this.isClosed) return;
      this.isOver = true;
      this.board.state = null;
      this.show(this.turnStart);
      this.showMessage(`Solution: ${text}`);
      await this.showStates(states, REFUTATION_MS);
      if (this.isClosed) return;
      this.state = states.at(-1);
      this.wait("shown");
      this.finish("shown", this.onSolutionShown);
    }, true);
  }

  finish(phase, report) {
    for (const control of this.controls) control.disabled ||= control.matches(".until-end");
    playSound("end");
    report();
    this.setPhase(phase);
  }

  /** Show the end of the task in the place that is reserved for it. */
  showCard(text, ...buttons) {
    const line = element("p", { textContent: text, tabIndex: -1 });
    this.parts.card.replaceChildren(line, element("div", { className: "buttons" }, ...buttons));
    document.getElementById("announcements").textContent = text;
  }
}
