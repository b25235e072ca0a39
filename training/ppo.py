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

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from sb3_contrib import MaskablePPO

from agents import NETWORK
from agents.network import Network, Size, device_of, save
from cc_env import games
from cc_env.commands import Pairs, game_options, run
from cc_env.commands import Size as BoardSize
from cc_env.game import Game
from cc_env.terminal import application
from training import cli, runs, selfplay_env, state
from training.arena import try_players
from training.config import check_between, check_limits, check_wholes, share_done
from training.gate import BEST, Rivals, meet
from training.masked_policy import Policy
from training.overlapped import PlayAndLearn
from training.pool import ITSELF, SNAPSHOTS, Pool, PoolSettings

MAY_DIFFER = "minutes", "steps", "device"  # when a run is continued
AS_PLAYED = {"mirrored": False, "contempt": 0.0}  # options of the player `ppo`
LOGGED = {  # names of MaskablePPO: names in the log
    "policy_gradient_loss": "policy_loss",
    "value_loss": "value_loss",
    "approx_kl": "approx_kl",
    "clip_fraction": "clip_fraction",
    "explained_variance": "explained_variance",
    "entropy_loss": "entropy_loss",
    "learning_rate": "learning_rate",
}

app = application()


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of a run."""

    game: str = "capture_conquer"
    options: Mapping[str, Any] = field(
        default_factory=dict
    )  # of the game; missing ones are filled in
    minutes: float | None = 30  # time budget, earlier sessions included; None: no limit
    steps: int | None = None  # limit of the learner's decisions; None: no limit
    seed: int = 0
    device: str = "cpu"
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
        check_limits(minutes=self.minutes, steps=self.steps)
        check_wholes(self, boards=1, n_steps=1, batch_size=1, n_epochs=1, evaluate_every=1)
        check_wholes(self, seed=0, opening_turns=0)
        check_between(
            self,
            0,
            1,
            "learning_rate",
            "last_learning_rate",
            "gamma",
            "gae_lambda",
            "clip_range",
            "gate",
        )
        check_between(self, 0, 1, "ent_coef", "last_ent_coef")
        device_of(self.device)
        object.__setattr__(self, "options", dict(self.make_game().options))

    def make_game(self) -> Game:
        """Return the game."""
        return games.make(self.game, **self.options)


class Training:
    """A run in progress."""

    def __init__(self, config: Config, run: runs.Run) -> None:
        """Begin a run, or continue it from its newest checkpoint."""
        self.config, self.run, self.game = config, run, config.make_game()
        self.steps, self.seconds, self.elo = 0, 0.0, 0.0
        torch.manual_seed(config.seed)
        self.network = Network(self.game, config.network)
        self.pool = Pool(self.game, self.network, config.pool, config.device)
        opponents = self.pool.opponents
        self.env = selfplay_env.make(
            self.game, config.boards, opponents, config.opening_turns, config.seed
        )
        self.ppo = PlayAndLearn(self._ppo, self.network)
        run.restore(self._load)
        self._saved_at = self.seconds

    def _ppo(self, kind: type[MaskablePPO], network: Network) -> MaskablePPO:
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

    def progress(self) -> float:
        """Return the share of the run that is done, 0 to 1."""
        config = self.config
        return share_done((self.seconds / 60, config.minutes), (self.steps, config.steps))

    def now(self, first: float, last: float) -> float:
        """Return the present value of a linear schedule."""
        return first + self.progress() * (last - first)

    def go(self) -> Iterator[None]:
        """Train to the end; yield after each update; evaluate and save at intervals."""
        every = self.config.evaluate_every
        while self.progress() < 1:
            began, before = time.perf_counter(), self.steps
            numbers = self._improve()
            self.seconds += time.perf_counter() - began
            is_due = self.steps // every > before // every or self.progress() == 1
            if is_due:
                began = time.perf_counter()
                numbers |= self._evaluate()
                self.seconds += time.perf_counter() - began
            self.run.log(self.steps, {**numbers, "minutes": self.seconds / 60})
            if is_due or self.seconds - self._saved_at > runs.SAVE_EVERY:
                self.save()
            yield

    def _improve(self) -> dict[str, float]:
        """Play and learn once; return the numbers to log."""
        self._seed()
        self.pool.follow(self.network)
        self.ppo.learner.ent_coef = self.now(self.config.ent_coef, self.config.last_ent_coef)
        before, began = self.env.seconds, time.perf_counter()
        played, learned = self.ppo.improve()
        state.check_finite(self.network)
        spent = time.perf_counter() - began
        self.steps += self.config.boards * self.config.n_steps
        shares = {name: now - before[name] for name, now in self.env.seconds.items()}
        shares |= {"acting": played - sum(shares.values()), "learning": learned}
        scores = self.pool.take_scores()
        return {
            "steps_per_second": self.config.boards * self.config.n_steps / spent,
            **{f"{name}_share": seconds / spent for name, seconds in shares.items()},
            **{LOGGED[name]: value for name, value in self.ppo.numbers().items() if name in LOGGED},
            **{f"learning against {name}": score for name, score in scores.items()},
        }

    def _seed(self) -> None:
        """Seed all generators of an update from the seed and the number of steps."""
        drawn = np.random.SeedSequence((self.config.seed, self.steps)).generate_state(3)
        np.random.seed(drawn[0])  # used by learning
        torch.manual_seed(int(drawn[1]))  # used by playing
        self.env.rng = np.random.default_rng(drawn[2])

    def _evaluate(self) -> dict[str, float]:
        """Play the network against rivals and the newest snapshot; add it if it reaches `gate`."""
        best = self.pool.newest
        scores = meet(self.game, self.network, best, self.config.rivals, self.steps, **AS_PLAYED)
        if best is None or scores[BEST] >= self.config.gate:
            self.elo = scores["elo"]
            self.pool.join(self.network)
            about = {"trained": "ppo", "config": asdict(self.config), "steps": self.steps, **scores}
            save(self.run.path / NETWORK, self.network, self.game, about)
        return {**scores, "joined": self.pool.joined}

    def save(self) -> None:
        """Write a checkpoint and draw the curves."""
        arrays = state.flat(**self._parts()) | self.ppo.state() | selfplay_env.state(self.env)
        about = {"seconds": self.seconds, "elo": self.elo, "joined": self.pool.joined}
        self.run.checkpoint(self.steps, arrays, about)
        self._saved_at = self.seconds
        self.run.draw(charts(self.config))

    def _load(self, saved: runs.Saved) -> None:
        """Continue from a checkpoint; raise BadCheckpoint if it does not fit this run."""
        self.steps, self.pool.joined = saved.number, state.whole(saved.about, "joined")
        self.seconds, self.elo = (state.number(saved.about, name) for name in ("seconds", "elo"))
        state.load(saved.arrays, **self._parts())
        self.ppo.load(saved.arrays)
        selfplay_env.load(self.env, saved.arrays)
        self.pool.renew()
        self.ppo.player._last_obs = self.env.boards.observations.copy()  # restored, without a reset
        self.ppo.player._last_episode_starts = self.env.lengths == 0

    def _parts(self) -> dict[str, Any]:
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
        "score of the policy against": [*config.rivals.names, BEST],
        f"Elo; {config.rivals.anchor} has 0": ["elo"],
        "score while learning": [f"learning against {name}" for name in against],
        "loss": ["policy_loss", "value_loss"],
        "learning": ["approx_kl", "clip_fraction", "explained_variance"],
        "steps a second": ["steps_per_second"],
        "shares of the time": [f"{n}_share" for n in ("learning", "acting", "opponents", "boards")],
        "entropy loss": ["entropy_loss"],
    }


def main(config: Config, path: Path, resume: bool = False) -> dict[str, Any]:
    """Train in a folder, with a progress bar; return the last row of the log.

    Ctrl-C finishes the update, saves a checkpoint and raises KeyboardInterrupt. Raises as
    `runs.opened`, and OSError if the disk is full.
    """
    torch.set_num_threads(1)
    try_players((*config.pool.names, *config.rivals.names), config.make_game())
    with runs.opened(path, asdict(config), resume, MAY_DIFFER) as run, cli.interrupts() as pressed:
        training = Training(config, run)
        cli.say_if_finished(training.progress())
        with cli.progress() as show:
            for _ in training.go():
                status = _status(run.rows[-1], training.elo)
                show(training.progress(), status)
                if pressed():
                    training.save()
                    raise KeyboardInterrupt
    return run.rows[-1] if run.rows else {}


def _status(row: Mapping[str, float], elo: float) -> str:
    """Return the state of training in a few words."""
    speed, learning = row["steps_per_second"], row["learning_share"]
    return f"{row['step']:,} steps, {speed:,.0f}/s, {learning:.0%} of it learning, Elo {elo:+.0f}"


@app.command()
def train(
    game: cli.GameName = None,
    size: BoardSize = None,
    option: Pairs = None,
    minutes: cli.Minutes = None,
    steps: Annotated[int | None, typer.Option(help="Number of decisions of the learner.")] = None,
    seed: cli.Seed = None,
    blocks: cli.Blocks = None,
    channels: cli.Channels = None,
    device: cli.Device = None,
    change: cli.Change = None,
    name: cli.Name = None,
    resume: cli.Resume = False,
) -> None:
    """Train a policy by MaskablePPO against a pool, by default for 30 minutes."""
    typed = {
        "game": game,
        "options": game_options(option, size),
        "steps": steps,
        "minutes": minutes,
        "seed": seed,
        "network.blocks": blocks,
        "network.channels": channels,
        "device": device,
    }
    cli.conduct("ppo", main, Config, typed, change, name, resume)


def command() -> int:
    """Run the command line; return the exit status, 2 for bad input."""
    return run(app)


if __name__ == "__main__":
    sys.exit(command())
