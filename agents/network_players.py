"""Learned players: a network without search, and a network with tree search.

Shapes: C planes, H rows and W columns of an observation.
"""

import math
import time
from copy import copy
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from agents.defaults import CONTEMPT
from cc_env.core.game import Game
from cc_env.core.rules import DRAW, Position, reward
from cc_env.learned_evaluation.network_file import find_evaluation, short_hash
from cc_env.match.referee import Clock, Decision
from cc_env.players.builtin import thinking_seconds
from cc_env.search.limits import check_contempt, check_limit, check_seconds
from cc_env.search.puct import PUCT, Evaluate
from cc_env.tablebase.tablebase import Tablebase

# Default number of simulations per decision.
SIMULATIONS = 64


class Prediction(NamedTuple):
    """Probabilities of legal actions, and the value, -1 to 1, for the player to move."""

    probabilities: dict[int, float]
    value: float


def predict(
    game: Game, evaluate: Evaluate, position: Position, *, mirrored: bool = True
) -> Prediction:
    """Return a network's policy and value in a position; raise IllegalAction if it is terminal.

    If `mirrored`, evaluate the symmetric images of the position in the same batch and average
    logits and values. Use it for networks that were trained on such images, unlike those of PPO.
    """
    legal, planes = game.choices(position), game.observe(position)
    images = game.symmetries if mirrored else ()
    inputs = [planes, *(_permute(planes, image.cells) for image in images)]
    actions = [legal, *(image.actions[legal] for image in images)]
    logits, values = evaluate(np.stack(inputs))
    mean = np.mean([row[ids] for row, ids in zip(logits, actions, strict=True)], 0)
    weights = np.exp(mean - mean.max(), dtype=np.float64)
    policy = (weights / weights.sum()).tolist()
    probabilities = dict(zip(legal.tolist(), policy, strict=True))
    return Prediction(probabilities, float(values.mean()))


def _permute(planes: NDArray[np.int8], cells: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return int8[C, H, W] with the cells permuted; `cells` are int64[H * W]."""
    return planes.reshape(len(planes), -1)[:, cells].reshape(planes.shape)


class _PlayerWithMemory:
    """Base of players that remember the positions of their game.

    `memory` has the positions in which the player decided and those it moved to; it can be
    transferred to a player in another process.
    """

    def __init__(self, game: Game, evaluate: Evaluate) -> None:
        self._game, self._evaluate = game, evaluate
        self.fingerprint = getattr(evaluate, "fingerprint", "")
        self.memory: tuple[Position, ...] = ()

    def for_new_game(self) -> Self:
        """Return a player for another game, with an empty memory."""
        other = copy(self)
        other.memory = ()
        return other

    def _clear_for_new_game(self, position: Position) -> None:
        """Clear the memory if the position cannot follow the last one: a new game started."""
        last = self.memory[-1] if self.memory else position
        if position != last and not any(True for _ in self._game.turns_between(last, position)):
            self.memory = ()

    def _record(self, position: Position, action: int) -> None:
        """Add a position and its successor after an action to the memory."""
        self.memory = (*self.memory, position, self._game.apply(position, action))


class PolicyPlayer(_PlayerWithMemory):
    """Takes the network's most probable action: one batch of evaluations per decision.

    Examples:

        >>> import cc_env
        >>> game = cc_env.make_game("capture_conquer")
        >>> import numpy as np
        >>> from cc_env.match.referee import Clock
        >>> player = cc_env.make_player("policy", game)
        >>> decision = player.choose(game.initial, np.random.default_rng(0), Clock())
        >>> decision.action in game.legal_actions(game.initial)
        True
    """

    def __init__(
        self,
        game: Game,
        evaluate: Evaluate,
        *,
        contempt: float = 0.0,
        mirrored: bool = True,
    ) -> None:
        """Play by the policy of a network.

        If `mirrored`, the outputs for the symmetric images of a position are averaged.

        `contempt`, -1 to 1, is subtracted from the value of a draw by repetition. Raises
        BadOption if it is out of range.
        """
        super().__init__(game, evaluate)
        check_contempt(contempt)
        self._contempt, self._mirrored = contempt, mirrored

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the most probable action that does not repeat a position of this game.

        A repetition is allowed if its value is at least the network's value of the position. It has
        the value -`contempt`, or the result by the rules of the game.
        """
        self._clear_for_new_game(position)
        probabilities, value = predict(
            self._game, self._evaluate, position, mirrored=self._mirrored
        )
        ranked = sorted(probabilities, key=probabilities.__getitem__, reverse=True)
        acceptable = (
            action for action in ranked if self._repetition_value(position, action) >= value
        )
        action = next(acceptable, ranked[0])
        self._record(position, action)
        policy = tuple((legal, probabilities[legal]) for legal in ranked)
        return Decision(action, value, {"policy": policy})

    def _repetition_value(self, position: Position, action: int) -> float:
        """Return the value of the repetition that an action causes; infinity if it causes none."""
        after = self._game.apply(position, action)
        # Positions with the same key may differ in counters.
        key = self._game.key(after)
        if all(self._game.key(earlier) != key for earlier in self.memory):
            return math.inf
        result = self._game.repetition_outcome(after)
        return reward(result, self._game.to_move(position)) if result != DRAW else -self._contempt


class AlphaZeroPlayer(_PlayerWithMemory):
    """Takes the most visited action of a tree search guided by a network.

    Examples:

        >>> import cc_env
        >>> game = cc_env.make_game("capture_conquer")
        >>> specs = "alphazero:simulations=8", "random"
        >>> players = [cc_env.make_player(spec, game) for spec in specs]
        >>> cc_env.play_match(game, players).result
        '1-0'
    """

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
        tables: Tablebase | None = None,
        evaluation: object = None,
    ) -> None:
        """Limit the search of a decision by simulations, seconds or both; default: 64 simulations.

        `batch` leaves of the tree are evaluated together. `exploration` is the weight of the policy
        in the PUCT formula. A draw by repetition has the value -`contempt`. `tables` contain exact
        values of leaves. With an `evaluation` of the game, its name or the path of a network file,
        the value of a leaf is the mean of the network's and that of a search to depth 2. Raises
        BadOption on values out of range, BadTable for a damaged table, UnknownOption for an unknown
        evaluation, OSError or BadNetwork for a file that cannot be used.
        """
        super().__init__(game, evaluate)
        leaf_evaluation = None if evaluation is None else find_evaluation(game, evaluation)
        if digest := short_hash(leaf_evaluation):
            self.fingerprint += f"-{digest}"
        check_limit("simulations", simulations)
        check_seconds(seconds)
        if simulations is None and seconds is None:
            simulations = SIMULATIONS
        self._simulations, self._seconds = simulations, seconds
        self._search = PUCT(
            game,
            evaluate,
            batch=batch,
            exploration=exploration,
            contempt=contempt,
            tables=tables,
            evaluation=leaf_evaluation,
        )

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the most visited action, or a proven win."""
        start = time.perf_counter()
        seconds = thinking_seconds(self._seconds, clock)
        self._clear_for_new_game(position)
        if seconds is not None:
            seconds = max(0.0, seconds - (time.perf_counter() - start))
        result = self._search.search(
            position,
            simulations=self._simulations,
            seconds=seconds,
            earlier=self.memory,
        )
        self._record(position, result.action)
        return Decision(result.action, result.value, result.details())
