"""Validation of arguments that all environments have in common.

Shapes: N boards.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env.core import random_streams
from cc_env.core.game import Game
from cc_env.errors import (
    BadOption,
    IllegalAction,
    UnknownKeyword,
    UnknownOption,
    as_int,
    format_list,
    suggest,
)
from cc_env.games.factory import game_option_defaults, make_game


def as_seed(value: object) -> int | None:
    """Return a seed as an int, None as None; raise BadOption if it is not a seed."""
    number = as_int(value)
    random_streams.check_seed(value if number is None else number)
    return number


def check_actions(actions: object, count: int) -> NDArray[np.int64]:
    """Return the actions of `count` boards as int64[N]; raise IllegalAction if they are invalid."""
    try:
        array = np.asarray(actions)
    except (TypeError, ValueError) as error:
        expected = f"{count} integers, one per board"
        raise IllegalAction(f"actions={actions!r:.80}; expected: {expected} ({error})") from None
    if array.dtype.kind not in "iu":
        raise IllegalAction(f"actions have the dtype {array.dtype}; expected: integers")
    if array.shape != (count,):
        raise IllegalAction(f"actions have shape {array.shape}; expected: ({count},)")
    return array.astype(np.int64, copy=False)


def check_reset_options(options: object, valid_names: Sequence[str]) -> Mapping[str, Any]:
    """Return the options of a reset, {} for None; raise BadOption or UnknownOption if invalid."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        expected = 'None or a dict, such as {"position": TEXT}'
        raise BadOption(f"options={options!r} of reset; expected: {expected}")
    if unknown := [name for name in options if name not in valid_names]:
        hint = f"{suggest(unknown[0], valid_names)}valid: {format_list(valid_names)}"
        raise UnknownOption(f"reset has no option {format_list(unknown)}; {hint}")
    return options


def make_environment_game(environment: type, game: str, options: Mapping[str, object]) -> Game:
    """Return the game of an environment class; raise UnknownKeyword, listing the valid names."""
    game_options = list(game_option_defaults(game))
    if unknown := sorted(set(options) - set(game_options)):
        parameters = inspect.signature(environment).parameters
        common = [name for name in parameters if name not in ("game", "options")]
        valid = f"options of {game}: {format_list(game_options, 99)}; "
        valid += f"of all games: {format_list(common, 99)}"
        error = f"{environment.__name__}() got an unexpected keyword argument '{unknown[0]}'"
        hint = suggest(unknown[0], common + game_options)
        if unknown[0] == "max_episode_steps" and "num_envs" in parameters:
            # Gymnasium's `make_vec` passes the limit of a spec on.
            hint = "for a limit in steps use vectorization_mode='sync' or 'async'; "
        raise UnknownKeyword(f"{error}; {hint}{valid}")
    return make_game(game, **options)
