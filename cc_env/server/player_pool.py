"""Player specs of untrusted clients, and a pool of players shared by all games.

A client's spec may name only the allowed players, never a module, a path or a program. Its options
are bounded.
"""

import gc
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import psutil

from cc_env.core.game import Game
from cc_env.errors import (
    BadOption,
    BadPlayer,
    check_integer,
    check_name,
    check_names,
    check_number,
)
from cc_env.ladder.rungs import has_ladder, rungs
from cc_env.match.referee import Player
from cc_env.play.review import shipped_tables
from cc_env.players.builtin import DEFAULT_LEVELS
from cc_env.players.specs import available_players, make_player
from cc_env.registry.options import parse_options
from cc_env.search.mcts import PLAYOUTS

MAX_SPEC_LENGTH = 80
# Lower bound of the estimated size of an idle player.
MIN_PLAYER_BYTES = 2**20

Bounds = tuple[int, int] | tuple[float, float]
ValidWords = Callable[[Game], Collection[str]]


def _levels(game: Game) -> list[str]:
    return list({**DEFAULT_LEVELS, **game.levels})


def _evaluations(game: Game) -> list[str]:
    return list(game.evaluations)


def _rung_levels(game: Game) -> list[str]:
    return [str(rung.level) for rung in rungs(game)] if has_ladder(game) else []


# Options that untrusted clients may set: the bounds of a number, or the valid words in a game.
OPTIONS: dict[str, dict[str, Bounds | ValidWords]] = {
    "ladder": {"level": _rung_levels},
    "random": {},
    "greedy": {"evaluation": _evaluations},
    "minimax": {
        "level": _levels,
        "depth": (1, 64),
        "nodes": (1, 10**9),
        "seconds": (0.01, 60.0),
        "evaluation": _evaluations,
    },
    "mcts": {
        "simulations": (1, 100_000),
        "seconds": (0.01, 60.0),
        "playout": lambda game: PLAYOUTS,
        "exploration": (0.0, 100.0),
        "evaluation": _evaluations,
    },
    "perfect": {"seconds": (0.01, 60.0)},
    "policy": {"contempt": (0.0, 1.0)},
    # The search tree, one per game, grows with the number of simulations.
    "alphazero": {
        "simulations": (1, 1000),
        "exploration": (0.0, 100.0),
        "contempt": (0.0, 1.0),
    },
    "ppo": {"contempt": (0.0, 1.0)},
}


def allowed_players(game: Game) -> dict[str, list[str]]:
    """Return the players that untrusted clients may seat in a game, each with its levels."""
    available = {*available_players(game), *game.bots}
    if not shipped_tables(game):
        available.discard("perfect")
    players: dict[str, list[str]] = {
        name: [] for name in [*OPTIONS, *game.bots] if name in available
    }
    players["minimax"] = _levels(game)
    if "ladder" in players:
        players["ladder"] = _rung_levels(game)
    return players


def normalize_spec(spec: object, game: Game) -> str:
    """Return an untrusted player spec in normal form: options sorted, floats without final zeros.

    Floats are rounded to hundredths. Raises BadOption (BadPlayer, UnknownOption) unless an
    untrusted client may seat the player in the game.
    """
    players = allowed_players(game)
    if not isinstance(spec, str) or len(spec) > MAX_SPEC_LENGTH:
        raise BadPlayer(f"player={str(spec)[:MAX_SPEC_LENGTH]!r}; expected: a player spec")
    name, _, rest = spec.partition(":")
    check_name("player", name, players)
    words = [word for word in rest.split(",") if word]
    pairs = (word if "=" in word else f"level={word}" for word in words)
    values = parse_options(pairs, {"level": False} if name == "ladder" else None)
    check_names(f"player {name}", "option", values, OPTIONS.get(name, {}))
    for option, value in values.items():
        _check_value(name, option, value, game)
    level = [str(values.pop("level"))] if "level" in values else []
    words = level + [f"{option}={_to_text(value)}" for option, value in sorted(values.items())]
    return ":".join([name, ",".join(words)] if words else [name])


def _check_value(player: str, option: str, value: object, game: Game) -> None:
    """Raise BadOption or UnknownOption for an invalid value of an allowed option.

    An option whose bounds are integers accepts only integers.
    """
    valid = OPTIONS[player][option]
    if callable(valid):
        if not isinstance(value, str):
            raise BadOption(f"{player}: {option}={value!r}; expected: a word")
        check_name(f"{option} of {game.name}", value, valid(game))
    else:
        low, high = valid
        name = f"{player}: {option}"
        if isinstance(low, int) and isinstance(high, int):
            check_integer(name, value, low, high)
        else:
            check_number(name, value, low, high)


def _to_text(value: object) -> str:
    return f"{round(value, 2):g}" if isinstance(value, float) else str(value)


class PlayerPool:
    """The players of one worker, which runs one job at a time.

    A job borrows a player. Idle players are kept for later jobs within a memory limit; the size of
    a player is the growth of this process while the player was in use.
    """

    def __init__(self, max_bytes: int) -> None:
        """Start empty; idle players may use `max_bytes` in total."""
        self._max_bytes = max_bytes
        self._process = psutil.Process()
        self._idle: OrderedDict[tuple[str, str], tuple[Player, int]] = OrderedDict()

    @contextmanager
    def borrow(self, spec: str, game: Game) -> Iterator[Player]:
        """Yield a player for exclusive use during the block.

        Raises BadOption if the player cannot be created.
        """
        key = repr(game), spec
        before = self._memory()
        player, size = self._idle.pop(key, (None, 0))
        player = player or make_player(spec, game)
        try:
            yield player
        finally:
            size = max(MIN_PLAYER_BYTES, size + self._memory() - before)
            self._idle[key] = player, size
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        count = len(self._idle)
        while sum(size for _, size in self._idle.values()) > self._max_bytes:
            self._idle.popitem(last=False)
        if len(self._idle) < count:
            # Searches contain reference cycles.
            gc.collect()

    def _memory(self) -> int:
        """Return the private memory of this process in bytes."""
        memory = self._process.memory_info()
        return int(memory.rss - getattr(memory, "shared", 0))
