"""Ladders: the shipped ones, and files that are not ladders."""

import itertools
import json
import math
import re

import numpy as np
import pytest

from cc_env.core.rules import ONGOING
from cc_env.errors import BadRecord, UnknownOption
from cc_env.games.factory import describe_game, make_game
from cc_env.ladder import rungs
from cc_env.ladder.rungs import MEASURED, ladder_path, read_ladder
from cc_env.match.referee import Clock
from cc_env.players.specs import available_players, make_player
from cc_env.search.sampling import WIN_ADVANTAGE

BOARDS = {
    "capture_conquer": {},
    "capture_conquer 8": {"size": 8},
    "checkers": {},
    "mini_checkers": {},
    "morris": {},
    "cannon": {},
}


@pytest.fixture(params=BOARDS)
def board(request):
    return make_game(request.param.split()[0], **BOARDS[request.param])


def test_ladder_has_even_steps_of_measured_width(board):
    ladder = rungs(board)
    assert 6 <= len(ladder) <= 8
    elos = [rung.elo.value for rung in ladder]
    assert all(100 <= high - low <= 300 for low, high in itertools.pairwise(elos))
    assert all(rung.elo.high - rung.elo.low <= 120 for rung in ladder)
    assert [rung.level for rung in ladder] == list(range(1, len(ladder) + 1))
    assert ladder[0].name == "Pebble"
    assert max(rung.seconds_per_turn for rung in ladder) <= 2


def test_weakest_level_scores_60_to_80_percent_against_random(board):
    content = json.loads(ladder_path(MEASURED, board).read_text())
    (results,) = (m["results"] for m in content["matches"] if m["players"] == [0, 1])
    score = 1 - (results.count("1") + results.count("=") / 2) / len(results)
    assert 0.6 <= score <= 0.8


def test_no_level_from_the_third_on_overlooks_a_win_in_one_turn(board):
    for rung in rungs(board)[2:]:
        found = re.search("temperature=([0-9.]+)", rung.spec)
        # More actions than any position of a game has.
        assert found is None or 200 * math.exp(-WIN_ADVANTAGE / float(found[1])) < 1e-4


def test_third_level_wins_in_one_turn():
    game = make_game("capture_conquer", size=8)
    position = game.from_text("1r2r3/8/6br/4r3/r2b4/4r3/3r1r2/b7 r")
    player = make_player("ladder:3", game)
    for seed in range(50):
        after, rng = position, np.random.default_rng(seed)
        while game.outcome(after) == ONGOING and game.to_move(after) == 1:
            after = game.apply(after, player.choose(after, rng, Clock()).action)
        assert game.outcome(after) == 1


def test_level_is_a_player_by_number_or_name():
    game = make_game("capture_conquer")
    rung = rungs(game)[2]
    rng = np.random.default_rng
    choices = [
        make_player(spec, game).choose(game.initial, rng(0), Clock()).action
        for spec in (rung.spec, "ladder:3", f"ladder:{rung.name.upper()}")
    ]
    assert len(set(choices)) == 1
    assert "ladder" in available_players(game)
    assert "ladder" not in available_players(make_game("capture_conquer", size=4))


@pytest.mark.parametrize("level", ["0", "9", "x"])
def test_unknown_level_is_an_error(level):
    with pytest.raises(UnknownOption, match=rf"no level '{level}'; it has: 1 \(Pebble\), 2 "):
        make_player(f"ladder:{level}", make_game("capture_conquer"))


def test_game_without_a_ladder_is_an_error_that_names_those_with_one():
    with pytest.raises(UnknownOption) as caught:
        rungs(make_game("checkers", no_progress_limit=60))
    assert str(caught.value) == (
        "there is no ladder for checkers with no_progress_limit=60; there are ladders for: cannon, "
        "capture_conquer, capture_conquer with size=8, checkers, mini_checkers, morris"
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "capture_conquer"),
        ({"size": 6, "corner": 3}, "capture_conquer"),
        ({"size": 8, "corner": 4}, "capture_conquer with size=8"),
        ({"size": 8, "corner": 3}, "capture_conquer with size=8, corner=3"),
    ],
)
def test_description_of_a_game_has_the_options_that_make_it(options, expected):
    assert describe_game(make_game("capture_conquer", **options)) == expected


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content | {"game": "checkers"},
        lambda content: content | {"options": {}},
        lambda content: content | {"rules": "other"},
        lambda content: content | {"players": 5},
        lambda content: content | {"players": [{}, {"spec": 5, "elo": [1, 2, 3]}]},
        lambda content: (
            content
            | {"players": [{}, {"spec": "random", "elo": [1, 2, "x"], "seconds_per_turn": 1}]}
        ),
        lambda content: content | {"players": content["players"] * 5},
        lambda content: content | {"decisions": ["5"]},
        lambda content: content | {"decisions": {content["players"][1]["spec"]: 5}},
        lambda content: [],
    ],
)
def test_file_that_is_no_ladder_of_the_game_is_rejected(tmp_path, damage):
    game = make_game("capture_conquer")
    content = json.loads(ladder_path(MEASURED, game).read_text())
    path = tmp_path / "ladder.json"
    path.write_text(json.dumps(damage(content)))
    with pytest.raises(BadRecord, match="not a ladder of this game"):
        read_ladder(path, game)


def test_text_that_is_not_json_is_rejected(tmp_path):
    path = tmp_path / "ladder.json"
    path.write_text("[" * 10_000)
    with pytest.raises(BadRecord, match="not a ladder"):
        read_ladder(path, make_game("capture_conquer"))
