"""The baselines: results, ratings, and a run from training to its result."""

import json
from dataclasses import replace
from functools import partial

import pytest
from conftest import command_line

from cc_env.cli import application
from cc_env.errors import BadRecord
from training.baselines import boards, measurement, results
from training.baselines.command import app
from training.baselines.results import RESULTS, fixed_ratings, read_result, run_ratings

SMALL = boards.Board("C&C 4×4", "capture_conquer", {"size": 4})
TINY_DQN = {
    "network": {"blocks": 1, "channels": 8, "keys": 4},
    "opponents": ["random"],
    "boards": 32,
    "n_steps": 8,
    "warm_up": 64,
    "evaluate_every": 1024,
}
SPECS = {"random": "random", "d1": "minimax:depth=1", "d2": "minimax:depth=2"}
run = partial(command_line, partial(application.run, app))


def match(characters):
    points = [results.POINTS[character] for character in characters]
    return {"results": characters, "score": sum(points) / len(points)}


def player(spec, **matches):
    return {
        "spec": spec,
        "accuracy": None,
        "matches": {SPECS[name]: match(characters) for name, characters in matches.items()},
    }


def write_fixed(folder, *players):
    path = results.result_path(folder, "checkers", boards.FIXED)
    results.write_result(path, {"format": 1, "players": list(players)})


def write_run(folder, seed, *players):
    path = results.result_path(folder, "checkers", "ppo", seed)
    results.write_result(path, {"format": 1, "seed": seed, "players": list(players)})


FIXED = (
    player("random"),
    player("minimax:depth=1", random="1" * 96 + "=" * 4),
    player("minimax:depth=2", random="1" * 100, d1="1" * 60 + "=" * 20 + "0" * 20),
)


def test_ratings_order_players_by_their_points(tmp_path):
    write_fixed(tmp_path, *FIXED)
    write_run(tmp_path, 0, player("strong", d1="1" * 90 + "0" * 10, d2="1" * 70 + "0" * 30))
    write_run(tmp_path, 1, player("equal", d1="10" * 50, d2="=" * 20 + "0" * 60 + "1" * 20))
    fixed = {rated.spec: rated for rated in fixed_ratings(tmp_path, "checkers")}
    strong, equal = (rated for _, rated in run_ratings(tmp_path, "checkers", "ppo"))
    assert fixed["minimax:depth=1"].elo.value == 0
    assert fixed["random"].elo.value < -300
    # A score of 70 % is 147 Elo.
    assert fixed["minimax:depth=2"].elo.value == pytest.approx(147, abs=15)
    assert strong.elo.value > fixed["minimax:depth=2"].elo.value > equal.elo.high
    assert equal.elo.value == pytest.approx(0, abs=40)
    assert fixed["minimax:depth=1"].score("minimax:depth=2") == pytest.approx(0.3)
    assert strong.score("minimax:depth=2") == 0.7
    assert strong.score("random") is None


def test_elo_does_not_depend_on_other_runs(tmp_path):
    write_fixed(tmp_path, *FIXED)
    write_run(tmp_path, 0, player("one", d1="10" * 50, d2="=" * 100))
    ((_, alone),) = run_ratings(tmp_path, "checkers", "ppo")
    write_run(tmp_path, 1, player("other", d1="0" * 100, d2="0" * 100))
    (_, together), _ = run_ratings(tmp_path, "checkers", "ppo")
    assert together.elo == alone.elo


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not a result"),
        ("[]", "not a result"),
        ('{"format": 2, "players": []}', "format 2; expected: 1"),
        ('{"format": 1}', "not a result"),
        ('{"format": 1, "players": [{"matches": {"random": {"results": "1x"}}}]}', "random"),
        ('{"format": 1, "players": [{"matches": {"boss": {"results": "1"}}}]}', "boss"),
    ],
)
def test_broken_result_is_refused(tmp_path, text, message):
    path = tmp_path / "result.json"
    path.write_text(text)
    with pytest.raises(BadRecord, match=message):
        read_result(path)


def test_results_of_the_repository_are_complete():
    paths = sorted(RESULTS.glob("*/*.json"))
    assert paths
    for path in paths:
        result = read_result(path)
        assert result["board"] == path.parent.name
        is_run = path.stem != boards.FIXED
        assert not is_run or path.stem == f"{result['algorithm']}-{result['seed']}"
        for measured in result["players"]:
            for recorded in measured["matches"].values():
                assert len(recorded["results"]) == boards.GAMES
                assert recorded["score"] == pytest.approx(match(recorded["results"])["score"])


def test_results_of_a_match_are_those_of_its_player():
    board = boards.Board("", "capture_conquer", {"size": 4})
    won, records = measurement.play("minimax:depth=2", "random", board, 20)
    lost, again = measurement.play("random", "minimax:depth=2", board, 20)
    assert won["score"] > 0.8
    assert [record.start for record in records] == [record.start for record in again]
    assert won["score"] == pytest.approx(match(won["results"])["score"])
    assert lost["score"] < 0.2
    assert won["interval"][0] < won["score"] < won["interval"][1]
    assert 10 < won["distinct_games"] <= 20


def test_accuracy_needs_tables_with_the_start():
    measured = measurement.accuracy("greedy", SMALL)
    assert 0.5 < measured["kept_with_choice"] < measured["kept"] < 1
    assert measurement.accuracy("greedy", boards.BOARDS["checkers"]) is None


def test_puzzles_are_measured_on_boards_with_a_suite():
    perfect = measurement.puzzles("perfect", SMALL)
    assert perfect == {"positions": 100, "solved": 1}
    assert measurement.puzzles("greedy", SMALL)["solved"] < 0.6
    for_people = measurement.puzzles("greedy", boards.BOARDS["mini_checkers"])
    assert for_people["positions"] >= 300
    assert for_people["solved"] < 0.9
    assert measurement.puzzles("greedy", boards.Board("", "capture_conquer", {"size": 7})) is None


def test_list_names_runs(tmp_path):
    lines = run("--list", "-b", "morris", "-a", "dqn", "--results", tmp_path).splitlines()
    assert lines == [f"morris/dqn-{seed}.json: not run yet" for seed in range(3)]


@pytest.mark.parametrize("words", [("-b", "chess"), ("-a", "sarsa")])
def test_unknown_names_are_refused(words):
    assert words[1] in run(*words, status=2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--games", "3"), "games=3"),
        (("--games", "0"), "games=0"),
        (("--core-minutes", "nan"), "core_minutes=nan"),
        (("--core-minutes", "0"), "core_minutes=0"),
        (("--seed", str(10**20)), f"seed={10**20}"),
    ],
)
def test_bad_conditions_are_refused_before_training(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    for algorithm in ("fixed", "dqn"):
        assert message in run("-a", algorithm, *words, "--results", tmp_path / "results", status=2)
    assert not list(tmp_path.iterdir())


def test_trial_run_needs_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (("--games", "4"), ("--core-minutes", "0.1")):
        assert "--results" in run("-b", "morris", "-a", "dqn", "--seed", "7", *words, status=2)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.usefixtures("without_curves")
def test_run_writes_its_result_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(boards.BOARDS, "small", SMALL)
    dqn = replace(boards.ALGORITHMS["dqn"], settings=TINY_DQN)
    monkeypatch.setitem(boards.ALGORITHMS, "dqn", dqn)
    words = ["-b", "small", "-a", "fixed", "-a", "dqn", "--seed", "5", "--games", "4"]
    words += ["--core-minutes", "0.001", "--results", tmp_path]
    run(*words)
    path = results.result_path(tmp_path, "small", "dqn", 5)
    result = json.loads(path.read_text())
    assert result["environment_steps"] % 256 == 0
    assert result["core_minutes"] > 0.001
    trial = f"-b small -a dqn --seed 5 --core-minutes 0.001 --games 4 --results {tmp_path}"
    assert result["command"].endswith(trial)
    (measured,) = result["players"]
    assert [*measured["matches"]] == [*boards.FIXED_PLAYERS]
    assert measured["accuracy"]["decisions"] > 500
    assert result["curve"][-1][0] == result["core_minutes"]
    assert len([*run_ratings(tmp_path, "small", "dqn")]) == 1
    written = path.stat().st_mtime_ns
    assert run(*words).count("measured") == 2
    assert path.stat().st_mtime_ns == written
    words[words.index("0.001")] = "0.002"
    assert "another --results folder" in run(*words, status=2)
    # A run of another length neither continues this one nor returns its network.
    other = ["-b", "small", "-a", "dqn", "--seed", "5", "--games", "4", "--core-minutes", "0.002"]
    run(*other, "--results", tmp_path / "other")
    longer = json.loads(results.result_path(tmp_path / "other", "small", "dqn", 5).read_text())
    assert longer["core_minutes"] > 0.002
    assert longer["weights"] != result["weights"]
    assert len([*(tmp_path / "runs" / "baselines").glob("small-dqn-5-*")]) == 2
