"""Players that learned: a network alone, or a network with tree search."""

import math
import time
from copy import copy
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from agents import CONTEMPT
from agents.network import Evaluator, load
from cc_env.files import fingerprint
from cc_env.game import Game
from cc_env.players import allowance
from cc_env.referee import Clock, Decision
from cc_env.rules import DRAW, Position, reward
from cc_env.search import limits
from cc_env.search.puct import PUCT, Evaluate

SIMULATIONS = 64  # by default


class Opinion(NamedTuple):
    """What a network says of a position, by one forward pass."""

    chances: dict[int, float]  # of each legal action
    value: float  # -1 to 1, to the player to move


def ask(game: Game, evaluate: Evaluate, position: Position, *, mirrored: bool = True) -> Opinion:
    """Return what a network says of a position; raise IllegalAction where the game is over.

    If `mirrored`, it is shown its mirror images too, in one batch, and what it says is averaged:
    right for a network that has learned from such images, which PPO's has not.
    """
    legal, planes = game.choices(position), game.observe(position)
    images = game.symmetries if mirrored else ()
    seen = [planes, *(_turned(planes, each.cells) for each in images)]
    named = [legal, *(each.actions[legal] for each in images)]
    logits, values = evaluate(np.stack(seen))
    mean = np.mean([row[actions] for row, actions in zip(logits, named, strict=True)], 0)
    weights = np.exp(mean - mean.max(), dtype=np.float64)
    chances = dict(zip(legal.tolist(), (weights / weights.sum()).tolist(), strict=True))
    return Opinion(chances, float(values.mean()))


def _turned(planes: NDArray[np.int8], cells: NDArray[np.int64]) -> NDArray[np.int8]:
    return planes.reshape(len(planes), -1)[:, cells].reshape(planes.shape)


class _Course:
    """The positions of the game that a player is in, as far as it was asked."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self.positions: list[Position] = []

    def arrive(self, position: Position) -> None:
        """Forget what occurred where the position cannot follow: another game began."""
        if self.positions and not self._follows(position, self.positions[-1]):
            self.positions = []

    def leave(self, position: Position, action: int) -> None:
        """Note a position, and the one after an action in it."""
        self.positions += [position, self._game.apply(position, action)]

    def has(self, position: Position) -> bool:
        """Return whether a position occurred, one with the same key: counters may differ."""
        key = self._game.key(position)
        return any(self._game.key(each) == key for each in self.positions)

    def _follows(self, position: Position, before: Position) -> bool:
        """Return whether a position is the one before, or a turn after it."""
        return position == before or any(True for _ in self._game.ways(before, position))


class _Remembers:
    """What players share that know the course of their game."""

    _game: Game
    _course: _Course

    def fresh(self) -> Self:
        """As `cc_env.referee.Player`."""
        other = copy(self)
        other._course = _Course(self._game)
        return other


class PolicyPlayer(_Remembers):
    """Plays what the network likes best: one forward pass a decision."""

    def __init__(
        self,
        game: Game,
        evaluate: Evaluate,
        *,
        contempt: float = CONTEMPT,
        mirrored: bool = True,
    ) -> None:
        """Play by what `evaluate` says, of mirror images too if `mirrored`, see `ask`.

        `contempt` is what a draw by repetition is thought to cost, of a win's 1. Raises
        UnknownOption where it is not -1 to 1.
        """
        limits.check_contempt(contempt)
        self._game, self._evaluate, self._contempt = game, evaluate, contempt
        self._mirrored = mirrored
        self.fingerprint = getattr(evaluate, "fingerprint", "")
        self._course = _Course(game)

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the likeliest decision that does not come back to what occurred in the game.

        It may where the network expects less than that is worth: -`contempt`, or what the rules of
        the game make of it.
        """
        self._course.arrive(position)
        chances, value = ask(self._game, self._evaluate, position, mirrored=self._mirrored)
        likeliest = sorted(chances, key=chances.__getitem__, reverse=True)
        may = (each for each in likeliest if self._repeats(position, each) >= value)
        action = next(may, likeliest[0])
        self._course.leave(position, action)
        shares = tuple((each, chances[each]) for each in likeliest)
        return Decision(action, value, {"policy": shares})

    def _repeats(self, position: Position, action: int) -> float:
        """Return what it is worth to come back by an action; if it does not, nothing is better."""
        after = self._game.apply(position, action)
        if not self._course.has(after):
            return math.inf
        result = self._game.repetition_outcome(after)
        return reward(result, self._game.to_move(position)) if result != DRAW else -self._contempt


class AlphaZeroPlayer(_Remembers):
    """Plays what a tree search guided by the network finds."""

    def __init__(
        self,
        game: Game,
        evaluate: Evaluate,
        *,
        simulations: int | None = None,
        seconds: float | None = None,
        batch: int = 16,
        exploration: float = 1.5,
        contempt: float = CONTEMPT,
    ) -> None:
        """Run so many simulations or seconds a decision, 64 simulations by default.

        `batch` leaves of the tree are evaluated together; `exploration` weighs the policy against
        what was found; a draw by repetition is thought to cost `contempt`, of a win's 1. Raises
        UnknownOption on bad values.
        """
        limits.whole("simulations", simulations)
        limits.check_seconds(seconds)
        default = SIMULATIONS if simulations is None and seconds is None else simulations
        self._simulations, self._seconds = default, seconds
        self._search = PUCT(game, evaluate, batch=batch, exploration=exploration, contempt=contempt)
        self.fingerprint = getattr(evaluate, "fingerprint", "")
        self._game, self._course = game, _Course(game)

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the decision most visited, or one that wins for certain."""
        began, seconds = time.perf_counter(), allowance(self._seconds, clock)
        self._course.arrive(position)
        if seconds is not None:
            seconds = max(0.0, seconds - (time.perf_counter() - began))
        found = self._search.search(
            position, simulations=self._simulations, seconds=seconds, earlier=self._course.positions
        )
        self._course.leave(position, found.action)
        return Decision(found.action, found.value, found.details())


_EVALUATORS: dict[tuple[object, ...], Evaluator] = {}  # of this process


def evaluator(path: Path, game: Game, device: str = "cpu") -> Evaluator:
    """Return the network of a file, which is read once as long as it stays as it is.

    Raises BadCheckpoint as `agents.network.load`, UnknownOption where there is no such device.
    """
    changed = path.stat().st_mtime_ns if path.exists() else None
    key = path.absolute(), changed, device, game.name, *game.options.items()
    if key not in _EVALUATORS:
        network, about = load(path, game)
        found = Evaluator(network, device, mirrored=about.get("trained") != "ppo")
        found.fingerprint = fingerprint(path)
        _EVALUATORS[key] = found
    return _EVALUATORS[key]
