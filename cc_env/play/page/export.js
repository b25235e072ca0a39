// Links to the game as a file, of every kind that the server writes.

import { element } from "./board.js";

const NAMES = { ".jsonl": "record", ".txt": "position", ".svg": "picture" };

export function showExports(game, endings) {
  const links = endings.map((ending) => element("a", {
    href: `/games/${game}${ending}`, download: "", textContent: NAMES[ending] ?? ending.slice(1).toUpperCase(), title: ending,
  }));
  document.querySelector("#export div").replaceChildren(...links);
}
