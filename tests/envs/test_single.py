"""The Gymnasium environment."""

import contextlib
import io
import pickle
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence

from cc_env.envs.single import MaskInObservation
from cc_env.errors import BadOption, BadPosition, IllegalAction, ResetNeeded, UnknownOption
from cc_env.players.builtin import RandomPlayer

ID = "cc_env/CaptureConquer-v0"
WIN_IN_ONE = "6/6/6/6/3r1b/rr1b2 b"  # 4,5-5,5


def make(**arguments):
    return gymnasium.make(ID, **arguments)


def play(env, seed):
    """Play an episode of legal actions; return everything that the environment returned."""
    observation, info = env.reset(seed=seed)
    env.action_space.seed(seed)
    steps = [(observation, info)]
    over = False
    while not over:
        *step, info = env.step(env.action_space.sample())
        over = step[2] or step[3]
        steps.append((*step, info))
    return steps


# Conformance: warnings are errors here (setup.cfg)


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8])
@pytest.mark.parametrize("seat", [None, 0, 1])
def test_environment_passes_gymnasium_checks(size, seat):
    env = make(size=size, seat=seat).unwrapped
    check_env(env, skip_render_check=True)
    assert env.game.options["size"] == size


@pytest.mark.parametrize("mode", ["ansi", "rgb_array", "human"])
def test_environment_passes_gymnasium_checks_in_each_render_mode(mode, monkeypatch):
    monkeypatch.setattr("cc_env.envs.rendering.FRAMES_PER_SECOND", 1000)
    env = make(render_mode=mode, size=4).unwrapped
    check_env(env)
    assert env.render_mode == mode


def test_environment_passes_stable_baselines_checks():
    from stable_baselines3.common.env_checker import check_env

    for size in (6, 8):
        env = make(size=size).unwrapped
        with warnings.catch_warnings():
            # It takes planes for an image.
            warnings.filterwarnings("ignore", ".*image")
            check_env(env, warn=True)
        assert env.observation_space.shape == (4, size, size)


@pytest.mark.slow
def test_maskable_ppo_learns_to_beat_random():
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.utils import get_action_masks

    env = make(size=4)
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=256, batch_size=128, learning_rate=1e-3, gamma=0.97, seed=1
    )
    before = wins(model, get_action_masks, games=100)
    model.learn(5000)
    after = wins(model, get_action_masks, games=200)
    assert before < 0.6
    assert after >= 0.9


def wins(model, get_action_masks, games):
    env = make(size=4)
    won = 0
    for seed in range(games):
        observation, _ = env.reset(seed=10_000 + seed)
        over = False
        while not over:
            action, _ = model.predict(
                observation, action_masks=get_action_masks(env), deterministic=True
            )
            observation, reward, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
        won += reward > 0
    return won / games


# Spaces and masks


def test_masks_agree_in_info_method_and_observation():
    env = make()
    wrapped = MaskInObservation(env)
    observation, info = wrapped.reset(seed=3)
    assert info["action_mask"].dtype == np.int8
    assert env.unwrapped.action_masks().dtype == np.bool_
    assert np.array_equal(info["action_mask"], env.unwrapped.action_masks())
    assert np.array_equal(info["action_mask"], observation["action_mask"])
    assert wrapped.observation_space.contains(observation)
    legal = env.unwrapped.game.legal_actions(env.unwrapped.position)
    assert np.array_equal(np.flatnonzero(info["action_mask"]), legal)
    observation, *_ = wrapped.step(wrapped.action_space.sample())
    assert np.array_equal(np.flatnonzero(observation["action_mask"]), legal_now(env))


def legal_now(env):
    return env.unwrapped.game.legal_actions(env.unwrapped.position)


def test_mask_wrapper_is_created_from_its_spec():
    wrapped = MaskInObservation(make(size=5))
    again = gymnasium.make(wrapped.spec)
    assert again.observation_space == wrapped.observation_space


def test_action_samples_are_legal():
    env = make()
    env.reset(seed=1)
    legal = set(legal_now(env).tolist())
    assert {int(env.action_space.sample()) for _ in range(300)} == legal
    copy = pickle.loads(pickle.dumps(env.action_space))
    assert type(copy) is gymnasium.spaces.Discrete
    assert copy == env.action_space


def test_returned_arrays_are_never_overwritten():
    env = make()
    first, info = env.reset(seed=1)
    copies = first.copy(), info["action_mask"].copy()
    for _ in range(3):
        env.step(env.action_space.sample())
    env.reset()
    assert np.array_equal(first, copies[0])
    assert np.array_equal(info["action_mask"], copies[1])


# Episodes


@pytest.mark.parametrize("seat", [0, 1])
def test_observation_is_in_the_learners_frame(seat):
    env = make(seat=seat)
    observation, info = env.reset(seed=0)
    assert info["seat"] == seat
    assert env.unwrapped.game.to_move(env.unwrapped.position) == seat
    assert observation[0].sum() == 6
    # The own corner is at the upper left.
    assert observation[0, 0, 0] == 1


def test_random_seats_are_balanced():
    env = make()
    seats = [env.reset(seed=0)[1]["seat"]] + [env.reset()[1]["seat"] for _ in range(40)]
    assert 10 < sum(seats) < 31


def test_win_has_reward_one_and_an_ending():
    env = make(seat=0)
    env.reset(seed=0, options={"position": WIN_IN_ONE})
    game, position = env.unwrapped.game, env.unwrapped.position
    _, reward, terminated, truncated, info = env.step(game.parse_turn(position, "4,5-5,5")[0])
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert (info["outcome"], info["ending"]) == (0, "conquest")
    assert info["action_mask"].all()


def test_loss_has_reward_minus_one():
    def conqueror(observation, info):
        env = opponent_env.unwrapped
        return env.game.parse_turn(env.position, "0,1-0,0")[0]

    opponent_env = make(seat=0, opponent=conqueror)
    opponent_env.reset(seed=0, options={"position": "1r4/6/6/3b1b/3r2/r5 b"})
    game, position = opponent_env.unwrapped.game, opponent_env.unwrapped.position
    step = opponent_env.step(game.parse_turn(position, "3,3-3,4")[0])
    assert step[1:4] == (-1.0, True, False)
    assert step[4]["outcome"] == 1


def test_blocked_opponent_is_a_draw():
    env = make(seat=1)
    env.reset(seed=0, options={"position": "3r2/6/6/6/5b/3brr r"})
    game, position = env.unwrapped.game, env.unwrapped.position
    step = env.step(game.parse_turn(position, "0,3-0,2")[0])
    assert step[1:4] == (0.0, True, False)
    assert (step[4]["outcome"], step[4]["ending"]) == (2, "blocked")


def test_max_turns_truncates_the_episode():
    env = make(max_turns=4, seat=0)
    steps = play(env, 0)
    assert len(steps) <= 4
    *_, terminated, truncated, info = steps[-1]
    assert (terminated, truncated) == (False, True)
    assert (info["outcome"], info["ending"]) == (-1, "max_turns")


def test_max_episode_steps_truncates_the_episode():
    """TimeAwareObservation needs it: `max_turns` counts the turns of both players."""
    env = gymnasium.wrappers.TimeAwareObservation(make(max_episode_steps=3), flatten=False)
    _, info = env.reset(seed=0)
    for _ in range(3):
        observation, *_, truncated, info = env.step(info["action_mask"].argmax())
    assert (int(observation["time"][0]), truncated, info["ending"]) == (3, True, "")


def test_repetitions_truncate_the_episode():
    moves = {0: ("0,0-2,0", "2,0-0,0"), 1: ("5,5-3,5", "3,5-5,5")}
    text = "b5/b5/6/6/5r/5r b"

    def shuffler(observation, info):
        return shuffle(1)

    def shuffle(player):
        unwrapped = env.unwrapped
        texts = {
            unwrapped.game.action_text(unwrapped.position, int(a)): int(a)
            for a in unwrapped.game.legal_actions(unwrapped.position)
        }
        return next(texts[move] for move in moves[player] if move in texts)

    env = make(seat=0, opponent=shuffler, repetitions=3)
    env.reset(options={"position": text})
    for _ in range(3):
        *_, truncated, info = env.step(shuffle(0))
        assert not truncated
    *_, truncated, info = env.step(shuffle(0))
    assert truncated
    assert info["ending"] == "repetition"


def test_function_can_be_the_opponent():
    seats = set()

    def opponent(observation, info):
        seats.add(info["seat"])
        assert observation.shape == (4, 6, 6)
        assert set(info) == {"action_mask", "seat"}
        return int(np.flatnonzero(info["action_mask"])[0])

    env = make(opponent=opponent)
    for seed in range(8):
        assert play(env, seed)[-1][2]
    assert seats == {0, 1}


# Determinism


def test_same_seed_gives_the_same_episode_with_any_rendering():
    plain = play(make(), 5)
    assert data_equivalence(plain, play(make(), 5))
    assert data_equivalence(plain, play(make(render_mode="ansi"), 5))
    assert not data_equivalence(plain, play(make(), 6))


def test_same_seed_gives_the_same_episode_in_another_process():
    code = f"""
import cc_env, gymnasium
env = gymnasium.make({ID!r})
_, info = env.reset(seed=11)
env.action_space.seed(11)
actions, over = [], False
while not over:
    actions.append(int(env.action_space.sample()))
    _, _, terminated, truncated, _ = env.step(actions[-1])
    over = terminated or truncated
print(actions)
"""
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code, {})
    assert process.stdout == output.getvalue()


def test_environments_have_separate_generators():
    alone, first, second = make(), make(), make()
    expected = play(alone, 9)
    first.reset(seed=9)
    first.action_space.seed(9)
    play(second, 1)
    assert data_equivalence(expected, play(first, 9))


# Pictures


def test_text_pictures_show_the_last_turn():
    env = make(render_mode="ansi", seat=0)
    env.reset(seed=0)
    text = env.render()
    assert text.splitlines()[6] == " 1 b b b . . ."
    assert "blue to move" in text
    env.step(env.action_space.sample())
    assert "last " in env.render()


def test_frames_are_pixels_and_notebooks_show_svg():
    env = make(render_mode="rgb_array")
    env.reset(seed=0)
    frame = env.render()
    assert frame.dtype == np.uint8
    assert frame.ndim == 3
    assert env.unwrapped._repr_svg_().startswith("<svg")


# Invalid input


def test_illegal_action_changes_nothing():
    env = make(seat=0)
    env.reset(seed=0)
    position = env.unwrapped.position
    for action in (5, 410, -1, 2**80):
        with pytest.raises(IllegalAction, match="not legal in 'bbb3/bb4") as caught:
            env.step(action)
        assert "6 (0,0-2,2)" in str(caught.value)
        assert env.unwrapped.position == position
    for action in ("x", None, 2.5, True):
        with pytest.raises(IllegalAction, match="is not an integer; valid: 0 to 409"):
            env.step(action)
        assert env.unwrapped.position == position
    with pytest.raises(
        IllegalAction, match=r"array\(\[6\]\) is not an integer, but an array of sha"
    ):
        env.step(np.array([6]))
    env.step(env.action_space.sample())


def test_step_after_the_end_is_rejected():
    env = make(max_turns=2)
    play(env, 0)
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(0)
    env.reset()
    env.step(env.action_space.sample())


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"size": 9}, "expected: an integer, 4 to 8"),
        ({"corner": 9}, "2 to 5"),
        ({"seat": 2}, "expected: an integer, 0 to 1, or None for a random seat"),
        (
            {"opponent": "kasparov"},
            "no player 'kasparov'; there are: .*greedy, ladder, llm, mcts, .*minimax",
        ),
        ({"opponent": None}, "None is not a player"),
        ({"max_turns": 0}, "1 or more"),
        ({"max_turns": 1}, "2 or more if the opponent may move first"),
        ({"max_turns": 5.5}, "an integer, 1 or more"),
        ({"max_turns": 10**20}, "an integer, 1 to 2,147,483,647"),
        ({"max_turns": "9"}, "1 or more"),
        ({"seat": True}, "expected: an integer, 0 to 1"),
        ({"repetitions": 1}, "2 or more"),
        ({"repetitions": 3, "max_turns": None}, "with max_turns set"),
        (
            {"color": "blue"},
            "argument 'color'; options of capture_conquer: size, corner",
        ),
    ],
)
def test_invalid_arguments_are_rejected(arguments, why):
    with pytest.raises(BadOption, match=why):
        make(**arguments)


def test_unknown_render_mode_is_rejected():
    from cc_env.envs.single import BoardGameEnv

    with pytest.raises(UnknownOption, match="there are: ansi, rgb_array, human"):
        BoardGameEnv("capture_conquer", render_mode="holo")


@pytest.mark.parametrize("opponent", ["random", "visible", "function"])
def test_learner_always_has_a_first_decision(opponent):
    def first(observation, info):
        return int(np.flatnonzero(info["action_mask"])[-1])

    arguments = {"random": {}, "visible": {"render_mode": "ansi"}, "function": {"opponent": first}}
    env = make(seat=0, **arguments[opponent])
    for seed in range(30):
        env.reset(seed=seed, options={"position": "5r/1r4/6/6/b5/1b4 r"})
        assert env.unwrapped.game.to_move(env.unwrapped.position) == 0
        assert env.unwrapped.action_masks().any()


def test_rendering_does_not_change_restarted_openings():
    for seed in range(15):
        options = {"position": "5r/1r4/6/6/b5/1b4 r"}
        plain, rendered = make(seat=0), make(seat=0, render_mode="ansi")
        plain.reset(seed=seed, options=options)
        rendered.reset(seed=seed, options=options)
        assert plain.unwrapped.position == rendered.unwrapped.position


def test_position_lost_before_the_first_decision_is_rejected():
    def conqueror(observation, info):
        env = opponent_env.unwrapped
        return env.game.parse_turn(env.position, "1,1-0,0")[0]

    opponent_env = make(seat=0, opponent=conqueror)
    with pytest.raises(BadPosition, match="no episode can begin"):
        opponent_env.reset(options={"position": "5r/1r4/6/6/b5/1b4 r"})


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"position": "nonsense"}, BadPosition),
        ({"position": None}, BadPosition),
        ({"position": "6/6/6/6/5b/3brr b"}, BadPosition),  # blocked
        ({"position": "rb4/6/6/6/6/4bb b"}, BadPosition),  # conquered
        ({"start": "x"}, UnknownOption),
        (5, BadOption),
        ({"start": "x", 5: 5}, UnknownOption),
    ],
)
def test_rejected_reset_changes_nothing(options, error):
    env = make(seat=0)
    env.reset(seed=4)
    env.step(env.action_space.sample())
    position, state = env.unwrapped.position, env.unwrapped.np_random.bit_generator.state
    with pytest.raises(error):
        env.reset(seed=8, options=options)
    assert env.unwrapped.position == position
    assert env.unwrapped.np_random.bit_generator.state == state
    env.step(env.action_space.sample())


@pytest.mark.parametrize("seed", [-1, "x", 1.5, [], True])
def test_invalid_seed_is_rejected(seed):
    with pytest.raises(BadOption, match="expected: an integer, 0"):
        make().unwrapped.reset(seed=seed)


def test_reset_is_needed_after_an_error_of_the_opponent():
    def broken(observation, info):
        if fail:
            raise RuntimeError("out of ideas")
        return -7 if cheat else int(np.flatnonzero(info["action_mask"])[0])

    fail = cheat = False
    env = make(seat=0, opponent=broken)
    env.reset(seed=0)
    fail = True
    with pytest.raises(RuntimeError, match="out of ideas"):
        env.step(env.action_space.sample())
    fail, cheat = False, True
    with pytest.raises(ResetNeeded, match="reset"):
        env.step(env.action_space.sample())
    with pytest.raises(ResetNeeded, match="reset"):
        env.unwrapped.picture()
    env.reset(seed=0)
    with pytest.raises(IllegalAction, match="-7"):
        env.step(env.action_space.sample())
    cheat = False
    env.reset(seed=0)
    env.step(env.action_space.sample())


@pytest.mark.parametrize("opponent", ["greedy", "minimax:depth=2", "mcts:simulations=50"])
def test_player_specs_can_be_opponents(opponent):
    def episode(seed, **options):
        env = make(opponent=opponent, size=4, **options).unwrapped
        _, info = env.reset(seed=seed)
        positions = []
        over = False
        while not over:
            assert env.game.to_move(env.position) == info["seat"]
            positions.append(env.game.to_text(env.position))
            _, reward, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
            over = terminated or truncated
        return positions, reward

    episodes = [episode(seed) for seed in range(3)]
    assert episodes == [episode(seed) for seed in range(3)]
    assert episodes == [episode(seed, render_mode="ansi") for seed in range(3)]
    assert {reward for _, reward in episodes} & {-1.0}


def test_player_object_can_be_the_opponent(game):
    env = make(opponent=RandomPlayer(game))
    env.reset(seed=0)
    assert not env.step(env.action_space.sample())[2]
