"""The commands `rate` and `solve-rate` with a language model on a scripted server."""

import re

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


def test_model_whose_server_is_absent_loses_all_games():
    with serving(say("")) as server:
        spec = server.spec
    out = run("rate", spec, "--max-games", 8)
    assert re.search(r"8 +0 %", out)


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
