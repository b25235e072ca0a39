// The page and its routes:
//
//   #                     cards of the games
//   #/games               the list of this browser's games
//   #/new/KIND            the form for a custom game, with a kind of game selected; #/new
//   #/GAME                a game; #/GAME/TOKEN gives its reader a seat, and becomes #/GAME
//   #/GAME/review         the review of a game
//   #/learn/KIND/NUMBER   lessons
//   #/analyze             analysis; #/analyze/GAME of a served game, #/analyze/study/TEXT of an address
//   #/puzzles             puzzles; #/puzzle/KIND/NUMBER one of them

import { capitalize, find } from "./board.js";
import { addTokens, readSeats } from "./games.js";
import { showHome } from "./home.js";
import { loadStyle } from "./styles.js";

// Modules of routes with their style sheets, loaded on first use. Each exports `show`, which receives
// the parts of the route, and `hide`.
const MODULES = {
  analyze: ["./analysis.js", "panels.css", "analysis.css"],
  game: ["./game.js", "panels.css"],
  games: ["./my_games.js"],
  learn: ["./learn.js", "learn.css"],
  new: ["./start.js"],
  puzzle: ["./puzzles.js", "puzzles.css"],
  puzzles: ["./puzzles.js", "puzzles.css"],
  review: ["./review.js", "analysis.css", "puzzles.css", "review.css"],
};
const loadedModules = {};
// The number of routes that have been shown.
let routeCount = 0;

/** Show the route of a module; a route selected while it loads is shown instead. */
async function showModule(name, parts) {
  const number = routeCount;
  const [path, ...styles] = MODULES[name];
  try {
    [loadedModules[name]] = await Promise.all([import(path), ...styles.map(loadStyle)]);
    if (number === routeCount) loadedModules[name].show(...parts);
  } catch (error) {
    find("route-error").textContent = error instanceof TypeError ? "The server cannot be reached" : capitalize(error.message);
    find("route-error").hidden = false;
  }
}

// The views that the navigation links to, by route.
const VIEWS = { "": "play", new: "play", games: "play", learn: "learn", analyze: "analyze", puzzle: "puzzles", puzzles: "puzzles" };

/** Mark the current view in the navigation; style sheets read it, too. */
function showNavigation(route) {
  const view = VIEWS[route] ?? "game";
  document.body.dataset.view = view;
  for (const link of find("navigation").children) link.ariaCurrent = link.textContent.toLowerCase() === view ? "page" : null;
}

function showRoute() {
  const [, route = "", ...rest] = location.hash.split("/");
  routeCount += 1;
  const alert = find("connection-alert");
  alert.hidden = true;
  alert.classList.remove("final");
  // "game" is hidden until its state arrives.
  for (const id of ["home", "game", "pace", "rules-link", "route-error"]) find(id).hidden = true;
  delete find("game").dataset.decisions;
  find("header-title").textContent = "";
  document.title = "cc_env";
  showNavigation(route);
  scrollTo(0, 0);
  find("opponents").hidePopover();
  // Lessons keep their positions while others are selected.
  for (const [name, module] of Object.entries(loadedModules)) if (route !== "learn" || name !== "learn") module.hide();
  if (!route) showHome();
  else if (route === "analyze") showModule(route, [rest[0], rest[0] ? readSeats(rest[0]).tokens : [], rest[0] === "study" ? rest[1] : ""]);
  else if (/^puzzles?$/.test(route)) showModule(route, [route, ...rest]);
  else if (["games", "learn", "new"].includes(route)) showModule(route, rest);
  else showGame(route, rest);
}

/** Show a game or its review; tokens in the address are stored and removed from it. */
function showGame(game, rest) {
  const isReview = rest.at(-1) === "review";
  const addressTokens = isReview ? rest.slice(0, -1) : rest;
  if (addressTokens.length) {
    const address = isReview ? `#/${game}/review` : `#/${game}`;
    history.replaceState(addTokens(game, addressTokens), "", address);
  }
  const { tokens, links } = readSeats(game);
  if (isReview) showModule("review", [game, tokens]);
  else showModule("game", [game, tokens, links]);
}

addEventListener("hashchange", showRoute);
showRoute();
