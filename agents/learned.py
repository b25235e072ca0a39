"""Players that learned: a network alone, or a network with tree search."""

from pathlib import Path

import numpy as np

from agents.network import Evaluator, load
from cc_env.game import Game
from cc_env.players import allowance
from cc_env.referee import Clock, Decision
from cc_env.rules import Position
from cc_env.search import limits
from cc_env.search.puct import PUCT, Evaluate

SIMULATIONS = 64  # by default


class PolicyPlayer:
    """Plays what the network's policy likes best: one forward pass a decision."""

    def __init__(self, game: Game, evaluate: Evaluate) -> None:
        """Play by what `evaluate` says."""
        self._game, self._evaluate = game, evaluate

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the decision of the highest logit."""
        legal = self._game.legal_actions(position)
        logits, values = self._evaluate(self._game.observe(position)[np.newaxis])
        return Decision(int(legal[logits[0, legal].argmax()]), float(values[0]))


class AlphaZeroPlayer:
    """Plays what a tree search guided by the network finds."""

    def __init__(
        self,
        game: Game,
        evaluate: Evaluate,
        *,
        simulations: int | None = None,
        seconds: float | None = None,
        wave: int = 16,
        exploration: float = 1.5,
    ) -> None:
        """Run so many simulations or seconds a decision, 64 simulations by default.

        `wave` leaves of the tree are evaluated together; `exploration` weighs the policy against
        what was found. Raises UnknownOption on bad values.
        """
        limits.whole("simulations", simulations)
        limits.check_seconds(seconds)
        default = SIMULATIONS if simulations is None and seconds is None else simulations
        self._simulations, self._seconds = default, seconds
        self._search = PUCT(game, evaluate, wave=wave, exploration=exploration)

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the decision most visited, or one that wins for certain."""
        seconds = allowance(self._seconds, clock)
        found = self._search.search(position, simulations=self._simulations, seconds=seconds)
        return Decision(found.action, found.value, found.details())


_EVALUATORS: dict[tuple[object, ...], Evaluator] = {}  # of this process


def evaluator(path: Path, game: Game, device: str = "cpu") -> Evaluator:
    """Return the network of a file, which is read once as long as it stays as it is.

    Raises BadCheckpoint as `agents.network.load`, UnknownOption where there is no such device.
    """
    changed = path.stat().st_mtime_ns if path.exists() else None
    key = path.absolute(), changed, device, game.name, *game.options.items()
    if key not in _EVALUATORS:
        _EVALUATORS[key] = Evaluator(load(path, game)[0], device)
    return _EVALUATORS[key]
