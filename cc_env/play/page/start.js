// The form that begins a game: what can be chosen comes from the server's catalogue.

import { element, titled } from "./board.js";
import { fetched } from "./connection.js";

const form = document.getElementById("start");
let catalogue = null;

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
    fill();
  }
  if (kind in catalogue.games && kind !== form.elements.game.value) {
    form.elements.game.value = kind;
    fill();
  }
  form.onsubmit = async (event) => {
    event.preventDefault();
    const refused = document.getElementById("refused");
    const button = form.querySelector("button.main");
    button.disabled = true;
    button.textContent = "Starting …"; // the first game of a kind takes some seconds
    refused.textContent = "";
    try {
      begin(await fetched("/games", asked()), form.elements.game.value);
    } catch (error) {
      refused.textContent = error.message;
    }
    button.disabled = false;
    button.textContent = "Start";
  };
  const wanted = sessionStorage.getItem("begin"); // of another page of ours: a game and its start
  if (wanted) {
    sessionStorage.removeItem("begin");
    fillWith(JSON.parse(wanted));
  }
  form.hidden = false;
}

function fillWith({ game, options, start }) {
  form.elements.game.value = game;
  fill();
  for (const [name, value] of Object.entries(options)) {
    const words = { true: "True", false: "False", null: "" };
    form.elements[`option.${name}`].value = words[value] ?? value;
  }
  form.elements.start.value = start;
}

function fill() {
  document.getElementById("lessons").href = `#/learn/${form.elements.game.value}`;
  const game = catalogue.games[form.elements.game.value];
  const options = Object.entries(game.options).map(([name, value]) => field(name, value, game.values[name]));
  document.getElementById("options").replaceChildren(element("legend", {}, "Options"), ...options);
  const people = [["you", "you"], ["friend", "another person (you get a link)"]];
  const players = spokenNames(game).map((name) => [name]);
  const seats = game.names.map((name, seat) => {
    const select = element("select", { name: `seat${seat}` });
    select.append(...[...people, ...players, ["other", "a player with options"]].map(([value, label]) => choice(value, label)));
    select.value = seat ? "minimax:normal" : "you";
    const typed = element("input", { name: `name${seat}`, placeholder: "minimax:seconds=2", hidden: true, autocomplete: "off", spellcheck: false });
    typed.setAttribute("aria-label", `${titled(name)}: name of a player`);
    select.addEventListener("change", () => (typed.hidden = select.value !== "other"));
    return element("div", {}, element("label", {}, seat ? titled(name) : `${titled(name)}, who begins`, select), typed);
  });
  document.getElementById("seats").replaceChildren(element("legend", {}, "Who plays"), ...seats);
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

/** Return the number that a text says, with a point or a comma. */
function number(text) {
  const minutes = Number(text.replace(",", "."));
  if (!(minutes > 0)) throw new Error(`minutes: '${text}' is not a number of minutes, such as 5 or 2.5`);
  return minutes;
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
    seconds: minutes ? 60 * number(minutes) : null,
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
