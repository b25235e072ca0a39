// A board in a notebook, for anywidget. It stands behind board.js in one module, and knows no rules.

function render({ model, el }) {
  const setting = model.get("setting");
  const ask = (what, values = {}) => model.send({ command: what, version: model.get("state").version, ...values });
  const play = (action) => ask("play", { action });
  const place = element("div");
  const status = element("p", { className: "status" });
  status.setAttribute("role", "status");
  const words = element("div", { className: "words" });
  const board = new Board(place, setting, play);
  const buttons = {
    take_back: button("Undo", () => ask("take_back")),
    hint: button("Hint", () => ask("hint")),
    flip: button("Flip", () => board.flip()),
    again: button("New game", () => ask("again")),
  };
  const row = element("div", { className: "buttons" }, ...Object.values(buttons));
  const root = element("div", { className: "cc-env" }, place, status, words, row);
  root.dataset.lmSuppressShortcuts = "true"; // JupyterLab leaves the keys to the board

  function show() {
    const state = model.get("state");
    board.show(state, state.is_person);
    words.replaceChildren(...board.offBoardButtons());
    buttons.take_back.disabled = !state.decisions || !state.seats.includes("human");
    buttons.hint.disabled = !state.is_person;
    status.textContent = told(state);
    root.dataset.version = state.version; // now all is shown
  }

  function told(state) {
    const last = state.turns.at(-1);
    const moved = last ? `${setting.players[last[0]]}, ${state.seats[last[0]]}: ${last[1].trim()}` : "";
    const now = state.result ? state.result.text : state.is_person ? state.caption : `${state.caption}, thinking …`;
    return [moved, now].filter(Boolean).join(" · ");
  }

  function hear(message) {
    if (message.refused) {
      board.cancelDrag();
      status.textContent = message.refused;
    } else {
      board.showHint(message.hint);
      status.textContent = message.text;
    }
  }

  const people = model.get("state").seats.map((name) => name === "human");
  if (people.filter(Boolean).length === 1 && people[setting.top]) board.flip();
  model.on("change:state", show);
  model.on("msg:custom", hear);
  el.append(root);
  show();
  return () => {
    model.off("change:state", show);
    model.off("msg:custom", hear);
  };
}

export default { render };
