"""What the alpha-beta search expects of each action: what a policy is taught.

Shapes: N positions, F fields of a position, A actions of the game.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env import rules
from cc_env.borrow import borrow
from cc_env.compile import jit
from cc_env.exact.solved import NO_TABLES
from cc_env.game import Game
from cc_env.rules import ONGOING, Int, Position
from cc_env.search import transposition
from cc_env.search.scores import expected
from cc_env.search.transposition import NONE
from cc_env.search.workspace import MARGINS, PLIES, VALUE, Context, make_workspace
from training.search_play import TABLE_MEGABYTES, search


class Judge:
    """Searches all actions of positions, each as deeply as the others."""

    def __init__(self, game: Game, evaluation: Any, depth: int) -> None:
        """Judge by searches of `depth` turns; `evaluation` is as for `Game.evaluation`."""
        chosen = game.evaluation(evaluation)
        table, quick = transposition.empty(TABLE_MEGABYTES), rules.ordering_of(chosen)
        self._context = Context(table, make_workspace(game), chosen, quick, NO_TABLES)
        self._context.workspace["counts"][MARGINS] = game.max_margin
        self._game, self._depth = game, depth

    def __call__(
        self, positions: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the legal actions of positions, uint64[N, F], and what each is worth.

        Those are int32[N, A], padded with -1, and float32[N, A]: the result to expect, 0 to 1, to
        the player to move.
        """
        actions = np.full((len(positions), self._game.num_actions), -1, np.int32)
        worth = np.zeros(actions.shape, np.float32)
        _judge(self._game.initial, positions, self._depth, self._context, actions, worth)
        return actions, worth


@jit(nogil=True)
def _judge(
    start: Position,
    positions: NDArray[np.uint64],
    depth: Int,
    context: Context,
    actions: NDArray[np.int32],
    worth: NDArray[np.float32],
) -> None:
    """Fill actions and their worth, as `Judge`."""
    positions, context = borrow(positions), borrow(context)
    actions, worth = borrow(actions), borrow(worth)
    line = np.full(PLIES, NONE, np.int32)
    legal = np.empty(actions.shape[1], np.int32)
    for row in range(len(positions)):
        position = rules.load(positions[row], start)
        player = rules.to_move(position)
        for place in range(rules.legal_actions(position, legal)):
            after = rules.apply(position, np.int64(legal[place]))
            actions[row, place] = legal[place]
            result = rules.outcome(after)
            if result == ONGOING:
                turns = depth if rules.mid_turn(after) else depth - 1
                search(after, turns, context, line)
                value = expected(context.workspace.counts[VALUE])
                value = value if rules.to_move(after) == player else -value
            else:
                value = rules.reward(result, player)
            worth[row, place] = (1 + value) / 2
