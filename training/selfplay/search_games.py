"""Games of the alpha-beta search against itself, in compiled code: what networks learn from.

Shapes: N decisions, F fields of a position; T turns and M decisions of the longest game.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import random_streams, rules
from cc_env.core.game import Game
from cc_env.core.rules import DRAW, ONGOING, Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.search.alphabeta import deepen, make_context
from cc_env.search.scores import PROVEN, expected_result
from cc_env.search.transposition import NO_ACTION
from cc_env.search.workspace import MAX_PLIES, VALUE, Context

LONGEST = 200  # turns; then a game is a draw
_MOST_DECISIONS = 4 * LONGEST  # likewise
_TASK = 20_000  # decisions that a worker plays at a time
MOST_NODES = np.int64(500_000)  # of a search
_TABLE_MEGABYTES = 0.5
_PERMILLE = 1000
_REPETITIONS = 3  # end a game as a draw, where the rules have no limit of their own


class Pace(NamedTuple):
    """How games are played."""

    depth: np.int64  # of the search, in turns
    opening: np.int64  # most random turns at the start, drawn from 0
    exploration: np.int64  # random decisions among a thousand, afterwards


class Played(NamedTuple):
    """Decisions of games, game after game, but for those of the openings."""

    positions: NDArray[np.uint64]  # [N, F]
    begins: NDArray[np.bool_]  # [N]: a turn begins here
    targets: NDArray[np.float32]  # [N]: the result to expect, 0 to 1, to the player to move
    results: NDArray[np.float32]  # [N]: of the game to it: 0 a loss, 0.5 a draw, 1 a win
    games: NDArray[np.int32]  # [N]: the number of the game, from 0


class _Notes(NamedTuple):
    """What is noted of a game until it is over."""

    keys: NDArray[np.uint64]  # [T]: of the positions in which turns began
    players: NDArray[np.int8]  # [M]: to move
    scores: NDArray[np.int64]  # [M]: of the search
    is_random: NDArray[np.bool_]  # [M]: another action was played than the best


def pace(depth: int, opening: int, exploration: float) -> Pace:
    """Return a pace; `exploration` is a share, 0 to 1."""
    return Pace(np.int64(depth), np.int64(opening), np.int64(round(_PERMILLE * exploration)))


def play(game: Game, evaluation: Any, pace: Pace, weight: float, count: int, seed: int) -> Played:
    """Play games by an evaluation, which is as for `Game.evaluation`.

    Returns `count` decisions or a few less: only whole games count. The target of a decision is a
    mean of what the search expects and of the target when the next turn begins, which weighs
    `weight`, 0 to 1; in the last turn the result of the game takes its place. Where a random action
    is played or the result is proven, it is what the search expects, and counts as the next turn's
    for earlier decisions of the same turn.
    """
    context = context_of(game, evaluation)
    played = Played(
        np.zeros((count, len(game.initial)), np.uint64),
        np.zeros(count, np.bool_),
        np.zeros(count, np.float32),
        np.zeros(count, np.float32),
        np.zeros(count, np.int32),
    )
    notes = _Notes(
        np.zeros(LONGEST, np.uint64),
        np.zeros(_MOST_DECISIONS, np.int8),
        np.zeros(_MOST_DECISIONS, np.int64),
        np.zeros(_MOST_DECISIONS, np.bool_),
    )
    state = random_streams.streams(seed, 1)[0]
    limit = game.repetition_limit or _REPETITIONS
    done = _play_games(game.initial, pace, weight, context, notes, limit, state, played)
    parts: list[Any] = [part[:done] for part in played]
    return Played(*parts)


def context_of(game: Game, evaluation: Any) -> Context:
    """Return what searches need; `evaluation` is as for `Game.evaluation`, which may raise."""
    return make_context(game, evaluation, table_megabytes=_TABLE_MEGABYTES)


def tasks(count: int, most: int = _TASK) -> tuple[int, int]:
    """Return how many tasks play `count` decisions or positions, and how many each has.

    A task has at most `most`.
    """
    number = -(-count // most)
    return number, -(-count // number)


@jit(nogil=True)
def _play_games(
    start: Position,
    pace: Pace,
    weight: float,
    context: Context,
    notes: _Notes,
    limit: Int,
    state: np.uint64,
    out: Played,
) -> Int:
    """Play until `out` has no room for another game; return how many decisions it has."""
    context, notes, out = as_raw(context), as_raw(notes), as_raw(out)
    line = np.full(MAX_PLIES, NO_ACTION, np.int32)
    legal = context.workspace.legal
    first: Int = np.int64(0)
    number = 0
    while True:
        state = random_streams.advance(state)
        opening = random_streams.below(state, pace.opening + 1)
        position, row = start, first
        turn: Int = np.int64(0)
        result = rules.outcome(position)
        while result == ONGOING and turn < LONGEST and row - first < _MOST_DECISIONS:
            begins = not rules.mid_turn(position)
            if begins:
                notes.keys[turn] = rules.key(position)
                if _repetitions(notes.keys, turn) >= limit:
                    result = rules.repetition_outcome(position)
                    break
            state = random_streams.advance(state)
            is_random = turn < opening or random_streams.below(state, _PERMILLE) < pace.exploration
            if turn >= opening:
                if row == len(out.positions):
                    return first
                player = rules.to_move(position)
                deepen(position, player, pace.depth, MOST_NODES, context, line)
                rules.store(position, out.positions[row])
                out.begins[row] = begins
                out.games[row] = number
                notes.players[row - first] = player
                notes.scores[row - first] = context.workspace.counts[VALUE]
                notes.is_random[row - first] = is_random
                row += 1
            action = np.int64(line[0])
            if is_random:
                count = rules.legal_actions(position, legal)
                state = random_streams.advance(state)
                action = np.int64(legal[random_streams.below(state, count)])
            position = rules.apply(position, action)
            turn += not rules.mid_turn(position)
            result = rules.outcome(position)
        _judge(first, row, result, weight, notes, out)
        number += 1
        first = row


@jit
def _judge(first: Int, end: Int, result: Int, weight: float, notes: _Notes, out: Played) -> None:
    """Write the results and targets of a game's decisions, `first` to `end`."""
    later = 0.5  # the target when the next turn begins, to the first player
    if result not in (DRAW, ONGOING):
        later = 1.0 - result
    final = later
    for row in range(end - 1, first - 1, -1):
        player, score = notes.players[row - first], notes.scores[row - first]
        out.results[row] = final if player == 0 else 1 - final
        target = (1 + expected_result(score)) / 2
        is_cut = notes.is_random[row - first] or abs(score) >= PROVEN
        if not is_cut:
            target += weight * ((later if player == 0 else 1 - later) - target)
        out.targets[row] = target
        if out.begins[row] or is_cut:
            later = target if player == 0 else 1 - target


@jit
def _repetitions(keys: NDArray[np.uint64], turn: Int) -> Int:
    """Return how often the position of this turn has occurred so far."""
    count: Int = np.int64(0)
    for earlier in range(turn + 1):
        count += keys[earlier] == keys[turn]
    return count
