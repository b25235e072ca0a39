"""Batches of boards."""

import numpy as np
import pytest
from double_turns import DoubleTurns

from cc_env.envs.boards import Boards
from cc_env.envs.kernels import Autoreset
from cc_env.envs.opponents import make_opponent
from cc_env.match.referee import Decision


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


def test_position_keys_are_stored_only_for_a_repetition_limit(game):
    boards = Boards(game, 2)
    boards.reset()
    assert boards.position_keys.shape == (2, 0)


class Random:
    """A player without a compiled policy."""

    def choose(self, position, rng, clock):
        return Decision(int(rng.integers(min(position.size, 4))), None)


@pytest.mark.parametrize("autoreset", [Autoreset.NEXT_STEP, Autoreset.SAME_STEP])
def test_replies_before_the_first_decision_do_not_change_the_game_that_ended(autoreset):
    game = DoubleTurns()
    opponent = make_opponent(Random(), game)
    boards = Boards(game, 16, opponent=opponent, seat=1, autoreset=autoreset)
    boards.reset(streams=np.arange(16, dtype=np.uint64))
    for _ in range(50):
        is_reset, sizes = boards.done, boards.positions[:, 0].copy()
        boards.step(np.minimum(sizes, 4).astype(np.int64) - 1)
        assert not boards.terminated[is_reset].any()
        # The learner takes all that is left, and wins.
        is_won = ~is_reset & (sizes <= 4)
        assert boards.terminated[is_won].all()
        assert (boards.rewards[is_won] == 1).all()
        assert (boards.outcomes[is_won] == 1).all()
        if autoreset == Autoreset.SAME_STEP:
            assert not boards.done.any()


def play(boards, actions):
    """Reset a board and play the actions until the game is over; return those played."""
    boards.reset()
    played = []
    for action in actions:
        if boards.done[0]:
            break
        played.append(action(boards) if callable(action) else action)
        boards.step(np.array([played[-1]]))
    return played


def test_ending_is_repetition_if_both_limits_are_reached(game):
    rng = np.random.default_rng(0)

    def random_action(boards):
        return rng.choice(np.flatnonzero(boards.masks[0]))

    boards = Boards(game, max_turns=500, repetitions=2)
    actions = play(boards, [random_action] * 2000)
    while boards.result()["ending"] != "repetition":
        actions = play(boards, [random_action] * 2000)
    both = Boards(game, max_turns=boards.turns(), repetitions=2)
    play(both, actions)
    assert both.truncated[0]
    assert both.result()["ending"] == "repetition"
    only_turns = Boards(game, max_turns=boards.turns())
    play(only_turns, actions)
    assert only_turns.result()["ending"] == "max_turns"
