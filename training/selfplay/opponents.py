"""Opponents in self-play: other players that have one seat in a fraction of the games.

Shape: N boards.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Game
from cc_env.envs.boards import Boards
from cc_env.errors import BadOption, BadPlayer, Forfeit, IllegalAction
from cc_env.match.openings import random_opening
from cc_env.match.referee import Clock, Player, player_for_new_game
from cc_env.players.specs import check_spec, make_player

# Seat of the opponent in pure self-play.
NO_OPPONENT = -1


def check_opponents(specs: Sequence[str], share: float) -> None:
    """Raise BadOption for an invalid player spec, and for a share above 0 without opponents."""
    for spec in specs:
        check_spec(spec)
    if share and not specs:
        raise BadOption(
            f"opponents_share={share}, but there are no opponents; name some, or set it to 0"
        )


def make_opponents(game: Game, specs: Sequence[str], share: float) -> list[tuple[str, Player]]:
    """Return the players with their specs, none for a share of 0.

    Raises BadPlayer for a player that cannot play this game.
    """
    opponents = []
    for spec in specs if share else ():
        try:
            opponents.append((spec, make_player(spec, game)))
        except BadOption as error:
            raise BadPlayer(f"opponent {spec}: {error}; opponents_share=0 needs none") from error
    return opponents


class Opponents:
    """The opponents on N boards; `seats`, int64[N], has the seat of each, or NO_OPPONENT."""

    def __init__(self, game: Game, specs: Sequence[str], share: float, boards: int) -> None:
        """Create the players, which play in a fraction `share` of the games, 0 to 1.

        Raises BadPlayer for a player that cannot play this game.
        """
        self.seats = np.full(boards, NO_OPPONENT, np.int64)
        self._game, self._share = game, share
        self._players = make_opponents(game, specs, share)
        self._current: list[tuple[str, Player] | None] = [None] * boards

    def start_games(
        self,
        boards: Boards,
        selected: NDArray[np.bool_],
        opening_turns: int,
        rng: np.random.Generator,
    ) -> None:
        """Start games on the selected boards, bool[N], after 0 to `opening_turns` random turns."""
        starts = [self._game.initial] * len(selected)
        for board in np.flatnonzero(selected).tolist():
            starts[board] = random_opening(self._game, opening_turns, rng)
            self._draw_opponent(board, rng)
        if selected.any():
            boards.reset(selected, starts)

    def _draw_opponent(self, board: int, rng: np.random.Generator) -> None:
        """Draw the opponent of the next game on a board, if any, and its seat."""
        self.seats[board], self._current[board] = NO_OPPONENT, None
        if rng.random() < self._share:
            index, seat = rng.integers((len(self._players), 2)).tolist()
            spec, player = self._players[index]
            self.seats[board], self._current[board] = seat, (spec, player_for_new_game(player))

    def choose(
        self, boards: Boards, actions: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Write the opponents' decisions into `actions`, int64[N]; return their boards, bool[N].

        Raises BadPlayer if an opponent forfeits or chooses an illegal action.
        """
        is_to_move = np.asarray(boards.to_move == self.seats)
        for board in np.flatnonzero(is_to_move).tolist():
            opponent = self._current[board]
            assert opponent is not None
            spec, player = opponent
            position = boards.position(board)
            try:
                action = player.choose(position, rng, Clock()).action
                actions[board] = self._game.check_action(position, action)
            except (Forfeit, IllegalAction) as error:
                raise BadPlayer(f"opponent {spec}: {error}") from error
        return is_to_move
