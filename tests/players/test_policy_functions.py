"""Policy functions and players with faulty decisions: the same error wherever they decide."""

from functools import partial

import gymnasium
import numpy as np
import pytest

from cc_env.accuracy.decisions import enumerate_replies, measure, sample_from_games
from cc_env.envs.sb3 import OpponentVecEnv
from cc_env.errors import BadPlayer, IllegalAction
from cc_env.games.factory import make_game
from cc_env.match.referee import play_match
from cc_env.play.session import GameSession
from cc_env.players.specs import as_player, make_player
from cc_env.tablebase.tablebase import Tablebase

GAME = make_game("capture_conquer", size=4)
TABLES = Tablebase(GAME)
NAME = "cc_env/CaptureConquer-v0"

# (result of a policy function, message of the error); the action space has 82 actions.
INVALID_RESULTS = [
    (
        np.array([7]),
        "action array([7]) is not an integer, but an array of shape (1,); pass one of its elements",
    ),
    ([7], "action [7] is not an integer, but a list; pass one of its elements"),
    ((7, None), "action (7, None) is not an integer, but a tuple; pass one of its elements"),
    (6.0, "action 6.0 is not an integer"),
    (None, "action None is not an integer"),
    ("3", "action '3' is not an integer"),
    (True, "action True is not an integer"),
]


def step_with(action):
    env = gymnasium.make(NAME, size=4, seat=0)
    env.reset(seed=0)
    env.step(action)


def play_opponent(make, opponent):
    env = make(opponent)
    env.reset()


@pytest.mark.parametrize(("result", "reason"), INVALID_RESULTS, ids=repr)
def test_result_that_is_no_integer_has_one_message_everywhere(result, reason):
    def policy(observation, info):
        return result

    expected = f"{reason}; valid: 0 to {GAME.num_actions - 1}"
    environments = (
        partial(gymnasium.make, NAME, size=4, seat=1),
        lambda opponent: gymnasium.make_vec(NAME, num_envs=2, size=4, seat=1, opponent=opponent),
        lambda opponents: OpponentVecEnv("capture_conquer", size=4, seat=1, opponents=opponents),
    )
    calls = [
        partial(step_with, result),
        partial(measure, policy, TABLES, [GAME.initial]),
        partial(enumerate_replies, TABLES, policy, 2),
        *(
            partial(play_opponent, lambda each, make=make: make(opponent=each), policy)
            for make in environments[:2]
        ),
        partial(play_opponent, environments[2], policy),
    ]
    for call in calls:
        with pytest.raises(IllegalAction) as caught:
            call()
        assert str(caught.value) == expected
    record = play_match(GAME, [as_player(policy, GAME), make_player("random", GAME)])
    assert (record.reason, record.detail) == ("illegal", expected)
    with pytest.raises(BadPlayer, match=r"^game 1: first forfeits \(illegal\): action "):
        sample_from_games(TABLES, policy, "random", 1)
    session = GameSession(
        GAME, ["policy function", "human"], player_factory=lambda *_: as_player(policy, GAME)
    )
    assert session.play_computer_decision() is None
    assert (session.result.reason, session.detail) == ("illegal", expected)


def test_player_that_returns_an_integer_is_rejected():
    class Integer:
        def choose(self, position, rng, clock):
            return 7

    expected = (
        "choose returned 7; expected: a Decision, such as cc_env.match.referee.Decision(action)"
    )
    for call in (
        partial(measure, Integer(), TABLES, [GAME.initial]),
        partial(enumerate_replies, TABLES, Integer(), 2),
        gymnasium.make(NAME, size=4, seat=1, opponent=Integer()).reset,
        gymnasium.make_vec(NAME, num_envs=2, size=4, seat=1, opponent=Integer()).reset,
    ):
        with pytest.raises(BadPlayer) as caught:
            call()
        assert str(caught.value) == expected
    record = play_match(GAME, [Integer(), make_player("random", GAME)])
    assert (record.reason, record.detail) == ("error", f"BadPlayer: {expected}")
