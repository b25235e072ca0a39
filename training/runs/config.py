"""Configs of runs (frozen dataclasses): their limits, and construction from nested mappings."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from cc_env.errors import BadOption, UnknownOption, format_list, is_integer, is_number

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Config = TypeVar("Config", bound="DataclassInstance")


def check_limits(**limits: float | None) -> None:
    """Raise BadOption if a run has no limit, or a limit is not above 0."""
    if all(value is None for value in limits.values()):
        unlimited = ", ".join(f"{name}=None" for name in limits)
        raise BadOption(f"{unlimited}; set at least one of them")
    for name, value in limits.items():
        if value is None:
            continue
        if not is_number(value) or value <= 0:
            raise BadOption(f"{name}={value!r}; expected: more than 0, or None for no limit")
        if not name.endswith("minutes") and not is_integer(value, 1, 10**15):
            raise BadOption(f"{name}={value!r}; expected: an integer, or None for no limit")


def nest(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested mappings for dotted names: {"a": {"b": 1}} for {"a.b": 1}.

    Raises BadOption if "a" also has a value.
    """
    tree: dict[str, Any] = {}
    for name, value in pairs.items():
        *parts, last = name.split(".")
        inner = tree
        for part in parts:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise BadOption(f"{name}: {part} already has a value")
        inner[last] = value
    return tree


def merge(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the old values, updated recursively by the new ones."""
    result = {**old, **new}
    for name in old.keys() & new.keys():
        if isinstance(old[name], Mapping) and isinstance(new[name], Mapping):
            result[name] = merge(old[name], new[name])
    return result


def build_config(config_class: type[Config], values: Mapping[str, Any]) -> Config:
    """Return a config with these values, and defaults for the other fields.

    The value of a nested config is a mapping. Raises UnknownOption for an unknown field, BadOption
    for an invalid value.
    """
    return config_class(**_field_values(config_class, values))


def type_of(config_class: type[object], name: str) -> Any:
    """Return the type of a config field; `name` is dotted if the field is nested."""
    first, _, rest = name.partition(".")
    hint = get_type_hints(config_class)[first]
    return type_of(hint, rest) if rest else hint


def _field_values(
    config_class: "type[DataclassInstance]", values: Mapping[str, Any], prefix: str = ""
) -> dict[str, Any]:
    """Return constructor arguments for a mapping; `prefix` is the dotted path of the class."""
    hints = get_type_hints(config_class)
    own_fields = {field.name: field for field in fields(config_class)}
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        path = f"{prefix}{name}"
        if name not in own_fields:
            valid = format_list(own_fields, len(own_fields))
            raise UnknownOption(f"unknown option {path}; expected: {valid}")
        if is_dataclass(hints[name]):
            if not isinstance(value, Mapping):
                raise BadOption(f"{path}={value!r}; expected: {path}.PART=VALUE")
            default = own_fields[name].default_factory()  # type: ignore[operator]
            nested = _field_values(type(default), value, f"{path}.")
            arguments[name] = replace(default, **nested)
        else:
            arguments[name] = _convert(path, value, hints[name])
    return arguments


def _convert(name: str, value: Any, hint: Any) -> Any:
    """Return a value as the type of a field: a list as a tuple, a string as a tuple of length 1.

    Raises BadOption for a value of another type; numbers are checked by the config.
    """
    types = [part for part in get_args(hint) if part is not NoneType]
    if isinstance(hint, UnionType) and len(types) == 1:
        return value if value is None else _convert(name, value, types[0])
    base = get_origin(hint) or hint
    if base is tuple:
        words = (value,) if isinstance(value, str) else value
        if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
            raise BadOption(
                f"{name}={value!r}; expected: a string, or a list such as ['one', 'other']"
            )
        return tuple(words)
    for kind in (Mapping, str):
        if (base is kind) != isinstance(value, kind):
            valid = {Mapping: f"{name}.PART=VALUE", str: "a string"}.get(base, "a number, or None")
            raise BadOption(f"{name}={value!r}; expected: {valid}")
    return value
