// A board without rules: it draws given shapes and reports the chosen action.
//
//   const board = new Board(element, setting, (action) => …);
//   board.show(state, isMine);

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
const HOP_MILLISECONDS = 220;
// Part of each margin that is cut off.
const CROPPED_MARGIN = 20;
const DRAG_THRESHOLD_PX = 8;
const SHOT_LABEL = "hit";
const MOVE_LABEL = "go there";

/** Return the SVG element of a shape, [kind, ...values]. */
export function renderShape([kind, ...v]) {
  switch (kind) {
    case "square":
      return svgElement("rect", { x: v[0], y: v[1], width: v[2], height: v[2], fill: v[3] });
    case "disc":
      return svgElement("circle", { cx: v[0], cy: v[1], r: v[2], fill: v[3], stroke: v[4], "stroke-width": v[5] });
    case "line":
      return svgElement("polyline", {
        points: v[0].map((point) => point.join(",")).join(" "),
        fill: "none", stroke: v[1], "stroke-width": v[2],
        "stroke-linejoin": "round", "stroke-linecap": "round",
      });
    default: {
      const text = svgElement("text", { x: v[0], y: v[1], "font-size": v[3], fill: v[4] });
      text.textContent = v[2];
      return text;
    }
  }
}

const GAME_TITLES = { capture_conquer: "Capturing & Conquering", morris: "Nine men's morris" };

/** Capitalize a sentence or a name, except identifiers and cells. */
export const capitalize = (text) => (/^(\w+[:_=]\w|[a-z]\d|$)/.test(text) ? text : text[0].toUpperCase() + text.slice(1));

/** Return an identifier as a title: "Mini checkers" for mini_checkers. */
export const toTitle = (name) => GAME_TITLES[name] ?? capitalize(name.replaceAll("_", " "));

export const find = (id) => document.getElementById(id);

export function svgElement(name, attributes = {}) {
  const node = document.createElementNS(SVG_NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

export function element(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

export function button(textContent, onClick, properties = {}) {
  const node = element("button", { type: "button", textContent, ...properties });
  node.addEventListener("click", onClick);
  return node;
}

/** Return a button with an icon above a word, and its key if there is one. */
export function control(icon, word, onClick, key, properties = {}) {
  const node = button("", onClick, { title: key ?? "", ariaKeyShortcuts: key, ...properties });
  node.append(element("span", { className: "icon", textContent: icon, ariaHidden: "true" }), element("span", { textContent: word }));
  return node;
}

/** Let the keyboard reach an element whose text does not fit, to scroll it. */
export function updateTabStop(node) {
  node.tabIndex = node.scrollHeight > node.clientHeight ? 0 : -1;
}

/** Return the letter of a pressed key on a Latin keyboard, also with Caps Lock or another layout, or a key's name; "" if it is not for the page. */
export function pressedKey({ key, code, target, defaultPrevented, ctrlKey, metaKey, altKey }) {
  const isForTarget = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || (key === " " && /^(A|BUTTON|SUMMARY)$/.test(target.tagName));
  if (isForTarget || defaultPrevented || ctrlKey || metaKey || altKey) return "";
  if (!/^\S$/.test(key)) return key;
  return /^[a-z]$/i.test(key) ? key.toLowerCase() : code.replace("Key", "").toLowerCase();
}

const isSameCell = (first, second) => first && second && first[0] === second[0] && first[1] === second[1];
const cellKey = (cell) => `${cell[0]},${cell[1]}`;

export class Board {
  /** `onChoice` receives an action, `onRefusal` the reason why a piece cannot be selected. */
  constructor(element, setting, onChoice, onRefusal = () => {}) {
    this.element = element;
    this.setting = setting;
    this.onChoice = onChoice;
    this.onRefusal = onRefusal;
    this.highlighted = []; // cells
    this.selected = null; // a cell
    this.isFlipped = false;
    this.choices = [];
    element.replaceChildren();
    element.classList.add("board");
    const { columns, rows, cell, margin } = setting;
    this.width = columns * cell + 2 * margin;
    this.height = rows * cell + 2 * margin;
    this.viewSize = { width: this.width - 2 * CROPPED_MARGIN, height: this.height - 2 * CROPPED_MARGIN };
    this.svg = svgElement("svg", {
      viewBox: `${CROPPED_MARGIN} ${CROPPED_MARGIN} ${this.viewSize.width} ${this.viewSize.height}`,
      role: "grid", "aria-label": toTitle(setting.game),
    });
    this.layers = {};
    for (const name of ["ground", "heat", "path", "goals", "labels", "pieces", "marks", "arrows", "cells"]) {
      this.layers[name] = svgElement("g", { class: name });
      this.svg.append(this.layers[name]);
    }
    element.append(this.svg);
    this.cellNames = new Map(setting.cells.map(([row, column, name]) => [cellKey([row, column]), name]));
    this.build();
    this.svg.addEventListener("pointerdown", (event) => this.onPointerDown(event));
    this.svg.addEventListener("pointermove", (event) => this.onPointerMove(event));
    this.svg.addEventListener("pointerup", (event) => this.onPointerUp(event));
    this.svg.addEventListener("pointercancel", (event) => this.onPointerLost(event));
    this.svg.addEventListener("lostpointercapture", (event) => this.onPointerLost(event));
    // A touch of a piece that can move neither scrolls nor zooms.
    this.svg.addEventListener("touchstart", (event) => this.canDrag(event.target.cell) && event.preventDefault(), { passive: false });
    this.svg.addEventListener("keydown", (event) => this.onKeyDown(event));
  }

  /** Show the side of the only one of `seats` below, and leave the focus, so that arrow keys step through the game. */
  takeSide(seats) {
    this.svg.addEventListener("mousedown", (event) => event.preventDefault());
    if (seats.length === 1 && this.setting.top === seats[0]) this.flip();
  }

  // Geometry

  /** Whether row 0 is the lowest one on the screen. */
  get runsUpward() {
    return this.isFlipped !== this.setting.runs_upward;
  }

  cellOrigin([row, column]) {
    const { rows, columns, cell } = this.setting;
    return [(this.isFlipped ? columns - 1 - column : column) * cell, (this.runsUpward ? rows - 1 - row : row) * cell];
  }

  renderAt(shapes, cell, className = "") {
    const [x, y] = this.cellOrigin(cell);
    const group = svgElement("g", { transform: `translate(${x} ${y})`, class: className });
    group.append(...shapes.map(renderShape));
    return group;
  }

  build() {
    const { cells, cell, margin, board, labels, goals } = this.setting;
    this.layers.ground.replaceChildren(this.renderOriented(board));
    this.layers.labels.replaceChildren(...labels[Number(this.isFlipped)].map(renderShape));
    this.layers.goals.replaceChildren(...goals.map(([row, column, shapes]) => this.renderAt(shapes, [row, column])));
    this.cellElements = new Map();
    const rowGroups = new Map();
    for (const [row, column, name] of cells) {
      const [x, y] = this.cellOrigin([row, column]);
      const node = svgElement("rect", {
        x: x + margin, y: y + margin, width: cell, height: cell, class: "cell",
        tabindex: -1, role: "gridcell", "data-cell": cellKey([row, column]), "aria-label": name,
      });
      node.cell = [row, column];
      node.addEventListener("focus", () => this.moveCursor(node.cell));
      this.cellElements.set(cellKey(node.cell), node);
      if (!rowGroups.has(row)) rowGroups.set(row, svgElement("g", { role: "row" }));
      rowGroups.get(row).append(node);
    }
    this.layers.cells.replaceChildren(...rowGroups.values());
    this.moveCursor(this.cursor ?? cells[0].slice(0, 2));
  }

  renderOriented(shapes) {
    const group = svgElement("g");
    const [across, left] = this.isFlipped ? [-1, this.width] : [1, 0];
    const [down, top] = this.runsUpward ? [-1, this.height] : [1, 0];
    group.setAttribute("transform", `matrix(${across} 0 0 ${down} ${left} ${top})`);
    group.append(...shapes.map(renderShape));
    return group;
  }

  flip() {
    this.isFlipped = !this.isFlipped;
    const isFocused = this.layers.cells.contains(document.activeElement);
    this.build();
    if (isFocused) this.cellElements.get(cellKey(this.cursor)).focus();
    if (this.state) this.show(this.state, this.isMine);
  }

  // Display

  show(state, isMine) {
    const before = this.state;
    this.state = state;
    this.isMine = isMine;
    this.choices = isMine
      ? state.choices.map(([action, text, pieces, cell, isShot, captures]) => ({ action, text, pieces, cell, isShot, captures }))
      : [];
    this.closeMenu();
    this.drag = null;
    this.hint = null;
    this.highlighted = [];
    const pieces = this.selectableCells();
    if (!pieces.some((cell) => isSameCell(cell, this.selected))) this.selected = null;
    if (isMine && state.mid_turn && pieces.length === 1) this.selected = pieces[0];
    this.drawPieces();
    if (before && state.decisions === before.decisions + 1) this.animate(state.last_decision);
  }

  selectableCells() {
    const pieces = new Map();
    for (const choice of this.choices) for (const cell of choice.pieces) pieces.set(cellKey(cell), cell);
    return [...pieces.values()];
  }

  drawPieces() {
    const { figures } = this.setting;
    this.layers.path.replaceChildren(this.renderOriented(this.state.path));
    this.pieceElements = new Map();
    for (const [row, column, letter] of this.state.pieces) {
      this.pieceElements.set(cellKey([row, column]), this.renderAt(figures[letter], [row, column], "piece"));
    }
    this.layers.pieces.replaceChildren(...this.pieceElements.values());
    this.drawMarks();
  }

  drawMarks() {
    const { marks } = this.setting;
    const nodes = this.state.captured.map((cell) => this.renderAt(marks.captured, cell));
    const targets = this.targets();
    const movable = this.state.must_capture ? marks.forced : marks.movable;
    for (const cell of this.selectableCells()) nodes.push(this.renderAt(movable, cell, "movable"));
    const hintCells = this.hint ? [this.hint.pieces[0], this.hint.cell].filter(Boolean) : [];
    for (const cell of [...hintCells, ...this.highlighted]) nodes.push(this.renderAt(marks.selected, cell, "hint"));
    if (this.selected) nodes.push(this.renderAt(marks.selected, this.selected));
    for (const { cell, isShot } of targets.values()) nodes.push(this.renderAt(isShot ? marks.shot : marks.target, cell));
    this.cursorMark = this.renderAt(marks.pointer, this.cursor, "cursor");
    this.layers.marks.replaceChildren(...nodes, this.cursorMark);
    const selectable = new Set(this.selectableCells().map(cellKey));
    const letters = new Map(this.state.pieces.map(([row, column, letter]) => [cellKey([row, column]), letter]));
    for (const [key, node] of this.cellElements) {
      const target = targets.get(key);
      node.classList.toggle("selectable", selectable.has(key));
      node.classList.toggle("target", Boolean(target));
      const parts = [this.cellNames.get(key), this.contentName(letters.get(key))];
      if (key === (this.selected && cellKey(this.selected))) parts.push("selected");
      if (target) parts.push(this.describeTarget(target));
      node.setAttribute("aria-label", parts.filter(Boolean).join(", "));
    }
  }

  /** Return how the target cell of a choice can be reached. */
  describeTarget({ cell, isShot, captures }) {
    if (isShot || captures.some((captured) => isSameCell(captured, cell))) return "can be hit";
    return captures.length ? "can be reached by a capture" : "can be reached";
  }

  contentName(letter) {
    return letter ? this.setting.piece_names[letter] : "empty";
  }

  /** Return the choices of the selected piece, or those without a piece, by target cell. */
  targets() {
    const targets = new Map();
    for (const choice of this.choices) {
      const isAvailable = choice.pieces.length
        ? this.selected && choice.pieces.some((cell) => isSameCell(cell, this.selected))
        : choice.captures.length > 0 || !this.selected;
      if (!isAvailable || !choice.cell) continue;
      const isHit = choice.isShot || (!choice.pieces.length && choice.captures.length > 0);
      // Of a move and a shot with one target, the mark of the shot is shown.
      const previous = targets.get(cellKey(choice.cell));
      targets.set(cellKey(choice.cell), { ...choice, isShot: isHit || Boolean(previous?.isShot) });
    }
    return targets;
  }

  animate(decision) {
    if (!decision || decision.is_shot || decision.path.length < 2) return;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const piece = this.pieceElements.get(cellKey(decision.path.at(-1)));
    if (!piece) return;
    const frames = decision.path.map((cell) => {
      const [x, y] = this.cellOrigin(cell);
      return { transform: `translate(${x}px, ${y}px)` };
    });
    piece.parentNode.append(piece);
    const duration = HOP_MILLISECONDS * (frames.length - 1);
    piece.animate(frames, { duration, easing: "ease-in-out" });
    // The last turn is marked after the piece has landed.
    this.layers.path.animate({ opacity: [0, 0] }, { duration });
  }

  showHint(action) {
    this.hint = this.choices.find((choice) => choice.action === action) ?? null;
    this.drawMarks();
  }

  // Input

  moveCursor(cell) {
    this.cursor = cell;
    for (const node of this.cellElements.values()) node.setAttribute("tabindex", isSameCell(node.cell, cell) ? 0 : -1);
    if (this.state) {
      const [x, y] = this.cellOrigin(cell);
      this.cursorMark?.setAttribute("transform", `translate(${x} ${y})`);
    }
  }

  /** Select a piece, or choose a target of the selected one. */
  pick(cell) {
    this.closeMenu();
    this.highlighted = [];
    const isSelectable = this.selectableCells().some((piece) => isSameCell(piece, cell));
    const matching = this.choices.filter(
      (choice) => isSameCell(choice.cell, cell) &&
        (!choice.pieces.length || choice.pieces.some((piece) => isSameCell(piece, this.selected))),
    );
    if (matching.length && !(isSelectable && isSameCell(cell, this.selected))) {
      if (matching.length === 1) this.onChoice(matching[0].action);
      else this.openMenu(matching, cell);
      return;
    }
    const isTarget = !isSelectable && !this.selected;
    this.selected = isSelectable && !isSameCell(cell, this.selected) ? cell : null;
    if (isTarget) this.selectFor(cell);
    if (!isSelectable && this.isMine && this.isMoversPiece(cell)) this.refuse();
    this.drawMarks();
  }

  /** Select the piece of the only choice with a target, or highlight those of several. */
  selectFor(cell) {
    const choices = this.choices.filter((choice) => isSameCell(choice.cell, cell));
    if (!choices.length) return;
    const action = choices[0].isShot ? "shoot" : "go there";
    if (choices.length === 1) [this.selected] = choices[0].pieces;
    else this.highlighted = choices.flatMap(({ pieces }) => pieces);
    this.onRefusal(choices.length === 1 ? `Choose it again to ${action}` : `Choose a marked piece to ${action}`);
  }

  isMoversPiece(cell) {
    const piece = this.state.pieces.find((other) => isSameCell(other, cell));
    return piece && this.setting.owners[piece[2]] === this.state.mover;
  }

  /** Highlight the selectable pieces, and report why another one cannot be selected. */
  refuse() {
    this.highlighted = this.selectableCells();
    const advice = this.highlighted.length ? ": choose a marked piece" : "";
    this.onRefusal(`${this.state.must_capture ? "You must capture" : "This piece cannot move now"}${advice}`);
  }

  /** Return buttons for the choices without a cell, such as a pass. */
  offBoardButtons() {
    const choices = this.choices.filter((choice) => !choice.cell);
    return choices.map(({ action, text }) => button(text.trim(), () => this.onChoice(action), { className: "main" }));
  }

  /** Open a menu beside a cell with several choices that share this target. */
  openMenu(choices, cell) {
    const menu = element("div", { className: "board-menu" });
    menu.setAttribute("role", "menu");
    const isMixed = choices.some((choice) => choice.isShot) && choices.some((choice) => !choice.isShot);
    for (const choice of choices) {
      const label = isMixed ? `${choice.isShot ? SHOT_LABEL : MOVE_LABEL}: ` : "";
      const item = button(label + choice.text.trim(), () => this.onChoice(choice.action));
      item.setAttribute("role", "menuitem");
      menu.append(item);
    }
    const { cell: cellSize, margin } = this.setting;
    const [x, y] = this.cellOrigin(cell);
    const isAbove = y > this.height / 2;
    const left = (100 * (x + margin - CROPPED_MARGIN + cellSize / 2)) / this.viewSize.width;
    menu.classList.toggle("above", isAbove);
    menu.style.top = `${(100 * (y + margin - CROPPED_MARGIN + (isAbove ? 0 : cellSize))) / this.viewSize.height}%`;
    menu.addEventListener("keydown", (event) => event.key === "Escape" && this.closeMenu());
    this.element.append(menu);
    // The whole menu stays within the board.
    const half = (50 * menu.offsetWidth) / this.element.clientWidth;
    menu.style.left = `${Math.min(100 - half, Math.max(half, left))}%`;
    this.menu = menu;
    menu.firstChild.focus();
  }

  closeMenu() {
    this.menu?.remove();
    this.menu = null;
  }

  canDrag(cell) {
    return this.selectableCells().some((piece) => isSameCell(piece, cell));
  }

  onPointerDown(event) {
    const { cell } = event.target;
    if (!cell || event.button || !event.isPrimary) return;
    this.drag = { cell, id: event.pointerId, x: event.clientX, y: event.clientY, isMoving: false };
    this.svg.setPointerCapture(event.pointerId);
  }

  onPointerMove(event) {
    const { drag } = this;
    if (drag?.id !== event.pointerId) return;
    // The button was released outside of the window.
    if (!event.buttons) return this.cancelDrag();
    const isFar = Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > DRAG_THRESHOLD_PX;
    if (!drag.isMoving && isFar && this.canDrag(drag.cell)) this.startDrag();
    if (drag.isMoving) {
      const scale = this.viewSize.width / this.svg.clientWidth;
      const [x, y] = this.cellOrigin(drag.cell);
      const offset = `${x + (event.clientX - drag.x) * scale} ${y + (event.clientY - drag.y) * scale}`;
      this.pieceElements.get(cellKey(drag.cell))?.setAttribute("transform", `translate(${offset})`);
    }
  }

  startDrag() {
    const { drag } = this;
    drag.isMoving = true;
    this.closeMenu();
    this.selected = drag.cell;
    this.drawMarks();
    const piece = this.pieceElements.get(cellKey(drag.cell));
    piece?.parentNode.append(piece);
  }

  onPointerUp(event) {
    const { drag } = this;
    if (drag?.id !== event.pointerId) return;
    this.drag = null;
    const target = document.elementFromPoint(event.clientX, event.clientY);
    const cell = this.svg.contains(target) ? target.cell : null;
    if (drag.isMoving) this.drawPieces();
    if (cell && !(drag.isMoving && isSameCell(cell, drag.cell))) this.pick(cell);
  }

  onPointerLost(event) {
    if (this.drag?.id === event.pointerId) this.cancelDrag();
  }

  /** End a drag without a move; the piece returns. */
  cancelDrag() {
    this.drag = null;
    if (this.state) this.drawPieces();
  }

  onKeyDown(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.key in steps) {
      const [down, right] = steps[event.key];
      const cell = this.neighbor(this.runsUpward ? -down : down, this.isFlipped ? -right : right);
      if (cell) this.cellElements.get(cellKey(cell)).focus();
    } else if (event.key === "Enter" || event.key === " ") {
      this.pick(this.cursor);
    } else if (event.key === "Escape") {
      this.closeMenu();
      this.selected = null;
      this.drawMarks();
    } else return;
    event.preventDefault();
  }

  /** Return the nearest cell in a direction from the cursor, null at the edge. */
  neighbor(down, right) {
    const { rows, columns, cells } = this.setting;
    // Of the dark squares alone, that of the next row is one column aside: each row has one in columns 0 and 1, and so on.
    const isDraughts = 2 * cells.length === rows * columns;
    let [row, column] = this.cursor;
    for (;;) {
      row += down;
      column = isDraughts && down ? column ^ 1 : column + right;
      if (row < 0 || column < 0 || row >= rows || column >= columns) return null;
      if (this.cellElements.has(cellKey([row, column]))) return [row, column];
    }
  }
}
