"""The runs of the baselines: their configs, and how they are trained."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.shipped_weights import NETWORK
from cc_env.files import read_lines
from training import alphazero, dqn
from training.baselines.boards import ANCHOR, Board
from training.distillation import distillation
from training.learned_evaluation import fitting
from training.ppo import ppo
from training.runs.config import build_config
from training.runs.folder import CONFIG
from training.runs.log import LOG, Row, parse_row

# All networks of policies have this size.
_NETWORK = {"blocks": 2, "channels": 32, "keys": 16}
_TRAINERS: dict[str, Any] = {
    "ppo": ppo,
    "dqn": dqn,
    "alphazero": alphazero,
    "distillation": distillation,
    "learned_evaluation": fitting,
}
# Settings that differ from those of the training commands: one process, and a budget of minutes
# instead of hours.
_SETTINGS: dict[str, Mapping[str, Any]] = {
    "ppo": {"evaluate_every": 200_000},
    "dqn": {"evaluate_every": 100_000},
    "alphazero": {
        "network": _NETWORK,
        "workers": 1,
        "play": {"boards": 64, "simulations": 32},
        "warm_up": 2_000,
        "least_window": 10_000,
        "evaluate_every": 8,
    },
    "distillation": {
        "network": _NETWORK,
        "workers": 0,
        "decisions": 8_000,
        "depth": 2,
        "evaluate_every": 2,
    },
    "learned_evaluation": {
        "workers": 0,
        "positions": 60_000,
        "remembered": 600_000,
        "depth": 3,
        "limit": "depth=3",
    },
}


def train(
    algorithm: str, board: Board, seed: int, core_minutes: float, path: Path
) -> Sequence[Row]:
    """Train in a folder, or continue the run in it; return the rows of its log.

    Raises as `training.selfplay.training.train`.
    """
    trainer = _TRAINERS[algorithm]
    config = build_config(
        trainer.Config,
        {
            **_SETTINGS[algorithm],
            "game": board.game,
            "options": board.options,
            "seed": seed,
            "minutes": None,
            "core_minutes": core_minutes,
            "evaluation_opponents": {"names": [ANCHOR], "anchor": ANCHOR, "positions": 0},
        },
    )
    trainer.main(config, path, (path / CONFIG).exists())
    return [parse_row(path / LOG, *line) for line in read_lines(path / LOG)]


def weights_file(algorithm: str, path: Path) -> Path:
    """Return the file with the best network of a run."""
    return path / (fitting.FILE if algorithm == "learned_evaluation" else NETWORK)


def learning_curve(rows: Sequence[Row]) -> list[list[float]]:
    """Return [core-minutes, score against ANCHOR] of each evaluation."""
    return [[round(row["core_minutes"], 3), row[ANCHOR]] for row in rows if ANCHOR in row]


def environment_steps(algorithm: str, rows: Sequence[Row]) -> int:
    """Return the number of decisions that a run learned from, without those of opponents."""
    return round(_STEPS[algorithm](rows))


_STEPS: dict[str, Callable[[Sequence[Row]], float]] = {
    "ppo": lambda rows: rows[-1]["step"],
    "dqn": lambda rows: rows[-1]["step"],
    "alphazero": lambda rows: rows[-1]["samples"],
    "distillation": lambda rows: sum(row["decisions"] for row in rows),
    "learned_evaluation": lambda rows: sum(
        row["positions_per_second"] * row["play_seconds"] for row in rows
    ),
}
