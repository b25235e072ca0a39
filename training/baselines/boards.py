"""The games of the baselines, and the players that each run is measured against."""

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


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of the baselines.

    `players` are the players made from a run, by title; {run} stands for the folder of the run.
    """

    title: str
    players: Mapping[str, str]


ALGORITHMS = {
    "ppo": Algorithm("PPO", {"PPO": "ppo:path={run}"}),
    "dqn": Algorithm("Masked DQN", {"Masked DQN": "policy:path={run}"}),
    "alphazero": Algorithm(
        "AlphaZero",
        {
            "AlphaZero, network only": "policy:path={run}",
            "AlphaZero, 64 simulations": "alphazero:simulations=64,path={run}",
        },
    ),
    "distillation": Algorithm("Distillation", {"Distillation": "policy:path={run}"}),
    "learned_evaluation": Algorithm(
        "Learned evaluation",
        {
            "Learned evaluation, depth 1": "minimax:depth=1,evaluation={run}/best.network",
            "Learned evaluation, depth 3": "minimax:depth=3,evaluation={run}/best.network",
        },
    ),
}
# Name of the result of the fixed players, a round robin without training.
FIXED = "fixed"
