"""The shipped hard positions, the reading of suites, and the command that finds them."""

import json
from functools import partial

import pytest
from conftest import command_line

from cc_env.accuracy.decisions import measure
from cc_env.accuracy.hard_positions import read_suite, shipped_hard_positions, suite_file_name
from cc_env.cli.application import run
from cc_env.errors import BadRecord
from cc_env.games.factory import make_game
from cc_env.players.specs import make_player
from cc_env.tablebase.tablebase import Tablebase
from training.experiments import hard_positions as search

BOARDS = {size: make_game("capture_conquer", size=size) for size in (4, 5)}
LINE = {"position": "1bb1/4/b1r1/2rr b", "action": "0,2-0,0", "turns": 27, "missed": 7}


@pytest.mark.parametrize("size", BOARDS)
def test_hard_positions_have_one_winning_action_missed_by_alpha_beta(size):
    game = BOARDS[size]
    tables, suite = Tablebase(game), shipped_hard_positions(game)
    assert len({game.key(hard.position) for hard in suite}) == len(suite) == 100
    assert [hard.missed for hard in suite] == sorted((h.missed for h in suite), reverse=True)
    for hard in suite:
        solved = tables.probe(hard.position)
        assert (solved.value, solved.value_keeping, solved.turns) == (1, (hard.action,), hard.turns)
        assert len(solved.actions) >= search.MIN_ACTIONS
        assert search.searched_action(game, hard.position, hard.missed) != hard.action
        if hard.missed < 14:  # the greatest depth that was tried
            assert search.searched_action(game, hard.position, hard.missed + 1) == hard.action


def test_suite_separates_strong_from_weak_players():
    game, tables = BOARDS[4], Tablebase(BOARDS[4])
    positions = [hard.position for hard in shipped_hard_positions(game)]

    def solved_by(name):
        return measure(make_player(name, game), tables, positions).kept.value

    assert solved_by("random") < 0.4
    assert solved_by("minimax:depth=3") < 0.8  # none is missed by depths 10 to 14
    assert solved_by("minimax:depth=12") == solved_by("perfect") == 1


def test_games_without_a_shipped_suite_have_no_hard_positions():
    assert (
        shipped_hard_positions(make_game("cannon"))
        == shipped_hard_positions(make_game("checkers"))
        == []
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"position": "1bb1/4/b1r1/2rr x"}, "line 2"),
        ({"action": "0,2-3,3"}, "'0,2-3,3' is not legal in '1bb1/4/b1r1/2rr b'"),
        ({"action": ["0,2-0,0"]}, "line 2"),
        ({"turns": -1}, "turns=-1; expected: an integer, 0 or more"),
        ({"missed": "7"}, "missed='7'; expected: an integer, 0 or more"),
    ],
)
def test_invalid_suite_is_rejected_with_its_line(change, expected, tmp_path):
    path = tmp_path / "suite.jsonl"
    path.write_text(f"{json.dumps(LINE)}\n{json.dumps(LINE | change)}\n")
    with pytest.raises(BadRecord, match=r"suite\.jsonl, line 2: ") as refused:
        read_suite(path, BOARDS[4])
    assert expected in str(refused.value)
    path.write_text(json.dumps(LINE))
    (hard,) = read_suite(path, BOARDS[4])
    assert hard.to_json(BOARDS[4]) == LINE


def test_hard_positions_command_finds_a_suite(tmp_path):
    path = tmp_path / suite_file_name(BOARDS[4])
    command = "--size", 4, "--positions", 700, "--number", 5, "--depth", 6, "--out", path
    assert "5 of 8 positions" in command_line(partial(run, search.app), *command)
    suite = read_suite(path, BOARDS[4])
    assert [hard.missed for hard in suite] == sorted((h.missed for h in suite), reverse=True)
    assert all(1 <= hard.missed <= 6 for hard in suite)
    first = path.read_bytes()
    command_line(partial(run, search.app), *command)
    assert path.read_bytes() == first
    nowhere = "--size", 4, "--out", tmp_path / "no" / "x"
    assert "No such file" in command_line(partial(run, search.app), *nowhere, status=2)
    assert "no tables of make_game" in command_line(
        partial(run, search.app), "--out", path, status=2
    )
    assert path.read_bytes() == first
