"""The memory file of the original program, `nine_mens.json`: a tree of choices as JSON.

    {"A": {"wins": 1, "looses": 0, "phase": 1, "player": 2, "move": {"B": {…}, …}}}

phase   1: a bead is placed (A), 2: one is moved (AB), 3: one is removed (A)
player  the player of the choice, 1: the person, 2: the machine; either may move first
wins    the wins of the machine, by its count of mills later in the game; looses: of the person

This module converts it to a mapping from lines of action ids to the wins of both seats.
"""

import json
from collections.abc import Mapping
from typing import Any

from cc_env import files
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import BadRecord, check_integer, is_integer

# The actions from the start of a game.
Line = tuple[int, ...]
# The wins of the first and of the second seat.
Wins = tuple[int, int]

PERSON, MACHINE = 1, 2
# Phases.
PLACE, MOVE, REMOVE = 1, 2, 3


def read(game: Game, text: str) -> tuple[dict[Line, Wins], list[str]]:
    """Return the wins of each line of a tree, prefixes first, and the illegal choices.

    Illegal choices are skipped with their subtrees: the original program overlooks some mills.
    Raises BadRecord, which contains the path, for an invalid tree.
    """
    tree = files.parse_json(text)
    wins: dict[Line, Wins] = {}
    illegal: list[str] = []
    pending: list[tuple[Line, str, Position, Any]] = [((), "", game.initial, tree)]
    while pending:
        line, where, position, children = pending.pop()
        below: list[tuple[Line, str, Position, Any]] = []
        for name, node in _object(children, where or "the tree").items():
            path = f"{where} {name}".strip()
            own_wins, opponent_wins = _counts(_object(node, path), path)
            action = _action(game, position, name, node["phase"])
            if action is None:
                illegal.append(f"{path}, in '{game.to_text(position)}'")
                continue
            wins[(*line, action)] = (
                (opponent_wins, own_wins) if game.to_move(position) else (own_wins, opponent_wins)
            )
            after = game.apply(position, action)
            below.append(((*line, action), path, after, node.get("move")))
        pending += reversed(below)
    return wins, illegal


def write(game: Game, counts: Mapping[Line, Wins], *, first: int = PERSON) -> str:
    """Return the tree as JSON; `first` is the first player, PERSON or MACHINE.

    Raises BadOption for another value of `first`, BadRecord for a game too long for nested JSON.
    """
    check_integer("first", first, PERSON, MACHINE, ", the person or the machine")
    # The children of the node of each line.
    nodes: dict[Line, dict[str, object]] = {(): {}}
    positions: dict[Line, Position] = {(): game.initial}
    for line, wins in counts.items():
        before = positions[line[:-1]]
        name, seat = game.action_text(before, line[-1]), game.to_move(before)
        nodes[line], positions[line] = {}, game.apply(before, line[-1])
        nodes[line[:-1]][name.removeprefix("-")] = {
            "wins": wins[first == PERSON],
            "looses": wins[first == MACHINE],
            "phase": REMOVE if name.startswith("-") else len(name),
            "player": first if seat == 0 else PERSON + MACHINE - first,
            "move": nodes[line],
        }
    try:
        return json.dumps(nodes[()])
    except RecursionError:
        length = max(map(len, counts))
        raise BadRecord(f"a game of {length} choices is too long for nested JSON") from None


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadRecord(f"{where}: {value!s:.40}; expected: an object")
    return value


def _action(game: Game, position: Position, name: str, phase: int) -> int | None:
    """Return the action of a choice, None if it is not legal."""
    expected = f"-{name}" if phase == REMOVE else name
    legal = map(int, game.legal_actions(position))
    return next((a for a in legal if game.action_text(position, a) == expected), None)


def _counts(node: Mapping[str, Any], where: str) -> Wins:
    """Return the wins of the player of a choice and of the opponent; raise BadRecord."""
    wins, looses, phase, player = map(node.get, ("wins", "looses", "phase", "player"))
    has_counts = is_integer(wins, 0) and is_integer(looses, 0)
    if not has_counts or phase not in (PLACE, MOVE, REMOVE) or player not in (PERSON, MACHINE):
        values = f"wins {wins!r}, looses {looses!r}, phase {phase!r}, player {player!r}"
        raise BadRecord(f"{where}: invalid values: {values}")
    return (wins, looses) if player == MACHINE else (looses, wins)  # type: ignore[return-value]
