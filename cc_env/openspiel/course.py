"""The course of one game, compiled: a decision is played, and all that a state tells comes back.

A course is a row of unsigned words, uint64[F + 5 + K]: the F fields of its position, the five
columns named below, and, where occurrences count, the K keys of the positions between turns, in the
order of the game.

Shapes: C planes, H rows and W columns of an observation.
"""

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO
from cc_env.core.game import Game
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, Int, Position
from cc_env.jit.compiler import jit

# Columns behind the fields. Played so far: decisions, turns. Limits, 0 for none: decisions after
# which the game is a draw; occurrences of a position after which it is one; turns leading to the
# same position after which the game's own rules end it.
DECISIONS, TURNS, LONGEST, REPETITIONS, OWN_LIMIT = COLUMNS = tuple(range(5))

TERMINAL = -4  # who is to move when the game is over; OpenSpiel's number
NOTHING = -1  # an action that plays nothing


def begin(game: Game, position: Position, longest: int, repetitions: int) -> NDArray[np.uint64]:
    """Return the row of a course, uint64[F + 5 + K], its first key still to be written."""
    keys = longest + 1 if repetitions or game.repetition_limit else 0
    limits = 0, 0, longest, repetitions, game.repetition_limit
    return np.array([*map(int, position), *limits, *[0] * keys], np.uint64)


@jit
def play(
    start: Position, row: NDArray[np.uint64], action: Int, legal: NDArray[np.int32]
) -> tuple[Int, Int, Int]:
    """Play a legal action, or NOTHING to begin with; the class of `start` picks the rules.

    Writes the actions that are legal then, ascending, into `legal`, int32[num_actions]. Returns
    how many they are, who is to move (0, 1 or TERMINAL) and, at the end, by how much the first
    player has won: 0 for a draw.
    """
    position = rules.load(row, start)
    columns = row[len(position) :]
    if action != NOTHING:
        position = rules.apply(position, action)
        rules.store(position, row)
        columns[DECISIONS] += ONE
    if not rules.mid_turn(position):
        columns[TURNS] += np.uint64(action != NOTHING)
        if len(columns) > len(COLUMNS):
            columns[np.uint64(len(COLUMNS)) + columns[TURNS]] = rules.key(position)
    result = _result(position, columns)
    if result == ONGOING:
        return rules.legal_actions(position, legal), rules.to_move(position), 0
    lead: Int = 0 if result == DRAW else rules.margin(position)
    return 0, np.int64(TERMINAL), lead if result == FIRST_WINS else -lead


@jit
def _result(position: Position, columns: NDArray[np.uint64]) -> Int:
    """Return the outcome, DRAW where a limit is reached."""
    result = rules.outcome(position)
    if result != ONGOING:
        return result
    if len(columns) > len(COLUMNS) and not rules.mid_turn(position):
        keys = columns[len(COLUMNS) : len(COLUMNS) + np.int64(columns[TURNS]) + 1]
        count = ZERO
        for key in keys:
            count += np.uint64(key == keys[-1])
        if columns[REPETITIONS] and count >= columns[REPETITIONS]:
            return np.int64(DRAW)
        led_here = count - np.uint64(keys[0] == keys[-1])
        if columns[OWN_LIMIT] and led_here >= columns[OWN_LIMIT]:
            return rules.repetition_outcome(position)
    return np.int64(DRAW) if columns[DECISIONS] >= columns[LONGEST] else ONGOING


@jit
def observe(
    start: Position, row: NDArray[np.uint64], player: Int, planes: NDArray[np.int8]
) -> None:
    """Write what `player` sees into `planes`, int8[C, H, W]; `start` as above."""
    rules.observe(rules.load(row, start), player, planes)
