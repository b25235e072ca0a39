// What people set for themselves, kept by their browser: coordinates, on at first, and sounds.

const CHOICES = { coordinates: true, sounds: false };
const TONES = { move: [523], capture: [392, 262], end: [392, 523, 659] }; // in hertz, one after the other
const LENGTH = 0.12; // seconds of a tone
const LOUDNESS = 0.15;
let context = null; // of all sounds, made by the first

const isOn = (name) => (localStorage.getItem(name) ?? String(CHOICES[name])) === "true";

function apply() {
  document.documentElement.classList.toggle("bare", !isOn("coordinates"));
}

for (const name of Object.keys(CHOICES)) {
  const input = document.querySelector(`#settings [name=${name}]`);
  input.checked = isOn(name);
  input.addEventListener("change", () => {
    localStorage.setItem(name, input.checked);
    apply();
    if (name === "sounds") sound("move");
  });
}
apply();

/** Let a move, a capture or an end be heard, if sounds are on. */
export function sound(kind) {
  if (!isOn("sounds")) return;
  context ??= new AudioContext();
  context.resume(); // it waits for the first click of the page
  TONES[kind].forEach((pitch, place) => tone(pitch, context.currentTime + place * LENGTH));
}

function tone(pitch, begin) {
  const source = new OscillatorNode(context, { type: "triangle", frequency: pitch });
  const volume = new GainNode(context, { gain: 0 });
  volume.gain.setValueAtTime(LOUDNESS, begin);
  volume.gain.exponentialRampToValueAtTime(0.001, begin + LENGTH);
  source.connect(volume).connect(context.destination);
  source.start(begin);
  source.stop(begin + LENGTH);
}
