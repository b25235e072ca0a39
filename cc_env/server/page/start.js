// The form that begins a game: what can be chosen comes from the server's catalogue.

import { element, titled } from "./board.js";
import { fetched } from "./connection.js";

const form = document.getElementById("start");
const refused = document.getElementById("refused");
const SLOW = 1000; // milliseconds after which it is said why starting takes so long
let catalogue = null;
let asking = null; // the request for who can play the chosen options

/** Return the games with their options and players; asked for once. */
export async function catalogued() {
  return (catalogue ??= await fetched("/catalogue"));
}

const choice = (value, label = value) => element("option", { value, textContent: label });

/** Show the form, for a kind of game if it is one of those that there are. */
export async function showForm(begin, kind) {
  await catalogued();
  if (!form.elements.game.length) {
    const names = Object.keys(catalogue.games).map((name) => choice(name, titled(name)));
    form.elements.game.append(...names);
    form.elements.game.addEventListener("change", fill);
    for (const place of [document.getElementById("options"), form.elements.start]) place.addEventListener("change", setUp);
    fill();
  }
  if (kind in catalogue.games && kind !== form.elements.game.value) {
    form.elements.game.value = kind;
    fill();
  }
  form.onsubmit = (event) => {
    event.preventDefault();
    submit(begin);
  };
  const wanted = sessionStorage.getItem("begin"); // of another page of ours: a game and its start
  if (wanted) {
    sessionStorage.removeItem("begin");
    fillWith(JSON.parse(wanted));
  }
  form.hidden = false;
}

async function submit(begin) {
  const button = form.querySelector("button.main");
  const starting = document.getElementById("starting");
  const slow = setTimeout(() => (starting.textContent = "The first game of a kind is compiled, which takes some seconds."), SLOW);
  button.disabled = true;
  button.textContent = "Starting …";
  refused.textContent = "";
  try {
    begin(await fetched("/games", asked()));
  } catch (error) {
    refused.textContent = error.message;
  }
  clearTimeout(slow);
  starting.textContent = "";
  button.disabled = false;
  button.textContent = "Start";
}

function fillWith({ game, options, start }) {
  form.elements.game.value = game;
  fill();
  for (const [name, value] of Object.entries(options)) {
    form.elements[`option.${name}`].value = written(value, catalogue.games[game].options[name]);
  }
  form.elements.start.value = start;
  setUp();
}

/** Return the value of an option as the form has it: empty for null only if that is the default. */
function written(value, usual) {
  if (value === null) return usual === null ? "" : "None";
  return { true: "True", false: "False" }[value] ?? value;
}

function fill() {
  document.getElementById("lessons").href = `#/learn/${form.elements.game.value}`;
  const game = catalogue.games[form.elements.game.value];
  const options = Object.entries(game.options).map(([name, value]) => field(name, value, game.values[name]));
  document.getElementById("options").replaceChildren(element("legend", {}, "Options"), ...options);
  const seats = game.names.map((name, seat) => {
    const select = element("select", { name: `seat${seat}` });
    const typed = element("input", { name: `name${seat}`, placeholder: "minimax:seconds=2", hidden: true, autocomplete: "off", spellcheck: false });
    typed.setAttribute("aria-label", `${titled(name)}: name of a player`);
    select.addEventListener("change", showFields);
    return element("div", {}, element("label", {}, element("span"), select), typed);
  });
  document.getElementById("seats").replaceChildren(element("legend", {}, "Who plays"), ...seats);
  asking?.abort(); // it was about another game
  showSeats(game);
  if (form.elements.start.value) setUp();
}

/** Ask the server who can play the chosen options, and who moves first. */
async function setUp() {
  asking?.abort();
  asking = new AbortController();
  const { game, start } = form.elements;
  const setup = { game: game.value, options: filledOptions(form), start: start.value.trim() || null };
  try {
    const { players, mover } = await fetched("/setup", setup, asking.signal);
    refused.textContent = "";
    showSeats({ ...catalogue.games[game.value], players, mover });
  } catch (error) {
    if (error.name !== "AbortError") refused.textContent = error.message;
  }
}

/** Offer the players that can play; a choice stays if it is one of them. */
function showSeats(game) {
  const people = [["you", "you"], ["friend", "a friend (by link)"]];
  const players = spokenNames(game).map((name) => [name, name]);
  const all = [...people, ...players, ["other", "custom player …"]];
  game.names.forEach((name, seat) => {
    const select = form.elements[`seat${seat}`];
    const before = select.value || (seat ? "minimax:normal" : "you");
    select.replaceChildren(...all.map(([value, label]) => choice(value, label)));
    select.value = before;
    if (!select.value) {
      select.value = "minimax:normal";
      refused.textContent = `${before} cannot play these options; ${titled(name)} is ${select.value} now`;
    }
    select.previousSibling.textContent = titled(name) + (seat === game.mover ? " (moves first)" : "");
  });
  showFields();
}

/** Show the fields that the chosen players need. */
function showFields() {
  const names = [0, 1].map((seat) => form.elements[`seat${seat}`].value);
  names.forEach((name, seat) => (form.elements[`name${seat}`].hidden = name !== "other"));
  document.getElementById("assistance").hidden = !names.includes("friend");
}

/** Return who can be seated in a game, with their levels. */
export function spokenNames({ players }) {
  return Object.entries(players).flatMap(([name, levels]) => (levels.length ? levels.map((level) => `${name}:${level}`) : [name]));
}

/** Return the options of a game that are filled in, by name. */
export function filledOptions(form) {
  const options = {};
  for (const input of form.querySelectorAll("[name^='option.']")) {
    if (input.value.trim()) options[input.name.slice(7)] = input.value.trim();
  }
  return options;
}

/** Return the field of an option: a choice where it has few values, else a text. */
export function field(name, value, values) {
  const label = titled(name);
  const choices = typeof value === "boolean" ? [["False", "no"], ["True", "yes"]]
    : values?.map((value) => [String(value), String(value).replaceAll("_", " ")]);
  if (choices) {
    const select = element("select", { name: `option.${name}` }, ...choices.map(([value, said]) => choice(value, said)));
    select.value = typeof value === "boolean" ? (value ? "True" : "False") : String(value);
    return element("label", {}, label, select);
  }
  const text = value === null ? "" : String(value);
  const input = element("input", { name: `option.${name}`, value: text, placeholder: "default", autocomplete: "off" });
  return element("label", {}, label, input);
}

/** Return the seconds of a number of minutes, with a point or a comma; the server has limits. */
function seconds(text) {
  const [least, most] = catalogue.clock;
  const value = 60 * Number(text.replace(",", "."));
  if (value >= least && value <= most) return value;
  const range = `${Math.ceil(100 * least / 60) / 100} to ${most / 60}`;
  throw new Error(`minutes: '${text}' is not a number of minutes from ${range}, such as 5 or 2.5`);
}

function asked() {
  const options = filledOptions(form);
  const chosen = [0, 1].map((seat) => form.elements[`seat${seat}`].value);
  const seats = chosen.map((name, seat) => (name === "other" ? form.elements[`name${seat}`].value.trim() : name));
  const minutes = form.elements.minutes.value.trim();
  return {
    game: form.elements.game.value,
    options,
    seats: seats.map((name) => (["you", "friend"].includes(name) ? catalogue.human : name)),
    draw_lots: form.elements.draw_lots.checked,
    assistance: chosen.includes("friend") && form.elements.assistance.checked,
    seconds: minutes ? seconds(minutes) : null,
    start: form.elements.start.value.trim() || null,
  };
}

/** Which seats the one who begins keeps; the others are for a friend. */
export function kept(tokens) {
  const people = tokens.map((token, seat) => (token ? seat : -1)).filter((seat) => seat >= 0);
  const names = [0, 1].map((seat) => form.elements[`seat${seat}`].value);
  const wanted = names.filter((name) => name === "you").length;
  if (wanted === people.length) return people;
  if (!wanted) return [];
  const lots = form.elements.draw_lots.checked;
  return lots ? [people[Math.floor(Math.random() * people.length)]] : [names.indexOf("you")];
}
