// The home page: a card for each kind of game, which starts a game against its ladder.

import { Board, button, element, toTitle } from "./board.js";
import { fetchJson } from "./connection.js";
import { defaultOpponent, describePlayer, levelOf } from "./ladder.js";
import { fetchCatalogue } from "./start.js";

const find = (id) => document.getElementById(id);

/** Show the cards; `onCreated` receives a created game and the seats of the person. */
export async function showHome(onCreated) {
  find("home-error").textContent = "";
  const { games, human } = await fetchCatalogue();
  const cards = Object.entries(games).map(([kind, game]) =>
    renderCard(kind, game, (opponent, node) => start({ game: kind, seats: [human, opponent] }, node, onCreated)));
  find("cards").replaceChildren(...cards);
  import("./daily.js").then(({ showDaily }) => showDaily(find("daily-puzzle")));
  // Another route may have been selected meanwhile.
  find("home").hidden = Boolean(location.hash.split("/")[1]);
}

function renderCard(kind, { setting, start: state, summary, rungs }, onPlay) {
  const opponent = defaultOpponent(kind, rungs);
  const [name, level = ""] = describePlayer(opponent, rungs).split(", ");
  const play = button(levelOf(opponent) ? `Play ${name}` : "Play", () => onPlay(opponent, play), { className: "main" });
  play.setAttribute("aria-label", `${toTitle(kind)}: play ${name}`);
  const picture = element("div", { inert: true });
  picture.setAttribute("aria-hidden", "true");
  new Board(picture, setting, () => {}).show({ ...state, choices: [] }, false);
  const links = element("p", { className: "links" },
    element("span", { textContent: level || name }),
    element("a", { href: `#/learn/${kind}`, textContent: "Learn" }),
    element("a", { href: `#/puzzles/${kind}`, textContent: "Puzzles" }),
    element("a", { href: `#/new/${kind}`, textContent: "Options" }));
  const text = element("div", {}, element("h2", { textContent: toTitle(kind) }), element("p", { textContent: summary }), play, links);
  return element("section", { className: "card" }, picture, text);
}

async function start(request, playButton, onCreated) {
  const label = playButton.textContent;
  playButton.disabled = true;
  playButton.textContent = "Starting …";
  try {
    onCreated(await fetchJson("/games", request), [0]);
  } catch (error) {
    find("home-error").textContent = error.message;
  }
  playButton.disabled = false;
  playButton.textContent = label;
}
