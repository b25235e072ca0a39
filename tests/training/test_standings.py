"""Tables from games that were made by hand."""

import pytest

from cc_env.match.record import Record
from training.arena.schedule import Config
from training.arena.standings import standings, times

A, B, C = "random", "arena_players.Lowest", "arena_players.Raiser"
SECOND_TO_MOVE = "bbb3/bb4/b5/5r/4rr/3rrr r"


def game(first, second, result, **fields):
    given = {"reason": "conquest", "turns": ("x",) * 4, "seconds": (), **fields}
    return Record(
        game="capture_conquer", options={"size": 6}, players=(first, second), result=result, **given
    )


@pytest.fixture
def ranked():
    """A beats B 1.5 to 0.5 and C 2 to 0; B and C share."""
    records = [
        game(A, B, "1-0"),
        game(B, A, "1/2-1/2", reason="repetition", turns=("x",) * 20),
        game(A, C, "1-0", reason="error"),
        game(C, A, "0-1", reason="time"),
        game(B, C, "1-0", reason="error", turns=("x",) * 6),
        game(C, B, "1-0"),
    ]
    return standings(Config(players=(C, B, A)), records, [0] * 6)


def test_players_come_best_first_with_their_games(ranked):
    assert [player.name for player in ranked.players] == [A, B, C]
    assert [str(player.line) for player in ranked.players] == ["3-1-0", "1-1-2", "1-0-3"]
    assert [player.line.score.value for player in ranked.players] == [0.875, 0.375, 0.25]
    assert all(player.line.games == 4 for player in ranked.players)
    assert [player.faults for player in ranked.players] == [{}, {}, {"error": 2, "time": 1}]


def test_pairs_are_seen_from_the_better_player(ranked):
    assert [pair.players for pair in ranked.pairs] == [(A, B), (A, C), (B, C)]
    assert [str(pair.line) for pair in ranked.pairs] == ["1-1-0", "2-0-0", "1-0-1"]
    assert [pair.first_seat.value for pair in ranked.pairs] == [0.75, 0.5, 1]


def test_a_pair_can_be_seen_from_either_side(ranked):
    here, there = ranked.pair(A, B), ranked.pair(B, A)
    assert there.players == (B, A)
    assert str(there.line) == "0-1-1"
    assert there.line.score.value == 1 - here.line.score.value
    assert there.line.score.low == pytest.approx(1 - here.line.score.high)
    assert there.first_seat == here.first_seat
    with pytest.raises(KeyError, match="did not play"):
        ranked.pair(A, A)


def test_seats_lengths_and_endings(ranked):
    assert str(ranked.first_seat) == "4-1-1"
    assert ranked.first_seat.score.value == 0.75
    assert ranked.turns == (4, 20, 4, 4, 6, 4)
    assert ranked.endings == {"conquest": 2, "error": 2, "repetition": 1, "time": 1}
    assert ranked.to_json()["turns"] == {"mean": 7, "median": 4}


def test_the_anchor_has_no_elo(ranked):
    tied = standings(
        Config(players=(A, B), anchor=B), [game(A, B, "1-0"), game(B, A, "0-1")], [0] * 2
    )
    assert [player.name for player in tied.players] == [A, B]
    assert tied.players[1].elo == pytest.approx((0, 0, 0), abs=1e-9)
    assert tied.players[0].elo.value > 100


def test_times_are_of_whoever_was_to_move():
    records = [
        game(A, B, "1-0", seconds=(1.0, 0.1, 3.0)),
        game(A, B, "1-0", seconds=(0.2, 2.0), start=SECOND_TO_MOVE),
    ]
    thinking = times([A, B, C], records)
    assert set(thinking) == {A, B}
    assert (thinking[A].mean, thinking[A].longest) == (2, 3)
    assert (thinking[B].mean, thinking[B].longest) == (pytest.approx(0.15), 0.2)
