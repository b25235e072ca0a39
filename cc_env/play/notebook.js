// Notebook board for anywidget. It follows board.js in one module and contains no rules.

function render({ model, el }) {
  const setting = model.get("setting");
  const send = (command, values = {}) => model.send({ command, version: model.get("state").version, ...values });
  const play = (action) => send("play", { action });
  const container = element("div");
  const status = element("p", { className: "status" });
  status.setAttribute("role", "status");
  const words = element("div", { className: "words" });
  const board = new Board(container, setting, play);
  const buttons = {
    take_back: button("Undo", () => send("take_back")),
    hint: button("Hint", () => send("hint")),
    flip: button("Flip", () => board.flip()),
    again: button("New game", () => send("again")),
  };
  const row = element("div", { className: "buttons" }, ...Object.values(buttons));
  const root = element("div", { className: "cc-env" }, container, status, words, row);
  // JupyterLab then passes keys on to the board.
  root.dataset.lmSuppressShortcuts = "true";

  function show() {
    const state = model.get("state");
    board.show(state, state.is_person);
    words.replaceChildren(...board.offBoardButtons());
    buttons.take_back.disabled = !state.decisions || !state.seats.includes("human");
    buttons.hint.disabled = !state.is_person;
    status.textContent = statusText(state);
    // The update is complete.
    root.dataset.version = state.version;
  }

  function statusText(state) {
    const last = state.turns.at(-1);
    const lastTurn = last ? `${setting.players[last[0]]}, ${state.seats[last[0]]}: ${last[1].trim()}` : "";
    const now = state.result ? state.result.text : state.is_person ? state.caption : `${state.caption}, thinking …`;
    return [lastTurn, now].filter(Boolean).join(" · ");
  }

  function receive(message) {
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
  model.on("msg:custom", receive);
  el.append(root);
  show();
  return () => {
    model.off("change:state", show);
    model.off("msg:custom", receive);
  };
}

export default { render };
