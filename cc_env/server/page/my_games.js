// The list of this browser's games.

import { button, element } from "./board.js";
import { fetchCatalogue } from "./connection.js";
import { startGame } from "./create.js";
import { forgetGame, isBetweenPeople, readGames, refreshStandings } from "./games.js";
import { describeAge, describeOpponent } from "./home.js";

const root = document.getElementById("games");

export async function show() {
  showList();
  if (await refreshStandings(await fetchCatalogue())) showList();
}

function showList() {
  const games = readGames().filter(({ kind }) => kind);
  const note = "This browser keeps the list. Whoever has a link to a game may watch it; only this browser has your seat.";
  const rows = games.map(renderRow);
  root.replaceChildren(
    element("h1", { textContent: "My games" }),
    element("p", { textContent: games.length ? note : "No games yet." }),
    element("ul", {}, ...rows),
  );
  root.hidden = location.hash !== "#/games";
}

export function hide() {
  root.hidden = true;
}

function renderRow(entry) {
  const { game, isOver, standing, at } = entry;
  const forget = button("Forget", () => {
    if (!isOver && forget.textContent === "Forget") return forget.replaceChildren("Really forget?");
    forgetGame(game);
    showList();
  }, { title: "remove the game from this list, with your seat" });
  const links = [
    [`#/${game}`, isOver ? "Open" : "Resume"],
    [`#/${game}/review`, "Review"],
  ].slice(0, isOver ? 2 : 1).map(([href, textContent]) => element("a", { href, textContent }));
  const exported = element("a", { href: `/games/${game}.jsonl`, download: "", textContent: "Export" });
  const isOverAgainstComputer = isOver && entry.seats?.includes("human") && !isBetweenPeople(entry);
  const rematch = button("Rematch", () => startRematch(entry, rematch), { title: "seats swapped" });
  return element("li", {},
    element("b", { textContent: describeOpponent(entry) }),
    element("span", { textContent: `${standing} · ${describeAge(at)}` }),
    element("span", { className: "links" }, ...links, ...(isOverAgainstComputer ? [rematch] : []), exported, forget));
}

/** Start a game against the same computer, with the seats swapped; an error replaces the button's word. */
function startRematch({ kind, options, seats: [first, second] }, startButton) {
  const seats = [second, first];
  const showError = (textContent) => startButton.replaceWith(element("span", { className: "error", role: "alert", textContent }));
  startGame({ game: kind, options, seats }, [seats.indexOf("human")], startButton, showError);
}
