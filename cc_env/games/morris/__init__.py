"""Nine men's morris with free moves: three in a row take a bead and earn a move to anywhere.

Position  own, enemy: the beads of both sides as bits of the points A to X; own_hand, enemy_hand:
          beads not yet placed; own_free, enemy_free: 1 where the next move may go anywhere;
          pending: removals still due, 0 at a turn's beginning; player: 0 or 1; options: see RULES
Action    0 to 23: place a bead on a point, or remove the one there; then 24 + 24 * from + to
Turn      C, or AB for a move; with what is removed C-X, AB-X-Y
Ending    two_left (a player whose hand is empty has two beads or fewer: lost), no_moves (the player
          to move has none: lost)
Symmetry  the 16 of the board: turned, mirrored, inside out

    A - - B - - C
    - D - E - F -
    - - G H I - -         start, as text:  ........................ w 99
    J K L - M N O         w white, first   b black; in hand white 9, black 9
    - - P Q R - -
    - S - T - U -
    V - - W - - X
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Annotated, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from cc_env import rules
from cc_env.bits import ONE, ZERO, lowest, popcount
from cc_env.compile import jit
from cc_env.errors import BadPosition, UnknownOption
from cc_env.game import Cell, Game, Recording, Symmetry, Track, Turn
from cc_env.rules import ONGOING, Bool, Int

Word = np.uint64

POINTS = "ABCDEFGHIJKLMNOPQRSTUVWX"
CELLS: tuple[Cell, ...] = (
    *((0, 0), (0, 3), (0, 6), (1, 1), (1, 3), (1, 5), (2, 2), (2, 3), (2, 4)),
    *((3, 0), (3, 1), (3, 2), (3, 4), (3, 5), (3, 6)),
    *((4, 2), (4, 3), (4, 4), (5, 1), (5, 3), (5, 5), (6, 0), (6, 3), (6, 6)),
)
SIZE = 7
LINES = (
    *("ABC", "DEF", "GHI", "JKL", "MNO", "PQR", "STU", "VWX"),  # along the rows
    *("AJV", "DKS", "GLP", "BEH", "QTW", "IMR", "FNU", "COX"),  # along the columns
)
BEADS = 9  # of each player
FEW = 3  # beads with which a player flies, if they do
PLAYERS = "white", "black"
SIDES = "wb"
PLANES = (
    "own beads",
    "enemy beads",
    "points of the board",
    "own move is free",
    "enemy move is free",
    "a removal is due",
    "two removals are due",
    *(f"own beads in hand: {count} or more" for count in range(1, BEADS + 1)),
    *(f"enemy beads in hand: {count} or more" for count in range(1, BEADS + 1)),
)
_NUM_POINTS = len(POINTS)
_ALL = np.uint64(2**_NUM_POINTS - 1)
_NUM_ACTIONS = _NUM_POINTS * (_NUM_POINTS + 1)

# Bits of `options`.
PROTECT, ONE_REMOVAL, NEVER_FREE, FREE_WHEN_MOVING, FLYING, COUNT_HAND = (
    np.uint64(1 << bit) for bit in range(6)
)
FREE_MOVE = {"always": ZERO, "moving_phase_only": FREE_WHEN_MOVING, "never": NEVER_FREE}
REMOVALS = {"per_mill": ZERO, "one": ONE_REMOVAL}
STANDARD_RULES: Mapping[str, Any] = {
    "protect_mills": True,
    "removals": "one",
    "free_move": "never",
    "flying": True,
    "count_hand": True,
}

# Tables by point: the mills through it, less the point itself, and its neighbours.
MILLS = np.zeros((_NUM_POINTS, 2), np.uint64)
NEIGHBOURS = np.zeros(_NUM_POINTS, np.uint64)
_ALL_MILLS = np.zeros(len(LINES), np.uint64)
_ROWS = np.array([row for row, _ in CELLS], np.int64)
_COLUMNS = np.array([column for _, column in CELLS], np.int64)
for _number, _line in enumerate(LINES):
    _places = [POINTS.index(point) for point in _line]
    _ALL_MILLS[_number] = sum(1 << place for place in _places)
    for _place in _places:
        _free = int(MILLS[_place, 0] != 0)
        MILLS[_place, _free] = int(_ALL_MILLS[_number]) & ~(1 << _place)
    for _near, _other in ((_places[0], _places[1]), (_places[1], _places[2])):
        NEIGHBOURS[_near] |= np.uint64(1 << _other)
        NEIGHBOURS[_other] |= np.uint64(1 << _near)


class Position(NamedTuple):
    """The beads of two sides and what is due; see the head of the module."""

    own: np.uint64
    enemy: np.uint64
    own_hand: np.uint64
    enemy_hand: np.uint64
    own_free: np.uint64
    enemy_free: np.uint64
    pending: np.uint64
    player: np.uint64
    options: np.uint64


@jit
def legal_actions(position: Position, out: NDArray[np.int32]) -> Int:
    """As `rules.legal_actions`."""
    empty = _ALL & ~(position.own | position.enemy)
    if position.pending:
        return _write(removable(position), np.int64(0), out, np.int64(0))
    if position.own_hand:
        return _write(empty, np.int64(0), out, np.int64(0))
    is_free = can_fly(position)
    count: Int = np.int64(0)
    beads = position.own
    while beads:
        start = lowest(beads)
        beads &= beads - ONE
        ends = empty if is_free else empty & NEIGHBOURS[start]
        count = _write(ends, _NUM_POINTS * (1 + np.int64(start)), out, count)
    return count


@jit
def _write(points: Word, first: Int, out: NDArray[np.int32], count: Int) -> Int:
    """Append the id of each point, the first point's being `first`; return the new count."""
    while points:
        out[count] = first + np.int64(lowest(points))
        points &= points - ONE
        count += 1
    return count


@jit
def removable(position: Position) -> Word:
    """Return the beads of the opponent that may be removed."""
    enemy = position.enemy
    if position.options & PROTECT:
        unprotected = enemy & ~in_mills(enemy)
        return unprotected if unprotected else enemy
    return enemy


@jit
def in_mills(beads: Word) -> Word:
    """Return the beads that are in mills."""
    found = ZERO
    for mill in _ALL_MILLS:
        if beads & mill == mill:
            found |= mill
    return found


@jit
def can_fly(position: Position) -> Bool:
    """Return whether the player to move may move to any empty point."""
    flies = position.options & FLYING and popcount(position.own) <= FEW
    return bool(position.own_free or flies)


@jit
def apply(position: Position, action: Int) -> Position:
    """As `rules.apply`."""
    own, enemy, own_hand, enemy_hand, own_free, enemy_free, pending, player, options = position
    if pending:
        enemy ^= ONE << np.uint64(action)
        pending -= ONE
    else:
        place = np.uint64(action)
        is_move = action >= _NUM_POINTS
        if is_move:
            own ^= ONE << np.uint64(action // _NUM_POINTS - 1)
            place = np.uint64(action % _NUM_POINTS)
        else:
            own_hand -= ONE
        pending = _due(mills(own, place), enemy, options)
        own |= ONE << place
        own_free = ZERO
        if pending and _earns(is_move, options):
            own_free = ONE
    if pending:
        return Position(
            own, enemy, own_hand, enemy_hand, own_free, enemy_free, pending, player, options
        )
    return Position(
        enemy, own, enemy_hand, own_hand, enemy_free, own_free, ZERO, player ^ ONE, options
    )


@jit
def mills(own: Word, place: np.uint64) -> Int:
    """Return how many mills a bead on this point completes."""
    first, second = MILLS[place, 0], MILLS[place, 1]
    return np.int64(own & first == first) + np.int64(own & second == second)


@jit
def _due(mills: Int, enemy: Word, options: np.uint64) -> np.uint64:
    """Return how many removals these mills bring."""
    due = np.int64(mills > 0) if options & ONE_REMOVAL else mills
    return np.uint64(min(due, popcount(enemy)))


@jit
def _earns(is_move: Bool, options: np.uint64) -> Bool:
    """Return whether a turn with a removal earns a free move."""
    if options & NEVER_FREE:
        return False
    return bool(is_move or not options & FREE_WHEN_MOVING)


@jit
def to_move(position: Position) -> Int:
    """As `rules.to_move`."""
    return np.int64(position.player)


@jit
def mid_turn(position: Position) -> bool:
    """As `rules.mid_turn`."""
    return True if position.pending else False  # noqa: SIM210 (compiled)


@jit
def outcome(position: Position) -> Int:
    """As `rules.outcome`."""
    if position.pending:
        return ONGOING
    player = np.int64(position.player)
    if _has_too_few(position.enemy, position.enemy_hand, position.options):
        return player
    if _has_too_few(position.own, position.own_hand, position.options) or is_blocked(position):
        return 1 - player
    return ONGOING


@jit
def _has_too_few(beads: Word, hand: np.uint64, options: np.uint64) -> Bool:
    if options & COUNT_HAND:
        return popcount(beads) + np.int64(hand) < FEW
    return not hand and popcount(beads) < FEW


@jit
def is_blocked(position: Position) -> Bool:
    """Return whether the player to move has nothing to do, at the beginning of a turn."""
    empty = _ALL & ~(position.own | position.enemy)
    if position.own_hand or can_fly(position):
        return not empty
    beads = position.own
    while beads:
        if NEIGHBOURS[lowest(beads)] & empty:
            return False
        beads &= beads - ONE
    return True


@jit
def observe(position: Position, player: Int, planes: NDArray[np.int8]) -> None:
    """As `rules.observe`; the planes are named in PLANES."""
    own, enemy, own_hand, enemy_hand, own_free, enemy_free, pending, mover, _ = position
    if player != np.int64(mover):
        own, enemy, own_hand, enemy_hand = enemy, own, enemy_hand, own_hand
        own_free, enemy_free = enemy_free, own_free
    planes[:3] = 0
    for point in range(_NUM_POINTS):
        row, column = _ROWS[point], _COLUMNS[point]
        planes[0, row, column] = own >> np.uint64(point) & ONE
        planes[1, row, column] = enemy >> np.uint64(point) & ONE
        planes[2, row, column] = 1
    planes[3], planes[4] = own_free, enemy_free
    planes[5], planes[6] = np.int8(pending > ZERO), np.int8(pending > ONE)
    for count in range(BEADS):
        planes[7 + count] = np.int8(np.int64(own_hand) > count)
        planes[7 + BEADS + count] = np.int8(np.int64(enemy_hand) > count)


@jit
def loud_actions(position: Position, out: NDArray[np.int32]) -> Int:
    """As `rules.loud_actions`: removals, and what closes a mill."""
    if position.pending:
        return _write(removable(position), np.int64(0), out, np.int64(0))
    count = legal_actions(position, out)
    loud: Int = 0
    for index in range(count):
        action = np.int64(out[index])
        own, place = position.own, np.uint64(action)
        if action >= _NUM_POINTS:
            own ^= ONE << np.uint64(action // _NUM_POINTS - 1)
            place = np.uint64(action % _NUM_POINTS)
        if mills(own, place) and position.enemy:
            out[loud] = action
            loud += 1
    return loud


rules.register(
    Position,
    legal_actions=legal_actions,
    apply=apply,
    to_move=to_move,
    mid_turn=mid_turn,
    outcome=outcome,
    observe=observe,
    loud_actions=loud_actions,
)

# Where the weights of `Standard` lie: what counts while beads are placed, then the same afterwards.
BEAD, MILL, TWO, STEP, BLOCKED, FREE, DUE, TO_MOVE, CROSSING = range(9)
NUM_FEATURES = 9


class Standard(NamedTuple):
    """Our own evaluation: beads, mills, lines that lack one bead, steps, blocked beads, free moves.

    It is the sum of `weights` (int64[2 * NUM_FEATURES]), each for what it counts on one side less
    what it counts on the other's, as long as anybody has beads in hand, and afterwards.
    """

    weights: NDArray[np.int64]


@jit
def standard(position: Position, player: Int, evaluation: Standard) -> Int:
    """As `rules.evaluate`."""
    own, enemy, own_hand, enemy_hand, own_free, enemy_free, pending, mover, _ = position
    placing = own_hand or enemy_hand
    weights = evaluation.weights[:NUM_FEATURES] if placing else evaluation.weights[NUM_FEATURES:]
    value: Int = _side(own, own_hand, enemy, weights) - _side(enemy, enemy_hand, own, weights)
    value += (np.int64(own_free) - np.int64(enemy_free)) * weights[FREE]
    value += np.int64(pending) * weights[DUE] + weights[TO_MOVE]
    return value if player == np.int64(mover) else -value


@jit
def _side(own: Word, hand: np.uint64, enemy: Word, weights: NDArray[np.int64]) -> Int:
    """Return what one side's beads are worth, all but whose move it is."""
    empty = _ALL & ~(own | enemy)
    value: Int = (popcount(own) + np.int64(hand)) * weights[BEAD]
    for mill in _ALL_MILLS:
        has = popcount(own & mill)
        if has == 3:
            value += weights[MILL]
        elif has == 2 and empty & mill:
            value += weights[TWO]
    beads = own
    while beads:
        near = NEIGHBOURS[lowest(beads)]
        beads &= beads - ONE
        steps = popcount(near & empty)
        value += steps * weights[STEP]
        if steps == 0:
            value += weights[BLOCKED]
        if popcount(near) == 4:
            value += weights[CROSSING]
    return value


rules.register_evaluation(Position, Standard, standard)

# `python -m training.tune --game morris` makes such weights and shows its matches. Against those
# chosen by hand before, 400 games: depth 3 66.2 % (62.3 – 70.0), depth 5 68.6 % (64.9 – 72.2).
_PLACING = 98, -30, 43, 11, -7, 4, 80, 45, 5
_MOVING = 81, 31, 56, 12, -5, 149, 80, 33, 9
STANDARD = Standard(np.array([*_PLACING, *_MOVING], np.int64))


ENDED_BY = {  # in a sentence
    "two_left": "{loser} has fewer than three beads",
    "no_moves": "{loser} cannot move",
}


def make(
    protect_mills: bool = False,
    removals: Annotated[str, REMOVALS] = "per_mill",
    free_move: Annotated[str, FREE_MOVE] = "always",
    flying: bool = False,
    count_hand: bool = False,
) -> Game:
    """Return the game; STANDARD_RULES are the options of the usual one.

    With `protect_mills` beads in mills are removed only where all are in mills. `removals` is
    "per_mill", or "one" for two mills at once, too. After a turn with a removal the next move is
    free "always", in "moving_phase_only", where it was a move, or "never". With `flying` who has
    three beads moves anywhere. With `count_hand` who has fewer than three beads, those in hand
    among them, has lost. Raises UnknownOption on other values.
    """
    switches = {
        "protect_mills": (protect_mills, PROTECT),
        "flying": (flying, FLYING),
        "count_hand": (count_hand, COUNT_HAND),
    }
    options = ZERO
    for name, (chosen, bit) in switches.items():
        if not isinstance(chosen, bool | np.bool_):
            raise UnknownOption(f"morris: {name}={chosen!r}; it is True or False")
        options |= bit if chosen else ZERO
    for name, value, known in (
        ("removals", removals, REMOVALS),
        ("free_move", free_move, FREE_MOVE),
    ):
        if value not in tuple(known):
            raise UnknownOption(f"morris: {name}={value!r}; it is {' or '.join(known)}")
        options |= known[value]
    nine = np.uint64(BEADS)
    return Game(
        name="morris",
        options={
            "protect_mills": bool(protect_mills),
            "removals": removals,
            "free_move": free_move,
            "flying": bool(flying),
            "count_hand": bool(count_hand),
        },
        initial=Position(ZERO, ZERO, nine, nine, ZERO, ZERO, ZERO, ZERO, options),
        num_actions=_NUM_ACTIONS,
        action_cells=_action_cells(),
        observation_shape=(len(PLANES), SIZE, SIZE),
        planes=PLANES,
        players=PLAYERS,
        symmetries=_symmetries(),
        to_text=to_text,
        parse_position=partial(parse_position, options=options),
        fits=partial(fits, options=options),
        action_text=action_text,
        ending=ending,
        endings=ENDED_BY,
        pieces=pieces,
        goals=(),
        track=track,
        evaluations={"standard": STANDARD},
        lines=tuple((CELLS[POINTS.index(line[0])], CELLS[POINTS.index(line[2])]) for line in LINES),
        names=dict(zip(CELLS, POINTS, strict=True)),
        remark=remark,
    )


def _action_cells() -> NDArray[np.int64]:
    cells = [SIZE * row + column for row, column in CELLS]
    moves = [(start, end) for start in cells for end in cells]
    return np.array([*((cell, cell) for cell in cells), *moves], np.int64)


def _symmetries() -> tuple[Symmetry, ...]:
    """Return all but the identity."""
    turns: dict[str, Callable[[int, int], Cell]] = {
        "": lambda row, column: (row, column),
        "turned": lambda row, column: (column, SIZE - 1 - row),
        "turned twice": lambda row, column: (SIZE - 1 - row, SIZE - 1 - column),
        "turned back": lambda row, column: (SIZE - 1 - column, row),
    }
    found = []
    for turned, turn in turns.items():
        for mirrored in ("", "mirrored"):
            for swapped in ("", "inside out"):
                image = {}
                for cell in CELLS:
                    row, column = cell[::-1] if mirrored else cell
                    row, column = _inside_out(row, column) if swapped else (row, column)
                    image[cell] = turn(row, column)
                if name := ", ".join(filter(None, (turned, mirrored, swapped))):
                    found.append(_symmetry(name, image))
    return tuple(found)


def _inside_out(row: int, column: int) -> Cell:
    """Return the point of the other ring in the same direction from the middle."""
    middle = SIZE // 2
    down, right = row - middle, column - middle
    ring = max(abs(down), abs(right))
    return middle + down * (4 - ring) // ring, middle + right * (4 - ring) // ring


def _symmetry(name: str, image: Mapping[Cell, Cell]) -> Symmetry:
    to = [CELLS.index(image[cell]) for cell in CELLS]
    moves = [_NUM_POINTS * (1 + to[start]) + to[end] for start in range(24) for end in range(24)]
    cells = np.arange(SIZE * SIZE)
    for cell, other in image.items():
        cells[SIZE * other[0] + other[1]] = SIZE * cell[0] + cell[1]

    def moved(beads: np.uint64) -> np.uint64:
        return np.uint64(sum(1 << to[point] for point in range(24) if int(beads) >> point & 1))

    def position(position: Position) -> Position:
        return position._replace(own=moved(position.own), enemy=moved(position.enemy))

    return Symmetry(name, position, np.array([*to, *moves], np.int32), cells)


def ending(position: Position) -> str:
    """Return how a finished game ended: two_left or no_moves."""
    sides = (position.own, position.own_hand), (position.enemy, position.enemy_hand)
    few = any(_has_too_few(*side, position.options) for side in sides)
    return "two_left" if few else "no_moves"


def pieces(position: Position) -> dict[Cell, str]:
    """Return the letter, w or b, of each occupied point."""
    player, found = int(position.player), {}
    for point, cell in enumerate(CELLS):
        if int(position.own) >> point & 1:
            found[cell] = SIDES[player]
        elif int(position.enemy) >> point & 1:
            found[cell] = SIDES[1 - player]
    return found


def remark(position: Position) -> str:
    """Return what the player to move may do, what both have in hand, whose next move is free.

    A free move of a player who has beads in hand is none: it lapses when one is placed.
    """
    player, found = int(position.player), []
    if position.pending:
        beads = f"{PLAYERS[1 - player]} bead{'s' if position.pending > 1 else ''}"
        found.append(f"a mill: removes {position.pending} {beads}")
    elif position.own_free and not position.own_hand:
        found.append("free move: to any empty point")
    hands = position.own_hand, position.enemy_hand
    if any(hands):
        each = (f"{PLAYERS[side]} {hands[side ^ player]}" for side in (0, 1))
        found.append(f"in hand: {', '.join(each)}")
    if position.pending and position.own_free and not position.own_hand:
        found.append(f"{PLAYERS[player]}'s next move free")
    if position.enemy_free and not position.enemy_hand:
        found.append(f"{PLAYERS[1 - player]}'s next move free")
    return "; ".join(found)


def to_text(position: Position) -> str:
    """Return the position in one line.

    The points from A to X, side to move, what white and black have in hand, and where need be f
    with the sides whose next move is free and x with the number of removals that are due.
    """
    letters, player = pieces(position), int(position.player)
    hands = position.own_hand, position.enemy_hand
    free = position.own_free, position.enemy_free
    words = ["".join(letters.get(cell, ".") for cell in CELLS), SIDES[player]]
    words.append(f"{hands[player]}{hands[1 - player]}")
    if any(free):
        words.append("f" + "".join(SIDES[side] for side in (0, 1) if free[side ^ player]))
    if position.pending:
        words.append(f"x{position.pending}")
    return " ".join(words)


def parse_position(text: str, options: np.uint64) -> Position:
    """As `Game.from_text`; raise BadPosition where there is none, saying why."""
    board, side, hands, *rest = [*text.split(), "", "", ""][: max(3, len(text.split()))]
    if len(board) != _NUM_POINTS or set(board) - set("wb.") or side not in ("w", "b"):
        raise BadPosition("wanted: 24 points made of w, b and ., and side to move, w or b")
    if len(hands) != 2 or not (hands.isascii() and hands.isdigit()):
        raise BadPosition("wanted: after the side to move what both have in hand, such as 99")
    free = rest.pop(0)[1:] if rest and rest[0] in ("fw", "fb", "fwb") else ""
    pending = int(rest.pop(0)[1:]) if rest and rest[0] in ("x1", "x2") else 0
    if rest:
        raise BadPosition(f"'{rest[0]}' is no fw, fb, fwb (free moves), x1 or x2 (removals)")
    sides = [sum(1 << at for at, letter in enumerate(board) if letter == each) for each in SIDES]
    for each, hand in enumerate(map(int, hands)):
        if sides[each].bit_count() + hand > BEADS:
            raise BadPosition(f"{PLAYERS[each]} has more than {BEADS} beads")
    player = SIDES.index(side)
    if pending > sides[1 - player].bit_count():
        raise BadPosition("more removals are due than there are beads to remove")
    _check_options(free, hands, pending, options)
    return Position(
        np.uint64(sides[player]),
        np.uint64(sides[1 - player]),
        np.uint64(hands[player]),
        np.uint64(hands[1 - player]),
        np.uint64(SIDES[player] in free),
        np.uint64(SIDES[1 - player] in free),
        np.uint64(pending),
        np.uint64(player),
        options,
    )


def _check_options(free: str, hands: str, pending: int, options: np.uint64) -> None:
    """Raise BadPosition where these rules never bring such free moves or removals."""
    if free and options & NEVER_FREE:
        raise BadPosition(f"f{free}: with free_move=never no move is free")
    placing = [side for side in free if int(hands[SIDES.index(side)])]
    if placing and options & FREE_WHEN_MOVING:
        why = "with free_move=moving_phase_only who has beads in hand has no free move"
        raise BadPosition(f"f{free}: {why}")
    if pending > 1 and options & ONE_REMOVAL:
        raise BadPosition(f"x{pending}: with removals=one a turn removes one bead")


def fits(position: Position, options: np.uint64) -> NDArray[np.bool_]:
    """As `Game.fits`."""
    own, enemy = position.own, position.enemy
    found: NDArray[np.bool_] = ((own | enemy) & ~_ALL | own & enemy) == ZERO
    most = {"hand": BEADS, "free": 1}
    for name, value in most.items():
        for side in ("own", "enemy"):
            found &= getattr(position, f"{side}_{name}") <= np.uint64(value)
    found &= (position.pending <= np.uint64(2)) & (position.player <= ONE)
    found &= position.options == options
    return found


def action_text(position: Position, action: int) -> str:
    """Return C for a bead placed, AB for one moved, -X for one removed."""
    if action >= _NUM_POINTS:
        return POINTS[action // _NUM_POINTS - 1] + POINTS[action % _NUM_POINTS]
    return ("-" if position.pending else "") + POINTS[action]


def track(position: Position, turn: Turn) -> Track:
    """Return where a turn placed a bead, or from where to where it moved one; what it removed."""
    first, *rest = turn
    removed = (first, *rest) if position.pending else tuple(rest)
    captured = tuple(CELLS[point] for point in removed)
    if position.pending:
        return Track((), captured)
    if first < _NUM_POINTS:
        return Track((CELLS[first],), captured)
    return Track((CELLS[first // _NUM_POINTS - 1], CELLS[first % _NUM_POINTS]), captured)


def read_recordings(line: Mapping[str, Any]) -> Iterator[Recording]:
    """Yield what a line of recorded decisions, games or counts has.

    A board is 24 characters, 1 for white and 2 for black. A decision has board, turn, hand, free,
    pending, moves (what is legal), the move and the board after it, where the turn is over the next
    turn, hand and free, and where the game is over end and winner. Without free the rules are the
    usual ones. A game has moves (a removal as -A), end and winner; counts of decisions are for
    several rules.

    Raises KeyError or CcEnvError where a field is missing or cannot be.
    """
    if line["kind"] == "decision":
        yield from _decision(line)
    elif line["kind"] == "game":
        yield from _played(line)
    elif line["kind"] == "perft":
        for field, options in _COUNTED.items():
            if field in line:
                game = make(**options)
                usual = _read(make(), line["board"], line, line["pending"])
                position = usual._replace(options=game.initial.options)  # even if never reached
                yield Recording(game, position, counts=tuple(line[field]), in_decisions=True)


_COUNTED: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "one_removal_per_turn": {"removals": "one"},
    "no_free_move": {"free_move": "never"},
    "standard": STANDARD_RULES,
}


def _read(game: Game, board: str, line: Mapping[str, Any], pending: int = 0) -> Position:
    letters = board.translate(str.maketrans("12", SIDES))
    free = "".join(SIDES[side] for side, flag in enumerate(line.get("free", ())) if flag)
    words = [letters, SIDES[line["turn"] - 1], "".join(map(str, line["hand"]))]
    words += ["f" + free] if free else []
    words += [f"x{pending}"] if pending else []
    return cast(Position, game.from_text(" ".join(words)))


def _decision(line: Mapping[str, Any]) -> Iterator[Recording]:
    game = make() if "free" in line else make(**STANDARD_RULES)
    removes = line["step"] == "remove"
    position = _read(game, line["board"], line, line.get("pending", 1) if removes else 0)
    if removes and "free" in line:  # recorded is what was at the beginning of the turn
        position = position._replace(own_free=ONE)
    if line.get("end") == "no_moves":
        yield Recording(game, position, outcome=line["winner"] - 1, ending="no_moves")
        return
    texts = frozenset(("-" if removes else "") + text for text in line["moves"].split())
    yield Recording(game, position, outcome=ONGOING, actions=texts)
    if "next" not in line or line.get("ref_removals", 0) != line.get("mills", 0):
        return
    move = ("-" if removes else "") + line["move"]
    reached = _read(game, line["after"], line["next"])
    known = Recording(game, position, played=(move,), reached=reached)
    if "end" in line:  # who is blocked has a line of his own
        known = known._replace(outcome=line["winner"] - 1, ending=line["end"])
    yield known


def _played(line: Mapping[str, Any]) -> Iterator[Recording]:
    game = make()
    start = game.initial._replace(player=np.uint64((1, 2).index(line["first"])))
    turns: list[str] = []
    for text in line["moves"].split():
        if text.startswith("-"):
            turns[-1] += text
        else:
            turns.append(text)
    outcome = line["winner"] - 1
    yield Recording(game, start, played=tuple(turns), outcome=outcome, ending=line["end"])
