"""Evaluation in training: the newest player against rivals and the best one so far."""

from dataclasses import dataclass

from cc_env import players
from cc_env.errors import BadOption, is_whole, listed
from cc_env.game import Game
from cc_env.referee import Player
from training import arena

NEWEST, BEST = "newest", "best"


@dataclass(frozen=True, kw_only=True)
class Rivals:
    """The players that networks are evaluated against."""

    names: tuple[str, ...] = ("random", "minimax:depth=1", "minimax:depth=3")
    anchor: str = "minimax:depth=3"  # the rival whose Elo is 0
    games: int = 40  # per opponent; even

    def __post_init__(self) -> None:
        """Raise BadOption if a player does not exist, or the number of games is not even."""
        for name in self.names:
            players.check(name)
        if self.anchor not in self.names:
            raise BadOption(
                f"anchor {self.anchor!r} is not a rival; there are: {listed(self.names)}"
            )
        if not is_whole(self.games, 2) or self.games % 2:
            raise BadOption(f"games={self.games!r}; it is even, 2 or more")


def meet(
    game: Game, newest: Player, best: Player | None, rivals: Rivals, seed: int
) -> dict[str, float]:
    """Return the newest player's score, 0 to 1, against each rival and "best", and its "elo".

    Without a best player there is no score for it.
    """
    entrants: dict[str, str | Player] = {NEWEST: newest}
    if best is not None:
        entrants[BEST] = best
    entrants |= {name: name for name in rivals.names}
    standings = arena.hold(
        entrants,
        game.name,
        options=game.options,
        games=rivals.games,
        seed=seed,
        anchor=rivals.anchor,
    ).standings
    others = [name for name in (BEST, *rivals.names) if name in entrants]
    scores = {name: standings.pair(NEWEST, name).line.score.value for name in others}
    ratings = {player.name: player.elo.value for player in standings.players}
    return {**scores, "elo": ratings[NEWEST]}
