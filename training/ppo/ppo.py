"""python -m training.ppo: MaskablePPO against a pool of opponents that includes its own snapshots.

Schulman et al., "Proximal policy optimization algorithms", 2017, with illegal actions masked (Huang
and Ontañón, 2020), by sb3-contrib. The learner plays both seats on many boards. The opponent of a
game is sampled from a pool: the current learner, a snapshot of it, or a player spec. At intervals
the greedy policy plays the evaluation opponents and the newest snapshot in the arena. If its score
against the snapshot is at least `gate`, it becomes the newest snapshot and `best.safetensors`.

The same seed gives the same run on the same machine, even if it is interrupted and resumed, if the
run is limited by steps, not minutes, no player is limited by seconds, and no player in the pool
keeps state between decisions (as `policy`, `alphazero` and `memory` do).
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from torch import nn
from torch.optim import Optimizer

from agents.evaluator import Evaluator, load_evaluator
from agents.network import Network, select_device
from agents.network_weights import Size
from agents.shipped_weights import resolve_weights
from agents.weight_files import checked_array
from cc_env.envs.boards import MAX_THREADS
from cc_env.errors import BadCheckpoint, check_integer
from training.arena import make_players
from training.ppo.masked_policy import Policy
from training.ppo.opponents import ITSELF, SNAPSHOTS, LearningOpponents, PoolSettings
from training.ppo.overlapped import OverlappedPPO
from training.runs import checked, command_line, state
from training.runs.checkpoints import Checkpoint
from training.runs.training_run import Run, State
from training.selfplay import selfplay_env
from training.selfplay.learner import initial_network
from training.selfplay.training import BaseConfig, BaseTraining, train

# Name in checkpoints of the scores against the players of the pool.
SCORES = "pool.scores"
# Metrics of MaskablePPO that are not logged.
OMITTED_METRICS = "loss", "n_updates", "clip_range"


@dataclass(frozen=True, kw_only=True)
class Config(BaseConfig):
    """The settings of a run."""

    # Maximum number of the learner's decisions; None: no limit.
    steps: int | None = None
    network: Size = field(default_factory=lambda: Size(blocks=2, channels=32, keys=16))
    # Run folder or weights file of the initial network; None: random weights.
    start: str | None = None
    # The initial network's logits are divided by this. Distilled policies are far from
    # deterministic, so the learner plays better at the start with a temperature below 1.
    start_temperature: Annotated[float, checked.numbers(0.01, 100)] = 1
    boards: checked.Boards = 512
    # Threads that step the boards and compute the decisions of compiled opponents.
    threads: Annotated[int, checked.integers(1, MAX_THREADS)] = 1
    # Decisions per board between updates.
    n_steps: int = 32
    # Decisions per gradient step, and passes over each rollout.
    batch_size: checked.BatchSize = 1024
    n_epochs: checked.Count = 2
    # Linear schedule.
    learning_rate: checked.Fraction = 3e-3
    last_learning_rate: checked.Fraction = 1e-4
    # Discount from one decision of the learner to the next.
    gamma: checked.Fraction = 0.99
    # Lambda of generalized advantage estimation.
    gae_lambda: checked.Fraction = 0.95
    # Clipping of the ratio between new and old probabilities.
    clip_range: checked.Fraction = 0.2
    # Weight of the entropy bonus; linear schedule.
    ent_coef: checked.Fraction = 0.01
    last_ent_coef: checked.Fraction = 0.001
    # Games start after 0 to `max_opening_turns` random turns.
    max_opening_turns: checked.OpeningTurns = 8
    # The reward of a draw is -contempt, so the network's values count it so, too.
    contempt: Annotated[float, checked.numbers(-1, 1)] = 0
    # Weight of reward shaping by the game's default evaluation (`SelfPlayEnv`); linear schedule.
    shaping: checked.Fraction = 0
    last_shaping: checked.Fraction = 0
    pool: PoolSettings = field(default_factory=PoolSettings)
    evaluate_every: checked.Count = 1_000_000
    # The best network is the newest snapshot.
    gate: checked.Fraction = 0.45

    def __post_init__(self) -> None:
        """Raise BadOption if a field is invalid; fill in the options of the game."""
        super().__post_init__()
        check_integer("n_steps", self.n_steps, 1, checked.MAX_SAMPLES // self.boards)

    def check(self, resume: bool) -> None:
        """Raise an error for players, reward shaping or initial weights that do not fit the game.

        Raises BadOption for a player, UnknownOption for reward shaping without an evaluation, and
        BadCheckpoint for initial weights.
        """
        super().check(resume)
        make_players(self.pool.names, self.make_game())
        if self.shaping or self.last_shaping:
            self.make_game().evaluation()
        if not resume:
            initial_network(self.start, self.make_game(), self.network)


class Training(BaseTraining[Config]):
    """A run in progress; its steps are decisions of the learner."""

    algorithm = "ppo"

    def __init__(self, config: Config, run: Run) -> None:
        """Start a run, or resume it from its newest checkpoint.

        Raises BadCheckpoint if the checkpoint does not fit this run.
        """
        super().__init__(config, run)
        start = config.start if run.checkpoints.newest is None else None
        self.network = initial_network(start, self.game, config.network)
        # PPO does not learn from images, but its initial network may have done so.
        self.mirrored = bool(start and load_evaluator(resolve_weights(start), self.game).mirrored)
        divide_logits(self.network, config.start_temperature)
        self.pool = LearningOpponents(self.game, self.network, config.pool, config.device)
        self.env = selfplay_env.SelfPlayEnv(
            self.game,
            config.boards,
            self.pool.opponents,
            max_opening_turns=config.max_opening_turns,
            seed=config.seed,
            gamma=config.gamma,
            contempt=config.contempt,
            threads=config.threads,
        )
        self.ppo = OverlappedPPO(self.make_ppo, self.network)
        if start:
            self.pool.add_snapshot(self.network)
            self.save_best(self.network, {})
        run.restore(self.load)

    def make_ppo(self, algorithm_class: type[MaskablePPO], network: Network) -> MaskablePPO:
        """Return an instance of a MaskablePPO class for a network."""
        config = self.config
        return algorithm_class(
            Policy,
            self.env,
            learning_rate=lambda _: self.run.interpolate(
                config.learning_rate, config.last_learning_rate
            ),
            n_steps=config.n_steps,
            batch_size=config.batch_size,
            n_epochs=config.n_epochs,
            gamma=config.gamma,
            gae_lambda=config.gae_lambda,
            clip_range=config.clip_range,
            ent_coef=config.ent_coef,
            policy_kwargs={"network": network},
            device=select_device(config.device),
        )

    def step(self) -> dict[str, float]:
        """Collect a rollout and learn from the previous one; return the metrics."""
        self.seed()
        evaluator = Evaluator(self.network, self.config.device)
        self.pool.set_current_evaluator(evaluator)
        self.ppo.learner.ent_coef = self.run.interpolate(
            self.config.ent_coef, self.config.last_ent_coef
        )
        self.env.shaping = self.run.interpolate(self.config.shaping, self.config.last_shaping)
        before = self.env.seconds
        start = time.perf_counter()
        play_seconds, learn_seconds = self.ppo.update(evaluator)
        state.check_finite(self.network)
        elapsed = time.perf_counter() - start
        parts = {name: total - before[name] for name, total in self.env.seconds.items()}
        parts |= {"acting": play_seconds - sum(parts.values()), "learning": learn_seconds}
        scores = self.pool.take_scores()
        metrics = {
            name.replace("policy_gradient", "policy"): value
            for name, value in self.ppo.metrics().items()
            if name not in OMITTED_METRICS
        }
        decisions = self.config.boards * self.config.n_steps
        self.run.advance(decisions)
        return {
            "steps_per_second": decisions / elapsed,
            **{f"{name}_share": seconds / elapsed for name, seconds in parts.items()},
            **metrics,
            **{f"learning against {name}": score for name, score in scores.items()},
        }

    def close(self) -> None:
        """Stop the threads of the environment."""
        self.env.close()

    def seed(self) -> None:
        """Seed all generators of an update: NumPy's for learning, torch's for acting."""
        learning_seed, acting_seed = self.run.seeds(2)
        np.random.seed(learning_seed)
        torch.manual_seed(acting_seed)

    def evaluate(self) -> dict[str, float]:
        """Evaluate the network; if it is promoted, add it to the pool. Return the scores."""
        scores, is_promoted = self.evaluate_and_promote(self.network, self.pool.newest_network)
        if is_promoted:
            self.pool.add_snapshot(self.network)
        return {**scores, "snapshots_taken": self.pool.snapshots_taken}

    def state(self) -> State:
        """Return the content of a checkpoint."""
        arrays = state.to_arrays(**self.parts()) | self.ppo.state() | selfplay_env.state(self.env)
        arrays[SCORES] = self.pool.running_scores.copy()
        return arrays, {
            "snapshots_taken": self.pool.snapshots_taken,
            "mirrored": int(self.mirrored),
        }

    def load(self, checkpoint: Checkpoint) -> None:
        """Restore a checkpoint; raise BadCheckpoint if it does not fit this run."""
        arrays, about = checkpoint.arrays, checkpoint.about
        snapshots_taken = state.read_integer(about, "snapshots_taken")
        mirrored = state.read_integer(about, "mirrored", 1)
        scores = checked_array(arrays, SCORES, self.pool.running_scores.shape, np.float64)
        if not ((scores >= 0) & (scores <= 1)).all():
            raise BadCheckpoint(f"{SCORES} is {scores.tolist()}; expected: numbers from 0 to 1")
        tensors = state.read(arrays, **self.parts())
        rollout = self.ppo.read_rollout(arrays)
        selfplay_env.load(self.env, arrays)
        self.mirrored = bool(mirrored)
        state.assign(tensors, **self.parts())
        self.pool.restore(snapshots_taken, scores)
        self.ppo.restore(rollout, self.env.boards.observations.copy(), self.env.lengths == 0)

    def parts(self) -> Mapping[str, nn.Module | Optimizer]:
        """Return the networks and the optimizer by name."""
        snapshots = {f"snapshot {n}": network for n, network in enumerate(self.pool.networks)}
        return {
            "network": self.network,
            "optimizer": self.ppo.learner.policy.optimizer,
            **snapshots,
        }

    def charts(self) -> dict[str, list[str]]:
        """Return the algorithm's charts in curves.png: columns of the log by title."""
        opponents = [ITSELF, SNAPSHOTS, *self.config.pool.names]
        parts = "learning", "acting", "opponents", "boards"
        return {
            "score while learning": [f"learning against {name}" for name in opponents],
            "loss": ["policy_loss", "value_loss"],
            "learning": ["approx_kl", "clip_fraction", "explained_variance"],
            "steps per second": ["steps_per_second"],
            "fractions of the time": [f"{part}_share" for part in parts],
            "entropy loss": ["entropy_loss"],
        }

    def status(self, newest: Mapping[str, float]) -> str:
        """Return the status for the progress bar."""
        speed, learning = newest["steps_per_second"], newest["learning_share"]
        return f"{newest['step']:,} steps, {speed:,.0f}/s, {learning:.0%} of the time learning"


def divide_logits(network: Network, temperature: float) -> None:
    """Divide the logits of a network by a temperature, in place."""
    with torch.no_grad():
        for parameter in (*network.keys.parameters(), *network.view.parameters()):
            # A logit is the product of a query, in the first half of the outputs, and a key.
            parameter[: network.size.keys] /= temperature


main = partial(train, Training)
app = command_line.training_command(
    "ppo",
    main,
    Config,
    "Train a policy by MaskablePPO against a pool, by default for 30 minutes.",
    {
        "steps": "Number of decisions of the learner.",
        "start": "Run or file with weights to start from.",
        "network.blocks": "Residual blocks of the network.",
        "network.channels": "Channels of the network.",
    },
)
