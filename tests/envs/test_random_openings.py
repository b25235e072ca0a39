"""Episodes that begin after random turns."""

import gymnasium
import numpy as np
import pytest

import cc_env.envs
from cc_env.envs.sb3 import OpponentVecEnv
from cc_env.errors import BadOption

MAKERS = {
    "make": lambda **options: gymnasium.make("cc_env/CaptureConquer-v0", **options),
    "make_vec": lambda **options: gymnasium.make_vec("cc_env/CaptureConquer-v0", 4, **options),
    "aec": lambda **options: cc_env.envs.BoardGameAEC("capture_conquer", **options),
    "sb3": lambda **options: OpponentVecEnv("capture_conquer", 4, **options),
}


def make_vec(count, name="cc_env/CaptureConquer-v0", **options):
    return gymnasium.make_vec(name, count, **{"opponent": None, **options})


def first_positions(envs):
    return [envs.unwrapped.position(board) for board in range(envs.num_envs)]


def positions_after(game, turns):
    """Return all positions after this number of turns."""
    reached = {game.initial}
    for _ in range(turns):
        reached = {game.play_turn(p, turn) for p in reached for turn in game.turns(p)}
    return reached


def test_numbers_of_random_turns_are_equally_frequent(game):
    envs = make_vec(3000, max_opening_turns=2)
    envs.reset(seed=1)
    by_turns = [positions_after(game, turns) for turns in range(3)]
    starts = first_positions(envs)
    shares = [np.mean([position in reached for position in starts]) for reached in by_turns]
    np.testing.assert_allclose(shares, 1 / 3, atol=0.03)
    assert len(set(starts)) > 200


@pytest.mark.parametrize("name", ["Checkers", "MiniCheckers", "Morris", "Cannon"])
def test_long_openings_leave_the_game_unfinished(name):
    envs = make_vec(50, f"cc_env/{name}-v0", max_opening_turns=200)
    envs.reset(seed=0)
    game = envs.unwrapped.game
    assert all(game.outcome(position) < 0 for position in first_positions(envs))
    assert not any(game.mid_turn(position) for position in first_positions(envs))


def test_openings_are_those_of_the_seed_and_the_board():
    few, many = make_vec(3, max_opening_turns=6), make_vec(40, max_opening_turns=6, threads=3)
    for envs in (few, many):
        envs.reset(seed=9)
    starts = first_positions(many)
    assert starts[:3] == first_positions(few)
    many.reset(seed=9)
    assert first_positions(many) == starts
    many.reset()
    assert first_positions(many) != starts
    many.close()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_games_after_the_first_have_openings_of_their_own(mode):
    mode = gymnasium.vector.AutoresetMode(mode)
    envs = make_vec(20, max_opening_turns=8, max_turns=1, autoreset_mode=mode)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    starts = []
    for _ in range(12):
        episodes = envs.unwrapped._boards.episodes
        envs.step(envs.action_space.sample())
        has_begun = envs.unwrapped._boards.episodes > episodes
        starts += [envs.unwrapped.position(board) for board in np.flatnonzero(has_begun)]
    assert len(starts) > 80
    assert len(set(starts)) > 0.6 * len(starts)


def test_learner_decides_first_in_its_seat_after_an_opening(game):
    envs = make_vec(50, opponent="greedy", max_opening_turns=5)
    _, infos = envs.reset(seed=0)
    assert (infos["to_move"] == infos["seat"]).all()
    assert set(infos["seat"]) == {0, 1}


def test_start_position_option_disables_random_openings(game):
    text = game.to_text(game.play_turn(game.initial, next(iter(game.turns(game.initial)))))
    envs = make_vec(5, max_opening_turns=5)
    envs.reset(seed=0, options={"position": text})
    assert first_positions(envs) == [game.from_text(text)] * 5
    env = gymnasium.make("cc_env/CaptureConquer-v0", opponent="random", seat=1, max_opening_turns=5)
    env.reset(seed=0, options={"position": text})
    assert env.unwrapped.position == game.from_text(text)


@pytest.mark.parametrize("make", MAKERS)
def test_every_environment_begins_with_an_opening(make):
    env = MAKERS[make](max_opening_turns=30)
    boards = env.boards if make == "sb3" else env.unwrapped._boards
    starts = []
    for seed in range(5):
        if make == "sb3":
            env.seed(seed)
            env.reset()
        else:
            env.reset(seed=seed)
        starts.append(boards.position())
    assert len(set(starts)) == 5


@pytest.mark.parametrize("wrong", [-1, 1001, True, 1.5, "2", None])
@pytest.mark.parametrize("make", MAKERS)
def test_invalid_number_of_turns_is_rejected(make, wrong):
    with pytest.raises(BadOption, match="max_opening_turns"):
        MAKERS[make](max_opening_turns=wrong)
