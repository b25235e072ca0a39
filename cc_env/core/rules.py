"""The rules of every game under the same names, for compiled code.

Shapes: A action ids, C planes of an observation, H rows and W columns of the board, F fields of a
position, K sets of a numbering.

A game defines these functions for its own `Position`, a NamedTuple whose fields are all
`np.uint64`, and registers them with `register`. Other modules call only the generic functions
below, which dispatch on the class of the position. From Python, use the methods of
`cc_env.core.game.Game`: numba returns positions whose fields are plain integers, and those must not
be passed in again.
"""

# mypy: disable-error-code="empty-body"

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.np.unsafe.ndarray import to_fixed_tuple
from numpy.typing import NDArray

from cc_env.core.bitboard import ZERO, scramble
from cc_env.jit import fingerprints
from cc_env.jit.compiler import jit, rule

FIRST, SECOND = 0, 1  # the players
FIRST_WINS, SECOND_WINS, DRAW, ONGOING = FIRST, SECOND, 2, -1  # the outcomes: a win is its winner

_SALT = np.uint64(0xD1342543DE82EF95)  # keeps the fields of a hash apart

Int = int | np.int64  # a small number: in compiled code always the latter
Bool = bool | np.bool_
Position = Any  # each game has a NamedTuple class of its own
_Function = Callable[..., Any]


@rule
def legal_actions(position: Position, out: NDArray[np.int32]) -> int:
    """Write the legal action ids, ascending, into `out` (int32[>= A]); return how many.

    Look at `outcome` first: where a game is over, the list has no meaning.
    """


@rule
def apply(position: Position, action: Int) -> Position:
    """Return the position after a *legal* action; nothing is changed in place."""


@rule
def to_move(position: Position) -> int:
    """Return the player to move, FIRST or SECOND; turns need not alternate."""


@rule
def mid_turn(position: Position) -> bool:
    """Return whether the last action left its turn unfinished: the same player chooses again."""


@rule
def outcome(position: Position) -> int:
    """Return FIRST_WINS, SECOND_WINS, DRAW or ONGOING by the rules of the game alone."""


@jit
def reward(outcome: Int, player: Int) -> float:
    """Return the reward of a player for an outcome: 1 won, -1 lost, 0 a draw or not over."""
    if outcome in (DRAW, ONGOING):
        return 0.0
    return 1.0 if outcome == player else -1.0


@rule
def observe(position: Position, player: Int, planes: NDArray[np.int8]) -> None:
    """Write what `player` sees, in its frame, into `planes` (int8[C, H, W], zeros and ones)."""


@rule
def tactical_actions(position: Position, out: NDArray[np.int32]) -> int:
    """Write the tactical actions into `out` (int32[>= A]); return how many.

    They are what quiescence must resolve before a static evaluation is trusted: captures and the
    like, and all decisions within a turn. Many games have none, as their evaluations take account
    of what can be captured.
    """


@rule
def margin(position: Position) -> int:
    """Return by how much a finished game was won, 1 or more; meaningless for a draw."""


@rule
def repetition_outcome(position: Position) -> int:
    """Return the outcome where the rules end a game by repetition, see `Game.repetition_limit`."""


@rule(dispatch_on=(0, 2))
def evaluate(position: Position, player: Int, evaluation: Any) -> Int:
    """Return what the position is worth to `player`, in hundredths of a piece."""


@rule
def sets_of(position: Position) -> tuple[np.uint64, ...]:
    """Return the sets of cells that make up a position between turns, see `exact.numbering`."""


@rule
def inputs_of(position: Position) -> tuple[np.uint64, ...]:
    """Return what a learned evaluation sees between turns: sets of up to 64 cells or facts.

    They are in the frame of the player to move, and each is always in the same place.
    """


@rule
def state_of(position: Position) -> int:
    """Return what a position has beside its sets: a small number; -1 if it is not numbered."""


@rule(dispatch_on=(2,))
def from_sets(sets: NDArray[np.uint64], state: Int, like: Position) -> Position:
    """Return the position with these sets, uint64[K], and this state; the first player moves.

    In all else, such as the size of the board, it is like `like`.
    """


@rule
def turns_to_draw(position: Position) -> int:
    """Return in how many turns, at the earliest, the rules draw a game that makes no progress."""


@rule(dispatch_on=(1,))
def load(row: NDArray[np.uint64], like: Position) -> Position:
    """Return the position, of the class of `like`, that `store` wrote into `row` (uint64[>= F])."""


@jit
def store(position: Position, row: NDArray[np.uint64]) -> None:
    """Write the fields of the position into the first F elements of `row` (uint64[>= F])."""
    for field in range(len(position)):
        row[field] = position[field]


@rule
def key(position: Position) -> np.uint64:
    """Return a 64-bit hash of the position, side to move included.

    Searches and counts of repetitions take positions with the same key for the same position.
    """


@jit
def hash_fields(position: Position) -> np.uint64:
    """Return a 64-bit hash of all fields."""
    mixed = ZERO
    for field in range(len(position)):
        mixed ^= scramble(position[field] + np.uint64(field) * _SALT)
    return mixed


@jit
def _player(position: Position) -> Int:
    return np.int64(position.player)


@jit
def _never(position: Position) -> bool:
    return False


@jit
def _no_actions(position: Position, out: NDArray[np.int32]) -> int:
    return 0


@jit
def _one(position: Position) -> Int:
    return np.int64(1)


@jit
def _draw(position: Position) -> Int:
    return np.int64(DRAW)


def register(
    position_class: type,
    *,
    legal_actions: _Function,
    apply: _Function,
    outcome: _Function,
    observe: _Function,
    to_move: _Function = _player,
    mid_turn: _Function = _never,
    tactical_actions: _Function = _no_actions,
    key: _Function = hash_fields,
    margin: _Function = _one,
    repetition_outcome: _Function = _draw,
) -> None:
    """Make the generic functions above play the game of `position_class`.

    The arguments are functions compiled with `cc_env.jit.compiler.jit`, as described by the generic
    functions of the same names. The defaults are: the player to move is the field `player`; every
    action is a whole turn; no action is tactical; all fields tell positions apart; all wins are
    worth the same; and where the rules end a game by repetition, it is a draw.
    """
    given = {name: value for name, value in locals().items() if name != "position_class"}
    _tell_apart(position_class)
    _add(position_class, given)
    load.add(position_class, function=_loader(position_class))  # type: ignore[attr-defined]


_ORDERS: dict[type, Callable[[Any], Any]] = {}  # by the class of an evaluation, see `ordering_of`


def register_evaluation(
    position_class: type,
    evaluation_class: type,
    evaluation: _Function,
    ordering: Callable[[Any], Any] | None = None,
) -> None:
    """Make `evaluate` above call this compiled function for an evaluation of this class.

    `evaluation_class` is a NamedTuple of the weights. Where it is slow, `ordering` returns the
    quicker evaluation in it by which a search orders the moves.
    """
    if ordering is not None:
        _ORDERS[evaluation_class] = ordering
    _tell_apart(evaluation_class)
    if evaluation.__module__ != evaluation_class.__module__:  # whose source counts anyway
        fingerprints.register(evaluation_class.__module__, {position_class.__name__: evaluation})
    evaluate.add(  # type: ignore[attr-defined]
        position_class, evaluation_class, function=evaluation
    )


def ordering_of(evaluation: Any) -> Any:
    """Return the evaluation by which a search orders moves: itself, unless registered otherwise."""
    order = _ORDERS.get(type(evaluation))
    return order(evaluation) if order else evaluation


@jit
def _one_state(position: Position) -> Int:
    return np.int64(-1) if mid_turn(position) else np.int64(0)


@jit
def _unlimited(position: Position) -> Int:
    return np.int64(2**31)


def register_numbering(
    position_class: type,
    *,
    sets_of: _Function,
    from_sets: _Function,
    state_of: _Function = _one_state,
    turns_to_draw: _Function = _unlimited,
) -> None:
    """Make the positions of a game numbered, so that it can be solved: see `exact.numbering`.

    By default a position between turns has nothing beside its sets, and no rule draws games that
    make no progress.
    """
    given = {name: value for name, value in locals().items() if name != "position_class"}
    _add(position_class, given)


def register_inputs(position_class: type, inputs_of: _Function) -> None:
    """Let a learned evaluation see what `inputs_of` returns; often it is the game's `sets_of`."""
    _add(position_class, {"inputs_of": inputs_of})


def _add(position_class: type, given: dict[str, _Function]) -> None:
    fingerprints.register(position_class.__module__, given)
    for name, function in given.items():
        globals()[name].add(position_class, function=function)


def _tell_apart(named_tuple: type) -> None:
    """Put the module into the name of a class: numba identifies classes by name and fields."""
    named_tuple.__name__ = f"{named_tuple.__module__}.{named_tuple.__qualname__}"


def _loader(position_class: type) -> _Function:
    fields = len(position_class._fields)  # type: ignore[attr-defined]

    @jit
    def load_fields(row: NDArray[np.uint64], like: Position) -> Position:
        return position_class(*to_fixed_tuple(row, fields))

    return load_fields
