"""Which players untrusted clients may seat, and a pool of them that all games share.

A client's player spec names one of a list, never a module, a path or a program, and its options
have bounds.
"""

import gc
from collections import OrderedDict
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import psutil

from cc_env.core.game import Game
from cc_env.errors import BadOption, BadPlayer, UnknownOption, format_list, is_integer, is_number
from cc_env.match.referee import Player
from cc_env.players.builtin import DEFAULT_LEVELS
from cc_env.players.specs import available_players, make_player
from cc_env.registry.options import parse_options
from cc_env.search.mcts import PLAYOUTS

LONGEST = 80  # characters of a name
MIN_PLAYER_BYTES = 2**20  # that an idle player counts at least

Bounds = tuple[int, int] | tuple[float, float]

# The options that untrusted clients may give, with bounds of numbers; () is one of some words.
OPTIONS: dict[str, dict[str, Bounds | tuple[()]]] = {
    "random": {},
    "greedy": {"evaluation": ()},
    "minimax": {
        "level": (),
        "depth": (1, 64),
        "nodes": (1, 10**9),
        "seconds": (0.01, 60.0),
        "evaluation": (),
    },
    "mcts": {
        "simulations": (1, 100_000),
        "seconds": (0.01, 60.0),
        "playout": (),
        "exploration": (0.0, 100.0),
        "evaluation": (),
    },
    "policy": {"contempt": (0.0, 1.0)},
    "alphazero": {
        "simulations": (1, 1000),  # for which each game has a tree of its own
        "exploration": (0.0, 100.0),
        "contempt": (0.0, 1.0),
    },
    "ppo": {"contempt": (0.0, 1.0)},
}


def listed_players(game: Game) -> dict[str, list[str]]:
    """Return the players that untrusted clients may seat in a game, each with its levels."""
    there = [name for name in available_players(game) if name in OPTIONS]
    kinds: dict[str, list[str]] = {name: [] for name in [*there, *game.search.bots]}
    kinds["minimax"] = list({**DEFAULT_LEVELS, **game.search.levels})
    return kinds


def check(name: object, game: Game) -> str:
    """Return the spec of a player in its normal form: options in order, numbers in short.

    Seconds are rounded to hundredths. Raises BadOption unless an untrusted client may seat the
    player in the game.
    """
    known = listed_players(game)
    if not isinstance(name, str) or len(name) > LONGEST:
        raise BadPlayer(f"{str(name)[:LONGEST]!r} is not the name of a player")
    kind, _, rest = name.partition(":")
    if kind not in known:
        raise UnknownOption(
            f"there is no player {kind!r} here; there are: {format_list(known, 99)}"
        )
    words = [word for word in rest.split(",") if word]
    given = parse_options(word if "=" in word else f"level={word}" for word in words)
    allowed = OPTIONS.get(kind, {})
    if unknown := [option for option in given if option not in allowed]:
        has = format_list(allowed) or "none"
        raise UnknownOption(
            f"player {kind} has no option {format_list(unknown)} here; it has: {has}"
        )
    for option, value in given.items():
        bounds = allowed[option]
        if bounds:
            _check_number(kind, option, value, bounds)
        elif not isinstance(value, str):
            raise BadOption(f"{kind}: {option}={value!r} is not a word")
        elif value not in (valid := _words(option, known[kind], game)):
            has = format_list(valid) or "none"
            raise UnknownOption(f"{game.name} has no {option} {value!r}; it has: {has}")
    level = [str(given.pop("level"))] if "level" in given else []
    words = level + [f"{option}={_short(value)}" for option, value in sorted(given.items())]
    return ":".join([kind, ",".join(words)] if words else [kind])


def _check_number(kind: str, option: str, value: object, bounds: Bounds) -> None:
    """Raise BadOption for a number out of bounds, or a fraction where these are integers."""
    least, most = bounds
    is_valid = is_number(value, least, most)
    if not is_valid or (isinstance(least, int) and not is_integer(value, 0)):
        raise BadOption(f"{kind}: {option}={value!r}; wanted: {least:g} to {most:g}")


def _words(option: str, levels: list[str], game: Game) -> Collection[str]:
    """Return the values of an option that takes words."""
    return {
        "level": levels,
        "playout": PLAYOUTS,
        "evaluation": list(game.search.evaluations),
    }[option]


def _short(value: object) -> str:
    return f"{round(value, 2):g}" if isinstance(value, float) else str(value)


class PlayerPool:
    """The players of one worker, which has one job at a time.

    Players are borrowed for a job. Those that are idle are kept for the next one as long as all of
    them together need no more than some bytes: the growth of this process while they were in use.
    """

    def __init__(self, max_bytes: int) -> None:
        """Begin without players."""
        self._max_bytes = max_bytes
        self._process = psutil.Process()
        self._idle: OrderedDict[tuple[str, str], tuple[Player, int]] = OrderedDict()

    @contextmanager
    def borrow(self, spec: str, game: Game) -> Iterator[Player]:
        """Lend the player of this spec; raises as `players.make`."""
        before, key = self._memory(), (repr(game), spec)
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
            gc.collect()  # searches refer to themselves

    def _memory(self) -> int:
        """Return the bytes of memory that this process has for itself."""
        memory = self._process.memory_info()
        return int(memory.rss - getattr(memory, "shared", 0))
