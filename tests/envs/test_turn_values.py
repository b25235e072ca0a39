"""The wrapper that adds values before and after each turn."""

import gymnasium
import numpy as np
import pytest

from cc_env.envs.turn_values import TurnValues
from cc_env.envs.wrappers import ExactValues
from cc_env.errors import BadOption
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player
from cc_env.tablebase.tablebase import Tablebase
from cc_env.text.turns import legal_turn_texts


def make(**options):
    return gymnasium.make("cc_env/TextGame-v0", **{"size": 4, "opponent": "greedy", **options})


def random_reply(env, rng):
    board = env.unwrapped
    return f"<turn>{rng.choice(legal_turn_texts(board.game, board.position))}</turn>"


def test_values_are_exact_where_tables_cover_the_game():
    env, rng, drops = TurnValues(ExactValues(make())), np.random.default_rng(0), set()
    tables = Tablebase(env.unwrapped.game)
    for episode in range(8):
        _, info = env.reset(seed=episode)
        assert info["value_before"] == info["value_after"] == info["value"]
        is_over = False
        while not is_over:
            before = tables.probe(env.unwrapped.position).value
            _, _, terminated, truncated, info = env.step(random_reply(env, rng))
            assert info["value_is_exact"]
            assert info["value_before"] == before
            assert info["keeps_value"] == (info["value_after"] == before)
            drops.add(before - info["value_after"])
            is_over = terminated or truncated
    assert drops == {0, 1, 2}


def test_values_are_estimates_elsewhere():
    env, rng = TurnValues(make(size=6), evaluator="minimax:depth=2"), np.random.default_rng(0)
    _, info = env.reset(seed=0)
    player = make_player("minimax:depth=2", env.unwrapped.game)
    for _ in range(4):
        value = player.choose(env.unwrapped.position, rng, Clock()).value
        *_, info = env.step(random_reply(env, rng))
        assert info["value_before"] == pytest.approx(value)
        assert not info["value_is_exact"]
        assert -1 <= info["value_after"] <= 1


def test_end_of_a_game_is_exact():
    env, rng = TurnValues(make(size=6), evaluator="minimax:depth=1"), np.random.default_rng(0)
    env.reset(seed=0)
    is_over = False
    while not is_over:
        before = env.unwrapped.position
        _, reward, is_over, _, info = env.step(random_reply(env, rng))
    game = env.unwrapped.game
    after = game.play_turn(before, env.unwrapped.last_turn)
    assert game.outcome(after) < 0 or info["value_after"] == reward


def test_refused_replies_keep_the_value_until_they_lose():
    env = TurnValues(make(tries=2))
    _, info = env.reset(seed=0)
    value = info["value_before"]
    *_, info = env.step("I do not know.")
    assert info["value_before"] == info["value_after"] == value
    _, reward, terminated, _, info = env.step("I do not know.")
    assert (reward, terminated, info["value_after"]) == (-1, True, -1)


def test_actions_have_values_too():
    env = TurnValues(gymnasium.make("cc_env/CaptureConquer-v0", size=4, seat=0))
    env.reset(seed=0)
    exact = Tablebase(env.unwrapped.game).probe(env.unwrapped.position)
    *_, info = env.step(exact.best[0])
    assert info["value_before"] == info["value_after"] == exact.value


def test_evaluator_without_values_is_refused():
    env = TurnValues(make(size=6), evaluator="random")
    with pytest.raises(BadOption, match="'random' reports no values"):
        env.reset(seed=0)


def test_other_environments_are_refused():
    with pytest.raises(BadOption, match="not an environment of cc_env"):
        TurnValues(gymnasium.make("CartPole-v1"))
