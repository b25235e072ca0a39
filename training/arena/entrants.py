"""Who plays a tournament in memory: spoken names, and players that are there already."""

import pickle
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from cc_env.core.game import Game
from cc_env.errors import BadPlayer
from cc_env.match.referee import Player
from cc_env.players.specs import PlayerFactory, as_player, temporary_players

Entrants = Iterable[str | Player] | Mapping[str, str | Player]


def by_name(entrants: Entrants) -> dict[str, str | Player]:
    """Return the entrants by name: spoken names under themselves, players under their class's.

    A mapping has the names already. Raises BadPlayer if two have the same.
    """
    if isinstance(entrants, Mapping):
        return dict(entrants)
    named: dict[str, str | Player] = {}
    for entrant in entrants:
        name = entrant if isinstance(entrant, str) else type(entrant).__name__
        if name in named:
            would_do = "a mapping names them: {'one': …, 'other': …}"
            raise BadPlayer(f"players: {name} twice; wanted different ones; {would_do}")
        named[name] = entrant
    return named


@contextmanager
def known(named: Mapping[str, str | Player]) -> Iterator[None]:
    """Let their names be spoken names while the block runs; raise BadPlayer as `players.named`."""
    others = {name: _factory(entrant) for name, entrant in named.items() if entrant != name}
    with temporary_players(**others):
        yield


def _factory(entrant: str | Player) -> PlayerFactory:
    def make(game: Game) -> Player:
        return as_player(entrant, game)

    return make


def pickled(named: Mapping[str, str | Player]) -> dict[str, bytes]:
    """Return what other processes make the entrants of that are not there under their own names.

    Raises BadPlayer for a player that cannot be pickled.
    """
    return {name: _pickled(name, entrant) for name, entrant in named.items() if entrant != name}


def unpickled(sent: Mapping[str, bytes], names: Iterable[str]) -> dict[str, str | Player]:
    """Return those of these names that `pickled` returned."""
    return {name: pickle.loads(sent[name]) for name in names if name in sent}


def _pickled(name: str, entrant: str | Player) -> bytes:
    try:
        return pickle.dumps(entrant)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        would_do = "workers=0 plays in this process, and a spoken name is made in each"
        raise BadPlayer(
            f"player {name} cannot go to another process ({why}); {would_do}"
        ) from error
