"""The entrants of a tournament in memory: player specs and player objects."""

import pickle
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial

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
            raise BadPlayer(f"players: {name} twice; expected: distinct names ({advice})")
        by_name[name] = entrant
    return by_name


def register(by_name: Mapping[str, str | Player]) -> AbstractContextManager[None]:
    """Register the entrants by name during a block; raise BadPlayer as `temporary_players`."""
    factories: dict[str, PlayerFactory] = {
        name: partial(as_player, entrant) for name, entrant in by_name.items() if entrant != name
    }
    return temporary_players(**factories)


def pickle_entrants(by_name: Mapping[str, str | Player]) -> dict[str, bytes]:
    """Return pickles of the entrants that are not specs under their own names.

    Raises BadPlayer for a player that cannot be pickled.
    """
    pickles = {}
    for name, entrant in by_name.items():
        if entrant == name:
            continue
        try:
            pickles[name] = pickle.dumps(entrant)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            advice = "use workers=0, or a player spec"
            raise BadPlayer(f"player {name} cannot be pickled ({reason}); {advice}") from error
    return pickles
