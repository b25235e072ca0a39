"""Player specs: `random`, `minimax:depth=3`, `mcts:simulations=400`.

    NAME                       default options
    NAME:LEVEL                 a level, which is a name for several options
    NAME:OPTION=VALUE,…        the given options
    ladder:3                   the player at level 3 of the game's ladder, see `cc_env.ladder`
    program:command="…"        any program that plays by UGI or Cannon's protocol; values may be
                               quoted
    llm:model=NAME,url=…       a language model on a server
    PACKAGE.MODULE.NAME:…      a class or function of another package that can be imported

NAME is a policy function `(observation, info) -> action`, or it is called with the game, as its
parameter `game`, and the options as keyword arguments, and returns a
`cc_env.match.referee.Player`. `as_player` also accepts players and policy functions.
"""

import inspect
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

from cc_env.core.game import Game, check_game_object
from cc_env.errors import (
    BadPlayer,
    CcEnvError,
    MissingExtra,
    UnknownOption,
    describe_os_error,
    format_list,
    suggest,
)
from cc_env.ladder.rungs import find_rung, has_ladder
from cc_env.match.referee import Player, is_player
from cc_env.players.builtin import (
    BotPlayer,
    FunctionPlayer,
    GreedyPlayer,
    MCTSPlayer,
    MinimaxPlayer,
    RandomPlayer,
    make_perfect_player,
)
from cc_env.players.language_model import DEFAULT_URL, LanguageModelPlayer
from cc_env.players.program import ProgramPlayer
from cc_env.registry import import_allowlist
from cc_env.registry.catalogue import GAMES
from cc_env.registry.extras import extra_of_package
from cc_env.registry.import_allowlist import import_if_allowed
from cc_env.registry.options import (
    format_option,
    parse_options,
    split_options,
    text_options,
)
from cc_env.registry.plugins import import_plugin

PlayerFactory = Callable[..., Player]


def _bot(name: str) -> PlayerFactory:
    def make_bot(game: Game) -> Player:
        return BotPlayer(game, name)

    return make_bot


def _make_rung(game: Game, *, level: str = "1") -> Player:
    """Return the player of the rung with this level or name in the game's ladder."""
    return make_player(find_rung(game, level).spec, game)


PLAYERS: dict[str, PlayerFactory] = {
    "random": RandomPlayer,
    "greedy": GreedyPlayer,
    "minimax": MinimaxPlayer,
    "mcts": MCTSPlayer,
    "perfect": make_perfect_player,
    "ladder": _make_rung,
    "program": ProgramPlayer,
    "llm": LanguageModelPlayer,
    **{name: _bot(name) for entry in GAMES.values() for name in entry.bots},
}

# Players that the package `agents` registers.
LEARNED_PLAYERS = "policy", "alphazero", "ppo", "memory"

# The option to suggest for a number without a name, as in `minimax:3`.
_NUMERIC_OPTIONS = {
    "minimax": "depth",
    "perfect": "depth",
    "mcts": "simulations",
    "alphazero": "simulations",
}

# Tests of the games that a player plays; without an entry it plays all.
_SUPPORTS: dict[str, Callable[[Game], bool]] = {
    "perfect": lambda game: game.numbering is not None,
    "ladder": has_ladder,
}


def make_player(name: str, game: Game, **overrides: Any) -> Player:
    """Return the player of a player spec for `game`; `overrides` replace its options.

    Raises UnknownOption for an unknown player, level or option, with a list of the valid ones;
    BadOption for a value out of range or a `game` that is not one; BadPlayer if the player cannot
    be created; BadCheckpoint for weights that cannot be used, MissingExtra if a package that the
    player needs is missing.

    Examples:

        >>> import cc_env
        >>> game = cc_env.make_game("capture_conquer")
        >>> import numpy as np
        >>> from cc_env.match.referee import Clock
        >>> player = cc_env.make_player("minimax:depth=2", game)
        >>> decision = player.choose(game.initial, np.random.default_rng(0), Clock())
        >>> decision.action in game.legal_actions(game.initial)
        True
    """
    check_game_object(game)
    factory, spec_options = _parse(name)
    try:
        player = factory(game, **{**spec_options, **overrides})
    except CcEnvError:
        raise
    except OSError as error:
        reason = describe_os_error(error)
        raise BadPlayer(f"player {name!r} cannot be created: {reason}") from error
    except (Exception, SystemExit) as error:
        _raise_missing_extra(f"player {name!r}", error)
        reason = f"{type(error).__name__}: {error}"
        raise BadPlayer(f"player {name!r} cannot be created: {reason}") from error
    if not hasattr(player, "choose"):
        raise BadPlayer(f"player {name!r} is {player!r}, which has no method choose")
    return player


def as_player(opponent: object, game: Game) -> Player:
    """Return `opponent` if it is a player, else create it from a player spec or policy function.

    Raises BadPlayer for anything else, BadOption for an invalid player spec, BadCheckpoint for
    weights that cannot be used, MissingExtra if a package that the player needs is missing.
    """
    if isinstance(opponent, str):
        return make_player(opponent, game)
    if isinstance(opponent, type):
        expected = f"an instance, such as {opponent.__name__}(game)"
        raise BadPlayer(f"{opponent.__name__} is a class, not a player; expected: {expected}")
    if is_player(opponent):
        return cast(Player, opponent)
    if callable(opponent):
        return FunctionPlayer(game, opponent)
    expected = "a player spec, an object with choose(position, rng, clock), or a function "
    expected += "(observation, info) -> action"
    raise BadPlayer(f"{opponent!r} is not a player; expected: {expected}")


def check_spec(name: str) -> None:
    """Validate the name and the option names of a player spec.

    Raises UnknownOption for an unknown player, level or option, BadPlayer for anything else that is
    not a player spec.
    """
    _parse(name)


def player_option_defaults(name: str) -> dict[str, Any]:
    """Return the options of the player of a player spec, with their defaults.

    Raises UnknownOption for an unknown player, level or option, BadPlayer for anything else that is
    not a player spec.
    """
    factory, _ = _parse(name)
    return _option_defaults(name, factory)


def register_player(
    name: str, factory: PlayerFactory, plays: Callable[[Game], bool] = lambda game: True
) -> None:
    """Register a player for this process; a player of the same name is replaced.

    `factory(game, **options)` returns the player; its keyword parameters are the options of its
    spec. `plays(game)` returns whether it can play a game, by default all. Raises BadPlayer for a
    name that is not an identifier.
    """
    if not name.isidentifier():
        raise BadPlayer(f"player name {name!r}; expected: a Python identifier")
    PLAYERS[name] = factory
    _SUPPORTS[name] = plays


def available_players(game: Game) -> list[str]:
    """Return the names of the players that can play `game`."""
    with suppress(MissingExtra):
        _load_learned_players()
    foreign_bots = {bot for entry in GAMES.values() for bot in entry.bots} - set(game.bots)
    names = [name for name in PLAYERS if name not in foreign_bots]
    return [name for name in names if name not in _SUPPORTS or _SUPPORTS[name](game)]


@contextmanager
def temporary_players(**factories: PlayerFactory) -> Iterator[None]:
    """Register players while the block runs; raise BadPlayer for a name that is no identifier."""
    registries: tuple[dict[str, Any], ...] = PLAYERS, _SUPPORTS
    before = [dict(registry) for registry in registries]
    try:
        for name, factory in factories.items():
            register_player(name, factory)
        yield
    finally:
        # Other players that were registered in the block, such as the learned ones, stay.
        for registry, entries in zip(registries, before, strict=True):
            for name in factories:
                registry.pop(name, None)
            registry |= {name: entries[name] for name in factories if name in entries}


def _load_learned_players() -> None:
    """Register the learned players; raise MissingExtra if `agents` cannot be imported."""
    if not PLAYERS.keys() >= set(LEARNED_PLAYERS):
        import_plugin("agents")


def _parse(name: str) -> tuple[PlayerFactory, dict[str, Any]]:
    """Return the factory and the options of a player spec."""
    if not isinstance(name, str):
        raise BadPlayer(f"{name!r} is not a player spec")
    player_name, _, rest = name.partition(":")
    if player_name in LEARNED_PLAYERS:
        _load_learned_players()
    factory = _import_factory(player_name) if "." in player_name else PLAYERS.get(player_name)
    if factory is None:
        names = sorted({*PLAYERS, *LEARNED_PLAYERS})
        valid = f"there are: {format_list(names, 99)}, "
        valid += "and MODULE.NAME of any module that can be imported"
        raise UnknownOption(
            f"there is no player {player_name!r}; {suggest(player_name, names)}{valid}"
        )
    values = _parse_options(player_name, factory, split_options(rest))
    if factory is ProgramPlayer:
        import_allowlist.check_program(str(values.get("command")))
    if factory is LanguageModelPlayer:
        import_allowlist.check_server(str(values.get("url", DEFAULT_URL)))
    return factory, values


def _parse_options(name: str, factory: PlayerFactory, words: list[str]) -> dict[str, Any]:
    """Return the options of a player from the words of its spec; raise UnknownOption."""
    defaults, texts = _option_defaults(name, factory), text_options(factory)
    levels = [word for word in words if "=" not in word]
    numbers = [level for level in levels if level.isdecimal()]
    if numbers and name in _NUMERIC_OPTIONS:
        example = f"{name}:{_NUMERIC_OPTIONS[name]}={numbers[0]}"
        raise UnknownOption(f"player {name} has no level {numbers[0]!r}; did you mean {example}?")
    hint = _quoting_hint(words, defaults, texts)
    if levels and "level" not in defaults:
        raise UnknownOption(f"player {name} has no levels, such as {levels[0]!r}{hint}")
    pairs = (word if "=" in word else f"level={word}" for word in words)
    values = parse_options(pairs, texts)
    if unknown := sorted(set(values) - set(defaults)):
        options = (name if value is None else f"{name}={value}" for name, value in defaults.items())
        valid = f"{suggest(unknown[0], defaults)}it has: {format_list(options) or 'none'}"
        raise UnknownOption(f"player {name} has no option {format_list(unknown)}{hint}; {valid}")
    return values


def _quoting_hint(words: list[str], names: Collection[str], texts: Collection[str]) -> str:
    """Return advice to quote a value that was split at its commas, "" if none was.

    `names` are the names of all options, `texts` those of options with text values.
    """
    text_name, parts = "", list[str]()
    for word in words:
        name, equals, value = (part.strip() for part in word.partition("="))
        if name in names or (not equals and "level" in names):
            if len(parts) > 1:
                break
            text_name, parts = name, [value]
        elif text_name in texts:
            parts.append(word)
    if len(parts) < 2:
        return ""
    quoted = format_option(text_name, ",".join(parts))
    return f"; if it is part of {text_name}, quote the value: {quoted}"


def _option_defaults(player_name: str, factory: PlayerFactory) -> dict[str, Any]:
    """Return the options of a factory with their defaults; raise BadPlayer if it takes no game."""
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    if not parameters:
        raise BadPlayer(f"player {player_name!r} cannot be created: it takes no arguments")
    return {parameter.name: parameter.default for parameter in parameters[1:]}


def _raise_missing_extra(feature: str, error: BaseException) -> None:
    """Raise MissingExtra for an error about a missing package that an extra of cc_env installs."""
    if isinstance(error, ModuleNotFoundError) and (extra := extra_of_package(error.name)):
        raise MissingExtra(feature, str(error.name), extra) from error


def _import_factory(path: str) -> PlayerFactory:
    module, _, name = path.rpartition(".")
    try:
        factory = getattr(import_if_allowed(module, path), name)
    except (ImportError, AttributeError) as error:
        _raise_missing_extra(f"player {path!r}", error)
        raise BadPlayer(f"player {path!r} cannot be imported: {error}") from error
    if not callable(factory):
        raise BadPlayer(f"player {path!r} is not a class or a function: {factory!r}")
    import_allowlist.allow(path)
    return (lambda game: FunctionPlayer(game, factory)) if _is_policy(factory) else factory


def _is_policy(factory: Callable[..., Any]) -> bool:
    """Return whether a callable is a policy function: it requires two arguments, none a game."""
    if isinstance(factory, type):
        return False
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return False
    required = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    return len(required) == 2 and required[0] != "game"
