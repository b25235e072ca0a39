"""Search, generic over games and compiled: alpha-beta and Monte-Carlo trees."""

from typing import TYPE_CHECKING

from cc_env.registry.lazy import lazy_attributes

if TYPE_CHECKING:
    from cc_env.search.alphabeta import AlphaBeta
    from cc_env.search.mcts import MCTS
    from cc_env.search.puct import PUCT

__all__ = ["MCTS", "PUCT", "AlphaBeta"]
__getattr__ = lazy_attributes(
    __name__,
    {
        "AlphaBeta": "cc_env.search.alphabeta",
        "MCTS": "cc_env.search.mcts",
        "PUCT": "cc_env.search.puct",
    },
)
