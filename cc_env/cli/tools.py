"""Commands of cc_env that are implemented in `agents` and `training`, and extras of commands."""

# Modules by command.
TOOLS = {
    "arena": "training.evaluate",
    "train-alphazero": "training.alphazero",
    "train-ppo": "training.ppo.ppo",
    "train-dqn": "training.dqn",
    "train-evaluation": "training.learned_evaluation.fitting",
    "train-distillation": "training.distillation.distillation",
    "tune": "training.experiments.tune",
    "accuracy": "training.experiments.accuracy",
    "hard-positions": "training.experiments.hard_positions",
    "published": "training.reproductions.published",
    "write-result": "training.baselines.write_result",
    "verify-result": "training.baselines.verify_result",
    "memory": "agents.reproductions.memory_command",
    "export-onnx": "agents.export_command",
}

# Extras by command; those of other commands are `train` for a tool and `cli` otherwise.
_EXTRAS = {
    "serve": "play",
    "memory": "cli",
    "export-onnx": "onnx",
    **dict.fromkeys(("arena", "tune", "accuracy", "hard-positions", "published"), "arena"),
    **dict.fromkeys(("write-result", "verify-result"), "arena"),
}


def extra_of_command(command: str) -> str:
    """Return the extra that installs the packages of a command."""
    return _EXTRAS.get(command, "train" if command in TOOLS else "cli")
