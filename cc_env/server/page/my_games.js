// The list of this browser's games.

import { button, element } from "./board.js";
import { forgetGame, readGames } from "./games.js";
import { describeAge, describeOpponent } from "./home.js";

const root = document.getElementById("games");

export function show() {
  const games = readGames().filter(({ kind }) => kind);
  const note = "This browser keeps the list. Whoever has a link to a game may watch it; only this browser has your seat.";
  const rows = games.map(renderRow);
  root.replaceChildren(
    element("h1", { textContent: "My games" }),
    element("p", { textContent: games.length ? note : "No games yet." }),
    element("ul", {}, ...rows),
  );
  root.hidden = false;
}

export function hide() {
  root.hidden = true;
}

function renderRow(entry) {
  const { game, isOver, standing, at } = entry;
  const forget = button("Forget", () => {
    forgetGame(game);
    show();
  }, { title: "remove the game from this list, with your seat" });
  const links = [
    [`#/${game}`, isOver ? "Open, rematch" : "Resume"],
    [`#/${game}/review`, "Review"],
  ].slice(0, isOver ? 2 : 1).map(([href, textContent]) => element("a", { href, textContent }));
  const exported = element("a", { href: `/games/${game}.jsonl`, download: "", textContent: "Export" });
  return element("li", {},
    element("b", { textContent: describeOpponent(entry) }),
    element("span", { textContent: `${standing} · ${describeAge(at)}` }),
    element("span", { className: "links" }, ...links, exported, forget));
}
