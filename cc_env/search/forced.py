"""Search for a forced goal: can a player win, or win a piece, within a number of its own turns?

    forced = ForcedSearch(game)
    forced.turns_to_goal(position, WIN, 5)

A depth-first search of the AND/OR tree without an evaluation. The attacker needs one action that
leads to the goal; all replies of the defender have to lead there. Unlike alpha-beta's, its results
are exact for the number of turns: the goal can, or cannot, be forced within it.

Shapes: A = `num_actions`, E entries of the table, a power of two.
"""

# mypy: disable-error-code="empty-body"

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import popcount
from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Bool, Int, Position
from cc_env.errors import SearchLimit, check_integer
from cc_env.jit.compiler import jit, rule
from cc_env.jit.raw_arrays import as_raw

MAX_TURNS = 50
DEFAULT_NODES = 10_000_000
# Decisions on the longest path, and the lists of legal actions that fit a buffer.
_MAX_PLIES, _MAX_LISTS = 1024, 64
_TABLE_SIZE = 2**18
# Indices of `counts`.
_NODES, _MAX_NODES, _IS_STOPPED = range(3)
# Bits of an entry: the least number of turns known to suffice, the greatest known not to, plus 1.
_FEWEST, _BYTE = np.uint64(8), np.uint64(255)


class WinGoal(NamedTuple):
    """The attacker wins the game."""

    # Compiled code does not support empty named tuples.
    unused: np.int64 = np.int64(0)


WIN = WinGoal()


class CaptureGoal(NamedTuple):
    """The attacker wins the game, or captures a piece before it loses one.

    Only for games with `to_sets`, whose first two sets have all pieces.
    """

    # Numbers of pieces at the start.
    own: Int
    enemy: Int


Goal = WinGoal | CaptureGoal


@rule(dispatch_on=(0,))
def captures_enough(goal: Goal, position: Position) -> Bool:
    """Return whether a turn of the attacker has just reached a goal in an unfinished game."""


@jit
def _never(goal: WinGoal, position: Position) -> Bool:
    return False


@jit
def _has_captured(goal: CaptureGoal, position: Position) -> Bool:
    # The defender is to move.
    enemy, own = rules.to_sets(position)[:2]
    return bool(popcount(enemy) < goal.enemy and popcount(own) >= goal.own)


captures_enough.add(WinGoal, function=_never)  # type: ignore[attr-defined]
captures_enough.add(CaptureGoal, function=_has_captured)  # type: ignore[attr-defined]


class _State(NamedTuple):
    """Buffers of a search."""

    legal: NDArray[np.int32]  # [_MAX_LISTS * A]
    # The action that succeeded last, by ply.
    killers: NDArray[np.int64]  # [_MAX_PLIES]
    # Key, and the numbers of turns known to suffice and not to suffice.
    table: NDArray[np.uint64]  # [E, 2]
    counts: NDArray[np.int64]  # [3]


@jit(nogil=True)
def _can_force(position: Position, attacker: Int, turns: Int, goal: Goal, state: _State) -> Bool:
    """Return whether the attacker can force the goal within `turns` own turns from here.

    If a turn of the attacker is unfinished, it is one of them. The result is undefined if the
    search is stopped.
    """
    state = as_raw(state)
    return _search(position, attacker, turns, np.int64(0), goal, state.legal, state)


@jit
def _search(
    position: Position,
    attacker: Int,
    turns: Int,
    ply: Int,
    goal: Goal,
    legal: NDArray[np.int32],
    state: _State,
) -> Bool:
    """Return whether the goal can be forced; `legal` is the free part of the buffer."""
    counts = state.counts
    counts[_NODES] += 1
    is_full = ply >= _MAX_PLIES or len(legal) < len(state.legal) // _MAX_LISTS
    if counts[_NODES] > counts[_MAX_NODES] or is_full:
        counts[_IS_STOPPED] = 1
    if counts[_IS_STOPPED] or turns == 0:
        return False
    key = rules.key(position)
    entry = state.table[key & np.uint64(len(state.table) - 1)]
    fewest: Int = np.int64(MAX_TURNS + 1)
    insufficient: Int = np.int64(0)
    if entry[0] == key:
        fewest, insufficient = np.int64(entry[1] >> _FEWEST), np.int64(entry[1] & _BYTE)
        if turns >= fewest or turns < insufficient:
            return bool(turns >= fewest)
    is_attack = bool(rules.to_move(position) == attacker)
    count = rules.legal_actions(position, legal)
    killer = state.killers[ply]
    for index in range(1, count):
        if legal[index] == killer:
            legal[0], legal[index] = legal[index], legal[0]
    result = not is_attack
    for index in range(count):
        action = np.int64(legal[index])
        after = rules.apply(position, action)
        is_finished = not rules.mid_turn(after)
        is_decided, is_reached = _decide(after, attacker, is_attack and is_finished, goal)
        if not is_decided:
            remaining = turns - 1 if is_attack and is_finished else turns
            is_reached = bool(
                _search(after, attacker, remaining, ply + 1, goal, legal[count:], state)
            )
        if is_reached == is_attack:
            state.killers[ply] = action
            result = is_attack
            break
    if counts[_IS_STOPPED]:
        return False
    if result:
        fewest = turns
    else:
        insufficient = turns + 1
    entry[0] = key
    entry[1] = np.uint64(fewest) << _FEWEST | np.uint64(insufficient)
    return result


@jit
def _decide(
    position: Position, attacker: Int, is_after_attack: Bool, goal: Goal
) -> tuple[bool, bool]:
    """Return whether a position decides about the goal, and whether the goal is reached."""
    outcome = rules.outcome(position)
    if outcome != ONGOING:
        return True, bool(outcome == attacker)
    is_reached = bool(is_after_attack and captures_enough(goal, position))
    return is_reached, is_reached


class ForcedSearch:
    """Searches of one game and one goal; results of earlier searches speed up later ones."""

    def __init__(self, game: Game, goal: Goal = WIN, *, nodes: int = DEFAULT_NODES) -> None:
        """Limit each search to a number of positions; raise BadOption unless it is positive."""
        self.game, self.goal = game, goal
        self._attacker = -1
        self._state = _State(
            np.empty(_MAX_LISTS * game.num_actions, np.int32),
            np.full(_MAX_PLIES, -1, np.int64),
            np.zeros((_TABLE_SIZE, 2), np.uint64),
            np.array([0, check_integer("nodes", nodes, 1), 0], np.int64),
        )

    @property
    def nodes(self) -> int:
        """The number of positions that the last search visited."""
        return int(self._state.counts[_NODES])

    def can_force(self, position: Position, attacker: int, turns: int) -> bool:
        """Return whether the attacker can force the goal within `turns` own turns, 0 to 50.

        The position is unfinished; the attacker is 0 or 1. Raises SearchLimit if that takes too
        many positions.
        """
        check_integer("turns", turns, 0, MAX_TURNS)
        check_integer("attacker", attacker, 0, 1)
        state = self._state
        if attacker != self._attacker:
            # Positions are equal for both attackers, results are not.
            state.table[:] = 0
            self._attacker = attacker
        state.counts[_NODES] = state.counts[_IS_STOPPED] = 0
        result = _can_force(position, np.int64(attacker), np.int64(turns), self.goal, state)
        if state.counts[_IS_STOPPED]:
            text = self.game.to_text(position)
            raise SearchLimit(f"'{text}': more than {state.counts[_MAX_NODES]:,} positions")
        return bool(result)

    def turns_to_goal(self, position: Position, attacker: int, limit: int) -> int | None:
        """Return the least number of own turns that suffices, at most `limit` (0 to 50), or None.

        Raises SearchLimit as `can_force`.
        """
        turns = range(1, check_integer("limit", limit, 0, MAX_TURNS) + 1)
        return next((n for n in turns if self.can_force(position, attacker, n)), None)
