// A board that knows no rules: it draws the shapes it is given and reports which choice was made.
//
//   const board = new Board(element, setting, (action) => …);
//   board.show(state, isMine);

const SVG = "http://www.w3.org/2000/svg";
const HOP = 220; // milliseconds
const SPARE = 20; // of the margins without numbers
const FAR = 8; // pixels that a pointer moves before it drags
const WORDS = { hit: "hit", go: "go there" };

export function drawn(shape) {
  const [kind, ...v] = shape;
  switch (kind) {
    case "square":
      return made("rect", { x: v[0], y: v[1], width: v[2], height: v[2], fill: v[3] });
    case "disc":
      return made("circle", { cx: v[0], cy: v[1], r: v[2], fill: v[3], stroke: v[4], "stroke-width": v[5] });
    case "line":
      return made("polyline", {
        points: v[0].map((point) => point.join(",")).join(" "),
        fill: "none", stroke: v[1], "stroke-width": v[2],
        "stroke-linejoin": "round", "stroke-linecap": "round",
      });
    default: {
      const words = made("text", { x: v[0], y: v[1], "font-size": v[3], fill: v[4] });
      words.textContent = v[2];
      return words;
    }
  }
}

/** Return a name of the library's as people write it: mini_checkers is Mini checkers. */
export function titled(name) {
  const words = name.replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}

export function made(name, attributes = {}) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

export function element(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

export function button(textContent, act, properties = {}) {
  const node = element("button", { type: "button", textContent, ...properties });
  node.addEventListener("click", act);
  return node;
}

const same = (one, other) => one && other && one[0] === other[0] && one[1] === other[1];
const key = (cell) => `${cell[0]},${cell[1]}`;

export class Board {
  /** `choose` takes an action, `refuse` the reason why a piece cannot be chosen. */
  constructor(element, setting, choose, refuse = () => {}) {
    this.element = element;
    this.setting = setting;
    this.choose = choose;
    this.refuse = refuse;
    this.reminded = []; // pieces that can be chosen, marked after one that cannot be
    this.selected = null;
    this.isFlipped = false;
    this.choices = [];
    element.replaceChildren();
    element.classList.add("board");
    const { columns, rows, cell, margin } = setting;
    this.width = columns * cell + 2 * margin;
    this.height = rows * cell + 2 * margin;
    this.spare = this.isNamed ? SPARE : 0; // of the upper and left margin, which has no numbers then
    this.shown = { width: this.width - SPARE - this.spare, height: this.height - SPARE - this.spare };
    this.svg = made("svg", {
      viewBox: `${this.spare} ${this.spare} ${this.shown.width} ${this.shown.height}`,
      role: "grid", "aria-label": titled(setting.game),
    });
    this.layers = {};
    for (const name of ["ground", "heat", "way", "pieces", "marks", "arrows", "cells"]) {
      this.layers[name] = made("g", { class: name });
      this.svg.append(this.layers[name]);
    }
    element.append(this.svg);
    this.names = new Map(setting.cells.map(([row, column, name]) => [key([row, column]), name]));
    this.build();
    this.svg.addEventListener("pointerdown", (event) => this.press(event));
    this.svg.addEventListener("pointermove", (event) => this.move(event));
    this.svg.addEventListener("pointerup", (event) => this.release(event));
    this.svg.addEventListener("pointercancel", () => this.drop());
    this.svg.addEventListener("keydown", (event) => this.type(event));
  }

  // Where things are

  at([row, column]) {
    const { rows, columns, cell } = this.setting;
    return this.isFlipped ? [(columns - 1 - column) * cell, (rows - 1 - row) * cell] : [column * cell, row * cell];
  }

  placed(shapes, cell, name = "") {
    const [x, y] = this.at(cell);
    const group = made("g", { transform: `translate(${x} ${y})`, class: name });
    group.append(...shapes.map(drawn));
    return group;
  }

  build() {
    const { cells, cell, margin, board, labels } = this.setting;
    const named = made("g", { class: "labels" });
    named.append(...labels.map((label) => this.label(label)));
    this.layers.ground.replaceChildren(this.turned(board), named);
    this.hits = new Map();
    const inRows = new Map();
    for (const [row, column, name] of cells) {
      const [x, y] = this.at([row, column]);
      const hit = made("rect", {
        x: x + margin, y: y + margin, width: cell, height: cell, class: "cell",
        tabindex: -1, role: "gridcell", "data-cell": key([row, column]), "aria-label": name,
      });
      hit.place = [row, column];
      hit.addEventListener("focus", () => this.point(hit.place));
      this.hits.set(key(hit.place), hit);
      if (!inRows.has(row)) inRows.set(row, made("g", { role: "row" }));
      inRows.get(row).append(hit);
    }
    this.layers.cells.replaceChildren(...inRows.values());
    this.point(this.pointed ?? cells[0].slice(0, 2));
  }

  turned(shapes) {
    const group = made("g");
    if (this.isFlipped) group.setAttribute("transform", `rotate(180 ${this.width / 2} ${this.height / 2})`);
    group.append(...shapes.map(drawn));
    return group;
  }

  label(shape) {
    if (!this.isFlipped) return drawn(shape);
    const [kind, x, y, ...rest] = shape;
    const edge = this.setting.margin; // numbers stay in their margin, names at their points
    const fixed = (value, length) => (value < edge && !this.isNamed ? value : length - value);
    return drawn([kind, fixed(x, this.width), fixed(y, this.height), ...rest]);
  }

  get isNamed() {
    return this.setting.cells.length < this.setting.rows * this.setting.columns;
  }

  flip() {
    this.isFlipped = !this.isFlipped;
    this.build();
    if (this.state) this.show(this.state, this.isMine);
  }

  // What is shown

  show(state, isMine) {
    const before = this.state;
    this.state = state;
    this.isMine = isMine;
    this.choices = isMine
      ? state.choices.map(([action, text, pieces, cell, isShot, captures]) => ({ action, text, pieces, cell, isShot, captures }))
      : [];
    this.close();
    this.hinted = null;
    this.reminded = [];
    const open = this.begun();
    if (!open.some((cell) => same(cell, this.selected))) this.selected = null;
    if (isMine && state.mid_turn && open.length === 1) this.selected = open[0];
    this.paint();
    if (before && state.decisions === before.decisions + 1) this.animate(state.moved);
  }

  begun() {
    const pieces = new Map();
    for (const choice of this.choices) for (const cell of choice.pieces) pieces.set(key(cell), cell);
    return [...pieces.values()];
  }

  paint() {
    const { figures } = this.setting;
    this.layers.way.replaceChildren(this.turned(this.state.path));
    this.pieces = new Map();
    for (const [row, column, letter] of this.state.pieces) {
      this.pieces.set(key([row, column]), this.placed(figures[letter], [row, column], "piece"));
    }
    this.layers.pieces.replaceChildren(...this.pieces.values());
    this.mark();
  }

  mark() {
    const { marks } = this.setting;
    const shown = this.state.captured.map((cell) => this.placed(marks.captured, cell));
    const targets = this.targets();
    if (this.hinted) {
      for (const cell of [this.hinted.pieces[0], this.hinted.cell]) {
        if (cell) shown.push(this.placed(marks.selected, cell, "hint"));
      }
    }
    for (const cell of this.reminded) shown.push(this.placed(marks.selected, cell, "hint"));
    if (this.selected) shown.push(this.placed(marks.selected, this.selected));
    for (const { cell, isShot } of targets.values()) shown.push(this.placed(isShot ? marks.shot : marks.target, cell));
    this.pointer = this.placed(marks.pointer, this.pointed, "pointer");
    this.layers.marks.replaceChildren(...shown, this.pointer);
    const begun = new Set(this.begun().map(key));
    const letters = new Map(this.state.pieces.map(([row, column, letter]) => [key([row, column]), letter]));
    for (const [name, hit] of this.hits) {
      hit.classList.toggle("open", begun.has(name));
      hit.classList.toggle("goal", targets.has(name));
      const target = targets.get(name);
      const parts = [this.names.get(name), this.called(letters.get(name))];
      if (name === (this.selected && key(this.selected))) parts.push("chosen");
      if (target) parts.push(this.reachable(target));
      hit.setAttribute("aria-label", parts.filter(Boolean).join(", "));
    }
  }

  /** Return what can be done to the cell of a choice. */
  reachable({ cell, isShot, captures }) {
    if (isShot || captures.some((captured) => same(captured, cell))) return "can be hit";
    return captures.length ? "can be reached by a capture" : "can be reached";
  }

  called(letter) {
    return letter ? this.setting.called[letter] : "empty";
  }

  targets() {
    const targets = new Map();
    for (const choice of this.choices) {
      const fits = choice.pieces.length
        ? this.selected && choice.pieces.some((cell) => same(cell, this.selected))
        : choice.captures.length > 0 || !this.selected;
      if (!fits || !choice.cell) continue;
      const isHit = choice.isShot || (!choice.pieces.length && choice.captures.length > 0);
      const before = targets.get(key(choice.cell)); // where both go there, the shot's colour wins
      targets.set(key(choice.cell), { ...choice, isShot: isHit || Boolean(before?.isShot) });
    }
    return targets;
  }

  animate(moved) {
    if (!moved || moved.is_shot || moved.path.length < 2) return;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const end = moved.path.at(-1);
    const piece = this.pieces.get(key(end));
    if (!piece) return;
    const frames = moved.path.map((cell) => {
      const [x, y] = this.at(cell);
      return { transform: `translate(${x}px, ${y}px)` };
    });
    piece.parentNode.append(piece);
    piece.animate(frames, { duration: HOP * (frames.length - 1), easing: "ease-in-out" });
  }

  hint(action) {
    this.hinted = this.choices.find((choice) => choice.action === action) ?? null;
    this.mark();
  }

  // What is pointed at

  point(cell) {
    this.pointed = cell;
    for (const hit of this.hits.values()) hit.setAttribute("tabindex", same(hit.place, cell) ? 0 : -1);
    if (this.state) {
      const [x, y] = this.at(cell);
      this.pointer?.setAttribute("transform", `translate(${x} ${y})`);
    }
  }

  /** Take a cell as piece or as target; return whether it meant something. */
  pick(cell) {
    this.close();
    this.reminded = [];
    const begun = this.begun().some((piece) => same(piece, cell));
    const mine = this.choices.filter(
      (choice) => same(choice.cell, cell) &&
        (choice.pieces.length ? choice.pieces.some((piece) => same(piece, this.selected)) : true),
    );
    if (mine.length && !(begun && same(cell, this.selected))) {
      this.settle(mine, cell);
      return true;
    }
    this.selected = begun && !same(cell, this.selected) ? cell : null;
    if (!begun && this.isMine && this.isMovers(cell)) this.remind();
    this.mark();
    return begun;
  }

  isMovers(cell) {
    const piece = this.state.pieces.find((place) => same(place, cell));
    return piece && this.setting.owners[piece[2]] === this.state.mover;
  }

  /** Mark the pieces that can be chosen, and give the reason why another one cannot be. */
  remind() {
    this.reminded = this.begun();
    const which = this.reminded.length ? ": choose a marked piece" : "";
    this.refuse(`${this.state.must_capture ? "You must capture" : "This piece cannot move now"}${which}`);
  }

  /** Return buttons for what can be chosen and has no place on the board, such as a pass. */
  words() {
    const placeless = this.choices.filter((choice) => !choice.cell);
    return placeless.map(({ action, text }) => button(text.trim(), () => this.choose(action), { className: "main" }));
  }

  settle(choices, cell) {
    if (choices.length === 1) this.choose(choices[0].action);
    else this.inquire(choices, cell);
  }

  /** Let people choose, at the place, between several choices with one target. */
  inquire(choices, cell) {
    const ask = element("div", { className: "ask" });
    ask.setAttribute("role", "menu");
    const isMixed = choices.some((choice) => choice.isShot) && choices.some((choice) => !choice.isShot);
    for (const choice of choices) {
      const word = isMixed ? `${choice.isShot ? WORDS.hit : WORDS.go}: ` : "";
      const item = button(word + choice.text.trim(), () => this.choose(choice.action));
      item.setAttribute("role", "menuitem");
      ask.append(item);
    }
    const { cell: edge, margin } = this.setting;
    const [x, y] = this.at(cell);
    const left = (100 * (x + margin - this.spare + edge / 2)) / this.shown.width;
    ask.classList.toggle("above", y > this.height / 2);
    ask.style.top = `${(100 * (y + margin - this.spare + (y > this.height / 2 ? 0 : edge))) / this.shown.height}%`;
    ask.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
    this.element.append(ask);
    const half = (50 * ask.offsetWidth) / this.element.clientWidth; // all of it is within the board
    ask.style.left = `${Math.min(100 - half, Math.max(half, left))}%`;
    this.asking = ask;
    ask.firstChild.focus();
  }

  close() {
    this.asking?.remove();
    this.asking = null;
  }

  cellOf(event) {
    return document.elementFromPoint(event.clientX, event.clientY)?.place;
  }

  press(event) {
    const cell = event.target.place;
    if (!cell || event.button) return;
    this.grabbed = { cell, x: event.clientX, y: event.clientY, isDragged: false };
    event.target.releasePointerCapture?.(event.pointerId);
  }

  move(event) {
    const grabbed = this.grabbed;
    if (!grabbed) return;
    const far = Math.hypot(event.clientX - grabbed.x, event.clientY - grabbed.y) > FAR;
    const begins = this.begun().some((cell) => same(cell, grabbed.cell));
    if (!grabbed.isDragged && far && begins) {
      grabbed.isDragged = true;
      this.close();
      this.selected = grabbed.cell;
      this.mark();
      this.pieces.get(key(grabbed.cell))?.parentNode.append(this.pieces.get(key(grabbed.cell)));
    }
    if (grabbed.isDragged) {
      const scale = this.shown.width / this.svg.clientWidth;
      const [x, y] = this.at(grabbed.cell);
      const to = `translate(${x + (event.clientX - grabbed.x) * scale} ${y + (event.clientY - grabbed.y) * scale})`;
      this.pieces.get(key(grabbed.cell))?.setAttribute("transform", to);
    }
  }

  release(event) {
    const grabbed = this.grabbed;
    const cell = this.cellOf(event);
    this.grabbed = null;
    if (!grabbed) return;
    if (!grabbed.isDragged) {
      if (cell) this.pick(cell);
      return;
    }
    this.paint();
    if (cell && !same(cell, grabbed.cell)) this.pick(cell);
  }

  drop() {
    this.grabbed = null;
    if (this.state) this.paint();
  }

  type(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.key in steps) {
      const [down, right] = steps[event.key].map((step) => (this.isFlipped ? -step : step));
      const to = this.next(down, right);
      if (to) this.hits.get(key(to)).focus();
    } else if (event.key === "Enter" || event.key === " ") {
      this.pick(this.pointed);
    } else if (event.key === "Escape") {
      this.close();
      this.selected = null;
      this.mark();
    } else return;
    event.preventDefault();
  }

  next(down, right) {
    const { rows, columns } = this.setting;
    let [row, column] = this.pointed;
    for (;;) {
      row += down;
      column += right;
      if (row < 0 || column < 0 || row >= rows || column >= columns) return null;
      if (this.hits.has(key([row, column]))) return [row, column];
    }
  }
}
