// The review of a game: a graph with its turning points, at most three moments to try again, and the
// turns with marks. The server computes it turn by turn and chooses the moments and their reasons.

import { Board, button, capitalize, control, element, pressedKey, toTitle } from "./board.js";
import { fetchJson } from "./connection.js";
import { drawGauge, drawGraph } from "./graph.js";
import { nameOf } from "./ladder.js";
import { renderPicture } from "./picture.js";
import { TaskView, UNTIL_END, pressControl } from "./puzzle.js";
import { store } from "./storage.js";

const root = document.getElementById("review");
const SHORTCUTS = { ArrowLeft: "back", ArrowRight: "forward", Home: "first", End: "last", f: "flip" };
// Marks of turns that the review shows, with their meanings.
const MARKS = { "?!": "doubtful", "?": "mistake", "??": "blunder", "!": "only good move" };
// Tries at a moment before its solution can be shown.
const MIN_TRIES = 2;

let view = null;
let request = null;
// The latest complete review, by the name of its game.
let latest = {};

export async function show(room, tokens) {
  request = new AbortController();
  const { signal } = request;
  root.replaceChildren(element("h1", { textContent: "Review" }), element("p", { role: "status", textContent: "Loading …" }));
  root.hidden = false;
  try {
    const parts = readParts("/review", { room, tokens }, signal);
    const { value: game } = await parts.next();
    if (signal.aborted) return;
    view = new ReviewView(room, game);
    await view.receive(parts);
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return;
    const back = element("a", { href: `#/${room}`, textContent: "Back to the game" });
    const heading = element("h1", { textContent: "Review" });
    root.replaceChildren(heading, element("p", { className: "error", role: "alert", textContent: capitalize(error.message) }), back);
  }
}

export function hide() {
  request?.abort();
  view?.task?.close();
  view = null;
  root.hidden = true;
  root.replaceChildren();
  delete root.dataset.phase;
}

/** Yield the JSON lines of a response; throw the error of the server. */
async function* readParts(path, body, signal) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  if (!response.ok) throw new Error((await response.json()).error);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const part = JSON.parse(line);
      if (part.error) throw new Error(part.error);
      yield part;
    }
  }
}

class ReviewView {
  constructor(room, game) {
    const { setting, seats, turns, options, start } = game;
    Object.assign(this, { room, game, setting, seats, summary: null, position: turns.length });
    this.fields = { game: game.game, options, start };
    // One more than turns: positions with the first player's chances, and the turn before them.
    this.nodes = [null, ...turns].map((turn) => ({ turn, chances: null, assessment: null }));
    this.render();
    this.board = new Board(this.parts.board, setting, () => {});
    this.board.takeSide(seats);
    this.goTo(turns.length);
  }

  render() {
    const title = `Review of ${toTitle(this.game.game)}`;
    document.title = `${title} – cc_env`;
    document.getElementById("header-title").textContent = title;
    const parts = {
      heading: element("h1", { tabIndex: -1, textContent: title, className: "visually-hidden" }),
      gauge: element("div", { className: "gauge", role: "meter", ariaLabel: "Winning chances", ariaValueMin: "0", ariaValueMax: "100", ariaValueNow: "50" }),
      board: element("div"),
      graph: element("div", { className: "graph" }),
      summary: element("p", { className: "summary", role: "status" }),
      moments: element("div", { className: "moments" }),
      turns: element("ol", { className: "review-turns", tabIndex: 0, ariaLabel: "Turns" }),
      legend: element("p", { className: "legend", textContent: Object.entries(MARKS).map((entry) => entry.join("\u00a0").replaceAll(" ", "\u00a0")).join(" · ") }),
    };
    const steps = [["first", "«", "First position"], ["back", "‹", "Back"], ["forward", "›", "Forward"], ["last", "»", "Last position"], ["flip", "Flip", "Flip"]]
      .map(([name, text, label]) => button(text, () => this.step(name), { ariaLabel: label }));
    const links = element("div", { className: "links" },
      button("Full analysis", () => this.analyze()),
      element("a", { href: `#/${this.room}`, className: "button", textContent: "Back to the game" }));
    const panel = element("section", { className: "review-board", ariaLabel: "Board" },
      parts.gauge, parts.board, parts.graph, element("div", { className: "steps" }, ...steps));
    const side = element("section", { className: "review-side", ariaLabel: "Review" },
      parts.summary, parts.moments, parts.turns, parts.legend, links);
    this.parts = parts;
    this.content = [parts.heading, element("div", { className: "review" }, panel, side)];
    root.replaceChildren(...this.content);
    if (document.activeElement === document.body) parts.heading.focus({ preventScroll: true });
  }

  /** Receive the parts of the review, or take the latest one if the game has not changed since. */
  async receive(parts) {
    const key = this.room + JSON.stringify(this.game.turns);
    if (latest.key === key) {
      Object.assign(this, latest.review);
      request.abort();
    } else {
      for await (const part of parts) this.addPart(part);
      latest = { key, review: { nodes: this.nodes, summary: this.summary } };
    }
    this.showMoments();
    this.showProgress();
    root.dataset.phase = "complete";
  }

  addPart(part) {
    if (part.moments) {
      this.summary = part;
      this.nodes.at(-1).chances = part.final_chances;
    } else {
      this.nodes[part.turn].chances = part.chances;
      this.nodes[part.turn + 1].assessment = part;
    }
    this.showProgress();
  }

  // Display

  showProgress() {
    const { nodes, summary } = this;
    const done = nodes.filter(({ assessment }) => assessment).length;
    this.parts.summary.textContent = summary ? this.describeAccuracies() : `Reviewing turn ${Math.min(done + 1, nodes.length - 1)} of ${nodes.length - 1} …`;
    this.showTurns();
    this.showGraph();
  }

  describeAccuracies() {
    const { accuracies } = this.summary;
    const known = [0, 1].filter((player) => accuracies[player]);
    const ordered = this.seats[0] === 1 && this.seats.length === 1 ? known.reverse() : known;
    const parts = ordered.map((player) => `${capitalize(nameOf(player, this.seats, this.game.players, this.setting))} ${accuracies[player].percent}\u00a0%`);
    const isExact = known.length > 0 && known.every((player) => accuracies[player].is_exact);
    return parts.length ? `${isExact ? "Exact accuracy" : "Accuracy"}: ${parts.join(" · ")}` : "No turn could be graded";
  }

  showMoments() {
    const { moments } = this.summary;
    const cards = moments.map((moment, index) => this.renderMoment(moment, index));
    const none = element("p", { className: "none", textContent: "No moment to try again: no turn lost more than a tenth of the chances." });
    this.parts.moments.replaceChildren(...(cards.length ? cards : [none]));
  }

  renderMoment({ turn, text, sign, reason, change, state }, index) {
    const title = button(`Turn ${turn + 1}: ${text}${sign}`, () => this.goTo(turn), { className: "title" });
    const retry = button("Retry", () => this.retry(index), { className: "main" });
    retry.setAttribute("aria-label", `Retry turn ${turn + 1}`);
    const lines = element("div", {}, title, element("p", { textContent: capitalize(reason) }), element("p", { className: "change", textContent: capitalize(change) }));
    return element("section", { className: "moment", ariaLabel: `Moment ${index + 1}` }, renderPicture({ setting: this.setting }, state, state.mover), lines, retry);
  }

  showTurns() {
    const rows = this.nodes.slice(1).map(({ turn: [mover, text], assessment }, index) => {
      const row = button(text.trim(), () => this.goTo(index + 1));
      if (index + 1 === this.position) row.setAttribute("aria-current", "true");
      const meaning = MARKS[assessment?.sign];
      if (meaning) {
        const className = `sign ${meaning.replaceAll(" ", "-")}`;
        row.append(element("span", { className, textContent: ` ${assessment.sign}`, ariaHidden: "true" }), element("span", { className: "visually-hidden", textContent: `, ${meaning}` }));
      }
      return element("li", { className: mover ? "second" : "first", value: index + 1 }, row);
    });
    const list = this.parts.turns;
    list.replaceChildren(...rows);
    const current = list.querySelector("[aria-current]");
    list.scrollTop = current ? current.offsetTop - list.clientHeight / 2 : 0;
  }

  showGraph() {
    drawGraph(this.parts.graph, this.nodes, this.nodes[this.position], this.setting, (node) => this.goTo(this.nodes.indexOf(node)));
    drawGauge(this.parts.gauge, this.setting, this.board?.isFlipped, this.nodes[this.position].chances);
  }

  // Navigation

  async goTo(position) {
    this.position = position;
    const actions = this.nodes.slice(1, position + 1).flatMap(({ turn: [, , decisions] }) => decisions);
    this.showTurns();
    this.showGraph();
    try {
      const state = await fetchJson("/position", { ...this.fields, actions });
      if (this.position !== position) return;
      this.board.show(state, false);
      root.dataset.position = position;
    } catch (error) {
      this.parts.summary.textContent = error.message;
    }
  }

  step(name) {
    if (name === "flip") {
      this.board.flip();
      this.showGraph();
      return;
    }
    const target = { first: 0, back: this.position - 1, forward: this.position + 1, last: this.nodes.length - 1 }[name];
    if (this.nodes[target]) this.goTo(target);
  }

  /** Open the analysis at the selected turn, with the same side up. */
  analyze() {
    const { room, board, position } = this;
    store("reviewed", { room, isFlipped: board.isFlipped, turn: position }, "sessionStorage");
    location.hash = `#/analyze/${room}`;
  }

  // Moments

  retry(index) {
    const { moments } = this.summary;
    const { turn, text, sign, change, state, solution } = moments[index];
    const showButton = control("✓", "Show", () => this.task.showSolution(), null, UNTIL_END);
    showButton.disabled = true;
    const next = () => (moments[index + 1] ? this.retry(index + 1) : this.leaveMoment());
    const finish = (text) => () => this.task.showCard(text,
      button(moments[index + 1] ? "Next moment" : "Back to the review", next, { className: "main" }));
    const source = {
      judge: (turns, actions) => fetchJson("/retry", { ...this.fields, start: state.position, turn: actions }),
      solve: async () => solution,
    };
    this.task?.close();
    const title = `Turn ${turn + 1}: find a better turn`;
    const note = `Moment ${index + 1} of ${moments.length} · ${text}${sign} ${change}`;
    this.task = new TaskView(root, { setting: this.setting, state, title, note }, source, {
      onMistake: () => (showButton.disabled = this.task.mistakes < MIN_TRIES),
      onSolved: finish("Correct"),
      onSolutionShown: finish(`The best turn was ${solution.text}`),
      controls: [
        control("?", "Hint", () => this.task.hint(), "h", UNTIL_END), showButton, control("»", "Next", next, "n"),
        control("⇅", "Flip", () => this.task.flip(), "f"), control("←", "Back", () => this.leaveMoment(), "Escape"),
      ],
    });
    this.task.parts.title.focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  leaveMoment() {
    this.task.close();
    this.task = null;
    root.replaceChildren(...this.content);
    root.dataset.phase = "complete";
    this.parts.heading.focus({ preventScroll: true });
  }
}

document.addEventListener("keydown", (event) => {
  const name = view && !view.task && SHORTCUTS[pressedKey(event)];
  if (view?.task) pressControl(root, event);
  if (!name) return;
  event.preventDefault();
  view.step(name);
});
