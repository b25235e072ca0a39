"""The measurement of ladders, and the results that ship."""

import json
from functools import partial

import pytest
from conftest import command_line

from cc_env.cli.application import run
from cc_env.games.factory import make_game
from cc_env.ladder.rungs import MEASURED, ladder_path, read_ladder, rungs
from cc_env.players.decision_hash import decision_hash
from cc_env.players.specs import make_player
from training.experiments import ladder
from training.experiments.ladder import Measurement

GAME = make_game("capture_conquer", size=4)
COMMAND = "--size", 4, "--width", 150, "--out"


def measure(path, *specs, width=150):
    measurement = Measurement(GAME, ["random", *specs], path)
    measurement.run(width)
    return measurement


@pytest.fixture(autouse=True)
def few_openings(monkeypatch):
    monkeypatch.setattr(ladder, "_MAX_OPENINGS", 150)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """Return the file of a measured ladder."""
    path = tmp_path_factory.mktemp("ladder") / "ladder.json"
    measure(path, "greedy")
    return path.read_text()


@pytest.mark.parametrize(
    "name",
    ["capture_conquer", "capture_conquer 8", "checkers", "mini_checkers", "morris", "cannon"],
)
def test_shipped_ratings_follow_from_the_shipped_results(name):
    game = make_game(name.split()[0], **({"size": 8} if " " in name else {}))
    path = ladder_path(MEASURED, game)
    specs = ["random", *(rung.spec for rung in rungs(game))]
    measurement = Measurement(game, specs, path)
    for rating, rung in zip(measurement.ratings()[1:], rungs(game), strict=True):
        assert list(rung.elo) == pytest.approx(rating, abs=0.06)
    pairs = {(a, b) for a in range(len(specs)) for b in range(a + 1, len(specs)) if b - a <= 2}
    assert set(measurement.results) == pairs
    saved = json.loads(path.read_text())["decisions"]
    assert saved == {spec: digest for spec in specs if (digest := decision_hash(spec, game))}


def test_measurement_ends_when_all_intervals_are_narrow(tmp_path):
    path = tmp_path / "ladder.json"
    measurement = measure(path, "minimax:depth=1,temperature=300", "greedy")
    assert all(rating.high - rating.value <= 150 for rating in measurement.ratings())
    ladder_ = read_ladder(path, GAME)
    assert [rung.name for rung in ladder_] == ["Pebble", "Slate"]
    assert 0 < ladder_[0].elo.value < ladder_[1].elo.value
    assert make_player(ladder_[0].spec, GAME)


def test_interrupted_measurement_resumes(tmp_path, monkeypatch, content):
    (match,) = json.loads(content)["matches"]
    path = tmp_path / "ladder.json"
    batches = []

    def interrupted(self, pair, play=Measurement._play_batch):
        if len(batches) == 2:
            raise KeyboardInterrupt
        batches.append(pair)
        play(self, pair)

    with monkeypatch.context() as patch:
        patch.setattr(Measurement, "_play_batch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            measure(path, "greedy")
    assert 0 < len(json.loads(path.read_text())["matches"][0]["results"]) < len(match["results"])
    assert measure(path, "greedy").results == {(0, 1): match["results"]}


def test_file_of_other_players_is_kept(tmp_path, content):
    path = tmp_path / "ladder.json"
    path.write_text(content)
    message = command_line(partial(run, ladder.app), "minimax", *COMMAND, path, status=2)
    assert "is another ladder, or its players have changed" in message
    assert path.read_text() == content


@pytest.mark.parametrize(
    "change",
    [
        {"matches": [{"players": [0, 1], "results": "1x"}]},
        {"matches": [{"players": [1, 0], "results": "1"}]},
        {"matches": [{"players": [0, 9], "results": "1"}]},
        {"matches": 3},
        {"players": [{}]},
    ],
)
def test_altered_results_are_rejected(tmp_path, content, change):
    path = tmp_path / "ladder.json"
    path.write_text(json.dumps(json.loads(content) | change))
    message = command_line(partial(run, ladder.app), "greedy", *COMMAND, path, status=2)
    assert "not a ladder" in message


def test_command_prints_the_ladder(tmp_path):
    output = command_line(partial(run, ladder.app), "greedy", *COMMAND, tmp_path / "ladder.json")
    assert "greedy" in output
    assert "ladder.json" in output
    too_many = ["greedy"] * 9
    assert "9 players; expected: 1 to 8" in command_line(
        partial(run, ladder.app), *too_many, "--out", tmp_path / "x", status=2
    )
