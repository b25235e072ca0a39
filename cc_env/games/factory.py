"""Creation of games by name; the module of a game is imported on first use.

A name is in the catalogue, or it is the name of an importable module. The module of a game has
`make(**options) -> Game`, usually the class of the game, and optionally `read_recordings(line)`,
which yields recorded positions (`cc_env.verification.recordings`). Untrusted input may name a game
outside of the catalogue only if `cc_env.registry.import_allowlist` allows it.
"""

import copyreg
import inspect
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.errors import BadGame, CcEnvError, UnknownOption, format_list, suggest
from cc_env.learned_evaluation.network_file import add_learned_evaluation
from cc_env.registry import import_allowlist
from cc_env.registry.catalogue import GAMES
from cc_env.registry.import_allowlist import import_if_allowed
from cc_env.registry.options import option_annotations, parse_options, text_options


def make_game(name: str, /, **options: Any) -> Game:
    """Return the game `name` with these options.

    Raises UnknownOption for an unknown game or option, with a list of the valid ones; BadOption for
    a value out of range; BadGame if the module fails to create the game; BadNetwork if the network
    that the package ships for the game is damaged.

    Examples:

        >>> import cc_env
        >>> cc_env.make_game("capture_conquer", size=4)
        make_game('capture_conquer', size=4, corner=2)
    """
    valid_options = game_option_defaults(name)
    if unknown := sorted(set(options) - set(valid_options)):
        hint = f"{suggest(unknown[0], valid_options)}it has: {format_list(valid_options)}"
        raise UnknownOption(f"{name} has no option {format_list(unknown)}; {hint}")
    try:
        game = game_module(name).make(**options)
    except (CcEnvError, ImportError, OSError):
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise BadGame(f"the game {name} cannot be created: {reason}") from error
    if not isinstance(game, Game):
        raise UnknownOption(f"game {name!r}: make() returned {type(game)}; expected: a Game")
    if "num_actions" not in vars(game):
        raise BadGame(f"{name}: {type(game).__name__}.__init__ does not call super().__init__()")
    if game.name != name:
        raise BadGame(f"the game {name} has the name {game.name!r}; expected: {name!r}")
    _check_rules(game)
    _check_entry(game)
    import_allowlist.allow(name)
    copyreg.pickle(type(game), _reduce_game)
    return add_learned_evaluation(game)


def _check_rules(game: Game) -> None:
    """Raise BadGame if no rules are registered for the positions of the game."""
    position_class = type(game.initial)
    try:
        rules.outcome.function_for([position_class])  # type: ignore[attr-defined]
    except TypeError as error:
        expected = f"rules.register({position_class.__name__}, …), in the module of the game"
        raise BadGame(f"{game.name}: {error}; expected: {expected}") from None


def _check_entry(game: Game) -> None:
    """Raise BadGame if the catalogue lists other bots or formats than the game has."""
    if entry := GAMES.get(game.name):
        bots, formats = tuple(game.bots), tuple(game.formats)
        if (bots, formats) != (entry.bots, entry.formats):
            raise BadGame(
                f"{game.name}: bots {bots}, formats {formats}; "
                f"its entry in the catalogue has {entry.bots}, {entry.formats}"
            )


def _reduce_game(game: Game) -> tuple[Callable[[], Game], tuple[()]]:
    """Return the reduction of a game for pickle: `make_game` with its name and options."""
    return partial(make_game, game.name, **game.options), ()


def describe_game(game: Game) -> str:
    """Return the name of a game with the options that make it, without those that follow.

    Examples:

        >>> import cc_env
        >>> from cc_env.games.factory import describe_game
        >>> describe_game(cc_env.make_game("checkers"))
        'checkers'
        >>> describe_game(cc_env.make_game("capture_conquer", size=8))
        'capture_conquer with size=8'
    """
    options = dict(game.options)
    for name in game.options if game.name in GAMES else ():
        rest = {other: value for other, value in options.items() if other != name}
        if make_game(game.name, **rest).options == game.options:
            options = rest
    text = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"{game.name} with {text}" if text else game.name


def describe_games(stems: Iterable[str]) -> str:
    """Return the list of the games whose data is in files with these stems, see `file_stem`."""
    games = []
    for stem in sorted(stems):
        name, _, options = stem.partition("-")
        games.append(make_game(name, **parse_game_options(name, filter(None, options.split(",")))))
    return format_list(map(describe_game, games))


def game_option_defaults(name: str) -> dict[str, Any]:
    """Return the options of the game `name` with their defaults; raise UnknownOption."""
    make = game_module(name).make
    try:
        parameters = inspect.signature(make).parameters
    except (TypeError, ValueError):
        parameters = None
    if parameters is None or any(option.default is option.empty for option in parameters.values()):
        reason = "the parameters of the module's make must have defaults"
        raise UnknownOption(f"there is no game {name!r} ({reason})")
    return {option: parameter.default for option, parameter in parameters.items()}


def parse_game_options(name: str, pairs: Iterable[str]) -> dict[str, Any]:
    """Return the options of the game `name` from NAME=VALUE strings.

    Raises UnknownOption for an unknown game, BadOption as `cc_env.registry.options.parse_options`.
    """
    return parse_options(pairs, text_options(game_module(name).make))


def game_option_types(name: str) -> dict[str, Any]:
    """Return the annotations of the options of the game `name`; raise UnknownOption."""
    return option_annotations(game_module(name).make)


def game_option_values(name: str) -> dict[str, list[Any]]:
    """Return the valid values of each option of the game `name` that lists them.

    They are the metadata of the `Annotated` type of the option. Raises UnknownOption.
    """
    hints = game_option_types(name)
    values = {option: getattr(hint, "__metadata__", ()) for option, hint in hints.items()}
    return {option: list(metadata[0]) for option, metadata in values.items() if metadata}


def game_module(name: str) -> ModuleType:
    """Return the module of the game `name`; raise UnknownOption with a list of the games."""
    hint = f"there are: {format_list(sorted(GAMES))}, and any module that has a game"
    hint = suggest(name, GAMES) + hint
    if not isinstance(name, str):
        raise UnknownOption(f"there is no game {name!r}; {hint}")
    if name in GAMES:
        return import_module(GAMES[name].module)
    for game, entry in GAMES.items():
        if entry.environment == name:
            raise UnknownOption(f"{name!r} is the id of an environment; its game is {game!r}")
    try:
        module = import_if_allowed(name, name)
    except ImportError as error:
        raise UnknownOption(f"there is no game {name!r} ({error}); {hint}") from error
    if not hasattr(module, "make"):
        raise UnknownOption(f"there is no game {name!r} (the module has no function make); {hint}")
    return module
