"""Puzzles over HTTP: lists, judgments of turns, solutions, errors."""

import datetime
import json
from unittest import mock

import pytest

from cc_env.core.rules import ONGOING
from cc_env.games.factory import make_game
from cc_env.ladder import rungs
from cc_env.puzzles import Attempt, shipped_puzzles
from cc_env.puzzles.difficulty import daily_puzzle, puzzle_rating
from cc_env.registry.catalogue import GAMES
from cc_env.server import puzzle_api

NAME = "mini_checkers"
GAME = make_game(NAME)
PUZZLES = shipped_puzzles(GAME)
# A puzzle whose defender has a choice.
LONG = next(puzzle for puzzle in PUZZLES if puzzle.turns == 3 and "forced" not in puzzle.themes)


def post(client, path, status=200, **values):
    response = client.post(path, content=json.dumps(values).encode())
    assert response.status_code == status, response.text
    return response.json() if status == 200 else response.json()["error"]


def plain(turn):
    return [int(action) for action in turn]


def test_lists_have_the_rating_and_the_themes_of_every_puzzle(serving):
    lists = serving().get("/puzzles").json()["games"]
    assert list(lists) == list(GAMES)
    for name, entry in lists.items():
        game = make_game(name)
        puzzles, ladder = shipped_puzzles(game), rungs(game)
        assert entry["ratings"] == [puzzle_rating(puzzle, ladder) for puzzle in puzzles]
        assert {number for numbers in entry["themes"].values() for number in numbers} <= set(
            range(1, len(puzzles) + 1)
        )
        assert entry["first_rating"] == round(ladder[1].elo.value)
    assert "reach the far corner" in lists["capture_conquer"]["themes"]


def test_daily_puzzle_depends_on_the_date_alone(serving):
    client = serving()
    days = [datetime.date(2026, 11, 29) + datetime.timedelta(days=day) for day in range(2)]
    shown = []
    for day in days:
        with mock.patch.object(puzzle_api, "_today", return_value=day):
            daily = client.get("/puzzles/daily").json()
            assert client.get("/puzzles").json()["daily"] == {
                "game": daily["game"],
                "number": daily["number"],
            }
            shown.append((daily["date"], daily["game"], daily["number"]))
            puzzle = post(client, "/puzzle", game=daily["game"], number=daily["number"])
            assert puzzle == daily
    expected = [
        (day.isoformat(), game.name, puzzle.number)
        for day in days
        for game, puzzle in [daily_puzzle(day)]
    ]
    assert shown == expected
    assert shown[0][1] != shown[1][1]


def test_puzzle_has_its_board_task_and_rating(serving):
    puzzle = post(serving(), "/puzzle", game=NAME, number=LONG.number)
    assert puzzle["start"] == puzzle["state"]["position"] == GAME.to_text(LONG.position)
    assert puzzle["task"].endswith(" to play and win in 3 turns")
    assert puzzle["rating"] == puzzle_rating(LONG, rungs(GAME))
    assert puzzle["difficulty"] == f"{len(LONG.failed)} of {len(rungs(GAME))} opponents fail"
    assert puzzle["state"]["choices"]
    assert puzzle["setting"]["game"] == NAME


@pytest.mark.parametrize("puzzle", PUZZLES[::110], ids=lambda puzzle: str(puzzle.number))
def test_correct_turns_solve_a_puzzle(puzzle, serving):
    client, turns = serving(), []
    attempt = Attempt(GAME, puzzle)
    fields = {"game": NAME, "number": puzzle.number}
    while not attempt.is_solved:
        turn = attempt.solutions()[0]
        verdict = attempt.play(turn)
        judged = post(client, "/puzzle/turn", **fields, turns=turns, turn=plain(turn))
        assert (judged["is_correct"], judged["is_solved"]) == (True, verdict.is_solved)
        last = (judged["reply_states"] or judged["states"])[-1]
        assert last["position"] == GAME.to_text(attempt.position)
        assert bool(judged["reply_states"]) == (verdict.reply is not None)
        turns.append(plain(turn))
    assert len(turns) <= puzzle.turns


def test_wrong_turn_is_refuted(serving):
    wrong = next(turn for turn in GAME.turns(LONG.position) if turn not in LONG.solutions)
    fields = {"game": NAME, "number": LONG.number}
    judged = post(serving(), "/puzzle/turn", **fields, turns=[], turn=plain(wrong))
    assert (judged["is_finished"], judged["is_correct"], judged["is_solved"]) == (
        True,
        False,
        False,
    )
    defender = GAME.players[1 - GAME.to_move(LONG.position)].capitalize()
    assert judged["message"].startswith(f"{defender} answers ")
    assert len(judged["arrow"]) == 2
    assert judged["reply_states"][-1]["decisions"] == 2


def test_unfinished_turn_shows_the_choices_to_finish_it(serving):
    game = make_game("capture_conquer")
    puzzle = next(p for p in shipped_puzzles(game) if len(p.solutions[0]) > 1)
    fields = {"game": game.name, "number": puzzle.number, "turn": plain(puzzle.solutions[0][:1])}
    unfinished = post(serving(), "/puzzle/turn", **fields)
    assert not unfinished["is_finished"]
    (state,) = unfinished["states"]
    assert state["mid_turn"]
    assert puzzle.solutions[0][1] in [choice[0] for choice in state["choices"]]


def test_solution_leads_to_the_goal(serving):
    found = post(serving(), "/puzzle/solution", game=NAME, number=LONG.number)
    texts = [GAME.readable_turn_text(LONG.position, turn).strip() for turn in LONG.solutions]
    assert found["text"] in texts
    assert found["turns_left"] == 3
    assert found["piece"] == found["arrow"][0]
    final = GAME.from_text(found["states"][-1]["position"])
    assert GAME.outcome(final) == GAME.to_move(LONG.position) != ONGOING


def test_invalid_requests_are_rejected(serving):
    client = serving(max_request_bytes=2000)
    good = {"game": NAME, "number": LONG.number, "turns": []}
    wrong = plain(next(turn for turn in GAME.turns(LONG.position) if turn not in LONG.solutions))
    right = plain(LONG.solutions[0])
    for number in (0, len(PUZZLES) + 1, "1", None, 1.5, True, [1], 10**30):
        assert "number" in post(client, "/puzzle", 400, game=NAME, number=number)
    for name in ("os.system", "chess", 7, None, ["morris"]):
        assert "game" in post(client, "/puzzle", 400, game=name, number=1)
    for turns in ("[]", {}, [[]], [right] * 3, [[0.5]], [[True]], [["0"]], [None], 3):
        assert post(client, "/puzzle/turn", 400, **{**good, "turns": turns}, turn=right)
        assert post(client, "/puzzle/solution", 400, **{**good, "turns": turns})
    assert "is wrong" in post(client, "/puzzle/turn", 400, **{**good, "turns": [wrong]}, turn=right)
    for turn in ([], "0", [-1], [2**40], [10**6], [*right, *right], [0] * 101, None):
        assert post(client, "/puzzle/turn", 400, **good, turn=turn)
    assert "field" in post(client, "/puzzle", 400, game=NAME, number=1, options={"first": "white"})
    assert "2,000 bytes" in post(client, "/puzzle", 413, game="x" * 2000)
    assert post(client, "/puzzle/turn", **good, turn=right)["is_correct"]
