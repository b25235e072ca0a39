"""The rules of every game under the same names, for compiled code.

Shapes: A action ids, C planes of an observation, H rows and W columns of the board, F fields of a
position, K sets of a numbering, M positions.

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
from numpy.typing import NDArray

from cc_env.core.bitboard import ZERO, mix
from cc_env.jit import fingerprints
from cc_env.jit.compiler import jit, rule
from cc_env.jit.numba_internals import to_fixed_tuple

# The players.
FIRST, SECOND = 0, 1
# The outcomes; the outcome of a win is the winner.
FIRST_WINS, SECOND_WINS, DRAW, ONGOING = FIRST, SECOND, 2, -1

# `turns_to_draw` of games that no rule draws without progress.
UNLIMITED = 2**31

# Makes the hash of a word depend on its field.
_FIELD_SALT = np.uint64(0xD1342543DE82EF95)

# Integers and booleans; compiled code uses the numpy types only.
Int = int | np.int64
Bool = bool | np.bool_
# Each game has a NamedTuple class of its own.
Position = Any
_Function = Callable[..., Any]


@rule
def legal_actions(position: Position, out: NDArray[np.int32]) -> int:
    """Write the legal action ids, ascending, into `out` (int32[>= A]); return their number.

    For a terminal position the result is undefined; check `outcome` first.
    """


@rule
def apply(position: Position, action: Int) -> Position:
    """Return the position after a *legal* action; `position` is not modified."""


@rule
def to_move(position: Position) -> int:
    """Return the player to move, FIRST or SECOND; turns need not alternate."""


@rule
def mid_turn(position: Position) -> bool:
    """Return whether a turn is unfinished: the player who made the last action moves again."""


@rule
def outcome(position: Position) -> int:
    """Return FIRST_WINS, SECOND_WINS, DRAW or ONGOING by the rules of the game alone."""


@jit
def reward(outcome: Int, player: Int) -> float:
    """Return a player's reward for an outcome: 1 for a win, -1 for a loss, else 0."""
    if outcome == DRAW or outcome == ONGOING:  # noqa: SIM109 (compiled)
        return 0.0
    return 1.0 if outcome == player else -1.0


@rule
def observe(position: Position, player: Int, planes: NDArray[np.int8]) -> None:
    """Write the observation of `player`, in its frame, into `planes` (int8[C, H, W], 0 or 1).

    All elements are written: `planes` may contain an earlier observation.
    """


@rule
def tactical_actions(position: Position, out: NDArray[np.int32]) -> int:
    """Write the tactical actions into `out` (int32[>= A]); return their number.

    Quiescence search resolves them before it trusts a static evaluation: captures and the like,
    and all decisions within a turn. Games whose evaluation accounts for captures have none.
    """


@rule
def margin(position: Position) -> int:
    """Return the winning margin of a finished game, 1 or more; undefined for a draw."""


@rule
def repetition_outcome(position: Position) -> int:
    """Return the outcome of a game that the rules end by repetition in this position."""


@rule(dispatch_on=(0, 2))
def evaluate(position: Position, player: Int, evaluation: Any) -> Int:
    """Return the static evaluation of a position for `player` by `evaluation`.

    `evaluation` is a NamedTuple whose class selects the function. Default evaluations are in
    hundredths of a piece.
    """


@rule
def turns_to_draw(position: Position) -> int:
    """Return the least number of turns after which a rule draws a game without progress.

    It is UNLIMITED if there is no such rule.
    """


@rule
def to_sets(position: Position) -> tuple[np.uint64, ...]:
    """Return the K sets of cells of a position between turns, in the order of its numbering."""


@rule
def network_inputs(position: Position) -> tuple[np.uint64, ...]:
    """Return the inputs of a learned evaluation at the start of a turn.

    They are 64-bit sets of cells or flags in the frame of the player to move, in a fixed order.
    """


@rule
def numbering_state(position: Position) -> int:
    """Return the part of a position that its sets omit, a small number; -1 if not numbered."""


@rule(dispatch_on=(2,))
def from_sets(sets: NDArray[np.uint64], state: Int, like: Position) -> Position:
    """Return the position with these sets (uint64[K]) and this state, the first player to move.

    All other properties, such as the size of the board, are copied from `like`.
    """


@rule
def unmoves(position: Position, out: NDArray[np.uint64]) -> int:
    """Write the positions from which a quiet turn leads to `position`; return their number.

    A turn is quiet if it keeps the numbers of pieces and all pieces of the opponent. Each position
    is written to a row of `out` (uint64[M, >= F]) by `store`, as it is after `pass_turn`. Finished
    games may be included.
    """


@rule
def turns(position: Position, legal: NDArray[np.int32], out: NDArray[np.uint64]) -> int:
    """Write the positions after all turns of an unfinished game; return their number.

    They are written to the rows of `out` (uint64[M, >= F]) by `store`. `legal` (int32[>= 4 * A]) is
    a buffer.
    """


@rule
def pass_turn(position: Position) -> Position:
    """Return the position between turns with the other player to move."""


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

    Searches and repetition counts treat positions with equal keys as equal.
    """


@jit
def hash_fields(position: Position) -> np.uint64:
    """Return a 64-bit hash of all fields."""
    result = ZERO
    for field in range(len(position)):
        result ^= mix(position[field] + np.uint64(field) * _FIELD_SALT)
    return result


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
def _draw_outcome(position: Position) -> Int:
    return np.int64(DRAW)


@jit
def _unlimited_turns(position: Position) -> Int:
    return np.int64(UNLIMITED)


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
    repetition_outcome: _Function = _draw_outcome,
    turns_to_draw: _Function = _unlimited_turns,
) -> None:
    """Register the rules of the game whose positions are of `position_class`.

    The arguments are functions compiled with `cc_env.jit.compiler.jit` that implement the generic
    functions of the same names. By default the field `player` is the player to move; every action
    is a whole turn; no action is tactical; the key hashes all fields; the margin of a win is 1; a
    game that ends by repetition is a draw; and no rule draws a game without progress.
    """
    _qualify_name(position_class)
    _add(
        position_class,
        legal_actions=legal_actions,
        apply=apply,
        outcome=outcome,
        observe=observe,
        to_move=to_move,
        mid_turn=mid_turn,
        tactical_actions=tactical_actions,
        key=key,
        margin=margin,
        repetition_outcome=repetition_outcome,
        turns_to_draw=turns_to_draw,
    )
    load.add(position_class, function=_loader(position_class))  # type: ignore[attr-defined]


# By class of a slow evaluation, the function that returns the faster one for move ordering.
_ORDERINGS: dict[type, Callable[[Any], Any]] = {}
# By class of an evaluation with a cache, the function that returns one with a cache of its own.
_WITH_CACHE: dict[type, Callable[[Any], Any]] = {}


def register_evaluation(
    position_class: type,
    evaluation_class: type,
    function: _Function,
    *,
    ordering: Callable[[Any], Any] | None = None,
    with_cache: Callable[[Any], Any] | None = None,
) -> None:
    """Register the compiled `evaluate` of a class of evaluations.

    `evaluation_class` is a NamedTuple of weights. For a slow evaluation, `ordering` returns the
    faster evaluation that searches use to order moves, and `with_cache` the same evaluation with a
    cache of its own, for the searches of one thread.
    """
    if ordering is not None:
        _ORDERINGS[evaluation_class] = ordering
    if with_cache is not None:
        _WITH_CACHE[evaluation_class] = with_cache
    _qualify_name(evaluation_class)
    # A module's own functions are in its fingerprint already.
    if function.__module__ != evaluation_class.__module__:
        fingerprints.register(evaluation_class.__module__, {position_class.__name__: function})
    evaluate.add(  # type: ignore[attr-defined]
        position_class, evaluation_class, function=function
    )


def ordering_evaluation(evaluation: Any) -> Any:
    """Return the evaluation that orders moves: by default `evaluation` itself."""
    ordering = _ORDERINGS.get(type(evaluation))
    return ordering(evaluation) if ordering else evaluation


def with_cache(evaluation: Any) -> Any:
    """Return the evaluation with a cache of its own, for one thread; by default `evaluation`."""
    function = _WITH_CACHE.get(type(evaluation))
    return function(evaluation) if function else evaluation


@jit
def _single_state(position: Position) -> Int:
    return np.int64(-1) if mid_turn(position) else np.int64(0)


def register_numbering(
    position_class: type,
    *,
    to_sets: _Function,
    from_sets: _Function,
    numbering_state: _Function = _single_state,
) -> None:
    """Register how positions are numbered, so that the game can be solved.

    `cc_env.core.numbering` describes the sets. By default they contain all of a position between
    turns.
    """
    _add(position_class, to_sets=to_sets, from_sets=from_sets, numbering_state=numbering_state)


@jit
def is_unfinished(position: Position, action: Int) -> bool:
    """Return whether the turn of a legal action continues with another one."""
    return True if mid_turn(apply(position, action)) else False  # noqa: SIM210 (compiled)


@jit
def apply_all(position: Position, legal: NDArray[np.int32], out: NDArray[np.uint64]) -> int:
    """Write the positions after all turns into `out` as `turns` does, by the legal actions.

    `legal` is int32[>= 4 * A]. Positions for which `out`, uint64[M, >= F], has no row are omitted.
    """
    count = legal_actions(position, legal)
    written = 0
    for index in range(count):
        after = apply(position, np.int64(legal[index]))
        if mid_turn(after):
            written += apply_all(after, legal[count:], out[written:])
        elif written < len(out):
            store(after, out[written])
            written += 1
    return written


def register_unmoves(
    position_class: type,
    *,
    unmoves: _Function,
    pass_turn: _Function,
    turns: _Function = apply_all,
) -> None:
    """Register the unmoves of a game, so that it is solved by predecessors.

    By default, `turns` applies all legal actions.
    """
    _add(position_class, unmoves=unmoves, pass_turn=pass_turn, turns=turns)


def register_inputs(position_class: type, network_inputs: _Function) -> None:
    """Register the inputs of learned evaluations; often they are the game's `to_sets`."""
    _add(position_class, network_inputs=network_inputs)


def _add(position_class: type, **functions: _Function) -> None:
    fingerprints.register(position_class.__module__, functions)
    for name, function in functions.items():
        globals()[name].add(position_class, function=function)


def _qualify_name(named_tuple: type) -> None:
    """Put the module into the name of a class: numba identifies classes by name and fields."""
    named_tuple.__name__ = f"{named_tuple.__module__}.{named_tuple.__qualname__}"


def _loader(position_class: type) -> _Function:
    fields = len(position_class._fields)  # type: ignore[attr-defined]

    @jit
    def load_fields(row: NDArray[np.uint64], like: Position) -> Position:
        return position_class(*to_fixed_tuple(row, fields))

    return load_fields
