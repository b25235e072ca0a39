"""Games of self-play on many boards, in a fraction of which another player has one seat.

Shape: N boards.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Game
from cc_env.envs.boards import MAX_OPENING_TURNS, Boards
from cc_env.envs.opponents import Opponent, OpponentPool
from cc_env.errors import BadOption, BadPlayer, Forfeit, IllegalAction
from cc_env.match.match import effective_repetition_limit
from cc_env.players.specs import check_spec, make_player
from training.runs.config import check_between, check_integers

# Seat of the opponent in pure self-play, and the name of that.
NO_OPPONENT, ITSELF = -1, "itself"


@dataclass(frozen=True, kw_only=True)
class GameSettings:
    """The settings of the games."""

    # Games start after 0 to `max_opening_turns` random turns.
    max_opening_turns: int = 12
    # Longer games are drawn.
    max_turns: int = 100
    # A game is drawn at this occurrence of a position.
    repetitions: int = 2
    # Player specs, and the fraction of games against them; the rest is self-play.
    opponents: tuple[str, ...] = ("minimax:depth=3", "minimax:depth=5")
    opponents_share: float = 0.25

    def check_games(self) -> None:
        """Raise BadOption for an invalid value or spec, and for a share without opponents."""
        check_integers(self, max_opening_turns=(0, MAX_OPENING_TURNS), max_turns=1, repetitions=2)
        check_between(self, 0, 1, "opponents_share")
        for spec in self.opponents:
            check_spec(spec)
        if self.opponents_share and not self.opponents:
            raise BadOption(
                f"opponents_share={self.opponents_share}, but there are no opponents; "
                "name some, or set it to 0"
            )

    def make_opponents(self, game: Game) -> list[Opponent]:
        """Return self-play, which has no player of its own, and the opponents, with their shares.

        There are no opponents if their share is 0. Raises BadPlayer for a player that cannot play
        this game.
        """
        opponents = [Opponent(ITSELF, "random", 1 - self.opponents_share)]
        for spec in self.opponents if self.opponents_share else ():
            try:
                player = make_player(spec, game)
            except BadOption as error:
                raise BadPlayer(
                    f"opponent {spec}: {error}; opponents_share=0 needs none"
                ) from error
            opponents.append(Opponent(spec, player, self.opponents_share / len(self.opponents)))
        return opponents


class SelfPlayGames:
    """Games on N boards; `seats`, int64[N], has the opponent's seat in each, or NO_OPPONENT."""

    def __init__(
        self, game: Game, settings: GameSettings, count: int, rng: np.random.Generator
    ) -> None:
        """Create `count` boards and the opponents; `start` starts the games.

        `rng` seeds all random numbers. Raises BadPlayer for a player that cannot play this game.
        """
        self.boards = Boards(
            game,
            count,
            max_turns=settings.max_turns,
            repetitions=effective_repetition_limit(game, settings.repetitions),
            max_opening_turns=settings.max_opening_turns,
        )
        self.boards.reset(streams=rng.integers(2**64, size=count, dtype=np.uint64))
        self.seats = np.full(count, NO_OPPONENT, np.int64)
        self._pool = OpponentPool(settings.make_opponents(game), game)

    def start(self, selected: NDArray[np.bool_]) -> None:
        """Start games on the selected boards, bool[N], after random turns."""
        if not selected.any():
            return
        self.boards.reset(selected)
        opponents = self._pool.indices(self.boards, np.arange(self.boards.count))
        self.seats[:] = np.where(opponents == 0, NO_OPPONENT, 1 - self.boards.seats)

    def choose(self, actions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Write the opponents' decisions into `actions`, int64[N]; return their boards, bool[N].

        Raises BadPlayer if an opponent forfeits or chooses an illegal action.
        """
        is_to_move = np.asarray(self.boards.to_move == self.seats)
        numbers = np.flatnonzero(is_to_move)
        indices = self._pool.indices(self.boards, numbers)
        for index in np.unique(indices).tolist():
            own = numbers[indices == index]
            try:
                actions[own] = self._pool.reply(index, self.boards, own)
            except (Forfeit, IllegalAction) as error:
                name = self._pool.opponents[index].name
                raise BadPlayer(f"opponent {name}: {error}") from error
        return is_to_move
