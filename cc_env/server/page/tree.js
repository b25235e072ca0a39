// A game with its variations: a tree of turns, the first child of each being the main line.

export class Node {
  constructor(turn = [], text = "", mover = 0, parent = null) {
    Object.assign(this, { turn, text, mover, parent, children: [] });
    this.chances = null; // of the first player here, in per cent
    this.judged = null; // how good the turn was, as the server says it
  }

  get isMain() {
    return !this.parent || (this.parent.children[0] === this && this.parent.isMain);
  }

  get path() {
    const path = [];
    for (let node = this; node; node = node.parent) path.unshift(node);
    return path;
  }

  /** The decisions that lead here. */
  get actions() {
    return this.path.flatMap((node) => node.turn);
  }

  /** All nodes from the root through this one to the end of its line. */
  get line() {
    const line = this.path;
    while (line.at(-1).children.length) line.push(line.at(-1).children[0]);
    return line;
  }

  /** Return the child of a turn, made if it is new. */
  add(turn, text, mover) {
    const same = (child) => child.turn.length === turn.length && child.turn.every((action, at) => action === turn[at]);
    let child = this.children.find(same);
    if (!child) this.children.push((child = new Node(turn, text, mover, this)));
    return child;
  }

  remove() {
    this.parent.children = this.parent.children.filter((child) => child !== this);
  }

  saved() {
    return [this.turn, this.text, this.mover, this.children.map((child) => child.saved())];
  }

  restore(children) {
    for (const [turn, text, mover, others] of children) this.add(turn, text, mover).restore(others);
  }
}

/** Return the rows of a list: each turn after `node`, numbered from `first` on, with its variations. */
export function rows(node, row, list, first = 1) {
  const shown = [];
  let number = first;
  for (let at = node; at.children.length; at = at.children[0], number += 1) {
    const [main, ...others] = at.children;
    shown.push(row(main, number));
    for (const other of others) shown.push(list([row(other, number), ...rows(other, row, list, number + 1)]));
  }
  return shown;
}
