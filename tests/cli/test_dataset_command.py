"""cc_env dataset, as a user calls it."""

import json

import numpy as np
import pytest
from conftest import command_line

from cc_env.__main__ import main
from cc_env.datasets.dataset import load_dataset
from cc_env.games.factory import make_game
from cc_env.match.record import append_record
from cc_env.match.referee import play_match
from cc_env.players.builtin import RandomPlayer


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, status=0):
    return command_line(main, "dataset", *arguments, status=status)


@pytest.fixture
def records(game, folder):
    for seed in range(2):
        players = (RandomPlayer(game),) * 2
        append_record(folder / "games.jsonl", play_match(game, players, seed=seed))
    return folder / "games.jsonl"


def test_games_of_two_players_are_written(folder):
    out = run("games.npz", "-p", "greedy", "-p", "random", "--size", "4", "--games", "4")
    dataset = load_dataset(folder / "games.npz", make_game("capture_conquer", size=4))
    assert f"4 games, {len(dataset)} decisions" in " ".join(out.split())
    assert dataset.players.tolist() == [["greedy", "random"], ["random", "greedy"]] * 2
    assert not np.isnan(dataset.values).any()
    settings = {"games": 4, "opening_turns": 4, "seed": 0, "max_turns": 200, "repetitions": 3}
    assert dataset.about == {"players": ["greedy", "random"], **settings}
    run("again.npz", "-p", "greedy", "-p", "random", "--size", "4", "--games", "4")
    assert (folder / "again.npz").read_bytes() == (folder / "games.npz").read_bytes()


def test_limits_are_those_of_the_options(folder):
    options = "--games", 6, "--size", 4, "--max-turns", 30, "--repetitions", 2
    run("games.npz", "-p", "perfect", *options)
    dataset = load_dataset(folder / "games.npz")
    assert "repetition" in dataset.endings
    assert (dataset.limits == (30, 2)).all()
    run("free.npz", "-p", "perfect", *options[:-1], 0)
    dataset = load_dataset(folder / "free.npz")
    assert "max_turns" in dataset.endings
    assert (dataset.limits == (30, 0)).all()
    assert "repetitions=1; expected: an integer, 2 or more" in run(
        "no.npz", "-p", "random", "--repetitions", 1, status=2
    )


def test_records_are_written(records, folder, game):
    run("games.npz", "--records", records)
    dataset = load_dataset(folder / "games.npz", game)
    assert len(dataset.outcomes) == 2
    assert dataset.about == {"records": ["games.jsonl"]}


def test_overlong_minari_id_is_rejected(folder, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder))
    out = run("--minari", f"{'x' * 300}-v0", "-p", "random", status=2)
    assert out == f"error: data set '{'x' * 79}: File name too long\n"


@pytest.fixture
def minari_output(folder, monkeypatch):
    """The output of the command that writes the Minari data set cc/random-v0."""
    pytest.importorskip("minari")
    pytest.importorskip("h5py")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder / "minari"))
    options = "--size", 4, "--games", 2, "--max-turns", 30
    return run("--minari", "cc/random-v0", "-p", "random", *options)


def test_minari_data_set_is_written(minari_output):
    assert "cc/random-v0: 2 games" in minari_output
    loaded = pytest.importorskip("minari").load_dataset("cc/random-v0")
    # One episode for each player of a game.
    assert loaded.total_episodes == 4
    recovered = loaded.recover_environment().spec.kwargs
    assert (recovered["max_turns"], recovered["repetitions"]) == (30, 3)


@pytest.mark.usefixtures("minari_output")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cc/random-v0", "exists"),
        (f"cc/{'a' * 300}-v0", "aaa: File name too long"),
        ("t/ck-v0", "a namespace of at least 2 characters"),
    ],
)
def test_existing_or_invalid_minari_id_is_rejected(name, reason):
    assert reason in run("--minari", name, "-p", "random", status=2)


def test_existing_file_is_kept(folder):
    (folder / "games.npz").write_text("mine")
    assert "games.npz exists" in run("games.npz", "-p", "random", status=2)
    assert (folder / "games.npz").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "npz"),
        (["games.npz"], "--player"),
        (["games.npz", "-p", "random", "-r", "games.jsonl"], "--records"),
        (["games.npz", "-r", "games.jsonl", "--games", "2"], "--games 2"),
        (["games.npz", "-r", "games.jsonl", "--seed", "0"], "--seed 0"),
        (["games.npz", "-r", "games.jsonl", "--repetitions", "3"], "--repetitions 3"),
        (["games.csv", "-p", "random"], "games.csv"),
        (["missing/games.npz", "-p", "random"], "missing"),
        (["games.npz", "-p", "randm"], "randm"),
        (["games.npz", "-p", "random", "-g", "chess"], "chess"),
        (["games.npz", "-p", "random", "-g", "cannon", "--tables", "."], "cannon"),
        (["games.npz", "-r", "missing.jsonl"], "missing.jsonl"),
        ([f"{'a' * 300}.npz", "-p", "random"], "aaa: File name too long"),
        (["games.jsonl/games.npz", "-p", "random"], "'games.jsonl/games.npz': Not a directory"),
        (["games.npz", "-r", "games.jsonl", "-g", "checkers"], "line 1"),
        (["games.npz", "-r", "games.jsonl", "--size", "4"], "line 1"),
    ],
)
def test_bad_request_is_one_error_and_no_file(arguments, word, records, folder):
    out = run(*arguments, status=2)
    assert len(out.strip().splitlines()) == 1
    assert word in out
    assert [path.name for path in folder.iterdir()] == ["games.jsonl"]


def test_illegal_move_in_records_writes_nothing(records, folder):
    first, second = records.read_text().splitlines()
    second = json.loads(second)
    second["turns"][2] = "9,9-0,0"
    records.write_text(first + "\n" + json.dumps(second) + "\n")
    assert "games.jsonl, line 2: turn 3" in run("games.npz", "-r", records, status=2)
    assert [path.name for path in folder.iterdir()] == ["games.jsonl"]
