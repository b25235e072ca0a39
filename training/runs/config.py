"""Configs of runs (frozen dataclasses): checks, and building them from typed or saved values."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from cc_env.errors import BadOption, UnknownOption, format_list, is_integer

Config = TypeVar("Config")


def check_wholes(config: Any, **bounds: int | tuple[int, int]) -> None:
    """Raise BadOption unless the named fields are whole numbers from these bounds, or in them."""
    for name, bound in bounds.items():
        low, *high = bound if isinstance(bound, tuple) else (bound,)
        if not is_integer(getattr(config, name), low, *high):
            wanted = " to ".join(map(str, (low, *high)))
            raise BadOption(f"{name}={getattr(config, name)!r}; it is a whole number from {wanted}")


def check_between(config: Any, low: float, high: float, *names: str) -> None:
    """Raise BadOption unless the fields are numbers from `low` to `high`."""
    for name in names:
        value = getattr(config, name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (is_number and low <= value <= high):
            raise BadOption(f"{name}={value!r}; it is {low:g} to {high:g}")


def check_limits(**limits: float | None) -> None:
    """Raise BadOption if no limit of a run is given, or one is not above 0."""
    if all(value is None for value in limits.values()):
        none = ", ".join(f"{name}=None" for name in limits)
        raise BadOption(f"{none}; give at least one of them")
    for name, value in limits.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and value > 0):
            raise BadOption(f"{name}={value!r}; it is above 0, or None for no limit")
        if value is not None and name != "minutes" and not is_integer(value, 1, 10**15):
            raise BadOption(f"{name}={value!r}; it is a whole number, or None for no limit")


def share_done(*spent: tuple[float, float | None]) -> float:
    """Return the share of a run that is done, 0 to 1, of pairs (spent, limit or None)."""
    shares = (used / limit for used, limit in spent if limit is not None)
    return min(1.0, max(shares, default=0.0))


def nested(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """Return {"a": {"b": 1}} for {"a.b": 1}; raise BadOption if a name is value and parent."""
    tree: dict[str, Any] = {}
    for name, value in pairs.items():
        *parts, last = name.split(".")
        inner = tree
        for part in parts:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise BadOption(f"{name}: {part} has a value already")
        inner[last] = value
    return tree


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the old values updated by the new ones, at all depths."""
    result = {**old, **new}
    for name in old.keys() & new.keys():
        if isinstance(old[name], Mapping) and isinstance(new[name], Mapping):
            result[name] = merged(old[name], new[name])
    return result


def build(kind: type[Config], values: Mapping[str, Any]) -> Config:
    """Return a config with these values and defaults for the rest.

    The value of a nested config is a mapping. Raises UnknownOption if there is no such field,
    BadOption if the config refuses a value.
    """
    return kind(**_ready(kind, values))


def type_of(kind: type[Any], name: str) -> Any:
    """Return the type of a field of a config, dotted if it is nested."""
    first, _, rest = name.partition(".")
    hint = get_type_hints(kind)[first]
    return type_of(hint, rest) if rest else hint


def _ready(kind: type[Any], values: Mapping[str, Any], inside: str = "") -> dict[str, Any]:
    hints, known = get_type_hints(kind), {field.name: field for field in fields(kind)}
    ready: dict[str, Any] = {}
    for name, value in values.items():
        whole = f"{inside}{name}"
        if name not in known:
            raise UnknownOption(f"there is no {whole}; there are: {format_list(known, len(known))}")
        if is_dataclass(hints[name]):
            if not isinstance(value, Mapping):
                raise BadOption(f"{whole}={value!r}; wanted {whole}.PART=VALUE")
            default = known[name].default_factory()  # type: ignore[operator]
            ready[name] = replace(default, **_ready(type(default), value, f"{whole}."))
        else:
            ready[name] = _fitting(whole, value, hints[name])
    return ready


def _fitting(name: str, value: Any, hint: Any) -> Any:
    """Return a value for a field of this type: a list as a tuple, a word as a tuple of length 1.

    Raises BadOption if the value is of another kind.
    """
    kinds = [part for part in get_args(hint) if part is not NoneType]
    if isinstance(hint, UnionType) and len(kinds) == 1:
        return value if value is None else _fitting(name, value, kinds[0])
    kind = get_origin(hint) or hint
    if kind is tuple:
        words = (value,) if isinstance(value, str) else value
        if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
            raise BadOption(f"{name}={value!r}; wanted a word, or several as ['one', 'other']")
        return tuple(words)
    if (kind is Mapping) != isinstance(value, Mapping) or (kind is str) != isinstance(value, str):
        wanted = {Mapping: f"{name}.PART=VALUE", str: "a word"}.get(kind, "a number, or None")
        raise BadOption(f"{name}={value!r}; wanted {wanted}")
    return value
