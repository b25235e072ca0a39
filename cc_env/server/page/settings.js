// Settings that the browser stores: coordinates, color of boards, sounds, threats, and the name that other players see.

import { readStored, store } from "./storage.js";

const DEFAULTS = { coordinates: true, green: false, sounds: false, threats: false };
// Frequencies in hertz, played one after the other.
const TONES = { move: [523], capture: [392, 262], end: [392, 523, 659] };
const TONE_SECONDS = 0.12;
const VOLUME = 0.15;
let audioContext = null;

export const isOn = (name) => readStored(name) ?? DEFAULTS[name];

function showBoardSettings() {
  document.documentElement.classList.toggle("no-coordinates", !isOn("coordinates"));
  document.documentElement.classList.toggle("green-board", isOn("green"));
}

for (const name of ["coordinates", "green", "threats"]) {
  const input = document.querySelector(`[name=${name}]`);
  input.checked = isOn(name);
  input.addEventListener("change", () => {
    store(name, input.checked);
    showBoardSettings();
  });
}

const soundButton = document.getElementById("sound");

function showSound() {
  soundButton.ariaPressed = isOn("sounds");
  soundButton.title = isOn("sounds") ? "Sounds are on" : "Sounds are off";
}

soundButton.addEventListener("click", () => {
  store("sounds", !isOn("sounds"));
  showSound();
  playSound("move");
});
showSound();
showBoardSettings();

// A click elsewhere, Escape, or moving the focus elsewhere closes the settings.
const settings = document.getElementById("settings");
const close = () => (settings.open = false);
document.addEventListener("pointerdown", (event) => settings.contains(event.target) || close());
settings.addEventListener("focusout", ({ relatedTarget }) => relatedTarget && !settings.contains(relatedTarget) && close());
settings.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  close();
  settings.querySelector("summary").focus();
});

const nameInputs = document.querySelectorAll("[name=player]");

/** Return the name that other players see, "" if there is none. */
export function playerName() {
  const name = readStored("player");
  return typeof name === "string" ? name.slice(0, nameInputs[0].maxLength) : "";
}

function showName() {
  for (const input of nameInputs) input.value = playerName();
}

for (const input of nameInputs) {
  input.addEventListener("change", () => {
    store("player", input.value.trim());
    showName();
    dispatchEvent(new Event("playername"));
  });
}
showName();

/** Play the sound of a "move", a "capture" or the "end" of a game, if sounds are on. */
export function playSound(kind) {
  if (!isOn("sounds")) return;
  audioContext ??= new AudioContext();
  // Browsers suspend audio until the first click.
  audioContext.resume();
  TONES[kind].forEach((frequency, index) => playTone(frequency, audioContext.currentTime + index * TONE_SECONDS));
}

function playTone(frequency, start) {
  const source = new OscillatorNode(audioContext, { type: "triangle", frequency });
  const gain = new GainNode(audioContext, { gain: 0 });
  gain.gain.setValueAtTime(VOLUME, start);
  gain.gain.exponentialRampToValueAtTime(0.001, start + TONE_SECONDS);
  source.connect(gain).connect(audioContext.destination);
  source.start(start);
  source.stop(start + TONE_SECONDS);
}
