"""Ratings of puzzles, and the daily puzzle."""

import datetime
import itertools

import pytest

from cc_env.games.factory import make_game
from cc_env.ladder import rungs
from cc_env.puzzles import shipped_puzzles
from cc_env.puzzles.difficulty import (
    MAX_DAILY_TURNS,
    daily_puzzle,
    describe_difficulty,
    expected_score,
    puzzle_rating,
)
from cc_env.registry.catalogue import GAMES

TODAY = datetime.date(2026, 11, 29)


@pytest.mark.parametrize("name", GAMES)
def test_rating_is_the_elo_at_which_as_many_levels_fail(name):
    game = make_game(name)
    ladder = rungs(game)
    ratings = {}
    for puzzle in shipped_puzzles(game):
        rating, count = puzzle_rating(puzzle, ladder), len(puzzle.failing_rungs)
        expected = sum(expected_score(rating, rung.elo.value) for rung in ladder)
        assert expected == pytest.approx(min(max(count, 1), len(ladder) - 0.5), abs=0.01)
        assert ratings.setdefault(count, rating) == rating
        assert rating > 0
    ordered = [rating for _, rating in sorted(ratings.items())]
    assert ordered == sorted(ordered)


def test_difficulty_is_described_by_the_levels_that_fail():
    game = make_game("capture_conquer")
    puzzle = shipped_puzzles(game)[59]
    assert describe_difficulty(puzzle, game) == f"{len(puzzle.failing_rungs)} of 8 opponents fail"


def test_every_day_has_another_game_and_puzzle():
    days = [daily_puzzle(TODAY + datetime.timedelta(days=day)) for day in range(50)]
    assert {game.name for game, _ in days[:5]} == set(GAMES)
    assert all(puzzle.turns <= MAX_DAILY_TURNS for _, puzzle in days)
    names = [(game.name, puzzle.number) for game, puzzle in days]
    assert len(set(names)) == 50
    assert names == [
        (game.name, puzzle.number)
        for game, puzzle in (
            daily_puzzle(TODAY + datetime.timedelta(days=day)) for day in range(50)
        )
    ]


def test_all_short_puzzles_have_their_day():
    game = make_game("morris")
    short = {puzzle.number for puzzle in shipped_puzzles(game) if puzzle.turns <= MAX_DAILY_TURNS}
    days = itertools.count(TODAY.toordinal())
    morris = (daily_puzzle(datetime.date.fromordinal(day)) for day in days)
    numbers = (puzzle.number for other, puzzle in morris if other.name == "morris")
    assert set(itertools.islice(numbers, len(short))) == short
