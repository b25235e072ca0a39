"""python -m training.learned_evaluation: train the small network of a learned evaluation.

The network corrects a game's first evaluation, inside alpha-beta: see
`cc_env.learned_evaluation.network`. In each round the search plays games against itself with the
best network so far. The network is fitted to what the search expected in these games and in those
of earlier rounds, and to their results: TD(lambda), Sutton, "Learning to predict by the methods of
temporal differences", 1988, with values of searches, as Baxter, Tridgell and Weaver,
"TDLeaf(lambda)", 1999. Then its integers play the best ones in the arena, for each decision the
same time; if they reach the score `gate`, they replace them as `best.network`. The player
`minimax:evaluation=runs/NAME/best.network` plays with them.

The same seed gives the same run if it is limited by rounds, not minutes, the games of the gate do
not depend on the clock (`--set limit=nodes=20000`), and the machine computes the same.

Shapes: N positions, B of a batch, S sets of CELLS cells that the network sees.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from agents.weight_files import expect
from cc_env.cli.application import run as run_command
from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.errors import BadCheckpoint, BadOption, UnknownOption, format_list
from cc_env.jit.threads import available_cores
from cc_env.learned_evaluation import network_file
from cc_env.learned_evaluation.network import CELLS
from cc_env.learned_evaluation.network_file import corrected_evaluation, write_network
from cc_env.players.builtin import MinimaxPlayer
from cc_env.registry.options import parse_options, split_options
from cc_env.search.scores import SCALE
from cc_env.search.workspace import MAX_DEPTH
from training.arena import try_players
from training.learned_evaluation.small_network import (
    Sample,
    SmallNetwork,
    empty,
    integers,
    joined,
    permutation,
    picked,
    sample_of,
    windows_of,
)
from training.parallel.tasks import mapper, values
from training.runs import command_line, state, training_run
from training.runs.checkpoints import Saved
from training.runs.config import check_between, check_wholes
from training.runs.log import Row
from training.selfplay import promotion, search_games
from training.selfplay.promotion import BEST, Rivals, meet

FILE = f"best{network_file.SUFFIX}"  # in the folder of the run
MAY_DIFFER = "minutes", "rounds", "workers", "engine", "device"  # when a run is continued
LIMIT = "seconds=0.02"  # of a decision in evaluations
_LIMITS = "depth", "nodes", "seconds", "table_megabytes", "selective"
_HELD_OUT = 20  # one game in so many is not learned from
_PASS = 16_384  # positions at a time without gradients
_RANGE_EVERY = 50  # gradient steps


@dataclass(frozen=True, kw_only=True)
class Config(training_run.Config):
    """The settings of a run."""

    minutes: float | None = 60  # time budget, earlier sessions included; None: no limit
    rounds: int | None = None  # limit of rounds; None: no limit
    positions: int = 800_000  # decisions of self-play in a round
    remembered: int = 4_000_000  # newest positions that are learned from
    depth: int = 4  # of the search in self-play, in turns
    opening_turns: int = 12  # most random turns at the start of a game, drawn from 0
    exploration: float = 0.02  # share of random decisions after the opening
    weight: float = 0.95  # lambda: of later positions in a target, relative to the search
    epochs: int = 5  # passes over the remembered positions in a round
    batch_size: int = 2048  # positions in a gradient step
    learning_rate: float = 2e-3  # of Adam; falls to 0 in each round
    limit: str = LIMIT  # of the network's decisions in evaluations, options of `minimax`
    rivals: Rivals = field(
        default_factory=lambda: Rivals(
            names=(f"minimax:{LIMIT}",), anchor=f"minimax:{LIMIT}", games=60
        )
    )
    gate: float = 0.5  # least score against the best, at first the first evaluation, to replace it
    workers: int | None = None  # processes that play at once; None: one per core
    engine: str = "processes"  # where they are: "processes", or "ray" for a cluster

    def __post_init__(self) -> None:
        """Check the fields, and fill in the options of the game."""
        super().__post_init__()
        check_wholes(self, positions=1000, remembered=1000, depth=(1, MAX_DEPTH))
        check_wholes(self, opening_turns=(0, search_games.LONGEST))
        check_wholes(self, epochs=1, batch_size=1)
        check_between(self, 0, 1, "exploration", "weight", "learning_rate", "gate")
        mapper(self.engine, self.workers)


def main(config: Config, path: Path, resume: bool = False) -> Row:
    """Train in a folder, with a progress bar; return the last row of the log.

    Raises as `runs.opened` and `runs.Run.steps`, and UnknownOption where the game has no evaluation
    to correct, or does not say what a network sees.
    """
    torch.set_num_threads(available_cores())
    game = config.make_game()
    try_players(config.rivals.names, game)
    network_file.check_inputs(game)
    _player(game, game.evaluation(), config.limit)
    with training_run.opened(path, asdict(config), resume, MAY_DIFFER, best=FILE) as run:
        Training(config, run).train()
    return run.rows[-1]


class Training:
    """A run in progress."""

    def __init__(self, config: Config, run: training_run.Run) -> None:
        """Begin a run, or continue it from its newest checkpoint."""
        self.config, self.run, self.game = config, run, config.make_game()
        torch.manual_seed(config.seed)
        sets = len(rules.network_inputs(self.game.initial))
        make = partial(SmallNetwork, sets, windows_of(self.game.grid))
        self.network, self.best = make(), make()
        self.adopted = 0  # how often the best network was replaced; 0: there is none yet
        self.sample = empty(sets)
        own = np.arange(sets * CELLS)
        images = (permutation(image, self.game.grid, sets) for image in self.game.symmetries)
        self.images = torch.from_numpy(np.array([own, *images]))
        run.restore(self.load)

    def train(self) -> None:
        """Train to the end; a step is a round."""
        for _ in self.run.steps(self.state, 1, charts(self.config), status):
            numbers = self.play()
            numbers |= self.learn()
            self.run.advance()
            numbers |= self.evaluate()
            self.run.log(numbers)

    def play(self) -> dict[str, float]:
        """Let the best network play against itself; return the numbers to log."""
        config, began = self.config, time.perf_counter()
        pace = search_games.pace(config.depth, config.opening_turns, config.exploration)
        count, size = search_games.tasks(config.positions)
        work = partial(_sample, self.game, self.evaluation(), pace, config.weight, size)
        new = joined(values(mapper(config.engine, config.workers), work, self.run.seeds(count)))
        both = joined([self.sample, new])
        self.sample = picked(both, slice(-config.remembered, None))
        spent = time.perf_counter() - began
        return {
            "positions": len(self.sample.base),
            "positions_per_second": len(new.base) / spent,
            "turns_per_game": len(new.base) / (1 + int(new.games[-1])),
            "drawn": float((new.results == 0.5).mean()),
            "play_seconds": spent,
        }

    def learn(self) -> dict[str, float]:
        """Fit the network to the remembered positions; return the numbers to log."""
        config, began = self.config, time.perf_counter()
        torch.manual_seed(*self.run.seeds(1))
        device = config.device
        self.network.to(device)
        optimizer = torch.optim.Adam(self.network.parameters(), config.learning_rate, fused=True)
        is_held = self.sample.games % _HELD_OUT == 0
        held, learned = (torch.from_numpy(np.flatnonzero(part)) for part in (is_held, ~is_held))
        steps = max(1, config.epochs * len(learned) // config.batch_size)
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = config.learning_rate * (1 - step / steps)
            rows = learned[torch.randint(len(learned), (config.batch_size,))]
            image = self.images[torch.randint(len(self.images), ())]
            bits, base, targets, _ = self.batch(rows, image)
            loss = _loss(base + self.network(bits), targets)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if step % _RANGE_EVERY == 0 or step == steps - 1:
                self.network.keep_in_range()
        self.network.forget(torch.from_numpy(~self.seen()))
        state.check_finite(self.network)
        losses = self.losses(held)
        self.network.cpu()
        return {**losses, "learn_seconds": time.perf_counter() - began}

    @torch.no_grad()
    def losses(self, rows: torch.Tensor) -> dict[str, float]:
        """Return how well results of games are predicted, by the network and without it.

        The games are those of the rows int64[N] of the sample.
        """
        if not len(rows):
            return {}
        sums = np.zeros(3)
        for begin in range(0, len(rows), _PASS):
            some = rows[begin : begin + _PASS]
            bits, base, targets, results = self.batch(some, self.images[0])
            corrected = base + self.network(bits)
            pairs = (corrected, results), (base, results), (corrected, targets)
            sums += [len(some) * float(_loss(*pair)) for pair in pairs]
        names = "loss", "loss_uncorrected", "loss_of_targets"
        return dict(zip(names, (sums / len(rows)).tolist(), strict=True))

    def batch(self, rows: torch.Tensor, image: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return bits uint8[B, S * CELLS], base logits, targets and results float32[B].

        They are those of the rows int64[B] of the sample, seen in the image int64[S * CELLS].
        """
        some = picked(self.sample, rows.numpy())
        bits = torch.from_numpy(_bits(some.inputs))[:, image]
        base = torch.from_numpy(some.base.astype(np.float32)) * (2 / SCALE)
        targets, results = map(torch.from_numpy, (some.targets, some.results))
        return tuple(part.to(self.config.device) for part in (bits, base, targets, results))

    def seen(self) -> NDArray[np.bool_]:
        """Return which bits are set in some remembered position, bool[S * CELLS]."""
        sets = np.bitwise_or.reduce(self.sample.inputs, 0)
        seen = _bits(sets[None])[0].astype(np.bool_)
        return np.array(seen[self.images.numpy()].any(0))

    def evaluate(self) -> dict[str, float]:
        """Play the rivals and the best network; replace it if the new one reaches `gate`.

        At first the best is what the network corrects.
        """
        began = time.perf_counter()
        newest = integers(self.network)
        scores = meet(
            self.game,
            _player(self.game, corrected_evaluation(self.game, newest), self.config.limit),
            _player(self.game, self.evaluation(), self.config.limit),
            self.config.rivals,
            self.run.step,
            workers=self.config.workers if self.config.engine == "processes" else None,
        )
        is_last_chance = not self.adopted and self.run.progress() == 1  # a run has a network
        if scores[BEST] >= self.config.gate or is_last_chance:
            self.best.load_state_dict(self.network.state_dict())
            self.adopted += 1
            write_network(self.run.path / FILE, self.game, newest)
        return {**scores, "adopted": self.adopted, "gate_seconds": time.perf_counter() - began}

    def evaluation(self) -> Any:
        """Return the evaluation by the best network, at first the one that networks correct."""
        if self.adopted:
            return corrected_evaluation(self.game, integers(self.best))
        return self.game.evaluation()

    def state(self) -> training_run.State:
        """Return what a checkpoint holds."""
        sample = {f"sample.{name}": part for name, part in self.sample._asdict().items()}
        return state.flat(**self.parts()) | sample, {"adopted": self.adopted}

    def load(self, saved: Saved) -> None:
        """Continue from a checkpoint; raise BadCheckpoint if it does not fit this run."""
        self.adopted = state.whole(saved.about, "adopted")
        count = len(saved.arrays.get("sample.base", ()))
        parts: dict[str, Any] = {
            name: expect(saved.arrays, f"sample.{name}", (count, *part.shape[1:]), part.dtype)
            for name, part in self.sample._asdict().items()
        }
        self.sample = Sample(**parts)
        for name in ("targets", "results"):
            part = getattr(self.sample, name)
            if not ((part >= 0) & (part <= 1)).all():
                raise BadCheckpoint(f"sample.{name} is not between 0 and 1")
        state.load(saved.arrays, **self.parts())
        if self.adopted and not (self.run.path / FILE).exists():
            write_network(self.run.path / FILE, self.game, integers(self.best))

    def parts(self) -> dict[str, Any]:
        """Return the networks by name."""
        return {"network": self.network, "best": self.best}


def _player(game: Game, evaluation: Any, limit: str) -> MinimaxPlayer:
    """Return the player with an evaluation, and the options of `minimax` that limit it.

    Raises UnknownOption for another option, BadOption for none, and as `MinimaxPlayer`.
    """
    given = parse_options(split_options(limit))
    for name in given:
        if name not in _LIMITS:
            raise UnknownOption(f"limit={limit!r}: wanted: {format_list(_LIMITS)}; not {name}")
    if not given:
        raise BadOption(f"limit={limit!r}; wanted: options of minimax, such as {LIMIT}")
    return MinimaxPlayer(game, evaluation=evaluation, **{"table_megabytes": 4, **given})


def _sample(game: Game, *given: Any) -> Sample:
    """Play in a worker, as `search_play.play`."""
    return sample_of(game, search_games.play(game, *given))


def _bits(sets: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the bits of sets, uint64[N, S], as uint8[N, S * CELLS]."""
    in_bytes = np.ascontiguousarray(sets, "<u8").view(np.uint8)
    return np.unpackbits(in_bytes, axis=1, bitorder="little")


_loss = torch.nn.functional.binary_cross_entropy_with_logits


def charts(config: Config) -> dict[str, list[str]]:
    """Return the charts of curves.png: title and columns of the log."""
    return {
        **promotion.charts(config.make_game(), config.rivals),
        "loss of predicted results": ["loss", "loss_uncorrected"],
        "drawn games of self-play": ["drawn"],
        "positions a second": ["positions_per_second"],
        "seconds of a round": ["play_seconds", "learn_seconds", "gate_seconds"],
        "networks adopted": ["adopted"],
    }


def status(newest: Mapping[str, float]) -> str:
    """Return the state of training in a few words."""
    score = next(iter(newest[name] for name in newest if name.startswith("minimax")), None)
    against = "" if score is None else f", {score:.0%} against minimax"
    loss = f", loss {newest['loss']:.4f}" if "loss" in newest else ""
    return f"round {newest['step']:.0f}{loss}{against}"


app = command_line.command(
    "evaluation",
    main,
    Config,
    "Train the network of a learned evaluation by searches, by default for an hour.",
    {
        "rounds": "Number of rounds.",
        "depth": "Depth of the search in self-play, in turns.",
        "positions": "Positions of self-play in a round.",
        "workers": "Processes that play at once.  [default: one per core]",
        "engine": "Where they are: processes, or ray for a cluster.",
    },
    best=FILE,
)


def command() -> int:
    """Run the command line; return the exit status, 2 for bad input."""
    return run_command(app)
