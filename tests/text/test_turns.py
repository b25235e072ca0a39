"""Legal turns as text, and the turns that replies in prose choose."""

from pathlib import Path

import pytest

from cc_env.errors import IllegalAction
from cc_env.games.factory import make_game
from cc_env.text.turns import find_turn, legal_turn_texts, tagged_text

REPLIES = Path(__file__).parent / "replies.txt"


def read_replies():
    """Yield each reply of the file with its game, its position and the turn that it chooses."""
    for line in REPLIES.read_text("utf-8").splitlines():
        if line.startswith(">"):
            name, text = line[2:].split(" ", 1)
            game = make_game(name)
            position = game.from_text(text)
        elif line and not line.startswith("#"):
            turn, _, reply = line.partition(" | ")
            yield game, position, turn, reply.replace("\\n", "\n")


def found_turn(game, position, reply):
    """Return the readable text of the turn that a reply chooses, - for none."""
    try:
        return game.readable_turn_text(position, find_turn(game, position, reply))
    except IllegalAction:
        return "-"


def test_replies_choose_their_turns_or_none():
    replies = list(read_replies())
    assert len(replies) >= 300
    for game, position, turn, reply in replies:
        found = found_turn(game, position, reply)
        assert found == turn or (turn == f"({turn[1:-1]})" and found in ("-", turn[1:-1])), reply
    assert sum(turn.startswith("(") for *_, turn, _ in replies) < len(replies) / 10


def test_replies_contain_every_notation():
    replies = list(read_replies())
    assert {game.name for game, *_ in replies} == {
        *("capture_conquer", "checkers", "mini_checkers", "morris", "cannon")
    }
    assert sum(tagged_text(reply) is None for *_, reply in replies) > 100


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("I resign", "the reply chooses no turn.*legal: "),
        ("<turn>a1-c4</turn>", "'a1-c4' is not legal; legal: a1-c3, b1-d1,"),
        ("I play a1-c3. I play b2-c3.", "the reply chooses 'a1-c3', 'b2-c3'; legal"),
        (f"<turn>{'a1-' * 99}</turn>", f"'{('a1-' * 99)[:40]}' is not legal"),
        ("<turn>\x1b[1mé</turn>", r"'\\x1b\[1m\\xe9' is not legal"),
    ],
)
def test_refusal_has_the_reason_and_whole_turns(game, reply, message):
    with pytest.raises(IllegalAction, match=message) as caught:
        find_turn(game, game.initial, reply)
    assert str(caught.value).isascii()
    assert str(caught.value).endswith("b2-b3, ...")


def test_refusal_after_the_end_lists_no_turns(game):
    over = game.from_text("6/6/6/6/5b/3brr b")
    with pytest.raises(IllegalAction, match="the reply chooses no turn"):
        find_turn(game, over, "I play on.")


def test_legal_turns_are_limited(game):
    texts = legal_turn_texts(game, game.initial)
    assert len(texts) == 16
    assert legal_turn_texts(game, game.initial, 3) == texts[:3] == ["a1-c3", "b1-d1", "b1-c2"]
    assert legal_turn_texts(game, game.from_text("6/6/6/6/5b/3brr b")) == []


def test_legal_turns_within_a_turn_are_its_continuations():
    checkers = make_game("checkers")
    middle = checkers.from_text("8/8/8/1b6/2r5/8/8/8 r x42")
    assert legal_turn_texts(checkers, middle) == ["x21"]
