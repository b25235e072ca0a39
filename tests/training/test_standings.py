"""Standings of constructed games."""

import pytest

from cc_env.match.record import Record
from training.arena.schedule import Config
from training.arena.standings import standings, times

A, B, C = "random", "arena_players.Lowest", "arena_players.Raiser"
SECOND_TO_MOVE = "bbb3/bb4/b5/5r/4rr/3rrr r"


def game(first, second, result, **fields):
    defaults = {"reason": "conquest", "turns": ("x",) * 4, "seconds": (), **fields}
    return Record(
        game="capture_conquer",
        options={"size": 6},
        players=(first, second),
        result=result,
        **defaults,
    )


@pytest.fixture
def ranked():
    """Standings in which A beats B 1.5 to 0.5 and C 2 to 0; B and C score 1 each."""
    records = [
        game(A, B, "1-0"),
        game(B, A, "1/2-1/2", reason="repetition", turns=("x",) * 20),
        game(A, C, "1-0", reason="error"),
        game(C, A, "0-1", reason="time"),
        game(B, C, "1-0", reason="error", turns=("x",) * 6),
        game(C, B, "1-0"),
    ]
    return standings(Config(players=(C, B, A)), records, [0] * 6)


def test_players_are_ranked_best_first(ranked):
    assert [player.name for player in ranked.players] == [A, B, C]
    assert [str(player.tally) for player in ranked.players] == ["3-1-0", "1-1-2", "1-0-3"]
    assert [player.tally.score.value for player in ranked.players] == [0.875, 0.375, 0.25]
    assert all(player.tally.games == 4 for player in ranked.players)
    assert [player.faults for player in ranked.players] == [{}, {}, {"error": 2, "time": 1}]


def test_pairs_list_the_better_player_first(ranked):
    assert [pair.players for pair in ranked.pairs] == [(A, B), (A, C), (B, C)]
    assert [str(pair.tally) for pair in ranked.pairs] == ["1-1-0", "2-0-0", "1-0-1"]
    assert [pair.first_seat.value for pair in ranked.pairs] == [0.75, 0.5, 1]


def test_pair_can_be_reversed(ranked):
    pair, reversed_pair = ranked.pair(A, B), ranked.pair(B, A)
    assert reversed_pair.players == (B, A)
    assert str(reversed_pair.tally) == "0-1-1"
    assert reversed_pair.tally.score.value == 1 - pair.tally.score.value
    assert reversed_pair.tally.score.low == pytest.approx(1 - pair.tally.score.high)
    assert reversed_pair.first_seat == pair.first_seat


def test_pair_that_did_not_play_is_rejected(ranked):
    with pytest.raises(KeyError, match="did not play"):
        ranked.pair(A, A)


def test_standings_include_seats_lengths_and_endings(ranked):
    assert str(ranked.first_seat) == "4-1-1"
    assert ranked.first_seat.score.value == 0.75
    assert ranked.turns == (4, 20, 4, 4, 6, 4)
    assert ranked.endings == {"conquest": 2, "error": 2, "repetition": 1, "time": 1}
    assert ranked.to_json()["turns"] == {"mean": 7, "median": 4}


def test_anchor_has_zero_elo(ranked):
    anchored = standings(
        Config(players=(A, B), anchor=B), [game(A, B, "1-0"), game(B, A, "0-1")], [0] * 2
    )
    assert [player.name for player in anchored.players] == [A, B]
    assert anchored.players[1].elo == pytest.approx((0, 0, 0), abs=1e-9)
    assert anchored.players[0].elo.value > 100


def test_times_belong_to_the_player_to_move():
    records = [
        game(A, B, "1-0", seconds=(1.0, 0.1, 3.0)),
        game(A, B, "1-0", seconds=(0.2, 2.0), start=SECOND_TO_MOVE),
    ]
    player_times = times([A, B, C], records)
    assert set(player_times) == {A, B}
    assert (player_times[A].mean, player_times[A].longest) == (2, 3)
    assert (player_times[B].mean, player_times[B].longest) == (pytest.approx(0.15), 0.2)
