"""What all training algorithms share: their config, their loop, evaluation and promotion.

`NetworkTraining` is the base of algorithms that fit a policy and value network to the samples of a
replay buffer.
"""

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

import numpy as np
import torch
from torch import nn
from torch.optim import Optimizer

from agents.evaluator import Evaluator
from agents.network import Network, save, select_device
from agents.network_players import PolicyPlayer
from agents.network_weights import Size
from agents.shipped_weights import NETWORK
from cc_env.jit.threads import available_cores
from training.arena import make_players
from training.runs import state, training_run
from training.runs.checkpoints import Checkpoint
from training.runs.config import MAX_SAMPLES, check_between, check_integers
from training.runs.log import Row
from training.selfplay import promotion
from training.selfplay.learner import (
    Learner,
    LearnerSettings,
    PolicyLoss,
    cross_entropy,
    initial_network,
)
from training.selfplay.promotion import BEST, EvaluationOpponents
from training.selfplay.replay_buffer import ReplayBuffer


@dataclass(frozen=True, kw_only=True)
class BaseConfig(training_run.Config):
    """The settings of every algorithm."""

    # Steps of the run between evaluations.
    evaluate_every: int = 1
    evaluation_opponents: EvaluationOpponents = field(default_factory=EvaluationOpponents)
    # Minimum score against the best network for promotion.
    gate: float = 0.5

    def __post_init__(self) -> None:
        """Raise BadOption if a field is invalid; fill in the options of the game."""
        super().__post_init__()
        check_integers(self, evaluate_every=1)
        check_between(self, 0, 1, "gate")

    def check(self, resume: bool) -> None:
        """Check the players of a run before it writes anything; raise BadOption for a bad one.

        Subclasses also check files: with `resume`, those that a resumed run needs.
        """
        make_players(self.evaluation_opponents.names, self.make_game())


AnyConfig = TypeVar("AnyConfig", bound=BaseConfig)


class BaseTraining(ABC, Generic[AnyConfig]):
    """A run in progress."""

    # Name in the header of saved networks.
    algorithm: ClassVar[str]
    # Whether the network learns from the symmetric images of positions, too.
    mirrored: bool = True
    # File name of the best network.
    best_file: ClassVar[str] = NETWORK
    # Whether self-play needs the cores while the network learns.
    plays_while_learning: ClassVar[bool] = True

    def __init__(self, config: AnyConfig, run: training_run.Run) -> None:
        """Seed torch; a subclass creates its networks and then calls `run.restore(self.load)`."""
        self.config, self.run, self.game = config, run, config.make_game()
        torch.manual_seed(config.seed)

    def train(self) -> None:
        """Run training to completion."""
        run, config = self.run, self.config
        charts = promotion.charts(self.game, config.evaluation_opponents) | self.charts()
        for _ in run.steps(self.state, config.evaluate_every, charts, self.status):
            metrics = self.step()
            if run.evaluation_due:
                metrics |= self.evaluate()
            run.log(metrics)

    def evaluate_and_promote(
        self, newest: Network, best: Network | None
    ) -> tuple[dict[str, float], bool]:
        """Evaluate the newest network's policy and save it as the best one if it is promoted.

        If there is no best one, it is promoted, else with a score of at least `gate` against it.
        Returns the scores of `score_against` and whether the network was promoted. Raises BadTable
        for a damaged table, and OSError.
        """
        game, config = self.game, self.config
        newest_player = PolicyPlayer(game, Evaluator(newest), mirrored=self.mirrored)
        best_player = None
        if best is not None:
            best_player = PolicyPlayer(game, Evaluator(best), mirrored=self.mirrored)
        scores = promotion.score_against(
            game, newest_player, best_player, config.evaluation_opponents, self.run.step
        )
        is_promoted = best is None or scores[BEST] >= config.gate
        if is_promoted:
            self.save_best(newest, scores)
        return scores, is_promoted

    def save_best(self, network: Network, scores: Mapping[str, float]) -> None:
        """Save a network with its scores as the best one; raise OSError."""
        about = {"trained": self.algorithm, "mirrored": self.mirrored, "step": self.run.step}
        about |= {"config": asdict(self.config), **scores}
        save(self.run.path / NETWORK, network, self.game, about)

    def close(self) -> None:
        """Stop background work."""

    @abstractmethod
    def step(self) -> dict[str, float]:
        """Play and learn, and advance the run; return the metrics."""

    @abstractmethod
    def evaluate(self) -> dict[str, float]:
        """Evaluate the newest network and promote it if it is better; return the scores."""

    @abstractmethod
    def state(self) -> training_run.State:
        """Return the content of a checkpoint."""

    @abstractmethod
    def load(self, checkpoint: Checkpoint) -> None:
        """Restore a checkpoint; raise BadCheckpoint if it does not fit this run."""

    @abstractmethod
    def charts(self) -> dict[str, list[str]]:
        """Return the algorithm's charts in curves.png: columns of the log by title."""

    @abstractmethod
    def status(self, newest: Mapping[str, float]) -> str:
        """Return the status for the progress bar."""


def train(
    algorithm: type[BaseTraining[AnyConfig]], config: AnyConfig, path: Path, resume: bool = False
) -> Row:
    """Train in a folder with a progress bar; return the last row of the log.

    Raises as `config.check`; BadFolder or FolderInUse if the run cannot use the folder,
    BadCheckpoint for a checkpoint that does not fit, BadRecord for an invalid config or log,
    TrainingDiverged if weights or outputs are no longer finite, KeyboardInterrupt after Ctrl-C, and
    OSError.
    """
    config.check(resume)
    with (
        _torch_threads(1 if algorithm.plays_while_learning else available_cores()),
        training_run.open_run(path, asdict(config), resume, algorithm.best_file) as run,
        closing(algorithm(config, run)) as training,
    ):
        training.train()
    return run.rows[-1]


@contextmanager
def _torch_threads(max_count: int) -> Iterator[None]:
    """Let PyTorch use at most this number of threads in the block, and no more than before."""
    count = torch.get_num_threads()
    torch.set_num_threads(min(max_count, count))
    try:
        yield
    finally:
        torch.set_num_threads(count)


@dataclass(frozen=True, kw_only=True)
class NetworkConfig(BaseConfig):
    """The settings of algorithms with a replay buffer; steps are rounds."""

    # Maximum number of rounds; None: no limit.
    rounds: int | None = None
    network: Size = field(default_factory=Size)
    # Run folder or weights file of the initial network; None: random weights.
    start: str | None = None
    learn: LearnerSettings = field(default_factory=LearnerSettings)
    # Capacity of the replay buffer.
    replay: int = 400_000
    # Mean number of gradient steps that use a sample.
    replay_ratio: float = 1

    def __post_init__(self) -> None:
        """Raise BadOption if a field is invalid; fill in the options of the game."""
        super().__post_init__()
        check_integers(self, replay=(1, MAX_SAMPLES))
        check_between(self, 0, 1000, "replay_ratio")

    def check(self, resume: bool) -> None:
        """Raise BadOption for a player, BadCheckpoint for initial weights that do not fit."""
        super().check(resume)
        if not resume:
            initial_network(self.start, self.make_game(), self.network)


AnyNetworkConfig = TypeVar("AnyNetworkConfig", bound=NetworkConfig)


class NetworkTraining(BaseTraining[AnyNetworkConfig]):
    """A run that fits a network to samples; the moving average of its weights plays."""

    def __init__(
        self,
        config: AnyNetworkConfig,
        run: training_run.Run,
        policy_loss: PolicyLoss = cross_entropy,
        fill_missing: bool = False,
    ) -> None:
        """Create the network, the learner and the buffer.

        With `fill_missing`, legal actions that a sample does not store have the sample's smallest
        target instead of 0.
        """
        super().__init__(config, run)
        is_new = run.checkpoints.newest is None
        network = initial_network(config.start if is_new else None, self.game, config.network)
        device = select_device(config.device)
        self.learner = Learner(network, config.learn, device, policy_loss)
        self.replay = ReplayBuffer(self.game, config.replay, fill_missing=fill_missing)
        # The best network: the initial one with `start`, else None before the first evaluation.
        self.best: Network | None = None
        if is_new and config.start is not None:
            self.best = copy.deepcopy(self.learner.average)
            self.save_best(self.best, {})

    def fit(self, new_samples: float, newest: int | None = None) -> dict[str, float]:
        """Take the gradient steps of a round with `new_samples` samples; return the metrics.

        Batches come from the `newest` samples of the buffer, by default from all.
        """
        start = time.perf_counter()
        size = self.config.learn.batch_size
        rng = np.random.default_rng(self.run.seeds(1))
        self.learner.schedule_learning_rate(self.run.progress())
        losses = [
            self.learner.learn(self.replay.sample(rng, size, newest))
            for _ in range(max(1, round(self.config.replay_ratio * new_samples / size)))
        ]
        state.check_outputs(np.array(losses))
        state.check_finite(self.learner.average)
        policy, value = np.mean(losses, 0)
        elapsed = time.perf_counter() - start
        return {
            "policy_loss": float(policy),
            "value_loss": float(value),
            "learned_per_second": len(losses) * size / elapsed,
            "learn_seconds": elapsed,
        }

    def evaluate(self) -> dict[str, float]:
        """Evaluate the newest network and promote it if it is better; return the scores."""
        newest = copy.deepcopy(self.learner.average)
        scores, is_promoted = self.evaluate_and_promote(newest, self.best)
        if is_promoted:
            self.best = newest
        return scores

    def parts(self) -> Mapping[str, nn.Module | Optimizer]:
        """Return the networks and the optimizer by name."""
        best = {} if self.best is None else {BEST: self.best}
        return {**self.learner.parts(), **best}

    def state(self) -> training_run.State:
        """Return the content of a checkpoint."""
        arrays = state.to_arrays(**self.parts()) | self.replay.state()
        return arrays, {"steps": self.learner.steps, "added": self.replay.added}

    def load(self, checkpoint: Checkpoint) -> None:
        """Restore a checkpoint; raise BadCheckpoint if it does not fit this run."""
        arrays, about = checkpoint.arrays, checkpoint.about
        steps = state.read_integer(about, "steps")
        has_best = any(name.startswith(f"{BEST}.") for name in arrays)
        best = Network(self.game, self.config.network) if has_best else None
        parts = self.learner.parts() | ({} if best is None else {BEST: best})
        tensors = state.read(arrays, **parts)
        self.learner.check_steps(steps, tensors["optimizer"])
        self.replay.load(arrays, state.read_integer(about, "added"))
        state.assign(tensors, **parts)
        self.learner.steps, self.best = steps, best
