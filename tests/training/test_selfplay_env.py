"""The environment of self-play: whose turn, whose reward, whom it asks."""

import numpy as np
import pytest
from sb3_contrib.common.maskable.utils import get_action_masks

from cc_env.core.rules import ONGOING
from cc_env.envs.opponents import Opponent, random_policy
from cc_env.errors import IllegalAction
from cc_env.games.factory import make_game
from training.ppo.selfplay_env import make_env


class Noted(Opponent):
    """An opponent that draws its actions, and notes what it is asked."""

    def __init__(self, name="noted", share=1.0):
        super().__init__(name, self.note, share)
        self.asked = []

    def note(self, asked, rng):
        self.asked.append(asked)
        return random_policy(asked, rng)


@pytest.fixture(scope="module")
def game():
    return make_game("capture_conquer", size=4)


@pytest.fixture
def env(game):
    return make_env(game, 40, [Noted()], opening_turns=3, seed=1)


def any_actions(env, rng):
    masks = np.stack(env.env_method("action_masks"))
    return (masks * (1 - rng.random(masks.shape))).argmax(1)


def seats(env):
    return env.boards.seats


def test_the_learner_is_to_move_on_every_board_and_sees_what_is_legal(env, game):
    rng = np.random.default_rng(0)
    observations = env.reset()
    for _ in range(8):
        masks = get_action_masks(env)
        for board in range(env.num_envs):
            position = env.boards.position(board)
            assert game.to_move(position) == seats(env)[board]
            np.testing.assert_array_equal(masks[board], game.action_mask(position))
            np.testing.assert_array_equal(observations[board], game.observe(position))
        observations = env.step(any_actions(env, rng))[0]


def test_the_learner_plays_both_seats(env):
    env.reset()
    rng, count = np.random.default_rng(0), np.zeros(2)
    for _ in range(100):
        before = seats(env)
        over = env.step(any_actions(env, rng))[2]
        count += np.bincount(before[over], minlength=2)
    assert count.min() > 100
    assert 0.8 < count[0] / count[1] < 1.25


def test_rewards_are_the_learner_s_and_come_when_the_game_is_over(game):
    def lowest(asked, rng):
        return asked.masks.argmax(1)

    opponent = Opponent("lowest", lowest, 1.0)
    env = make_env(game, 40, [opponent], opening_turns=3, seed=1)
    env.reset()
    rng, points = np.random.default_rng(0), []
    for _ in range(60):
        before = [env.boards.position(board) for board in range(env.num_envs)]
        seat, actions = seats(env), any_actions(env, rng)
        _, rewards, over, _ = env.step(actions)
        for board, position in enumerate(before):
            position = game.apply(position, actions[board])
            while game.outcome(position) == ONGOING and game.to_move(position) != seat[board]:
                position = game.apply(position, game.legal_actions(position)[0])
            result = game.outcome(position)
            assert over[board] or result == ONGOING
            won = {seat[board]: 1, 1 - seat[board]: -1}.get(result, 0)
            assert rewards[board] == won
            points += [(1 + won) / 2] if over[board] else []
    assert opponent.take_points() == points
    assert {0.0, 1.0} <= set(points)
    assert opponent.take_points() == []


def test_an_opponent_is_asked_about_many_boards_at_once_and_sees_its_own_side(env, game):
    env.reset()
    (opponent,) = env.opponents
    env.step(any_actions(env, np.random.default_rng(0)))
    assert max(len(asked.positions) for asked in opponent.asked) > 20
    for asked in opponent.asked:
        for row, planes, mask in zip(*asked, strict=True):
            position = type(game.initial)(*row)
            np.testing.assert_array_equal(planes, game.observe(position))
            np.testing.assert_array_equal(mask, game.action_mask(position))


def test_opponents_are_drawn_by_their_shares_for_each_game(game):
    pool = [Noted("often", 3.0), Noted("never", 0.0), Noted("seldom", 1.0)]
    env = make_env(game, 40, pool, opening_turns=0, seed=2)
    env.reset()
    rng = np.random.default_rng(0)
    for _ in range(60):
        env.step(any_actions(env, rng))
    often, never, seldom = (len(opponent.take_points()) for opponent in pool)
    assert never == 0
    assert not pool[1].asked
    assert 2 < often / seldom < 4.5


@pytest.mark.parametrize(("turns", "fewest", "most"), [(0, 1, 1), (4, 10, 1000)])
def test_games_begin_after_random_turns(game, turns, fewest, most):
    starts = set()
    env = make_env(game, 400, [Noted()], opening_turns=turns, seed=3)
    env.reset()
    for board in range(400):  # those in which the learner is to move first began there
        if env.boards.turns(board) == 0:
            starts.add(env.boards.position(board))
    assert fewest <= len(starts) <= most
    assert all(game.outcome(position) == ONGOING for position in starts)
    assert game.initial in starts


def test_the_same_seed_is_the_same_games(game):
    def play(seed):
        env = make_env(game, 16, [Noted()], opening_turns=3, seed=seed)
        rng, seen = np.random.default_rng(0), [env.reset()]
        for _ in range(20):
            seen += env.step(any_actions(env, rng))[:2]
        return np.concatenate([array.ravel() for array in seen])

    assert (play(5) == play(5)).all()
    assert (play(5) != play(6)).any()


def test_illegal_actions_are_refused(env):
    env.reset()
    legal = any_actions(env, np.random.default_rng(0))
    wrong = legal.copy()
    wrong[7] = np.flatnonzero(env.action_masks()[7] == 0)[0]
    with pytest.raises(IllegalAction, match="board 7: action"):
        env.step(wrong)
    env.step(legal)


@pytest.mark.parametrize("action", [-1, 10**6])
def test_illegal_answers_are_refused(game, action):
    pool = [Opponent("cheat", lambda asked, rng: np.full(len(asked.masks), action), 1.0)]
    with pytest.raises(IllegalAction, match=f"action {action} is not legal in"):
        make_env(game, 8, pool, opening_turns=0, seed=0).reset()


def test_the_arena_s_limits_are_draws_not_games_of_unknown_value():
    env = make_env(make_game("morris"), 40, [Noted()], opening_turns=3, seed=1)
    env.reset()
    rng, truncated = np.random.default_rng(0), 0
    for _ in range(300):
        _, rewards, over, infos = env.step(any_actions(env, rng))
        for board in np.flatnonzero(over):
            assert infos[board]["TimeLimit.truncated"] is False
            if infos[board]["outcome"] == -1:
                truncated += 1
                assert rewards[board] == 0
    assert truncated
