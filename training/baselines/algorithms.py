"""The runs of the baselines: training, and the figures of their logs."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from cc_env.files import read_lines
from training.baselines.boards import ALGORITHMS, ANCHOR, Board
from training.runs.config import build_config
from training.runs.folder import CONFIG
from training.runs.log import LOG, Row, parse_row


def train(
    algorithm: str, board: Board, seed: int, core_minutes: float, path: Path
) -> Sequence[Row]:
    """Train in a folder, or continue the run in it; return the rows of its log.

    Raises as `training.selfplay.training.train`.
    """
    trainer: Any = import_module(ALGORITHMS[algorithm].module)
    config = build_config(
        trainer.Config,
        {
            **ALGORITHMS[algorithm].settings,
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
    trainer: Any = import_module(ALGORITHMS[algorithm].module)
    return path / str(trainer.Training.best_file)


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
