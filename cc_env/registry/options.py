"""Options as typed on a command line: NAME=VALUE."""

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from cc_env.errors import BadOption

MAX_OPTION_LENGTH = 4096  # characters of NAME=VALUE
_QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*(?=,|$)"""
_ITEM = re.compile(rf"[^=,]*=\s*{_QUOTED}|[^,]+", re.DOTALL)
# Types of values that are Python literals.
_LITERAL_TYPES = bool, int, float, complex, bytes, tuple, list, dict, set


def parse_options(pairs: Iterable[str], texts: Mapping[str, bool] | None = None) -> dict[str, Any]:
    """Parse NAME=VALUE strings; a value is a Python literal or, failing that, a string.

    `texts` are the options whose values are strings, as `text_options` returns them: their values
    are not read as other literals. Raises BadOption for a text without "=", a repeated name, or a
    text of more than MAX_OPTION_LENGTH characters.
    """
    texts = texts or {}
    options: dict[str, Any] = {}
    for pair in pairs:
        if len(pair) > MAX_OPTION_LENGTH:
            size = f"option {pair[:40]!r}… has {len(pair):,} characters"
            raise BadOption(f"{size}; expected: at most {MAX_OPTION_LENGTH:,}")
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise BadOption(f"option {pair!r}; expected: NAME=VALUE, for example size=8")
        if name in options:
            raise BadOption(f"option {pair!r}: {name} is given twice; expected: one value")
        value = _parse_value(text)
        is_valid = isinstance(value, str) or (value is None and texts.get(name, True))
        options[name] = value if is_valid or name not in texts else text
    return options


def text_options(function: Callable[..., object]) -> dict[str, bool]:
    """Return the parameters of a function that are strings, each with whether it may be None.

    Their annotations contain `str`, and no type whose values are other Python literals.
    """
    types = {
        name: joined_types(annotation) for name, annotation in option_annotations(function).items()
    }
    return {
        name: NoneType in members
        for name, members in types.items()
        if str in members and not {*members} & {*_LITERAL_TYPES}
    }


def option_annotations(function: Callable[..., object]) -> dict[str, Any]:
    """Return the annotations of the parameters of a function; none if they cannot be read."""
    try:
        parameters = inspect.signature(function, eval_str=True).parameters.values()
    # Annotations may be texts that cannot be evaluated.
    except Exception:
        return {}
    annotated = (parameter for parameter in parameters if parameter.annotation != parameter.empty)
    return {parameter.name: parameter.annotation for parameter in annotated}


def joined_types(annotation: Any) -> tuple[Any, ...]:
    """Return the types that an annotation joins, in its order."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return joined_types(arguments[0])
    if origin is Literal:
        return tuple(dict.fromkeys(map(type, arguments)))
    if origin in (Union, UnionType):
        return tuple(dict.fromkeys(kind for part in arguments for kind in joined_types(part)))
    return (origin or annotation,)


def format_option(name: str, value: object) -> str:
    """Return NAME=VALUE as `split_options` and `parse_options` read it, quoted where necessary."""
    pair = f"{name}={value}"
    if not isinstance(value, str):
        return pair
    # A quote at the beginning could be closed by one in the next option.
    is_unquoted = not value.startswith(("'", '"')) and split_options(pair) == [pair]
    return pair if is_unquoted and parse_options([pair]) == {name: value} else f"{name}={value!r}"


def split_options(text: str) -> list[str]:
    """Split a text at its commas, except those in a value that is one quoted string."""
    return [item[0].strip() for item in _ITEM.finditer(text) if item[0].strip()]


def _parse_value(text: str) -> Any:
    """Return the Python literal in a text, or the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
