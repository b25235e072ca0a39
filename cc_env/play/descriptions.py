"""What a player says of its decision, and how a game ended, in words."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cc_env.core.game import Game, Turn
from cc_env.core.rules import DRAW, Position
from cc_env.match.match import AGREED, RESIGNED, Result
from cc_env.match.referee import Clock, Decision, Player
from cc_env.play.session import GameSession
from cc_env.search.scores import PROVEN


def winning_chances(value: float) -> float:
    """Return the per cent of a win that a player has who expects this result; a draw is half."""
    return 50 * (1 + value)


def choose_with_line(
    game: Game, position: Position, player: Player, clock: Clock | None = None
) -> tuple[Decision, Turn]:
    """Return a player's decision, and the line that it begins: whole turns, one at least."""
    rng, clock = np.random.default_rng(0), clock or Clock()
    decision = player.choose(position, rng, clock)
    line: Turn = decision.details.get("principal_variation", (decision.action,))
    after = game.play_turn(position, line)
    while game.mid_turn(after):
        action = player.choose(after, rng, clock).action
        after = game.apply(after, action)
        line += (int(action),)
    return decision, line


def summarize_decision(game: Game, position: Position, decision: Decision) -> str:
    """Return in one line what a search says of itself, nothing where it says nothing."""
    details, mover = decision.details, game.players[game.to_move(position)]
    parts = []
    if "depth" in details:
        parts.append(f"depth {details['depth']:,}")
    if decision.value is not None:
        parts.append(f"value {decision.value:+.3f} for {mover}")
    if "cuts_max" in details:
        parts.append(f"cutoffs {details['cuts_max']:,} max, {details['cuts_min']:,} min")
    if "nodes" in details:
        parts.append(f"{details['nodes']:,} nodes")
    return " · ".join(parts)


def describe_decision(
    game: Game, position: Position, decision: Decision, line: Turn
) -> Iterator[tuple[str, str]]:
    """Yield what a player knows about its decision, which begins a line, as names and texts."""
    details = dict(decision.details)
    details.pop("principal_variation", None)
    turns = game.turn_texts(position, line)
    mover = game.players[game.to_move(position)]
    yield "play", turns[0]
    if decision.value is not None:
        yield "value", f"{decision.value:+.3f} for {mover} (1 a win, 0 a draw, -1 a loss)"
        yield (
            "chances",
            f"{winning_chances(decision.value):.0f} % for {mover} to win, a draw is half",
        )
    yield "line", "  ".join(f"{number}. {text}" for number, text in enumerate(turns, 1))
    if len(game.legal_actions(position)) == 1:
        yield "legal", "this alone"
    for name, form in (("visits", "{:,}"), ("policy", "{:.0%}")):
        for action, share in details.pop(name, ())[:5]:
            more = "…" if game.mid_turn(game.apply(position, action)) else ""
            yield name, f"{form.format(share)} {game.action_text(position, action)}{more}"
    if isinstance(score := details.pop("score", None), int):
        proven = f"proven to be {'won' if score > 0 else 'lost'}"
        counted = "as the evaluation counts, about hundredths of a piece"
        yield "score", f"{score:+,} for {mover}, {proven if abs(score) >= PROVEN else counted}"
    if "cuts_max" in details and "cuts_min" in details:
        other = game.players[1 - game.to_move(position)]
        ours, theirs = details.pop("cuts_max"), details.pop("cuts_min")
        yield "cutoffs", f"{ours:,} where {mover} was to move, {theirs:,} where {other} was"
    for name, value in details.items():
        yield name.replace("_", " "), format_value(value)


def count_pieces(game: Game, position: Position) -> str:
    """Return how many pieces each player has on the board."""
    owners = [game.owner(letter) for letter in game.pieces(position).values()]
    return ", ".join(f"{name} {owners.count(player)}" for player, name in enumerate(game.players))


def format_value(value: Any) -> str:
    """Return what a player knows in a way that people can read."""
    if isinstance(value, Mapping):
        return (
            ", ".join(f"{name} {format_value(part)}" for name, part in value.items()) or "nothing"
        )
    if isinstance(value, tuple | list):
        return ":".join(map(format_value, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.0f}" if isinstance(value, float) else f"{value:,}"


def describe_ending(session: GameSession) -> str:
    """Return who won a finished game, and by what; nothing while it goes on."""
    return "" if session.result is None else describe_result(session.game, session.result)


def describe_result(game: Game, result: Result) -> str:
    """Return who won, and by what."""
    outcome, reason = result
    by = {**_BY_MATCH, **game.endings}.get(reason, reason.replace("_", " "))
    if outcome == DRAW:
        return f"a draw: {by}"
    winner, loser = (game.players[player] for player in (outcome, 1 - outcome))
    return f"{winner} wins: {by.replace('{loser}', loser)}"


_BY_MATCH = {  # the reasons that are not in the rules, in a sentence
    "time": "{loser} ran out of time",
    "illegal": "{loser} made an illegal move",
    "error": "{loser} failed",
    RESIGNED: "{loser} resigned",
    AGREED: "both agreed",
    "repetition": "the same position came again too often",
    "max_turns": "the limit of turns is reached",
}
