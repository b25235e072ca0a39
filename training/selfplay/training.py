"""What all training algorithms share: their config, their loop, evaluation and promotion.

In an evaluation the newest network plays matches against other players and the best network. On
boards with a tablebase, the log also has the fraction of its decisions that keep the exact value:
`accuracy` over all test positions, `accuracy_with_choice` over those where an action can be wrong.
The test positions are the same at every evaluation, see `cc_env.accuracy.decisions`.
"""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, ClassVar, Generic, TypeVar

import torch

from agents.evaluator import Evaluator
from agents.network import Network, save
from agents.network_players import PolicyPlayer
from agents.shipped_weights import NETWORK
from cc_env.accuracy.decisions import measure, sample_uniform
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import check_name, check_number_of_games
from cc_env.jit.threads import available_cores
from cc_env.match.referee import Player
from cc_env.tablebase.tablebase import SHIPPED, Tablebase
from training import arena
from training.runs import checked, training_run
from training.runs.checkpoints import Checkpoint
from training.runs.log import Row

NEWEST, BEST = "newest", "best"
TestSet = tuple[Tablebase, tuple[Position, ...]]


@dataclass(frozen=True, kw_only=True)
class EvaluationOpponents:
    """The players that networks are evaluated against, and the test set for accuracy."""

    names: checked.PlayerSpecs = ("random", "minimax:depth=1", "minimax:depth=3")
    # The opponent whose Elo is 0.
    anchor: str = "minimax:depth=3"
    # Games per opponent; even.
    games: int = 40
    # Number of test positions, sampled from a tablebase; 0: no accuracy.
    positions: Annotated[int, checked.integers(0, checked.MAX_EVALUATIONS)] = 500
    # Folder of the tablebase; None: the shipped tables.
    tables: str | None = None

    def __post_init__(self) -> None:
        """Raise BadOption for an invalid player spec, anchor or number."""
        checked.check_fields(self)
        check_name("anchor", self.anchor, self.names)
        check_number_of_games(self.games, checked.MAX_EVALUATIONS)


@dataclass(frozen=True, kw_only=True)
class BaseConfig(training_run.Config):
    """The settings of every algorithm."""

    # Steps of the run between evaluations.
    evaluate_every: checked.Count = 1
    evaluation_opponents: EvaluationOpponents = field(default_factory=EvaluationOpponents)
    # Minimum score against the best network for promotion.
    gate: checked.Fraction = 0.5

    def check(self, resume: bool) -> None:
        """Check the players of a run before it writes anything; raise BadOption for a bad one.

        Subclasses also check files: with `resume`, those that a resumed run needs.
        """
        arena.make_players(self.evaluation_opponents.names, self.make_game())


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
    # The best network so far.
    best: Network | None = None

    def __init__(self, config: AnyConfig, run: training_run.Run) -> None:
        """Seed torch; a subclass creates its networks and then calls `run.restore(self.load)`."""
        self.config, self.run, self.game = config, run, config.make_game()
        torch.manual_seed(config.seed)

    def train(self) -> None:
        """Run training to completion."""
        run, config = self.run, self.config
        charts = evaluation_charts(self.game, config.evaluation_opponents) | self.charts()
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
        scores = score_against(
            game, newest_player, best_player, config.evaluation_opponents, self.run.step
        )
        is_promoted = best is None or scores[BEST] >= config.gate
        if is_promoted:
            self.save_best(newest, scores)
        return scores, is_promoted

    def promote_if_better(self, network: Network) -> dict[str, float]:
        """Evaluate a copy of the network; if it is promoted, it becomes `best`. Return the scores.

        Raises as `evaluate_and_promote`.
        """
        newest = copy.deepcopy(network)
        scores, is_promoted = self.evaluate_and_promote(newest, self.best)
        if is_promoted:
            self.best = newest
        return scores

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
        """Evaluate the newest network; promote it if it reaches `gate`. Return the scores."""

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


def score_against(
    game: Game,
    newest: Player,
    best: Player | None,
    opponents: EvaluationOpponents,
    seed: int,
    workers: int | None = 0,
) -> dict[str, float]:
    """Return the newest player's score, 0 to 1, against each opponent and "best", and its "elo".

    Without a `best` player there is no score against it. `workers` is the number of processes, 0
    for this one, None for one per core. On a board with a tablebase, the accuracies are added.
    Raises BadTable for a damaged table.
    """
    entrants: dict[str, str | Player] = {NEWEST: newest}
    if best is not None:
        entrants[BEST] = best
    entrants |= {name: name for name in opponents.names}
    standings = arena.play_tournament(
        entrants,
        game.name,
        options=game.options,
        games=opponents.games,
        seed=seed,
        anchor=opponents.anchor,
        workers=workers,
    ).standings
    scores = {
        name: standings.pair(NEWEST, name).tally.score.value
        for name in (BEST, *opponents.names)
        if name in entrants
    }
    ratings = {player.name: player.elo.value for player in standings.players}
    return {**scores, "elo": ratings[NEWEST], **_accuracies(game, newest, opponents)}


def evaluation_charts(game: Game, opponents: EvaluationOpponents) -> dict[str, list[str]]:
    """Return the charts of evaluations: columns of the log by title."""
    result = {
        "score against": [*opponents.names, BEST],
        f"Elo; {opponents.anchor} has 0": ["elo"],
    }
    if accuracy_test_set(game, opponents):
        title = "fraction of decisions that keep the exact value"
        result[title] = ["accuracy", "accuracy_with_choice"]
    return result


def _accuracies(game: Game, player: Player, opponents: EvaluationOpponents) -> dict[str, float]:
    """Return the accuracies of a player by name, without NaN; {} without a test set."""
    test_set = accuracy_test_set(game, opponents)
    if test_set is None:
        return {}
    measured = measure(player, *test_set)
    accuracies = {
        "accuracy": measured.kept.value,
        "accuracy_with_choice": measured.kept_with_choice.value,
    }
    return {name: value for name, value in accuracies.items() if not math.isnan(value)}


@lru_cache(1)
def accuracy_test_set(game: Game, opponents: EvaluationOpponents) -> TestSet | None:
    """Return a tablebase and test positions; None if accuracy cannot be measured.

    That is the case for games without tables, with 0 test positions, and if the start of the game
    is in no table. Raises BadOption for a missing folder.
    """
    if game.numbering is None or not opponents.positions:
        return None
    tables = Tablebase(game, opponents.tables or SHIPPED)
    if not tables.has_table(game.initial):
        return None
    return tables, tuple(sample_uniform(tables, opponents.positions))
