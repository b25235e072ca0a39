"""What the alpha-beta search expects of each action: what a policy is taught.

Shapes: N positions, F fields of a position, M actions of the position that has most.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.search.alphabeta import deepen
from cc_env.search.scores import MARGIN, PROVEN, WIN, expected_result
from cc_env.search.transposition import NO_ACTION
from cc_env.search.workspace import MAX_PLIES, VALUE, Context
from training.selfplay.search_games import MOST_NODES, context_of

# Results to expect, -1 to 1. A proven win is worth less, and a loss more, for each decision until
# then; what is not proven is worth less than every proven win, and more than every loss.
_DELAY, _MOST_DELAY = 0.001, 0.1
_NEARLY = 1 - 2 * _MOST_DELAY  # what is beyond it is halved


class Judge:
    """Searches each legal action of positions to the same depth.

    It does not see earlier positions: only what is repeated within a search counts as a draw. The
    search of an action ends early after half a million positions.
    """

    def __init__(self, game: Game, evaluation: Any, depth: int) -> None:
        """Judge by searches of `depth` turns, 2 or more; `evaluation` is as for `Game.evaluation`.

        Raises as `Game.evaluation`.
        """
        self._game, self._depth, self._context = game, depth, context_of(game, evaluation)

    def __call__(
        self, positions: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the legal actions of positions, uint64[N, F], and what each is worth.

        Those are int32[N, M], padded with -1, and float32[N, M], padded with 0: the result to
        expect, 0 to 1, to the player to move. A proven win is worth the more the sooner it comes,
        a loss the later, and more than any lead that is not proven; margins do not count.
        """
        actions = np.full((len(positions), self._game.num_actions), -1, np.int32)
        worth = np.zeros(actions.shape, np.float32)
        start, depth = self._game.initial, self._depth
        most = _judge(start, positions, depth, self._context, actions, worth)
        return actions[:, :most], worth[:, :most]


@jit(nogil=True)
def _judge(
    start: Position,
    positions: NDArray[np.uint64],
    depth: Int,
    context: Context,
    actions: NDArray[np.int32],
    worth: NDArray[np.float32],
) -> Int:
    """Fill actions and their worth, as `Judge`; return how many a position has at most."""
    positions, context = as_raw(positions), as_raw(context)
    actions, worth = as_raw(actions), as_raw(worth)
    line = np.full(MAX_PLIES, NO_ACTION, np.int32)
    legal = np.empty(actions.shape[1], np.int32)
    most: Int = np.int64(0)
    for row in range(len(positions)):
        position = rules.load(positions[row], start)
        player = rules.to_move(position)
        count = rules.legal_actions(position, legal)
        most = max(most, count)
        for place in range(count):
            after = rules.apply(position, np.int64(legal[place]))
            actions[row, place] = legal[place]
            result = rules.outcome(after)
            if result == ONGOING:
                turns = depth if rules.mid_turn(after) else depth - 1
                deepen(after, player, turns, MOST_NODES, context, line)
                value = _value(context.workspace.counts[VALUE])
                value = value if rules.to_move(after) == player else -value
            else:
                value = rules.reward(result, player)
            worth[row, place] = (1 + value) / 2
    return most


@jit
def _value(score: Int) -> float:
    """Return the result that a score predicts, -1 to 1."""
    size = score if score > 0 else -score
    if size < PROVEN:
        value = expected_result(score)
        beyond = max(abs(value) - _NEARLY, 0.0) / 2
        return value - beyond if value > 0 else value + beyond
    delay = min(_DELAY * ((WIN - size) % MARGIN), _MOST_DELAY)
    return 1.0 - delay if score > 0 else delay - 1.0
