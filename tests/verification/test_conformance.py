"""An author is told what a game does not keep: a broken one for each property is caught."""

import re
from dataclasses import replace

import numpy as np
import pytest

from cc_env.core import rules
from cc_env.core.bitboard import ONE
from cc_env.core.game import Look, Notation, Track
from cc_env.errors import BadGame
from cc_env.games.factory import make_game
from cc_env.jit.compiler import jit
from cc_env.verification import conformance

NAME = "elsewhere.tictactoe"


@pytest.fixture
def game():
    return make_game(NAME)


@pytest.fixture
def with_rule(game, monkeypatch):
    """Return a function that replaces a rule by one that is given the true one, too."""

    def break_it(name, function):
        chosen = getattr(rules, name)._chosen
        true = chosen[(type(game.initial),)]
        broken = lambda *arguments: function(true, *arguments)  # noqa: E731
        monkeypatch.setitem(chosen, (type(game.initial),), broken)

    return break_it


def faults(game):
    return [
        f"{fault.position} {fault.action}: {fault.wrong}"
        for fault in conformance.check(game, games=2)
    ]


@pytest.mark.parametrize("name", [NAME, "mini_checkers"])
def test_a_game_that_keeps_its_promises_has_no_fault(name):
    assert faults(make_game(name)) == []


def reversed_list(true, position, out):
    count = true(position, out)
    out[:count] = out[:count][::-1].copy()
    return count


def strange_list(true, position, out):
    out[0] = 9
    return 1


def overwrite(true, position, action):
    own, enemy, player = true(position, action)
    return own | enemy & ONE, enemy, player


def off_the_board(true, position, action):
    own, enemy, player = true(position, action)
    return own, enemy | ONE << np.uint64(20), player


def wide(true, position, player, planes):
    true(position, player, planes)
    np.lib.stride_tricks.as_strided(planes, (1, 1, 40), planes.strides)[0, 0, 30] = 1


def twos(true, position, player, planes):
    true(position, player, planes)
    planes[0] *= 2


def unwritten(true, position, player, planes):
    before = planes[1].copy()
    true(position, player, planes)
    planes[1] = before


def own_seat(true, position, player, planes):
    true(position, player, planes)
    planes[2] = 0
    planes[2, 0, 0] = 1  # sees a corner that no mirror moves


@pytest.mark.parametrize(
    ("rule", "function", "says"),
    [
        ("legal_actions", reversed_list, "3/3/3 x : legal actions [8, 7, 6, 5, 4, 3, 2, 1, 0]; w"),
        ("legal_actions", strange_list, "legal actions [9]; wanted: ids from 0 to 8"),
        ("legal_actions", lambda *_: 0, "the outcome is ONGOING, but no action is legal"),
        ("outcome", lambda *_: 7, "outcome 7; wanted: the player who has won (0 or 1), DRAW"),
        ("apply", overwrite, "own and enemy both have bits [0]; wanted: a cell has one piece"),
        ("apply", off_the_board, "pieces on bits [20]; wanted: bits of cells on the board"),
        ("to_move", lambda *_: 2, "player 2 is to move; wanted: 0 or 1"),
        ("mid_turn", lambda *_: True, "its turn goes on (mid_turn); wanted: the same player"),
        ("observe", wide, "observe writes outside of planes, int8[3, 3, 3], for player 0"),
        ("observe", twos, "plane 0 has the values [0, 2]; wanted: 0 and 1"),
        ("observe", unwritten, "observe leaves cells of plane 1 as they were"),
        ("observe", own_seat, "mirror: the image is seen in another way"),
        ("key", lambda *_: 5, "the key is that of '3/3/3 x' too, where other actions are legal"),
    ],
)
def test_a_rule_that_breaks_a_promise_is_told(game, with_rule, rule, function, says):
    with_rule(rule, function)
    assert any(says in fault for fault in faults(game))


def test_observe_is_never_called_without_room_around_its_planes(game, with_rule):
    """What a wrong one writes there would otherwise break the process, not the game."""
    rooms = []
    with_rule("observe", lambda true, *rest: rooms.append(rest[2].base) or true(*rest))
    with_rule("apply", overwrite)  # a fault, so no environment is made
    assert faults(game)
    assert min(len(room) for room in rooms) == 27 + 2 * conformance._ROOM


def test_a_fault_says_where_and_after_which_action(game, with_rule):
    with_rule("apply", overwrite)
    (fault,) = [told for told in conformance.check(game, games=2) if "both have bits" in told.wrong]
    assert fault.action == "00"


def test_a_game_without_an_end_is_told(game, with_rule, monkeypatch):
    monkeypatch.setattr(conformance, "LONGEST", 30)
    with_rule("outcome", lambda *_: -1)
    with_rule("legal_actions", lambda true, position, out: out.__setitem__(0, 4) or 1)
    with_rule("apply", lambda true, position, action: (*position[:2], position.player ^ ONE))
    assert any("random game 1 goes on after 30 decisions" in fault for fault in faults(game))


def wrong_mirror(game):
    (mirror,) = game.symmetries
    return replace(game, symmetries=(mirror._replace(actions=np.arange(9, dtype=np.int32)),))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (wrong_mirror, "mirror: 00 leads elsewhere in the image; wanted: '"),
        (
            lambda game: replace(
                game, notation=Notation(to_text=lambda p: "3/3/3 x", ending=lambda p: "won")
            ),
            "'3/3/3 x' is read as '3/3/3 x'; wanted: the same position",
        ),
        (
            lambda game: replace(game, notation=Notation(action_text=lambda p, a: "a")),
            "actions (0,) and (1,) are both written 'a'; wanted: two texts",
        ),
        (
            lambda game: replace(game, look=Look(track=lambda p, turn: Track(((9, 9),), ()))),
            "the track of 00 leads to [(9, 9)]; wanted: cells of the board",
        ),
        (
            lambda game: replace(game, action_cells=np.zeros(9, np.int64), symmetries=()),
            "two legal actions have the action_cells [0, 0]; wanted: one at most",
        ),
    ],
)
def test_a_fact_that_breaks_a_promise_is_told(game, change, says):
    assert any(says in fault for fault in faults(change(game)))


@jit
def marked_with_an_integer(position, action):
    return type(position)(position.enemy, position.own | 1 << action, position.player ^ ONE)


@jit
def marked_by_a_float(position, action):
    return type(position)(position.enemy, ONE << action * 0.5, position.player ^ ONE)


@jit
def player_as_an_integer(position, action):
    return position.enemy, position.own, 1 - np.int64(position.player)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (marked_by_a_float, "cannot be compiled: No implementation of function Function(<built-in"),
        (marked_with_an_integer, "apply returns enemy as int64; wanted: all fields uint64"),
        (player_as_an_integer, "wanted: all fields uint64"),
    ],
)
def test_words_mixed_with_integers_are_told(game, monkeypatch, function, says):
    monkeypatch.setitem(rules.apply._chosen, (type(game.initial),), function)
    assert [says in fault for fault in faults(game)] == [True]


def test_a_game_that_cannot_be_compiled_is_told_in_one_line(game):
    with pytest.raises(BadGame) as told:
        marked_by_a_float(game.initial, 1)
    said = str(told.value)
    assert said.startswith("the game elsewhere.tictactoe cannot be compiled: No implementation of")
    assert re.search(
        r'uint64, float64\); File ".*test_conformance.py", line \d+; cc_env check ', said
    )
    assert "\n" not in said


def test_a_mask_that_is_not_the_list_is_told(game, monkeypatch):
    monkeypatch.setattr(
        conformance, "_listed", lambda game, position: game.legal_actions(position)[1:]
    )
    (fault,) = conformance._environment(game, 0)
    assert fault.wrong.startswith("an environment allows [0, 1, 2")
