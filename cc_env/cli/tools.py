"""Commands of cc_env that are implemented in `agents` and `training`."""

from typing import NamedTuple


class Tool(NamedTuple):
    """A command that a module implements."""

    module: str
    # The extra that installs its packages.
    extra: str = "train"


TOOLS = {
    "arena": Tool("training.evaluate", "arena"),
    "train-alphazero": Tool("training.alphazero"),
    "train-ppo": Tool("training.ppo.ppo"),
    "train-dqn": Tool("training.dqn"),
    "train-evaluation": Tool("training.learned_evaluation.fitting"),
    "train-distillation": Tool("training.distillation.distillation"),
    "tune": Tool("training.experiments.tune", "arena"),
    "accuracy": Tool("training.experiments.accuracy", "arena"),
    "measure-ladder": Tool("training.experiments.ladder", "arena"),
    "mine-puzzles": Tool("training.experiments.puzzles", "arena"),
    "hard-positions": Tool("training.experiments.hard_positions", "arena"),
    "published": Tool("training.reproductions.published", "arena"),
    "write-result": Tool("training.baselines.write_result", "arena"),
    "verify-result": Tool("training.baselines.verify_result", "arena"),
    "memory": Tool("agents.reproductions.memory_command", "cli"),
    "export-onnx": Tool("agents.export_command", "onnx"),
}
