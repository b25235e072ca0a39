"""The environment of PPO's self-play: turns, rewards and opponents."""

import numpy as np
import pytest
from sb3_contrib.common.maskable.utils import get_action_masks

from cc_env.core.rules import DRAW, ONGOING
from cc_env.envs.opponents import Opponent
from cc_env.errors import IllegalAction
from cc_env.games.factory import make_game
from training.selfplay.selfplay_env import SelfPlayEnv


class RecordingOpponent(Opponent):
    """A random opponent that records its batches."""

    def __init__(self, name="recorder", share=1.0):
        super().__init__(name, self.record, share)
        self.batches = []

    def record(self, batch, rng):
        self.batches.append(batch)
        return (batch.masks * (1 - rng.random(batch.masks.shape))).argmax(1)


@pytest.fixture(scope="module")
def game():
    return make_game("capture_conquer", size=4)


@pytest.fixture
def env(game):
    return SelfPlayEnv(game, 40, [RecordingOpponent()], max_opening_turns=3, seed=1)


def random_actions(env, rng):
    masks = np.stack(env.env_method("action_masks"))
    return (masks * (1 - rng.random(masks.shape))).argmax(1)


def seats(env):
    return env.boards.seats


def test_learner_is_to_move_on_every_board(env, game):
    rng = np.random.default_rng(0)
    observations = env.reset()
    for _ in range(8):
        masks = get_action_masks(env)
        for board in range(env.num_envs):
            position = env.boards.position(board)
            assert game.to_move(position) == seats(env)[board]
            np.testing.assert_array_equal(masks[board], game.action_mask(position))
            np.testing.assert_array_equal(observations[board], game.observe(position))
        observations = env.step(random_actions(env, rng))[0]


def test_learner_plays_both_seats_equally_often(env):
    env.reset()
    rng, count = np.random.default_rng(0), np.zeros(2)
    for _ in range(100):
        before = seats(env)
        done = env.step(random_actions(env, rng))[2]
        count += np.bincount(before[done], minlength=2)
    assert count.min() > 100
    assert 0.8 < count[0] / count[1] < 1.25


def test_rewards_of_the_learner_come_at_the_end(game):
    def lowest(batch, rng):
        return batch.masks.argmax(1)

    opponent = Opponent("lowest", lowest, 1.0)
    env = SelfPlayEnv(game, 40, [opponent], max_opening_turns=3, seed=1)
    env.reset()
    rng, points = np.random.default_rng(0), []
    for _ in range(60):
        before = [env.boards.position(board) for board in range(env.num_envs)]
        seat, actions = seats(env), random_actions(env, rng)
        _, rewards, done, _ = env.step(actions)
        for board, position in enumerate(before):
            position = game.apply(position, actions[board])
            while game.outcome(position) == ONGOING and game.to_move(position) != seat[board]:
                position = game.apply(position, game.legal_actions(position)[0])
            result = game.outcome(position)
            assert done[board] or result == ONGOING
            reward = {seat[board]: 1, 1 - seat[board]: -1}.get(result, 0)
            assert rewards[board] == reward
            points += [(1 + reward) / 2] if done[board] else []
    assert opponent.take_points() == points
    assert {0.0, 1.0} <= set(points)
    assert opponent.take_points() == []


def test_opponents_decide_in_batches_from_their_own_view(env, game):
    env.reset()
    (opponent,) = env.opponents
    env.step(random_actions(env, np.random.default_rng(0)))
    assert max(len(batch.positions) for batch in opponent.batches) > 20
    for batch in opponent.batches:
        for row, planes, mask in zip(*batch, strict=True):
            position = type(game.initial)(*row)
            np.testing.assert_array_equal(planes, game.observe(position))
            np.testing.assert_array_equal(mask, game.action_mask(position))


def test_opponents_are_sampled_by_share(game):
    pool = [
        RecordingOpponent("often", 3.0),
        RecordingOpponent("never", 0.0),
        RecordingOpponent("seldom", 1.0),
    ]
    env = SelfPlayEnv(game, 40, pool, max_opening_turns=0, seed=2)
    env.reset()
    rng = np.random.default_rng(0)
    for _ in range(60):
        env.step(random_actions(env, rng))
    often, never, seldom = (len(opponent.take_points()) for opponent in pool)
    assert never == 0
    assert not pool[1].batches
    assert 2 < often / seldom < 4.5


@pytest.mark.parametrize(("turns", "minimum", "maximum"), [(0, 1, 1), (4, 10, 1000)])
def test_games_start_after_random_turns(game, turns, minimum, maximum):
    starts = set()
    env = SelfPlayEnv(game, 400, [RecordingOpponent()], max_opening_turns=turns, seed=3)
    env.reset()
    # Boards without turns show their starting position.
    for board in range(400):
        if env.boards.turns(board) == 0:
            starts.add(env.boards.position(board))
    assert minimum <= len(starts) <= maximum
    assert all(game.outcome(position) == ONGOING for position in starts)
    assert game.initial in starts


def test_same_seed_repeats_the_games(game):
    def play(seed):
        env = SelfPlayEnv(game, 16, [RecordingOpponent()], max_opening_turns=3, seed=seed)
        rng, outputs = np.random.default_rng(0), [env.reset()]
        for _ in range(20):
            outputs += env.step(random_actions(env, rng))[:2]
        return np.concatenate([array.ravel() for array in outputs])

    assert (play(5) == play(5)).all()
    assert (play(5) != play(6)).any()


def test_illegal_actions_are_rejected(env):
    env.reset()
    legal = random_actions(env, np.random.default_rng(0))
    wrong = legal.copy()
    wrong[7] = np.flatnonzero(env.action_masks()[7] == 0)[0]
    with pytest.raises(IllegalAction, match="board 7: action"):
        env.step(wrong)
    env.step(legal)


@pytest.mark.parametrize("action", [-1, 10**6])
def test_illegal_replies_are_rejected(game, action):
    pool = [Opponent("cheat", lambda batch, rng: np.full(len(batch.masks), action), 1.0)]
    with pytest.raises(IllegalAction, match=f"action {action} is not legal in"):
        SelfPlayEnv(game, 8, pool, max_opening_turns=0, seed=0).reset()


@pytest.mark.parametrize("contempt", [0, 0.25])
def test_games_at_arena_limits_are_draws(contempt):
    game, opponents = make_game("morris"), [RecordingOpponent()]
    env = SelfPlayEnv(game, 40, opponents, max_opening_turns=3, seed=1, contempt=contempt)
    env.reset()
    rng, draws = np.random.default_rng(0), 0
    for _ in range(300):
        _, rewards, done, infos = env.step(random_actions(env, rng))
        for board in np.flatnonzero(done):
            assert infos[board]["TimeLimit.truncated"] is False
            assert infos[board]["outcome"] in (0, 1, 2)
            if infos[board]["outcome"] == 2:
                draws += 1
                assert rewards[board] == -contempt
    assert draws


def play(env, steps):
    """Play random actions; yield rewards, dones, outcomes, and potentials before each step."""
    env.reset()
    rng = np.random.default_rng(0)
    for _ in range(steps):
        potentials = env.potentials()
        _, rewards, dones, infos = env.step(random_actions(env, rng))
        yield rewards, dones, np.array([info["outcome"] for info in infos]), potentials


@pytest.mark.parametrize("name", ["capture_conquer", "morris", "cannon"])
def test_shaping_adds_minus_the_initial_potential_to_a_return(name):
    game = make_game(name)
    plain = SelfPlayEnv(game, 20, [Opponent("random", "random")], max_opening_turns=6, seed=2)
    opponents = [Opponent("random", "random")]
    shaped = SelfPlayEnv(game, 20, opponents, max_opening_turns=6, seed=2, gamma=0.9, threads=2)
    shaped.shaping = 0.5
    returns, initial, discounts, games = np.zeros(20), np.zeros(20), np.ones(20), 0
    for (reward, dones, _, potentials), (other, _, _, _) in zip(
        play(shaped, 250), play(plain, 250), strict=True
    ):
        initial = np.where(discounts == 1, potentials, initial)
        returns += discounts * (reward - other)
        discounts *= 0.9
        np.testing.assert_allclose(returns[dones], -0.5 * initial[dones], atol=1e-5)
        games += int((np.abs(initial[dones]) > 0.01).sum())
        returns[dones], discounts[dones] = 0, 1
    assert games > 20


@pytest.mark.parametrize(
    ("name", "own", "enemy"), [("checkers", [0, 1], [2, 3]), ("capture_conquer", [0], [1])]
)
def test_potential_favors_the_learner_with_more_pieces(name, own, enemy):
    game = make_game(name)
    env = SelfPlayEnv(game, 40, [Opponent("random", "random")], max_opening_turns=3, seed=1)
    env.reset()
    rng, compared = np.random.default_rng(0), np.zeros(2)
    for _ in range(30):
        observations = env.step(random_actions(env, rng))[0].sum((2, 3))
        lead = observations[:, own].sum(1) - observations[:, enemy].sum(1)
        differs = abs(lead) > 2
        np.testing.assert_array_equal(np.sign(env.potentials()[differs]), np.sign(lead[differs]))
        compared += np.bincount(seats(env)[differs], minlength=2)
    assert compared.min() > 15


def test_draw_is_rewarded_with_minus_contempt():
    game = make_game("checkers", no_progress_limit=6)
    opponents = [Opponent("random", "random")]
    env = SelfPlayEnv(game, 40, opponents, max_opening_turns=3, seed=1, contempt=0.25)
    draws = 0
    for rewards, dones, outcomes, _ in play(env, 120):
        is_draw = dones & (outcomes == DRAW)
        np.testing.assert_array_equal(rewards[is_draw], np.float32(-0.25))
        assert (np.abs(rewards[dones & ~is_draw]) == 1).all()
        assert (rewards[~dones] == 0).all()
        draws += is_draw.sum()
    assert draws > 5
