"""The games, by name, each in a module of this folder that is imported when first asked for.

Any other name is that of an importable module with somebody else's game: it has a function
`make(**options) -> Game`, and may have `read_recordings(line)`, see
`cc_env.verification.recordings`. A file may name such a game only if
`cc_env.registry.import_allowlist` allows it.
"""

import copyreg
import inspect
from importlib import import_module
from types import ModuleType
from typing import Any, get_type_hints

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.errors import BadGame, CcEnvError, UnknownOption, format_list, suggest
from cc_env.learned_evaluation.network_file import add_learned_evaluation
from cc_env.registry import import_allowlist
from cc_env.registry.catalogue import GAMES
from cc_env.registry.import_allowlist import import_if_allowed


def make_game(name: str, /, **options: Any) -> Game:
    """Return the game `name` with these options.

    Raises UnknownOption for an unknown game or option, with a list of the known ones; BadOption for
    a value out of range; BadGame if its module fails to make the game; BadNetwork where the network
    that the package has for it is damaged.
    """
    known = game_option_defaults(name)
    if unknown := sorted(set(options) - set(known)):
        has = f"{suggest(unknown[0], known)}it has: {format_list(known)}"
        raise UnknownOption(f"{name} has no option {format_list(unknown)}; {has}")
    try:
        game = game_module(name).make(**options)
    except (CcEnvError, ImportError, OSError):
        raise
    except Exception as error:  # in a module of another package
        why = f"{type(error).__name__}: {error}"
        raise BadGame(f"the game {name} cannot be made: {why}") from error
    if not isinstance(game, Game):
        raise UnknownOption(f"there is no game {name!r} (what its make returns is not a Game)")
    if game.name != name:  # records would not find it again
        raise BadGame(f"the game {name} calls itself {game.name!r}; wanted: its name here")
    _check_rules(game)
    _check_entry(game)
    import_allowlist.allow(name)
    return add_learned_evaluation(game)


def _check_rules(game: Game) -> None:
    """Raise BadGame if no rules are registered for the positions of the game."""
    kind = type(game.initial)
    try:
        rules.outcome.function_for([kind])  # type: ignore[attr-defined]
    except TypeError as error:
        wanted = f"rules.register({kind.__name__}, …), in the module of the game"
        raise BadGame(f"{game.name}: {error}; wanted: {wanted}") from None


def _check_entry(game: Game) -> None:
    """Raise BadGame if the catalogue lists other bots or formats than the game has."""
    if entry := GAMES.get(game.name):
        bots, formats = tuple(game.search.bots), tuple(game.notation.formats)
        if (bots, formats) != (entry.bots, entry.formats):
            has, wanted = f"bots {bots}, formats {formats}", f"{entry.bots}, {entry.formats}"
            raise BadGame(f"{game.name}: {has}; its entry in the catalogue has {wanted}")


def _unpickled(name: str, options: dict[str, Any]) -> Game:
    return make_game(name, **options)


copyreg.pickle(Game, lambda game: (_unpickled, (game.name, dict(game.options))))


def game_option_defaults(name: str) -> dict[str, Any]:
    """Return the options of the game `name` with their defaults; raise UnknownOption."""
    maker = game_module(name).make
    parameters = inspect.signature(maker).parameters if inspect.isfunction(maker) else None
    if parameters is None or any(option.default is option.empty for option in parameters.values()):
        raise UnknownOption(f"there is no game {name!r} (its make wants more than options)")
    return {option: parameter.default for option, parameter in parameters.items()}


def game_option_values(name: str) -> dict[str, list[Any]]:
    """Return the possible values of those options of the game `name` that have few of them.

    They stand in the `Annotated` types of its `make`. Raises UnknownOption.
    """
    game_option_defaults(name)
    hints = get_type_hints(game_module(name).make, include_extras=True)
    values = {option: getattr(hint, "__metadata__", ()) for option, hint in hints.items()}
    return {option: list(some[0]) for option, some in values.items() if some}


def game_module(name: str) -> ModuleType:
    """Return the module of the game `name`; raise UnknownOption with the games that there are."""
    there = f"there are: {format_list(sorted(GAMES))}, and any module that has a game"
    there = suggest(name, GAMES) + there
    if not isinstance(name, str):
        raise UnknownOption(f"there is no game {name!r}; {there}")
    if name in GAMES:
        return import_module(GAMES[name].module)
    if of_id := [game for game, entry in GAMES.items() if entry.environment == name]:
        raise UnknownOption(f"{name!r} is the id of an environment; its game is {of_id[0]!r}")
    try:
        loaded = import_if_allowed(name, name)
    except ImportError as error:
        raise UnknownOption(f"there is no game {name!r} ({error}); {there}") from error
    if not hasattr(loaded, "make"):
        raise UnknownOption(f"there is no game {name!r} (the module has no function make); {there}")
    return loaded
