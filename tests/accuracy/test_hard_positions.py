"""The shipped puzzles for programs, and the command that finds them."""

from functools import partial

import pytest
from conftest import command_line

from cc_env.cli.application import run
from cc_env.games.factory import make_game
from cc_env.puzzles import shipped_puzzles, solve_rate
from cc_env.puzzles.puzzle import HARD, puzzle_path, read_puzzles
from cc_env.tablebase.tablebase import Tablebase
from training.experiments import hard_positions as search

BOARDS = {size: make_game("capture_conquer", size=size) for size in (4, 5)}


@pytest.mark.parametrize("size", BOARDS)
def test_hard_positions_have_one_winning_action_missed_by_alpha_beta(size):
    game = BOARDS[size]
    tables, suite = Tablebase(game), shipped_puzzles(game, HARD)
    assert len({game.key(hard.position) for hard in suite}) == len(suite) == 100
    assert [hard.missed_depth for hard in suite] == sorted(
        (h.missed_depth for h in suite), reverse=True
    )
    for hard in suite:
        solved, action = tables.probe(hard.position), hard.solutions[0][0]
        assert {turn[0] for turn in hard.solutions} == {action}
        assert (solved.value, solved.value_keeping) == (1, (action,))
        assert hard.turns == (solved.turns + 1) // 2
        assert len(solved.actions) >= search.MIN_ACTIONS
        assert search.searched_action(game, hard.position, hard.missed_depth) != action
        if hard.missed_depth < 14:  # the greatest depth that was tried
            assert search.searched_action(game, hard.position, hard.missed_depth + 1) == action


def test_suite_separates_strong_from_weak_players():
    game = BOARDS[4]
    suite = shipped_puzzles(game, HARD)

    def solved_by(name):
        return solve_rate(name, game, suite).share.value

    assert solved_by("random") < 0.4
    assert solved_by("minimax:depth=3") < 0.8  # none is missed by depths 10 to 14
    assert solved_by("minimax:depth=12") == solved_by("perfect") == 1


def test_hard_positions_command_finds_a_suite(tmp_path):
    path = puzzle_path(tmp_path, BOARDS[4], HARD)
    command = "--size", 4, "--positions", 700, "--number", 5, "--depth", 6, "--out", path
    assert "5 of 8 positions" in command_line(partial(run, search.app), *command)
    suite = read_puzzles(path, BOARDS[4])
    assert [hard.missed_depth for hard in suite] == sorted(
        (h.missed_depth for h in suite), reverse=True
    )
    assert all(1 <= hard.missed_depth <= 6 for hard in suite)
    first = path.read_bytes()
    command_line(partial(run, search.app), *command)
    assert path.read_bytes() == first
    nowhere = "--size", 4, "--out", tmp_path / "no" / "x"
    assert "No such file" in command_line(partial(run, search.app), *nowhere, status=2)
    assert "no tables of make_game" in command_line(
        partial(run, search.app), "--out", path, status=2
    )
    assert path.read_bytes() == first
