"""Who answers on boards: a player, or a function that is told what a learner would be told."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env import players
from cc_env.envs import boards
from cc_env.envs.boards import Boards
from cc_env.envs.kernels import Replies
from cc_env.game import Game
from cc_env.referee import Clock, Player, fresh

Function = Callable[[NDArray[np.int8], dict[str, Any]], Any]  # (observation, info) -> action


def of(opponent: str | Player | Function | None, game: Game) -> boards.Opponent | Replies:
    """Return an opponent of an environment, as boards take it; None: whoever steps plays both.

    Raises UnknownOption for what is not a player's spoken name, a player or a function.
    """
    if opponent is None:
        return Replies.NONE
    if opponent == "random":
        return Replies.RANDOM
    if callable(opponent) and not hasattr(opponent, "choose"):
        return _Asks(opponent)
    return _Plays(players.of(opponent, game))


class _Asks:
    """A function, called for one board after the other."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def __call__(self, batch: Boards, which: NDArray[np.int64]) -> list[Any]:
        planes, seats = batch.seen_by_movers(which), batch.to_move[which].tolist()
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
            player = fresh(self._player)
            self._games[board] = batch.episode(board), player
        return player.choose(batch.position(board), batch.generator(board), Clock()).action
