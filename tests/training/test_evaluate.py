"""The command python -m training.evaluate."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from conftest import command_line, wait_for

from cc_env.__main__ import main
from cc_env.cli import application
from cc_env.match.record import read_records
from training import arena, evaluate
from training.evaluate import app, folder_name

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
HIGHEST = "arena_players.Lowest:highest=True"


def start(folder, *arguments, **environment):
    paths = os.pathsep.join(map(str, (ROOT, FOLDER)))
    return subprocess.Popen(
        [sys.executable, "-m", "training.evaluate", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "100", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(process, status=0):
    out, _ = process.communicate()
    assert process.returncode == status, out
    assert "Traceback" not in out
    return out


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs the command in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)
    return partial(command_line, partial(application.run, app), columns=100)


def test_command_plays_and_resumes_a_tournament(run, tmp_path):
    players = "random", "arena_players.Lowest"
    command = *players, "--size", 5, "--games", 6, "--workers", 0, "--anchor", "random"
    out = run(*command)
    assert "warning" not in out
    (folder,) = (tmp_path / "runs").iterdir()
    assert re.search(r"arena_players.Lowest +[+−]\d+ ± \d+ +[\d.]+ %", out)
    assert re.search(r"random +\+0 ± 0 ", out)
    assert "conquest" in out
    assert f"report: runs/{folder.name}/report.html" in out
    tables = json.loads((folder / "results.json").read_text())
    assert tables["config"]["options"]["size"] == 5
    assert len(list(read_records(folder / "games.jsonl"))) == 6
    assert "cc_env arena random" in (folder / "report.html").read_text()
    before = (folder / "games.jsonl").read_bytes()
    assert run(*command) == out
    assert (folder / "games.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    "run_command",
    [
        lambda *arguments: command_line(partial(application.run, app), *arguments, status=1),
        lambda *arguments: command_line(main, "arena", *arguments, status=1),
    ],
)
def test_report_has_the_command_of_both_entry_points(monkeypatch, run_command):
    commands = []

    class Unplayed:
        unplayed = "games"

    def run_and_report(config, path, command, **options):
        commands.append(command)
        return Unplayed()

    monkeypatch.setattr(evaluate, "run_and_report", run_and_report)
    run_command("random", "greedy", "--games", 2)
    assert commands == ["cc_env arena random greedy --games 2"]


@pytest.mark.slow
def test_interrupt_reports_progress_and_resumes(tmp_path):
    players = "random", "arena_players.Stopping"
    command = *players, "--games", 20, "--workers", 2, "--out", tmp_path / "out"
    games = tmp_path / "out" / "games.jsonl"
    process = start(tmp_path, *command, STOP_FILE=str(games), STOP_LINES="8")
    wait_for(lambda: games.exists() and games.read_text().count("\n") > 3, process)
    # A terminal sends the signal to the workers, too.
    os.killpg(process.pid, signal.SIGINT)
    out = finish(process, status=130)
    finished = games.read_text().splitlines()
    assert 3 < len(finished) < 20
    assert f"stopped; {len(finished)} games are finished, in {tmp_path / 'out'}" in out
    finish(start(tmp_path, *command))
    assert games.read_text().splitlines()[: len(finished)] == finished
    assert len(games.read_text().splitlines()) == 20


def test_full_disk_prints_one_line_with_progress(tmp_path, monkeypatch, capsys):
    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cc_env.match.record.append_atomically", full)
    command = ["random", "greedy", "--size", "4", "--games", "2", "--workers", "0", "--out", "out"]
    monkeypatch.setattr(sys, "argv", ["evaluate", *command])
    assert application.run(app) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert (
        "No space left on device: 'out/games.jsonl'; 0 games are finished, in out; repeat" in line
    )
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    config = arena.Config(players=("random", "greedy"), options={"size": 4}, games=2)
    assert len(arena.run_tournament(config, Path("out"), workers=0).records) == 2


@pytest.mark.slow
def test_unplayed_game_is_reported_with_status_1(run, tmp_path):
    out = run("random", "arena_players.Crash", "--games", 2, "--workers", 1, status=1)
    assert "random – arena_players.Crash, could not be played: the process died (SIGKILL)" in out
    (page,) = tmp_path.glob("runs/*/report.html")
    assert "1 game could not be played" in page.read_text()


def test_forfeits_are_shown_and_a_player_without_a_finished_game_sets_the_status(run):
    command = "--size", 4, "--games", 4, "--workers", 0
    out = run("random", "arena_players.Raiser", *command, status=1)
    line = "warning: arena_players.Raiser forfeits 4 of its 4 games; the first by error: Runtime"
    assert line in out
    # The resumed tournament has the same games.
    assert line in run("random", "arena_players.Raiser", *command, status=1)
    assert "UserWarning" not in out


def test_forfeits_of_some_games_keep_the_status(run):
    out = run("random", "arena_players.FailsLast", "--games", 4, "--workers", 0)
    assert re.search(
        r"warning: arena_players.FailsLast forfeits [123] of its 4 games; the first", out
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["random", "gambler"], "no player 'gambler'; there are: "),
        (["random", "arena_players.Lowest:lowest=1"], "no option lowest; it has: highest=False"),
        (["random", HIGHEST, "--size", 9], "expected: an integer, 4 to 8"),
        (["random", HIGHEST, "--size", 6, "-o", "size=5"], "size is given twice"),
        (["random", HIGHEST, "--game", "chess"], "no game 'chess'"),
        (["random", HIGHEST, "--games", 5], "games=5; expected: an even number"),
        (["random"], "two or more"),
        (
            ["random", HIGHEST, "--seconds-per-turn", 0],
            "seconds_per_turn=0.0; expected: more than 0",
        ),
    ],
)
def test_bad_input_prints_one_line_and_writes_nothing(
    tmp_path, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["evaluate", *map(str, arguments)])
    assert application.run(app) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_bad_input_exits_with_status_2(tmp_path):
    assert "there are: " in finish(start(tmp_path, "random", "gambler"), status=2)


def test_folder_names_are_readable_and_distinct():
    first = arena.Config(players=("random", HIGHEST))
    again = arena.Config(players=("random", HIGHEST), options={"size": 6}, anchor="random")
    other = arena.Config(players=("random", HIGHEST), seed=1)
    assert re.fullmatch(
        r"random-vs-arena_players-Lowest-highest=True-[0-9a-f]{6}", folder_name(first)
    )
    assert folder_name(first) == folder_name(again) != folder_name(other)


@pytest.mark.slow
def test_tournament_without_finished_games_is_an_error(run):
    out = run("arena_players.Dead", "random", "--games", 2, "--workers", 1, status=2)
    assert "no game could be played: " in out
