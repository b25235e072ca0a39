"""`info["opponent"]`: the index of the opponent that plays on each board."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from cc_env.envs.opponents import Opponent
from cc_env.envs.sb3 import OpponentVecEnv
from cc_env.envs.single import BoardGameEnv
from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.match.referee import Decision

GAME = "capture_conquer"
MODES = pytest.mark.parametrize("mode", AutoresetMode)


def lowest(observation, info):
    return int(info["action_mask"].argmax())


def highest(observation, info):
    return int(np.flatnonzero(info["action_mask"])[-1])


class Middle:
    """Plays the legal action in the middle."""

    def __init__(self, game):
        self.game = game

    def choose(self, position, rng, clock):
        legal = self.game.legal_actions(position)
        return Decision(int(legal[len(legal) // 2]))


class Recorder:
    """Policy functions that record the index of each one called."""

    def __init__(self, count):
        self.calls = []
        self.functions = [self._make(index) for index in range(count)]

    def _make(self, index):
        def choose(observation, info):
            self.calls.append(index)
            return lowest(observation, info)

        return choose


def test_single_environment_reports_the_opponent():
    recorder = Recorder(3)
    env = BoardGameEnv(GAME, opponent=recorder.functions, max_turns=6)
    indices = set()
    for episode in range(40):
        recorder.calls.clear()
        _, info = env.reset(seed=episode)
        drawn, over = info["opponent"], False
        while not over:
            *_, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
            assert info["opponent"] == drawn
            over = terminated or truncated
        assert set(recorder.calls) == {drawn}
        indices.add(drawn)
    assert indices == {0, 1, 2}
    assert type(drawn) is int


@pytest.mark.parametrize(
    ("opponent", "names"),
    [
        ("random", ("random",)),
        ("minimax:depth=2", ("minimax:depth=2",)),
        (lowest, ("lowest",)),
        ({"random": 0.5, "greedy": 0.5}, ("random", "greedy")),
        ([lowest, "random", Opponent("first", "greedy")], ("lowest", "random", "first")),
        ([Opponent("network", "greedy")], ("network",)),
    ],
)
def test_opponents_have_names(opponent, names):
    for make in BoardGameEnv, BoardGameVectorEnv:
        env = make(GAME, opponent=opponent)
        assert env.opponent_names == names
        _, info = env.reset(seed=0)
        assert np.all(np.isin(info["opponent"], range(len(names))))


def test_player_object_is_named_by_its_class(game):
    assert BoardGameEnv(GAME, opponent=[Middle(game), "random"]).opponent_names == (
        "Middle",
        "random",
    )


def test_caller_of_both_sides_has_no_opponent():
    for mode in AutoresetMode:
        envs = BoardGameVectorEnv(GAME, 3, opponent=None, max_turns=2, autoreset_mode=mode)
        assert envs.opponent_names == ()
        _, infos = envs.reset(seed=0)
        for _ in range(2):
            assert infos["opponent"].tolist() == [-1, -1, -1]
            *_, infos = envs.step(envs.action_space.sample())
        if mode == AutoresetMode.SAME_STEP:
            assert infos["final_info"]["opponent"].tolist() == [-1, -1, -1]


@MODES
@pytest.mark.parametrize("opponent", [lowest, [lowest, highest], {"random": 0.5, "greedy": 0.5}])
def test_opponent_infos_have_the_types_of_sync_vector_env(mode, opponent):
    """The infos are those of `SyncVectorEnv`, whose boards have other random streams."""
    arguments = {"opponent": opponent, "max_turns": 8}
    ours = BoardGameVectorEnv(GAME, 12, autoreset_mode=mode, **arguments)
    theirs = SyncVectorEnv([lambda: BoardGameEnv(GAME, **arguments)] * 12, autoreset_mode=mode)
    infos = {}
    for envs in ours, theirs:
        _, infos[envs] = envs.reset(seed=4)
        for _ in range(3):
            *_, infos[envs] = envs.step(infos[envs]["action_mask"].argmax(1))
    for key in "opponent", "_opponent":
        assert infos[ours][key].shape == infos[theirs][key].shape
        assert infos[ours][key].dtype == infos[theirs][key].dtype


@MODES
def test_vector_environment_reports_the_opponent(mode):
    """The replies identify the opponent: lowest and highest legal actions."""
    envs = BoardGameVectorEnv(
        GAME, 64, opponent=[lowest, highest], seat=1, max_turns=6, autoreset_mode=mode
    )
    _, infos = envs.reset(seed=0)
    replies = {lowest: 0, highest: 0}
    initial = envs.game.initial
    first_actions = [
        envs.game.apply(initial, int(envs.game.legal_actions(initial)[place])) for place in (0, -1)
    ]
    for board in range(64):
        assert envs.position(board) == first_actions[infos["opponent"][board]]
        replies[(lowest, highest)[infos["opponent"][board]]] += 1
    assert min(replies.values()) > 15
    drawn, over = infos["opponent"].copy(), np.zeros(64, np.bool_)
    while not over.any():
        *_, terminated, truncated, infos = envs.step(infos["action_mask"].argmax(1))
        over = terminated | truncated
        ended = infos["final_info"] if mode == AutoresetMode.SAME_STEP else infos
        assert (ended["opponent"][over] == drawn[over]).all()
        assert (infos["opponent"][~over] == drawn[~over]).all()
    if mode == AutoresetMode.SAME_STEP:
        # The next games have begun.
        for board in np.flatnonzero(over).tolist():
            assert envs.position(board) == first_actions[infos["opponent"][board]]


def test_stable_baselines_reports_the_opponent():
    points = {"lowest": 0, "highest": 0}
    env = OpponentVecEnv(GAME, 16, opponents=[lowest, highest], max_turns=8)
    assert [opponent.name for opponent in env.opponents] == list(points)
    env.seed(0)
    env.reset()
    for _ in range(30):
        _, _, dones, infos = env.step(env.action_masks().argmax(1))
        for board in np.flatnonzero(dones):
            points[env.opponents[infos[board]["opponent"]].name] += 1
    games = {opponent.name: len(opponent.take_points()) for opponent in env.opponents}
    assert points == games
    assert min(games.values()) > 10
