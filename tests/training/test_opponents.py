"""Opponents in self-play."""

import numpy as np
import pytest

from cc_env.envs.boards import Boards
from cc_env.errors import BadPlayer, Forfeit
from cc_env.games.factory import make_game
from cc_env.match.match import FAULTS
from cc_env.match.referee import Decision
from cc_env.players.specs import temporary_players
from training.selfplay.opponents import NO_OPPONENT, Opponents

GAME = make_game("capture_conquer", size=4)
BOARDS = 40


class Bad:
    """Forfeits, or chooses an unknown action."""

    def __init__(self, game, *, how):
        self.how = how

    def choose(self, position, rng, clock):
        if self.how == "forfeit":
            raise Forfeit(FAULTS[0], "it is tired")
        return Decision(10**6)


@pytest.fixture(autouse=True)
def bad():
    with temporary_players(bad=Bad):
        yield


def start_games(names, share):
    rng, boards = np.random.default_rng(0), Boards(GAME, BOARDS)
    boards.reset()
    opponents = Opponents(GAME, names, share, BOARDS)
    opponents.start_games(boards, np.ones(BOARDS, np.bool_), 0, rng)
    return opponents, boards, rng


def test_opponents_take_their_share_of_both_seats():
    opponents, boards, rng = start_games(("greedy", "random"), 0.5)
    counts = [(opponents.seats == seat).sum() for seat in (NO_OPPONENT, 0, 1)]
    assert counts[0] == pytest.approx(BOARDS / 2, abs=8)
    assert counts[1] == pytest.approx(BOARDS / 4, abs=6)
    actions = np.full(BOARDS, -1, np.int64)
    is_opponent = opponents.choose(boards, actions, rng)
    assert np.array_equal(is_opponent, opponents.seats == 0)
    assert np.array_equal(actions >= 0, is_opponent)
    assert boards.masks[np.flatnonzero(is_opponent), actions[is_opponent]].all()


def test_zero_share_creates_no_opponents():
    opponents, boards, rng = start_games(("greedy",), 0)
    assert not opponents.choose(boards, np.zeros(BOARDS, np.int64), rng).any()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bad:how=forfeit", "opponent bad:how=forfeit: it is tired"),
        ("bad:how=illegal", "opponent bad:how=illegal: .*1000000"),
    ],
)
def test_failing_opponent_is_named(name, message):
    opponents, boards, rng = start_games((name,), 1)
    with pytest.raises(BadPlayer, match=message):
        opponents.choose(boards, np.zeros(BOARDS, np.int64), rng)
