"""Meaning of action ids: ranges of ids, examples, and an index map."""

from dataclasses import replace
from typing import NamedTuple

from cc_env.core.game import Cell, Game
from cc_env.core.rules import Position
from cc_env.rendering.picture import Picture, draw
from cc_env.rendering.svg import to_svg
from docs.make.blocks import Block, maker, table

MAX_EXAMPLES = 8


class Family(NamedTuple):
    """A range of action ids that mean the same kind of decision."""

    first: int
    last: int
    meaning: str


def families(game: Game) -> list[Family]:
    """Return the ranges of a game's action ids, which cover all of them."""
    _, rows, columns = game.observation_shape
    cells, last = rows * columns, game.num_actions - 1
    match game.name:
        case "capture_conquer":
            first_capture = last - cells
            return [
                Family(
                    0,
                    first_capture - 1,
                    "go from a start cell to an end cell, by a step or a chain",
                ),
                Family(first_capture, last - 1, "capture the piece on a cell: `first id + cell`"),
                Family(last, last, "capture nothing"),
            ]
        case "checkers":
            return [Family(0, last, "step or jump from a start cell to an end cell")]
        case "mini_checkers":
            return [
                Family(0, last - 1, "step or jump from a start cell to an end cell"),
                Family(last, last, "pass"),
            ]
        case "morris":
            return [
                Family(0, 23, "place a bead on a point, or remove the one there"),
                Family(24, last, "move a bead: `24 + 24 * from + to`"),
            ]
        case "cannon":
            return [
                Family(0, last - cells, "a soldier goes from a start cell to an end cell"),
                Family(last - cells + 1, last, "shoot at a cell: `first id + cell`"),
            ]
    raise ValueError(f"no families of actions for {game.name}")


@maker
def actions(block: Block) -> str:
    """Return the ranges of action ids, and examples of legal ones at the start or in `position`."""
    game = block.game()
    ranges = table(
        ["#ids", "decision"],
        ((_span(family), family.meaning) for family in families(game)),
    )
    text = block.texts.get("position")
    position = game.from_text(text) if text else game.initial
    where = f"In `{text}`" if text else "At the start"
    legal = game.legal_actions(position)
    examples = legal[:: -(-len(legal) // MAX_EXAMPLES)]
    rows = (_example(game, position, int(action)) for action in examples)
    head = ["#id", "from (row, column)", "to (row, column)", "notation"]
    suffix = f"; {len(examples)} of them" if len(examples) < len(legal) else ""
    heading = f"{where}, {len(legal)} actions are legal{suffix}:"
    return f"{ranges}\n\n{heading}\n\n{table(head, rows)}"


def _span(family: Family) -> str:
    first, last, _ = family
    return str(first) if first == last else f"{first} – {last}"


def _example(game: Game, position: Position, action: int) -> tuple[int, str, str, str]:
    columns = game.observation_shape[2]
    start, end = (
        _cell_text(game, divmod(int(cell), columns)) for cell in game.action_cells[action]
    )
    return action, start, end, f"`{game.action_text(position, action).strip()}`"


def _cell_text(game: Game, cell: Cell) -> str:
    """Return a cell of the mover's frame as text, with its name if it has one."""
    if cell[0] == game.observation_shape[1]:
        return "–"
    name = game.cell_names.get(cell, "")
    return f"{cell[0]}, {cell[1]}" + (f" ({name})" if name else "")


@maker
def index_map(block: Block) -> str:
    """Return drawn maps of action ids in the mover's frame; the text `from` is the start cell."""
    game = block.game()
    row, column = map(int, block.texts["from"].split(","))
    pictures = [_first_ids(game), _ids_from(game, (row, column)), _by_cell(game)]
    visible = [picture for picture in pictures if picture.numbers]
    alt = f"Action ids of {game.name} on the board, in the frame of the player to move"
    return block.page.picture(to_svg(*visible, columns=2), alt)


def _actions_with_cells(game: Game) -> list[tuple[int, Cell, Cell]]:
    """Return id, start and end of each action with cells; both are the same if it has one."""
    _, rows, columns = game.observation_shape
    return [
        (action, divmod(start, columns), divmod(end, columns))
        for action, (start, end) in enumerate(game.action_cells.tolist())
        if start < rows * columns
    ]


def _empty(game: Game, numbers: dict[Cell, int], caption: str) -> Picture:
    picture = draw(game.replace(goal_cells=()), game.initial, caption=caption)
    return replace(picture, pieces={}, numbers=numbers)


def _first_ids(game: Game) -> Picture:
    numbers: dict[Cell, int] = {}
    for action, start, end in _actions_with_cells(game):
        if start != end:
            numbers.setdefault(start, action)
    return _empty(game, numbers, "The first id of the actions from a cell to another one")


def _ids_from(game: Game, cell: Cell) -> Picture:
    numbers = {
        end: action for action, start, end in _actions_with_cells(game) if cell == start != end
    }
    name = game.cell_names.get(cell, f"{cell[0]}, {cell[1]}")
    picture = _empty(
        game, numbers, f"The ids of the actions from {name} (marked), by their end cell"
    )
    return replace(picture, selected=cell, path=(cell,))


def _by_cell(game: Game) -> Picture:
    numbers: dict[Cell, int] = {}
    for action, start, end in _actions_with_cells(game):
        if start == end:
            numbers.setdefault(start, action)
    return _empty(game, numbers, "The ids of the actions on one cell")
