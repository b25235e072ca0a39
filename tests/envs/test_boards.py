"""Batches of boards."""

import numpy as np

from cc_env.envs.boards import Boards


def test_position_keys_are_those_of_the_current_game(game):
    boards = Boards(game, 3, max_turns=12, repetitions=3)
    boards.reset()
    rng, expected = np.random.default_rng(0), [[game.key(game.initial)] for _ in range(3)]
    for _ in range(8):
        np.testing.assert_array_equal(
            boards.position_keys, [row + [0] * (13 - len(row)) for row in expected]
        )
        boards.step(np.array([rng.choice(np.flatnonzero(mask)) for mask in boards.masks]))
        for board, row in enumerate(expected):
            if not game.mid_turn(boards.position(board)):
                row.append(game.key(boards.position(board)))
    boards.reset(np.array([True, False, False]))
    assert np.count_nonzero(boards.position_keys[0]) == 1
    assert np.count_nonzero(boards.position_keys[1]) == len(expected[1])


def test_no_position_keys_without_a_repetition_limit(game):
    boards = Boards(game, 2)
    boards.reset()
    assert boards.position_keys.shape == (2, 0)
