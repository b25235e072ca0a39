"""The schedule of a tournament, and invalid configs."""

from collections import Counter
from itertools import permutations

import pytest

from cc_env.errors import BadOption
from training.arena.schedule import Config, schedule

THREE = "random", "arena_players.Lowest", "arena_players.Lowest:highest=True"


def test_every_pair_plays_each_opening_from_both_seats():
    plan = schedule(Config(players=THREE, games=6))
    assert [pairing.index for pairing in plan] == list(range(18))
    starts = {pairing.opening: pairing.start for pairing in plan}
    counts = Counter((pairing.opening, pairing.start, pairing.players) for pairing in plan)
    expected = {(k, start, pair) for k, start in starts.items() for pair in permutations(THREE, 2)}
    assert set(counts) == expected
    assert set(counts.values()) == {1}
    assert len({pairing.seed for pairing in plan}) == 18


def test_every_prefix_of_the_schedule_is_fair():
    short, long = (schedule(Config(players=THREE, games=games)) for games in (4, 10))
    assert long[: len(short)] == short


def test_seed_determines_openings_and_games():
    first, again, other = (schedule(Config(players=THREE, games=4, seed=s)) for s in (1, 1, 2))
    assert first == again
    assert not {pairing.start for pairing in first} & {pairing.start for pairing in other}
    assert not {pairing.seed for pairing in first} & {pairing.seed for pairing in other}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"players": ("random",)}, "two or more"),
        ({"players": ()}, "none; expected: two or more"),
        ({"players": ("random", "random")}, "random twice"),
        ({"players": ("random", "gambler")}, "no player 'gambler'; there are: .*random"),
        ({"players": ("random", "random:x=1")}, "no option x"),
        ({"players": ("random", "nowhere.Player")}, "nowhere"),
        ({"game": "chess"}, "no game 'chess' .*; there are: .*capture_conquer"),
        ({"options": {"sise": 6}}, "no option sise; did you mean size. it has: size, corner"),
        ({"options": {"size": 9}}, "expected: an integer, 4 to 8"),
        ({"games": 7}, "games=7; expected: an even number"),
        ({"games": 0}, "games=0"),
        ({"games": 2.0}, "games=2.0"),
        ({"opening_turns": -1}, "opening_turns=-1"),
        ({"seed": -1}, "seed=-1"),
        ({"anchor": "greedy"}, "unknown anchor 'greedy'"),
    ],
)
def test_invalid_values_are_rejected(change, message):
    with pytest.raises(BadOption, match=message):
        Config(**{"players": THREE, **change})


def test_openings_that_outlast_the_game_are_rejected():
    with pytest.raises(BadOption, match=r"opening_turns=5000: .* end earlier"):
        schedule(Config(players=THREE, options={"size": 4}, opening_turns=5000))
