"""Untrusted texts of positions and turns, and reference positions."""

import gzip
import json

import numpy as np
import pytest
from conftest import ORACLE
from fuzz.harness import call_or_reject
from fuzz.mutations import lines, texts
from hypothesis import given

from cc_env.core.rules import ONGOING
from cc_env.games.cannon import log
from cc_env.games.checkers import pdn
from cc_env.games.factory import make_game
from cc_env.rendering.picture import draw
from cc_env.text.turns import find_turn, legal_turn_texts
from cc_env.verification import reference_positions

GAMES = {
    "capture_conquer": ({}, {"size": 8}, {"size": 4, "corner": 3}),
    "checkers": ({}, {"crowning": "ends_move", "no_progress_limit": None}),
    "mini_checkers": ({}, {"first": "white"}),
    "morris": ({}, {"free_move": "never", "removals": "one", "flying": True, "count_hand": True}),
    "cannon": ({}, {"rows": 10, "columns": 10}),
}
ALL_GAMES = [make_game(name, **options) for name, several in GAMES.items() for options in several]
# Replies with two turns in prose.
REPLIES = "<turn>{}</turn>", "My move: {}\nNot {}.", "If {}, I play {}.", "- {}\n- {}"
# Files of reference positions.
FILES = {
    "capture_conquer": "capture_conquer",
    "checkers": "checkers8",
    "mini_checkers": "checkers6",
    "morris": "morris",
    "cannon": "cannon",
}


def positions_of_a_game(game, seed=3, max_positions=150):
    """Return the positions of a random game, those within turns included."""
    rng, course = np.random.default_rng(seed), [game.initial]
    while game.outcome(course[-1]) == ONGOING and len(course) < max_positions:
        course.append(game.apply(course[-1], int(rng.choice(game.legal_actions(course[-1])))))
    return course


def use_position(game, text):
    """Read a position and call the methods that environments, the page and searches call."""
    position = game.from_text(text)
    assert game.from_text(game.to_text(position)) == position
    draw(game, position)
    game.remark(position)
    game.observe(position)
    if game.outcome(position) != ONGOING:
        game.ending(position)
        game.score(position)
        return
    for action in map(int, game.legal_actions(position)[:3]):
        game.action_text(position, action)
        after = game.apply(position, action)
        game.key(after)
        if not game.mid_turn(after):
            game.track(position, (action,))


@pytest.mark.parametrize("game", ALL_GAMES, ids=str)
def test_random_position_texts_raise_only_cc_env_errors(game):
    good = [game.to_text(position) for position in positions_of_a_game(game)]
    other = [other_game.to_text(other_game.initial) for other_game in ALL_GAMES]

    @given(texts(good + other))
    def fuzz(text):
        call_or_reject(use_position, game, text)

    fuzz()


@pytest.mark.parametrize("game", ALL_GAMES, ids=str)
def test_random_turn_texts_raise_only_cc_env_errors(game):
    positions = [before for before in positions_of_a_game(game)[:-1] if not game.mid_turn(before)]
    good = [game.turn_text(before, next(game.turns(before))) for before in positions]
    position = positions[len(positions) // 2]
    good += [game.turn_text(position, turn) for turn in game.turns(position)]

    @given(texts(good, max_length=5000))
    def fuzz(text):
        turn = call_or_reject(game.parse_turn, position, text)
        if turn is not None:
            game.play_turn(position, turn)

    fuzz()


def test_random_cannon_commands_raise_only_cc_env_errors():
    game = make_game("cannon")

    @given(texts(["S 2 5 M 1 4", "S 0 5 S 2 5 M 1 4", "S 0 6 B 1 5"], max_length=5000))
    def fuzz(text):
        call_or_reject(log.parse_command, game, game.initial, text)

    fuzz()


def test_random_pdn_raises_only_cc_env_errors():
    game = make_game("checkers", **pdn.ENGLISH)
    position = pdn.parse_position(game, "B:W14,15,22,23,K32:B1,10")

    @given(texts(["B:W21,K22:B1,2", "W:WK30-K32:BK1-2.", "B:W 21-32:B 1-12", "10x17x26", "10-14"]))
    def fuzz(text):
        read = call_or_reject(pdn.parse_position, game, text)
        if read is not None:
            assert pdn.parse_position(game, pdn.position_text(read)) == read
        call_or_reject(pdn.parse_turn, game, position, text)

    fuzz()


@pytest.mark.parametrize("game", FILES)
def test_random_reference_positions_raise_only_cc_env_errors(game, tmp_path):
    path, short = tmp_path / "line.jsonl", {}
    with gzip.open(ORACLE / f"{FILES[game]}.jsonl.gz", "rt") as file:
        for line in file:
            content = json.loads(line)
            kind = (
                content.get("kind"),
                "end" in content,
                content.get("pending"),
                content.get("result"),
            )
            if content.get("kind") != "perft" and len(line) < len(short.get(kind, line + " ")):
                short[kind] = line

    @given(lines(list(short.values())))
    def fuzz(line):
        path.write_text(line, "utf-8", "surrogatepass")
        call_or_reject(lambda: list(reference_positions.compare(path, game)))

    fuzz()


@pytest.mark.parametrize("game", ALL_GAMES, ids=str)
def test_random_replies_raise_only_cc_env_errors(game):
    positions = positions_of_a_game(game)
    turns = [text for position in positions for text in legal_turn_texts(game, position, 1)]
    good = [*turns, *(form.format(*turns[:2]) for form in REPLIES), 999 * f"{turns[0]}\n"]

    @given(texts(good))
    def fuzz(text):
        for position in positions[:: len(positions) // 3]:
            call_or_reject(find_turn, game, position, text)

    fuzz()
