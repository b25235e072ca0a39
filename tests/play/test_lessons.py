"""The lessons agree with the rules."""

import json

import pytest
from conftest import command_line

from cc_env.__main__ import main
from cc_env.core.rules import DRAW
from cc_env.errors import IllegalAction, UnknownOption
from cc_env.games.factory import game_option_defaults
from cc_env.match.match import Result
from cc_env.play import lessons
from cc_env.play.descriptions import describe_result
from cc_env.play.lessons import load_guide
from cc_env.registry.catalogue import GAMES

ALL = [
    pytest.param(name, lesson, id=f"{name}: {lesson.title}")
    for name in GAMES
    for lesson in load_guide(name).lessons
]


@pytest.mark.parametrize(("name", "lesson"), ALL)
def test_lesson_turns_match_their_claims(name, lesson):
    session = lesson.start_session(name)
    game, start = session.game, session.position
    assert not lesson.position or game.to_text(start) == lesson.position
    captures = []
    for choice in lessons.play_turns(session, lesson.turns):
        captures += [game.cell_text(cell, "input") for cell in choice.captures]
    assert captures == list(lesson.captures)
    assert session.match.turns == list(lesson.turns)
    outcome, reason = session.result or (DRAW, "")
    winner = "" if outcome == DRAW else game.players[outcome]
    assert (reason, winner) == (lesson.ends, lesson.winner)
    if lesson.legal:
        legal = {game.turn_text(start, turn) for turn in game.turns(start)}
        assert legal == set(lesson.legal)
    for text in lesson.illegal:
        with pytest.raises(IllegalAction):
            game.parse_turn(start, text)


@pytest.mark.parametrize("name", GAMES)
def test_guide_has_all_states_and_next_actions(name):
    data = json.loads(lessons.guide_json(name))
    assert len(data["lessons"]) == len(load_guide(name).lessons)
    for lesson in data["lessons"]:
        assert data["settings"][lesson["setting"]]["game"] == name
        assert len(lesson["states"]) == len(lesson["steps"]) + 1
        for state, step in zip(lesson["states"], lesson["steps"], strict=False):
            assert step["action"] in [choice[0] for choice in state["choices"]]
            assert step["instruction"]


def test_lesson_instructions_name_the_cells():
    def instructions(name, place):
        return [
            step["instruction"]
            for step in json.loads(lessons.guide_json(name))["lessons"][place]["steps"]
        ]

    assert instructions("checkers", 2) == [
        "7 goes to 14",
        "14 goes to 21",
    ]
    assert instructions("capture_conquer", 5) == [
        "b2 goes to d4",
        "take b3",
    ]
    assert instructions("mini_checkers", 4)[0] == "pass"
    assert instructions("morris", 5)[0] == "O goes to C"
    assert instructions("morris", 1) == ["C", "take H"]
    assert instructions("cannon", 4) == ["a4 hits f4"]


GOLDEN = """\
5. Passing

A player without a legal move passes, and the other moves again. Passing is not
a choice: a player who can move must move.

    18w     17.     16b
15b     14.     13.
    12.     11.     10.
 9.      8.      7.
     6.      5.      4.
 3.      2w      1w
black: pass
white: 18-14
    18+     17.     16b
15b     14w     13.
    12.     11.     10.
 9.      8.      7.
     6.      5.      4.
 3.      2w      1w

"""


@pytest.mark.parametrize(("name", "lesson"), [case for case in ALL if case.values[1].ends])
def test_ending_is_described_in_a_sentence(name, lesson):
    session = lesson.start_session(name)
    text = describe_result(session.game, Result(0, lesson.ends))
    assert text.partition(": ")[2] not in ("", lesson.ends.replace("_", " "))
    assert not set("_{}") & set(text)


def test_terminal_prints_one_lesson():
    assert command_line(main, "learn", "mini_checkers", "5") == GOLDEN


def test_terminal_prints_all_lessons():
    text = command_line(main, "learn", "morris")
    assert text.startswith("Two players, white and black, have nine beads each")
    titles = [lesson.title for lesson in load_guide("morris").lessons]
    assert all(f"{number}. {title}\n" in text for number, title in enumerate(titles, 1))
    assert "white wins: black has fewer than three beads" in text


def test_unknown_games_and_lessons_are_rejected():
    with pytest.raises(UnknownOption, match="expected: capture_conquer"):
        load_guide("ludo")
    assert "expected: 1 to" in command_line(main, "learn", "checkers", "99", status=2)


@pytest.mark.parametrize("name", GAMES)
def test_every_option_is_explained_in_a_sentence(name):
    options = load_guide(name).options
    assert options.keys() == game_option_defaults(name).keys()
    assert all(text.endswith(".") for text in options.values())


def test_options_of_a_lesson_are_words():
    guide = json.loads(lessons.guide_json("cannon"))
    texts = [lesson["options"] for lesson in guide["lessons"] if lesson["options"]]
    assert texts == [
        "rows 10, columns 10",
        "retreat neighbours 8, retreat clear path, bomb clear path",
    ]


@pytest.mark.parametrize("name", GAMES)
def test_lessons_take_minutes(name):
    assert 2 <= load_guide(name).minutes <= 4
