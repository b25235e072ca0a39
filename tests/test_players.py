"""Spoken names: what they make, and what is said about a wrong one."""

import numpy as np
import pytest

from cc_env import players
from cc_env.errors import UnknownOption
from cc_env.options import read
from cc_env.referee import Clock, Decision


class Lowest:
    """Somebody's own player: the lowest or the highest legal action."""

    def __init__(self, game, *, highest=False, level=None):
        self.game, self.highest, self.level = game, highest, level

    def choose(self, position, rng, clock):
        return Decision(int(self.game.legal_actions(position)[-1 if self.highest else 0]))


def chosen(player, game):
    return player.choose(game.initial, np.random.default_rng(0), Clock()).action


def test_a_name_with_a_dot_is_a_class_of_somebody_elses(game):
    lowest, *_, highest = game.legal_actions(game.initial)
    assert chosen(players.make("test_players.Lowest", game), game) == lowest
    assert chosen(players.make("test_players.Lowest:highest=True", game), game) == highest
    assert players.make("test_players.Lowest:strong,highest=1", game).level == "strong"


def test_a_registered_player_has_a_name_of_its_own(game, monkeypatch):
    monkeypatch.setattr(players, "PLAYERS", dict(players.PLAYERS))
    players.register("lowest", Lowest)
    assert isinstance(players.make("lowest:highest=True", game), Lowest)
    with pytest.raises(UnknownOption, match=r"'my-player': letters, digits"):
        players.register("my-player", Lowest)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("randm", r"no player 'randm'; there are: .*random"),
        ("", r"no player ''; there are: .*random"),
        ("random:depth=3", r"player random has no option depth; it has: none"),
        ("test_players.Lowest:depth=3", r"no option depth; it has: highest=False, level=None"),
        ("test_players.Lowest:highest=1,highest=2", r"highest is given twice"),
        ("nowhere.Player", r"'nowhere.Player' cannot be imported: No module"),
        ("test_players.Nobody", r"cannot be imported: .* no attribute 'Nobody'"),
        ("numpy.pi", r"'numpy.pi' is no class and no function: 3.14"),
    ],
)
def test_a_wrong_name_is_told_what_there_is(game, name, says):
    with pytest.raises(UnknownOption, match=says):
        players.make(name, game)
    with pytest.raises(UnknownOption, match=says):
        players.check(name)


def test_values_are_python_literals_or_words():
    assert read(["a=1", "b=2.5", "c=None", "d=word", "e='x=y'", " f = 1 "]) == {
        "a": 1, "b": 2.5, "c": None, "d": "word", "e": "x=y", "f": 1,
    }  # fmt: skip
    with pytest.raises(UnknownOption, match=r"'size': wanted NAME=VALUE"):
        read(["size"])
