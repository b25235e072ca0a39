"""Messages of front ends to a session: JSON's values from anywhere, so they are checked."""

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from cc_env.errors import BadRecord, IllegalAction, UnknownOption, format_list
from cc_env.play.session import GameSession

Act = TypeVar("Act")
# What a message has beside `command` and `version`, by what it asks for.
FIELDS = {
    "play": ("action",),
    "play_text": ("text", "piece"),
    "pace": ("seconds",),
    "view_turn": ("turns",),
    "decline": ("offer",),
}


def read_object(
    given: object, what: str, known: Collection[str] | None = None
) -> Mapping[str, Any]:
    """Return the fields of a JSON object, which is called `what`.

    Raises BadRecord for another value, UnknownOption for fields that are not among the `known`.
    """
    if not isinstance(given, Mapping):
        raise BadRecord(f"{what} is a JSON object")
    if known is not None and (unknown := [str(name)[:40] for name in given if name not in known]):
        raise UnknownOption(
            f"{what} has no field {format_list(unknown)}; it has: {format_list(known)}"
        )
    return given


def find_handler(message: Mapping[str, Any], acts: Mapping[str, Act]) -> Act:
    """Return the one of these acts that a message asks for; raise UnknownOption.

    The latter also where it has a field that such a message does not have.
    """
    command = message.get("command")
    if not isinstance(command, str) or command not in acts:
        raise UnknownOption(
            f"unknown command {str(command)[:40]!r}; valid commands: {format_list(acts)}"
        )
    read_object(message, command, ("command", "version", *FIELDS.get(command, ())))
    return acts[command]


def check_turn(
    session: GameSession, seats: Collection[int], message: Mapping[str, Any], version: int
) -> None:
    """Raise IllegalAction unless one of the seats is to move, in the position that it saw.

    That is the one of this `version`, which the message has to tell.
    """
    if session.result is not None:
        raise IllegalAction(f"the game is over ({session.result.reason})")
    if message.get("version") != version:
        raise IllegalAction("too late: the position has changed since")
    if session.mover not in seats:
        raise IllegalAction(f"it is the turn of {session.game.players[session.mover]}")


def read_action(message: Mapping[str, Any]) -> int:
    """Return the action that a message names, legal or not; raise IllegalAction where none is."""
    action = message.get("action")
    if not isinstance(action, int) or isinstance(action, bool):
        raise IllegalAction(f"{str(action)[:40]!r} is not the number of an action")
    return action
