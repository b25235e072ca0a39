"""Where a network in training stands: its policy alone meets rivals, and the best one so far."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from agents.learned import PolicyPlayer
from agents.network import Evaluator, Network
from cc_env import players
from cc_env.errors import UnknownOption, is_whole, listed
from cc_env.game import Game
from training import arena

NEWEST, BEST = "newest", "best"


@dataclass(frozen=True, kw_only=True)
class Rivals:
    """Whom networks meet."""

    names: tuple[str, ...] = ("random", "minimax:depth=1", "minimax:depth=3")
    anchor: str = "minimax:depth=3"  # the one whose Elo is 0
    games: int = 40  # against each, and against the best network; even

    def __post_init__(self) -> None:
        """Raise UnknownOption where there is no such player, or no such number of games."""
        for name in self.names:
            players.check(name)
        if self.anchor not in self.names:
            raise UnknownOption(
                f"anchor {self.anchor!r} is no rival; there are: {listed(self.names)}"
            )
        if not is_whole(self.games, 2) or self.games % 2:
            raise UnknownOption(f"games={self.games!r}; it is even, 2 or more")


def meet(
    game: Game,
    newest: Network,
    best: Network | None,
    rivals: Rivals,
    seed: int,
    **how: Any,
) -> dict[str, float]:
    """Return the scores of the newest network against each rival and "best", and its "elo".

    `how` are options of `PolicyPlayer`.
    """
    entrants = {NEWEST: newest} | ({BEST: best} if best else {})
    factories = {
        name: partial(PolicyPlayer, evaluate=Evaluator(each), **how)
        for name, each in entrants.items()
    }
    with players.named(**factories):
        found = arena.hold(
            (*entrants, *rivals.names),
            game.name,
            options=game.options,
            games=rivals.games,
            seed=seed,
            anchor=rivals.anchor,
        ).standings
    others = [name for name in (BEST, *rivals.names) if name in {*entrants, *rivals.names}]
    scores = {name: found.pair(NEWEST, name).line.score.value for name in others}
    return {**scores, "elo": next(one.elo.value for one in found.players if one.name == NEWEST)}
