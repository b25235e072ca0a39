"""Messages of front ends to a game session: untrusted JSON values, checked field by field."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from cc_env.errors import BadRecord, IllegalAction, check_names
from cc_env.play.commands import Command, CommandTable
from cc_env.play.session import GameSession


def read_object(
    value: object, label: str, valid_names: Collection[str] | None = None
) -> Mapping[str, Any]:
    """Check that a value is a JSON object, and optionally its field names; return it.

    `label` names the value in errors. Raises BadRecord for another value, UnknownOption for fields
    that are not among `valid_names`.
    """
    if not isinstance(value, Mapping):
        raise BadRecord(f"{label}: {value!r:.40}; expected: a JSON object")
    if valid_names is not None:
        check_names(label, "field", value, valid_names)
    return value


def read_json(text: str | bytes, label: str) -> object:
    """Return the value of a JSON text; raise BadRecord if it is invalid.

    `label` names the text in the error.
    """
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        raise BadRecord(f"{label} is not valid JSON") from None
    return value


def read_command(
    message: Mapping[str, object], commands: CommandTable
) -> tuple[Command, list[Any]]:
    """Return the command of a message and its arguments, None for missing ones.

    Raises UnknownOption for an unknown command or a field that the command does not have.
    """
    command = commands.find(name := message.get("command"))
    read_object(
        message, str(name), {"command": 0, "version": 0, **dict.fromkeys(command.arguments)}
    )
    return command, [message.get(argument) for argument in command.arguments]


def check_turn(session: GameSession, seats: Collection[int], is_current: bool) -> None:
    """Raise IllegalAction unless one of the seats is to move and the client's state is current."""
    session.check_in_progress()
    if not is_current:
        raise IllegalAction("too late: the position has changed since")
    if session.mover not in seats:
        raise IllegalAction(f"it is {session.game.players[session.mover]}'s turn")
