"""Decisions, search statistics and results in words."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cc_env.core.game import Game, Turn
from cc_env.core.rules import DRAW, Position
from cc_env.ladder.rungs import named_rung, rungs
from cc_env.match.match import AGREED, RESIGNED, Result
from cc_env.match.referee import Clock, Decision, Player
from cc_env.search.scores import PROVEN


def winning_chances(value: float) -> float:
    """Return an expected result (-1 to 1) as a winning probability in percent; a draw is 50."""
    return 50 * (1 + value)


def choose_with_line(
    game: Game, position: Position, player: Player, clock: Clock | None = None
) -> tuple[Decision, Turn]:
    """Return a player's decision and its principal variation: at least one complete turn."""
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
    """Return the statistics of a decision's search in one line, "" if there are none."""
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
    """Yield the statistics of a decision and its `line`, as (name, text) pairs."""
    details = dict(decision.details)
    details.pop("principal_variation", None)
    turns = game.readable_turn_texts(position, line)
    mover = game.players[game.to_move(position)]
    yield "play", turns[0]
    if decision.value is not None:
        chances = winning_chances(decision.value)
        yield "value", f"{decision.value:+.3f} for {mover} (1 a win, 0 a draw, -1 a loss)"
        yield "chances", f"{chances:.0f} % for {mover} to win, a draw is half"
    yield "line", "  ".join(f"{number}. {text}" for number, text in enumerate(turns, 1))
    if len(game.legal_actions(position)) == 1:
        yield "legal", "only this move"
    for name, form in (("visits", "{:,}"), ("policy", "{:.0%}")):
        for action, share in details.pop(name, ())[:5]:
            more = "…" if game.mid_turn(game.apply(position, action)) else ""
            text = game.readable_action_text(position, action)
            yield name, f"{form.format(share)} {text}{more}"
    if isinstance(score := details.pop("score", None), int):
        proof = f"proven to be {'won' if score > 0 else 'lost'}"
        units = "in units of the evaluation, about hundredths of a piece"
        meaning = proof if abs(score) >= PROVEN else units
        yield "score", f"{score:+,} for {mover}, {meaning}"
    if "cuts_max" in details and "cuts_min" in details:
        other = game.players[1 - game.to_move(position)]
        own_cuts, other_cuts = details.pop("cuts_max"), details.pop("cuts_min")
        yield "cutoffs", f"{own_cuts:,} with {mover} to move, {other_cuts:,} with {other} to move"
    for name, value in details.items():
        yield name.replace("_", " "), format_value(value)


def describe_player(game: Game, spec: str) -> str:
    """Return a player in words: "Slate, level 2 of 8" for one of the ladder, else its spec."""
    rung = named_rung(game, spec)
    return f"{rung.name}, level {rung.level} of {len(rungs(game))}" if rung else spec


def count_pieces(game: Game, position: Position) -> str:
    """Return the number of pieces of each player, as text."""
    owners = [game.owner(letter) for letter in game.pieces(position).values()]
    return ", ".join(f"{name} {owners.count(player)}" for player, name in enumerate(game.players))


def format_value(value: Any) -> str:
    """Return a statistic as text: numbers with separators, mappings and sequences item by item."""
    if isinstance(value, Mapping):
        parts = (f"{name} {format_value(part)}" for name, part in value.items())
        return ", ".join(parts) or "nothing"
    if isinstance(value, tuple | list):
        return ":".join(map(format_value, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.0f}" if isinstance(value, float) else f"{value:,}"


def describe_result(game: Game, result: Result) -> str:
    """Return the winner and the reason of a result as a sentence."""
    winner = "a draw" if result.outcome == DRAW else f"{game.players[result.outcome]} wins"
    return f"{winner}: {explain_result(game, result)}"


def explain_result(game: Game, result: Result, loser: str | None = None) -> str:
    """Return the reason of a result in words, with a name for the loser, by default the color."""
    explanations = {**_MATCH_ENDINGS, **game.endings}
    explanation = explanations.get(result.reason, result.reason.replace("_", " "))
    if result.outcome == DRAW:
        return explanation
    return explanation.replace("{loser}", loser or game.players[1 - result.outcome])


# Endings that the match decides, not the rules of the game.
_MATCH_ENDINGS = {
    "time": "{loser} ran out of time",
    "illegal": "{loser} made an illegal move",
    "error": "{loser} failed",
    RESIGNED: "{loser} resigned",
    AGREED: "both agreed",
    "repetition": "the position was repeated too often",
    "max_turns": "the turn limit is reached",
}
