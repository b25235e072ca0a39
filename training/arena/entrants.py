"""The entrants of a tournament in memory: player specs and player objects."""

import pickle
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from cc_env.core.game import Game
from cc_env.errors import BadPlayer
from cc_env.match.referee import Player
from cc_env.players.specs import PlayerFactory, as_player, temporary_players

Entrants = Iterable[str | Player] | Mapping[str, str | Player]


def name_entrants(entrants: Entrants) -> dict[str, str | Player]:
    """Return the entrants by name: a spec is its own name, an object has the name of its class.

    A mapping already has names. Raises BadPlayer for a duplicate name.
    """
    if isinstance(entrants, Mapping):
        return dict(entrants)
    by_name: dict[str, str | Player] = {}
    for entrant in entrants:
        name = entrant if isinstance(entrant, str) else type(entrant).__name__
        if name in by_name:
            advice = "a mapping gives them names: {'one': …, 'other': …}"
            raise BadPlayer(f"players: {name} twice; expected distinct names; {advice}")
        by_name[name] = entrant
    return by_name


@contextmanager
def registered(by_name: Mapping[str, str | Player]) -> Iterator[None]:
    """Let their names be spoken names while the block runs; raise BadPlayer as `players.named`."""
    factories = {name: _factory(entrant) for name, entrant in by_name.items() if entrant != name}
    with temporary_players(**factories):
        yield


def _factory(entrant: str | Player) -> PlayerFactory:
    def make(game: Game) -> Player:
        return as_player(entrant, game)

    return make


def pickle_entrants(by_name: Mapping[str, str | Player]) -> dict[str, bytes]:
    """Return pickles of the entrants that are not specs under their own names.

    Raises BadPlayer for a player that cannot be pickled.
    """
    return {name: _pickle(name, entrant) for name, entrant in by_name.items() if entrant != name}


def unpickle_entrants(
    pickles: Mapping[str, bytes], names: Iterable[str]
) -> dict[str, str | Player]:
    """Return the entrants with these names that are in `pickles`."""
    return {name: pickle.loads(pickles[name]) for name in names if name in pickles}


def _pickle(name: str, entrant: str | Player) -> bytes:
    try:
        return pickle.dumps(entrant)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        advice = "use workers=0, or a player spec"
        raise BadPlayer(f"player {name} cannot be pickled ({reason}); {advice}") from error
