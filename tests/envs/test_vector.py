"""The vector environment."""

import re

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as wrappers

from cc_env.envs.aec import BoardGameAEC
from cc_env.envs.single import BoardGameEnv
from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.errors import (
    BadOption,
    BadPosition,
    IllegalAction,
    ResetNeeded,
    UnknownKeyword,
    UnknownOption,
)
from cc_env.games.factory import make_game
from cc_env.match.referee import Decision

ID = "cc_env/CaptureConquer-v0"
MODES = list(AutoresetMode)


def make(count=8, **arguments):
    return gymnasium.make_vec(
        ID, num_envs=count, vectorization_mode="vector_entry_point", **arguments
    ).unwrapped


def policy(masks, ply):
    """Return legal actions that depend on the mask alone."""
    counts = masks.sum(1, dtype=np.int64)
    picks = np.where(counts > 0, (ply * 7 + counts) % np.maximum(counts, 1), 0)
    return np.array(
        [np.flatnonzero(m)[k] if m.any() else 0 for m, k in zip(masks, picks, strict=True)]
    )


def run(envs, steps, seed=0):
    """Return the results of all steps by board: observation, reward, ends, mask and seat."""
    observations, info = envs.reset(seed=seed)
    results = [[(observations[i], info["action_mask"][i])] for i in range(envs.num_envs)]
    for ply in range(steps):
        *step, info = envs.step(policy(info["action_mask"], ply))
        for i, board in enumerate(results):
            board.append(tuple(part[i] for part in (*step, info["action_mask"], info["seat"])))
    return results


def same(first, second):
    return all(
        np.array_equal(a, b)
        for step, other in zip(first, second, strict=True)
        for a, b in zip(step, other, strict=True)
    )


# Conformance


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("opponent", ["random", None])
def test_outputs_have_the_documented_shapes_and_dtypes(mode, opponent):
    envs = make(5, autoreset_mode=mode, opponent=opponent)
    assert isinstance(envs, gymnasium.vector.VectorEnv)
    assert envs.metadata["autoreset_mode"] == mode
    observations, info = envs.reset(seed=1)
    assert envs.observation_space.contains(observations)
    assert envs.single_observation_space.contains(observations[0])
    for _ in range(3):
        actions = envs.action_space.sample()
        assert envs.action_space.contains(actions)
        assert info["action_mask"][np.arange(5), actions].all()
        observations, rewards, terminated, truncated, info = envs.step(actions)
        assert envs.observation_space.contains(observations)
        assert rewards.shape == terminated.shape == truncated.shape == (5,)
        assert (rewards.dtype, terminated.dtype, truncated.dtype) == (float, bool, bool)
        assert info["action_mask"].dtype == np.int8


def test_gymnasium_wrappers_record_statistics():
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(make(4))
    envs.action_space.seed(0)
    envs.reset(seed=0)
    finished = 0
    for _ in range(100):
        *_, info = envs.step(envs.action_space.sample())
        finished += int(np.sum(info.get("_episode", 0)))
    assert finished > 4


# One board of many


def test_games_do_not_depend_on_the_number_of_boards():
    many, few = run(make(8), 120), run(make(3), 120)
    assert all(same(many[i], few[i]) for i in range(3))
    assert not same(many[0], many[1])


def test_same_seed_gives_the_same_games():
    first = make()
    expected = run(make(), 60)
    first.reset(seed=0)
    run(make(), 20, seed=3)
    assert all(map(same, run(first, 60), expected))
    assert not same(run(make(), 60, seed=1)[0], expected[0])


def test_each_board_can_have_a_seed():
    alone = run(make(1), 40, seed=[17])
    both = run(make(2), 40, seed=[5, 17])
    assert same(alone[0], both[1])


def test_streams_continue_without_a_seed():
    envs = make(1, seat=1)
    first, _ = envs.reset(seed=0)
    openings = {envs.reset()[0].tobytes() for _ in range(10)} | {first.tobytes()}
    assert len(openings) > 3


def test_one_board_plays_like_the_single_environment():
    envs, single = make(1, seat=0), gymnasium.make(ID, seat=0)
    single.reset(seed=2)
    envs.reset(seed=2)
    # The same random stream.
    stream = single.unwrapped._boards._batch.episodes["stream"]
    envs._boards._batch.episodes["stream"] = stream
    over = False
    while not over:
        action = int(policy(single.unwrapped.action_masks()[None], 3)[0])
        observation, reward, terminated, truncated, info = single.step(action)
        batch = envs.step(np.array([action]))
        assert np.array_equal(batch[0][0], observation)
        assert (batch[1][0], batch[2][0], batch[3][0]) == (reward, terminated, truncated)
        assert np.array_equal(batch[4]["action_mask"][0], info["action_mask"])
        over = terminated or truncated


# Autoreset


def start_planes(envs):
    return envs.game.observe(envs.game.initial)


def test_next_step_mode_resets_in_the_step_after_the_end():
    envs = make(6, seat=0, autoreset_mode=AutoresetMode.NEXT_STEP)
    _, info = envs.reset(seed=0)
    over = np.zeros(6, bool)
    ends = 0
    for ply in range(150):
        observations, rewards, terminated, truncated, info = envs.step(
            policy(info["action_mask"], ply)
        )
        for i in np.flatnonzero(over):
            assert np.array_equal(observations[i], start_planes(envs))
            assert (rewards[i], terminated[i], truncated[i]) == (0, False, False)
        over = terminated | truncated
        assert info["action_mask"][terminated].all()
        assert np.array_equal(rewards != 0, terminated & (info["outcome"] != 2))
        ends += over.sum()
    assert ends > 6


def test_same_step_mode_resets_at_once_and_returns_final_observations():
    envs = make(6, seat=0, autoreset_mode="SameStep")
    mirror = make(6, seat=0, autoreset_mode="Disabled")
    _, info = envs.reset(seed=0)
    mirror.reset(seed=0)
    for ply in range(200):
        actions = policy(info["action_mask"], ply)
        last, *_ = mirror.step(actions)
        observations, _, terminated, truncated, info = envs.step(actions)
        over = terminated | truncated
        assert np.array_equal(info["_final_obs"], over)
        assert np.array_equal(info["final_obs"][over], last[over])
        assert np.array_equal(observations[~over], last[~over])
        assert info["action_mask"].any(axis=1).all()
        if over.any():
            for i in np.flatnonzero(over):
                assert np.array_equal(observations[i], start_planes(envs))
            return
    raise AssertionError("no game ended")


def test_disabled_mode_needs_a_reset_of_finished_boards():
    envs = make(6, autoreset_mode=AutoresetMode.DISABLED)
    envs.action_space.seed(0)
    envs.reset(seed=0)
    over = np.zeros(6, bool)
    while not over.any():
        *_, terminated, truncated, _ = envs.step(envs.action_space.sample())
        over = terminated | truncated
    before = [envs.position(i) for i in range(6)]
    with pytest.raises(ResetNeeded, match=rf"board {np.flatnonzero(over)[0]}: .* call reset"):
        envs.step(envs.action_space.sample())
    envs.reset(options={"reset_mask": over})
    for i in range(6):
        assert over[i] or envs.position(i) == before[i]
    envs.step(envs.action_space.sample())


# Two-sided


def test_two_sided_boards_reward_the_player_who_moved():
    envs = make(4, opponent=None, autoreset_mode=AutoresetMode.DISABLED)
    observations, info = envs.reset(seed=0)
    assert list(info["to_move"]) == [0] * 4
    ended = np.zeros(4, bool)
    for ply in range(300):
        movers = info["to_move"].copy()
        positions = [envs.position(i) for i in range(4)]
        for i, position in enumerate(positions):
            assert np.array_equal(observations[i], envs.game.observe(position))
        actions = policy(info["action_mask"], ply)
        observations, rewards, terminated, truncated, info = envs.step(actions)
        for i in np.flatnonzero(terminated):
            winner = info["outcome"][i]
            assert rewards[i] == (0 if winner == 2 else 1 if winner == movers[i] else -1)
        ended |= terminated
        over = terminated | truncated
        if over.any():
            observations, info = envs.reset(options={"reset_mask": over})
    assert ended.any()


def test_turn_of_two_decisions_stays_with_the_player():
    envs = make(1, opponent=None)
    _, info = envs.reset(options={"position": "6/1bb3/1brrr1/1r1r2/6/6 b"})
    first, _ = envs.game.parse_turn(envs.position(0), "1,2-3,2x-")
    *_, info = envs.step(np.array([first]))
    assert info["to_move"][0] == 0
    *_, info = envs.step(np.array([envs.game.num_actions - 1]))
    assert info["to_move"][0] == 1


# Limits, views, pictures


def test_max_turns_truncates():
    envs = make(3, max_turns=5, seat=0)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    for _ in range(2):
        *_, truncated, _ = envs.step(envs.action_space.sample())
        assert not truncated.any()
    *_, terminated, truncated, info = envs.step(envs.action_space.sample())
    assert truncated.all()
    assert not terminated.any()
    assert (info["outcome"] == -1).all()


def test_repetitions_truncate():
    text = "b5/b5/6/6/5r/5r b"
    envs = make(1, opponent=None, repetitions=3)
    envs.reset(options={"position": text})
    cycle = ["0,0-2,0", "5,5-3,5", "2,0-0,0", "3,5-5,5"]
    truncations = []
    for turn in cycle * 2:
        action = envs.game.parse_turn(envs.position(0), turn)[0]
        truncations.append(bool(envs.step(np.array([action]))[3][0]))
    assert truncations == [False] * 7 + [True]


@pytest.mark.parametrize("mode", MODES)
def test_result_describes_how_a_game_ended(mode):
    envs = BoardGameVectorEnv("mini_checkers", 16, opponent=None, max_turns=31, autoreset_mode=mode)
    with pytest.raises(BadOption, match="board 0: its game is not over"):
        envs.result(0)
    envs.action_space.seed(0)
    envs.reset(seed=0)
    endings = set()
    for _ in range(31):
        before, actions = list(map(envs.position, range(16))), envs.action_space.sample()
        *_, terminated, truncated, info = envs.step(actions)
        over = terminated | truncated
        for board in np.flatnonzero(over):
            result = envs.result(board)
            assert result["outcome"] == info["outcome"][board]
            assert terminated[board] or result["score"] == (0, 0)
            if terminated[board]:
                last = envs.game.apply(before[board], actions[board])
                assert result["score"] == envs.game.score(last)
            endings.add(result["ending"])
        for board in np.flatnonzero(~over):
            with pytest.raises(BadOption, match=f"board {board}: its game is not over"):
                envs.result(board)
        if mode == AutoresetMode.DISABLED and over.any():
            envs.reset(options={"reset_mask": over})
    assert endings == {"both_stuck", "no_pieces", "max_turns"}
    envs.reset(seed=0)
    with pytest.raises(BadOption, match="board 3: its game is not over"):
        envs.result(3)


def test_next_step_overwrites_observations_without_copies():
    envs = make(3, copy=False)
    observations, info = envs.reset(seed=0)
    before = observations.copy()
    with pytest.raises(ValueError, match="read-only"):
        info["action_mask"][0] = 1
    envs.step(envs.action_space.sample())
    assert not np.array_equal(observations, before)
    copies = make(3)
    observations, _ = copies.reset(seed=0)
    copy = observations.copy()
    copies.step(copies.action_space.sample())
    assert np.array_equal(observations, copy)


@pytest.mark.parametrize("mode", MODES)
def test_wrappers_may_change_arrays_without_copies(mode):
    """Gymnasium's vector wrappers write into the arrays of `step`, as SyncVectorEnv permits."""

    def wrapped(copy):
        envs = BoardGameVectorEnv(
            "capture_conquer", 4, size=4, copy=copy, autoreset_mode=mode, max_turns=12
        )
        envs = wrappers.ClipReward(envs, -0.5, 0.5)
        # This wrapper does not accept SAME_STEP.
        if mode != AutoresetMode.SAME_STEP:
            envs = wrappers.VectorizeTransformObservation(
                envs,
                gymnasium.wrappers.TransformObservation,
                func=lambda planes: 1 - planes,
                observation_space=envs.single_observation_space,
            )
        return wrappers.RecordEpisodeStatistics(envs)

    shared, copied = wrapped(False), wrapped(True)
    (planes, info), (expected, _) = shared.reset(seed=0), copied.reset(seed=0)
    np.testing.assert_array_equal(planes, expected)
    ended = 0
    for ply in range(60):
        actions = policy(info["action_mask"], ply)
        (*step, info), (*other, _) = shared.step(actions), copied.step(actions)
        for array, same in zip(step, other, strict=True):
            np.testing.assert_array_equal(array, same)
        over = step[2] | step[3]
        assert set(step[1]) <= {-0.5, 0, 0.5}
        ended += over.sum()
        if mode == AutoresetMode.DISABLED and over.any():
            (planes, info), (expected, _) = (
                envs.reset(options={"reset_mask": over}) for envs in (shared, copied)
            )
            np.testing.assert_array_equal(planes, expected)
    assert ended > 4


def test_finished_boards_can_be_sampled():
    envs = make(3, max_turns=3, seat=0)
    envs.reset(seed=0)
    ended = 0
    for _ in range(8):
        *_, truncated, _ = envs.step(envs.action_space.sample())
        ended += truncated.all()
    assert ended > 1
    alone = make(1)
    alone.reset(seed=0)
    for _ in range(100):
        *_, info = alone.step(alone.action_space.sample())
    assert info["action_mask"].shape == (1, 410)


def test_step_before_the_first_reset_is_rejected():
    envs = make(3)
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before"):
        envs.step(np.zeros(3, int))
    with pytest.raises(BadOption, match="reset_mask"):
        envs.reset(options={"reset_mask": [True, False, False]})


def test_seed_applies_to_the_boards_that_are_reset():
    envs = make(4)
    envs.reset(seed=0)
    streams = envs._boards._batch.episodes["stream"].copy()
    envs.reset(seed=9, options={"reset_mask": [True, False, False, False]})
    changed = envs._boards._batch.episodes["stream"] != streams
    assert changed.tolist() == [True, False, False, False]
    lists, arrays = make(2), make(2)
    lists.reset(seed=[5, 17])
    arrays.reset(seed=np.array([5, 17]))
    assert np.array_equal(lists._boards._batch.episodes, arrays._boards._batch.episodes)


def test_gymnasium_can_split_the_infos():
    envs = gymnasium.wrappers.vector.DictInfoToList(make(3, autoreset_mode="SameStep"))
    _, infos = envs.reset(seed=0)
    assert infos[2]["action_mask"].shape == (410,)
    while not any("final_info" in info for info in infos):
        *_, infos = envs.step(envs.action_space.sample())
    (ended, *_) = (info for info in infos if "final_info" in info)
    assert ended["final_info"]["seat"] in (0, 1)
    assert ended["final_info"]["outcome"] in (0, 1, 2)
    assert ended["final_obs"].shape == (4, 6, 6)


def test_render_returns_a_frame_for_each_board():
    envs = make(2, render_mode="ansi")
    envs.reset(seed=0)
    assert len(envs.render()) == 2
    envs = make(2, render_mode="rgb_array")
    envs.reset(seed=0)
    assert envs.render()[0].shape[2] == 3


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("kind", ["ansi_list", "rgb_array_list"])
def test_frame_lists_agree_with_sync_vector_env(kind, mode):
    def lowest(observation, info):
        return info["action_mask"].argmax()

    arguments = {"size": 4, "max_turns": 6, "seat": 0, "opponent": lowest, "render_mode": kind}
    ours = make(2, autoreset_mode=mode, **arguments)
    theirs = gymnasium.vector.SyncVectorEnv(
        [lambda: gymnasium.make(ID, **arguments)] * 2, autoreset_mode=mode
    )
    assert ours.render_mode == kind
    (_, info), _ = ours.reset(seed=0), theirs.reset(seed=0)
    for step in range(12):
        actions = policy(info["action_mask"], 0)
        (*_, info), _ = ours.step(actions), theirs.step(actions)
        if step % 5 == 4:
            for frames, expected in zip(ours.render(), theirs.render(), strict=True):
                assert len(frames) == len(expected)
                assert all(map(np.array_equal, frames, expected))


# Invalid input


@pytest.mark.parametrize(
    ("actions", "why"),
    [
        ([6, 5, 6], r"board 1: action 5 \(0,0-2,0\) is not legal in 'bbb3"),
        ([6, 6, 410], "board 2: action 410"),
        ([6, 6, -1], "board 2: action -1"),
        ([6, 6], "shape"),
        ([6.0, 6.0, 6.0], "integers"),
        (["a", "b", "c"], "integers"),
    ],
)
def test_rejected_step_changes_no_board(actions, why):
    envs = make(3, opponent=None)
    envs.reset(seed=0)
    before = [envs.position(i) for i in range(3)]
    with pytest.raises(IllegalAction, match=why):
        envs.step(np.array(actions))
    assert [envs.position(i) for i in range(3)] == before
    envs.step(envs.action_space.sample())


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"opponent": "kasparov"}, "no player 'kasparov'; there are: .*greedy"),
        ({"opponent": 7}, "7 is not a player"),
        ({"autoreset_mode": "Sometimes"}, "NextStep"),
        ({"render_mode": "human"}, "ansi, rgb_array"),
        ({"size": 1}, "expected: an integer, 4 to 8"),
        ({"seat": "red"}, "seat"),
        ({"num_envs": 0}, "num_envs=0; expected: an integer, 1 or more"),
        ({"num_envs": 2**31}, "expected: an integer, 1 to 2,147,483,647"),
    ],
)
def test_invalid_arguments_are_rejected(arguments, why):
    with pytest.raises(BadOption, match=why):
        BoardGameVectorEnv("capture_conquer", **arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ({"seed": [1, 2]}, BadOption, "2 seeds for 3 boards"),
        ({"seed": []}, BadOption, "0 seeds for 3 boards"),
        ({"seed": ""}, BadOption, "seed=''"),
        ({"seed": b"123"}, BadOption, "seed=b'123'"),
        ({"options": {"position": ["x", "y"]}}, BadOption, "2 positions for 3 boards"),
        ({"options": {"position": "nonsense"}}, BadPosition, "nonsense"),
        ({"options": {"position": 5}}, BadPosition, "5 is not the text"),
        ({"options": {"position": "rb4/6/6/6/6/4bb b"}}, BadPosition, "no episode can begin"),
        ({"options": {"reset_mask": [True]}}, BadOption, "reset_mask has shape"),
        ({"options": {"mask": 1}}, UnknownOption, "mask"),
        ({"seed": -1}, BadOption, "seed=-1"),
        ({"seed": "x"}, BadOption, "seed='x'"),
        ({"seed": [0, 1, -1]}, BadOption, "seed=-1"),
        ({"seed": 1.5}, BadOption, "seed=1.5"),
        ({"options": 5}, BadOption, "options=5"),
        ({"options": {5: 5, "x": 1}}, UnknownOption, "5, x"),
        (
            {"options": {"reset_mask": ["a", "b", "c"]}},
            BadOption,
            "expected: True or False for each",
        ),
        ({"options": {"reset_mask": [[1], 2, 3]}}, BadOption, "reset_mask: "),
    ],
)
def test_rejected_reset_changes_nothing(arguments, error, why):
    envs, twin = make(3), make(3)
    for vector in (envs, twin):
        vector.reset(seed=0)
    before = [envs.position(board) for board in range(3)]
    with pytest.raises(error, match=why):
        envs.reset(**arguments)
    assert [envs.position(board) for board in range(3)] == before
    _, info = envs.reset()
    _, expected = twin.reset()
    assert np.array_equal(info["seat"], expected["seat"])
    assert np.array_equal(info["action_mask"], expected["action_mask"])


class Last:
    """Plays the last legal action and counts its decisions."""

    def __init__(self, game):
        self.game, self.decisions = game, 0

    def choose(self, position, rng, clock):
        self.decisions += 1
        return Decision(int(self.game.legal_actions(position)[-1]))


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("opponent", ["greedy", "minimax:depth=2", "mcts:simulations=20"])
def test_player_specs_play_alike_on_one_board_and_on_several(opponent, mode):
    seeds = [11, 22, 33]
    envs = BoardGameVectorEnv(
        "capture_conquer", 3, size=4, opponent=opponent, autoreset_mode=mode, max_turns=30
    )
    _, info = envs.reset(seed=seeds)
    alone = [
        BoardGameVectorEnv(
            "capture_conquer", 1, size=4, opponent=opponent, autoreset_mode=mode, max_turns=30
        )
        for _ in seeds
    ]
    infos = [env.reset(seed=[seed])[1] for env, seed in zip(alone, seeds, strict=True)]
    ended = 0
    for _ in range(25):
        if mode == AutoresetMode.DISABLED and envs._boards.done.any():
            break
        assert (info["to_move"] == info["seat"])[~envs._boards.done].all()
        observations, rewards, terminated, _, info = envs.step(info["action_mask"].argmax(1))
        ended += int(terminated.sum())
        for board, env in enumerate(alone):
            step = env.step(infos[board]["action_mask"].argmax(1))
            infos[board] = step[4]
            np.testing.assert_array_equal(step[0][0], observations[board])
            assert (step[1][0], step[2][0]) == (rewards[board], terminated[board])
    assert ended > 0


def test_reward_is_the_learners_if_the_opponent_wins():
    envs = BoardGameVectorEnv("capture_conquer", 2, opponent="minimax:depth=1", seat=0)
    envs.reset(seed=0, options={"position": "b5/r5/6/6/b5/4rr b"})
    game = envs.game
    step = game.parse_turn(envs.position(0), "0,0-0,1")[0]
    _, rewards, terminated, _, info = envs.step(np.array([step, step]))
    assert rewards.tolist() == [-1, -1]
    assert terminated.all()
    assert info["outcome"].tolist() == [1, 1]


def test_all_boards_need_a_reset_after_an_illegal_reply():
    game = make_game("capture_conquer")
    player = Last(game)
    envs = BoardGameVectorEnv("capture_conquer", 2, opponent=player, seat=1)
    envs.reset(seed=0)
    assert player.decisions == 2
    player.choose = lambda position, rng, clock: Decision(0)
    with pytest.raises(IllegalAction, match="action 0"):
        envs.step(envs.action_space.sample())
    del player.choose
    with pytest.raises(ResetNeeded, match="reset"):
        envs.step(envs.action_space.sample())
    with pytest.raises(BadOption, match="reset_mask"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    envs.reset()
    envs.step(envs.action_space.sample())


@pytest.mark.parametrize("board", [-1, 3, 99, "x", None, 1.0])
def test_invalid_board_is_rejected(board):
    envs = make(3)
    envs.reset(seed=1)
    for method in (envs.position, envs.result):
        with pytest.raises(BadOption, match=re.escape(f"board {board!r}; expected: 0 to 2")):
            method(board)


def test_position_before_the_first_reset_is_rejected():
    with pytest.raises(ResetNeeded, match="reset"):
        make(3).position(0)


def test_metadata_has_the_frame_rate():
    assert make(1).metadata["render_fps"] == 2


@pytest.mark.parametrize("turns", [2**31 - 1, 2**27])
def test_memory_for_repetitions_is_bounded(turns):
    # Cannon's own rules count repetitions.
    for game, options in (("capture_conquer", {"repetitions": 2}), ("cannon", {})):
        with pytest.raises(BadOption, match=rf"max_turns={turns}; .* 134,217,727"):
            BoardGameVectorEnv(game, 1, max_turns=turns, **options)
    with pytest.raises(BadOption, match="134,216"):
        BoardGameVectorEnv("capture_conquer", 1000, repetitions=2, max_turns=turns)


@pytest.mark.parametrize("make_env", [BoardGameEnv, BoardGameVectorEnv, BoardGameAEC])
def test_mistyped_keyword_lists_the_valid_ones(make_env):
    keyword, expected = "oponent", "opponent"
    if make_env is BoardGameAEC:
        keyword, expected = "repetition", "repetitions"
    with pytest.raises(UnknownKeyword) as caught:
        make_env("capture_conquer", **{keyword: "random"})
    message = str(caught.value)
    assert f"'{keyword}'; did you mean {expected}?" in message
    valid = {expected, "max_turns", "render_mode", "size", "corner"}
    assert valid <= set(re.split(r"\W+", message))
