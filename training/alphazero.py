"""python -m training.alphazero: AlphaZero, self-play guided by tree search.

Silver et al., "A general reinforcement learning algorithm that masters chess, shogi and Go through
self-play", 2018; action selection at the root by Danihelka et al., "Policy improvement by planning
with Gumbel", 2022.

Training proceeds in rounds. In each round the workers play with the newest network, against itself
and in a fraction of the games against other players; a small tree search makes every decision. At
the same time, the learner fits the network to the policies of earlier searches and to the results
of the games. Every few rounds the network, without search, plays the evaluation opponents and the
best network so far in the arena. If its score against the best network is at least `gate`, it is
promoted to `best.safetensors`.

The same seed gives the same run on the same machine if the run is limited by rounds, not minutes,
and the workers are threads. A resumed run starts new games; unfinished ones are lost.
"""

import sys
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.optim import Optimizer

from agents.network import Size, select_device
from cc_env.cli.application import run as run_command
from cc_env.errors import BadCheckpoint
from training.arena import make_players
from training.runs import command_line, state, training_run
from training.runs.checkpoints import Checkpoint
from training.runs.config import check_between, check_wholes
from training.runs.log import Row
from training.selfplay import engines, learner, promotion, worker
from training.selfplay.learner import Learner, initial_network
from training.selfplay.opponents import make_opponents
from training.selfplay.promotion import BestNetwork, EvaluationOpponents
from training.selfplay.replay_buffer import ReplayBuffer
from training.selfplay.worker import SelfPlayTally


@dataclass(frozen=True, kw_only=True)
class Config(training_run.Config):
    """The settings of a run; with the engine "threads", `device` also evaluates self-play."""

    minutes: float | None = 90
    # Maximum number of rounds; None: no limit.
    rounds: int | None = None
    network: Size = field(default_factory=Size)
    # Run folder or weights file of the initial network; None: random weights.
    start: str | None = None
    play: worker.SelfPlaySettings = field(default_factory=worker.SelfPlaySettings)
    learn: learner.LearnerSettings = field(default_factory=learner.LearnerSettings)
    # Number of self-play workers, each with its own boards.
    workers: int = 2
    # "threads", or "ray" for a cluster.
    engine: str = "threads"
    # Decisions per board and round.
    decisions: int = 16
    # Capacity of the replay buffer and samples before learning starts.
    replay: int = 600_000
    warm_up: int = 8_000
    # Batches come from this fraction of all samples, the newest, but at least `least_window`.
    window: float = 0.5
    least_window: int = 50_000
    # Mean number of gradient steps that use a sample.
    replay_ratio: float = 4
    # Rounds between evaluations.
    evaluate_every: int = 40
    evaluation_opponents: EvaluationOpponents = field(default_factory=EvaluationOpponents)
    # Minimum score against the best network for promotion.
    gate: float = 0.5

    def __post_init__(self) -> None:
        """Check the fields and fill in the options of the game."""
        super().__post_init__()
        check_wholes(self, workers=1, decisions=1, replay=1, warm_up=1, least_window=1)
        check_wholes(self, evaluate_every=1)
        check_between(self, 0, 1, "window", "gate")
        check_between(self, 0, 1000, "replay_ratio")
        engines.check_engine(self.engine)


def main(config: Config, path: Path, resume: bool = False) -> Row:
    """Train in a folder with a progress bar; return the last row of the log.

    Raises as `open_run`, `Run.steps` and `initial_network`.
    """
    torch.set_num_threads(1)
    game = config.make_game()
    make_players(config.evaluation_opponents.names, game)
    make_opponents(game, config.play.opponents, config.play.opponents_share)
    if not resume:
        initial_network(config.start, game, config.network)
    with (
        training_run.open_run(path, asdict(config), resume) as run,
        closing(Training(config, run)) as training,
    ):
        training.train()
    return run.rows[-1]


class Training:
    """A run in progress."""

    def __init__(self, config: Config, run: training_run.Run) -> None:
        """Start a run, or resume it from its newest checkpoint."""
        self.config, self.run, self.game = config, run, config.make_game()
        torch.manual_seed(config.seed)
        network = initial_network(config.start if run.is_new else None, self.game, config.network)
        self.learner = Learner(network, config.learn, select_device(config.device))
        self.replay = ReplayBuffer(self.game, config.replay)
        self.rng = np.random.default_rng((config.seed, 1))
        self.best = BestNetwork("alphazero", config, run)
        run.restore(self.load)
        seed = config.seed, 2, run.step
        self.engine = engines.make_engine(
            config.engine, self.game, config.play, config.workers, seed, config.device
        )

    def close(self) -> None:
        """Stop the workers."""
        self.engine.close()

    def train(self) -> None:
        """Run training to completion; progress is counted in rounds."""
        run, config = self.run, self.config
        for _ in run.steps(self.state, config.evaluate_every, charts(config), status):
            metrics = self.play_and_learn()
            run.advance()
            if run.evaluation_due:
                metrics |= self.best.evaluate(self.learner.average)
            run.log(metrics)

    def play_and_learn(self) -> dict[str, float]:
        """Run self-play and learning concurrently; return the metrics."""
        start, config = time.perf_counter(), self.config
        simulations = config.play.simulations_at(self.run.progress())
        self.engine.start(self.learner.average, config.decisions, simulations)
        losses = self.learn()
        results = self.engine.finish()
        for samples, _ in results:
            self.replay.add(samples)
        tally = sum((tally for _, tally in results), SelfPlayTally())
        play_metrics = tally.metrics(time.perf_counter() - start)
        return {**losses, **play_metrics, "samples": self.replay.added, "simulations": simulations}

    def learn(self) -> dict[str, float]:
        """Take the gradient steps of a round, on samples of earlier rounds; return the metrics."""
        config = self.config
        if self.replay.added < config.warm_up:
            return {}
        decisions = config.workers * config.play.boards * config.decisions
        steps = max(1, round(config.replay_ratio * decisions / config.learn.batch_size))
        newest = max(config.least_window, round(config.window * self.replay.added))
        start = time.perf_counter()
        self.learner.schedule_learning_rate(self.run.progress())
        losses = [
            self.learner.learn(self.replay.sample(self.rng, config.learn.batch_size, newest))
            for _ in range(steps)
        ]
        state.check_finite(self.learner.average)
        policy, value = np.mean(losses, 0)
        seconds = time.perf_counter() - start
        return {
            "policy_loss": float(policy),
            "value_loss": float(value),
            "learned_per_second": len(losses) * config.learn.batch_size / seconds,
        }

    def state(self) -> training_run.State:
        """Return the content of a checkpoint."""
        arrays = state.to_arrays(**self.parts()) | self.replay.state()
        about = {
            "steps": self.learner.steps,
            "added": self.replay.added,
            "rng": self.rng.bit_generator.state,
        }
        return arrays, about

    def load(self, checkpoint: Checkpoint) -> None:
        """Restore a checkpoint; raise BadCheckpoint if it does not fit this run."""
        about = checkpoint.about
        self.learner.steps = state.read_whole(about, "steps")
        try:
            self.rng.bit_generator.state = about["rng"]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise BadCheckpoint(f"rng is not a generator state: {error!r:.80}") from None
        self.best.allocate(checkpoint)
        state.load(checkpoint.arrays, **self.parts())
        self.replay.load(checkpoint.arrays, state.read_whole(about, "added"))

    def parts(self) -> dict[str, nn.Module | Optimizer]:
        """Return the networks and the optimizer by name."""
        return {**self.learner.parts(), **self.best.parts()}


def charts(config: Config) -> dict[str, list[str]]:
    """Return the charts of curves.png: columns of the log by title."""
    return {
        **promotion.charts(config.make_game(), config.evaluation_opponents),
        "score of self-play against its opponents": ["opponents"],
        "loss": ["policy_loss", "value_loss"],
        "self-play decisions per second": ["decisions_per_second"],
        "fractions of the workers' time": ["network_share", "search_share"],
        "self-play games, percent": ["draws_percent", "first_wins_percent"],
    }


def status(newest: Mapping[str, float]) -> str:
    """Return the status for the progress bar."""
    words = [f"round {newest['step']}", f"{newest['decisions_per_second']:,.0f} decisions/s"]
    if "policy_loss" in newest:
        words.append(f"loss {newest['policy_loss']:.2f} + {newest['value_loss']:.2f}")
    return ", ".join(words)


app = command_line.training_command(
    "alphazero",
    main,
    Config,
    "Train a network by self-play guided by tree search, by default for 90 minutes.",
    {
        "rounds": "Number of rounds.",
        "start": "Run or file with weights to start from.",
        "network.blocks": "Residual blocks of the network.",
        "network.channels": "Channels of the network.",
        "play.simulations": "Simulations per decision.",
        "workers": "Number of self-play workers.",
        "engine": "Where workers run: threads, or ray for a cluster.",
    },
)


if __name__ == "__main__":
    sys.exit(run_command(app))
