"""Games of the alpha-beta search against itself, in compiled code, as training data.

Shapes: N decisions, F fields of a position; T maximum turns and M maximum decisions of a game.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import random_streams, rules
from cc_env.core.game import Game
from cc_env.core.repetition import count_occurrences
from cc_env.core.rules import DRAW, ONGOING, Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.search.alphabeta import deepen, make_context
from cc_env.search.scores import PROVEN, expected_result
from cc_env.search.transposition import NO_ACTION
from cc_env.search.workspace import MAX_PLIES, Context
from cc_env.tablebase.tablebase import Tablebase

# Longer games are drawn.
MAX_TURNS = 200
_MAX_DECISIONS = 4 * MAX_TURNS
# Decisions of a task.
_TASK_DECISIONS = 20_000
# Node limit of a search.
MAX_NODES = np.int64(500_000)
_TABLE_MEGABYTES = 0.5
_PERMILLE = 1000
# Games are drawn at this occurrence of a position, unless the rules have a limit of their own.
_REPETITIONS = 3


class PlaySettings(NamedTuple):
    """The settings of games.

    `depth` is the search depth in turns. A game starts with 0 to `opening` random turns; afterwards
    `exploration` of 1000 decisions are random.
    """

    depth: np.int64
    opening: np.int64
    exploration: np.int64


class SearchGames(NamedTuple):
    """Decisions of games, game after game, without those of the openings.

    `turn_starts` marks the first decision of a turn. `targets` are expected results and `results`
    those of the game, 0 to 1, for the player to move. `games` are numbers of games, from 0.
    """

    positions: NDArray[np.uint64]  # [N, F]
    turn_starts: NDArray[np.bool_]  # [N]
    targets: NDArray[np.float32]  # [N]
    results: NDArray[np.float32]  # [N]
    games: NDArray[np.int32]  # [N]


class _GameHistory(NamedTuple):
    """The history of the current game.

    `keys` are those of positions at the start of turns. `players` are those to move, `scores` those
    of the search. `is_random` marks decisions that ignored the search.
    """

    keys: NDArray[np.uint64]  # [T]
    players: NDArray[np.int8]  # [M]
    scores: NDArray[np.int64]  # [M]
    is_random: NDArray[np.bool_]  # [M]


def play_settings(depth: int, opening: int, exploration: float) -> PlaySettings:
    """Return settings; `exploration` is a fraction, 0 to 1."""
    return PlaySettings(
        np.int64(depth), np.int64(opening), np.int64(round(_PERMILLE * exploration))
    )


def play(
    game: Game, evaluation: Any, settings: PlaySettings, weight: float, count: int, seed: int
) -> SearchGames:
    """Play games with an evaluation, as returned by `Game.evaluation`.

    Returns at most `count` decisions, those of complete games. The target of a decision is the
    weighted mean of the search value and of the target at the start of the next turn, with `weight`
    (0 to 1) for the latter; in the last turn it is the result of the game. After a random action or
    with a proven result, the target is the search value, which then replaces the next turn's target
    for earlier decisions of the turn.
    """
    context = search_context(game, evaluation)
    games = SearchGames(
        np.zeros((count, len(game.initial)), np.uint64),
        np.zeros(count, np.bool_),
        np.zeros(count, np.float32),
        np.zeros(count, np.float32),
        np.zeros(count, np.int32),
    )
    history = _GameHistory(
        np.zeros(MAX_TURNS, np.uint64),
        np.zeros(_MAX_DECISIONS, np.int8),
        np.zeros(_MAX_DECISIONS, np.int64),
        np.zeros(_MAX_DECISIONS, np.bool_),
    )
    state = random_streams.streams(seed, 1)[0]
    decisions = _play_games(
        game.initial, settings, weight, context, history, game.repetition_limit, state, games
    )
    parts: list[Any] = [part[:decisions] for part in games]
    return SearchGames(*parts)


def search_context(game: Game, evaluation: Any, tables: Tablebase | None = None) -> Context:
    """Return the context of searches with an evaluation: a name, an evaluation or None (default).

    `tables` are exact values. Raises UnknownOption if the game has no evaluation by this name,
    BadTable for a damaged table.
    """
    return make_context(game, evaluation, table_megabytes=_TABLE_MEGABYTES, tables=tables)


def evaluate_positions(
    game: Game, evaluation: Any, positions: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Return the scores of positions, uint64[N, F], for the player to move, as int64[N]."""
    scores = np.zeros(len(positions), np.int64)
    _write_scores(game.initial, evaluation, positions, scores)
    return scores


@jit(nogil=True)
def _write_scores(
    start: Position, evaluation: Any, positions: NDArray[np.uint64], scores: NDArray[np.int64]
) -> None:
    for row in range(len(positions)):
        position = rules.load(positions[row], start)
        scores[row] = rules.evaluate(position, rules.to_move(position), evaluation)


def split_work(count: int, max_size: int = _TASK_DECISIONS) -> tuple[int, int]:
    """Split `count` decisions into equal tasks of at most `max_size`; return (tasks, size)."""
    tasks = -(-count // max_size)
    return tasks, -(-count // tasks)


@jit(nogil=True)
def _play_games(
    start: Position,
    settings: PlaySettings,
    weight: float,
    context: Context,
    history: _GameHistory,
    repetition_limit: Int,
    state: np.uint64,
    out: SearchGames,
) -> Int:
    """Play complete games until `out` is full; return the number of decisions.

    `repetition_limit` is that of the rules, 0 for none (`Game.repetition_limit`).
    """
    context, history, out = as_raw(context), as_raw(history), as_raw(out)
    line = np.full(MAX_PLIES, NO_ACTION, np.int32)
    legal = context.workspace.legal
    limit = repetition_limit if repetition_limit else _REPETITIONS
    first: Int = np.int64(0)
    number = 0
    while True:
        state = random_streams.advance(state)
        opening = random_streams.below(state, settings.opening + 1)
        position, row = start, first
        turn: Int = np.int64(0)
        result = rules.outcome(position)
        while result == ONGOING and turn < MAX_TURNS and row - first < _MAX_DECISIONS:
            is_turn_start = not rules.mid_turn(position)
            if is_turn_start:
                history.keys[turn] = rules.key(position)
                if count_occurrences(history.keys, turn, repetition_limit > 0) >= limit:
                    result = rules.repetition_outcome(position)
                    break
            state = random_streams.advance(state)
            is_random = (
                turn < opening or random_streams.below(state, _PERMILLE) < settings.exploration
            )
            if turn >= opening:
                if row == len(out.positions):
                    return first
                player = rules.to_move(position)
                deepen(position, player, settings.depth, MAX_NODES, context, line)
                rules.store(position, out.positions[row])
                out.turn_starts[row] = is_turn_start
                out.games[row] = number
                history.players[row - first] = player
                history.scores[row - first] = context.workspace.value
                history.is_random[row - first] = is_random
                row += 1
            action = np.int64(line[0])
            if is_random:
                count = rules.legal_actions(position, legal)
                state = random_streams.advance(state)
                action = np.int64(legal[random_streams.below(state, count)])
            position = rules.apply(position, action)
            turn += not rules.mid_turn(position)
            result = rules.outcome(position)
        _write_targets(first, row, result, weight, history, out)
        number += 1
        first = row


@jit
def _write_targets(
    first: Int, end: Int, result: Int, weight: float, history: _GameHistory, out: SearchGames
) -> None:
    """Write the results and targets of the decisions `first` to `end`, which are one game."""
    # For the first player: the target at the start of the next turn, and the result.
    next_target = 0.5
    if result not in (DRAW, ONGOING):
        next_target = 1.0 - result
    final_result = next_target
    for row in range(end - 1, first - 1, -1):
        player, score = history.players[row - first], history.scores[row - first]
        out.results[row] = final_result if player == 0 else 1 - final_result
        target = (1 + expected_result(score)) / 2
        is_cut = history.is_random[row - first] or abs(score) >= PROVEN
        if not is_cut:
            next_value = next_target if player == 0 else 1 - next_target
            target += weight * (next_value - target)
        out.targets[row] = target
        if out.turn_starts[row] or is_cut:
            next_target = target if player == 0 else 1 - target
