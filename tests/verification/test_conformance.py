"""Conformance checks report a fault of every property."""

import re

import numpy as np
import pytest

from cc_env.core import rules
from cc_env.core.bitboard import ONE
from cc_env.core.game import Track
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
    """Return a function that replaces a rule; the replacement also receives the original."""

    def replace_rule(name, function):
        rule, position_class = getattr(rules, name), type(game.initial)
        original = rule.function_for([position_class] * 4)
        monkeypatch.setattr(rule, "_functions", dict(rule._functions))
        rule.add(position_class, function=lambda *arguments: function(original, *arguments))

    return replace_rule


def faults(game):
    return [
        f"{fault.position} {fault.action}: {fault.message}"
        for fault in conformance.check(game, games=2)
    ]


@pytest.mark.parametrize("name", [NAME, "mini_checkers"])
def test_conforming_game_has_no_faults(name):
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
    # A corner that the mirror does not move.
    planes[2, 0, 0] = 1


@pytest.mark.parametrize(
    ("rule", "function", "fault"),
    [
        ("legal_actions", reversed_list, "3/3/3 x : legal actions [8, 7, 6, 5, 4, 3, 2, 1, 0]; e"),
        ("legal_actions", strange_list, "legal actions [9]; expected: ids from 0 to 8"),
        ("legal_actions", lambda *_: 0, "the outcome is ONGOING, but no action is legal"),
        ("outcome", lambda *_: 7, "outcome 7; expected: the winner (0 or 1), DRAW"),
        ("apply", overwrite, "own and enemy both have bits [0]; expected: at most one piece"),
        ("apply", off_the_board, "pieces on bits [20]; expected: bits of cells on the board"),
        ("to_move", lambda *_: 2, "player 2 is to move; expected: 0 or 1"),
        (
            "mid_turn",
            lambda *_: True,
            "the turn is unfinished (mid_turn); expected: the same",
        ),
        ("observe", wide, "observe writes outside of planes, int8[3, 3, 3], for player 0"),
        ("observe", twos, "plane 0 has the values [0, 2]; expected: 0 and 1"),
        ("observe", unwritten, "observe does not write all cells of plane 1"),
        ("observe", own_seat, "mirror: the observation of the image is not the image"),
        ("key", lambda *_: 5, "the key equals that of '3/3/3 x', which has other legal actions"),
    ],
)
def test_broken_rule_is_reported(game, with_rule, rule, function, fault):
    with_rule(rule, function)
    assert any(fault in text for text in faults(game))


def test_observe_writes_into_arrays_with_margins(game, with_rule):
    """A write out of bounds would otherwise corrupt the memory of the process."""
    arrays = []
    with_rule("observe", lambda true, *rest: arrays.append(rest[2].base) or true(*rest))
    # A fault, so no environment is created.
    with_rule("apply", overwrite)
    assert faults(game)
    assert min(len(array) for array in arrays) == 27 + 2 * conformance._MARGIN


def test_fault_contains_the_last_action(game, with_rule):
    with_rule("apply", overwrite)
    all_faults = conformance.check(game, games=2)
    (fault,) = [fault for fault in all_faults if "both have bits" in fault.message]
    assert fault.action == "00"


def test_endless_game_is_reported(game, with_rule, monkeypatch):
    monkeypatch.setattr(conformance, "MAX_DECISIONS", 30)
    with_rule("outcome", lambda *_: -1)
    with_rule("legal_actions", lambda true, position, out: out.__setitem__(0, 4) or 1)
    with_rule("apply", lambda true, position, action: (*position[:2], position.player ^ ONE))
    assert any("random game 1 exceeds 30 decisions" in fault for fault in faults(game))


def wrong_mirror(game):
    (mirror,) = game.symmetries
    return game.replace(symmetries=(mirror._replace(actions=np.arange(9, dtype=np.int32)),))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (wrong_mirror, "mirror: 00 leads elsewhere in the image; expected: '"),
        (
            lambda game: game.replace(to_text=lambda position: "3/3/3 x"),
            "'3/3/3 x' is read as '3/3/3 x'; expected: the same position",
        ),
        (
            lambda game: game.replace(readable_action_text=lambda position, action: "b"),
            "actions (0,) and (1,) are both written 'b'; expected: two texts",
        ),
        (
            lambda game: game.replace(action_text=lambda position, action: "a"),
            "actions (0,) and (1,) are both written 'a'; expected: two texts",
        ),
        (
            lambda game: game.replace(track=lambda position, turn: Track(((9, 9),), ())),
            "the track of 00 leads to [(9, 9)]; expected: cells of the board",
        ),
        (
            lambda game: game.replace(track_ends=lambda position, action: Track((), ())),
            "track_ends of 00 is ((), ()); expected: the ends of its track",
        ),
        (
            lambda game: game.replace(action_cells=np.zeros(9, np.int64), symmetries=()),
            "two legal actions have the action_cells [0, 0]; expected: at most one",
        ),
    ],
)
def test_broken_game_attribute_is_reported(game, change, fault):
    assert any(fault in text for text in faults(change(game)))


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
    ("function", "fault"),
    [
        (marked_by_a_float, "cannot be compiled: No implementation of function Function(<built-in"),
        (marked_with_an_integer, "apply returns enemy as int64; expected: all fields uint64"),
        (player_as_an_integer, "expected: all fields uint64"),
    ],
)
def test_word_mixed_with_an_integer_is_reported(game, monkeypatch, function, fault):
    monkeypatch.setattr(rules.apply, "_functions", dict(rules.apply._functions))
    rules.apply.add(type(game.initial), function=function)
    assert [fault in text for text in faults(game)] == [True]


def test_compile_error_is_one_line(game):
    with pytest.raises(BadGame) as caught:
        marked_by_a_float(game.initial, 1)
    message = str(caught.value)
    assert message.startswith(
        "the game elsewhere.tictactoe cannot be compiled: No implementation of"
    )
    assert re.search(
        r'uint64, float64\); File ".*test_conformance.py", line \d+; `cc_env check ', message
    )
    assert "\n" not in message


def test_wrong_action_mask_is_reported(game, monkeypatch):
    monkeypatch.setattr(
        conformance, "_list_actions", lambda game, position: game.legal_actions(position)[1:]
    )
    (fault,) = conformance._check_environment(game, 0)
    assert fault.message.startswith("an environment allows [0, 1, 2")
