"""Types of the fields of configs, with the checks of their values.

    boards: checked.Boards = 256
    weight: Annotated[float, checked.numbers(0, 100)] = 1

`check_fields` calls the checks.
"""

from collections.abc import Callable, Iterable
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args, get_type_hints

from cc_env.envs.boards import MAX_OPENING_TURNS
from cc_env.errors import MAX_INTEGER, check_integer, check_number
from cc_env.players.specs import check_spec

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# Limits of numbers that allocate memory, since configs may be untrusted. They exceed what one
# machine can use: boards and tasks at once; samples in a buffer or a round; samples of a gradient
# step; games or positions of an evaluation; simulations of a search.
MAX_BOARDS = 2**16
MAX_SAMPLES = 10**8
MAX_BATCH_SIZE = 2**20
MAX_EVALUATIONS = 2**20
MAX_SIMULATIONS = 2**16

# Raises BadOption if a field with this name cannot have this value.
Check = Callable[[str, Any], object]


def integers(minimum: int, maximum: int = MAX_INTEGER) -> Check:
    """Return the check of a field that is an integer in `minimum`..`maximum`."""
    return partial(check_integer, minimum=minimum, maximum=maximum)


def numbers(minimum: float, maximum: float) -> Check:
    """Return the check of a field that is a number in `minimum`..`maximum`."""
    return partial(check_number, minimum=minimum, maximum=maximum)


def _check_specs(name: str, specs: Iterable[str]) -> None:
    for spec in specs:
        check_spec(spec)


# Types of fields with their checks.
Natural: TypeAlias = Annotated[int, integers(0)]
Count: TypeAlias = Annotated[int, integers(1)]
Fraction: TypeAlias = Annotated[float, numbers(0, 1)]
Boards: TypeAlias = Annotated[int, integers(1, MAX_BOARDS)]
Samples: TypeAlias = Annotated[int, integers(1, MAX_SAMPLES)]
BatchSize: TypeAlias = Annotated[int, integers(1, MAX_BATCH_SIZE)]
Simulations: TypeAlias = Annotated[int, integers(1, MAX_SIMULATIONS)]
OpeningTurns: TypeAlias = Annotated[int, integers(0, MAX_OPENING_TURNS)]
PlayerSpecs: TypeAlias = Annotated[tuple[str, ...], _check_specs]


def check_fields(config: "DataclassInstance") -> None:
    """Raise BadOption for a field whose value fails the check in its annotation.

    A field that may be None is not checked if it is None.
    """
    for name, hint in get_type_hints(type(config), include_extras=True).items():
        value = getattr(config, name)
        for check in getattr(hint, "__metadata__", ()):
            if value is not None or NoneType not in get_args(hint.__origin__):
                check(name, value)
