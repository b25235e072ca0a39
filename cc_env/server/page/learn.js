// How to play: lessons whose boards play the rule that they explain. It knows no rules: the server
// sends every position, which choice comes next, and how to ask for it.

import { Board, button, element, titled } from "./board.js";
import { fetched } from "./connection.js";
import { catalogued } from "./start.js";

const PAUSE = 900; // milliseconds between decisions that nobody here takes
const root = document.getElementById("learn");
let shown = { game: null, lessons: [] };

/** Show the lessons of a game, from the one of this number on. */
export async function showLessons(game, number) {
  if (!game) return showGames();
  if (shown.game !== game) await load(game);
  const section = document.getElementById(`lesson${number}`);
  (section ?? document.body).scrollIntoView();
  section?.querySelector("h2").focus({ preventScroll: true });
}

/** Offer the lessons of all games. */
async function showGames(...said) {
  leaveLessons();
  shown = { game: null, lessons: [] };
  const { games } = await catalogued();
  const links = Object.keys(games).map((name) =>
    element("li", {}, element("a", { href: `#/learn/${name}`, textContent: titled(name) })));
  root.replaceChildren(element("h1", { textContent: "How to play" }), ...said, element("ul", { className: "titles" }, ...links));
}

export function leaveLessons() {
  for (const lesson of shown.lessons) lesson.restart();
}

async function load(game) {
  leaveLessons();
  shown = { game, lessons: [] };
  root.replaceChildren(element("p", { textContent: "Loading …" })); // the first time takes some seconds
  try {
    const guide = await fetched(`/lessons/${encodeURIComponent(game)}`);
    if (shown.game === game) show(game, guide);
  } catch (error) {
    await showGames(element("p", { className: "wrong", role: "alert", textContent: error.message }));
  }
}

function show(game, { introduction, settings, lessons }) {
  const name = titled(game);
  const links = lessons.map(({ title }, place) =>
    element("li", {}, element("a", { href: `#/learn/${game}/${place + 1}`, textContent: title })));
  const made = lessons.map((lesson, place) => new Lesson(lesson, settings[lesson.setting], place + 1));
  const play = () => element("a", { href: `#/new/${game}`, className: "play", textContent: `Play ${name}` });
  shown.lessons = made;
  root.replaceChildren(
    element("h1", { textContent: `How to play ${name}` }),
    ...paragraphs(introduction),
    play(),
    element("ol", { className: "titles" }, ...links),
    ...made.map((lesson) => lesson.section),
    play(),
  );
  for (const lesson of made) lesson.show();
}

const paragraphs = (texts) => texts.map((textContent) => element("p", { textContent }));

class Lesson {
  constructor({ title, text, options, states, wanted }, setting, number) {
    this.states = states;
    this.wanted = wanted;
    this.step = 0;
    this.isWatched = false; // whether nobody here takes the decisions
    this.status = element("p", { className: "status", role: "status" });
    this.words = element("div", { className: "words" });
    this.button = button("", () => this.press());
    const place = element("div");
    const heading = element("h2", { id: `title${number}`, tabIndex: -1, textContent: title });
    const told = element("div", {}, heading, ...paragraphs(text));
    if (options) told.append(element("p", { className: "options", textContent: `Option: ${options}` }));
    const controls = element("div", { className: "controls" }, this.button, this.words, this.status);
    this.section = element("section", { id: `lesson${number}` }, told, element("div", {}, place, controls));
    this.section.setAttribute("aria-labelledby", heading.id);
    this.board = new Board(place, setting, (action) => this.take(action));
  }

  get next() {
    return this.wanted[this.step];
  }

  get isMine() {
    const state = this.states[this.step];
    return Boolean(this.next) && !this.isWatched && state.mover === this.states[0].mover;
  }

  show(said = "") {
    const state = this.states[this.step];
    this.board.show(state, this.isMine);
    if (this.isMine) this.board.hint(this.next.action);
    else if (this.next) this.timer = setTimeout(() => this.advance(), PAUSE);
    this.section.dataset.step = this.step;
    this.button.hidden = !this.wanted.length;
    this.button.textContent = this.step || this.isWatched ? "Again" : "Show me";
    this.status.textContent = said || this.told(state);
    this.words.replaceChildren(...this.board.words());
  }

  told(state) {
    if (this.isMine) return `${this.step ? "Now" : "Your move"}: ${this.next.asked}`;
    const moved = state.moved ? `${this.board.setting.players[state.moved.by]}: ${state.turn}` : "";
    const ended = state.result ? state.result.text : "";
    return [moved, ended].filter(Boolean).join(" · ");
  }

  take(action) {
    this.board.selected = null;
    if (action === this.next.action) this.advance();
    else this.show(`Legal, but the lesson goes on with: ${this.next.asked}`);
  }

  advance() {
    this.step += 1;
    this.show();
  }

  press() {
    const isNew = !this.step && !this.isWatched;
    this.restart();
    this.isWatched = isNew;
    if (isNew) this.advance();
  }

  restart() {
    clearTimeout(this.timer);
    this.step = 0;
    this.isWatched = false;
    this.show();
  }
}
