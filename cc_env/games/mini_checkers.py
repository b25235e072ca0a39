"""Mini checkers, 6×6: men only, who can must jump, one jump a turn; who cannot move passes.

Position  own, enemy: the two sides as bits 8r + c, in the frame of the player to move (the board
          is turned by 180 degrees for white; men go towards row 0); player: 0 or 1
Action    ids ascending by start, then end, of all steps and jumps on an empty board; last: the
          pass, which is legal where the player to move can do nothing else and the opponent can
Turn      41-30, 41x23 or pass: row and column, from the upper left
Ending    no_pieces (a side has none: it has lost, by 6), both_stuck (neither can move: who has
          more men has won, by how many more; a draw where they are equal)
Symmetry  none

    start, as text:  1w1w1w/w1w1w1/6/6/1b1b1b/b1b1b1 b     b black, below   w white, above
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env import rules
from cc_env.bits import ONE, ZERO, lowest, lowest_bit, popcount, reverse, summed
from cc_env.compile import jit
from cc_env.errors import BadPosition, UnknownOption
from cc_env.game import Cell, Game, Recording, Track, Turn
from cc_env.games.grid import read_rows, rows_text
from cc_env.rules import DRAW, ONGOING, Bool, Int

Word = np.uint64

SIZE = 6
CELLS = [(r, c) for r in range(SIZE) for c in range(SIZE) if (r + c) % 2]
PLAYERS = "black", "white"
SIDES = "bw"
PLANES = "own men", "enemy men"
ALL = 6  # the margin of who has taken all
UNLIMITED = {"depth": 80, "seconds": 15, "table_megabytes": 256}  # it solves the game
LEVELS = {
    "easy": {"depth": 5, "seconds": 15},
    "normal": {"depth": 15, "seconds": 15},
    "hard": UNLIMITED,
    "extreme": UNLIMITED,
}

_7, _9, _18 = (np.uint64(n) for n in (7, 9, 18))
_BOARD = np.uint64(sum(1 << (8 * row + column) for row, column in CELLS))
_NOT_FIRST = np.uint64(0xFEFEFEFEFEFEFEFE)  # columns; the last two of each byte are off the board

# Tables: STARTS[id], ENDINGS[id] the cells of an action, 63 for the pass; STEP_ID[start, side] and
# JUMP_ID[start, side] the way back, left and right.
STARTS = np.full(61, 63, np.uint64)
ENDINGS = np.full(61, 63, np.uint64)
STEP_ID = np.zeros((64, 2), np.int32)
JUMP_ID = np.zeros((64, 2), np.int32)
PASS = 0  # its id; how many others there are
for _row, _column in CELLS:
    for _far, _table in ((2, JUMP_ID), (1, STEP_ID)):
        for _side, _right in enumerate((-_far, _far)):
            if _row >= _far and 0 <= _column + _right < SIZE:
                STARTS[PASS] = 8 * _row + _column
                ENDINGS[PASS] = 8 * (_row - _far) + _column + _right
                _table[8 * _row + _column, _side] = PASS
                PASS += 1
STARTS, ENDINGS = STARTS[: PASS + 1], ENDINGS[: PASS + 1]


class Position(NamedTuple):
    """Two sides and who is to move; see the head of the module."""

    own: np.uint64
    enemy: np.uint64
    player: np.uint64


class Ways(NamedTuple):
    """The men that can go each way: sets of cells."""

    left: np.uint64
    right: np.uint64


@jit
def legal_actions(position: Position, out: NDArray[np.int32]) -> int:
    """As `rules.legal_actions`."""
    own, empty = position.own, _BOARD & ~(position.own | position.enemy)
    jumps = _jumping(own, position.enemy, empty)
    if jumps.left | jumps.right:
        return _write(jumps, JUMP_ID, out)
    steps = _stepping(own, empty)
    if steps.left | steps.right:
        return _write(steps, STEP_ID, out)
    if is_stuck(turned(position.enemy), turned(own)):
        return 0
    out[0] = PASS
    return 1


@jit
def _jumping(own: Word, enemy: Word, empty: Word) -> Ways:
    """Return which men can jump forward."""
    left = own & _down_right(_down_right(empty) & enemy)
    return Ways(left, own & _down_left(_down_left(empty) & enemy))


@jit
def _stepping(own: Word, empty: Word) -> Ways:
    """Return which men can step forward."""
    return Ways(own & _down_right(empty), own & _down_left(empty))


@jit
def _down_left(cells: Word) -> Word:
    return (cells & _NOT_FIRST) << _7


@jit
def _down_right(cells: Word) -> Word:
    return cells << _9


@jit
def _write(ways: Ways, ids: NDArray[np.int32], out: NDArray[np.int32]) -> int:
    """Write the ids of the actions, ascending; return how many."""
    men, count = ways.left | ways.right, 0
    while men:
        man = lowest_bit(men)
        men ^= man
        for side in range(2):
            if ways[side] & man:
                out[count] = ids[lowest(man), side]
                count += 1
    return count


@jit
def is_stuck(own: Word, enemy: Word) -> Bool:
    """Return whether a side, in its own frame, can neither step nor jump."""
    empty = _BOARD & ~(own | enemy)
    jumps, steps = _jumping(own, enemy, empty), _stepping(own, empty)
    return not jumps.left | jumps.right | steps.left | steps.right


@jit
def apply(position: Position, action: Int) -> Position:
    """As `rules.apply`."""
    own, enemy = position.own, position.enemy
    if action != PASS:
        own ^= ONE << STARTS[action] | ONE << ENDINGS[action]
        enemy &= ~jumped(action)
    return Position(turned(enemy), turned(own), position.player ^ ONE)


@jit
def jumped(action: Int) -> Word:
    """Return the cell that an action jumps over, ZERO for others."""
    start, end = STARTS[action], ENDINGS[action]
    return ONE << ((start + end) >> ONE) if start > end + _9 else ZERO


@jit
def turned(cells: Word) -> Word:
    """Return the cells with the board turned by 180 degrees."""
    return reverse(cells) >> _18


@jit
def to_move(position: Position) -> Int:
    """As `rules.to_move`."""
    return np.int64(position.player)


@jit
def mid_turn(position: Position) -> bool:
    """As `rules.mid_turn`."""
    return False


@jit
def outcome(position: Position) -> Int:
    """As `rules.outcome`."""
    own, enemy = position.own, position.enemy
    if own and enemy and not (is_stuck(own, enemy) and is_stuck(turned(enemy), turned(own))):
        return ONGOING
    lead = popcount(own) - popcount(enemy)
    if lead == 0:
        return DRAW
    return np.int64(position.player) if lead > 0 else 1 - np.int64(position.player)


@jit
def margin(position: Position) -> Int:
    """As `rules.margin`."""
    if not (position.own and position.enemy):
        return np.int64(ALL)
    lead = popcount(position.own) - popcount(position.enemy)
    return max(lead, -lead)


@jit
def observe(position: Position, player: Int, planes: NDArray[np.int8]) -> None:
    """As `rules.observe`; the planes are named in PLANES."""
    own, enemy = position.own, position.enemy
    if player != np.int64(position.player):
        own, enemy = turned(enemy), turned(own)
    for row in range(SIZE):
        for column in range(SIZE):
            cell = np.uint64(8 * row + column)
            planes[0, row, column] = own >> cell & ONE
            planes[1, row, column] = enemy >> cell & ONE


@jit
def loud_actions(position: Position, out: NDArray[np.int32]) -> int:
    """As `rules.loud_actions`: the captures."""
    empty = _BOARD & ~(position.own | position.enemy)
    return _write(_jumping(position.own, position.enemy, empty), JUMP_ID, out)


rules.register(
    Position,
    legal_actions=legal_actions,
    apply=apply,
    to_move=to_move,
    mid_turn=mid_turn,
    outcome=outcome,
    observe=observe,
    loud_actions=loud_actions,
    margin=margin,
)


class Published(NamedTuple):
    """The published evaluation: men, and how far each has come, in units of its own.

    To a player, `man` for each own man and what is left of the way for each enemy man, less the
    same the other way round; it was divided by 10, to lie between -6 and 6.
    """

    man: np.int64 = np.int64(5)


class Standard(NamedTuple):
    """Our own evaluation, the sum of `weights` (int64[65]): a man on each cell, being to move."""

    weights: NDArray[np.int64]


@jit
def published(position: Position, player: Int, evaluation: Published) -> Int:
    """As `rules.evaluate`."""
    own, enemy = position.own, turned(position.enemy)
    value = evaluation.man * (popcount(own) - popcount(enemy))
    value += _way_left(enemy) - _way_left(own)
    return value if player == np.int64(position.player) else -value


@jit
def _way_left(men: Word) -> Int:
    total: Int = np.int64(0)
    while men:
        total += np.int64(lowest(men) >> np.uint64(3))
        men &= men - ONE
    return total


@jit
def standard(position: Position, player: Int, evaluation: Standard) -> Int:
    """As `rules.evaluate`."""
    weights = evaluation.weights
    value: Int = (
        summed(position.own, weights) - summed(turned(position.enemy), weights) + weights[64]
    )
    return value if player == np.int64(position.player) else -value


rules.register_evaluation(Position, Published, published)
rules.register_evaluation(Position, Standard, standard)

_WEIGHTS = [100 + (5, 4, 3, 2, 1, 6, 0, 0)[cell // 8] for cell in range(64)]
STANDARD = Standard(np.array([*_WEIGHTS, 0], np.int64))


ENDED_BY = {  # in a sentence
    "no_pieces": "{loser} has no men left",
    "both_stuck": "neither side can move",
}


def make(first: Annotated[str, PLAYERS] = "black") -> Game:
    """Return the game; `first` is who begins, black (below) or white (above).

    Raises UnknownOption on other values.
    """
    if first not in PLAYERS:
        raise UnknownOption(f"mini_checkers: first={first!r}; it is black or white")
    start = f"1w1w1w/w1w1w1/6/6/1b1b1b/b1b1b1 {first[0]}"
    return Game(
        name="mini_checkers",
        options={"first": first},
        initial=parse_position(start),
        num_actions=PASS + 1,
        action_cells=_action_cells(),
        observation_shape=(len(PLANES), SIZE, SIZE),
        planes=PLANES,
        players=PLAYERS,
        symmetries=(),
        to_text=to_text,
        parse_position=parse_position,
        fits=fits,
        action_text=action_text,
        ending=ending,
        endings=ENDED_BY,
        pieces=pieces,
        goals=(),
        track=track,
        evaluations={"standard": STANDARD, "published": Published()},
        margins=ALL,
        levels=LEVELS,
    )


def _action_cells() -> NDArray[np.int64]:
    ends = np.stack((STARTS, ENDINGS), 1).astype(np.int64)
    cells = ends // 8 * SIZE + ends % 8
    cells[PASS] = SIZE * SIZE
    return cells


def ending(position: Position) -> str:
    """Return how a finished game ended: no_pieces or both_stuck."""
    return "both_stuck" if position.own and position.enemy else "no_pieces"


def _cell(position: Position, index: int) -> Cell:
    """Return the cell of the board with this bit index in the mover's frame."""
    row, column = divmod(index, 8)
    return (row, column) if position.player == ZERO else (SIZE - 1 - row, SIZE - 1 - column)


def _bit(player: int, cell: Cell) -> int:
    """Return the bit, in a player's frame, of a cell of the board."""
    row, column = (SIZE - 1 - cell[0], SIZE - 1 - cell[1]) if player else cell
    return 1 << (8 * row + column)


_BITS = tuple([(cell, _bit(player, cell)) for cell in CELLS] for player in (0, 1))


def pieces(position: Position) -> dict[Cell, str]:
    """Return the letter, b or w, of each occupied cell."""
    player, found = int(position.player), {}
    own, enemy = int(position.own), int(position.enemy)
    for cell, here in _BITS[player]:
        if own & here:
            found[cell] = SIDES[player]
        elif enemy & here:
            found[cell] = SIDES[1 - player]
    return found


def to_text(position: Position) -> str:
    """Return the position in one line: rows from the top, and side to move."""
    return f"{rows_text(pieces(position), SIZE, SIZE)} {SIDES[int(position.player)]}"


def fits(position: Position) -> NDArray[np.bool_]:
    """As `Game.fits`."""
    wrong = (position.own | position.enemy) & ~_BOARD | position.own & position.enemy
    found: NDArray[np.bool_] = (wrong == ZERO) & (position.player <= ONE)
    return found


def parse_position(text: str) -> Position:
    """As `Game.from_text`; raise BadPosition where there is none, saying why."""
    fields = text.split()
    if len(fields) != 2 or fields[1] not in ("b", "w"):
        raise BadPosition("wanted: rows, and side to move, b or w")
    letters = read_rows(fields[0], SIZE, SIZE, SIDES)
    player, sides = SIDES.index(fields[1]), {"b": 0, "w": 0}
    for (row, column), letter in letters.items():
        if (row, column) not in CELLS:
            raise BadPosition(f"{letter} on {row}{column}, a cell that is not used")
        sides[letter] |= _bit(player, (row, column))
    for letter, men in sides.items():
        if men.bit_count() > ALL:
            raise BadPosition(f"{men.bit_count()} men of {letter}; there are {ALL}")
    if not letters:
        raise BadPosition("there is no man on the board")
    own, enemy = sides[SIDES[player]], sides[SIDES[1 - player]]
    return Position(np.uint64(own), np.uint64(enemy), np.uint64(player))


def action_text(position: Position, action: int) -> str:
    """Return 41-30, 41x23 or pass."""
    if action == PASS:
        return "pass"
    (row, column), (end_row, end_column) = _ends(position, action)
    return f"{row}{column}{'x' if jumped(action) else '-'}{end_row}{end_column}"


def _ends(position: Position, action: int) -> tuple[Cell, Cell]:
    return _cell(position, int(STARTS[action])), _cell(position, int(ENDINGS[action]))


def track(position: Position, turn: Turn) -> Track:
    """Return the cells from which and to which a man went, and what it jumped over."""
    (action,) = turn
    if action == PASS:
        return Track((), ())
    over = int(jumped(action)).bit_length() - 1
    return Track(_ends(position, action), (_cell(position, over),) if over >= 0 else ())


def read_recordings(line: Mapping[str, Any]) -> Iterator[Recording]:
    """Yield what a line of recorded positions, games or counts has.

    A board is 18 letters, the cells in use from the upper left. A position has board, turn, moves
    (each a list of its text, the board after it, and more) and, where the game is over, end and
    winner; a game has first, moves and the final board, next to move, end and winner; counts are
    from board and turn.

    Raises KeyError or CcEnvError where a field is missing or cannot be.
    """
    if line["kind"] == "perft":
        yield Recording(make(), _read(line["board"], line["turn"]), counts=tuple(line["nodes"]))
    elif line["kind"] == "game":
        game = make({"b": "black", "w": "white"}[line["first"]])
        final = _read(line["final"], line["next"])
        played = tuple(line["moves"].split())
        ended = _ended(game, final, line)
        yield ended._replace(position=game.initial, played=played, reached=final)
    else:
        position = _read(line["board"], line["turn"])
        then = "bw"[line["turn"] == "b"]
        turns = {text: _read(board, then) for text, board, *_ in line["moves"]}
        yield _ended(make(), position, line)._replace(turns=turns)


def _read(board: str, turn: str) -> Position:
    if len(board) != len(CELLS):
        raise BadPosition(f"board {board!r} has {len(board)} cells; wanted: {len(CELLS)}")
    letters = {cell: letter for cell, letter in zip(CELLS, board, strict=True) if letter != "."}
    return parse_position(f"{rows_text(letters, SIZE, SIZE)} {turn}")


def _ended(game: Game, position: Position, line: Mapping[str, Any]) -> Recording:
    if (end := line.get("end")) is None:
        return Recording(game, position, outcome=ONGOING)
    outcomes = {"b": 0, "w": 1, "draw": DRAW}
    return Recording(game, position, outcome=outcomes[line["winner"]], ending=end)
