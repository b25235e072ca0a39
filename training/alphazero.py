"""python -m training.alphazero: AlphaZero, self-play guided by tree search.

Silver et al., "A general reinforcement learning algorithm that masters chess, shogi and Go through
self-play", 2018; action selection at the root by Danihelka et al., "Policy improvement by planning
with Gumbel", 2022.

Training goes in rounds. In each round the workers play with the newest network, against themselves
and in a share of the games against other players; every decision is made by a small tree search.
At the same time the learner fits the network to the policies of earlier searches and to the results
of the games. Every few rounds the network, without search, plays the rivals and the best network so
far in the arena. If it reaches the score `gate` against the best one, it replaces it as
`best.safetensors`.

The same seed gives the same run if the run is limited by rounds, not minutes, the workers are
threads, and the machine computes the same. A continued run begins new games; unfinished ones are
lost.
"""

import sys
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents.network import Size, device_of
from cc_env.cli.application import run as run_command
from cc_env.errors import BadCheckpoint
from training.arena import try_players
from training.runs import command_line, state, training_run
from training.runs.checkpoints import Saved
from training.runs.config import check_between, check_wholes
from training.runs.log import Row
from training.selfplay import engines, learner, promotion, worker
from training.selfplay.learner import Learner, started
from training.selfplay.opponents import make_opponents
from training.selfplay.promotion import Best, Rivals
from training.selfplay.replay_buffer import Replay
from training.selfplay.worker import SelfPlayTally

MAY_DIFFER = "minutes", "rounds", "workers", "engine", "device"  # when a run is continued


@dataclass(frozen=True, kw_only=True)
class Config(training_run.Config):
    """The settings of a run; with `engine` "threads" the `device` also plays."""

    minutes: float | None = 90  # time budget, earlier sessions included; None: no limit
    rounds: int | None = None  # limit of rounds; None: no limit
    network: Size = field(default_factory=Size)
    start: str | None = None  # run or file with weights to start from; None: a new network
    play: worker.SelfPlaySettings = field(default_factory=worker.SelfPlaySettings)
    learn: learner.LearnerSettings = field(default_factory=learner.LearnerSettings)
    workers: int = 2  # that play, each on its own boards
    engine: str = "threads"  # where workers run: "threads", or "ray" for a cluster
    decisions: int = 16  # per board and round
    replay: int = 600_000  # capacity of the replay buffer, in samples
    warm_up: int = 8_000  # samples before learning begins
    window: float = 0.5  # share of all samples so far that batches are drawn from, the newest
    least_window: int = 50_000  # lower bound of that window, in samples
    replay_ratio: float = 4  # how often each sample is learned from, on average
    evaluate_every: int = 40  # rounds between evaluations
    rivals: Rivals = field(default_factory=Rivals)
    gate: float = 0.5  # least score against the best network to replace it

    def __post_init__(self) -> None:
        """Check the fields, and fill in the options of the game."""
        super().__post_init__()
        check_wholes(self, workers=1, decisions=1, replay=1, warm_up=1, least_window=1)
        check_wholes(self, evaluate_every=1)
        check_between(self, 0, 1, "window", "gate")
        check_between(self, 0, 1000, "replay_ratio")
        engines.check(self.engine)


def main(config: Config, path: Path, resume: bool = False) -> Row:
    """Train in a folder, with a progress bar; return the last row of the log.

    Raises as `runs.opened` and `runs.Run.steps`, and as `learner.started`.
    """
    torch.set_num_threads(1)
    game = config.make_game()
    try_players(config.rivals.names, game)
    make_opponents(game, config.play.opponents, config.play.opponents_share)
    if not resume:
        started(config.start, game, config.network)
    with (
        training_run.opened(path, asdict(config), resume, MAY_DIFFER) as run,
        closing(Training(config, run)) as training,
    ):
        training.train()
    return run.rows[-1]


class Training:
    """A run in progress."""

    def __init__(self, config: Config, run: training_run.Run) -> None:
        """Begin a run, or continue it from its newest checkpoint."""
        self.config, self.run, self.game = config, run, config.make_game()
        torch.manual_seed(config.seed)
        network = started(config.start if run.is_new else None, self.game, config.network)
        self.learner = Learner(network, config.learn, device_of(config.device))
        self.replay = Replay(self.game, config.replay)
        self.rng = np.random.default_rng((config.seed, 1))
        self.best = Best("alphazero", config, run)
        run.restore(self.load)
        seed = config.seed, 2, run.step
        self.engine = engines.make(
            config.engine, self.game, config.play, config.workers, seed, config.device
        )

    def close(self) -> None:
        """Stop the workers."""
        self.engine.close()

    def train(self) -> None:
        """Train to the end; a step is a round."""
        run, config = self.run, self.config
        for _ in run.steps(self.state, config.evaluate_every, charts(config), status):
            numbers = self.play_and_learn()
            run.advance()
            if run.is_due:
                numbers |= self.best.meet(self.learner.average)
            run.log(numbers)

    def play_and_learn(self) -> dict[str, float]:
        """Let the workers play while the learner learns; return the numbers to log."""
        began, config = time.perf_counter(), self.config
        simulations = config.play.simulations_at(self.run.progress())
        self.engine.start(self.learner.average, config.decisions, simulations)
        losses = self.learn()
        results = self.engine.finish()
        for samples, _ in results:
            self.replay.add(samples)
        tally = sum((tally for _, tally in results), SelfPlayTally())
        played = tally.numbers(time.perf_counter() - began)
        return {**losses, **played, "samples": self.replay.added, "simulations": simulations}

    def learn(self) -> dict[str, float]:
        """Take the gradient steps of this round, on samples of the rounds before; return losses."""
        config = self.config
        if self.replay.added < config.warm_up:
            return {}
        made = config.workers * config.play.boards * config.decisions
        newest = max(config.least_window, round(config.window * self.replay.added))
        began = time.perf_counter()
        self.learner.slow_down(self.run.progress())
        losses = [
            self.learner.learn(self.replay.draw(self.rng, config.learn.batch_size, newest))
            for _ in range(max(1, round(config.replay_ratio * made / config.learn.batch_size)))
        ]
        state.check_finite(self.learner.average)
        policy, value = np.mean(losses, 0)
        seconds = time.perf_counter() - began
        return {
            "policy_loss": float(policy),
            "value_loss": float(value),
            "learned_per_second": len(losses) * config.learn.batch_size / seconds,
        }

    def state(self) -> training_run.State:
        """Return what a checkpoint holds."""
        arrays = state.flat(**self.parts()) | self.replay.state()
        about = {
            "steps": self.learner.steps,
            "added": self.replay.added,
            "rng": self.rng.bit_generator.state,
        }
        return arrays, about

    def load(self, saved: Saved) -> None:
        """Continue from a checkpoint; raise BadCheckpoint if it does not fit this run."""
        about = saved.about
        self.learner.steps = state.whole(about, "steps")
        try:
            self.rng.bit_generator.state = about["rng"]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise BadCheckpoint(f"rng is not the state of a generator: {error!r:.80}") from None
        self.best.expect(saved)
        state.load(saved.arrays, **self.parts())
        self.replay.load(saved.arrays, state.whole(about, "added"))

    def parts(self) -> dict[str, Any]:
        """Return the networks and the optimizer, by name."""
        return {**self.learner.parts(), **self.best.parts()}


def charts(config: Config) -> dict[str, list[str]]:
    """Return the charts of curves.png: title and columns of the log."""
    return {
        **promotion.charts(config.make_game(), config.rivals),
        "score of self-play against its opponents": ["opponents"],
        "loss": ["policy_loss", "value_loss"],
        "decisions of self-play a second": ["decisions_per_second"],
        "shares of the workers' time": ["network_share", "search_share"],
        "games of self-play, percent": ["draws_percent", "first_wins_percent"],
    }


def status(newest: Mapping[str, float]) -> str:
    """Return the state of training in a few words."""
    words = [f"round {newest['step']}", f"{newest['decisions_per_second']:,.0f} decisions/s"]
    if "policy_loss" in newest:
        words.append(f"loss {newest['policy_loss']:.2f} + {newest['value_loss']:.2f}")
    if "elo" in newest:
        words.append(f"Elo {newest['elo']:+.0f}")
    return ", ".join(words)


app = command_line.command(
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
        "workers": "Number of workers that play.",
        "engine": "Where workers run: threads, or ray for a cluster.",
    },
)


def command() -> int:
    """Run the command line; return the exit status, 2 for bad input."""
    return run_command(app)


if __name__ == "__main__":
    sys.exit(command())
