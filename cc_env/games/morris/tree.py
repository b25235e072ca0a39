"""The original program's file of remembered games, `nine_mens.json`: a tree of choices as JSON.

    {"A": {"wins": 1, "looses": 0, "phase": 1, "player": 2, "move": {"B": {…}, …}}}

phase   1 a bead is placed (A), 2 one is moved (AB), 3 one is removed (A)
player  whose choice it was: 1 the person, 2 the machine; either may have begun
wins    the machine's, by its own count of mills made later in the game; looses the person's

Here the same is a mapping from choices, as action ids from the beginning of a game, to the wins of
the first and of the second seat.
"""

import json
from collections.abc import Mapping
from typing import Any

from cc_env import files
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import BadOption, BadRecord, is_integer

Line = tuple[int, ...]  # the actions from the beginning of a game
Wins = tuple[int, int]  # of the first seat and of the second

PERSON, MACHINE = 1, 2
PLACE, MOVE, REMOVE = 1, 2, 3  # phases


def read(game: Game, text: str) -> tuple[dict[Line, Wins], list[str]]:
    """Return what a tree says, each choice after those that led to it; and what is left out.

    Left out, with all that followed, are choices that are not legal: the original did not see each
    mill. Raises BadRecord, naming the choices that lead there, where the tree is broken.
    """
    tree = files.parse_json(text)
    wins: dict[Line, Wins] = {}
    illegal: list[str] = []
    waiting: list[tuple[Line, str, Position, Any]] = [((), "", game.initial, tree)]
    while waiting:
        line, where, position, children = waiting.pop()
        below: list[tuple[Line, str, Position, Any]] = []
        for name, node in _object(children, where or "the tree").items():
            here = f"{where} {name}".strip()
            mine, other = _counts(_object(node, here), here)
            action = _action(game, position, name, node["phase"])
            if action is None:
                illegal.append(f"{here}, in '{game.to_text(position)}'")
                continue
            wins[(*line, action)] = (other, mine) if game.to_move(position) else (mine, other)
            after = game.apply(position, action)
            below.append(((*line, action), here, after, node.get("move")))
        waiting += reversed(below)
    return wins, illegal


def write(game: Game, counts: Mapping[Line, Wins], *, first: int = PERSON) -> str:
    """Return the tree; `first` is who began, PERSON or MACHINE.

    Raises BadOption where that is neither, BadRecord where a game is longer than can be nested.
    """
    if not is_integer(first, PERSON, MACHINE):
        raise BadOption(f"first={first!r}; it is 1, the person, or 2, the machine")
    nodes: dict[Line, dict[str, Any]] = {(): {}}  # what follows each line
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
        longest = max(map(len, counts))
        raise BadRecord(f"a game of {longest} choices is too long to be nested in JSON") from None


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadRecord(f"{where}: wanted an object, got {value!s:.40}")
    return value


def _action(game: Game, position: Position, name: str, phase: int) -> int | None:
    """Return the action that a choice is, None where it is not legal."""
    wanted = f"-{name}" if phase == REMOVE else name
    legal = map(int, game.legal_actions(position))
    return next((a for a in legal if game.action_text(position, a) == wanted), None)


def _counts(node: Mapping[str, Any], where: str) -> Wins:
    """Return the wins of who made a choice, and of the opponent."""
    wins, looses, phase, player = map(node.get, ("wins", "looses", "phase", "player"))
    counted = is_integer(wins, 0) and is_integer(looses, 0)
    if not counted or phase not in (PLACE, MOVE, REMOVE) or player not in (PERSON, MACHINE):
        given = f"wins {wins!r}, looses {looses!r}, phase {phase!r}, player {player!r}"
        raise BadRecord(f"{where}: cannot be: {given}")
    return (wins, looses) if player == MACHINE else (looses, wins)  # type: ignore[return-value]
