// Puzzles: #/puzzles lists the games with the solver's rating and the themes, #/puzzle/KIND/NUMBER is a
// puzzle, #/puzzle/KIND/NUMBER/THEME one of a theme, #/puzzle/KIND the next one.

import { button, control, element, toTitle } from "./board.js";
import { fetchCatalogue, fetchJson } from "./connection.js";
import { createGame, withProgress } from "./create.js";
import { describeDays, puzzleAddress, renderDaily } from "./daily.js";
import { defaultOpponent } from "./ladder.js";
import { renderPicture } from "./picture.js";
import { chooseNext, readProgress, recordDay, recordResult } from "./progress.js";
import { TaskView, UNTIL_END, pressControl } from "./puzzle.js";
import { store } from "./storage.js";

const root = document.getElementById("puzzles");
let lists = null;
let view = null;

export async function show(route, kind, number, theme) {
  const { hash } = location;
  try {
    if (!lists || route === "puzzles") lists = await fetchJson("/puzzles");
    const render = route === "puzzles" ? await prepareHome(kind) : await preparePuzzle(kind, number, theme);
    if (location.hash === hash) render?.();
  } catch (error) {
    if (location.hash === hash) showError(error);
  }
}

export function hide() {
  view?.close();
  view = null;
  delete root.dataset.phase;
  root.hidden = true;
  root.replaceChildren();
}

function showError({ message }) {
  const home = element("a", { href: "#/puzzles", textContent: "All puzzles" });
  const heading = element("h1", { textContent: "Puzzles" });
  root.replaceChildren(heading, element("p", { className: "error", role: "alert", textContent: message }), home);
  root.hidden = false;
}

function focusHeading(heading) {
  root.hidden = false;
  if (document.activeElement === document.body) heading.focus({ preventScroll: true });
}

// The list of games

async function prepareHome(kind) {
  const [{ games }, daily] = await Promise.all([fetchCatalogue(), fetchJson("/puzzles/daily")]);
  return () => {
    document.title = "Puzzles – cc_env";
    const heading = element("h1", { tabIndex: -1, textContent: "Puzzles" });
    const tiles = Object.entries(lists.games).map(([name, list]) => renderTile(name, list, games[name]));
    const themes = Object.entries(lists.games).map(([name, list]) => renderThemes(name, list));
    root.replaceChildren(
      heading,
      element("p", { textContent: "Every answer is proven: a correct turn works against every reply." }),
      renderDaily(daily),
      element("div", { className: "tiles" }, ...tiles),
      element("h2", { textContent: "Themes" }), ...themes, renderThemeNotes());
    focusHeading(heading);
    if (kind) document.getElementById(`themes-${kind}`)?.scrollIntoView();
  };
}

function renderTile(name, { ratings, first_rating: firstRating }, game) {
  const { rating, results } = readProgress(name, firstRating);
  const solved = Object.values(results).filter(Boolean).length;
  const text = element("div", {},
    element("h2", { textContent: toTitle(name) }),
    element("p", {}, element("strong", { textContent: rating.toLocaleString("en") }), " your rating"),
    element("p", { textContent: `${solved} of ${ratings.length} solved` }));
  const link = element("a", { href: `#/puzzle/${name}`, className: "button", textContent: "Solve" });
  link.setAttribute("aria-label", `Solve puzzles of ${toTitle(name)}`);
  return element("section", { className: "tile" }, renderPicture(game, game.start), text, link);
}

function renderThemes(name, { themes }) {
  const links = Object.entries(themes).map(([theme, numbers]) =>
    element("li", {}, element("a", { href: `#/puzzle/${name}//${encodeURIComponent(theme)}`, title: lists.theme_notes[theme] ?? "" }, theme, element("span", { textContent: ` ${numbers.length}` }))));
  const heading = element("h3", { id: `themes-${name}`, textContent: toTitle(name) });
  return element("section", { className: "themes" }, heading, element("ul", {}, ...links));
}

function renderThemeNotes() {
  const notes = Object.entries(lists.theme_notes).flatMap(([theme, note]) => [element("dt", { textContent: theme }), element("dd", { textContent: note })]);
  return element("details", { className: "theme-notes" }, element("summary", { textContent: "What the themes mean" }), element("dl", {}, ...notes));
}

// A puzzle

/** Return the address of the next puzzle of a game, of a theme if there is one. */
function nextAddress(kind, theme, current) {
  const { ratings, themes, first_rating: firstRating } = lists.games[kind];
  return puzzleAddress(kind, chooseNext(ratings, readProgress(kind, firstRating), themes[theme], current), theme);
}

async function preparePuzzle(kind, number, encodedTheme) {
  const theme = encodedTheme && decodeURIComponent(encodedTheme);
  if (!Object.hasOwn(lists.games, kind)) throw new Error(`There are no puzzles of ${kind}`);
  const { themes, ratings } = lists.games[kind];
  if (number && !ratings[number - 1]) throw new Error(`There is no puzzle ${number} of ${toTitle(kind)}`);
  if (theme && !Object.hasOwn(themes, theme)) throw new Error(`There are no puzzles of ${kind} with the theme ${theme}`);
  if (!number) {
    location.replace(nextAddress(kind, theme));
    return null;
  }
  const puzzle = await withProgress(kind, fetchJson("/puzzle", { game: kind, number: Number(number) }));
  return () => {
    view?.close();
    view = new PuzzleView(puzzle, theme);
    focusHeading(view.task.parts.title);
  };
}

class PuzzleView {
  constructor(puzzle, theme) {
    Object.assign(this, { puzzle, theme, change: 0 });
    const { game, number, date, rating, difficulty, task } = puzzle;
    const fields = { game, number };
    const isDaily = lists.daily.game === game && lists.daily.number === number;
    const note = [isDaily && "Puzzle of the day", theme, `Rated ${rating.toLocaleString("en")}`, difficulty].filter(Boolean).join(" · ");
    const source = {
      judge: (turns, turn) => fetchJson("/puzzle/turn", { ...fields, turns, turn }),
      solve: (turns) => fetchJson("/puzzle/solution", { ...fields, turns }),
    };
    const title = `${toTitle(game)}, puzzle ${number}`;
    document.title = `${title} – cc_env`;
    document.getElementById("header-title").textContent = title;
    this.task = new TaskView(root, { ...puzzle, title: task, note }, source, {
      onMistake: () => this.record(false),
      onSolved: () => this.showSolved(date),
      onSolutionShown: () => this.showFailed(),
      controls: [
        control("?", "Hint", () => this.task.hint(), "h", UNTIL_END), control("✓", "Solution", () => this.task.showSolution(), null, UNTIL_END),
        control("»", "Skip", () => this.next(), "n", UNTIL_END), control("⇅", "Flip", () => this.task.flip(), "f"),
      ],
    });
  }

  close() {
    this.task.close();
  }

  /** Count the first result of the puzzle; with hints, a solved puzzle changes no rating. */
  record(isSolved) {
    const { first_rating: firstRating } = lists.games[this.puzzle.game];
    this.change += recordResult(this.puzzle, firstRating, isSolved);
    this.rating = readProgress(this.puzzle.game, firstRating).rating;
  }

  describeRating(text) {
    if (!this.change) return text;
    const sign = this.change > 0 ? "+" : "−";
    return `${text}, ${sign}${Math.abs(this.change)} (${this.rating.toLocaleString("en")})`;
  }

  showSolved(date) {
    const { hasHelp, mistakes } = this.task;
    if (!mistakes && !hasHelp) this.record(true);
    const days = recordDay(date);
    const trouble = mistakes ? ` after ${mistakes === 1 ? "a mistake" : `${mistakes} mistakes`}` : hasHelp ? " with a hint" : "";
    this.showCard([this.describeRating(`Solved${trouble}`), describeDays(days)].filter(Boolean).join(" · "));
  }

  showFailed() {
    this.record(false);
    this.showCard(this.describeRating("Solution shown"));
  }

  showCard(text) {
    const next = button("Next", () => this.next(), { className: "main", title: "space", ariaKeyShortcuts: "n Space" });
    this.task.showCard(text, next, button("Analyze", () => this.analyze()), button("Play on from here", (event) => this.playOn(event.target)));
    this.task.showMessage(this.puzzle.themes.length ? `Themes: ${this.puzzle.themes.join(", ")}` : "");
    next.focus();
  }

  next() {
    location.hash = nextAddress(this.puzzle.game, this.theme, this.puzzle.number);
  }

  get setup() {
    const { setting, start } = this.puzzle;
    return { game: setting.game, options: setting.options, start };
  }

  analyze() {
    store("analysis", { start: this.setup, players: ["", ""], result: "", tree: [] }, "sessionStorage");
    location.hash = "#/analyze";
  }

  /** Start a game against the ladder from the puzzle's last position, or its first if it ended the game. */
  async playOn(playButton) {
    const { task, puzzle } = this;
    try {
      const { games, human } = await fetchCatalogue();
      const opponent = defaultOpponent(puzzle.game, games[puzzle.game].rungs);
      const seats = puzzle.state.mover ? [opponent, human] : [human, opponent];
      const start = task.state.result ? puzzle.start : task.state.position;
      const { game, tokens } = await createGame({ ...this.setup, start, seats }, playButton);
      location.hash = `#/${game}/${tokens.find(Boolean)}`;
    } catch (error) {
      task.showMessage(error.message);
    }
  }
}

document.addEventListener("keydown", (event) => view && pressControl(root, event));
