"""The turns of `rules.turns` and `rules.unmoves` are those of the legal actions."""

import numpy as np
import pytest

from cc_env.core import rules
from cc_env.core.bitboard import popcount
from cc_env.games.factory import make_game
from cc_env.jit.compiler import jit
from cc_env.tablebase.ranking import decode_position, make_ranking_tables, material_size
from cc_env.tablebase.values import UNKNOWN, terminal_value

CASES = [
    ("capture_conquer", {"size": 4}, (4, 3)),
    ("capture_conquer", {"size": 5}, (6, 6)),
    ("capture_conquer", {"size": 6}, (5, 4)),
    ("checkers", {}, (2, 1, 1, 2)),
    ("checkers", {"crowning": "ends_move"}, (0, 2, 2, 1)),
    ("morris", {}, (4, 5)),
    ("morris", {"flying": True, "free_move": "never"}, (3, 5)),
]


@jit
def count_equal(position, rows):
    """Return how many of the positions, uint64[M, F], have the same sets and state."""
    count = 0
    for row in rows:
        other = rules.load(row, position)
        is_equal = rules.numbering_state(other) == rules.numbering_state(position)
        count += is_equal and rules.to_sets(other) == rules.to_sets(position)
    return count


@jit
def is_quiet(passed, after):
    is_equal = True
    sets, sets_after = rules.to_sets(passed), rules.to_sets(after)
    for index in range(len(sets)):
        is_equal = is_equal and popcount(sets[index]) == popcount(sets_after[index])
    return is_equal


@jit
def compare_turns(chosen, material, ranking, like, legal):
    """Return how many turns these positions have, and how many are found in one way only.

    Exactly one unmove must take back a quiet turn.
    """
    turns, by_actions = (
        np.empty((4096, len(like)), np.uint64),
        np.empty((4096, len(like)), np.uint64),
    )
    before = np.empty((512, len(like)), np.uint64)
    sets = np.empty(len(material), np.uint64)
    total = wrong = 0
    for number in chosen:
        passed = decode_position(number, material, ranking, like, sets)
        position = rules.pass_turn(passed)
        if terminal_value(position) != UNKNOWN:
            continue
        count = rules.turns(position, legal, turns)
        count_by_actions = rules.apply_all(position, legal, by_actions)
        total += count
        for index in range(count):
            after = rules.load(turns[index], like)
            wrong += count_equal(after, by_actions[:count_by_actions]) == 0
            if is_quiet(passed, after):
                wrong += count_equal(passed, before[: rules.unmoves(after, before)]) != 1
        for index in range(count_by_actions):
            wrong += count_equal(rules.load(by_actions[index], like), turns[:count]) == 0
    return total, wrong


@jit
def compare_unmoves(chosen, material, ranking, like, legal):
    """Return how many unmoves there are to these positions, and how many no turn follows.

    Unmoves to finished games are not counted.
    """
    turns, before = np.empty((4096, len(like)), np.uint64), np.empty((512, len(like)), np.uint64)
    sets = np.empty(len(material), np.uint64)
    total = wrong = 0
    for number in chosen:
        position = decode_position(number, material, ranking, like, sets)
        for index in range(rules.unmoves(position, before)):
            previous = rules.pass_turn(rules.load(before[index], like))
            if terminal_value(previous) == UNKNOWN:
                total += 1
                wrong += count_equal(position, turns[: rules.turns(previous, legal, turns)]) == 0
    return total, wrong


@pytest.mark.parametrize(("name", "options", "material"), CASES)
def test_turns_and_unmoves_are_those_of_the_legal_actions(name, options, material):
    game = make_game(name, **options)
    assert game.numbering.unmoves
    ranking = make_ranking_tables(game.numbering, [material])
    legal = np.empty(16 * game.num_actions, np.int32)
    chosen = np.random.default_rng(0).integers(material_size(material, ranking), size=2000)
    arguments = chosen, np.array(material), ranking, game.numbering.like, legal
    for compare in compare_turns, compare_unmoves:
        total, wrong = compare(*arguments)
        assert total > 5000
        assert wrong == 0
