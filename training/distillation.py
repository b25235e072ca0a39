"""python -m training.distillation: teach a policy by alpha-beta, what it finds in a look.

Games of alpha-beta against itself teach a network, which then plays what the search would, without
a search: Rusu et al., "Policy distillation", 2016. In each round the teacher plays on all cores,
with a share of random actions; every decision is a sample, whose policy is the teacher's action and
whose value is the result to expect (see `training.search_play`). The network is fitted to the
newest samples. At intervals its policy plays the rivals and the best network so far in the arena.
If it reaches the score `gate` against the best one, it replaces it as `best.safetensors`.

The same seed gives the same run if it is limited by rounds, not minutes, and the machine computes
the same.
"""

import copy
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents.network import Network, Size, device_of
from cc_env.game import Game
from cc_env.learned.files import evaluation_of
from cc_env.terminal import run as run_command
from cc_env.threads import cores
from training import cli, gate, learner, runs, search_play, state
from training.arena import try_players
from training.checkpoints import Saved
from training.config import check_between, check_wholes
from training.gate import Rivals, challenge
from training.learner import Learner, started
from training.log import Row
from training.replay import WIDTH, Replay, Samples
from training.tasks import mapper, values

MAY_DIFFER = "minutes", "rounds", "workers", "engine", "device"  # when a run is continued


@dataclass(frozen=True, kw_only=True)
class Config(runs.Config):
    """The settings of a run."""

    minutes: float | None = 60  # time budget, earlier sessions included; None: no limit
    rounds: int | None = None  # limit of rounds; None: no limit
    network: Size = field(default_factory=Size)
    start: str | None = None  # run or file with weights to start from; None: a new network
    learn: learner.LearnerSettings = field(default_factory=learner.LearnerSettings)
    evaluation: str | None = None  # the teacher's: a name, or the path of a file; None: the first
    depth: int = 5  # of the teacher's search, in turns
    opening_turns: int = 12  # most random turns at the start of a game, drawn from 0
    exploration: float = 0.1  # share of random decisions after the opening
    weight: float = 0.7  # of later positions in a value, relative to the search
    decisions: int = 100_000  # of the teacher in a round
    replay: int = 1_000_000  # newest samples, which are learned from
    replay_ratio: float = 1  # how often each sample is learned from, on average
    evaluate_every: int = 4  # rounds between evaluations
    rivals: Rivals = field(default_factory=Rivals)
    gate: float = 0.5  # least score against the best network to replace it
    workers: int | None = None  # processes that play at once; None: one per core
    engine: str = "processes"  # where they are: "processes", or "ray" for a cluster

    def __post_init__(self) -> None:
        """Check the fields, and fill in the options of the game."""
        super().__post_init__()
        check_wholes(self, depth=1, opening_turns=0, decisions=1000, replay=1000, evaluate_every=1)
        check_between(self, 0, 1, "exploration", "weight", "gate")
        check_between(self, 0, 1000, "replay_ratio")
        mapper(self.engine, self.workers)


def main(config: Config, path: Path, resume: bool = False) -> Row:
    """Train in a folder, with a progress bar; return the last row of the log.

    Raises as `runs.opened`, `runs.Run.steps`, `learned.files.evaluation_of` and `learner.started`.
    """
    torch.set_num_threads(cores())
    game = config.make_game()
    try_players(config.rivals.names, game)
    evaluation_of(game, config.evaluation)
    if not resume:
        started(config.start, game, config.network)
    with runs.opened(path, asdict(config), resume, MAY_DIFFER) as run:
        Training(config, run).train()
    return run.rows[-1]


class Training:
    """A run in progress."""

    def __init__(self, config: Config, run: runs.Run) -> None:
        """Begin a run, or continue it from its newest checkpoint."""
        self.config, self.run, self.game = config, run, config.make_game()
        torch.manual_seed(config.seed)
        network = started(config.start if run.is_new else None, self.game, config.network)
        self.learner = Learner(network, config.learn, device_of(config.device))
        self.replay = Replay(self.game, config.replay)
        self.best: Network | None = None
        self.evaluation = evaluation_of(self.game, config.evaluation)
        run.restore(self.load)

    def train(self) -> None:
        """Train to the end; a step is a round."""
        run, config = self.run, self.config
        for _ in run.steps(self.state, config.evaluate_every, charts(config), status):
            numbers = self.play()
            numbers |= self.learn(numbers["decisions"])
            run.advance()
            if run.is_due:
                numbers |= self.evaluate()
            run.log(numbers)

    def play(self) -> dict[str, float]:
        """Let the teacher play; return the numbers to log."""
        config, began = self.config, time.perf_counter()
        pace = search_play.pace(config.depth, config.opening_turns, config.exploration)
        count, size = search_play.tasks(config.decisions)
        work = partial(_samples, self.game, self.evaluation, pace, config.weight, size)
        for samples in values(mapper(config.engine, config.workers), work, self.run.seeds(count)):
            self.replay.add(samples)
        made = min(self.replay.added, config.decisions)
        spent = time.perf_counter() - began
        return {"decisions": made, "decisions_per_second": made / spent, "play_seconds": spent}

    def learn(self, made: float) -> dict[str, float]:
        """Take the gradient steps of a round in which so many samples were made; return losses."""
        config, began = self.config, time.perf_counter()
        rng = np.random.default_rng(self.run.seeds(1))
        self.learner.slow_down(self.run.progress())
        size = config.learn.batch_size
        losses = [
            self.learner.learn(self.replay.draw(rng, size))
            for _ in range(max(1, round(config.replay_ratio * made / size)))
        ]
        state.check_finite(self.learner.average)
        policy, value = np.mean(losses, 0)
        spent = time.perf_counter() - began
        return {
            "policy_loss": float(policy),
            "value_loss": float(value),
            "learned_per_second": len(losses) * size / spent,
            "learn_seconds": spent,
        }

    def evaluate(self) -> dict[str, float]:
        """Play the newest network against rivals and the best one; save it if it reaches `gate`."""
        newest = copy.deepcopy(self.learner.average)
        scores, wins = challenge("distillation", newest, self.best, self.run, self.config)
        if wins:
            self.best = newest
        return scores

    def state(self) -> runs.State:
        """Return what a checkpoint holds."""
        arrays = state.flat(**self.parts()) | self.replay.state()
        return arrays, {"steps": self.learner.steps, "added": self.replay.added}

    def load(self, saved: Saved) -> None:
        """Continue from a checkpoint; raise BadCheckpoint if it does not fit this run."""
        self.learner.steps = state.whole(saved.about, "steps")
        if any(name.startswith("best.") for name in saved.arrays):
            self.best = Network(self.game, self.config.network)
        state.load(saved.arrays, **self.parts())
        self.replay.load(saved.arrays, state.whole(saved.about, "added"))

    def parts(self) -> dict[str, Any]:
        """Return the networks and the optimizer, by name."""
        best = {} if self.best is None else {"best": self.best}
        return {**self.learner.parts(), **best}


def _samples(game: Game, *given: Any) -> Samples:
    """Play in a worker, as `search_play.play`; return the decisions as samples."""
    played = search_play.play(game, *given)
    count = len(played.actions)
    actions, policy = np.full((count, WIDTH), -1, np.int16), np.zeros((count, WIDTH), np.float16)
    actions[:, 0], policy[:, 0] = played.actions, 1
    return Samples(played.positions, actions, policy, 2 * played.targets - 1)


def charts(config: Config) -> dict[str, list[str]]:
    """Return the charts of curves.png: title and columns of the log."""
    return {
        **gate.charts(config.make_game(), config.rivals),
        "loss": ["policy_loss", "value_loss"],
        "decisions of the teacher a second": ["decisions_per_second"],
        "seconds of a round": ["play_seconds", "learn_seconds"],
    }


def status(newest: Mapping[str, float]) -> str:
    """Return the state of training in a few words."""
    losses = f"loss {newest['policy_loss']:.2f} + {newest['value_loss']:.2f}"
    elo = f", Elo {newest['elo']:+.0f}" if "elo" in newest else ""
    return f"round {newest['step']}, {losses}{elo}"


app = cli.command(
    "distillation",
    main,
    Config,
    "Teach a policy by the search of minimax, by default for an hour.",
    {
        "rounds": "Number of rounds.",
        "evaluation": "The teacher's: a name, or the path of a best.network.",
        "depth": "Depth of the teacher's search, in turns.",
        "start": "Run or file with weights to start from.",
        "network.blocks": "Residual blocks of the network.",
        "network.channels": "Channels of the network.",
        "workers": "Processes that play at once.",
        "engine": "Where they are: processes, or ray for a cluster.",
    },
)


def command() -> int:
    """Run the command line; return the exit status, 2 for bad input."""
    return run_command(app)


if __name__ == "__main__":
    sys.exit(command())
