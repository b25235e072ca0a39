"""What several turns of one position are worth by alpha-beta, all looked at equally far.

A search for the best turn proves of all others only that they are no better; here each has a value
of its own.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from cc_env.game import Game, Turn
from cc_env.rules import ONGOING, Position
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.memory import MOST_DEPTH, PLIES
from cc_env.search.report import Report
from cc_env.search.scores import PROVEN, expected, final


class Line(NamedTuple):
    """A turn or the beginning of one, and what it is worth to the player to move."""

    actions: Turn  # it, followed by what is expected then
    value: float  # -1 to 1
    score: int = 0  # as the evaluation counts, see scores.py; of other players 0


class Compared(NamedTuple):
    """What is known of some turns."""

    lines: tuple[Line, ...]  # in the order of the turns
    depth: int  # turns looked ahead, those compared included
    nodes: int  # positions looked at


class Followed(NamedTuple):
    """What a turn leads to, after decisions without a choice."""

    position: Position
    actions: Turn
    turns: int  # that were finished on the way


def compare(
    search: AlphaBeta,
    position: Position,
    turns: Sequence[Turn],
    *,
    left: Callable[[], float],
    depth: int = MOST_DEPTH,
) -> Compared:
    """Return what turns, or beginnings of one, are worth, looked at up to `depth` turns ahead.

    `left` says how many seconds are left; two turns ahead are always looked at.
    """
    game, nodes, best = search.game, 0, Compared((), 0, 0)
    children = [follow(game, position, turn) for turn in turns]
    for ahead in range(2, max(2, depth) + 1):
        lines, is_last = [], True
        for child in children:
            line, report = _look(search, position, child, ahead, left)
            nodes += report.nodes if report else 0
            if report and _is_cut_short(report, ahead - child.turns) and best.lines:
                return best._replace(nodes=nodes)
            lines.append(line)
            is_last &= report is None or report.is_exact or abs(line.score) >= PROVEN
        best = Compared(tuple(lines), ahead, nodes)
        if is_last or left() <= 0:
            break
    return best


def follow(game: Game, position: Position, turn: Turn) -> Followed:
    """Return what a turn leads to; what is forced forever is left after some decisions.

    Raises IllegalAction.
    """
    actions: Turn = ()
    turns = 0
    waiting = list(turn)
    while waiting:
        position = game.apply(position, waiting[0])
        actions += (waiting.pop(0),)
        turns += not game.mid_turn(position)
        if not waiting and len(actions) < PLIES // 2:
            legal = game.legal_actions(position)
            waiting = legal.tolist() if len(legal) == 1 else []
    return Followed(position, actions, turns)


def _look(
    search: AlphaBeta, root: Position, child: Followed, depth: int, left: Callable[[], float]
) -> tuple[Line, Report | None]:
    """Return the line through a child, and the search from there; None where nothing is searched.

    Proven scores count the decisions on the way, as if they were of one search.
    """
    game, position, actions, turns = search.game, *child
    player, result = game.to_move(root), game.outcome(position)
    if result != ONGOING:
        of = np.int64(result), np.int64(player), np.int64(len(actions))
        score = int(final(position, *of))
        return Line(actions, expected(score), score), None
    if len(game.legal_actions(position)) == 1:  # forced on and on
        return Line(actions, 0.0), None
    report = search.search(position, depth=max(1, depth - turns), seconds=max(0.0, left()))
    assert report.score is not None
    sign = 1 if game.to_move(position) == player else -1
    score = sign * report.score
    if abs(score) >= PROVEN:
        score -= int(math.copysign(len(actions), score))
    return Line(actions + report.line, expected(score), score), report


def _is_cut_short(report: Report, depth: int) -> bool:
    """Return whether a limit ended a search before it knew the depth."""
    assert report.score is not None
    return report.depth < depth and not report.is_exact and abs(report.score) < PROVEN
