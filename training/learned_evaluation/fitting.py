"""python -m training.learned_evaluation: train the small network of a learned evaluation.

The network corrects a game's default evaluation inside alpha-beta, see
`cc_env.learned_evaluation.network`. In each round the search plays games against itself with the
best network so far. The network is fitted to the search values and the results of these games and
of those of earlier rounds: TD(lambda), Sutton, "Learning to predict by the methods of temporal
differences", 1988, with values of searches, as Baxter, Tridgell and Weaver, "TDLeaf(lambda)", 1999.
Then the quantized network plays the best one in the arena, with the same time per decision. If its
score is at least `gate`, it is promoted to `best.network`, which the player
`minimax:evaluation=runs/NAME/best.network` uses.

The same seed gives the same run on the same machine if the run is limited by rounds, not minutes,
and evaluation games do not depend on the clock (`--set limit=nodes=20000`).

Shapes: N positions, B positions of a batch, S input sets of CELLS cells.
"""

import copy
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.optim import Optimizer

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.errors import BadCheckpoint, BadNetwork, BadOption, UnknownOption, format_list
from cc_env.learned_evaluation import network_file
from cc_env.learned_evaluation.network import CELLS, Learned
from cc_env.learned_evaluation.network import check as check_network
from cc_env.learned_evaluation.network_file import (
    SUFFIX,
    corrected_evaluation,
    find_evaluation,
    write_network,
)
from cc_env.players.builtin import MinimaxPlayer
from cc_env.registry.options import parse_options, split_options
from cc_env.search.scores import SCALE
from cc_env.search.workspace import MAX_DEPTH
from training.learned_evaluation.small_network import (
    Sample,
    SmallNetwork,
    concatenate,
    dequantize,
    empty_sample,
    extract_sample,
    find_windows,
    permutation,
    quantize,
    read_sample,
    select_rows,
)
from training.parallel.tasks import check_workers, run_tasks, task_mapper
from training.runs import checked, command_line, state
from training.runs.checkpoints import Checkpoint
from training.runs.training_run import Run, State
from training.selfplay import search_games
from training.selfplay.training import (
    BEST,
    BaseConfig,
    BaseTraining,
    EvaluationOpponents,
    score_against,
    train,
)

FILE = f"best{SUFFIX}"
# Default limit of the search per decision in evaluations.
LIMIT = "seconds=0.02"
_LIMIT_OPTIONS = "depth", "nodes", "seconds", "table_megabytes", "selective"
# Every 20th game is held out for validation.
_VALIDATION_INTERVAL = 20
_VALIDATION_BATCH = 16_384
# Gradient steps between calls of `keep_in_range`.
_RANGE_INTERVAL = 50


@dataclass(frozen=True, kw_only=True)
class Config(BaseConfig):
    """The settings of a run."""

    minutes: float | None = 60
    # Maximum number of rounds; None: no limit.
    rounds: int | None = None
    # Network file or run folder of the initial network, or "learned", the shipped one; None: an
    # untrained network.
    start: str | None = None
    # Self-play decisions per round.
    positions: Annotated[int, checked.integers(1000, checked.MAX_SAMPLES)] = 800_000
    # Number of newest positions to learn from.
    remembered: Annotated[int, checked.integers(1000, checked.MAX_SAMPLES)] = 4_000_000
    # Search depth in self-play, in turns.
    depth: Annotated[int, checked.integers(1, MAX_DEPTH)] = 4
    # Games start after 0 to `max_opening_turns` random turns.
    max_opening_turns: Annotated[int, checked.integers(0, search_games.MAX_TURNS)] = 12
    # Fraction of random decisions after the opening.
    exploration: checked.Fraction = 0.02
    # Lambda: weight of later positions in a target, relative to the search value.
    weight: checked.Fraction = 0.95
    # Passes over the remembered positions per round, and positions per gradient step.
    epochs: checked.Count = 5
    batch_size: checked.BatchSize = 2048
    # Learning rate of Adam at the start of a round; it decreases linearly to 0.
    learning_rate: checked.Fraction = 2e-3
    # Search limit per decision in evaluations, as options of `minimax`.
    limit: str = LIMIT
    evaluation_opponents: EvaluationOpponents = field(
        default_factory=lambda: EvaluationOpponents(
            names=(f"minimax:{LIMIT}",), anchor=f"minimax:{LIMIT}", games=60
        )
    )
    # Number of processes; None: one per core.
    workers: int | None = None
    # "processes", or "ray" for a cluster.
    engine: str = "processes"

    def __post_init__(self) -> None:
        """Raise BadOption if a field is invalid; fill in the options of the game."""
        super().__post_init__()
        check_workers(self.engine, self.workers)

    def check(self, resume: bool) -> None:
        """Raise BadOption for a player or an invalid `limit`.

        Raises UnknownOption if the game has no evaluation to correct or no network inputs,
        BadNetwork or OSError if the initial network cannot be used.
        """
        super().check(resume)
        game = self.make_game()
        network_file.check_inputs(game)
        if self.start is not None and not resume:
            _initial_network(self.start, game)
        _make_player(game, game.evaluation(), self.limit)


class Training(BaseTraining[Config]):
    """A run in progress; its steps are rounds."""

    algorithm = "evaluation"
    best_file = FILE
    plays_while_learning = False

    def __init__(self, config: Config, run: Run) -> None:
        """Start a run, or resume it from its newest checkpoint.

        Raises BadCheckpoint if the checkpoint does not fit this run.
        """
        super().__init__(config, run)
        sets = len(rules.network_inputs(self.game.initial))
        # Number of promotions, that of the initial network included; 0: there is no best network.
        self.promotions = 0
        if config.start is not None and run.checkpoints.newest is None:
            self.network = _initial_network(config.start, self.game)
            self.promotions = 1
            write_network(run.path / FILE, self.game, quantize(self.network))
        else:
            self.network = SmallNetwork(sets, find_windows(self.game.grid))
        self.best_network = copy.deepcopy(self.network)
        self.sample = empty_sample(sets)
        identity = np.arange(sets * CELLS)
        symmetries = (permutation(image, self.game.grid, sets) for image in self.game.symmetries)
        self.permutations = torch.from_numpy(np.array([identity, *symmetries]))
        run.restore(self.load)

    def step(self) -> dict[str, float]:
        """Play and learn; return the metrics."""
        metrics = {**self.play(), **self.learn()}
        self.run.advance()
        return metrics

    def play(self) -> dict[str, float]:
        """Play games of the best network against itself; return the metrics."""
        config = self.config
        start = time.perf_counter()
        settings = search_games.play_settings(
            config.depth, config.max_opening_turns, config.exploration
        )
        count, size = search_games.split_work(config.positions)
        work = partial(_play_sample, self.game, self.evaluation(), settings, config.weight, size)
        new = concatenate(
            run_tasks(task_mapper(config.engine, config.workers), work, self.run.seeds(count))
        )
        all_positions = concatenate([self.sample, new])
        self.sample = select_rows(all_positions, slice(-config.remembered, None))
        elapsed = time.perf_counter() - start
        return {
            "positions": len(self.sample.base),
            "positions_per_second": len(new.base) / elapsed,
            "turns_per_game": len(new.base) / (1 + int(new.games[-1])),
            "drawn": float((new.results == 0.5).mean()),
            "play_seconds": elapsed,
        }

    def learn(self) -> dict[str, float]:
        """Fit the network to the remembered positions; return the metrics."""
        config = self.config
        start = time.perf_counter()
        torch.manual_seed(*self.run.seeds(1))
        device = config.device
        self.network.to(device)
        optimizer = torch.optim.Adam(self.network.parameters(), config.learning_rate, fused=True)
        is_validation = self.sample.games % _VALIDATION_INTERVAL == 0
        validation = torch.from_numpy(np.flatnonzero(is_validation))
        training = torch.from_numpy(np.flatnonzero(~is_validation))
        steps = max(1, config.epochs * len(training) // config.batch_size)
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = config.learning_rate * (1 - step / steps)
            rows = training[torch.randint(len(training), (config.batch_size,))]
            symmetry = self.permutations[torch.randint(len(self.permutations), ())]
            bits, base, targets, _ = self.batch(rows, symmetry)
            loss = _loss(base + self.network(bits), targets)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if step % _RANGE_INTERVAL == 0 or step == steps - 1:
                self.network.keep_in_range()
        self.network.clear_inputs(torch.from_numpy(~self.used_inputs()))
        state.check_finite(self.network)
        losses = self.losses(validation)
        self.network.cpu()
        return {**losses, "learn_seconds": time.perf_counter() - start}

    @torch.no_grad()
    def losses(self, rows: torch.Tensor) -> dict[str, float]:
        """Return the losses of predicted game results, with and without the network.

        `rows`, int64[N], are indices in the sample. Returns {} without rows.
        """
        if not len(rows):
            return {}
        sums = np.zeros(3)
        for batch_rows in torch.split(rows, _VALIDATION_BATCH):
            bits, base, targets, results = self.batch(batch_rows, self.permutations[0])
            corrected = base + self.network(bits)
            pairs = (corrected, results), (base, results), (corrected, targets)
            sums += [len(batch_rows) * float(_loss(*pair)) for pair in pairs]
        names = "loss", "loss_uncorrected", "loss_of_targets"
        return dict(zip(names, (sums / len(rows)).tolist(), strict=True))

    def batch(self, rows: torch.Tensor, permutation: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return bits uint8[B, S * CELLS], base logits, targets and results float32[B].

        `rows`, int64[B], are indices in the sample; `permutation`, int64[S * CELLS], permutes the
        bits by a symmetry.
        """
        sample = select_rows(self.sample, rows.numpy())
        bits = torch.from_numpy(_bits(sample.inputs))[:, permutation]
        base = torch.from_numpy(sample.base.astype(np.float32)) * (2 / SCALE)
        targets, results = map(torch.from_numpy, (sample.targets, sample.results))
        return tuple(part.to(self.config.device) for part in (bits, base, targets, results))

    def used_inputs(self) -> NDArray[np.bool_]:
        """Return which bits are set in some remembered position, bool[S * CELLS]."""
        sets = np.bitwise_or.reduce(self.sample.inputs, 0)
        is_set = _bits(sets[None])[0].astype(np.bool_)
        return np.array(is_set[self.permutations.numpy()].any(0))

    def evaluate(self) -> dict[str, float]:
        """Evaluate the network, promote it if it is good enough, and return the scores.

        It is promoted with a score of at least `gate` or if the run would end without a promotion.
        Before the first promotion, the opponent is the evaluation without a network.
        """
        start = time.perf_counter()
        newest = quantize(self.network)
        scores = score_against(
            self.game,
            _make_player(self.game, corrected_evaluation(self.game, newest), self.config.limit),
            _make_player(self.game, self.evaluation(), self.config.limit),
            self.config.evaluation_opponents,
            self.run.step,
            workers=self.config.workers if self.config.engine == "processes" else None,
        )
        # A complete run needs a best network.
        is_last_chance = not self.promotions and self.run.progress() == 1
        if scores[BEST] >= self.config.gate or is_last_chance:
            self.best_network.load_state_dict(self.network.state_dict())
            self.promotions += 1
            write_network(self.run.path / FILE, self.game, newest)
        return {
            **scores,
            "promotions": self.promotions,
            "evaluation_seconds": time.perf_counter() - start,
        }

    def evaluation(self) -> Any:
        """Return the evaluation by the best network, the default one before the first promotion."""
        if self.promotions:
            return corrected_evaluation(self.game, quantize(self.best_network))
        return self.game.evaluation()

    def state(self) -> State:
        """Return the content of a checkpoint."""
        sample = {f"sample.{name}": part for name, part in self.sample._asdict().items()}
        return state.to_arrays(**self.parts()) | sample, {"promotions": self.promotions}

    def load(self, checkpoint: Checkpoint) -> None:
        """Restore a checkpoint; write the best network's file again if it is missing.

        Raises BadCheckpoint if the checkpoint does not fit this run, OSError if the file cannot be
        written.
        """
        promotions = state.read_integer(checkpoint.about, "promotions")
        sample = read_sample(checkpoint.arrays, self.network)
        tensors = state.read(checkpoint.arrays, **self.parts())
        if promotions:
            best = copy.deepcopy(self.best_network)
            state.assign(tensors, best=best)
            _check_range(best)
        state.assign(tensors, **self.parts())
        self.promotions, self.sample = promotions, sample
        if promotions and not (self.run.path / FILE).exists():
            write_network(self.run.path / FILE, self.game, quantize(self.best_network))

    def parts(self) -> Mapping[str, nn.Module | Optimizer]:
        """Return the networks by name."""
        return {"network": self.network, "best": self.best_network}

    def charts(self) -> dict[str, list[str]]:
        """Return the algorithm's charts in curves.png: columns of the log by title."""
        return {
            "loss of predicted results": ["loss", "loss_uncorrected"],
            "fraction of drawn self-play games": ["drawn"],
            "positions per second": ["positions_per_second"],
            "seconds per round": ["play_seconds", "learn_seconds", "evaluation_seconds"],
            "promotions": ["promotions"],
        }

    def status(self, newest: Mapping[str, float]) -> str:
        """Return the status for the progress bar."""
        score = next((newest[name] for name in newest if name.startswith("minimax")), None)
        score_text = "" if score is None else f", {score:.0%} against minimax"
        loss_text = f", loss {newest['loss']:.4f}" if "loss" in newest else ""
        return f"round {newest['step']:.0f}{loss_text}{score_text}"


def _check_range(best: SmallNetwork) -> None:
    """Raise BadCheckpoint if a promoted network cannot be quantized or could overflow."""
    try:
        check_network(quantize(best))
    except BadNetwork as error:
        raise BadCheckpoint(f"{BEST}: {error}") from None


def _make_player(game: Game, evaluation: Any, limit: str) -> MinimaxPlayer:
    """Return a player with an evaluation; `limit` has options of `minimax` that limit its search.

    Raises UnknownOption for another option, BadOption for none or an invalid value.
    """
    limits = parse_options(split_options(limit))
    for name in limits:
        if name not in _LIMIT_OPTIONS:
            valid = format_list(_LIMIT_OPTIONS)
            raise UnknownOption(f"limit={limit!r}: unknown option {name!r}; expected: {valid}")
    if not limits:
        raise BadOption(f"limit={limit!r}; expected: options of minimax, such as {LIMIT}")
    return MinimaxPlayer(game, evaluation=evaluation, **{"table_megabytes": 4, **limits})


def _initial_network(start: str, game: Game) -> SmallNetwork:
    """Return the network to start from.

    Raises BadOption if `start` names no network, BadNetwork or OSError if it cannot be used.
    """
    path = Path(start)
    evaluation = find_evaluation(game, str(path / FILE) if path.is_dir() else start)
    if not isinstance(evaluation, Learned):
        raise BadOption(f"start={start!r}; expected: a run folder, a file *{SUFFIX} or 'learned'")
    network = evaluation.network
    if not np.array_equal(network.windows, find_windows(game.grid)):
        raise BadNetwork(f"{start}: its windows do not cover the board; train one without start")
    return dequantize(network, len(rules.network_inputs(game.initial)))


def _play_sample(game: Game, *arguments: Any) -> Sample:
    """Play in a worker, with the arguments of `search_games.play`; return the positions."""
    return extract_sample(game, search_games.play(game, *arguments))


def _bits(sets: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the bits of sets, uint64[N, S], as uint8[N, S * CELLS]."""
    octets = np.ascontiguousarray(sets, "<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little")


_loss = torch.nn.functional.binary_cross_entropy_with_logits


main = partial(train, Training)
app = command_line.training_command(
    "evaluation",
    main,
    Config,
    "Train the network of a learned evaluation on search values, by default for an hour.",
    {
        "rounds": "Number of rounds.",
        "start": "Network file or run to start from; 'learned': the shipped network.",
        "depth": "Depth of the search in self-play, in turns.",
        "positions": "Self-play decisions per round.",
        "workers": "Number of processes.  [default: one per core]",
        "engine": "Where they run: processes, or ray for a cluster.",
    },
    best=FILE,
)
