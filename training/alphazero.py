"""python -m training.alphazero: AlphaZero, self-play guided by tree search.

Silver et al., "A general reinforcement learning algorithm that masters chess, shogi and Go through
self-play", 2018; action selection at the root by Danihelka et al., "Policy improvement by planning
with Gumbel", 2022. A first example of an algorithm is docs/tutorials/reinforce.py, in one file.

One round, in the order of its files:

    training/alphazero.py         Training.step: start self-play in threads, learn meanwhile
    selfplay/worker.py            SelfPlayWorker.play: decide on many boards, in some games against
                                  opponents; `_finish` makes the samples of a game
    cc_env/search/puct.py         tree searches of all boards, by the functions of simulations.py
    agents/evaluator.py           the network evaluates their leaves together
    selfplay/replay_buffer.py     stores samples, and draws some of them in random symmetries
    selfplay/learner.py           gradient steps on samples of earlier rounds
    selfplay/training.py          every few rounds: evaluation, and promotion of a better network
    runs/training_run.py          the log and the checkpoint of the round

The boards and the opponents are those of the environments, cc_env/envs/boards.py and opponents.py.
The workers play with the newest network, against itself and in a fraction of the games against
other players. For evaluation the network plays without search. If its score against the best
network is at least `gate`, it is promoted to `best.safetensors`.

The same seed gives the same run on the same machine if the run is limited by rounds, not minutes,
and the workers are threads. A resumed run starts new games; unfinished ones are lost.
"""

import sys
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated

from agents.evaluator import Evaluator
from agents.network import Network
from cc_env.cli.application import run as run_command
from cc_env.core.game import Game
from cc_env.processes import MAX_WORKERS
from training.parallel.tasks import check_engine
from training.runs import checked, command_line
from training.runs.training_run import Run
from training.selfplay.learner import NetworkConfig, NetworkTraining
from training.selfplay.replay_buffer import Samples
from training.selfplay.training import train
from training.selfplay.worker import PlayedSamples, SelfPlaySettings, SelfPlayTally, SelfPlayWorker

if TYPE_CHECKING:
    from training.selfplay.actors import ClusterEngine


ENGINES = "threads", "ray"


@dataclass(frozen=True, kw_only=True)
class Config(NetworkConfig):
    """The settings of a run; with the engine "threads", `device` also evaluates self-play."""

    minutes: float | None = 90
    play: SelfPlaySettings = field(default_factory=SelfPlaySettings)
    # Number of self-play workers, each with its own boards.
    workers: Annotated[int, checked.integers(1, MAX_WORKERS)] = 2
    # "threads", or "ray" for a cluster.
    engine: str = "threads"
    # Decisions per board and round.
    decisions: checked.Samples = 16
    replay: checked.Samples = 600_000
    # Number of samples before learning starts.
    warm_up: checked.Count = 8_000
    # Batches come from this fraction of all samples, the newest, but at least `least_window`.
    window: checked.Fraction = 0.5
    least_window: checked.Count = 50_000
    replay_ratio: Annotated[float, checked.numbers(0, 1000)] = 4
    evaluate_every: checked.Count = 40

    def __post_init__(self) -> None:
        """Raise BadOption if a field is invalid; fill in the options of the game."""
        super().__post_init__()
        check_engine(self.engine, ENGINES)

    def check(self, resume: bool) -> None:
        """Raise BadOption for a player, BadCheckpoint for initial weights that do not fit."""
        super().check(resume)
        self.play.make_opponents(self.make_game())


class Training(NetworkTraining[Config]):
    """A run in progress; its steps are rounds."""

    algorithm = "alphazero"

    def __init__(self, config: Config, run: Run) -> None:
        """Start a run, or resume it from its newest checkpoint.

        Raises BadCheckpoint if the checkpoint does not fit this run.
        """
        super().__init__(config, run)
        run.restore(self.load)
        self.engine = self.make_engine((config.seed, 2, run.step))

    def make_engine(self, seed: tuple[int, ...]) -> "ThreadEngine | ClusterEngine":
        """Return the workers; raise BadOption if the cluster is unreachable."""
        config = self.config
        if config.engine == "threads":
            return ThreadEngine(self.game, config.play, config.workers, seed, config.device)
        # Imported late: Ray is an extra.
        from training.selfplay.actors import ClusterEngine

        return ClusterEngine(self.game, config.play, config.workers, seed)

    def close(self) -> None:
        """Stop the workers."""
        self.engine.close()

    def step(self) -> dict[str, float]:
        """Run self-play and learning concurrently; return the metrics."""
        start = time.perf_counter()
        config = self.config
        simulations = config.play.simulations_at(self.run.progress())
        self.engine.start(self.learner.average, config.decisions, simulations)
        losses = self.learn()
        results = self.engine.finish()
        for samples, _ in results:
            self.replay.add(samples)
        tally = sum((tally for _, tally in results), SelfPlayTally())
        play_metrics = tally.metrics(time.perf_counter() - start)
        self.run.advance()
        return {**losses, **play_metrics, "samples": self.replay.added, "simulations": simulations}

    def learn(self) -> dict[str, float]:
        """Learn from samples of earlier rounds; return the metrics, {} before `warm_up` samples."""
        config = self.config
        if self.replay.added < config.warm_up:
            return {}
        newest = max(config.least_window, round(config.window * self.replay.added))
        return self.fit(config.workers * config.play.boards * config.decisions, newest)

    def charts(self) -> dict[str, list[str]]:
        """Return the algorithm's charts in curves.png: columns of the log by title."""
        return {
            "score of self-play against its opponents": ["opponents"],
            "loss": ["policy_loss", "value_loss"],
            "self-play decisions per second": ["decisions_per_second"],
            "fractions of the workers' time": ["network_share", "search_share"],
            "self-play games, percent": ["draws_percent", "first_wins_percent"],
        }

    def status(self, newest: Mapping[str, float]) -> str:
        """Return the status for the progress bar."""
        words = [f"round {newest['step']}", f"{newest['decisions_per_second']:,.0f} decisions/s"]
        if "policy_loss" in newest:
            words.append(f"loss {newest['policy_loss']:.2f} + {newest['value_loss']:.2f}")
        return ", ".join(words)


class ThreadEngine:
    """Self-play workers in threads of this process; search and network release the GIL."""

    def __init__(
        self,
        game: Game,
        settings: SelfPlaySettings,
        workers: int,
        seed: tuple[int, ...],
        device: str = "cpu",
    ) -> None:
        """Start the games; each worker has its own seed."""
        self._device = device
        self._workers = [SelfPlayWorker(game, settings, (*seed, n)) for n in range(workers)]
        self._pool = ThreadPoolExecutor(workers)
        self._futures: list[Future[tuple[Samples, SelfPlayTally]]] = []

    def start(self, network: Network, decisions: int, simulations: int | None = None) -> None:
        """Start self-play with this network in all threads: `decisions` on each board."""
        evaluate = Evaluator(network, self._device).unchecked
        self._futures = [
            self._pool.submit(worker.play, evaluate, decisions, simulations)
            for worker in self._workers
        ]

    def finish(self) -> PlayedSamples:
        """Wait for the self-play of `start`; return each worker's samples and tally."""
        return [future.result() for future in self._futures]

    def close(self) -> None:
        """Stop the threads after their current decisions, and wait for them."""
        for worker in self._workers:
            worker.stop()
        self._pool.shutdown()


main = partial(train, Training)
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
