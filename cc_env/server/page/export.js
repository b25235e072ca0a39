// Links to the game as a file, of every kind that the server writes.

import { element } from "./board.js";

const NAMES = { ".jsonl": "record", ".txt": "position", ".svg": "picture" };

/** Show the links; why a game cannot be written so, `say` says. */
export function showExports(game, endings, say) {
  const links = endings.map((ending) => {
    const href = `/games/${game}${ending}`;
    const link = element("a", { href, download: "", textContent: NAMES[ending] ?? ending.slice(1).toUpperCase(), title: ending });
    link.addEventListener("click", (event) => {
      event.preventDefault();
      save(href, say);
    });
    return link;
  });
  document.querySelector("#export div").replaceChildren(...links);
}

async function save(href, say) {
  const answer = await fetch(href);
  if (answer.ok) element("a", { href, download: "" }).click();
  else say((await answer.json()).error, true);
}
