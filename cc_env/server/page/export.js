// Links to the game as a file, one per format.

import { element } from "./board.js";

const FORMAT_NAMES = { ".jsonl": "record", ".txt": "position", ".svg": "picture" };

/** Show the links; `onError` receives the reason why a game cannot be exported. */
export function showExports(game, suffixes, onError) {
  const links = suffixes.map((suffix) => {
    const href = `/games/${game}${suffix}`;
    const name = FORMAT_NAMES[suffix] ?? suffix.slice(1).toUpperCase();
    const link = element("a", { href, download: "", textContent: name, title: suffix });
    link.addEventListener("click", (event) => {
      event.preventDefault();
      download(href, onError);
    });
    return link;
  });
  document.getElementById("export").replaceChildren("Export ", ...links);
}

async function download(href, onError) {
  const response = await fetch(href);
  if (response.ok) element("a", { href, download: "" }).click();
  else onError((await response.json()).error);
}
