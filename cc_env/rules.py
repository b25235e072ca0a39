"""The rules of every game under the same names, for compiled code.

A game defines these functions for its own `Position`, a NamedTuple whose fields are all
`np.uint64`, and registers them with `register`. Everything above calls only the names below: they
are compiled once for each position class and inlined into what calls them. From Python, use the
methods of `cc_env.game.Game`: numba hands a position back with plain integers for fields, which
must not come in again.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload
from numba.np.unsafe.ndarray import to_fixed_tuple
from numpy.typing import NDArray

from cc_env import sources
from cc_env.bits import ZERO, scramble
from cc_env.compile import jit

FIRST, SECOND = 0, 1  # the players
FIRST_WINS, SECOND_WINS, DRAW, ONGOING = FIRST, SECOND, 2, -1  # the outcomes: a win is its winner

_SALT = np.uint64(0xD1342543DE82EF95)  # keeps the fields of a hash apart

Rule = Callable[..., Any]
Int = int | np.int64  # a small number: in compiled code always the latter
Bool = bool | np.bool_
Position = Any  # each game has a NamedTuple class of its own


def _slot(name: str) -> Rule:
    """Return an empty function for the games to overload."""

    def rule(*_: Any) -> Any:
        raise NotImplementedError(f"{name} is for compiled code")

    rule.__name__ = name
    return rule


_legal_actions = _slot("legal_actions")
_apply = _slot("apply")
_to_move = _slot("to_move")
_mid_turn = _slot("mid_turn")
_outcome = _slot("outcome")
_observe = _slot("observe")
_loud_actions = _slot("loud_actions")
_key = _slot("key")
_margin = _slot("margin")
_stagnant = _slot("stagnant")
_load = _slot("load")
_evaluate = _slot("evaluate")


def register(
    position_class: type,
    *,
    legal_actions: Rule,
    apply: Rule,
    to_move: Rule,
    mid_turn: Rule,
    outcome: Rule,
    observe: Rule,
    loud_actions: Rule | None = None,
    key: Rule | None = None,
    margin: Rule | None = None,
    stagnant: Rule | None = None,
) -> None:
    """Make the generic functions below play the game of `position_class`.

    The arguments are functions compiled with `cc_env.compile.jit`, each as described by the
    generic function of the same name. A game may do without `loud_actions`, without a `key`, which
    then is `hash_fields`, without a `margin`, where all wins are the same, and without `stagnant`,
    where repetition is no matter of the rules.
    """
    _tell_apart(position_class)
    given = (legal_actions, apply, to_move, mid_turn, outcome, observe)
    optional = (loud_actions, key, margin, stagnant)
    modules = (rule.__module__ for rule in (*given, *filter(None, optional)))
    sources.register(position_class.__module__, modules)
    _fill(_legal_actions, position_class, legal_actions)
    _fill(_apply, position_class, apply)
    _fill(_to_move, position_class, to_move)
    _fill(_mid_turn, position_class, mid_turn)
    _fill(_outcome, position_class, outcome)
    _fill(_observe, position_class, observe)
    _fill(_loud_actions, position_class, loud_actions or _no_actions)
    _fill(_key, position_class, key or hash_fields)
    _fill(_margin, position_class, margin or _one)
    _fill(_stagnant, position_class, stagnant or _draw)


def _tell_apart(named_tuple: type) -> None:
    """Call a class by its module too: numba takes two of one name and the same fields for one."""
    named_tuple.__name__ = f"{named_tuple.__module__}.{named_tuple.__qualname__}"


def _fill(slot: Rule, position_class: type, rule: Rule) -> None:
    @overload(slot)
    def choose(position, *rest):  # type: ignore[no-untyped-def]
        if getattr(position, "instance_class", None) is position_class:
            return lambda position, *rest: rule(position, *rest)
        return None


def register_evaluation(position_class: type, evaluation_class: type, evaluate: Rule) -> None:
    """Make `evaluate` below call this compiled function for an evaluation of this class.

    `evaluation_class` is a NamedTuple of the weights.
    """
    _tell_apart(evaluation_class)
    sources.register(evaluation_class.__module__, [evaluate.__module__])

    @overload(_evaluate)
    def choose(position, player, evaluation):  # type: ignore[no-untyped-def]
        classes = (getattr(each, "instance_class", None) for each in (position, evaluation))
        if tuple(classes) == (position_class, evaluation_class):
            return lambda position, player, evaluation: evaluate(position, player, evaluation)
        return None


@overload(_load)
def _load_any(row, like):  # type: ignore[no-untyped-def]
    position_class, fields = like.instance_class, len(like)
    return lambda row, like: position_class(*to_fixed_tuple(row, fields))


@jit
def legal_actions(position: Position, out: NDArray[np.int32]) -> int:
    """Write the legal action ids, ascending, into `out` (int32[>= num_actions]); return how many.

    None are legal where the game is over by blocking; where it is over otherwise the list has no
    meaning, so look at `outcome` first.
    """
    return _legal_actions(position, out)  # type: ignore[no-any-return]


@jit
def apply(position: Position, action: Int) -> Position:
    """Return the position after a *legal* action; its argument, a value, stays as it is."""
    return _apply(position, action)


@jit
def to_move(position: Position) -> int:
    """Return the player to move, FIRST or SECOND; turns need not alternate."""
    return _to_move(position)  # type: ignore[no-any-return]


@jit
def mid_turn(position: Position) -> bool:
    """Return whether the last action left its turn unfinished: the same player decides again."""
    return _mid_turn(position)  # type: ignore[no-any-return]


@jit
def outcome(position: Position) -> int:
    """Return FIRST_WINS, SECOND_WINS, DRAW or ONGOING by the rules of the game alone."""
    return _outcome(position)  # type: ignore[no-any-return]


@jit
def reward(outcome: Int, player: Int) -> float:
    """Return what an outcome is worth to a player: 1 won, -1 lost, 0 a draw or not over."""
    if outcome in (DRAW, ONGOING):
        return 0.0
    return 1.0 if outcome == player else -1.0


@jit
def observe(position: Position, player: Int, planes: NDArray[np.int8]) -> None:
    """Write what `player` sees into `planes` (int8[C, H, W], zeros and ones), in his own frame."""
    _observe(position, player, planes)


@jit
def loud_actions(position: Position, out: NDArray[np.int32]) -> int:
    """Write the actions that no evaluation should come before into `out`; return how many.

    These are the captures and the like of the player to move, among them all decisions within a
    turn. Many games have none, their evaluation taking account of what can be captured.
    """
    return _loud_actions(position, out)  # type: ignore[no-any-return]


@jit
def _no_actions(position: Position, out: NDArray[np.int32]) -> int:
    return 0


@jit
def margin(position: Position) -> int:
    """Return by how much a finished game was won, 1 or more; it has no meaning for a draw."""
    return _margin(position)  # type: ignore[no-any-return]


@jit
def _one(position: Position) -> Int:
    return np.int64(1)


@jit
def stagnant(position: Position) -> int:
    """Return the outcome where the rules end the game by repetition, see `Game.stagnation`."""
    return _stagnant(position)  # type: ignore[no-any-return]


@jit
def _draw(position: Position) -> Int:
    return np.int64(DRAW)


@jit
def evaluate(position: Position, player: Int, evaluation: Any) -> Int:
    """Return what the position is worth to `player`, in hundredths of a piece."""
    return _evaluate(position, player, evaluation)  # type: ignore[no-any-return]


@jit
def load(row: NDArray[np.uint64], like: Position) -> Position:
    """Return the position of the class of `like` whose fields `store` wrote into `row`."""
    return _load(row, like)


@jit
def store(position: Position, row: NDArray[np.uint64]) -> None:
    """Write the fields of the position into the beginning of `row`."""
    for field in range(len(position)):
        row[field] = position[field]


@jit
def key(position: Position) -> np.uint64:
    """Return a 64-bit hash of the position, side to move included.

    Positions with the same key are the same to searches and where repetitions are counted.
    """
    return _key(position)  # type: ignore[no-any-return]


@jit
def hash_fields(position: Position) -> np.uint64:
    """Return a 64-bit hash of all fields."""
    mixed = ZERO
    for field in range(len(position)):
        mixed ^= scramble(position[field] + np.uint64(field) * _SALT)
    return mixed
