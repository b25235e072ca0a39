"""The commands `rate` and `solve-rate` with a language model on a scripted server."""

import re
from itertools import count

import pytest
from conftest import command_line
from players.chat_server import play_legally, say, serving, wait_for_each_other

from cc_env.__main__ import main
from cc_env.protocols import chat_client
from cc_env.puzzles import shipped_puzzles
from cc_env.puzzles.puzzle import SHIPPED, puzzle_path
from cc_env.text.board import board_text


def run(*arguments, status=0):
    return command_line(main, *arguments, status=status)


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch):
    monkeypatch.setattr(chat_client, "RETRY_SECONDS", 0.0)


@pytest.fixture
def puzzles_file(game, tmp_path):
    """Return a file with the first three shipped puzzles of C&C."""
    lines = puzzle_path(SHIPPED, game, "people").read_text("utf-8").splitlines(keepends=True)
    path = tmp_path / "puzzles.jsonl"
    path.write_text("".join(lines[:3]), "utf-8")
    return path


def test_model_gets_a_rating_on_the_ladder():
    with serving(play_legally) as server:
        out = run("rate", server.spec, "--max-games", 8)
    assert "8 games" in out
    (elo,) = re.findall(r"Elo (-?\d+) \(", out)
    assert int(elo) < 800


def test_games_of_a_model_are_played_at_once():
    with serving(wait_for_each_other(2, play_legally)) as server:
        out = run("rate", server.spec, "--max-games", 8, "--workers", 2)
        requests = len(server.requests)
    assert "8 games" in out
    # A game without a reply ends after its first request.
    assert requests > 16


def test_puzzles_are_solved_at_once(puzzles_file):
    with serving(wait_for_each_other(2, play_legally)) as server:
        out = run("solve-rate", server.spec, "--file", puzzles_file, "--workers", 2)
        requests = len(server.requests)
    assert re.search(r"all +3 ", out)
    assert requests >= 3


@pytest.fixture
def absent():
    """Return the spec of a model whose server has ended."""
    with serving(say("")) as server:
        return f"{server.spec},retries=0"


def test_model_whose_server_is_absent_loses_all_games(absent):
    out = run("rate", absent, "--max-games", 8, status=1)
    assert re.search(r"8 +0 %", out)
    warning = f"warning: {absent} forfeits 8 of its 8 games; the first by error: scripted: 127"
    assert warning in out
    assert "forfeits 8 of its 8 games" in run(
        "rate", absent, "--max-games", 8, "--test", 1, "--workers", 2, status=1
    )


def test_some_forfeited_games_are_a_warning():
    numbers = count()

    def answer(handler, request):
        if next(numbers) == 5:
            handler.send(b"no such model", 404)
        else:
            play_legally(handler, request)

    with serving(answer) as server:
        out = run("rate", server.spec, "--max-games", 8)
    assert "forfeits 1 of its 8 games; the first by error: scripted: HTTP status 404: no" in out


def test_model_whose_server_is_absent_forfeits_all_puzzles(absent, puzzles_file):
    out = run("solve-rate", "greedy", absent, "--file", puzzles_file, status=1)
    assert f"warning: {absent} forfeits 3 of its 3 puzzles; the first by error: scripted:" in out
    assert out.count("warning") == 1


def test_some_forfeited_puzzles_are_a_warning(puzzles_file):
    first = iter(["<turn>a1-b9</turn>"])

    def answer(handler, request):
        if turn := next(first, None):
            handler.reply(turn)
        else:
            play_legally(handler, request)

    with serving(answer) as server:
        out = run("solve-rate", f"{server.spec},tries=1", "--file", puzzles_file)
    assert "forfeits 1 of its 3 puzzles; the first by illegal: scripted: no legal turn" in out


def test_model_whose_server_is_absent_forfeits_all_tasks(absent, tmp_path):
    path = tmp_path / "tasks.jsonl"
    run("tasks", "--to", path, "-g", "capture_conquer", "--size", 4, "--count", 2)
    out = run("solve-rate", absent, "--tasks", path, status=1)
    assert f"warning: {absent} forfeits 8 of its 8 tasks; the first by error: scripted:" in out


def test_solved_puzzles_of_a_model_are_counted(game, puzzles_file):
    puzzle = shipped_puzzles(game)[0]
    board = board_text(game, puzzle.position, game.to_move(puzzle.position))
    solution = game.readable_turn_text(puzzle.position, puzzle.solutions[0])

    def answer(handler, request):
        if board in request["messages"][1]["content"]:
            handler.reply(f"<turn>{solution}</turn>")
        else:
            play_legally(handler, request)

    with serving(answer) as server:
        out = run("solve-rate", server.spec, "--file", puzzles_file)
    assert re.search(r"all +3 ", out)
