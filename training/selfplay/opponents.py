"""Games of self-play on many boards, in a fraction of which another player has one seat.

Shape: N boards.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Game
from cc_env.envs.boards import Boards
from cc_env.errors import BadOption, BadPlayer, Forfeit, IllegalAction
from cc_env.match.match import effective_repetition_limit
from cc_env.match.openings import random_opening
from cc_env.match.referee import Clock, Player, player_for_new_game
from cc_env.players.specs import check_spec, make_player
from training.runs.config import check_between, check_wholes

# Seat of the opponent in pure self-play.
NO_OPPONENT = -1


@dataclass(frozen=True, kw_only=True)
class GameSettings:
    """The settings of the games."""

    # Games start after 0 to `opening_turns` random turns.
    opening_turns: int = 12
    # Longer games are drawn.
    max_turns: int = 100
    # A game is drawn at this occurrence of a position.
    repetitions: int = 2
    # Player specs, and the fraction of games against them; the rest is self-play.
    opponents: tuple[str, ...] = ("minimax:depth=3", "minimax:depth=5")
    opponents_share: float = 0.25

    def check_games(self) -> None:
        """Raise BadOption for an invalid value or spec, and for a share without opponents."""
        check_wholes(self, opening_turns=0, max_turns=1, repetitions=2)
        check_between(self, 0, 1, "opponents_share")
        for spec in self.opponents:
            check_spec(spec)
        if self.opponents_share and not self.opponents:
            raise BadOption(
                f"opponents_share={self.opponents_share}, but there are no opponents; "
                "name some, or set it to 0"
            )

    def make_opponents(self, game: Game) -> list[tuple[str, Player]]:
        """Return the opponents with their specs, none for a share of 0.

        Raises BadPlayer for a player that cannot play this game.
        """
        opponents = []
        for spec in self.opponents if self.opponents_share else ():
            try:
                opponents.append((spec, make_player(spec, game)))
            except BadOption as error:
                raise BadPlayer(
                    f"opponent {spec}: {error}; opponents_share=0 needs none"
                ) from error
        return opponents


class SelfPlayGames:
    """Games on N boards; `seats`, int64[N], has the opponent's seat in each, or NO_OPPONENT."""

    def __init__(
        self, game: Game, settings: GameSettings, count: int, rng: np.random.Generator
    ) -> None:
        """Create `count` boards and the opponents; `start` starts the games.

        Raises BadPlayer for a player that cannot play this game.
        """
        self.boards = Boards(
            game,
            count,
            max_turns=settings.max_turns,
            repetitions=effective_repetition_limit(game, settings.repetitions),
        )
        self.boards.reset()
        self.seats = np.full(count, NO_OPPONENT, np.int64)
        self._game, self._settings, self._rng = game, settings, rng
        self._players = settings.make_opponents(game)
        self._current: list[tuple[str, Player] | None] = [None] * count

    def start(self, selected: NDArray[np.bool_]) -> None:
        """Start games on the selected boards, bool[N], after random turns."""
        starts = [self._game.initial] * len(selected)
        for board in np.flatnonzero(selected).tolist():
            starts[board] = random_opening(self._game, self._settings.opening_turns, self._rng)
            self._draw_opponent(board)
        if selected.any():
            self.boards.reset(selected, starts)

    def _draw_opponent(self, board: int) -> None:
        """Draw the opponent of the next game on a board, if any, and its seat."""
        self.seats[board] = NO_OPPONENT
        self._current[board] = None
        if self._rng.random() < self._settings.opponents_share:
            index, seat = self._rng.integers((len(self._players), 2)).tolist()
            spec, player = self._players[index]
            self.seats[board] = seat
            self._current[board] = spec, player_for_new_game(player)

    def choose(self, actions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Write the opponents' decisions into `actions`, int64[N]; return their boards, bool[N].

        Raises BadPlayer if an opponent forfeits or chooses an illegal action.
        """
        is_to_move = np.asarray(self.boards.to_move == self.seats)
        for board in np.flatnonzero(is_to_move).tolist():
            opponent = self._current[board]
            assert opponent is not None
            spec, player = opponent
            position = self.boards.position(board)
            try:
                action = player.choose(position, self._rng, Clock()).action
                actions[board] = self._game.check_action(position, action)
            except (Forfeit, IllegalAction) as error:
                raise BadPlayer(f"opponent {spec}: {error}") from error
        return is_to_move
