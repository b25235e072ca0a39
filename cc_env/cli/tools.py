"""The commands of cc_env that modules of `agents` and `training` run."""

TOOLS = {  # the module of each command
    "arena": "training.evaluate",
    "train-alphazero": "training.alphazero",
    "train-ppo": "training.ppo",
    "train-evaluation": "training.evaluation",
    "train-distillation": "training.distillation",
    "tune": "training.tune",
    "accuracy": "training.accuracy",
    "hardest": "training.hardest",
    "published": "training.published",
    "memory": "agents.memory",
}
