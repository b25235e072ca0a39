// The home page: games to continue, a card for each kind of game, which starts a game against its
// ladder, and a form to invite a friend.

import { button, element, find, toTitle } from "./board.js";
import { fetchCatalogue } from "./connection.js";
import { startGame } from "./create.js";
import { readGames, refreshStandings } from "./games.js";
import { defaultOpponent, describePlayer, hasBeaten, levelOf } from "./ladder.js";
import { renderPicture } from "./picture.js";

const MAX_CONTINUED_GAMES = 4;
// How long home stays empty while a server that was just started prepares it, before a notice.
const NOTICE_MILLISECONDS = 500;

const friendForm = find("friend");
let catalogue = null;

export async function showHome() {
  showError("");
  const notice = setTimeout(() => (find("setting-up").hidden = false), NOTICE_MILLISECONDS);
  try {
    catalogue = await fetchCatalogue();
  } finally {
    clearTimeout(notice);
    find("setting-up").hidden = true;
  }
  showContinued();
  refreshStandings(catalogue).then((hasChanged) => hasChanged && showContinued());
  find("cards").replaceChildren(...Object.keys(catalogue.games).map(renderCard));
  fillFriendForm();
  find("version").textContent = `Version ${catalogue.version}`;
  import("./daily.js").then(({ showDaily }) => showDaily(find("daily-puzzle")));
  // Another route may have been selected meanwhile.
  find("home").hidden = Boolean(location.hash.split("/")[1]);
}

function showError(text) {
  find("home-error").textContent = text;
  find("home-error").hidden = !text;
}

// Games in progress

/** Return how long ago a time was, in words. */
export function describeAge(time) {
  const minutes = Math.floor((Date.now() - time) / 60000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min ago`;
  return minutes < 1440 ? `${Math.floor(minutes / 60)} h ago` : `${Math.floor(minutes / 1440)} d ago`;
}

export const describeOpponent = ({ kind, opponent }) => `${toTitle(kind)} · ${opponent ? `you v ${opponent}` : "both sides"}`;

function showContinued() {
  const games = readGames().filter(({ kind, isOver }) => kind in catalogue.games && !isOver).slice(0, MAX_CONTINUED_GAMES);
  const cards = games.map((entry) => {
    const game = catalogue.games[entry.kind];
    // The picture of another board size is left out.
    const pieces = entry.pieces.filter(([row, column]) => row < game.setting.rows && column < game.setting.columns);
    const text = element("span", {}, element("b", { textContent: describeOpponent(entry) }), element("span", { textContent: `${entry.standing} · ${describeAge(entry.at)}` }));
    return element("a", { href: `#/${entry.game}`, className: "continued" }, renderPicture(game, { pieces }, entry.player), text);
  });
  find("continue").replaceChildren(...cards);
  find("continue").hidden = !cards.length;
}

// Games against the ladder

function renderCard(kind) {
  const game = catalogue.games[kind];
  const { summary, rungs } = game;
  const opponent = defaultOpponent(kind, rungs);
  const [name, level = ""] = describePlayer(opponent, rungs).split(", ");
  const play = button(levelOf(opponent) ? `Play ${name}` : "Play", () => playAgainst(kind, opponent, play), { className: "main" });
  play.setAttribute("aria-label", `${toTitle(kind)}: play ${name}`);
  const choose = button(`${level || name} ▾`, () => showOpponents(kind, play), { className: "link" });
  choose.setAttribute("aria-label", `${toTitle(kind)}: choose opponent, ${level}`);
  const links = element("p", { className: "links" },
    choose,
    element("a", { href: `#/learn/${kind}` }, "Learn", element("span", { textContent: `, ${game.lesson_minutes}\u00a0min` })),
    element("a", { href: `#/puzzles/${kind}`, textContent: "Puzzles" }));
  const text = element("div", {}, element("h2", { textContent: toTitle(kind) }), element("p", { textContent: summary }), play, links);
  return element("section", { className: "card" }, renderPicture(game, game.start), text);
}

function playAgainst(kind, opponent, playButton) {
  startGame({ game: kind, seats: [catalogue.human, opponent] }, [0], playButton, showError);
}

/** Show the ladder of a game to choose an opponent from. */
function showOpponents(kind, playButton) {
  const rows = catalogue.games[kind].ladder.map(([name, character, elo], index) => {
    const spec = `ladder:${index + 1}`;
    const row = button("", () => {
      find("opponents").hidePopover();
      playAgainst(kind, spec, playButton);
    });
    const isCurrent = spec === defaultOpponent(kind, catalogue.games[kind].rungs);
    if (isCurrent) row.setAttribute("aria-current", "true");
    row.autofocus = isCurrent;
    row.append(
      element("b", { textContent: name }), element("span", { textContent: character }),
      element("span", { textContent: `Elo ${elo}` }), element("span", { textContent: hasBeaten(kind, index + 1) ? "✓ beaten" : "" }));
    return row;
  });
  find("opponents").replaceChildren(element("h2", { textContent: `${toTitle(kind)}: choose your opponent` }), ...rows);
  find("opponents").showPopover();
}

// Games with a friend

function fillFriendForm() {
  const { kind } = friendForm.elements;
  if (!kind.length) kind.append(...Object.keys(catalogue.games).map((value) => element("option", { value, textContent: toTitle(value) })));
  kind.onchange = showColors;
  showColors();
}

function showColors() {
  const { names } = catalogue.games[friendForm.elements.kind.value];
  for (const input of friendForm.elements.color) if (input.value) input.nextSibling.textContent = names[input.value];
}

friendForm.addEventListener("submit", (event) => {
  event.preventDefault();
  const { kind, time, color } = friendForm.elements;
  const [minutes, increment] = time.value.split("+").map(Number);
  const clock = time.value ? { seconds: 60 * minutes, increment } : {};
  const seat = color.value ? Number(color.value) : Math.floor(2 * Math.random());
  startGame({ game: kind.value, seats: [catalogue.human, catalogue.human], ...clock }, [seat], friendForm.querySelector("button"), showError);
});
