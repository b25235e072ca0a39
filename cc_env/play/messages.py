"""Messages of front ends to a game session: untrusted JSON values, checked field by field."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from cc_env.errors import BadRecord, IllegalAction, UnknownOption, format_list
from cc_env.play.session import GameSession

# Fields of each command besides `command` and `version`.
COMMAND_FIELDS = {
    "play": ("action",),
    "play_text": ("text", "piece"),
    "pace": ("seconds",),
    "view_turn": ("turns",),
    "decline": ("offer",),
}


def read_object(
    value: object, label: str, valid_names: Collection[str] | None = None
) -> Mapping[str, Any]:
    """Check that a value is a JSON object, and optionally its field names; return it.

    `label` names the value in errors. Raises BadRecord for another value, UnknownOption for fields
    that are not among `valid_names`.
    """
    if not isinstance(value, Mapping):
        raise BadRecord(f"{label}: {value!r:.40}; expected: a JSON object")
    if valid_names is None:
        return value
    if unknown := [str(name)[:40] for name in value if name not in valid_names]:
        valid = format_list(valid_names)
        raise UnknownOption(f"{label} has no field {format_list(unknown)}; it has: {valid}")
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


def read_command(message: Mapping[str, object], commands: Collection[str]) -> str:
    """Return the command of a message, one of `commands`.

    Raises UnknownOption for an unknown command or a field that the command does not have.
    """
    command = message.get("command")
    if not isinstance(command, str) or command not in commands:
        raise UnknownOption(
            f"unknown command {str(command)[:40]!r}; expected: {format_list(commands)}"
        )
    read_object(message, command, ("command", "version", *COMMAND_FIELDS.get(command, ())))
    return command


def check_turn(
    session: GameSession, seats: Collection[int], message: Mapping[str, object], version: int
) -> None:
    """Raise IllegalAction unless one of the seats is to move and the message is up to date.

    An up-to-date message has the current `version` of the game.
    """
    session.check_in_progress()
    if message.get("version") != version:
        raise IllegalAction("too late: the position has changed since")
    if session.mover not in seats:
        raise IllegalAction(f"it is the turn of {session.game.players[session.mover]}")


def read_action(message: Mapping[str, object]) -> int:
    """Return the action id of a message, legal or not; raise IllegalAction if there is none."""
    action = message.get("action")
    if not isinstance(action, int) or isinstance(action, bool):
        raise IllegalAction(f"action={action!r:.40}; expected: an integer, the id of an action")
    return action
