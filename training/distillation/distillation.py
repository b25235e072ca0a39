"""python -m training.distillation: train a policy on alpha-beta's value of each action.

A network plays without a search, against itself and other players, and alpha-beta evaluates all
actions of each of its decisions. A fraction `table_share` of the positions is sampled from exact
tables instead. The policy minimizes the expected regret, the loss of expected result relative to
the best action, plus `cross_entropy_weight` times the cross-entropy to a softmax of the values,
which speeds up learning. Where it cannot distinguish positions, the regret favors an action that is
good in all of them over one that is best in some and a mistake in others. The value is trained on
the value of the best action.

It is policy distillation (Rusu et al., 2016) in the student's own positions (Ross, Gordon and
Bagnell, "A reduction of imitation learning and structured prediction to no-regret online learning",
2011), with the gradient over all actions of Sutton et al., "Policy gradient methods for
reinforcement learning with function approximation" (2000).

In each round the newest policy plays on many boards, in all workers, and learns from the newest
samples. At intervals it plays the evaluation opponents and the best network so far in the arena.
If its score against the best network is at least `gate`, it is promoted to `best.safetensors`.

The same seed gives the same run on the same machine if it is limited by rounds, not minutes.

Shapes: N decisions, F fields of a position, M maximum number of legal actions of a position, B
samples of a batch, A actions.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.evaluator import Evaluator
from agents.network import Network
from cc_env.accuracy.decisions import sample_uniform
from cc_env.core.game import Game
from cc_env.errors import BadCheckpoint, BadOption, check_integer
from cc_env.learned_evaluation.network_file import find_evaluation, short_hash
from cc_env.players.builtin import as_tables
from cc_env.search.workspace import MAX_DEPTH
from cc_env.tablebase.tablebase import SHIPPED, Tablebase
from training.distillation.teacher import Teacher
from training.parallel.tasks import check_workers, run_tasks, task_mapper
from training.runs import checked, command_line
from training.runs.checkpoints import Checkpoint
from training.runs.training_run import Run, State
from training.selfplay.learner import (
    LearnerSettings,
    NetworkConfig,
    NetworkTraining,
    cross_entropy,
    zero_illegal,
)
from training.selfplay.replay_buffer import Samples, top_actions
from training.selfplay.search_games import MAX_TURNS, split_work
from training.selfplay.training import train
from training.selfplay.worker import GameSettings, SelfPlayGames

# Boards of a task.
_BOARDS = 64
# Maximum number of decisions of a task: some complete games on each board.
_TASK_DECISIONS = 20_000


@dataclass(frozen=True, kw_only=True)
class Config(GameSettings, NetworkConfig):
    """The settings of a run."""

    minutes: float | None = 60
    # The policy loss is a small number, so the value loss needs a small weight.
    learn: LearnerSettings = field(default_factory=lambda: LearnerSettings(value_weight=0.05))
    # Weight of a nat of entropy in the policy loss; a win is 1.
    entropy: checked.Fraction = 0.01
    # Weight of the cross-entropy relative to the expected regret.
    cross_entropy_weight: Annotated[float, checked.numbers(0, 100)] = 0.1
    # Temperature of the softmax over action values, in results.
    target_temperature: Annotated[float, checked.numbers(1e-3, 10)] = 0.05
    # The teacher's evaluation: a name or the path of a network file; None: the game's default.
    evaluation: str | None = None
    # Depth of the teacher's search in turns.
    depth: Annotated[int, checked.integers(2, MAX_DEPTH)] = 3
    # Folder of the tables with exact values for the teacher, or "shipped"; None: no tables.
    tables: str | None = None
    # Fraction of the positions sampled uniformly from the tables; the rest are decisions in games.
    table_share: checked.Fraction = 0.0
    opponents: checked.PlayerSpecs = ("minimax:depth=3",)
    opponents_share: checked.Fraction = 0.5
    # Positions per round: decisions of the policy, and positions from the tables. A process plays
    # up to 20,000 at a time, so more than two processes need more.
    decisions: Annotated[int, checked.integers(1000, checked.MAX_SAMPLES)] = 40_000
    evaluate_every: checked.Count = 4
    # Number of processes; None: one per core.
    workers: int | None = None
    # "processes", or "ray" for a cluster.
    engine: str = "processes"

    def __post_init__(self) -> None:
        """Raise BadOption if a field is invalid; fill in the options of the game."""
        super().__post_init__()
        check_integer("max_opening_turns", self.max_opening_turns, 0, MAX_TURNS)
        check_integer("replay", self.replay, 1000, checked.MAX_SAMPLES)
        self.check_opponents()
        if self.table_share and self.tables is None:
            raise BadOption(f"table_share={self.table_share}, tables=None; expected: tables")
        check_workers(self.engine, self.workers)

    def check(self, resume: bool) -> None:
        """Raise BadOption for a player or an unknown evaluation, BadNetwork for an invalid file.

        Raises BadCheckpoint for initial weights that do not fit, BadOption for a missing folder of
        tables, MissingTable for one without tables of the game.
        """
        super().check(resume)
        game = self.make_game()
        self.make_opponents(game)
        find_evaluation(game, self.evaluation)
        self.teacher_tables(game)

    def teacher_tables(self, game: Game) -> Tablebase | None:
        """Return the teacher's tables; raise as `check` if they cannot be used."""
        return as_tables(game, SHIPPED if self.tables == "shipped" else self.tables)


class Training(NetworkTraining[Config]):
    """A run in progress; its steps are rounds."""

    algorithm = "distillation"
    plays_while_learning = False

    def __init__(self, config: Config, run: Run) -> None:
        """Start a run, or resume it from its newest checkpoint.

        Raises BadCheckpoint if the checkpoint does not fit this run.
        """
        super().__init__(config, run, partial(policy_loss, config=config), fill_missing=True)
        self.evaluation = find_evaluation(self.game, config.evaluation)
        run.restore(self.load)

    def step(self) -> dict[str, float]:
        """Play and learn; return the metrics."""
        metrics = self.play()
        metrics |= self.fit(metrics["decisions"])
        self.run.advance()
        return metrics

    def play(self) -> dict[str, float]:
        """Collect positions with the teacher's values; return the metrics.

        They are decisions of the newest policy and, with `table_share`, positions from the tables.
        """
        config = self.config
        start = time.perf_counter()
        count, size = split_work(config.decisions, _TASK_DECISIONS)
        work = partial(
            collect_decisions, self.game, config, self.evaluation, self.learner.average, size
        )
        previously_added = self.replay.added
        regrets = []
        # `fit` uses the first seed.
        _, *seeds = self.run.seeds(1 + count)
        for graded in run_tasks(task_mapper(config.engine, config.workers), work, seeds):
            self.replay.add(graded.samples)
            regrets.append(graded.regrets)
        elapsed = time.perf_counter() - start
        decisions = self.replay.added - previously_added
        return {
            "decisions": decisions,
            "decisions_per_second": decisions / elapsed,
            "regret": float(np.concatenate(regrets).mean()),
            "play_seconds": elapsed,
        }

    def state(self) -> State:
        """Return the content of a checkpoint."""
        arrays, about = super().state()
        return arrays, {**about, "teacher": short_hash(self.evaluation)}

    def load(self, checkpoint: Checkpoint) -> None:
        """Restore a checkpoint; raise BadCheckpoint if it does not fit this run."""
        if checkpoint.about.get("teacher") != short_hash(self.evaluation):
            raise BadCheckpoint(
                f"evaluation={self.config.evaluation!r} was replaced since this run started; "
                "expected: the original file"
            )
        super().load(checkpoint)

    def charts(self) -> dict[str, list[str]]:
        """Return the algorithm's charts in curves.png: columns of the log by title."""
        return {
            "mean regret (a win is 1)": ["regret"],
            "loss": ["policy_loss", "value_loss"],
            "positions per second": ["decisions_per_second"],
            "seconds per round": ["play_seconds", "learn_seconds"],
        }

    def status(self, newest: Mapping[str, float]) -> str:
        """Return the status for the progress bar."""
        return f"round {newest['step']}, regret {newest['regret']:.4f}"


class GradedDecisions(NamedTuple):
    """Positions with the teacher's values.

    `regrets` are those of the policy's most probable actions, 0 to 1, in the N decisions of games
    with several actions.
    """

    samples: Samples
    regrets: NDArray[np.float32]  # [N]


def collect_decisions(
    game: Game, config: Config, evaluation: Any, network: Network, count: int, seed: int
) -> GradedDecisions:
    """Collect at least `count` positions with the teacher's values, in a worker.

    They are decisions of a policy, and positions from the tables if the config has a `table_share`.
    Actions are sampled, which reaches positions beyond those of the most probable actions. The
    decisions of unfinished games are included. The same seed gives the same samples. Raises
    BadPlayer if an opponent cannot be created, forfeits or chooses an illegal action, BadOption if
    the tables have no positions, TrainingDiverged if the policy is not finite.
    """
    rng = np.random.default_rng(seed)
    evaluate = Evaluator(network)
    tables = config.teacher_tables(game)
    teacher = Teacher(game, evaluation, config.depth, tables)
    games = SelfPlayGames(game, config, _BOARDS, rng)
    boards = games.boards
    is_finished = np.ones(_BOARDS, np.bool_)
    parts: list[Samples] = []
    regrets: list[NDArray[np.float32]] = []
    num_from_tables = round(config.table_share * count)
    if tables and num_from_tables:
        sampled = sample_uniform(tables, num_from_tables, seed=int(rng.integers(2**31)))
        positions = np.array(sampled, np.uint64)
        parts.append(_to_samples(positions, *teacher(positions)))
    decisions = 0
    # At least one step of games, since the log needs regrets.
    while decisions < count - num_from_tables or not regrets:
        games.start(is_finished)
        logits = np.where(boards.masks, evaluate(boards.observations)[0], -np.inf)
        selected = (logits + rng.gumbel(size=logits.shape)).argmax(1)
        own_boards = np.flatnonzero(~games.choose(selected))
        positions = boards.positions[own_boards]
        actions, values = teacher(positions)
        most_probable = actions == logits[own_boards].argmax(1)[:, np.newaxis]
        regrets.append((values.max(1) - values[most_probable])[(actions >= 0).sum(1) > 1])
        parts.append(_to_samples(positions, actions, values))
        decisions += len(own_boards)
        boards.step(selected)
        is_finished = boards.done
    samples = Samples(*map(np.concatenate, zip(*parts, strict=True)))
    return GradedDecisions(samples, np.concatenate(regrets))


def _to_samples(
    positions: NDArray[np.uint64], actions: NDArray[np.int32], values: NDArray[np.float32]
) -> Samples:
    """Return samples of positions uint64[N, F] with the teacher's actions and values [N, M]."""
    return Samples(positions, *top_actions(actions, values), 2 * values.max(1) - 1)


def policy_loss(log_policy: Tensor, values: Tensor, *, config: Config) -> Tensor:
    """Return the expected regret plus the weighted cross-entropy to softmax targets.

    `log_policy` and `values` are float[B, A]: log-probabilities, -inf for illegal actions, and the
    expected results of actions, 0 to 1.
    """
    loss = regret_loss(log_policy, values, entropy_weight=config.entropy)
    if config.cross_entropy_weight:
        targets = softmax_targets(log_policy, values, config.target_temperature)
        loss = loss + config.cross_entropy_weight * cross_entropy(log_policy, targets)
    return loss


def regret_loss(log_policy: Tensor, values: Tensor, *, entropy_weight: float) -> Tensor:
    """Return the mean over B of the expected regret minus the weighted entropy of the policy.

    `log_policy` and `values` are float[B, A]: log-probabilities, -inf for illegal actions, and the
    expected results of actions, 0 to 1.
    """
    policy = log_policy.exp()
    expected = (policy * values).sum(1)
    entropy = -(policy * zero_illegal(log_policy)).sum(1)
    return (values.amax(1) - expected - entropy_weight * entropy).mean()


def softmax_targets(log_policy: Tensor, values: Tensor, temperature: float) -> Tensor:
    """Return softmax(values / temperature) over the legal actions, float[B, A], 0 elsewhere."""
    illegal = log_policy == -torch.inf
    return (values / temperature).masked_fill(illegal, -torch.inf).softmax(1)


main = partial(train, Training)
app = command_line.training_command(
    "distillation",
    main,
    Config,
    "Train a policy on alpha-beta's value of each action, by default for an hour.",
    {
        "rounds": "Number of rounds.",
        "evaluation": "The teacher's evaluation: a name, or the path of a best.network.",
        "depth": "Depth of the teacher's search, in turns.",
        "tables": "Exact values for the teacher: a folder of tables, or shipped.",
        "start": "Run or file with weights to start from.",
        "network.blocks": "Residual blocks of the network.",
        "network.channels": "Channels of the network.",
        "workers": "Number of processes.",
        "engine": "Where they run: processes, or ray for a cluster.",
    },
)
