"""Opponents in self-play."""

import numpy as np
import pytest

from cc_env.errors import BadPlayer, Forfeit
from cc_env.games.factory import make_game
from cc_env.match.match import FAULTS
from cc_env.match.referee import Decision
from cc_env.players.specs import temporary_players
from training.selfplay.worker import NO_OPPONENT, GameSettings, SelfPlayGames

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
    settings = GameSettings(opponents=names, opponents_share=share, max_opening_turns=0)
    games = SelfPlayGames(GAME, settings, BOARDS, np.random.default_rng(0))
    games.start(np.ones(BOARDS, np.bool_))
    return games


def test_opponents_take_their_share_of_both_seats():
    games = start_games(("greedy", "random"), 0.5)
    counts = [(games.opponent_seats == seat).sum() for seat in (NO_OPPONENT, 0, 1)]
    assert counts[0] == pytest.approx(BOARDS / 2, abs=8)
    assert counts[1] == pytest.approx(BOARDS / 4, abs=6)
    actions = np.full(BOARDS, -1, np.int64)
    is_opponent = games.choose(actions)
    assert np.array_equal(is_opponent, games.opponent_seats == 0)
    assert np.array_equal(actions >= 0, is_opponent)
    assert games.boards.masks[np.flatnonzero(is_opponent), actions[is_opponent]].all()


def test_zero_share_creates_no_opponents():
    games = start_games(("greedy",), 0)
    assert not games.choose(np.zeros(BOARDS, np.int64)).any()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bad:how=forfeit", "opponent bad:how=forfeit: it is tired"),
        ("bad:how=illegal", "opponent bad:how=illegal: .*1000000"),
    ],
)
def test_failing_opponent_is_named(name, message):
    games = start_games((name,), 1)
    with pytest.raises(BadPlayer, match=message):
        games.choose(np.zeros(BOARDS, np.int64))
