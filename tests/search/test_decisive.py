"""Wins within the turn that is being played."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest

from cc_env.core import rules
from cc_env.core.rules import ONGOING
from cc_env.games.factory import make_game
from cc_env.jit.compiler import jit
from cc_env.search import decisive
from cc_env.search.decisive import make_buffer
from cc_env.search.mcts import MCTS, PLAYOUTS
from cc_env.search.puct import PUCT

# Games with wins of several decisions.
SEVERAL = "morris", "capture_conquer", "checkers"
ALL = *SEVERAL, "mini_checkers", "cannon"
# Wins of several decisions, which are rare: among 100,000 positions of random games and of five
# random pieces.
CHECKERS = (
    "b1b5/1r6/6b1/1r6/6b1/8/2B3B1/8 b",
    "6R1/1R6/6b1/8/6b1/5r1r/2r3r1/5r2 r",
    "4R3/5b2/2r5/3b4/2r5/1r1r1r2/r7/8 r",
    "6R1/5r2/8/1b6/2r5/1b1R4/2r1r1r1/1r5r r",
    "8/7r/4b1r1/8/2r3b1/3r1r1r/8/7r r",
    "8/1b3r2/6r1/1b6/r1r1r3/8/8/7r r",
    "8/3b4/4r3/8/6R1/5B2/6r1/8 b",
    "8/8/6B1/5r2/6b1/5R2/4r3/8 r 1",
    "8/8/r3B3/8/4b3/3R1r2/8/8 r",
    "8/7r/2R5/3b4/8/5B2/4r3/8 r 1",
    "8/5R2/6b1/8/4B3/3r4/r7/8 r 1",
    "8/1R6/2b5/8/2B3r1/3r4/8/8 r 1",
)
MANY = pytest.param(60, marks=pytest.mark.slow)


def winning_turns(game, position):
    """Return the turns that win, found without a search."""
    mover = game.to_move(position)
    turns = list(game.turns(position))
    return [turn for turn in turns if game.outcome(game.play_turn(position, turn)) == mover]


def walk(game, seed):
    """Yield the unfinished positions of random games, those within a turn included."""
    rng = np.random.default_rng(seed)
    while True:
        position = game.initial
        while game.outcome(position) == ONGOING:
            yield position
            position = game.apply(position, int(rng.choice(game.legal_actions(position))))


def choices_that_win(game, count, decisions):
    """Return positions with a choice in which the shortest win takes at least `decisions`."""
    solved, positions = [], walk(game, seed=0)
    if game.name == "checkers" and decisions > 1:
        positions = map(game.from_text, CHECKERS)
    for position in positions:
        if len(solved) == count:
            break
        turns = winning_turns(game, position) if len(game.legal_actions(position)) > 1 else []
        if turns and min(map(len, turns)) >= decisions:
            solved.append(position)
    assert solved
    return solved


def assert_wins_the_turn(game, position, search):
    """Assert that a search values a position as won, and that its choices win the turn."""
    mover, text = game.to_move(position), game.to_text(position)
    while game.outcome(position) == ONGOING:
        result = search(position)
        # None: there is a single legal action.
        assert result.value in (1, None), text
        position = game.apply(position, result.action)
        assert game.to_move(position) == mover or game.outcome(position) == mover, text
    assert game.outcome(position) == mover, text


def uniform(planes):
    """Return equal logits and values of 0."""
    return np.zeros((len(planes), 2500), np.float32), np.zeros(len(planes), np.float32)


def random_network(planes):
    """Return the logits and values of a network of one layer with random weights."""
    rng, inputs = np.random.default_rng(5), planes.reshape(len(planes), -1).astype(np.float32)
    logits = inputs @ rng.normal(size=(inputs.shape[1], 2500)).astype(np.float32)
    return logits, np.tanh(inputs @ rng.normal(size=inputs.shape[1]).astype(np.float32))


@pytest.mark.parametrize("seed", range(10))
def test_winning_mill_and_removal_are_found_with_every_seed(seed):
    game = make_game("morris")
    position = game.from_text(".wbwww..wb........w.wb.. w 00")
    search = MCTS(game)
    result = search.search(position, np.random.default_rng(seed), simulations=400)
    assert game.action_text(position, result.action) == "IH"
    assert game.outcome(game.play_turn(position, result.line)) == game.to_move(position)
    assert result.value == 1


@pytest.mark.parametrize("count", [4, MANY])
@pytest.mark.parametrize("playout", PLAYOUTS)
@pytest.mark.parametrize("name", SEVERAL)
def test_mcts_finds_every_win_of_several_decisions(name, playout, count):
    game = make_game(name)
    tree, rng = MCTS(game, playout=playout), np.random.default_rng(1)
    for position in choices_that_win(game, count, decisions=2):
        assert_wins_the_turn(
            game, position, lambda position: tree.search(position, rng, simulations=400)
        )


@pytest.mark.parametrize("count", [4, MANY])
@pytest.mark.parametrize("evaluate", [uniform, random_network])
@pytest.mark.parametrize("name", SEVERAL)
def test_puct_finds_every_win_of_several_decisions(name, evaluate, count):
    game = make_game(name)
    tree = PUCT(game, evaluate, capacity=2**18)
    for position in choices_that_win(game, count, decisions=2):
        assert_wins_the_turn(game, position, lambda position: tree.search(position, simulations=1))


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_wins_of_one_decision_are_found_in_all_games(name):
    game = make_game(name)
    mcts, puct = MCTS(game), PUCT(game, random_network, capacity=2**18)
    rng = np.random.default_rng(2)
    for position in choices_that_win(game, 20, decisions=1):
        assert_wins_the_turn(
            game, position, lambda position: mcts.search(position, rng, simulations=400)
        )
        assert_wins_the_turn(game, position, lambda position: puct.search(position, simulations=1))


@pytest.mark.parametrize("count", [100, pytest.param(4000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ALL)
def test_shortest_win_equals_enumeration_of_turns(name, count):
    game = make_game(name)
    legal, wins = make_buffer(game.num_actions), 0
    winning = choices_that_win(game, 3, decisions=2) if name in SEVERAL else []
    for position in [*winning, *itertools.islice(walk(game, seed=4), count)]:
        number = np.int64(rules.legal_actions(position, legal[0]))
        action, decisions = decisive.winning_action(position, legal, number)
        turns = winning_turns(game, position)
        fewest = min(map(len, turns), default=decisive.NO_WIN)
        assert decisions == fewest
        firsts = {turn[0] for turn in turns if len(turn) == fewest}
        assert action in (firsts or {-1})
        wins += bool(turns)
    assert wins > 2 or name not in SEVERAL


class Countdown(NamedTuple):
    """A turn of `remaining` decisions, 0 or 1, that wins if all of them are 1."""

    remaining: np.uint64
    ones: np.uint64
    player: np.uint64


@jit
def _legal_actions(position, out):
    out[0], out[1] = 0, 1
    return 2


@jit
def _apply(position, action):
    ones = position.ones & np.uint64(action)
    return Countdown(position.remaining - np.uint64(1), ones, position.player)


@jit
def _outcome(position):
    return rules.FIRST_WINS if not position.remaining and position.ones else rules.ONGOING


@jit
def _mid_turn(position):
    return bool(position.remaining)


@jit
def _observe(position, player, planes):
    planes[:] = 0


rules.register(
    Countdown,
    legal_actions=_legal_actions,
    apply=_apply,
    outcome=_outcome,
    observe=_observe,
    mid_turn=_mid_turn,
)


@pytest.mark.parametrize(
    ("decisions", "expected"),
    [
        (1, (1, 1)),
        (10, (1, 10)),
        # The turn has too many positions.
        (30, (-1, decisive.NO_WIN)),
        (decisive.MAX_DECISIONS + 20, (-1, decisive.NO_WIN)),
    ],
)
def test_work_for_a_long_turn_is_bounded(decisions, expected):
    start = Countdown(np.uint64(decisions), np.uint64(1), np.uint64(0))
    legal = make_buffer(2)
    count = np.int64(rules.legal_actions(start, legal[0]))
    assert decisive.winning_action(start, legal, count) == expected
