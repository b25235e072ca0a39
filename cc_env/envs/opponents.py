"""Who answers on boards: a player, or a function that is told what a learner would be told.

And several of them, one drawn for each game, each asked about many boards at once.

Shapes: N boards, M of them; C planes, H rows and W columns of an observation.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Game
from cc_env.envs.arguments import check_actions
from cc_env.envs.boards import Boards, ReplyFunction
from cc_env.envs.kernels import OpponentMode
from cc_env.match.referee import Clock, Player, player_for_new_game
from cc_env.players.builtin import FunctionPlayer, PolicyFunction
from cc_env.players.specs import as_player


def make_opponent(
    opponent: str | Player | PolicyFunction | None, game: Game
) -> ReplyFunction | OpponentMode:
    """Return an opponent of an environment, as boards take it; None: whoever steps plays both.

    Raises BadOption for what is not a player's spoken name, a player or a function.
    """
    if opponent is None:
        return OpponentMode.NONE
    if isinstance(opponent, str) and opponent == "random":
        return OpponentMode.RANDOM
    player = as_player(opponent, game)
    if isinstance(player, FunctionPlayer):
        return _Asks(player.function)
    return _Plays(player)


class _Asks:
    """A function, called for one board after the other."""

    def __init__(self, function: PolicyFunction) -> None:
        self._function = function

    def __call__(self, batch: Boards, which: NDArray[np.int64]) -> list[Any]:
        planes, seats = batch.observe_movers(which), batch.to_move[which].tolist()
        told = zip(planes, batch.masks[which], seats, strict=True)
        return [
            self._function(observation.copy(), {"action_mask": mask.copy(), "seat": seat})
            for observation, mask, seat in told
        ]


class _Plays:
    """A player; on each board one made for its game, its randomness from the board's own stream."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._games: dict[int, tuple[int, Player]] = {}  # by board: the episode, and who plays it

    def __call__(self, batch: Boards, which: NDArray[np.int64]) -> list[Any]:
        return [self._choose(batch, board) for board in which.tolist()]

    def _choose(self, batch: Boards, board: int) -> Any:
        episode, player = self._games.get(board, (0, self._player))
        if episode != batch.episode(board):
            player = player_for_new_game(self._player)
            self._games[board] = batch.episode(board), player
        return player.choose(batch.position(board), batch.generator(board), Clock()).action


class DecisionBatch(NamedTuple):
    """M positions in which one opponent is to move."""

    positions: NDArray[np.uint64]  # [M, fields]
    observations: NDArray[np.int8]  # [M, C, H, W], as it sees them
    masks: NDArray[np.int8]  # [M, num_actions]


BatchPolicy = Callable[
    [DecisionBatch, np.random.Generator], NDArray[np.int64]
]  # legal actions, int64[M]


@dataclass
class Opponent:
    """Somebody whom a learner meets in a share of its games, and how the learner fared."""

    name: str
    choose: BatchPolicy
    share: float = 1.0  # of the games, as a weight
    points: list[float] = field(default_factory=list)  # of the learner: 1 a win, 0.5 a draw

    def take_points(self) -> list[float]:
        """Return the learner's points in each game that ended since the last call."""
        points, self.points = self.points, []
        return points


def wrap_player(player: str | Player, game: Game) -> BatchPolicy:
    """Return how a player, or that of a spoken name, chooses; raise BadOption if there is none.

    It is one player for all boards, so it must remember nothing of its games.
    """
    if isinstance(player, str) and player == "random":
        return random_policy
    plays = as_player(player, game)

    def choose(asked: DecisionBatch, rng: np.random.Generator) -> NDArray[np.int64]:
        positions = (type(game.initial)(*row) for row in asked.positions)
        return np.array(
            [plays.choose(position, rng, Clock()).action for position in positions], np.int64
        )

    return choose


def random_policy(asked: DecisionBatch, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random legal action in each of the M positions, int64[M]."""
    return np.asarray((asked.masks * (1 - rng.random(asked.masks.shape))).argmax(1))


class OpponentPool:
    """Opponents of which one, drawn by the shares, plays each game on N boards."""

    def __init__(self, opponents: list[Opponent], rng: np.random.Generator) -> None:
        """Let these meet the learner; more may be appended."""
        self.opponents, self.rng = opponents, rng
        self.allocate(0)
        self.seconds = 0.0  # that they took to choose, so far

    def allocate(self, count: int) -> None:
        """Meet the learner on `count` boards."""
        self.indices = np.zeros(count, np.int64)  # the opponent on each board, by index

    def draw(self, which: NDArray[np.bool_]) -> None:
        """Draw who plays the next games on these boards, bool[N]."""
        shares = np.array([opponent.share for opponent in self.opponents])
        drawn = self.rng.choice(len(shares), int(which.sum()), p=shares / shares.sum())
        self.indices[which] = drawn

    def __call__(self, batch: Boards, which: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what they choose on the boards `which`, int64[M]; each is asked once."""
        actions = np.zeros(len(which), np.int64)
        asked = DecisionBatch(
            batch.positions[which], batch.observe_movers(which), batch.masks[which]
        )
        for index in np.unique(self.indices[which]):
            of_it = self.indices[which] == index
            began = time.perf_counter()
            theirs = DecisionBatch(*(array[of_it] for array in asked))
            chosen = self.opponents[index].choose(theirs, self.rng)
            actions[of_it] = check_actions(chosen, len(theirs.masks))
            self.seconds += time.perf_counter() - began
        return actions

    def record_results(self, which: NDArray[np.bool_], rewards: NDArray[np.float32]) -> None:
        """Note the learner's rewards, float32[N], in the games that ended on the boards `which`.

        `which` is bool[N]; the rewards of other boards are ignored.
        """
        for index, reward in zip(
            self.indices[which].tolist(), rewards[which].tolist(), strict=True
        ):
            self.opponents[index].points.append((1 + reward) / 2)
