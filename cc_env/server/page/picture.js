// A board as a picture, which takes no input.

import { Board, element } from "./board.js";

/** Return an inert board, which shows pieces from the view of a player. */
export function renderPicture({ setting }, state, player = 1 - setting.top) {
  const picture = element("div", { inert: true, ariaHidden: "true", className: "picture" });
  const board = new Board(picture, setting, () => {});
  if (player === setting.top) board.flip();
  board.show({ path: [], captured: [], ...state, choices: [] }, false);
  return picture;
}
