"""Values of several turns of one position by alpha-beta, all searched to the same depth.

A search for the best turn gives the others only upper bounds; here every turn has its own value.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from cc_env.core.game import Game, Turn
from cc_env.core.rules import ONGOING, Position
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.result import SearchResult
from cc_env.search.scores import PROVEN, expected_result, terminal_score
from cc_env.search.workspace import MAX_DEPTH, MAX_PLIES


class Variation(NamedTuple):
    """A turn, or its first decisions, with its value to the player to move."""

    # Principal variation, which begins with the turn.
    actions: Turn
    # Expected result, -1 to 1.
    value: float
    # Score in evaluation units, see scores.py; 0 from players other than minimax and perfect.
    score: int = 0
    # Whether the value is proven.
    is_exact: bool = False


class Comparison(NamedTuple):
    """The values of the compared turns."""

    # In the order of the `turns` argument.
    variations: tuple[Variation, ...]
    # Turns searched, including the compared one.
    depth: int
    # Positions visited.
    nodes: int


@runtime_checkable
class ComparingPlayer(Protocol):
    """A player that compares turns, such as `cc_env.players.builtin.MinimaxPlayer`."""

    def compare(
        self, position: Position, turns: Sequence[Turn], seconds_left: Callable[[], float]
    ) -> Comparison:
        """Return the value of each turn; `seconds_left` returns the remaining seconds."""


class Continuation(NamedTuple):
    """The position after a turn and all forced decisions that follow."""

    position: Position
    # Actions played from the root.
    actions: Turn
    # Turns completed by them.
    turns: int


def compare(
    search: AlphaBeta,
    position: Position,
    turns: Sequence[Turn],
    *,
    seconds_left: Callable[[], float],
    depth: int = MAX_DEPTH,
) -> Comparison:
    """Return the values of turns, or of first decisions of turns, searched up to `depth` turns.

    They are those of the greatest depth that was completed for all of them, at least 2.
    `seconds_left` returns the remaining time.
    """
    completed = Comparison((), 0, 0)
    nodes = 0
    children = [play_forced(search.game, position, turn) for turn in turns]
    for current_depth in range(2, max(2, depth) + 1):
        variations = []
        is_last = True
        for child in children:
            variation, result = _search_child(search, position, child, current_depth, seconds_left)
            nodes += result.nodes if result else 0
            is_cut_short = result and _is_cut_short(result, current_depth - child.turns)
            if is_cut_short and completed.variations:
                return completed._replace(nodes=nodes)
            variations.append(variation)
            is_last &= result is None or variation.is_exact
        completed = Comparison(tuple(variations), current_depth, nodes)
        if is_last or seconds_left() <= 0:
            break
    return completed


def play_forced(game: Game, position: Position, turn: Turn) -> Continuation:
    """Play a turn and the forced decisions after it, up to MAX_PLIES // 2 in all.

    Raises IllegalAction if the turn is not legal.
    """
    actions: Turn = ()
    turns = 0
    queue = deque(turn)
    while queue:
        action = queue.popleft()
        position = game.apply(position, action)
        actions += (action,)
        turns += not game.mid_turn(position)
        if not queue and len(actions) < MAX_PLIES // 2:
            legal = game.legal_actions(position)
            queue.extend(legal.tolist() if len(legal) == 1 else [])
    return Continuation(position, actions, turns)


def _search_child(
    search: AlphaBeta,
    root: Position,
    child: Continuation,
    depth: int,
    seconds_left: Callable[[], float],
) -> tuple[Variation, SearchResult | None]:
    """Return the variation through a child, and the result of its search, None if it needs none.

    Proven scores count decisions from the root, as in a single search.
    """
    game, position, actions, turns = search.game, *child
    player, outcome = game.to_move(root), game.outcome(position)
    if outcome != ONGOING:
        ply = np.int64(len(actions))
        score = int(terminal_score(position, np.int64(outcome), np.int64(player), ply))
        return Variation(actions, expected_result(score), score, is_exact=True), None
    # Still forced after the limit of `play_forced`.
    if len(game.legal_actions(position)) == 1:
        return Variation(actions, 0.0), None
    result = search.search(position, depth=max(1, depth - turns), seconds=max(0.0, seconds_left()))
    assert result.score is not None
    sign = 1 if game.to_move(position) == player else -1
    score = sign * result.score
    if abs(score) >= PROVEN:
        score -= int(math.copysign(len(actions), score))
    is_exact = result.is_exact or abs(score) >= PROVEN
    return Variation(actions + result.line, expected_result(score), score, is_exact), result


def _is_cut_short(result: SearchResult, depth: int) -> bool:
    """Return whether a limit stopped a search before it reached the depth."""
    assert result.score is not None
    return result.depth < depth and not result.is_exact and abs(result.score) < PROVEN
