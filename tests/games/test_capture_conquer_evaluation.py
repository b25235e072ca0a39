"""The evaluations of C&C."""

import numpy as np
import pytest

from cc_env.core import rules
from cc_env.games.capture_conquer.evaluation import (
    ANY_PREY,
    CONNECTED,
    DANGER,
    FEW,
    HOPS,
    MORE_DANGER,
    NUM_WEIGHTS,
    PREY,
    RACE,
    RACE_OTHER,
    STEPS,
    TEMPO,
    Published,
    Standard,
)
from cc_env.games.factory import make_game


def published(text):
    """Return the published evaluation of a 6×6 position, by an independent calculation."""
    board, player = text.split()
    rows = [row.replace("6", "......") for row in board.split("/")]
    value = 0
    for r, row in enumerate(rows):
        for c, piece in enumerate(row):
            down, right = (r, c) if piece == "b" else (5 - r, 5 - c)
            if piece != ".":
                size = 6 if piece == player else 5
                points = (size - (5 - down)) ** 2 + (size - (5 - right)) ** 2 + 10
                value += points if piece == player else -points
    return value


@pytest.mark.parametrize("player", ["b", "r"])
@pytest.mark.parametrize(
    "board",
    [
        "bbb.../bb..../b...../.....r/....rr/...rrr",
        "6/.bb.../.brrr./.r.r../6/6",
        "6/6/..b.../6/6/r...r.",
    ],
)
def test_published_evaluation_equals_its_formula(game, board, player):
    position = game.from_text(f"{board} {player}")
    value = published(f"{board} {player}")
    mover = "br".index(player)
    assert rules.evaluate(position, mover, Published()) == value


def value(game, text, weight_index, player=0):
    """Return the number by which a weight is multiplied in a position."""
    weights = np.zeros(NUM_WEIGHTS, np.int64)
    weights[weight_index] = 1
    return rules.evaluate(game.from_text(text), player, Standard(weights))


@pytest.mark.parametrize(
    ("text", "weight_index", "count"),
    [
        ("b.b.../6/6/6/6/...rr. b", 0, 1),
        ("b.b.../6/6/6/6/....rr b", 2, 1),
        ("..b.../6/6/6/6/....rr r", 0, 1),
        ("bb..../6/6/6/6/.r.r.r b", FEW, 1),
        ("bbb.../6/6/6/6/....rr b", FEW, -1),
        ("bb.b../6/6/6/6/r.r..r b", CONNECTED, 2),
        ("b...../.b..../6/6/r..r../....r. b", CONNECTED, 2 - 2),
        ("b...../6/6/6/6/.....r b", STEPS, 3 - 3),
        ("b....b/6/6/6/6/.....r b", STEPS, 4 - 3),
        ("bb..../6/6/6/6/.....r b", HOPS, 1),
        ("b...../.r..../6/6/6/...r.. b", PREY, 1),
        ("b...../.r..../6/6/6/...r.. b", ANY_PREY, 1),
        ("b...../.r..../6/6/6/...r.. r", PREY, 0),
        ("6/.b..../..r.../6/6/...r.. b", DANGER, -1),
        ("6/.b..../..r.../6/6/...r.. b", MORE_DANGER, 0),
        ("6/6/6/6/6/r....b b", TEMPO, 1),
        ("6/6/6/...b../6/rr.... b", RACE + 2, 1),
        ("6/6/6/...b../6/rr...r b", RACE + 2, 0),
        ("6/6/6/...b../6/rr.... b", RACE_OTHER + 5, -1),
        ("6/6/6/...b../r...../.r.... r", RACE + 4, 1),
    ],
)
def test_each_weight_counts_its_feature_for_either_side(game, text, weight_index, count):
    player = "br".index(text[-1])
    assert value(game, text, weight_index, player) == count
    assert value(game, text, weight_index, 1 - player) == -count


@pytest.mark.parametrize("size", range(4, 9))
@pytest.mark.parametrize("name", ["standard", "published"])
def test_mirror_images_have_equal_values(size, name):
    game = make_game("capture_conquer", size=size)
    evaluation, rng = game.evaluations[name], np.random.default_rng(size)
    (mirror,) = game.symmetries
    position = game.initial
    for _ in range(200):
        for player in (0, 1):
            value = rules.evaluate(position, player, evaluation)
            assert value == rules.evaluate(mirror.position(position), player, evaluation)
        legal = game.legal_actions(position)
        position = game.apply(position, int(rng.choice(legal))) if len(legal) else game.initial
