"""make demo: train AlphaZero for a few minutes, then rate it in a tournament."""

import sys
from itertools import chain, count
from pathlib import Path
from typing import Annotated

import typer

from agents.network_weights import Size
from cc_env.cli.application import create_app, run
from cc_env.output import Terminal
from training import alphazero, arena, evaluate
from training.runs.command_line import Workers
from training.runs.folder import RUNS
from training.runs.training_run import CURVES

OPPONENTS = (
    "policy",
    "alphazero:simulations=64",
    "minimax:depth=5",
    "minimax:depth=3",
    "minimax:depth=1",
    "greedy",
    "random",
)

app = create_app()
console = Terminal()


@app.command()
def demo(
    minutes: Annotated[float, typer.Option(help="Minutes of training.")] = 4,
    games: Annotated[int, typer.Option(help="Games per pair in the tournament.")] = 20,
    workers: Workers = None,
) -> None:
    """Train AlphaZero on C&C 6×6, then play a tournament against other players."""
    path = _unused_path(RUNS / "demo")
    console.print(f"AlphaZero learns C&C 6×6 for {minutes:g} minutes, in {path}")
    # Small networks learn faster in a short time.
    network = Size(blocks=3, channels=32)
    alphazero.main(alphazero.Config(minutes=minutes, network=network, evaluate_every=15), path)
    trained = f"policy:path={path}", f"alphazero:simulations=64,path={path}"
    config = arena.Config(players=(*trained, *OPPONENTS), games=games, anchor="minimax:depth=3")
    console.print("Its strength among other players:")
    command = f"python -m training.experiments.demo --minutes {minutes:g} --games {games}"
    evaluate.run_and_report(config, path / "tournament", command, path / CURVES, workers=workers)


def _unused_path(path: Path) -> Path:
    """Return `path`, or its first numbered variant that does not exist."""
    variants = (path.with_name(f"{path.name}-{number}") for number in count(2))
    return next(folder for folder in chain([path], variants) if not folder.exists())


if __name__ == "__main__":
    sys.exit(run(app))
