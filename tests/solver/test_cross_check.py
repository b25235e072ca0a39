"""Tables compared with alpha-beta: they agree, and wrong values are detected."""

import pytest
from solved_boards import solve

from cc_env.errors import BadOption, BadTable
from cc_env.games.factory import make_game
from cc_env.search.alphabeta import AlphaBeta
from cc_env.solver.cross_check import _is_proven, cross_check
from cc_env.tablebase.tablebase import Tablebase
from cc_env.tablebase.values import DRAW_VALUE

SMALL = make_game("capture_conquer", size=4)


def test_shipped_tables_agree_with_alpha_beta():
    *_, compared = cross_check(Tablebase(SMALL), 200, threads=2)
    assert 600 < compared.positions < 200 * len(Tablebase(SMALL).sizes)
    assert 0.5 < compared.proven / compared.positions < 1


def test_cross_check_is_independent_of_threads():
    alone, together = (
        list(cross_check(Tablebase(SMALL), 60, depth=2, threads=n))[-1] for n in (1, 2)
    )
    assert alone == together


def test_missing_win_in_a_table_is_detected():
    tables = Tablebase(SMALL)
    tables.load_all().values[:] = DRAW_VALUE
    with pytest.raises(BadTable, match=r"the table has the value 0, .*; alpha-beta proves -?1"):
        list(cross_check(tables, 50, threads=1))


@pytest.mark.parametrize("depth", [2, 3])
def test_false_win_in_a_table_is_detected(depth, monkeypatch):
    tables, get = Tablebase(SMALL), Tablebase.get

    def too_good(tables, position):
        solved = get(tables, position)
        return solved and (solved if solved.value else solved._replace(value=1, margin=1, turns=2))

    monkeypatch.setattr(Tablebase, "get", too_good)
    with pytest.raises(BadTable, match=r"value 1, in 2 turns; alpha-beta proves (nothing|0|-1)"):
        list(cross_check(tables, 200, depth=depth, threads=1))


@pytest.fixture(scope="module")
def with_margins(tmp_path_factory):
    """Tables of mini checkers."""
    folder, game = tmp_path_factory.mktemp("tables"), make_game("mini_checkers")
    solve(game, folder, "3v1")
    return Tablebase(game, folder)


@pytest.mark.parametrize(
    ("text", "value", "margin", "turns", "shallow", "deep"),
    [
        # A greater win is beyond the depth.
        ("6/b3b1/1w4/2b3/6/6 b", 1, 2, 7, 1, 8),
        # A greater loss is beyond the depth.
        ("5w/6/6/2b3/5w/4w1 b", -1, 1, 3, None, 10),
    ],
)
def test_proof_is_a_bound_in_games_with_margins(
    with_margins, text, value, margin, turns, shallow, deep
):
    position = with_margins.game.from_text(text)
    solved = with_margins.probe(position)
    assert (solved.value, solved.margin, solved.turns) == (value, margin, turns)
    search = AlphaBeta(with_margins.game)
    result = search.search(position, depth=4)
    assert (result.margin, result.is_exact) == (shallow, False)
    assert not _is_proven(with_margins, position, solved, 4, search)
    assert _is_proven(with_margins, position, solved, deep, search)


def test_winner_must_agree_in_games_with_margins(with_margins):
    position = with_margins.game.from_text("6/b3b1/1w4/2b3/6/6 b")
    solved, search = with_margins.probe(position), AlphaBeta(with_margins.game)
    for wrong in ({"value": -1}, {"value": 0, "margin": 0, "turns": 0}):
        with pytest.raises(BadTable, match="alpha-beta proves 1"):
            _is_proven(with_margins, position, solved._replace(**wrong), 4, search)


def test_tables_with_margins_agree_with_alpha_beta(with_margins):
    *_, compared = cross_check(with_margins, 300, depth=8, threads=1)
    assert compared.proven > compared.positions / 2 > 0


@pytest.mark.parametrize("wrong", [{"count": 0}, {"count": 2.5}, {"count": 1, "depth": 0}])
def test_numbers_out_of_range_are_rejected(wrong):
    with pytest.raises(BadOption, match=r"=(0|2\.5); expected: an integer, 1 or more"):
        list(cross_check(Tablebase(SMALL), **wrong))
