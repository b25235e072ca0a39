"""Pictures of positions with marks, for text, SVG, pixels and windows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cc_env.core.game import Cell, Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import BadOption, is_integer
from cc_env.match.match import Match
from cc_env.rendering.picture_data import PictureData
from cc_env.rendering.svg import to_svg
from cc_env.rendering.text import to_text
from cc_env.text.board import describe_standing


@dataclass(frozen=True)
class Picture(PictureData):
    """A position with the marks to draw. Notebooks display it."""

    def _repr_svg_(self) -> str:
        return to_svg(self)

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True)
class Sheet:
    """Pictures in rows. Notebooks display it."""

    pictures: Sequence[Picture]
    # Pictures in a row.
    columns: int = 4

    def _repr_svg_(self) -> str:
        return to_svg(*self.pictures, columns=self.columns)


def draw(
    game: Game,
    position: Position,
    *,
    last: tuple[Position, Turn] | None = None,
    select: Cell | None = None,
    heat: Mapping[Cell, float] | None = None,
    end: tuple[int, str] | None = None,
    caption: str | None = None,
) -> Picture:
    """Return the picture of a position.

    `last` is the previous position and the turn that led here; its path and captures are marked.
    `select` is the cell of a piece whose legal targets and shots are marked. `heat` colors cells
    and labels them with percentages; the function `heat` computes it. `end` is (outcome, reason) of
    a game that was not ended by its position: by repetition, a limit or a fault. The default
    caption is the player to move, or how the game ended, and the last turn.

    Raises BadOption if `select` is off the board.

    Examples:

        >>> import cc_env
        >>> from cc_env.rendering.picture import draw
        >>> game = cc_env.make_game("capture_conquer", size=4)
        >>> print(draw(game, game.initial))
           a b c d
         4 . . r r
         3 . . . r
         2 b . . .
         1 b b . .
        blue to move
    """
    rows, columns = game.grid.rows, game.grid.columns
    if select is not None and not _is_cell(select, rows, columns):
        raise BadOption(
            f"select={select!r}; expected: a cell (row, column) of the board of {rows} x {columns}"
        )
    cell = None if select is None else (int(select[0]), int(select[1]))
    targets, shots = _reachable_cells(game, position, cell) if cell else ((), ())
    path, captured = game.track(*last) if last else ((), ())
    return Picture(
        game,
        game.pieces(position),
        path=path,
        captured=captured,
        selected=cell,
        targets=targets,
        shots=shots,
        heat=heat or {},
        caption=_caption(game, position, last, end) if caption is None else caption,
    )


def frames(match: Match) -> Iterator[Picture]:
    """Yield the pictures of the initial position and of the position after each turn."""
    last_turns = [None, *match.history]
    for number, last in enumerate(last_turns, 1):
        position = match.game.play_turn(*last) if last else match.start
        end = match.result if number == len(last_turns) else None
        yield draw(match.game, position, last=last, end=end)


def heat(
    game: Game, position: Position, chances: Mapping[int, float], *, ends: bool = False
) -> dict[Cell, float]:
    """Return the probability of each cell: the sum over the actions that start (or end) there."""
    sums: dict[Cell, float] = {}
    for action, chance in chances.items():
        if path := game.track(position, (action,)).path:
            cell = path[-1 if ends else 0]
            sums[cell] = sums.get(cell, 0.0) + chance
    return sums


def _reachable_cells(
    game: Game, position: Position, cell: Cell
) -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
    """Return the cells that the piece on `cell` can move to, and those it can shoot at, sorted.

    A piece shoots alone or with others. If an action only removes the piece itself, as after a
    mill, `cell` is one of the cells to shoot at.
    """
    targets, shots = set[Cell](), set[Cell]()
    for action in game.legal_actions(position).tolist():
        path, captured = game.track(position, (action,))
        shooters = tuple(game.shooters(position, action))
        if cell in shooters:
            shots.add(path[-1])
        elif captured == (cell,) and not path:
            shots.add(cell)
        elif path[:1] == (cell,) and not shooters:
            targets.add(path[-1])
    return tuple(sorted(targets)), tuple(sorted(shots))


def _is_cell(value: object, rows: int, columns: int) -> bool:
    if not isinstance(value, tuple | list) or len(value) != 2:
        return False
    return is_integer(value[0], 0, rows - 1) and is_integer(value[1], 0, columns - 1)


def _caption(
    game: Game,
    position: Position,
    last: tuple[Position, Turn] | None,
    end: tuple[int, str] | None,
) -> str:
    """Return who is to move or how the game ended, and the last turn."""
    last_turn = f" · last {game.readable_turn_text(*last).strip()}" if last else ""
    return describe_standing(game, position, end) + last_turn
