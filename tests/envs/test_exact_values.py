"""Wrappers that add exact values of positions, and whether actions keep them."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from cc_env.envs.wrappers import ExactValues, VectorExactValues
from cc_env.errors import BadOption, MissingTable
from cc_env.games.factory import make_game
from cc_env.tablebase.tablebase import Tablebase

# A position of C&C 5×5, four pieces each, that neither the shipped tables nor the book have.
UNCOVERED = "b3b/5/2b1r/rb3/1rr2 b"


def make(**options):
    return gymnasium.make("cc_env/CaptureConquer-v0", **{"size": 4, **options})


def test_infos_have_exact_values():
    env, rng = ExactValues(make(opponent="greedy")), np.random.default_rng(0)
    tables, board = Tablebase(make_game("capture_conquer", size=4)), env.unwrapped
    cases, ends = set(), 0
    for episode in range(12):
        _, info = env.reset(seed=episode)
        while True:
            solved = tables.probe(board.position)
            assert info["value"] == solved.value
            action = int(rng.choice(solved.actions))
            _, reward, terminated, truncated, info = env.step(action)
            assert info["keeps_value"] == (action in solved.value_keeping)
            cases.add((solved.value, info["keeps_value"]))
            if terminated:
                assert info["value"] == reward
                ends += 1
            if terminated or truncated:
                break
    assert cases >= {(1, True), (1, False), (0, True), (0, False), (-1, True)}
    assert ends > 5


@pytest.mark.parametrize("opponent", ["greedy", None], ids=["greedy", "two-sided"])
@pytest.mark.parametrize("mode", AutoresetMode)
def test_vector_infos_have_exact_values(mode, opponent):
    tables, rng = Tablebase(make_game("capture_conquer", size=4)), np.random.default_rng(0)
    options = {"opponent": opponent, "max_turns": 12, "autoreset_mode": mode}
    env = gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=5, size=4, **options)
    env = VectorExactValues(env)
    boards, over = env.unwrapped, np.zeros(5, np.bool_)
    _, info = env.reset(seed=0)
    cases, ends = set(), 0
    for _ in range(60):
        solved = [tables.probe(boards.position(board)) for board in range(5)]
        for board, exact in enumerate(solved):
            is_own_turn = info["to_move"][board] == info["seat"][board] or opponent is None
            assert info["value"][board] == (exact.value if is_own_turn else -exact.value)
        if mode == AutoresetMode.DISABLED and over.any():
            _, info = env.reset(options={"reset_mask": over})
            assert not info["_keeps_value"].any()
            over[:] = False
            continue
        actions = np.array([int(rng.choice(exact.actions or [0])) for exact in solved])
        _, _, terminated, truncated, info = env.step(actions)
        assert info["_value"].all()
        assert info["value_known"].all()
        assert (info["_keeps_value"] == ~over).all()
        assert (info["keeps_value_known"] == ~over).all()
        for board in np.flatnonzero(~over):
            keeps = actions[board] in solved[board].value_keeping
            assert info["keeps_value"][board] == keeps
            cases.add((solved[board].value, keeps))
        ended = terminated | truncated
        last_info = info["final_info"] if mode == AutoresetMode.SAME_STEP else info
        assert last_info["_value"][ended].all()
        for board in np.flatnonzero(ended):
            end = tables.probe(boards.final_position(board))
            mover = boards.game.to_move(boards.final_position(board))
            player = mover if opponent is None else last_info["seat"][board]
            assert last_info["value"][board] == (end.value if player == mover else -end.value)
            assert bool(end.actions) == truncated[board]
        if mode != AutoresetMode.SAME_STEP:
            over = ended
        ends += ended.sum()
    assert cases >= {(1, True), (1, False), (0, True), (0, False), (-1, True)}
    assert ends > 5


def test_uncovered_boards_are_marked():
    env = VectorExactValues(gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=3, size=5))
    _, info = env.reset(options={"position": UNCOVERED})
    assert not info["_value"].any()
    *_, info = env.step(info["action_mask"].argmax(1).tolist())
    assert not info["_keeps_value"].any()
    texts = ["5/5/2b1r/5/b3r b", "5/5/2b1r/5/b3r b", UNCOVERED]
    _, info = env.reset(options={"position": texts})
    assert info["_value"].tolist() == info["value_known"].tolist() == [True, True, False]


def test_replaced_illegal_action_does_not_keep_the_value():
    env = ExactValues(make(opponent="random", illegal="random"))
    env.reset(seed=0)
    *_, info = env.step(0 if not env.unwrapped.action_masks()[0] else 2)
    assert info["illegal_action"]
    assert not info["keeps_value"]


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_end_by_an_illegal_action_has_the_value_of_a_loss(mode):
    env = ExactValues(make(illegal="lose"))
    _, info = env.reset(seed=0)
    illegal = int(info["action_mask"].argmin())
    *_, terminated, _, info = env.step(illegal)
    assert terminated
    assert info["value"] == -1
    for opponent in "greedy", None:
        options = {"opponent": opponent, "illegal": "lose", "autoreset_mode": mode}
        env = gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=2, size=4, **options)
        env = VectorExactValues(env)
        env.reset(seed=0)
        *_, info = env.step(np.array([illegal, 1]))
        last_info = info["final_info"] if mode == AutoresetMode.SAME_STEP else info
        assert last_info["value"][0] == -1
        assert last_info["_value"].tolist() == [True, mode == AutoresetMode.DISABLED]


@pytest.mark.parametrize("illegal", ["lose", "random"])
def test_infos_of_games_in_words_have_exact_values(illegal):
    env = ExactValues(gymnasium.make("cc_env/TextGame-v0", size=4, illegal=illegal))
    tables, rng = Tablebase(make_game("capture_conquer", size=4)), np.random.default_rng(0)
    cases, game = set(), env.unwrapped.game
    for episode in range(40):
        _, info = env.reset(seed=episode)
        is_over = False
        while not is_over:
            position, value = env.unwrapped.position, info["value"]
            turns = list(game.turns(position))
            turn = turns[rng.integers(len(turns))]
            reply = game.readable_turn_text(position, turn) if rng.random() < 0.9 else "no idea"
            *_, terminated, truncated, info = env.step(f"<turn>{reply}</turn>")
            is_over = terminated or truncated
            after = tables.probe(game.play_turn(position, turn))
            assert tables.probe(position).value == value
            assert info["keeps_value_known"]
            assert info["keeps_value"] == (reply != "no idea" and -after.value == value)
            cases.add((value, info["keeps_value"], len(turn)))
    assert cases >= {(1, True, 1), (1, False, 1), (0, True, 1), (0, False, 1), (1, True, 2)}


def test_uncovered_positions_have_no_value():
    env = ExactValues(make(size=5))
    _, info = env.reset(options={"position": UNCOVERED})
    assert not info["value_known"]
    *_, info = env.step(int(info["action_mask"].argmax()))
    assert not info["keeps_value_known"]


def test_invalid_arguments_are_rejected(tmp_path):
    with pytest.raises(BadOption, match="is not an environment of cc_env"):
        ExactValues(gymnasium.make("CartPole-v1"))
    with pytest.raises(BadOption, match="is not an environment of cc_env with one board"):
        ExactValues(gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=2))
    for wrong in gymnasium.make("CartPole-v1"), gymnasium.make_vec("CartPole-v1", num_envs=2):
        with pytest.raises(BadOption, match="is not a vector environment of cc_env"):
            VectorExactValues(wrong)
    with pytest.raises(BadOption, match="cannon: there are no exact values"):
        ExactValues(gymnasium.make("cc_env/Cannon-v0"))
    with pytest.raises(BadOption, match="belong to another game"):
        ExactValues(make(), Tablebase(make_game("capture_conquer", size=5)))
    with pytest.raises(BadOption, match="no such folder"):
        ExactValues(make(), str(tmp_path / "none"))
    with pytest.raises(MissingTable, match=r"no tables of .*size=4.*cc_env solve"):
        ExactValues(make(), str(tmp_path))
    with pytest.raises(MissingTable, match=r"the package: no tables of .*size=6"):
        ExactValues(make(size=6))


def test_open_tables_can_be_passed():
    tables = Tablebase(make_game("capture_conquer", size=4))
    # Opens files.
    assert tables.probe(tables.game.initial).value == 0
    env = ExactValues(make(opponent="random"), tables)
    _, info = env.reset(seed=0)
    assert info["value"] == tables.probe(env.unwrapped.position).value
