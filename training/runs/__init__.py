"""Training runs: folders, configs, logs, checkpoints and command lines."""
