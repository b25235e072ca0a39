"""Monte-Carlo tree search."""

import numpy as np
import pytest

from cc_env.core.rules import SECOND_WINS
from cc_env.errors import BadOption, IllegalAction, UnknownOption
from cc_env.games.factory import make_game
from cc_env.search.mcts import MCTS, PLAYOUTS


def search(game, position, seed=0, playout="random", **limit):
    searcher = MCTS(game, playout=playout)
    return searcher.search(position, np.random.default_rng(seed), **limit)


@pytest.mark.parametrize("playout", PLAYOUTS)
def test_immediate_win_has_value_1(game, playout):
    for text in ("5b/6/6/6/4b1/rr4 b", "1bb3/r5/6/6/6/4r1 r", "6/6/2b3/3r2/6/b4r b"):
        position = game.from_text(text)
        result = search(game, position, playout=playout, simulations=1)
        assert game.outcome(game.play_turn(position, result.line)) == game.to_move(position)
        assert result.value == 1


@pytest.mark.parametrize("playout", PLAYOUTS)
@pytest.mark.parametrize("turns", [2, 3])
def test_mcts_finds_a_won_race(game, playout, turns):
    rows = [["."] * 6 for _ in range(6)]
    start = 5 - turns
    for row, column, piece in ((start, start, "b"), (0, 5, "b"), (5, 0, "r"), (4, 0, "r")):
        rows[row][column] = piece
    position = game.from_text("/".join(map("".join, rows)) + " b")
    result = search(game, position, playout=playout, simulations=3000)
    assert game.turn_text(position, result.line[:1]) == f"{start},{start}-{start + 1},{start + 1}"
    assert result.value > 0.8


def test_mcts_prevents_an_immediate_loss(game):
    # Red on 3,0 reaches the far corner first unless it is captured.
    position = game.from_text("b5/6/1b4/r5/r5/5r b")
    result = search(game, position, simulations=2000, playout="evaluation")
    after = game.play_turn(position, result.line[:1])
    replies = [game.play_turn(after, turn) for turn in game.turns(after)]
    assert replies
    assert all(game.outcome(reply) != SECOND_WINS for reply in replies)


def test_visits_add_up_and_the_most_visited_action_is_played(game):
    result = search(game, game.initial, simulations=500)
    legal = game.legal_actions(game.initial)
    actions, visits = zip(*result.visits, strict=True)
    assert sorted(actions) == legal.tolist()
    assert sum(visits) == result.nodes == 500
    assert list(visits) == sorted(visits, reverse=True)
    assert result.action == actions[0]
    assert -1 <= result.value <= 1
    assert len(result.line) <= result.depth
    # Raises IllegalAction unless the whole line is legal.
    game.turn_text(game.initial, result.line)


def test_same_seed_gives_same_result(game):
    searcher = MCTS(game)
    runs = [
        searcher.search(game.initial, np.random.default_rng(seed), simulations=300).visits
        for seed in (1, 2, 1)
    ]
    assert runs[0] == runs[2] != runs[1]


def test_decisions_within_a_turn_are_valued_for_the_player_who_takes_them():
    game = make_game("capture_conquer")
    position = game.from_text("6/1bb3/1brrr1/1r1r2/6/6 b")
    pending = next(
        game.apply(position, int(action))
        for action in game.legal_actions(position)
        if game.mid_turn(game.apply(position, int(action)))
    )
    result = search(game, pending, simulations=400, playout="evaluation")
    assert {action for action, _ in result.visits} == set(game.legal_actions(pending).tolist())
    # Capturing is better for the player who decides.
    assert "x-" not in game.action_text(pending, result.action)


def test_search_with_only_a_time_limit_returns(game):
    result = search(game, game.initial, seconds=0.1)
    assert result.nodes >= 1
    assert result.seconds > 0


def test_search_continues_with_a_full_tree(game):
    small = MCTS(game, playout="evaluation", capacity=1)
    result = small.search(game.initial, np.random.default_rng(0), simulations=5000)
    assert result.nodes == 5000
    assert len(small._tree.first_child) == 2 * game.num_actions


def test_single_action_is_played_without_a_search(game):
    position = game.from_text("6/6/6/5b/r4b/1r1r1r b")
    result = search(game, position, simulations=1000)
    assert result.line == tuple(game.legal_actions(position))
    assert (result.nodes, result.value) == (0, None)


def test_invalid_arguments_and_finished_games_are_rejected(game):
    for limit, message in (
        ({}, "give at least one of them"),
        ({"simulations": 0}, "simulations=0; expected: an integer, 1 or more"),
        ({"seconds": -1}, "seconds=-1; expected: 0 or more"),
    ):
        with pytest.raises(BadOption, match=message):
            search(game, game.initial, **limit)
    with pytest.raises(UnknownOption, match="playout='lucky'; expected: random, evaluation"):
        MCTS(game, playout="lucky")
    with pytest.raises(BadOption, match="exploration=-1"):
        MCTS(game, exploration=-1)
    with pytest.raises(IllegalAction, match="the game is over"):
        search(game, game.from_text("bb4/6/6/6/6/rr3b r"), simulations=1)
