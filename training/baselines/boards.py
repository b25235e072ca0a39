"""The games and algorithms of the baselines, and the players that runs are measured against."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cc_env.core.game import Game
from cc_env.games.factory import make_game


@dataclass(frozen=True)
class Board:
    """A game with its options, and its title in tables."""

    title: str
    game: str
    options: Mapping[str, Any]

    def make_game(self) -> Game:
        """Create the game."""
        return make_game(self.game, **self.options)


BOARDS = {
    "capture_conquer-6": Board("C&C 6×6", "capture_conquer", {"size": 6}),
    "checkers": Board("Checkers", "checkers", {}),
    "mini_checkers": Board("Mini checkers", "mini_checkers", {}),
    "morris": Board("Nine men's morris", "morris", {}),
    "cannon": Board("Cannon", "cannon", {}),
    # Solved, so that the accuracy of players can be measured.
    "capture_conquer-5": Board("C&C 5×5", "capture_conquer", {"size": 5, "corner": 2}),
}
FIXED_PLAYERS = "random", "greedy", "minimax:depth=1", "minimax:depth=2", "minimax:depth=3"
# The player whose Elo is 0, and the opponent of learning curves.
ANCHOR = "minimax:depth=1"

# Random turns before the players take over; games per opponent; seed of the openings.
OPENING_TURNS, GAMES, OPENING_SEED = 4, 200, 0
SEEDS = 0, 1, 2
CORE_MINUTES = 10.0


# All networks of policies have this size.
_NETWORK = {"blocks": 2, "channels": 32, "keys": 16}


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of the baselines.

    `module` has its `Config` and `main`. `players` are those made from a run, by title; {run}
    stands for the folder of the run. `settings` differ from those of the training command: one
    process, and a budget of minutes instead of hours.
    """

    title: str
    module: str
    players: Mapping[str, str]
    settings: Mapping[str, Any]


ALGORITHMS = {
    "ppo": Algorithm(
        "PPO", "training.ppo.ppo", {"PPO": "ppo:path={run}"}, {"evaluate_every": 200_000}
    ),
    "dqn": Algorithm(
        "Masked DQN",
        "training.dqn",
        {"Masked DQN": "policy:path={run}"},
        {"evaluate_every": 100_000},
    ),
    "alphazero": Algorithm(
        "AlphaZero",
        "training.alphazero",
        {
            "AlphaZero, network only": "policy:path={run}",
            "AlphaZero, 64 simulations": "alphazero:simulations=64,path={run}",
        },
        {
            "network": _NETWORK,
            "workers": 1,
            "play": {"boards": 64, "simulations": 32},
            "warm_up": 2_000,
            "least_window": 10_000,
            "evaluate_every": 8,
        },
    ),
    "distillation": Algorithm(
        "Distillation",
        "training.distillation.distillation",
        {"Distillation": "policy:path={run}"},
        {"network": _NETWORK, "workers": 0, "decisions": 8_000, "depth": 2, "evaluate_every": 2},
    ),
    "learned_evaluation": Algorithm(
        "Learned evaluation",
        "training.learned_evaluation.fitting",
        {
            "Learned evaluation, depth 1": "minimax:depth=1,evaluation={run}/best.network",
            "Learned evaluation, depth 3": "minimax:depth=3,evaluation={run}/best.network",
        },
        {
            "workers": 0,
            "positions": 60_000,
            "remembered": 600_000,
            "depth": 3,
            "limit": "depth=3",
        },
    ),
}
# Name of the result of the fixed players, a round robin without training.
FIXED = "fixed"
