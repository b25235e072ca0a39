// The form for a new game, filled from the server's catalogue.

import { capitalize, element, toTitle } from "./board.js";
import { fetchCatalogue, fetchJson } from "./connection.js";
import { createGame, openGame } from "./create.js";
import { defaultOpponent, describePlayer, levelOf } from "./ladder.js";
import { readStored, store } from "./storage.js";

const form = document.getElementById("start");
const errorElement = document.getElementById("start-error");
let catalogue = null;
// AbortController of the request for players in progress, and the promise of its end.
let playersRequest = null, playersUpdate = null;

const renderOption = (value, label = value) => element("option", { value, textContent: label });
const updatePlayers = () => (playersUpdate = requestPlayers());

/** Show the form, with a kind of game selected if it is in the catalogue; "watch": two computers. */
export async function show(kind, mode) {
  catalogue = await fetchCatalogue();
  if (!form.elements.game.length) {
    const names = Object.keys(catalogue.games).map((name) => renderOption(name, toTitle(name)));
    form.elements.game.append(...names);
    form.elements.game.addEventListener("change", showGame);
    for (const node of [document.getElementById("options"), form.elements.start]) node.addEventListener("change", updatePlayers);
    showGame();
  }
  if (kind in catalogue.games && kind !== form.elements.game.value) {
    form.elements.game.value = kind;
    showGame();
  }
  selectLevel();
  const { game, seat0, seat1 } = form.elements;
  // The computer that plays the level of the next game has a stronger opponent.
  if (mode === "watch") seat0.value = `ladder:${Math.min(levelOf(seat1.value) + 1, catalogue.games[game.value].rungs.length)}`;
  form.onsubmit = submit;
  // The analysis page stores a setup here.
  const setup = readStored("setup", "sessionStorage");
  if (setup) {
    store("setup", null, "sessionStorage");
    fillForm(setup);
  }
  // Another route may have been selected meanwhile.
  form.hidden = !location.hash.startsWith("#/new");
}

export const hide = () => (form.hidden = true);

/** Select the stored level of the ladder, which the last game may have changed. */
function selectLevel() {
  const { game } = form.elements;
  for (const select of form.querySelectorAll("#seats select")) {
    const { rungs } = catalogue.games[game.value];
    if (levelOf(select.value)) select.value = defaultOpponent(game.value, rungs);
  }
}

/** Start the game, unless its options have just changed a player, which is shown. */
async function submit(event) {
  event.preventDefault();
  const seats = String(selectedSeats());
  await playersUpdate;
  if (String(selectedSeats()) !== seats) return;
  showError(null);
  try {
    const request = formRequest();
    const created = await createGame(request, form.querySelector("button.main"));
    openGame(created, ownSeats(created.tokens));
  } catch (error) {
    showError(error);
  }
}

/** Show an error below the field that it names, by default below the form; after a submission focus the field. */
function showError(error, isSubmission = true) {
  form.querySelector("[aria-invalid]")?.removeAttribute("aria-invalid");
  form.append(errorElement, form.querySelector(":scope > a[href='#/analyze']"));
  errorElement.textContent = error ? describeError(error) : "";
  if (!error) return;
  const field = findField(error);
  if (!field) return errorElement.scrollIntoView({ block: "nearest" });
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-errormessage", errorElement.id);
  (field.closest("label") ?? field).after(errorElement);
  if (isSubmission) field.focus();
}

/** Return a field with an error: that of a FieldError, an option, the position or a player. */
function findField({ name, message }) {
  const [, option] = message.match(/(\w+)=/) ?? [];
  if (form.elements[name]) return form.elements[name];
  if (form.elements[`option.${option}`]) return form.elements[`option.${option}`];
  if (message.includes("position")) return form.elements.start;
  const custom = [0, 1].map((seat) => form.elements[`spec${seat}`]).filter((spec) => !spec.hidden);
  const withOption = custom.find(({ value }) => option && value.includes(`${option}=`));
  return withOption ?? (/player|option/.test(message) ? custom[0] : undefined);
}

/** Return a message in words, without the name of the game. */
function describeError({ message }) {
  const text = message.replace(/^\w+: /, "").replace(/^(\w+)=(.+?); expected: /, (_, name, value) => `${toTitle(name)} cannot be ${value}; expected: `);
  return capitalize(text);
}

/** An error of a field of the form. */
class FieldError extends Error {
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}

function fillForm({ game, options, start }) {
  form.elements.game.value = game;
  showGame();
  for (const [name, value] of Object.entries(options)) {
    form.elements[`option.${name}`].value = optionText(value, catalogue.games[game].options[name]);
  }
  form.elements.start.value = start;
  updatePlayers();
}

/** Return the value of an option as text; null is "" only if it is the default. */
function optionText(value, defaultValue) {
  if (value === null) return defaultValue === null ? "" : "None";
  return { true: "True", false: "False" }[value] ?? value;
}

/** Show the options and seats of the selected game, at its start. */
function showGame() {
  form.elements.start.value = "";
  document.getElementById("lessons-link").href = `#/learn/${form.elements.game.value}`;
  const game = catalogue.games[form.elements.game.value];
  const options = Object.entries(game.options).map(([name, value]) => renderOptionField(name, value, game.values[name], game.option_notes[name]));
  document.getElementById("options").replaceChildren(element("legend", {}, "Options"), ...options);
  const seats = game.names.map((name, seat) => {
    const select = element("select", { name: `seat${seat}` });
    const specInput = element("input", { name: `spec${seat}`, placeholder: "minimax:seconds=2", hidden: true, autocomplete: "off", spellcheck: false });
    specInput.setAttribute("aria-label", `${toTitle(name)}: player`);
    select.addEventListener("change", showDependentFields);
    return element("div", {}, element("label", {}, element("span"), select), specInput);
  });
  document.getElementById("seats").replaceChildren(element("legend", {}, "Players"), ...seats);
  playersRequest?.abort();
  showSeats(game);
  if (form.elements.start.value) updatePlayers();
}

/** Request the players for the selected options, and the player to move first. */
async function requestPlayers() {
  playersRequest?.abort();
  playersRequest = new AbortController();
  const { game, start } = form.elements;
  const body = { game: game.value, options: readOptions(form), start: start.value.trim() || null };
  try {
    const { players, rungs, mover } = await fetchJson("/players", body, playersRequest.signal);
    showError(null);
    showSeats({ ...catalogue.games[game.value], players, rungs, mover });
  } catch (error) {
    if (error.name !== "AbortError") showError(error, false);
  }
}

/** Show the available players; a selected one stays selected if it is available. */
function showSeats(game) {
  const people = [["you", "you"], ["friend", "a friend (by link)"]];
  const players = playerSpecs(game).map((spec) => [spec, describePlayer(spec, game.rungs)]);
  const opponent = defaultOpponent(form.elements.game.value, game.rungs);
  const options = [...people, ...players, ["other", "custom player …"]];
  game.names.forEach((name, seat) => {
    const select = form.elements[`seat${seat}`];
    const [before, label] = [select.value || (seat ? opponent : "you"), select.selectedOptions[0]?.textContent];
    select.replaceChildren(...options.map(([value, label]) => renderOption(value, label)));
    select.value = before;
    if (!select.value) {
      select.value = opponent;
      select.parentNode.after(errorElement);
      errorElement.textContent = `${label} cannot play these options; ${toTitle(name)} is now ${select.selectedOptions[0].textContent}`;
    }
    select.previousSibling.textContent = toTitle(name) + (seat === game.mover ? " (moves first)" : "");
  });
  showDependentFields();
}

const selectedSeats = () => [0, 1].map((seat) => form.elements[`seat${seat}`].value);

/** Show the fields that the selected players require. */
function showDependentFields() {
  const seats = selectedSeats();
  seats.forEach((value, seat) => (form.elements[`spec${seat}`].hidden = value !== "other"));
  document.getElementById("assistance").hidden = !seats.includes("friend");
}

/** Return the specs of the available players, one per level. */
export function playerSpecs({ players }) {
  return Object.entries(players).flatMap(([name, levels]) => (levels.length ? levels.map((level) => `${name}:${level}`) : [name]));
}

/** Return the options of a game that are filled in, by name. */
export function readOptions(form) {
  const options = {};
  for (const input of form.querySelectorAll("[name^='option.']")) {
    if (input.value.trim()) options[input.name.slice(7)] = input.value.trim();
  }
  return options;
}

/** Return the field of an option, a select for a boolean or a list of values, else a text input, with a note. */
export function renderOptionField(name, value, values, note) {
  const id = `note-${name}`;
  const text = note ? [element("small", { id, textContent: note })] : [];
  const field = renderInput(name, value, values);
  if (note) field.setAttribute("aria-describedby", id);
  return element("div", { className: "option" }, element("label", {}, toTitle(name), field), ...text);
}

/** Return the input of an option. */
function renderInput(name, value, values) {
  const choices = typeof value === "boolean" ? [["False", "no"], ["True", "yes"]]
    : values?.map((value) => [String(value), String(value).replaceAll("_", " ")]);
  if (choices) {
    const select = element("select", { name: `option.${name}` }, ...choices.map(([value, text]) => renderOption(value, text)));
    select.value = typeof value === "boolean" ? (value ? "True" : "False") : String(value);
    return select;
  }
  const text = value === null ? "" : String(value);
  return element("input", { name: `option.${name}`, value: text, placeholder: "default", autocomplete: "off" });
}

/** Return a number in a field, with a decimal point or comma; raise FieldError unless it is in a range. */
function parseNumber(name, text, [min, max], note = "") {
  const value = Number(text.replace(",", "."));
  if (value >= min && value <= max) return value;
  throw new FieldError(name, `invalid ${name === "minutes" ? name : "seconds"} '${text}'; expected ${min} to ${max}${note}`);
}

function formRequest() {
  const values = selectedSeats();
  const seats = values.map((value, seat) => {
    if (value === "you" || value === "friend") return catalogue.human;
    if (value !== "other") return value;
    const spec = form.elements[`spec${seat}`].value.trim();
    if (!spec) throw new FieldError(`spec${seat}`, "name a player, such as minimax:seconds=2");
    return spec;
  });
  const minutes = form.elements.minutes.value.trim();
  const clock = catalogue.clock.map((seconds) => Math.ceil(seconds * 100 / 60) / 100);
  return {
    game: form.elements.game.value,
    options: readOptions(form),
    seats,
    random_seats: form.elements.random_seats.checked,
    assistance: values.includes("friend") && form.elements.assistance.checked,
    seconds: minutes ? 60 * parseNumber("minutes", minutes, clock, ", such as 5 or 2.5") : null,
    increment: parseNumber("increment", form.elements.increment.value.trim(), [0, catalogue.increment]),
    start: form.elements.start.value.trim() || null,
  };
}

/** Return the seats of the person at this browser; the remaining people are friends. */
function ownSeats(tokens) {
  const people = tokens.map((token, seat) => (token ? seat : -1)).filter((seat) => seat >= 0);
  const values = selectedSeats();
  const count = values.filter((value) => value === "you").length;
  if (count === people.length) return people;
  if (!count) return [];
  const isRandom = form.elements.random_seats.checked;
  return isRandom ? [people[Math.floor(Math.random() * people.length)]] : [values.indexOf("you")];
}
