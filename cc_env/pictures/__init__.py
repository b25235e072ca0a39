"""A position as a picture: text, SVG, pixels or a window. Pictures know no rules; they are told."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cc_env.errors import UnknownOption, is_whole
from cc_env.game import Cell, Game, Turn
from cc_env.match import Match
from cc_env.rules import DRAW, ONGOING, Position


@dataclass(frozen=True)
class Picture:
    """What there is to draw. In a notebook it shows itself."""

    rows: int
    columns: int
    players: tuple[str, str]  # best colours, see shapes.py
    letters: tuple[str, str]  # of the pieces of each player
    pieces: Mapping[Cell, str]
    figures: Mapping[str, str] = field(
        default_factory=dict
    )  # of letters; else discs, see shapes.py
    dark: int = 1  # are cells whose row + column is odd, 0: even
    lines: tuple[tuple[Cell, Cell], ...] = ()  # of a board of points, which has no squares
    names: Mapping[Cell, str] = field(default_factory=dict)  # of its points; others have numbers
    goals: tuple[Cell, ...] = ()  # of the first and of the second player
    path: tuple[Cell, ...] = ()  # of the last turn
    captured: tuple[Cell, ...] = ()  # in the last turn
    selected: Cell | None = None
    targets: tuple[Cell, ...] = ()  # where the selected piece can go
    shots: tuple[Cell, ...] = ()  # what it can hit without going there; itself if it can be taken
    heat: Mapping[Cell, float] = field(default_factory=dict)  # shares, 0 to 1; text has none
    numbers: Mapping[Cell, int] = field(default_factory=dict)  # written on cells; text has none
    caption: str = ""

    def owner(self, letter: str) -> str:
        """Return the player whose piece a letter is."""
        return self.players[letter in self.letters[1]]

    def _repr_svg_(self) -> str:
        from cc_env.pictures.svg import to_svg

        return to_svg(self)

    def __str__(self) -> str:
        from cc_env.pictures.text import to_text

        return to_text(self)


@dataclass(frozen=True)
class Sheet:
    """Pictures side by side, in rows of so many. In a notebook it shows itself."""

    pictures: Sequence[Picture]
    columns: int = 4

    def _repr_svg_(self) -> str:
        from cc_env.pictures.svg import to_svg

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

    `last` is the turn that led here and the position it was played in: its path and captures are
    shown. `select` is a cell whose legal targets and shots are shown; raises UnknownOption off the
    board. `heat` colours cells, and says how much it is; see `heat`. The caption is who is to move,
    with the game's remark, or how the game ended, and the last turn. `end` is the outcome and the
    word for it where the position alone does not know: a repetition, a limit, a fault.
    """
    _, rows, columns = game.observation_shape
    if select is not None and not _is_cell(select, rows, columns):
        raise UnknownOption(
            f"select={select!r} is no cell (row, column) of the board of {rows} x {columns}"
        )
    cell = None if select is None else (int(select[0]), int(select[1]))
    path, captured = game.track(*last) if last else ((), ())
    return Picture(
        rows=rows,
        columns=columns,
        players=game.players,
        letters=game.letters,
        pieces=game.pieces(position),
        figures=game.look.figures,
        dark=game.look.dark,
        lines=game.look.lines,
        names=game.look.names,
        goals=game.look.goals,
        path=path,
        captured=captured,
        selected=cell,
        targets=() if cell is None else targets(game, position, cell),
        shots=() if cell is None else shots(game, position, cell),
        heat=heat or {},
        caption=_caption(game, position, last, end) if caption is None else caption,
    )


def frames(match: Match) -> Iterator[Picture]:
    """Yield the pictures of the start and of the position after each turn."""
    course = [None, *match.course]
    for number, last in enumerate(course, 1):
        position = match.game.play_turn(*last) if last else match.start
        yield draw(
            match.game, position, last=last, end=match.result if number == len(course) else None
        )


def heat(
    game: Game, position: Position, chances: Mapping[int, float], *, ends: bool = False
) -> dict[Cell, float]:
    """Return by cells what the chances of the actions that start there add up to, or end there."""
    found: dict[Cell, float] = {}
    for action, chance in chances.items():
        if path := game.track(position, (action,)).path:
            cell = path[-1 if ends else 0]
            found[cell] = found.get(cell, 0.0) + chance
    return found


def targets(game: Game, position: Position, cell: Cell) -> tuple[Cell, ...]:
    """Return the cells that the piece on `cell` can go to with one legal action."""
    legal = map(int, game.legal_actions(position))
    tracks = (game.track(position, (a,)) for a in legal if not any(game.look.shooters(position, a)))
    return tuple(sorted({track.path[-1] for track in tracks if track.path[:1] == (cell,)}))


def shots(game: Game, position: Position, cell: Cell) -> tuple[Cell, ...]:
    """Return the cells that the piece on `cell`, alone or with others, can shoot at.

    Where a move removes it and nothing else, as after a mill, that is the cell itself.
    """
    found: set[Cell] = set()
    for action in map(int, game.legal_actions(position)):
        path, captured = game.track(position, (action,))
        if cell in game.look.shooters(position, action):
            found.add(path[-1])
        elif captured == (cell,) and not path:
            found.add(cell)
    return tuple(sorted(found))


def _is_cell(given: object, rows: int, columns: int) -> bool:
    if not isinstance(given, tuple | list) or len(given) != 2:
        return False
    return is_whole(given[0], 0, rows - 1) and is_whole(given[1], 0, columns - 1)


def standing(game: Game, position: Position, end: tuple[int, str] | None = None) -> str:
    """Return who is to move, with the game's remark, or how the game ended; `end` as for `draw`."""
    if end is None and game.outcome(position) == ONGOING:
        remark = f", {said}" if (said := game.look.remark(position)) else ""
        return f"{game.players[game.to_move(position)]} to move{remark}"
    outcome, word = end or (game.outcome(position), game.ending(position))
    told = {DRAW: "draw", ONGOING: "stopped"}.get(outcome) or f"{game.players[outcome]} wins"
    return f"{told} ({word})"


def _caption(
    game: Game,
    position: Position,
    last: tuple[Position, Turn] | None,
    end: tuple[int, str] | None,
) -> str:
    played = f" · last {game.turn_text(*last)}" if last else ""
    return standing(game, position, end) + played
