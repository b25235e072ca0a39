"""python -m training.ppo: MaskablePPO against a pool of opponents, snapshots of itself among them.

Schulman et al., "Proximal policy optimization algorithms", 2017, with illegal actions masked (Huang
and Ontañón, 2020), by sb3-contrib. The learner plays both seats on many boards. The opponent of a
game is drawn from a pool: the present learner, a snapshot of it, or a player by name. At intervals
the greedy policy plays rivals and the newest snapshot in the arena. If it reaches the score `gate`
against the snapshot, it becomes the newest snapshot itself, and `best.safetensors`.

The same seed gives the same run, even if it is interrupted and continued, if the run is limited by
steps, not minutes, no player is limited by seconds, no player in the pool keeps state between
decisions (as `policy`, `alphazero` and `memory` do), and the machine computes the same.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO

from agents.network import Network, Size, device_of
from cc_env.cli.application import run as run_command
from training.arena import try_players
from training.ppo import selfplay_env
from training.ppo.masked_policy import Policy
from training.ppo.opponent_pool import ITSELF, SNAPSHOTS, Pool, PoolSettings
from training.ppo.overlapped import PlayAndLearn
from training.runs import command_line, state, training_run
from training.runs.checkpoints import Saved
from training.runs.config import check_between, check_wholes
from training.runs.log import Row
from training.selfplay import promotion
from training.selfplay.promotion import Rivals, challenge

MAY_DIFFER = "minutes", "steps", "device"  # when a run is continued
AS_PLAYED: dict[str, Any] = {"mirrored": False, "contempt": 0.0}  # options of the player `ppo`
LOGGED = {  # names of MaskablePPO: names in the log
    "policy_gradient_loss": "policy_loss",
    "value_loss": "value_loss",
    "approx_kl": "approx_kl",
    "clip_fraction": "clip_fraction",
    "explained_variance": "explained_variance",
    "entropy_loss": "entropy_loss",
    "learning_rate": "learning_rate",
}


@dataclass(frozen=True, kw_only=True)
class Config(training_run.Config):
    """The settings of a run."""

    steps: int | None = None  # limit of the learner's decisions; None: no limit
    network: Size = field(default_factory=lambda: Size(blocks=2, channels=32, keys=16))
    boards: int = 512  # games at once
    n_steps: int = 32  # decisions per board between updates
    batch_size: int = 1024  # decisions in a gradient step
    n_epochs: int = 2  # passes over each rollout
    learning_rate: float = 3e-3  # at the start; linear schedule
    last_learning_rate: float = 1e-4  # at the end of the schedule
    gamma: float = 0.99  # discount from one decision of the learner to the next
    gae_lambda: float = 0.95  # of generalised advantage estimation
    clip_range: float = 0.2  # of the ratio between new and old probabilities
    ent_coef: float = 0.01  # weight of the entropy bonus at the start; linear schedule
    last_ent_coef: float = 0.001  # at the end of the schedule
    opening_turns: int = 6  # most random turns at the start of a game, drawn from 0
    pool: PoolSettings = field(default_factory=PoolSettings)
    evaluate_every: int = 1_000_000  # steps between evaluations
    rivals: Rivals = field(default_factory=Rivals)
    gate: float = 0.45  # least score against the newest snapshot to become one

    def __post_init__(self) -> None:
        """Check the fields, and fill in the options of the game."""
        super().__post_init__()
        check_wholes(self, boards=1, n_steps=1, batch_size=1, n_epochs=1, evaluate_every=1)
        check_wholes(self, opening_turns=0)
        check_between(self, 0, 1, "learning_rate", "last_learning_rate", "gamma", "gae_lambda")
        check_between(self, 0, 1, "clip_range", "ent_coef", "last_ent_coef", "gate")


def main(config: Config, path: Path, resume: bool = False) -> Row:
    """Train in a folder, with a progress bar; return the last row of the log.

    Raises as `runs.opened` and `runs.Run.steps`, and OSError if the disk is full.
    """
    torch.set_num_threads(1)
    try_players((*config.pool.names, *config.rivals.names), config.make_game())
    with training_run.opened(path, asdict(config), resume, MAY_DIFFER) as run:
        Training(config, run).train()
    return run.rows[-1]


class Training:
    """A run in progress."""

    def __init__(self, config: Config, run: training_run.Run) -> None:
        """Begin a run, or continue it from its newest checkpoint."""
        self.config, self.run, self.game = config, run, config.make_game()
        torch.manual_seed(config.seed)
        self.network = Network(self.game, config.network)
        self.pool = Pool(self.game, self.network, config.pool, config.device)
        opponents = self.pool.opponents
        self.env = selfplay_env.make(
            self.game, config.boards, opponents, config.opening_turns, config.seed
        )
        self.ppo = PlayAndLearn(self.make_ppo, self.network)
        run.restore(self.load)

    def make_ppo(self, kind: type[MaskablePPO], network: Network) -> MaskablePPO:
        """Return the algorithm for a network."""
        config = self.config
        return kind(
            Policy,
            self.env,
            learning_rate=lambda _: self.now(config.learning_rate, config.last_learning_rate),
            n_steps=config.n_steps,
            batch_size=config.batch_size,
            n_epochs=config.n_epochs,
            gamma=config.gamma,
            gae_lambda=config.gae_lambda,
            clip_range=config.clip_range,
            ent_coef=config.ent_coef,
            policy_kwargs={"network": network},
            device=device_of(config.device),
        )

    def now(self, first: float, last: float) -> float:
        """Return the present value of a linear schedule."""
        return first + self.run.progress() * (last - first)

    def train(self) -> None:
        """Train to the end; a step is a decision of the learner."""
        run, config = self.run, self.config
        for _ in run.steps(self.state, config.evaluate_every, charts(config), status):
            numbers = self.improve()
            run.advance(config.boards * config.n_steps)
            if run.is_due:
                numbers |= self.evaluate()
            run.log(numbers)

    def improve(self) -> dict[str, float]:
        """Play and learn once; return the numbers to log."""
        self.seed()
        self.pool.follow(self.network)
        self.ppo.learner.ent_coef = self.now(self.config.ent_coef, self.config.last_ent_coef)
        before, began = self.env.seconds, time.perf_counter()
        played, learned = self.ppo.improve()
        state.check_finite(self.network)
        spent = time.perf_counter() - began
        shares = {name: now - before[name] for name, now in self.env.seconds.items()}
        shares |= {"acting": played - sum(shares.values()), "learning": learned}
        scores = self.pool.take_scores()
        return {
            "steps_per_second": self.config.boards * self.config.n_steps / spent,
            **{f"{name}_share": seconds / spent for name, seconds in shares.items()},
            **{LOGGED[name]: value for name, value in self.ppo.numbers().items() if name in LOGGED},
            **{f"learning against {name}": score for name, score in scores.items()},
        }

    def seed(self) -> None:
        """Seed all generators of an update from the seed and the number of steps."""
        drawn = self.run.seeds(3)
        np.random.seed(drawn[0])  # used by learning
        torch.manual_seed(drawn[1])  # used by playing
        self.env.rng = np.random.default_rng(drawn[2])

    def evaluate(self) -> dict[str, float]:
        """Play the network against rivals and the newest snapshot; add it if it reaches `gate`."""
        newest = self.pool.newest
        scores, wins = challenge("ppo", self.network, newest, self.run, self.config, **AS_PLAYED)
        if wins:
            self.pool.join(self.network)
        return {**scores, "joined": self.pool.joined}

    def state(self) -> training_run.State:
        """Return what a checkpoint holds."""
        arrays = state.flat(**self.parts()) | self.ppo.state() | selfplay_env.state(self.env)
        return arrays, {"joined": self.pool.joined}

    def load(self, saved: Saved) -> None:
        """Continue from a checkpoint; raise BadCheckpoint if it does not fit this run."""
        self.pool.joined = state.whole(saved.about, "joined")
        state.load(saved.arrays, **self.parts())
        self.ppo.load(saved.arrays)
        selfplay_env.load(self.env, saved.arrays)
        self.pool.renew()
        self.ppo.player._last_obs = self.env.boards.observations.copy()  # restored, without a reset
        self.ppo.player._last_episode_starts = self.env.lengths == 0

    def parts(self) -> dict[str, Any]:
        """Return the networks and the optimizer, by name."""
        snapshots = {f"snapshot {n}": network for n, network in enumerate(self.pool.networks)}
        return {
            "network": self.network,
            "optimizer": self.ppo.learner.policy.optimizer,
            **snapshots,
        }


def charts(config: Config) -> dict[str, list[str]]:
    """Return the charts of curves.png: title and columns of the log."""
    against = [ITSELF, SNAPSHOTS, *config.pool.names]
    return {
        **promotion.charts(config.make_game(), config.rivals),
        "score while learning": [f"learning against {name}" for name in against],
        "loss": ["policy_loss", "value_loss"],
        "learning": ["approx_kl", "clip_fraction", "explained_variance"],
        "steps a second": ["steps_per_second"],
        "shares of the time": [f"{n}_share" for n in ("learning", "acting", "opponents", "boards")],
        "entropy loss": ["entropy_loss"],
    }


def status(newest: Mapping[str, float]) -> str:
    """Return the state of training in a few words."""
    speed, learning = newest["steps_per_second"], newest["learning_share"]
    elo = f", Elo {newest['elo']:+.0f}" if "elo" in newest else ""
    return f"{newest['step']:,} steps, {speed:,.0f}/s, {learning:.0%} of it learning{elo}"


app = command_line.command(
    "ppo",
    main,
    Config,
    "Train a policy by MaskablePPO against a pool, by default for 30 minutes.",
    {
        "steps": "Number of decisions of the learner.",
        "network.blocks": "Residual blocks of the network.",
        "network.channels": "Channels of the network.",
    },
)


def command() -> int:
    """Run the command line; return the exit status, 2 for bad input."""
    return run_command(app)
