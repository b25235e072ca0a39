"""Games in words: both environments, replies without a legal turn, and determinism."""

import copy
import pickle
import sys
import warnings

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env

from cc_env.envs.single import BoardGameEnv
from cc_env.envs.text import TextGameEnv
from cc_env.envs.text_aec import TextGameAEC
from cc_env.errors import BadOption, BadPlayer, BadPosition, IllegalAction, ResetNeeded
from cc_env.registry.catalogue import GAMES
from cc_env.text.turns import legal_turn_texts

# PettingZoo warns about the environments that its tests import.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pettingzoo.test import api_test, seed_test

NAMES = [*GAMES, "elsewhere.tictactoe"]
ID = "cc_env/TextGame-v0"


def begin(game="capture_conquer", kind=TextGameEnv, **arguments):
    """Return an environment after a reset."""
    env = kind(game, **arguments)
    env.reset(seed=3)
    return env


def random_turn(env, rng):
    """Return the text of a random legal turn."""
    texts = legal_turn_texts(env.game, env.position)
    return texts[rng.integers(len(texts))]


def play(env, seed):
    """Play an episode with random legal turns; return its observations and the last step."""
    rng = np.random.default_rng(seed)
    observations = [env.reset(seed=seed)[0]]
    while True:
        step = env.step(f"I like corners. <turn>{random_turn(env, rng)}</turn>")
        observations.append(step[0])
        if step[2] or step[3]:
            return observations, step


@pytest.mark.parametrize("name", NAMES)
def test_environment_in_words_passes_gymnasium_checks(name):
    check_env(gymnasium.make(ID, game=name, render_mode="ansi").unwrapped)


def check_text(space, observation, recursed_keys):
    assert observation in space


@pytest.mark.parametrize("name", NAMES)
def test_environment_in_words_passes_pettingzoo_tests(name, capsys, monkeypatch):
    # They require that observations have a dtype, which strings lack.
    monkeypatch.setattr(
        sys.modules["pettingzoo.test.api_test"], "_test_observation_space_compatibility", check_text
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        seed_test(lambda: pettingzoo.make("aec", ID, game=name), num_cycles=30)
        api_test(pettingzoo.make("aec", ID, game=name), num_cycles=100)
    assert capsys.readouterr().out.endswith("Passed API test\n")


@pytest.mark.parametrize("name", NAMES)
def test_episodes_are_those_of_the_board_environment(name):
    env, board_env = begin(name), BoardGameEnv(name)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        env.reset(seed=seed)
        board_env.reset(seed=seed)
        is_over = False
        while not is_over:
            text = random_turn(env, rng)
            turn = env.game.parse_turn(env.position, text)
            observation, *results, info = env.step(text.join(("<turn>", "</turn>")))
            for action in turn:
                _, *board_results, board_info = board_env.step(action)
            is_over = results[1] or results[2]
            assert (env.position, results) == (board_env.position, board_results)
            assert (
                info.items()
                >= {
                    name: value for name, value in board_info.items() if name != "action_mask"
                }.items()
            )
            assert observation in env.observation_space


@pytest.mark.parametrize("opponent", ["random", "greedy"])
def test_same_seed_gives_the_same_episode(opponent):
    env = begin(opponent=opponent, max_opening_turns=4, show_history=True)
    observations, last = play(env, 5)
    again, last_again = play(begin(opponent=opponent, max_opening_turns=4, show_history=True), 5)
    assert (observations, last) == (again, last_again)
    assert play(env, 6)[0] != observations


def test_copies_continue_with_the_same_numbers():
    env = begin("morris", show_history=True)
    env.step(random_turn(env, np.random.default_rng(0)).join(("<turn>", "</turn>")))
    for other in copy.deepcopy(env), pickle.loads(pickle.dumps(env)):
        rng, own = np.random.default_rng(1), copy.deepcopy(env)
        for _ in range(5):
            reply = f"<turn>{random_turn(other, rng)}</turn>"
            assert other.step(reply) == own.step(reply)


@pytest.mark.parametrize("name", NAMES)
def test_observation_has_the_legal_turns_unless_hidden(name):
    env = begin(name)
    texts = legal_turn_texts(env.game, env.position)
    assert f"\nLegal turns: {', '.join(texts)}" in env.reset(seed=3)[0]
    assert "Legal turns" not in begin(name, show_legal=False).reset(seed=3)[0]


def test_history_has_the_turns_of_both_players():
    env = begin("checkers", seat=1, opponent="greedy", show_history=True)
    observation, _ = env.reset(seed=1)
    first = observation.partition("Turns so far: ")[2].splitlines()[0]
    assert first.startswith("red ")
    reply = legal_turn_texts(env.game, env.position, 1)[0]
    observation, *_ = env.step(f"My move: {reply}")
    turns = observation.partition("Turns so far: ")[2].splitlines()[0]
    assert turns.startswith(f"{first}, black {reply}, red ")


def test_observation_tells_the_players_apart():
    env = begin("mini_checkers", kind=TextGameAEC)
    black, white = (env.observe(agent).splitlines() for agent in env.possible_agents)
    assert "You are black (b). Black to move." in black
    assert "You are white (w). Black to move." in white
    assert black[:6] == [" ".join(line.split(" ")) for line in black[:6]]
    # White sees the board turned.
    assert [line.split()[::-1] for line in white[5::-1]] == [line.split() for line in black[:6]]


def test_rules_precede_the_first_observation_of_a_prompt():
    for env in begin("morris"), begin("morris", kind=TextGameAEC):
        assert env.rules.startswith("Rules of nine men's morris\n")
        assert env.rules.endswith("Reply with one turn in a tag, such as <turn>A</turn>.")


# Replies without a legal turn


def test_last_try_without_a_legal_turn_loses():
    env = begin(seat=1, tries=3, penalty=0.25)
    before = env.position
    for tries_left in (2, 1):
        observation, *results, info = env.step("<turn>a1-b9</turn>")
        assert results == [-0.25, False, False]
        assert (info["tries_left"], info["illegal_action"]) == (tries_left, True)
        assert info["error"].startswith("'a1-b9' is not legal; legal: ")
        assert info["error"].endswith(", ...")
        replies = "1 reply" if tries_left == 1 else "2 replies"
        assert f"\n{info['error']}\nYou have {replies} left.\n" in observation
    assert env.position == before
    observation, *results, info = env.step("I resign.")
    assert results == [-1.25, True, False]
    assert (info["outcome"], info["ending"], info["score"]) == (0, "illegal", (0.0, 0.0))
    assert "Blue wins (illegal)." in observation
    with pytest.raises(ResetNeeded):
        env.step("<turn>a1-b9</turn>")


def test_accepted_reply_restores_the_tries():
    env = begin(seat=0, tries=2, penalty=0.5)
    env.step("?")
    observation, reward, *_, info = env.step("<turn>a1-c3</turn>")
    assert (reward, info["error"], info["tries_left"]) == (0.0, "", 2)
    assert "left" not in observation


def test_loss_by_a_reply_has_the_score_of_the_rules():
    *_, info = begin("cannon", seat=0).step("?")
    assert info["score"] == (0.12, 10.12)


def test_random_turn_replaces_the_last_try():
    env, again = (begin(illegal="random", tries=2, penalty=0.5, show_history=True) for _ in "12")
    assert env.step("?")[1:4] == (-0.5, False, False)
    step = env.step("?")
    assert step[1] == -0.5
    assert step[4]["illegal_action"]
    assert step[4]["error"].startswith("the reply chooses no turn")
    assert step[0].count("blue") > 1
    again.step("?")
    assert again.step("?") == step


def test_observation_names_the_random_turn_until_the_next_reply():
    env = begin(illegal="random", seat=0, show_history=True)
    observation, *_ = env.step("?")
    turn = observation.partition("Turns so far: blue ")[2].partition(",")[0]
    notice = f"\nYour last reply was refused; the random turn {turn} was played.\n"
    assert notice in observation
    observation, *_ = env.step(f"<turn>{legal_turn_texts(env.game, env.position, 1)[0]}</turn>")
    assert "refused" not in observation


def test_random_turn_is_named_to_its_player_alone():
    env = begin(kind=TextGameAEC, illegal="random")
    env.step("?")
    assert "the random turn" in env.observe("player_0")
    assert "refused" not in env.observe("player_1")
    env.step(f"<turn>{legal_turn_texts(env.game, env.position, 1)[0]}</turn>")
    assert "the random turn" in env.observe("player_0")


def test_random_turn_that_ends_the_game_is_named():
    *_, truncated, _ = step = begin(seat=0, illegal="random", max_turns=1).step("?")
    assert truncated
    assert "the random turn" in step[0]


@pytest.mark.parametrize("kind", [TextGameEnv, TextGameAEC])
def test_error_for_a_reply_changes_nothing(kind):
    env = begin(kind=kind, illegal="raise", tries=2)
    before = env.position
    for reply in ("?", "?", "?", None, 7):
        with pytest.raises(IllegalAction):
            env.step(reply)
    assert env.position == before


def test_refused_agent_replies_again():
    env = begin("capture_conquer", kind=TextGameAEC, tries=2, penalty=0.5)
    env.step("?")
    assert env.agent_selection == "player_0"
    assert env.rewards == {"player_0": -0.5, "player_1": 0.0}
    assert env.infos["player_0"]["tries_left"] == 1
    env.step("<turn>a1-c3</turn>")
    assert env.agent_selection == "player_1"
    assert env.rewards == {"player_0": 0.0, "player_1": 0.0}
    env.step("?")
    env.step("?")
    assert env.rewards == {"player_0": 1.0, "player_1": -1.5}
    assert env.infos["player_1"]["ending"] == "illegal"
    assert all(env.terminations.values())


# Limits and bad input


def test_limit_of_turns_truncates_or_draws():
    for arguments, ends in (({}, (False, True)), ({"draw_at_limits": True}, (True, False))):
        env = begin("morris", max_turns=2, **arguments)
        _, reward, *results, info = env.step("<turn>A</turn>")
        while not any(results):
            _, reward, *results, info = env.step("<turn>B</turn>")
        assert (reward, *results) == (0.0, *ends)
        assert info["ending"] == "max_turns"


def test_episode_begins_in_a_given_position():
    env = TextGameEnv(seat=0)
    position = "6/1b4/2r3/6/b4r/4rr b"
    observation, _ = env.reset(options={"position": position})
    assert env.game.to_text(env.position) == position
    assert "b2-d4xc3" in observation
    with pytest.raises(BadPosition):
        env.reset(options={"position": "6/6/6/6/5b/3brr b"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tries": 0}, "tries=0"),
        ({"penalty": -1}, "penalty=-1"),
        ({"penalty": "much"}, "penalty='much'"),
        ({"illegal": "ignore"}, "illegal='ignore'"),
        ({"show_legal": 1}, "show_legal=1"),
        ({"show_history": None}, "show_history=None"),
        ({"render_mode": "human"}, "render_mode 'human'"),
        ({"max_turns": 0}, "max_turns=0"),
        ({"size": 9}, "size=9"),
        ({"sise": 6}, "'sise'; did you mean size"),
    ],
)
@pytest.mark.parametrize("kind", [TextGameEnv, TextGameAEC])
def test_invalid_arguments_are_rejected(kind, arguments, message):
    with pytest.raises(BadOption, match=message):
        kind("capture_conquer", **arguments)


def test_learner_needs_an_opponent():
    with pytest.raises(BadPlayer, match="PettingZoo"):
        TextGameEnv(opponent=None)


@pytest.mark.parametrize("kind", [TextGameEnv, TextGameAEC])
def test_use_before_the_first_reset_is_rejected(kind):
    env = kind("morris", render_mode="ansi")
    for use in (lambda: env.step("A"), lambda: env.position, env.render):
        with pytest.raises(ResetNeeded):
            use()
