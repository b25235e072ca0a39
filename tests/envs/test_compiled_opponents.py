"""Opponents in compiled code, compared with the same players called for each board."""

import numpy as np
import pytest

from cc_env.envs import BoardGameEnv, BoardGameVectorEnv
from cc_env.envs.boards import Boards, CompiledOpponent
from cc_env.envs.kernels import Autoreset
from cc_env.envs.opponents import make_opponent
from cc_env.errors import BadPosition
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


@pytest.mark.parametrize("opponent", ["greedy", "minimax:depth=1", "mcts:simulations=20"])
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
