"""Opponents of learners: single players and functions, and pools for many boards at once.

Shapes: N boards, M of them; C planes, H rows and W columns of an observation.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import random_streams
from cc_env.core.game import Game
from cc_env.envs.arguments import check_actions
from cc_env.envs.boards import Boards, CompiledOpponent, ReplyFunction
from cc_env.envs.kernels import OpponentMode
from cc_env.errors import BadOption, is_number
from cc_env.match.referee import Clock, Player, player_for_new_game
from cc_env.players.builtin import FunctionPlayer, PolicyFunction
from cc_env.players.specs import as_player
from cc_env.search.policies import Policy, decide_all

# Sums of a mixture's weights that differ from 1 by less are accepted.
_SUM_TOLERANCE = 1e-6


def make_opponent(opponent: object, game: Game) -> ReplyFunction | CompiledOpponent | OpponentMode:
    """Return the opponent of an environment, for `Boards`.

    `opponent` is None if the caller plays both sides, a player spec, a player, a policy function,
    an `Opponent`, or a mixture: a mapping from player specs to probabilities. Players with
    `make_policy`, unless it returns None, decide in compiled code. Raises BadPlayer for anything
    else, BadOption for an invalid player spec or mixture.
    """
    if opponent is None:
        return OpponentMode.NONE
    if isinstance(opponent, str) and opponent == "random":
        return OpponentMode.RANDOM
    if isinstance(opponent, Mapping):
        return _Mixture(check_mixture(opponent), game)
    replies = _make_replies(opponent, game)
    if isinstance(replies, _CompiledReplies):
        return CompiledOpponent(partial(_make_policy, replies.player))
    return replies


def check_mixture(mixture: Mapping[str, float]) -> dict[str, float]:
    """Return the probabilities of player specs; raise BadOption if they are invalid."""
    text = f"opponent={dict(mixture)!r}"
    if not mixture or not all(isinstance(spec, str) for spec in mixture):
        raise BadOption(f"{text}; expected: player specs and their probabilities")
    weights = list(mixture.values())
    if not all(is_number(weight) and weight >= 0 for weight in weights):
        raise BadOption(f"{text}; expected: probabilities of 0 or more")
    if abs(sum(weights) - 1) > _SUM_TOLERANCE:
        raise BadOption(f"{text}; the probabilities add up to {sum(weights):g}; expected: 1")
    return {str(spec): float(weight) for spec, weight in mixture.items()}


def _make_replies(opponent: object, game: Game) -> "ReplyFunction":
    """Return the decisions of one opponent, in compiled code if it can."""
    if isinstance(opponent, Opponent):
        return _BatchReplies(opponent.choose)
    player = as_player(opponent, game)
    if isinstance(player, FunctionPlayer):
        return _FunctionReplies(player.function)
    replies = _CompiledReplies(player)
    return _PlayerReplies(player) if replies.policy is None else replies


def _make_policy(player: Player) -> Policy | None:
    """Return the compiled policy of a player, or None if it has none."""
    return player.make_policy() if hasattr(player, "make_policy") else None


class _FunctionReplies:
    """Replies of a policy function, called for each board."""

    def __init__(self, function: PolicyFunction) -> None:
        self._function = function

    def __call__(self, boards: Boards, numbers: NDArray[np.int64]) -> list[object]:
        planes, seats = boards.observe_movers(numbers), boards.to_move[numbers].tolist()
        inputs = zip(planes, boards.masks[numbers], seats, strict=True)
        return [
            self._function(observation.copy(), {"action_mask": mask.copy(), "seat": seat})
            for observation, mask, seat in inputs
        ]


class _PlayerReplies:
    """Replies of a player; each board has its own copy, and random numbers from its own stream."""

    def __init__(self, player: Player) -> None:
        self._player = player
        # Episode and player by board.
        self._games: dict[int, tuple[int, Player]] = {}

    def __call__(self, boards: Boards, numbers: NDArray[np.int64]) -> list[object]:
        episodes = boards.episodes.tolist()
        return [self._choose(boards, board, episodes[board]) for board in numbers.tolist()]

    def _choose(self, boards: Boards, board: int, episode: int) -> object:
        latest_episode, player = self._games.get(board, (0, self._player))
        if episode != latest_episode:
            player = player_for_new_game(self._player)
            self._games[board] = episode, player
        return player.choose(boards.position(board), boards.generator(board), Clock()).action


class _CompiledReplies:
    """Replies of a policy in compiled code, with random numbers from the stream of each board."""

    def __init__(self, player: Player) -> None:
        self.player = player
        # None if the player cannot decide in compiled code.
        self.policy = _make_policy(player)

    def __reduce__(self) -> tuple[type, tuple[Player]]:
        # Policies contain large buffers.
        return _CompiledReplies, (self.player,)

    def __call__(self, boards: Boards, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        assert self.policy is not None
        actions, states = np.empty(len(numbers), np.int64), boards.draw_states(numbers)
        positions = boards.positions[numbers]
        decide_all(boards.game.initial, self.policy, positions, states, actions)
        return actions


class _BatchReplies:
    """Replies of a batch policy, with random numbers from the stream of the first board."""

    def __init__(self, choose: "BatchPolicy") -> None:
        self._choose = choose

    def __call__(self, boards: Boards, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        batch = _decision_batch(boards, numbers)
        actions = self._choose(batch, boards.generator(int(numbers[0])))
        return check_actions(actions, len(numbers))


class _Mixture:
    """Replies of several players; the stream of a board draws one of them for each episode."""

    def __init__(self, probabilities: Mapping[str, float], game: Game) -> None:
        self._players = [_make_replies(spec, game) for spec in probabilities]
        self._limits = np.cumsum(list(probabilities.values()))
        # `Boards` checks the actions of players that are not compiled, which may be anything.
        self._is_compiled = all(isinstance(each, _CompiledReplies) for each in self._players)
        # The episode on each board, and its player.
        self._episodes = np.zeros(0, np.uint64)
        self._indices = np.zeros(0, np.int64)

    def __call__(self, boards: Boards, numbers: NDArray[np.int64]) -> NDArray[Any]:
        if len(self._episodes) != boards.count:
            self._episodes = np.zeros(boards.count, np.uint64)
            self._indices = np.zeros(boards.count, np.int64)
        episodes = boards.episodes
        begun = numbers[self._episodes[numbers] != episodes[numbers]]
        draws = boards.draw_states(begun)
        uniform = np.array([random_streams.below(state, 1 << 32) for state in draws]) / 2**32
        last = len(self._limits) - 1
        self._indices[begun] = np.minimum(np.searchsorted(self._limits, uniform, "right"), last)
        self._episodes[begun] = episodes[begun]
        actions = np.empty(len(numbers), np.int64 if self._is_compiled else object)
        for index in np.unique(self._indices[numbers]):
            own = self._indices[numbers] == index
            replies = self._players[index](boards, numbers[own])
            if self._is_compiled:
                actions[own] = replies
                continue
            # One by one, because NumPy would broadcast replies that are arrays.
            for place, reply in zip(np.flatnonzero(own), replies, strict=True):
                actions[place] = reply
        return actions


class DecisionBatch(NamedTuple):
    """M positions in which an opponent is to move, with its observations and masks."""

    positions: NDArray[np.uint64]  # [M, fields]
    observations: NDArray[np.int8]  # [M, C, H, W]
    masks: NDArray[np.int8]  # [M, num_actions]


def _decision_batch(boards: Boards, numbers: NDArray[np.int64]) -> DecisionBatch:
    """Return the positions on the boards `numbers`, int64[M]."""
    return DecisionBatch(
        boards.positions[numbers], boards.observe_movers(numbers), boards.masks[numbers]
    )


BatchPolicy = Callable[
    [DecisionBatch, np.random.Generator], NDArray[np.int64]
]  # legal actions, int64[M]


@dataclass
class Opponent:
    """An opponent of a learner in a share of its games, and the learner's points in them.

    `share` is a weight, relative to those of the other opponents. A win is 1 point, a draw 0.5.
    """

    name: str
    choose: BatchPolicy
    share: float = 1.0
    points: list[float] = field(default_factory=list)

    def take_points(self) -> list[float]:
        """Return the learner's points in each game that ended since the last call."""
        points, self.points = self.points, []
        return points


def wrap_player(player: str | Player, game: Game) -> BatchPolicy:
    """Return a batch policy that plays as a player or player spec.

    The same player decides on all boards, so it must have no state. Players with `make_policy`
    decide in compiled code, in buffers that only one thread may use at a time. Raises BadOption if
    the player cannot be created.
    """
    if isinstance(player, str) and player == "random":
        return random_policy
    shared_player = as_player(player, game)
    policy = _make_policy(shared_player)
    if policy is not None:
        return partial(_decide_all, game, policy)

    def choose(batch: DecisionBatch, rng: np.random.Generator) -> NDArray[np.int64]:
        positions = map(game.make_position, batch.positions)
        return np.array(
            [shared_player.choose(position, rng, Clock()).action for position in positions],
            np.int64,
        )

    return choose


def _decide_all(
    game: Game, policy: Policy, batch: DecisionBatch, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the actions of a policy in the M positions of a batch, int64[M]."""
    actions = np.empty(len(batch.positions), np.int64)
    states = rng.integers(2**64, size=len(actions), dtype=np.uint64)
    decide_all(game.initial, policy, batch.positions, states, actions)
    return actions


def random_policy(batch: DecisionBatch, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random legal action in each of the M positions, int64[M]."""
    return np.asarray((batch.masks * (1 - rng.random(batch.masks.shape))).argmax(1))


# What environments accept as opponents, besides None.
AnyOpponent = str | Player | PolicyFunction | Opponent | Mapping[str, float]


class OpponentPool:
    """Opponents on N boards; one of them, drawn by the shares, plays each game.

    `indices`, int64[N], is the opponent on each board; `seconds` is the time of all decisions.
    """

    def __init__(self, opponents: list[Opponent], rng: np.random.Generator) -> None:
        """Use these opponents; more may be appended to the list."""
        self.opponents, self.rng = opponents, rng
        self.allocate(0)
        self.seconds = 0.0

    def allocate(self, count: int) -> None:
        """Prepare for `count` boards."""
        self.indices = np.zeros(count, np.int64)

    def draw(self, selected: NDArray[np.bool_]) -> None:
        """Draw the opponents of the next games on the boards `selected`, bool[N]."""
        shares = np.array([opponent.share for opponent in self.opponents])
        weights = shares / shares.sum()
        self.indices[selected] = self.rng.choice(len(shares), int(selected.sum()), p=weights)

    def __call__(self, boards: Boards, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return actions on the boards `numbers`, int64[M], from one call of each opponent."""
        actions = np.zeros(len(numbers), np.int64)
        batch = _decision_batch(boards, numbers)
        indices = self.indices[numbers]
        for index in np.unique(indices):
            own = indices == index
            began = time.perf_counter()
            own_batch = DecisionBatch(*(array[own] for array in batch))
            replies = self.opponents[index].choose(own_batch, self.rng)
            actions[own] = check_actions(replies, len(own_batch.masks))
            self.seconds += time.perf_counter() - began
        return actions

    def record_results(self, ended: NDArray[np.bool_], rewards: NDArray[np.float32]) -> None:
        """Record the learner's rewards, float32[N], of the boards in `ended`, bool[N]."""
        results = zip(self.indices[ended].tolist(), rewards[ended].tolist(), strict=True)
        for index, reward in results:
            self.opponents[index].points.append((1 + reward) / 2)
