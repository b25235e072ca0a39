"""Players by spoken name: `random`, `minimax:depth=3`, `mcts:simulations=400`.

    NAME                       default options
    NAME:LEVEL                 a level, which is a name for several options
    NAME:OPTION=VALUE,…        these options
    program:command="…"        any program, see `cc_env.protocols.program`; values may be quoted
    PACKAGE.MODULE.CLASS:…     a class or function of another package that can be imported

The class or function is called with the game and the options as keyword arguments, and returns a
`cc_env.match.referee.Player`. `of` takes a function of observations, such as a trained policy, as
well.

"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, cast

from cc_env.core.game import Game
from cc_env.errors import BadPlayer, CcEnvError, MissingExtra, UnknownOption, format_list, suggest
from cc_env.match.referee import Player, is_player
from cc_env.players.builtin import (
    BotPlayer,
    FunctionPlayer,
    GreedyPlayer,
    MCTSPlayer,
    MinimaxPlayer,
    RandomPlayer,
    make_perfect_player,
    make_program_player,
)
from cc_env.registry import import_allowlist
from cc_env.registry.catalogue import GAMES
from cc_env.registry.import_allowlist import import_if_allowed
from cc_env.registry.options import parse_options, split_options
from cc_env.registry.plugins import import_plugin

PlayerFactory = Callable[..., Player]


def _bot(name: str) -> PlayerFactory:
    def make_bot(game: Game) -> Player:
        return BotPlayer(game, name)

    return make_bot


PLAYERS: dict[str, PlayerFactory] = {
    "random": RandomPlayer,
    "greedy": GreedyPlayer,
    "minimax": MinimaxPlayer,
    "mcts": MCTSPlayer,
    "perfect": make_perfect_player,
    "program": make_program_player,
    **{name: _bot(name) for entry in GAMES.values() for name in entry.bots},
}

# Players that `agents` registers when it is imported, at the first use of one of these names.
LEARNED_PLAYERS = "policy", "alphazero", "ppo", "memory"

_NUMBERS = {  # the option that a player's number without a name is meant for
    "minimax": "depth",
    "perfect": "depth",
    "mcts": "simulations",
    "alphazero": "simulations",
}

_PLAYS: dict[str, Callable[[Game], bool]] = {  # which games a player plays, if not all
    "perfect": lambda game: game.numbering is not None
}


def make_player(name: str, game: Game, **changes: Any) -> Player:
    """Return the player with this spoken name, for `game`; `changes` override its options.

    Raises UnknownOption for an unknown player, level or option, with a list of the known ones;
    BadOption for a value out of range; BadPlayer if the player cannot be made; BadCheckpoint and
    MissingExtra as the player does.
    """
    factory, given = _parse(name)
    try:
        player = factory(game, **{**given, **changes})
    except (CcEnvError, MissingExtra, OSError):
        raise
    except (Exception, SystemExit) as error:
        why = f"{type(error).__name__}: {error}"
        raise BadPlayer(f"player {name!r} cannot be made: {why}") from error
    if not hasattr(player, "choose"):
        raise BadPlayer(f"player {name!r} is {player!r}, which has no method choose")
    return player


def as_player(opponent: object, game: Game) -> Player:
    """Return the player that `opponent` is or names, or who plays what this function chooses.

    Raises BadPlayer for anything else, and as `make`.
    """
    if isinstance(opponent, str):
        return make_player(opponent, game)
    if isinstance(opponent, type):
        would_do = f"a player that it makes, such as {opponent.__name__}(game)"
        raise BadPlayer(f"{opponent.__name__} is a class, not a player; wanted: {would_do}")
    if is_player(opponent):
        return cast(Player, opponent)
    if callable(opponent):
        return FunctionPlayer(game, opponent)
    would_do = "a player's name, an object with choose(position, rng, clock), or a function "
    would_do += "(observation, info) -> action"
    raise BadPlayer(f"{opponent!r} is not a player; wanted: {would_do}")


def check_spec(name: str) -> None:
    """Raise UnknownOption or BadPlayer as `make` does for the name and the names of its options."""
    _parse(name)


def player_option_defaults(name: str) -> dict[str, Any]:
    """Return the options of the player with this spoken name, with their defaults.

    Raises UnknownOption and BadPlayer as `check`.
    """
    factory, _ = _parse(name)
    return _defaults(name, factory)


def register_player(
    name: str, factory: PlayerFactory, plays: Callable[[Game], bool] = lambda game: True
) -> None:
    """Register a player under a spoken name in this process; `plays` says for which games.

    Raises BadPlayer for a name that is not an identifier.
    """
    if not name.isidentifier():
        raise BadPlayer(f"a player cannot be called {name!r}: letters, digits and _ only")
    PLAYERS[name] = factory
    _PLAYS[name] = plays


def available_players(game: Game) -> list[str]:
    """Return the names of the players that play a game with these options, without making any."""
    with suppress(MissingExtra):
        _load_learned_players()
    others = {bot for entry in GAMES.values() for bot in entry.bots} - set(game.bots)
    names = [name for name in PLAYERS if name not in others]
    return [name for name in names if name not in _PLAYS or _PLAYS[name](game)]


@contextmanager
def temporary_players(**factories: PlayerFactory) -> Iterator[None]:
    """Register players while the block runs; raises BadPlayer as `register`."""
    before = dict(PLAYERS), dict(_PLAYS)
    try:
        for name, factory in factories.items():
            register_player(name, factory)
        yield
    finally:
        PLAYERS.clear()
        _PLAYS.clear()
        PLAYERS.update(before[0])
        _PLAYS.update(before[1])


def _load_learned_players() -> None:
    """Register the learned players; raise MissingExtra if `agents` cannot be imported."""
    if not PLAYERS.keys() >= set(LEARNED_PLAYERS):
        import_plugin("agents")


def _parse(name: str) -> tuple[PlayerFactory, dict[str, Any]]:
    if not isinstance(name, str):
        raise BadPlayer(f"{name!r} is not the name of a player")
    kind, _, rest = name.partition(":")
    if kind in LEARNED_PLAYERS:
        _load_learned_players()
    factory = _imported(kind) if "." in kind else PLAYERS.get(kind)
    if factory is None:
        names = sorted({*PLAYERS, *LEARNED_PLAYERS})
        known = f"there are: {format_list(names, 99)}, "
        known += "and MODULE.NAME of any module that can be imported"
        raise UnknownOption(f"there is no player {kind!r}; {suggest(kind, names)}{known}")
    defaults = _defaults(kind, factory)
    words = split_options(rest)
    levels = [word for word in words if "=" not in word]
    numbers = [level for level in levels if level.isdecimal()]
    if numbers and kind in _NUMBERS:
        near = f"{kind}:{_NUMBERS[kind]}={numbers[0]}"
        raise UnknownOption(f"player {kind} has no level {numbers[0]!r}; did you mean {near}?")
    if levels and "level" not in defaults:
        raise UnknownOption(f"player {kind} has no levels, such as {levels[0]!r}")
    given = parse_options(word if "=" in word else f"level={word}" for word in words)
    if unknown := sorted(set(given) - set(defaults)):
        has = format_list(_with_values(defaults)) or "none"
        has = f"{suggest(unknown[0], defaults)}it has: {has}"
        raise UnknownOption(f"player {kind} has no option {format_list(unknown)}; {has}")
    if factory is make_program_player:
        import_allowlist.check_program(str(given.get("command")))
    return factory, given


def _defaults(kind: str, factory: PlayerFactory) -> dict[str, Any]:
    """Return a player's options with their defaults; raise BadPlayer if it takes no game."""
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    if not parameters:
        raise BadPlayer(f"player {kind!r} cannot be made with a game: it takes no arguments")
    return {parameter.name: parameter.default for parameter in parameters[1:]}


def _with_values(defaults: Mapping[str, Any]) -> list[str]:
    """Return the names of options, those with a default other than None as NAME=VALUE."""
    return [name if value is None else f"{name}={value}" for name, value in defaults.items()]


def _imported(path: str) -> PlayerFactory:
    module, _, name = path.rpartition(".")
    try:
        factory = getattr(import_if_allowed(module, path), name)
    except (ImportError, AttributeError) as error:
        raise BadPlayer(f"player {path!r} cannot be imported: {error}") from error
    if not callable(factory):
        raise BadPlayer(f"player {path!r} is not a class or a function: {factory!r}")
    import_allowlist.allow(path)
    return factory  # type: ignore[no-any-return]
