"""Positions of untrusted requests: a game, its options, a start and the decisions since then."""

from collections.abc import Mapping, Sequence
from typing import Any

from cc_env.core.game import Cell, Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import IllegalAction, invalid_value, is_integer
from cc_env.match.match import Limits
from cc_env.match.referee import Decision
from cc_env.play import reasons, view
from cc_env.play.session import HUMAN, GameSession
from cc_env.server.limits import ServerLimits
from cc_env.server.lobby import parse_game, parse_start

POSITION_FIELDS = "game", "options", "start", "actions"


def replay_request(fields: Mapping[str, object], limits: ServerLimits) -> GameSession:
    """Return a game after the requested decisions; raise CcEnvError for an invalid request."""
    game = parse_game(fields)
    start = parse_start(fields, game)
    return replay(game, start, parse_actions(fields, "actions", limits.max_analyzed_decisions))


def replay(game: Game, start: Position, actions: Sequence[int]) -> GameSession:
    """Return a session of two people after these decisions; raise IllegalAction."""
    unlimited = Limits(max_turns=None, repetitions=None)
    session = GameSession(game, (HUMAN, HUMAN), start=start, limits=unlimited)
    for action in actions:
        session.replay_decision(Decision(action), 0.0)
    return session


def position_state(session: GameSession) -> dict[str, Any]:
    """Return the state of `view.session_state` with the last turn only, and why a game is won."""
    game, state = session.game, view.session_state(session)
    if session.result:
        text = reasons.describe_ending(game, session.result).format(*game.players)
        state["result"]["text"] = text
    return {**state, "turns": state["turns"][-1:]}


def replay_states(session: GameSession, actions: Sequence[int]) -> list[dict[str, Any]]:
    """Play decisions in a session; return the state after each of them."""
    states = []
    for action in actions:
        session.replay_decision(Decision(action), 0.0)
        states.append(position_state(session))
    return states


def check_turn(game: Game, position: Position, actions: Turn) -> None:
    """Raise IllegalAction unless the actions are one legal turn, or its beginning."""
    for index, action in enumerate(actions):
        if index and not game.mid_turn(position):
            raise IllegalAction(f"{actions} are more than one turn in '{game.to_text(position)}'")
        position = game.apply(position, action)
    if not actions:
        raise IllegalAction("there are no actions; expected: those of a turn")


def turn_ends(game: Game, position: Position, turn: Turn) -> list[Cell]:
    """Return the cells where a turn begins and ends: two for a move, one or none otherwise.

    There are none for an empty turn.
    """
    path, captured = game.track(position, turn) if turn else ((), ())
    cells = path or captured
    return list(dict.fromkeys((cells[0], cells[-1]))) if cells else []


def solution_data(
    game: Game, position: Position, turn: Turn, states: Sequence[object]
) -> dict[str, Any]:
    """Return a best turn, its cells, and the `states` after it and all that follows.

    `piece` is the cell of the piece that moves first, or the target of an action without one.
    """
    cells = turn_ends(game, position, turn)
    return {
        "text": game.readable_turn_text(position, turn).strip(),
        "piece": cells[0] if cells else None,
        "arrow": cells,
        "states": states,
    }


def parse_actions(fields: Mapping[str, object], name: str, max_length: int) -> Turn:
    """Return the action ids in a field, by default none; raise BadOption if they are invalid."""
    return check_actions(name, fields.get(name, []), max_length)


def check_actions(name: str, actions: object, max_length: int) -> Turn:
    """Return a list of action ids as a turn; raise BadOption if it is invalid."""
    if not isinstance(actions, list) or len(actions) > max_length:
        raise invalid_value(name, actions, f"a list of at most {max_length:,} action ids")
    if not all(is_integer(action, 0) for action in actions):
        raise invalid_value(name, actions, "integers from 0")
    return tuple(actions)
