// Lessons whose boards illustrate the rules. The server sends every position, the next choice and
// an instruction for it.

import { Board, button, capitalize, element, toTitle } from "./board.js";
import { fetchCatalogue, fetchJson } from "./connection.js";
import { renderPicture } from "./picture.js";

const REPLAY_INTERVAL_MS = 900;
const root = document.getElementById("learn");
let current = { game: null, lessons: [] };

/** Show the lessons of a game, scrolled to one of them, or the list of games. */
export async function show(game, number) {
  root.hidden = false;
  if (!game) return showGames();
  if (current.game !== game) await loadGame(game);
  const section = document.getElementById(`lesson${number}`);
  (section ?? document.body).scrollIntoView();
  section?.querySelector("h2").focus({ preventScroll: true });
}

async function showGames(...notes) {
  leaveLessons();
  current = { game: null, lessons: [] };
  const { games } = await fetchCatalogue();
  const links = Object.entries(games).map(([name, game]) => {
    const text = element("span", {}, element("b", { textContent: toTitle(name) }), element("span", { textContent: `${game.summary} ${game.lesson_minutes}\u00a0min` }));
    return element("li", {}, element("a", { href: `#/learn/${name}` }, renderPicture(game, game.start), text));
  });
  root.replaceChildren(
    element("h1", { textContent: "How to play" }),
    ...notes,
    element("p", { textContent: "A few boards for each game, on which you try the rules." }),
    element("ul", { className: "games" }, ...links),
  );
}

export function hide() {
  leaveLessons();
  root.hidden = true;
}

/** Return all lessons to their start. */
function leaveLessons() {
  for (const lesson of current.lessons) lesson.restart();
}

async function loadGame(game) {
  leaveLessons();
  current = { game, lessons: [] };
  root.replaceChildren(element("h1", { textContent: "How to play" }), element("p", { textContent: "Loading …" }));
  try {
    const guide = await fetchJson(`/lessons/${encodeURIComponent(game)}`);
    if (current.game === game) showGuide(game, guide);
  } catch (error) {
    await showGames(element("p", { className: "error", role: "alert", textContent: error.message }));
  }
}

function showGuide(game, guide) {
  const title = toTitle(game);
  const links = guide.lessons.map((lesson, index) =>
    element("li", {}, element("a", { href: `#/learn/${game}/${index + 1}`, textContent: lesson.title })));
  const lessons = guide.lessons.map((lesson, index) => new Lesson(lesson, guide.settings[lesson.setting], index + 1));
  const playLink = () => element("a", { href: `#/new/${game}`, className: "play", textContent: `Play ${title}` });
  current.lessons = lessons;
  root.replaceChildren(
    element("h1", { textContent: `How to play ${title}` }),
    ...renderParagraphs(guide.introduction),
    playLink(),
    element("ol", { className: "titles" }, ...links),
    ...lessons.map((lesson) => lesson.section),
    playLink(),
  );
  for (const lesson of lessons) lesson.show();
}

const renderParagraphs = (texts) => texts.map((textContent) => element("p", { textContent }));

class Lesson {
  constructor({ title, text, options, states, steps }, setting, number) {
    this.states = states;
    this.steps = steps;
    this.stepIndex = 0;
    // Whether decisions are played automatically.
    this.isDemo = false;
    this.status = element("p", { className: "status", role: "status" });
    this.offBoard = element("div", { className: "off-board" });
    this.button = button("", () => this.startDemoOrRestart());
    const boardElement = element("div");
    const heading = element("h2", { id: `title${number}`, tabIndex: -1, textContent: title });
    const explanation = element("div", {}, heading, ...renderParagraphs(text));
    if (options) explanation.append(element("p", { className: "options", textContent: `Option: ${options}` }));
    const controls = element("div", { className: "controls" }, this.button, this.offBoard, this.status);
    this.section = element("section", { id: `lesson${number}` }, explanation, element("div", {}, boardElement, controls));
    this.section.setAttribute("aria-labelledby", heading.id);
    this.board = new Board(boardElement, setting, (action) => this.play(action));
  }

  get nextStep() {
    return this.steps[this.stepIndex];
  }

  get isMine() {
    const state = this.states[this.stepIndex];
    return Boolean(this.nextStep) && !this.isDemo && state.mover === this.states[0].mover;
  }

  show(message = "") {
    const state = this.states[this.stepIndex];
    this.board.show(state, this.isMine);
    if (this.isMine) this.board.showHint(this.nextStep.action);
    else if (this.nextStep) this.timer = setTimeout(() => this.advance(), REPLAY_INTERVAL_MS);
    this.section.dataset.step = this.stepIndex;
    this.button.hidden = !this.steps.length;
    this.button.textContent = this.stepIndex || this.isDemo ? "Again" : "Show me";
    this.status.textContent = message || this.describe(state);
    this.offBoard.replaceChildren(...this.board.offBoardButtons());
  }

  describe(state) {
    if (this.isMine) return `${this.stepIndex ? "Now" : "Your move"}: ${this.nextStep.instruction}`;
    const decision = state.last_decision;
    const move = decision ? `${this.board.setting.players[decision.player]}: ${state.turn}` : "";
    return [move, state.result?.text ?? ""].map(capitalize).filter(Boolean).join(" · ");
  }

  play(action) {
    this.board.selected = null;
    if (action === this.nextStep.action) this.advance();
    else this.show(`That is allowed, too. Now: ${this.nextStep.instruction}`);
  }

  advance() {
    this.stepIndex += 1;
    this.show();
  }

  startDemoOrRestart() {
    const isAtStart = !this.stepIndex && !this.isDemo;
    this.restart();
    this.isDemo = isAtStart;
    if (isAtStart) this.advance();
  }

  restart() {
    clearTimeout(this.timer);
    this.stepIndex = 0;
    this.isDemo = false;
    this.show();
  }
}
