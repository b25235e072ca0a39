"""Compiled states of OpenSpiel games: play a decision, and return the properties of the new state.

A state is a row of unsigned words, uint64[F + 5 + K]: the F fields of its position, the five
columns named below and, if repetitions are counted, K hashes of the positions between turns, in the
order of the game.

Shapes: C planes, H rows and W columns of an observation.
"""

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE
from cc_env.core.game import Game
from cc_env.core.repetition import count_occurrences
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, Int, Position
from cc_env.jit.compiler import jit

# Columns after the fields: the numbers of decisions and turns played; the number of decisions and
# the occurrence of a position after which the game is a draw; the turns leading to the same
# position after which the game's own rules end it. The last two are 0 for no limit.
DECISIONS, TURNS, MAX_DECISIONS, REPETITIONS, RULE_REPETITIONS = COLUMNS = tuple(range(5))

# OpenSpiel's number for the player to move after the end.
TERMINAL = -4

# The action of a new state, which plays nothing.
NO_ACTION = -1


def initial_row(
    game: Game, position: Position, max_decisions: int, repetitions: int
) -> NDArray[np.uint64]:
    """Return the row of a new state, uint64[F + 5 + K], before its first hash is written."""
    keys = max_decisions + 1 if repetitions or game.repetition_limit else 0
    limits = 0, 0, max_decisions, repetitions, game.repetition_limit
    return np.array([*map(int, position), *limits, *[0] * keys], np.uint64)


@jit
def play(
    start: Position, row: NDArray[np.uint64], action: Int, legal: NDArray[np.int32]
) -> tuple[Int, Int, Int]:
    """Play a legal action, or NO_ACTION in a new state; the class of `start` selects the rules.

    Writes the next legal actions, ascending, into `legal`, int32[num_actions]. Returns their
    number, the player to move (0, 1 or TERMINAL) and the margin of the first player, 0 for a draw
    and before the end.
    """
    position = rules.load(row, start)
    columns = row[len(position) :]
    if action != NO_ACTION:
        position = rules.apply(position, action)
        rules.store(position, row)
        columns[DECISIONS] += ONE
    if not rules.mid_turn(position):
        columns[TURNS] += np.uint64(action != NO_ACTION)
        if len(columns) > len(COLUMNS):
            columns[np.uint64(len(COLUMNS)) + columns[TURNS]] = rules.key(position)
    result = _result(position, columns)
    if result == ONGOING:
        return rules.legal_actions(position, legal), rules.to_move(position), 0
    lead: Int = 0 if result == DRAW else rules.margin(position)
    return 0, np.int64(TERMINAL), lead if result == FIRST_WINS else -lead


@jit
def _result(position: Position, columns: NDArray[np.uint64]) -> Int:
    """Return the outcome, repetitions by the rules included; DRAW if a limit is reached."""
    result = rules.outcome(position)
    if result != ONGOING:
        return result
    keys, turns = columns[len(COLUMNS) :], np.int64(columns[TURNS])
    if len(keys) and not rules.mid_turn(position):
        limit, rule_limit = np.int64(columns[REPETITIONS]), np.int64(columns[RULE_REPETITIONS])
        if limit and count_occurrences(keys, turns, False) >= limit:
            return np.int64(DRAW)
        if rule_limit and count_occurrences(keys, turns, True) >= rule_limit:
            return rules.repetition_outcome(position)
    return np.int64(DRAW) if columns[DECISIONS] >= columns[MAX_DECISIONS] else ONGOING


@jit
def observe(
    start: Position, row: NDArray[np.uint64], player: Int, planes: NDArray[np.int8]
) -> None:
    """Write the observation of `player` into `planes`, int8[C, H, W]."""
    rules.observe(rules.load(row, start), player, planes)
