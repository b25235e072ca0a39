"""Other players in self-play: in a share of the games one of them has a seat.

Shape: N boards.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cc_env import players
from cc_env.envs.boards import Boards
from cc_env.errors import BadOption, BadPlayer
from cc_env.game import Game
from cc_env.referee import Clock, Player, fresh

NOBODY = -1  # has the seat of an opponent


def check_opponents(names: Sequence[str], share: float) -> None:
    """Raise BadOption if there is no such player, or none for a share above 0."""
    for name in names:
        players.check(name)
    if share and not names:
        share_of = f"opponents_share={share}"
        raise BadOption(f"{share_of}, but there are no opponents; name some, or set it to 0")


class Opponents:
    """Who else plays on which board."""

    def __init__(self, game: Game, names: Sequence[str], share: float, boards: int) -> None:
        """Make the players; raise BadPlayer for one that cannot play this game."""
        self.seats = np.full(boards, NOBODY, np.int64)  # of the opponents on the boards
        self._share = share
        self._known = [_made(name, game) for name in names] if share else []
        self._sitting: list[Player | None] = [None] * boards

    def begin(self, board: int, rng: np.random.Generator) -> None:
        """Draw whether an opponent plays the next game on a board, which, and its seat."""
        self.seats[board], self._sitting[board] = NOBODY, None
        if rng.random() < self._share:
            index, seat = rng.integers((len(self._known), 2)).tolist()
            self.seats[board], self._sitting[board] = seat, fresh(self._known[index])

    def choose(
        self, boards: Boards, actions: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Write their decisions into `actions`, [N]; return on which boards they decided."""
        decided = np.asarray(boards.to_move == self.seats)
        for board in np.flatnonzero(decided).tolist():
            player = self._sitting[board]
            assert player is not None
            actions[board] = player.choose(boards.position(board), rng, Clock()).action
        return decided


def _made(name: str, game: Game) -> Player:
    try:
        return players.make(name, game)
    except BadOption as error:
        raise BadPlayer(f"opponent {name}: {error}; opponents_share=0 needs none") from error
