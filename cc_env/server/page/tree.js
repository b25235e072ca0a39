// A game with variations: a tree of turns, in which the first child continues the main line.

export class Node {
  constructor(turn = [], text = "", mover = 0, parent = null) {
    Object.assign(this, { turn, text, mover, parent, children: [] });
    // The first player's winning chances in percent.
    this.chances = null;
    // The server's assessment of the turn.
    this.assessment = null;
  }

  /** The nodes from the root to this one. */
  get path() {
    const path = [];
    for (let node = this; node; node = node.parent) path.unshift(node);
    return path;
  }

  /** The decisions from the start to this node. */
  get actions() {
    return this.path.flatMap((node) => node.turn);
  }

  /** The nodes from the root through this one to the end of its line. */
  get line() {
    const line = this.path;
    while (line.at(-1).children.length) line.push(line.at(-1).children[0]);
    return line;
  }

  /** Return the child of a turn; add it if it is new. */
  add(turn, text, mover) {
    const isSameTurn = (child) => child.turn.length === turn.length && child.turn.every((action, index) => action === turn[index]);
    let child = this.children.find(isSameTurn);
    if (!child) this.children.push((child = new Node(turn, text, mover, this)));
    return child;
  }

  remove() {
    this.parent.children = this.parent.children.filter((child) => child !== this);
  }

  toJSON() {
    return [this.turn, this.text, this.mover, this.children];
  }

  restore(children) {
    for (const [turn, text, mover, grandchildren] of children) this.add(turn, text, mover).restore(grandchildren);
  }
}

/** Return the rows after a node, the main line numbered from `first`, each followed by its variations. */
export function listRows(node, renderRow, renderBranch, first = 1) {
  const rows = [];
  let number = first;
  for (let parent = node; parent.children.length; parent = parent.children[0], number += 1) {
    const [main, ...variations] = parent.children;
    rows.push(renderRow(main, number));
    for (const variation of variations) {
      rows.push(renderBranch([renderRow(variation, number), ...listRows(variation, renderRow, renderBranch, number + 1)]));
    }
  }
  return rows;
}
