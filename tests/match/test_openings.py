"""Random openings: distinct and unfinished."""

import numpy as np
import pytest

from cc_env.core.rules import ONGOING
from cc_env.games.factory import make_game
from cc_env.match import openings
from cc_env.match.openings import play_random_turns, random_opening, random_openings
from cc_env.registry.catalogue import GAMES


@pytest.mark.parametrize("size", [4, 6, 8])
@pytest.mark.parametrize("turns", [1, 4, 7])
def test_openings_are_distinct_and_unfinished(size, turns):
    game = make_game("capture_conquer", size=size)
    texts = random_openings(game, turns, 20, seed=0)
    positions = [game.from_text(text) for text in texts]
    assert all(
        game.outcome(position) == ONGOING and not game.mid_turn(position) for position in positions
    )
    assert all(game.to_move(position) == turns % 2 for position in positions)
    assert len(texts) == 20
    if turns > 1:
        assert len(set(texts)) == 20


def test_openings_repeat_if_the_game_has_no_more(game):
    assert random_openings(game, 0, 3, seed=0) == [game.to_text(game.initial)] * 3


def test_no_time_is_wasted_once_openings_run_out(game, monkeypatch):
    calls = []

    def play(*arguments):
        calls.append(arguments)
        return play_random_turns(*arguments)

    monkeypatch.setattr(openings, "play_random_turns", play)
    random_openings(game, 0, 1000, seed=0)
    assert len(calls) < 1000 + 2 * openings.MAX_TRIES


@pytest.mark.parametrize("name", GAMES)
def test_random_opening_has_at_most_the_given_turns(name):
    game, rng = make_game(name), np.random.default_rng(0)
    positions = [random_opening(game, 3, rng) for _ in range(60)]
    assert all(
        game.outcome(position) == ONGOING and not game.mid_turn(position) for position in positions
    )
    assert game.initial in positions
    assert {game.to_move(position) for position in positions} == {0, 1}


def test_random_turns_stop_at_the_end_of_the_game():
    game = make_game("capture_conquer", size=4)
    position = play_random_turns(game, 500, np.random.default_rng(0))
    assert game.outcome(position) != ONGOING
