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
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer

from agents import NETWORK
from agents.network import Network, Size, device_of, save
from cc_env import games
from cc_env.commands import Pairs, game_options, run
from cc_env.commands import Size as BoardSize
from cc_env.errors import BadCheckpoint
from cc_env.game import Game
from cc_env.terminal import application
from training import cli, engines, learner, runs, selfplay, state
from training.arena import try_players
from training.config import check_between, check_limits, check_wholes, share_done
from training.engines import Engine
from training.gate import BEST, Rivals, meet
from training.learner import Learner
from training.replay import Replay
from training.selfplay import Tally

MAY_DIFFER = "minutes", "rounds", "workers", "engine", "device"  # when a run is continued

app = application()


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of a run."""

    game: str = "capture_conquer"
    options: Mapping[str, Any] = field(
        default_factory=dict
    )  # of the game; missing ones are filled in
    minutes: float | None = 90  # time budget, earlier sessions included; None: no limit
    rounds: int | None = None  # limit of rounds; None: no limit
    seed: int = 0
    device: str = "cpu"  # that learns; threads also evaluate on it
    network: Size = field(default_factory=Size)
    play: selfplay.SelfPlaySettings = field(default_factory=selfplay.SelfPlaySettings)
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
        check_limits(minutes=self.minutes, rounds=self.rounds)
        check_wholes(self, seed=0, workers=1, decisions=1, replay=1, warm_up=1, least_window=1)
        check_wholes(self, evaluate_every=1)
        check_between(self, 0, 1, "window", "gate")
        check_between(self, 0, 1000, "replay_ratio")
        device_of(self.device)
        engines.check(self.engine)
        object.__setattr__(self, "options", dict(self.make_game().options))

    def make_game(self) -> Game:
        """Return the game."""
        return games.make(self.game, **self.options)


class Training:
    """A run in progress."""

    def __init__(self, config: Config, run: runs.Run) -> None:
        """Begin a run, or continue it from its newest checkpoint."""
        self.config, self.run, self.game = config, run, config.make_game()
        torch.manual_seed(config.seed)
        network = Network(self.game, config.network)
        self.learner = Learner(network, config.learn, device_of(config.device))
        self.replay = Replay(self.game, config.replay)
        self.rng = np.random.default_rng((config.seed, 1))
        self.round, self.seconds = 0, 0.0
        self.best: Network | None = None
        run.restore(self._load)
        self._saved, self._saved_at = self.round, self.seconds
        seed = config.seed, 2, self.round
        self.engine: Engine = engines.make(
            config.engine, self.game, config.play, config.workers, seed, config.device
        )

    def progress(self) -> float:
        """Return the share of the run that is done, 0 to 1."""
        config = self.config
        return share_done((self.seconds / 60, config.minutes), (self.round, config.rounds))

    def close(self) -> None:
        """Stop the workers."""
        self.engine.close()

    def go(self) -> Iterator[dict[str, float]]:
        """Train to the end; yield the numbers logged for each round."""
        while self.progress() < 1 or self.best is None:
            began = time.perf_counter()
            before = self.seconds
            simulations = self.config.play.simulations_at(self.progress())
            self.engine.start(self.learner.average, self.config.decisions, simulations)
            numbers = self._learn()
            results = self.engine.finish()
            for samples, _ in results:
                self.replay.add(samples)
            self.round += 1
            tally = sum((tally for _, tally in results), Tally())
            numbers |= _self_play_numbers(tally, time.perf_counter() - began)
            self.seconds = before + time.perf_counter() - began
            if self.round % self.config.evaluate_every == 0 or self.progress() == 1:
                numbers |= self._evaluate()
                self.seconds = before + time.perf_counter() - began
            numbers |= {"minutes": self.seconds / 60, "samples": self.replay.added}
            numbers["simulations"] = simulations
            self.run.log(self.round, numbers)
            if "elo" in numbers or self.seconds - self._saved_at > runs.SAVE_EVERY:
                self.save()
            yield numbers

    def _learn(self) -> dict[str, float]:
        """Take the gradient steps of this round, on samples of the rounds before; return losses."""
        config = self.config
        if self.replay.added < config.warm_up:
            return {}
        made = config.workers * config.play.boards * config.decisions
        newest = max(config.least_window, round(config.window * self.replay.added))
        began = time.perf_counter()
        self.learner.slow_down(self.progress())
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

    def _evaluate(self) -> dict[str, float]:
        """Play the newest network against rivals and the best one; save it if it reaches `gate`."""
        newest = Network(self.game, self.config.network)
        newest.load_state_dict(self.learner.average.state_dict())
        scores = meet(self.game, newest, self.best, self.config.rivals, self.round)
        if self.best is None or scores[BEST] >= self.config.gate:
            self.best = newest
            about = {"trained": "alphazero", "round": self.round, "config": asdict(self.config)}
            save(self.run.path / NETWORK, newest, self.game, about)
        return scores

    def save(self) -> None:
        """Write a checkpoint and draw the curves, unless this round is saved already."""
        if self.round == self._saved:
            return
        arrays = state.flat(**self._parts()) | self.replay.state()
        about = {
            "steps": self.learner.steps,
            "added": self.replay.added,
            "seconds": self.seconds,
            "rng": self.rng.bit_generator.state,
        }
        self.run.checkpoint(self.round, arrays, about)
        self._saved, self._saved_at = self.round, self.seconds
        self.run.draw(charts(self.config))

    def _load(self, saved: runs.Saved) -> None:
        """Continue from a checkpoint; raise BadCheckpoint if it does not fit this run."""
        about = saved.about
        self.round, self.seconds = saved.number, state.number(about, "seconds")
        self.learner.steps = state.whole(about, "steps")
        try:
            self.rng.bit_generator.state = about["rng"]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise BadCheckpoint(f"rng is not the state of a generator: {error!r:.80}") from None
        if any(name.startswith("best.") for name in saved.arrays):
            self.best = Network(self.game, self.config.network)
        state.load(saved.arrays, **self._parts())
        self.replay.load(saved.arrays, state.whole(about, "added"))

    def _parts(self) -> dict[str, Any]:
        """Return the networks and the optimizer, by name."""
        best = {} if self.best is None else {"best": self.best}
        return {**self.learner.parts(), **best}


def charts(config: Config) -> dict[str, list[str]]:
    """Return the charts of curves.png: title and columns of the log."""
    return {
        "score of the policy against": [*config.rivals.names, BEST],
        "score of self-play against its opponents": ["opponents"],
        f"Elo; {config.rivals.anchor} has 0": ["elo"],
        "loss": ["policy_loss", "value_loss"],
        "decisions of self-play a second": ["decisions_per_second"],
        "shares of the workers' time": ["network_share", "search_share"],
        "games of self-play, percent": ["draws_percent", "first_wins_percent"],
    }


def _self_play_numbers(tally: Tally, seconds: float) -> dict[str, float]:
    """Return the numbers of self-play for the log."""
    games = max(1, tally.games)
    return {
        "games": tally.games,
        "decisions_per_second": tally.decisions / seconds,
        "evaluated_per_second": tally.evaluated / seconds,
        "network_share": tally.network_seconds / tally.seconds,
        "search_share": tally.search_seconds / tally.seconds,
        "turns_per_game": tally.turns / games,
        "draws_percent": 100 * tally.draws / games,
        "first_wins_percent": 100 * tally.first_wins / games,
        **({"opponents": tally.points / tally.met} if tally.met else {}),
    }


def main(config: Config, path: Path, resume: bool = False) -> dict[str, float]:
    """Train in a folder, with a progress bar; return the numbers of the last round.

    Ctrl-C finishes the round, saves a checkpoint and raises KeyboardInterrupt. A second Ctrl-C
    raises it at once; the work since the last checkpoint is lost. Raises as `runs.opened`.
    """
    torch.set_num_threads(1)
    try_players(config.rivals.names, config.make_game())
    with (
        runs.opened(path, asdict(config), resume, MAY_DIFFER) as run,
        closing(Training(config, run)) as training,
        cli.interrupts() as interrupted,
        cli.progress() as show,
    ):
        cli.say_if_finished(training.progress())
        last: dict[str, float] = {}
        for last in training.go():
            status = _status(run.rows)
            show(training.progress(), status)
            if "elo" in last and not cli.console.is_terminal:
                cli.console.print(f"{last['minutes']:.1f} minutes: {status}")
            if interrupted():
                training.save()
                raise KeyboardInterrupt
    return last


def _status(rows: list[dict[str, Any]]) -> str:
    """Return the state of training in a few words."""
    newest = {name: value for row in rows[-200:] for name, value in row.items()}
    words = [f"round {newest['step']}", f"{newest['decisions_per_second']:,.0f} decisions/s"]
    if "policy_loss" in newest:
        words.append(f"loss {newest['policy_loss']:.2f} + {newest['value_loss']:.2f}")
    if "elo" in newest:
        words.append(f"Elo {newest['elo']:+.0f}")
    return ", ".join(words)


@app.command()
def train(
    game: cli.GameName = None,
    size: BoardSize = None,
    option: Pairs = None,
    minutes: cli.Minutes = None,
    rounds: Annotated[int | None, typer.Option(help="Number of rounds.")] = None,
    seed: cli.Seed = None,
    blocks: cli.Blocks = None,
    channels: cli.Channels = None,
    simulations: Annotated[int | None, typer.Option(help="Simulations per decision.")] = None,
    workers: Annotated[int | None, typer.Option(help="Number of workers that play.")] = None,
    engine: Annotated[
        str | None, typer.Option(help="Where workers run: threads, or ray for a cluster.")
    ] = None,
    device: cli.Device = None,
    change: cli.Change = None,
    name: cli.Name = None,
    resume: cli.Resume = False,
) -> None:
    """Train a network by self-play guided by tree search, by default for 90 minutes."""
    typed = {
        "game": game,
        "options": game_options(option, size),
        "rounds": rounds,
        "minutes": minutes,
        "seed": seed,
        "network.blocks": blocks,
        "network.channels": channels,
        "play.simulations": simulations,
        "workers": workers,
        "engine": engine,
        "device": device,
    }
    cli.conduct("alphazero", main, Config, typed, change, name, resume)


def command() -> int:
    """Run the command line; return the exit status, 2 for bad input."""
    return run(app)


if __name__ == "__main__":
    sys.exit(command())
