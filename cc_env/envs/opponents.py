"""The opponents of learners, in single games, on many boards, and in training.

Shapes: N boards, M of them; K opponents; C planes, H rows and W columns of an observation.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Game
from cc_env.envs.arguments import check_actions
from cc_env.envs.boards import Boards, BoardsOpponent, CompiledOpponent
from cc_env.errors import BadOption, as_int, is_number
from cc_env.match.referee import (
    Clock,
    Player,
    check_decision,
    is_player,
    player_for_new_game,
)
from cc_env.players.builtin import FunctionPlayer, PolicyFunction
from cc_env.players.specs import as_player
from cc_env.search.policies import policy_of

# Appended to errors of functions, which often expect the other arguments.
_CALLS = (
    "A function as an opponent is called for each board as function(observation, info), that of "
    "an Opponent for all boards as function(batch, rng), with a DecisionBatch."
)
# Sums of a mixture's weights that differ from 1 by less are accepted.
_SUM_TOLERANCE = 1e-6
_FIRST_BOARD = np.zeros(1, np.int64)


class DecisionBatch(NamedTuple):
    """M positions in which an opponent is to move, with its observations and masks."""

    positions: NDArray[np.uint64]  # [M, fields]
    observations: NDArray[np.int8]  # [M, C, H, W]
    masks: NDArray[np.int8]  # [M, num_actions]


# (batch, random generator) -> legal actions, int64[M]
BatchPolicy = Callable[[DecisionBatch, np.random.Generator], NDArray[np.int64]]


@dataclass
class Opponent:
    """An opponent of a learner in a share of its games, and the learner's points in them.

    `player` is a player spec, a player, or a batch policy: a function that decides on all boards
    in one call, such as a network. `share` is a weight, relative to those of the other opponents.
    Both may change. A running game keeps its `Opponent`, whose new `player` decides from then on.
    A win is 1 point, a draw 0.5. `OpponentVecEnv` appends to `points` until `take_points` empties
    it; other environments do not.
    """

    name: str
    player: str | Player | BatchPolicy
    share: float = 1.0
    points: list[float] = field(default_factory=list)

    def take_points(self) -> list[float]:
        """Return the learner's points in each game that ended since the last call."""
        points, self.points = self.points, []
        return points


# One opponent, and what environments accept as opponents besides None.
AnyPlayer = str | Player | PolicyFunction | Opponent
AnyOpponent = AnyPlayer | Sequence[AnyPlayer] | Mapping[str, float]

# (boards, numbers of boards, int64[M]) -> M actions, which may be illegal
_Replies = Callable[[Boards, NDArray[np.int64]], Sequence[object] | NDArray[np.int64]]


def make_opponent(opponent: AnyOpponent | None, game: Game) -> BoardsOpponent:
    """Return the opponent of an environment, for `Boards`.

    None without an opponent. A single player that decides in compiled code becomes a
    `CompiledOpponent`. All others become a pool, also those of an `Opponent`, whose player may be
    replaced. Raises as `OpponentPool`.
    """
    if opponent is None:
        return None
    pool = OpponentPool(opponent, game)
    entries = opponent if isinstance(opponent, list | tuple) else [opponent]
    if any(isinstance(entry, Opponent) for entry in entries):
        return pool
    return pool.only_compiled() or pool


def opponent_names(opponent: BoardsOpponent) -> tuple[str, ...]:
    """Return the names of the opponents of boards by index, () if the caller plays both sides."""
    if isinstance(opponent, OpponentPool):
        return tuple(each.name for each in opponent.opponents)
    if isinstance(opponent, CompiledOpponent):
        return (opponent.name,)
    return ()


def sampling_pool(opponent: BoardsOpponent) -> "OpponentPool | None":
    """Return the pool from which opponents are sampled, None if it is always the same one."""
    is_sampled = isinstance(opponent, OpponentPool) and not opponent.is_single
    return cast(OpponentPool, opponent) if is_sampled else None


class OpponentPool:
    """Opponents on N boards; one of them, sampled by the shares, plays each game.

    The boards store the opponents of their games. `seconds` is the time of all decisions so far.
    """

    def __init__(self, opponents: AnyOpponent, game: Game) -> None:
        """Use one opponent, a list, or a mapping from player specs to probabilities.

        The opponents of a list that are no `Opponent` have the share 1. A list of `Opponent`s is
        not copied: it may change later, and so may the list `opponents` of the pool. Raises
        BadPlayer for anything else, BadOption for an invalid player spec, share, or mixture.
        """
        self.opponents, self._game = _parse_opponents(opponents, game), game
        self.seconds = 0.0
        # A list of `Opponent`s may grow.
        self.is_single = len(self.opponents) == 1 and self.opponents is not opponents
        # The player of each opponent, by index, and its replies.
        self._replies: dict[int, tuple[object, _Replies]] = {}
        for index in range(len(self.opponents)):
            self._replies_of(index)
        self._cumulative_shares()

    def only_compiled(self) -> CompiledOpponent | None:
        """Return the replies of the only opponent if they are compiled, else None."""
        replies = self._replies_of(0)
        is_only = len(self.opponents) == 1 and isinstance(replies, CompiledOpponent)
        return cast(CompiledOpponent, replies) if is_only else None

    def opponent_indices(self, boards: Boards, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices of the opponents on the boards `numbers`, int64[M].

        The random streams of the boards draw the opponents of new games.
        """
        boards.sample_opponents(numbers, self._cumulative_shares())
        return boards.opponents[numbers]

    def opponent_index(self, boards: Boards) -> int:
        """Return the index of the opponent on the first board; faster than `opponent_indices`."""
        index = boards.opponent_index()
        is_sampled = 0 <= index < len(self.opponents)
        return index if is_sampled else int(self.opponent_indices(boards, _FIRST_BOARD)[0])

    def __call__(self, boards: Boards, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return legal actions on the boards `numbers`, int64[M], from one call of each opponent.

        The elapsed time is added to `seconds`. Raises IllegalAction if an opponent chooses anything
        else, and its own errors.
        """
        began = time.perf_counter()
        actions, indices = np.empty(len(numbers), np.int64), self.opponent_indices(boards, numbers)
        for index in np.unique(indices).tolist():
            own = np.flatnonzero(indices == index)
            actions[own] = self.reply(index, boards, numbers[own])
        self.seconds += time.perf_counter() - began
        return actions

    def reply(self, index: int, boards: Boards, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the legal actions, int64[M], of one opponent; raise as a call of the pool."""
        return _check_legal(boards, numbers, self._replies_of(index)(boards, numbers))

    def record_results(self, boards: Boards, ended: NDArray[np.bool_]) -> None:
        """Record the learner's points on the boards `ended`, bool[N]."""
        numbers = np.flatnonzero(ended)
        points = (1 + boards.rewards[numbers]) / 2
        results = zip(self.opponent_indices(boards, numbers).tolist(), points.tolist(), strict=True)
        for index, point in results:
            self.opponents[index].points.append(point)

    def _replies_of(self, index: int) -> _Replies:
        """Return the replies of an opponent; make them if its player is new."""
        opponent = self.opponents[index]
        latest, replies = self._replies.get(index, (None, None))
        if replies is None or latest is not opponent.player:
            replies = _make_replies(opponent.name, opponent.player, self._game)
            self._replies[index] = opponent.player, replies
        return replies

    def _cumulative_shares(self) -> NDArray[np.float64]:
        """Return the cumulative shares of the opponents, float64[K]; raise BadOption."""
        shares = [opponent.share for opponent in self.opponents]
        if not all(is_number(share, 0) for share in shares) or not sum(shares) > 0:
            names = [opponent.name for opponent in self.opponents]
            expected = "numbers of 0 or more, one of them positive"
            raise BadOption(f"the shares of {names} are {shares}; expected: {expected}")
        return np.cumsum(shares, dtype=np.float64)


def _parse_opponents(opponents: AnyOpponent, game: Game) -> list[Opponent]:
    """Return a list of opponents; raise as `OpponentPool`."""
    if isinstance(opponents, Mapping):
        return [Opponent(spec, spec, share) for spec, share in _check_mixture(opponents).items()]
    if not isinstance(opponents, list | tuple):
        opponents = [cast(AnyPlayer, opponents)]
    if not opponents:
        raise BadOption("the list of opponents is empty; expected: at least one")
    if isinstance(opponents, list) and all(isinstance(each, Opponent) for each in opponents):
        return cast(list[Opponent], opponents)
    return [
        opponent if isinstance(opponent, Opponent) else _as_opponent(opponent, game)
        for opponent in opponents
    ]


def _as_opponent(player: str | Player | PolicyFunction, game: Game) -> Opponent:
    """Return an opponent with the share 1: a spec is its own name, a function has its own."""
    name = player if isinstance(player, str) else getattr(player, "__name__", "")
    return Opponent(name or type(player).__name__, as_player(player, game))


def _check_mixture(mixture: Mapping[str, float]) -> Mapping[str, float]:
    """Return the probabilities of player specs; raise BadOption if they are invalid."""
    text = f"mixture {dict(mixture)!r}"
    if not mixture or not all(isinstance(spec, str) for spec in mixture):
        raise BadOption(f"{text}; expected: player specs and their probabilities")
    weights = list(mixture.values())
    if not all(is_number(weight, 0) for weight in weights):
        raise BadOption(f"{text}; expected: probabilities of 0 or more")
    if abs(sum(weights) - 1) > _SUM_TOLERANCE:
        raise BadOption(f"{text}; the probabilities add up to {sum(weights):.9g}; expected: 1")
    return mixture


def _check_legal(
    boards: Boards, numbers: NDArray[np.int64], replies: Sequence[object] | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return an opponent's actions as int64[M]; raise IllegalAction if one is not legal."""
    valid = range(boards.game.num_actions)
    if isinstance(replies, np.ndarray) and replies.dtype == np.int64:
        actions = np.where((replies >= 0) & (replies < len(valid)), replies, -1)
    else:
        integers = map(as_int, replies)
        actions = np.array([action if action in valid else -1 for action in integers], np.int64)
    is_legal = (actions >= 0) & (boards.masks[numbers, actions] == 1)
    if not is_legal.all():
        first_illegal = int(is_legal.argmin())
        position = boards.position(int(numbers[first_illegal]))
        raise boards.game.illegal_action(position, replies[first_illegal])
    return actions


def _make_replies(name: str, player: str | Player | BatchPolicy, game: Game) -> _Replies:
    """Return the replies of an opponent's player; raise BadPlayer or BadOption."""
    if callable(player) and not is_player(player) and not isinstance(player, type):
        return partial(_batch_replies, player)
    player = as_player(player, game)
    if isinstance(player, FunctionPlayer):
        return partial(_function_replies, player.function)
    policy = policy_of(player)
    return _PlayerReplies(player) if policy is None else CompiledOpponent(name, player, policy)


def _batch_replies(
    choose: BatchPolicy, boards: Boards, numbers: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the replies of a batch policy; its generator is that of the first board."""
    planes = boards.observe_movers(numbers)
    batch = DecisionBatch(boards.positions[numbers], planes, boards.masks[numbers])
    rng = boards.generator(int(numbers[0]))
    with _errors_with_note():
        actions = choose(batch, rng)
    return check_actions(actions, len(numbers))


def _function_replies(
    function: PolicyFunction, boards: Boards, numbers: NDArray[np.int64]
) -> list[object]:
    """Return the replies of a policy function, called for each board."""
    planes, seats = boards.observe_movers(numbers), boards.to_move[numbers].tolist()
    inputs = zip(planes, boards.masks[numbers], seats, strict=True)
    with _errors_with_note():
        return [
            function(observation.copy(), {"action_mask": mask.copy(), "seat": seat})
            for observation, mask, seat in inputs
        ]


@contextmanager
def _errors_with_note() -> Iterator[None]:
    """Append a note about the arguments of functions to errors in the block."""
    try:
        yield
    except Exception as error:
        error.add_note(_CALLS)
        raise


class _PlayerReplies:
    """Replies of a player, with random numbers from the board's stream.

    A new copy of the player (`player_for_new_game`) plays each episode.
    """

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
        decision = player.choose(boards.position(board), boards.generator(board), Clock())
        return check_decision(decision).action
