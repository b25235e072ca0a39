"""python -m training.distillation: teach a policy by alpha-beta what each action is worth.

A network plays without a search, against itself and others, and in each of its decisions alpha-beta
judges all actions (see `training.distillation.teacher`). The policy learns to lose as little as
possible of the result that the search expects: where it cannot tell what is best, it prefers what
is good in most such positions to what is best in many and a mistake in others. The value learns
what the best action is worth.

It is policy distillation (Rusu et al., 2016) in the student's own positions (Ross, Gordon and
Bagnell, "A reduction of imitation learning and structured prediction to no-regret online learning",
2011), with the gradient over all actions of Sutton et al., "Policy gradient methods for
reinforcement learning with function approximation" (2000).

In each round the newest policy plays on many boards, in all workers, and learns from the newest
samples. At intervals it plays the rivals and the best network so far in the arena. If it reaches
the score `gate` against the best one, it replaces it as `best.safetensors`.

The same seed gives the same run if it is limited by rounds, not minutes, and the machine computes
the same.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.network import Evaluator, Network, Size, device_of
from cc_env.cli.application import run as run_command
from cc_env.core.game import Game
from cc_env.envs.boards import Boards
from cc_env.errors import BadCheckpoint
from cc_env.jit.threads import available_cores
from cc_env.learned_evaluation.network_file import find_evaluation, short_hash
from cc_env.match.match import effective_repetition_limit
from cc_env.search.workspace import MAX_DEPTH
from training.arena import try_players
from training.distillation.teacher import Judge
from training.parallel.tasks import mapper, values
from training.runs import command_line, state, training_run
from training.runs.checkpoints import Saved
from training.runs.config import check_between, check_wholes
from training.runs.log import Row
from training.selfplay import promotion
from training.selfplay.learner import Learner, LearnerSettings, cross_entropy, finite, started
from training.selfplay.opponents import Opponents, check_opponents, make_opponents
from training.selfplay.promotion import Best, Rivals
from training.selfplay.replay_buffer import Replay, Samples, greatest
from training.selfplay.search_games import LONGEST, tasks

_BOARDS = 64  # games at once in a task
# Decisions of the policy in a task: those of some games on each board, from the opening to the end.
# More than two cores want more decisions in a round.
_TASK = 20_000
MAY_DIFFER = "minutes", "rounds", "workers", "engine", "device"  # when a run is continued


@dataclass(frozen=True, kw_only=True)
class Config(training_run.Config):
    """The settings of a run."""

    minutes: float | None = 60  # time budget, earlier sessions included; None: no limit
    rounds: int | None = None  # limit of rounds; None: no limit
    network: Size = field(default_factory=Size)
    start: str | None = None  # run or file with weights to start from; None: a new network
    # The loss of the policy is a small number, and so is the weight of that of the value.
    learn: LearnerSettings = field(default_factory=lambda: LearnerSettings(value_weight=0.05))
    entropy: float = 0.01  # worth of a nat of a decision's entropy, in results (a win is 1)
    cross_entropy_weight: float = 0.1  # relative to the expected regret
    target_temperature: float = 0.05  # of the softmax of the actions' values, in results
    evaluation: str | None = None  # the teacher's: a name, or the path of a file; None: the first
    depth: int = 3  # of the teacher's search, in turns
    opening_turns: int = 12  # most random turns at the start of a game, drawn from 0
    max_turns: int = 100  # longer games are drawn
    repetitions: int = 2  # draw at the Nth occurrence of a position
    opponents: tuple[str, ...] = ("minimax:depth=3",)  # other players
    opponents_share: float = 0.5  # share of the games against them, the rest is self-play
    decisions: int = 40_000  # of the policy in a round
    replay: int = 400_000  # newest samples, which are learned from
    replay_ratio: float = 1  # how often each sample is learned from, on average
    evaluate_every: int = 4  # rounds between evaluations
    rivals: Rivals = field(default_factory=Rivals)
    gate: float = 0.5  # least score against the best network to replace it
    workers: int | None = None  # processes that play at once; None: one per core
    engine: str = "processes"  # where they are: "processes", or "ray" for a cluster

    def __post_init__(self) -> None:
        """Check the fields, and fill in the options of the game."""
        super().__post_init__()
        check_wholes(self, depth=(2, MAX_DEPTH), opening_turns=(0, LONGEST))
        check_wholes(self, max_turns=1, repetitions=2)
        check_wholes(self, decisions=1000, replay=1000, evaluate_every=1)
        check_between(self, 0, 1, "entropy", "opponents_share", "gate")
        check_between(self, 0, 100, "cross_entropy_weight")
        check_between(self, 1e-3, 10, "target_temperature")
        check_between(self, 0, 1000, "replay_ratio")
        check_opponents(self.opponents, self.opponents_share)
        mapper(self.engine, self.workers)


def main(config: Config, path: Path, resume: bool = False) -> Row:
    """Train in a folder, with a progress bar; return the last row of the log.

    Raises as `runs.opened`, `runs.Run.steps`, `arena.try_players`, `learned.files.evaluation_of`
    and `learner.started`.
    """
    torch.set_num_threads(available_cores())
    game = config.make_game()
    try_players(config.rivals.names, game)
    make_opponents(game, config.opponents, config.opponents_share)
    find_evaluation(game, config.evaluation)
    if not resume:
        started(config.start, game, config.network)
    with training_run.opened(path, asdict(config), resume, MAY_DIFFER) as run:
        Training(config, run).train()
    return run.rows[-1]


class Training:
    """A run in progress."""

    def __init__(self, config: Config, run: training_run.Run) -> None:
        """Begin a run, or continue it from its newest checkpoint."""
        self.config, self.run, self.game = config, run, config.make_game()
        torch.manual_seed(config.seed)
        network = started(config.start if run.is_new else None, self.game, config.network)
        loss = partial(policy_loss, config=config)
        self.learner = Learner(network, config.learn, device_of(config.device), loss)
        self.replay = Replay(self.game, config.replay, fills=True)
        self.best = Best("distillation", config, run)
        self.evaluation = find_evaluation(self.game, config.evaluation)
        run.restore(self.load)

    def train(self) -> None:
        """Train to the end; a step is a round."""
        run, config = self.run, self.config
        for _ in run.steps(self.state, config.evaluate_every, charts(config), status):
            numbers = self.play()
            numbers |= self.learn(numbers["decisions"])
            run.advance()
            if run.is_due:
                numbers |= self.best.meet(self.learner.average)
            run.log(numbers)

    def play(self) -> dict[str, float]:
        """Let the newest policy play, and its decisions be judged; return the numbers to log."""
        config, began = self.config, time.perf_counter()
        count, size = tasks(config.decisions, _TASK)
        work = partial(play, self.game, config, self.evaluation, self.learner.average, size)
        before, regrets = self.replay.added, []
        _, *seeds = self.run.seeds(1 + count)  # the first is for the batches
        for judged in values(mapper(config.engine, config.workers), work, seeds):
            self.replay.add(judged.samples)
            regrets.append(judged.regrets)
        spent, made = time.perf_counter() - began, self.replay.added - before
        return {
            "decisions": made,
            "decisions_per_second": made / spent,
            "regret": float(np.concatenate(regrets).mean()),
            "play_seconds": spent,
        }

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

    def state(self) -> training_run.State:
        """Return what a checkpoint holds."""
        arrays = state.flat(**self.parts()) | self.replay.state()
        about = {"steps": self.learner.steps, "added": self.replay.added}
        return arrays, {**about, "teacher": short_hash(self.evaluation)}

    def load(self, saved: Saved) -> None:
        """Continue from a checkpoint; raise BadCheckpoint if it does not fit this run."""
        if saved.about.get("teacher") != short_hash(self.evaluation):
            raise BadCheckpoint(
                f"evaluation={self.config.evaluation!r} is not what this run learned from so far: "
                "the file was replaced; wanted: the one it began with"
            )
        self.learner.steps = state.whole(saved.about, "steps")
        self.best.expect(saved)
        state.load(saved.arrays, **self.parts())
        self.replay.load(saved.arrays, state.whole(saved.about, "added"))

    def parts(self) -> dict[str, Any]:
        """Return the networks and the optimizer, by name."""
        return {**self.learner.parts(), **self.best.parts()}


class Judged(NamedTuple):
    """What a policy decided, and what the search says of it."""

    samples: Samples
    regrets: NDArray[np.float32]  # what its most probable action loses, 0 to 1 (a win is 1), for
    # each decision between several actions


def play(
    game: Game, config: Config, evaluation: Any, network: Network, count: int, seed: int
) -> Judged:
    """Let a policy take `count` decisions or a few more, and judge them; in a worker.

    Actions are sampled from the policy, so that it also reaches positions that its most probable
    actions do not lead to. Unfinished games are dropped, their decisions kept. The same seed gives
    the same samples. Raises as `Judge` and `Opponents`.
    """
    rng = np.random.default_rng(seed)
    evaluate, judge = Evaluator(network), Judge(game, evaluation, config.depth)
    opponents = Opponents(game, config.opponents, config.opponents_share, _BOARDS)
    repetitions = effective_repetition_limit(game, config.repetitions)
    boards = Boards(game, _BOARDS, max_turns=config.max_turns, repetitions=repetitions)
    boards.reset()
    over = np.ones(_BOARDS, np.bool_)
    parts: list[Samples] = []
    regrets: list[NDArray[np.float32]] = []
    made = 0
    while made < count:
        opponents.begin(boards, over, config.opening_turns, rng)
        logits = np.where(boards.masks, evaluate(boards.observations)[0], -np.inf)
        chosen = (logits + rng.gumbel(size=logits.shape)).argmax(1)
        mine = np.flatnonzero(~opponents.choose(boards, chosen, rng))
        positions = boards.positions[mine]
        actions, worth = judge(positions)
        best = worth.max(1)
        likeliest = actions == logits[mine].argmax(1)[:, np.newaxis]
        regrets.append((best - worth[likeliest])[(actions >= 0).sum(1) > 1])
        parts.append(Samples(positions, *greatest(actions, worth), 2 * best - 1))
        made += len(mine)
        boards.step(chosen)
        over = boards.done
    samples = Samples(*map(np.concatenate, zip(*parts, strict=True)))
    return Judged(samples, np.concatenate(regrets))


def policy_loss(log_policy: Tensor, worth: Tensor, *, config: Config) -> Tensor:
    """Return the expected regret plus the weighted cross-entropy to softmax targets.

    `log_policy` and `worth` are float[B, A]: the logarithms of probabilities, minus infinity for
    illegal actions, and the expected results of actions, 0 to 1.
    """
    loss = expected_regret(log_policy, worth, entropy=config.entropy)
    if config.cross_entropy_weight:
        targets = softmax_targets(log_policy, worth, config.target_temperature)
        loss = loss + config.cross_entropy_weight * cross_entropy(log_policy, targets)
    return loss


def expected_regret(log_policy: Tensor, worth: Tensor, *, entropy: float) -> Tensor:
    """Return the expected regret of a policy minus the value of its entropy, both means over B.

    The tensors are float[B, A], as for `policy_loss`; `entropy` is the value of a nat.
    """
    policy = log_policy.exp()
    expected = (policy * worth).sum(1)
    nats = -(policy * finite(log_policy)).sum(1)
    return (worth.amax(1) - expected - entropy * nats).mean()


def softmax_targets(log_policy: Tensor, worth: Tensor, temperature: float) -> Tensor:
    """Return softmax(worth / temperature) over the legal actions, float[B, A], 0 elsewhere."""
    illegal = log_policy == -torch.inf
    return (worth / temperature).masked_fill(illegal, -torch.inf).softmax(1)


def charts(config: Config) -> dict[str, list[str]]:
    """Return the charts of curves.png: title and columns of the log."""
    return {
        **promotion.charts(config.make_game(), config.rivals),
        "mean regret by the search (a win is 1)": ["regret"],
        "loss": ["policy_loss", "value_loss"],
        "decisions of the policy a second": ["decisions_per_second"],
        "seconds of a round": ["play_seconds", "learn_seconds"],
    }


def status(newest: Mapping[str, float]) -> str:
    """Return the state of training in a few words."""
    elo = f", Elo {newest['elo']:+.0f}" if "elo" in newest else ""
    return f"round {newest['step']}, regret {newest['regret']:.4f}{elo}"


app = command_line.command(
    "distillation",
    main,
    Config,
    "Teach a policy by alpha-beta what each action is worth, by default for an hour.",
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
