"""Other players in self-play: in a share of the games one of them has a seat.

Shape: N boards.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.envs.boards import Boards
from cc_env.errors import BadOption, BadPlayer, Forfeit, IllegalAction
from cc_env.match.openings import random_opening
from cc_env.match.referee import Clock, Player, player_for_new_game
from cc_env.players.specs import check_spec, make_player

NOBODY = -1  # has the seat of an opponent


def check_opponents(names: Sequence[str], share: float) -> None:
    """Raise BadOption for an unknown player, and for a share above 0 without any."""
    for name in names:
        check_spec(name)
    if share and not names:
        share_of = f"opponents_share={share}"
        raise BadOption(f"{share_of}, but there are no opponents; name some, or set it to 0")


def make_opponents(game: Game, names: Sequence[str], share: float) -> list[tuple[str, Player]]:
    """Return the players with their names, none for a share of 0.

    Raises BadPlayer for one that cannot play this game.
    """
    return [(name, _made(name, game)) for name in names] if share else []


def _made(name: str, game: Game) -> Player:
    try:
        return make_player(name, game)
    except BadOption as error:
        raise BadPlayer(f"opponent {name}: {error}; opponents_share=0 needs none") from error


class Opponents:
    """Who else plays on which board; `seats`, int64[N], are theirs, or NOBODY."""

    def __init__(self, game: Game, names: Sequence[str], share: float, boards: int) -> None:
        """Make the players, which play in `share` of the games, 0 to 1, of so many boards.

        Raises BadPlayer for one that cannot play this game.
        """
        self.seats = np.full(boards, NOBODY, np.int64)
        self._game, self._share = game, share
        self._known = make_opponents(game, names, share)
        self._sitting: list[tuple[str, Player] | None] = [None] * boards

    def begin(
        self,
        boards: Boards,
        which: NDArray[np.bool_],
        opening_turns: int,
        rng: np.random.Generator,
    ) -> None:
        """Begin new games on some boards, bool[N], each after 0 to `opening_turns` random turns."""
        starts = [self._game.initial] * len(which)
        for board in np.flatnonzero(which).tolist():
            starts[board] = random_opening(self._game, opening_turns, rng)
            self._seat(board, rng)
        if which.any():
            boards.reset(which, starts)

    def _seat(self, board: int, rng: np.random.Generator) -> None:
        """Draw whether an opponent plays the next game on a board, which, and its seat."""
        self.seats[board], self._sitting[board] = NOBODY, None
        if rng.random() < self._share:
            index, seat = rng.integers((len(self._known), 2)).tolist()
            name, player = self._known[index]
            self.seats[board], self._sitting[board] = seat, (name, player_for_new_game(player))

    def choose(
        self, boards: Boards, actions: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Write their decisions into `actions`, int64[N]; return on which boards, bool[N].

        Raises BadPlayer where one forfeits or chooses no legal action.
        """
        decided = np.asarray(boards.to_move == self.seats)
        for board in np.flatnonzero(decided).tolist():
            sitting = self._sitting[board]
            assert sitting is not None
            actions[board] = self._chosen(*sitting, boards.position(board), rng)
        return decided

    def _chosen(
        self, name: str, player: Player, position: Position, rng: np.random.Generator
    ) -> int:
        try:
            action = player.choose(position, rng, Clock()).action
            return self._game.legal_action(position, action)
        except (Forfeit, IllegalAction) as error:
            raise BadPlayer(f"opponent {name}: {error}") from error
