"""Opponents in compiled code, compared with the same players called for each board."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest

from cc_env.envs import BoardGameEnv, BoardGameVectorEnv
from cc_env.envs.boards import Boards, CompiledOpponent
from cc_env.envs.kernels import Autoreset
from cc_env.envs.opponents import Opponent, make_opponent
from cc_env.errors import BadOption, BadPlayer, BadPosition, IllegalAction, ResetNeeded
from cc_env.games.factory import make_game
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player

ARRAYS = "observations", "masks", "rewards", "outcomes", "terminated", "truncated", "to_move"


class OnlyChoose:
    """A player without a compiled policy."""

    def __init__(self, player):
        self.choose = player.choose


def make_boards(game, spec, is_compiled, **options):
    player = make_player(spec, game)
    opponent = make_opponent(player if is_compiled else OnlyChoose(player), game)
    assert isinstance(opponent, CompiledOpponent) == is_compiled
    return Boards(game, 6, opponent=opponent, max_turns=40, **options)


@pytest.mark.parametrize("autoreset", Autoreset)
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(
    "name",
    [
        "capture_conquer",
        "morris",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("checkers", "mini_checkers", "cannon")),
    ],
)
def test_compiled_opponent_plays_the_games_of_its_player(name, seat, autoreset):
    game = make_game(name)
    options = {"seat": seat, "autoreset": autoreset}
    compiled, external = (make_boards(game, "minimax:depth=2", c, **options) for c in (True, False))
    for boards in (compiled, external):
        boards.reset(streams=np.arange(6, dtype=np.uint64))
    rng = np.random.default_rng(0)
    for _ in range(60):
        for array in ARRAYS:
            np.testing.assert_array_equal(getattr(compiled, array), getattr(external, array))
        np.testing.assert_array_equal(compiled.positions, external.positions)
        np.testing.assert_array_equal(compiled.episodes, external.episodes)
        actions = (compiled.masks * rng.random(compiled.masks.shape)).argmax(1)
        if autoreset == Autoreset.DISABLED and compiled.done.any():
            selected = compiled.done
            for boards in (compiled, external):
                boards.reset(selected)
            continue
        for boards in (compiled, external):
            boards.step(actions)
        if autoreset == Autoreset.SAME_STEP:
            ended = compiled.terminated | compiled.truncated
            for mine, other in zip(
                compiled.final_observations[ended], external.final_observations[ended], strict=True
            ):
                np.testing.assert_array_equal(mine, other)
    assert compiled.episodes.max() > 1


@pytest.mark.parametrize(
    "opponent",
    ["greedy", "minimax:depth=1", "mcts:simulations=20", {"random": 0.5, "minimax:depth=1": 0.5}],
)
def test_games_do_not_depend_on_the_number_of_threads(opponent):
    steps = []
    for threads in (1, 3):
        envs = BoardGameVectorEnv("capture_conquer", 8, opponent=opponent, threads=threads)
        envs.reset(seed=5)
        envs.action_space.seed(5)
        steps.append([envs.step(envs.action_space.sample())[:4] for _ in range(30)])
        envs.close()
    for one, three in zip(*steps, strict=True):
        for first, second in zip(one, three, strict=True):
            np.testing.assert_array_equal(first, second)


def test_learned_evaluation_and_level_are_used_in_compiled_code():
    for spec in ("minimax:easy", "minimax:depth=1,evaluation=learned", "greedy:evaluation=learned"):
        env = BoardGameEnv("capture_conquer", opponent=spec, seat=1)
        env.reset(seed=0)
        game, player = env.game, make_player(spec, env.game)
        rng = np.random.default_rng(0)
        position = game.initial
        drawn = {player.choose(position, rng, Clock()).action for _ in range(100)}
        (turn, *_) = game.turns_between(position, env._boards.position())
        assert turn[0] in drawn


def test_start_from_which_the_opponent_wins_at_once_is_rejected():
    env = BoardGameEnv("capture_conquer", opponent="minimax:depth=1", seat=1)
    with pytest.raises(BadPosition, match="ends before the first decision"):
        env.reset(seed=0, options={"position": "6/6/6/4b1/6/rr2b1 b"})
    env.reset(seed=0)


MIXTURE = {"random": 0.25, "minimax:depth=1": 0.75}


def test_mixture_draws_players_by_probability():
    envs = gymnasium.make_vec("cc_env/CaptureConquer-v0", 400, opponent=MIXTURE, seat=1)
    _, first_infos = envs.reset(seed=3)
    drawn = envs.unwrapped._boards.opponents
    assert (first_infos["to_move"] == 1).all()
    assert abs(drawn.mean() - 0.75) < 0.07
    best = {
        make_player("minimax:depth=1", envs.unwrapped.game)
        .choose(envs.unwrapped.game.initial, np.random.default_rng(0), Clock())
        .action
    }
    game = envs.unwrapped.game
    for board in np.flatnonzero(drawn == 1):
        turn = next(game.turns_between(game.initial, envs.unwrapped.position(board)))
        assert turn[0] in best


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_opponent_of_each_episode_is_sampled_independently_of_other_boards(mode):
    mode = gymnasium.vector.AutoresetMode(mode)
    games = []
    for count in (3, 30):
        envs = gymnasium.make_vec(
            "cc_env/CaptureConquer-v0", count, opponent=MIXTURE, max_turns=6, autoreset_mode=mode
        )
        envs.reset(seed=3)
        drawn = []
        for _ in range(40):
            envs.step(envs.unwrapped.action_masks().argmax(1))
            drawn.append(envs.unwrapped._boards.opponents[:3].tolist())
        games.append(drawn)
    assert games[0] == games[1]
    # -1 until the opponent's first decision of an episode.
    assert all({0, 1} <= set(column) for column in zip(*games[0], strict=True))


def test_mixture_may_contain_players_that_are_not_compiled():
    mixture = {"random": 0.5, "minimax:seconds=0.001": 0.5}
    env = BoardGameEnv("capture_conquer", opponent=mixture, seat=1, max_turns=10)
    env.reset(seed=0)
    env.action_space.seed(0)
    sampled = set()
    for _ in range(30):
        *_, terminated, truncated, _ = env.step(env.action_space.sample())
        sampled.add(int(env._boards.opponents[0]))
        if terminated or truncated:
            env.reset()
    assert sampled == {0, 1}


def test_batch_policy_decides_on_all_boards_in_one_call():
    calls = []

    def choose(batch, rng):
        calls.append(len(batch.positions))
        return batch.masks.argmax(1)

    opponent = Opponent("first", choose)
    envs = gymnasium.make_vec("cc_env/CaptureConquer-v0", 16, opponent=opponent, seat=0)
    envs.reset(seed=0)
    envs.step(envs.unwrapped.action_masks().argmax(1))
    assert calls == [16]


def test_player_of_an_opponent_may_be_replaced_in_every_environment(game):
    def first(batch, rng):
        return batch.masks.argmax(1)

    opponent = Opponent("newest", "minimax:depth=1")
    envs = BoardGameVectorEnv("capture_conquer", 8, opponent=opponent, seat=1)
    envs.reset(seed=0)
    opponent.player = first
    envs.reset(seed=1)
    expected = game.apply(game.initial, int(game.legal_actions(game.initial)[0]))
    assert all(envs.position(board) == expected for board in range(8))


def test_opponents_appended_to_a_list_play_later_games(game):
    opponents = [Opponent("random", "random", 0.001)]
    envs = BoardGameVectorEnv("capture_conquer", 8, opponent=opponents, seat=1)
    envs.reset(seed=0)
    opponents.append(Opponent("first", lambda batch, rng: batch.masks.argmax(1), 1000.0))
    envs.reset(seed=1)
    expected = game.apply(game.initial, int(game.legal_actions(game.initial)[0]))
    assert all(envs.position(board) == expected for board in range(8))


@pytest.mark.parametrize(
    "opponent",
    [
        lambda batch, rng: batch.masks.argmax(1),
        Opponent("one", lambda observation, info: info["action_mask"].argmax()),
    ],
)
def test_error_of_a_function_names_the_arguments_it_is_called_with(opponent):
    envs = BoardGameVectorEnv("capture_conquer", 2, opponent=opponent, seat=1)
    with pytest.raises((AttributeError, TypeError)) as caught:
        envs.reset(seed=0)
    (note,) = caught.value.__notes__
    assert "function(observation, info)" in note
    assert "function(batch, rng)" in note


@pytest.mark.parametrize(
    ("mixture", "message"),
    [
        ({}, "expected: player specs and their probabilities"),
        ({"random": 0.5}, "add up to 0.5; expected: 1"),
        ({"random": 0.5, "greedy": 0.6}, "add up to 1.1; expected: 1"),
        ({"random": -0.5, "greedy": 1.5}, "expected: probabilities of 0 or more"),
        ({"random": True}, "expected: probabilities of 0 or more"),
        ({"random": float("nan")}, "expected: probabilities of 0 or more"),
        ({"rndom": 1.0}, "did you mean random"),
        ({3: 1.0}, "expected: player specs and their probabilities"),
        ({"minimax:depth=0": 1.0}, "depth=0"),
    ],
)
def test_invalid_mixture_is_rejected(mixture, message):
    with pytest.raises(BadOption, match=message):
        BoardGameEnv("capture_conquer", opponent=mixture)


def test_batch_policies_players_and_functions_can_be_mixed():
    def first(batch, rng):
        return batch.masks.argmax(1)

    def last(observation, info):
        return np.flatnonzero(info["action_mask"])[-1]

    opponents = [Opponent("first", first, 2.0), "minimax:depth=1", last]
    envs = BoardGameVectorEnv("capture_conquer", 400, opponent=opponents, seat=1)
    envs.reset(seed=0)
    boards, game = envs._boards, envs.game
    counts = np.bincount(boards.opponents)
    np.testing.assert_allclose(counts / 400, [0.5, 0.25, 0.25], atol=0.08)
    legal = game.legal_actions(game.initial)
    for opponent, action in ((0, legal[0]), (2, legal[-1])):
        expected = game.apply(game.initial, int(action))
        for board in np.flatnonzero(boards.opponents == opponent).tolist():
            assert boards.position(board) == expected


def test_restored_snapshot_continues_the_games_of_a_mixture():
    env = BoardGameVectorEnv("capture_conquer", 30, opponent=MIXTURE, max_turns=12)
    env.reset(seed=4)
    for _ in range(3):
        env.step(env.action_masks().argmax(1))
    boards = env._boards
    snapshot, games = boards.snapshot(), []
    for _ in range(2):
        boards.restore(snapshot)
        steps = []
        for _ in range(25):
            boards.step(boards.masks.argmax(1))
            steps.append((boards.positions.tolist(), boards.opponents.tolist()))
        games.append(steps)
    assert games[0] == games[1]


class BadPolicy:
    """A player whose `make_policy` returns no policy."""

    def choose(self, position, rng, clock):
        raise AssertionError

    def make_policy(self):
        return "greedy"


@pytest.mark.parametrize("opponent", [BadPolicy(), [BadPolicy(), "random"]])
def test_player_with_an_invalid_policy_is_rejected(opponent):
    with pytest.raises(BadPlayer, match=r"make_policy\(\) is 'greedy'; expected: a policy of"):
        BoardGameVectorEnv("capture_conquer", 2, opponent=opponent)


@pytest.mark.parametrize(
    ("opponents", "message"),
    [
        ([], "expected: at least one"),
        ([3], "3 is not a player"),
        ([Opponent("a", 3)], "3 is not a player"),
        ([Opponent("a", "random", -1)], r"shares of \['a'\] are \[-1\]; expected: numbers of 0"),
        ([Opponent("a", "random", 0.0)], "one of them positive"),
        ([Opponent("a", "random", "1")], "expected: numbers of 0"),
        (["rndom", "greedy"], "did you mean random"),
    ],
)
def test_invalid_list_of_opponents_is_rejected(opponents, message):
    with pytest.raises(BadOption, match=message):
        BoardGameEnv("capture_conquer", opponent=opponents)


def test_each_player_of_a_mixture_is_compiled_once():
    made = []

    class Counted:
        def __init__(self, player):
            self.player = player

        def choose(self, position, rng, clock):
            raise AssertionError

        def make_policy(self):
            made.append(self)
            return self.player.make_policy()

    player = Counted(make_player("greedy", make_game("capture_conquer")))
    for opponent in (player, [player, "random"]):
        made.clear()
        env = BoardGameVectorEnv("capture_conquer", 3, opponent=opponent, seat=1)
        env.reset(seed=0)
        assert len(made) == 1


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("opponent", ["random", "minimax:depth=1", MIXTURE])
def test_no_episode_begins_finished_after_long_openings(opponent, mode):
    mode = gymnasium.vector.AutoresetMode(mode)
    envs = gymnasium.make_vec(
        "cc_env/CaptureConquer-v0",
        32,
        opponent=opponent,
        max_opening_turns=30,
        autoreset_mode=mode,
    )
    _, infos = envs.reset(seed=0)
    envs.action_space.seed(0)
    boards = envs.unwrapped._boards
    for _ in range(100):
        actions = envs.action_space.sample()
        _, rewards, terminated, truncated, infos = envs.step(actions)
        ended = terminated | truncated
        assert (rewards[~terminated] == 0).all()
        assert ((infos["outcome"] >= 0) == terminated).all()
        if mode == gymnasium.vector.AutoresetMode.SAME_STEP:
            assert not boards.done.any()
        else:
            np.testing.assert_array_equal(boards.done, ended)
        if mode == gymnasium.vector.AutoresetMode.DISABLED and ended.any():
            envs.reset(options={"reset_mask": ended})
            assert not boards.done.any()
        running = ~boards.done
        assert (boards.to_move[running] == boards.seats[running]).all()


@pytest.mark.parametrize("mode", [Autoreset.NEXT_STEP, Autoreset.SAME_STEP])
@pytest.mark.parametrize("opponent", ["random", "minimax:depth=1"])
def test_openings_and_replies_that_end_games_are_repeated_in_compiled_code(
    opponent, mode, monkeypatch
):
    calls = []
    run = Boards._run

    def count(boards):
        calls.append(boards)
        return run(boards)

    monkeypatch.setattr(Boards, "_run", count)
    game = make_game("capture_conquer", size=4)
    boards = Boards(
        game,
        200,
        opponent=make_opponent(opponent, game),
        autoreset=mode,
        max_opening_turns=12,
    )
    boards.reset(streams=boards.streams(0))
    repeated = 0
    for _ in range(20):
        before = boards.episodes
        boards.step(boards.masks.argmax(1))
        repeated += int((boards.episodes > before + 1).sum())
    assert len(calls) == 21
    assert repeated > 0


@pytest.mark.parametrize("name", ["Checkers", "MiniCheckers"])
def test_openings_from_which_every_reply_ends_the_game_are_sampled_again(name):
    envs = gymnasium.make_vec(f"cc_env/{name}-v0", 500, opponent="random", max_opening_turns=300)
    envs.reset(seed=0)
    assert not envs.unwrapped._boards.done.any()


@pytest.mark.parametrize(
    "reply",
    [
        lambda batch, rng: batch.masks.argmax(1)[:1],
        lambda batch, rng: np.repeat(batch.masks.argmax(1), 2),
        lambda batch, rng: batch.masks.argmax(1)[:, np.newaxis],
        lambda batch, rng: batch.masks.argmax(1) + 0.5,
        lambda batch, rng: [0],
        lambda batch, rng: 3,
        lambda batch, rng: None,
    ],
)
def test_batch_policy_with_actions_of_another_shape_is_rejected(reply):
    env = BoardGameVectorEnv("capture_conquer", 3, opponent=Opponent("bad", reply), seat=0)
    env.reset(seed=0)
    with pytest.raises(IllegalAction):
        env.step(env.action_masks().argmax(1))
    with pytest.raises(ResetNeeded):
        env.step(env.action_masks().argmax(1))


def test_interrupted_policy_needs_a_reset(monkeypatch):
    env = BoardGameVectorEnv("capture_conquer", 3, opponent="minimax:depth=1", seat=0)
    env.reset(seed=0)
    with monkeypatch.context() as patch:

        def interrupt(*arguments):
            raise KeyboardInterrupt

        patch.setattr(env._boards, "_compiled_step", interrupt)
        with pytest.raises(KeyboardInterrupt):
            env.step(env.action_masks().argmax(1))
    with pytest.raises(ResetNeeded):
        env.step(env.action_masks().argmax(1))
    env.reset()


@pytest.mark.parametrize("opponent", ["minimax:depth=2", MIXTURE])
def test_copies_with_compiled_opponents_play_the_same_games_from_small_pickles(opponent):
    env = BoardGameVectorEnv("capture_conquer", 4, opponent=opponent)
    env.reset(seed=2)
    env.step(env.action_masks().argmax(1))
    data = pickle.dumps(env)
    assert len(data) < 200_000
    copies = [pickle.loads(data), copy.deepcopy(env)]
    for _ in range(30):
        actions = env.action_masks().argmax(1)
        observations = [each.step(actions)[0] for each in (env, *copies)]
        for other in observations[1:]:
            np.testing.assert_array_equal(observations[0], other)
