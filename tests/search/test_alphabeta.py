"""Alpha-beta against plain minimax, planted wins, limits and reports."""

import pickle
import threading

import exchange
import numpy as np
import pytest

from cc_env.accuracy.decisions import sample_uniform
from cc_env.core import rules
from cc_env.core.rules import DRAW, ONGOING
from cc_env.errors import BadOption, IllegalAction, UnknownOption
from cc_env.games.factory import make_game
from cc_env.jit.compiler import jit
from cc_env.search import alphabeta, transposition
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.scores import PROVEN, WIN, expected_result
from cc_env.tablebase.tablebase import Tablebase


@jit
def minimax(position, depth, ply, root, evaluation, free):
    """Return the value to the player to move; `free` is a buffer for lists of actions."""
    count = rules.legal_actions(position, free)
    best = np.int64(-2 * WIN)
    for index in range(count):
        after = rules.apply(position, np.int64(free[index]))
        value, result = np.int64(0), rules.outcome(after)
        if result not in (ONGOING, DRAW):
            value = WIN - ply - 1 if result == root else ply + 1 - WIN
        elif result == ONGOING and depth == 1 and not rules.mid_turn(after):
            value = rules.evaluate(after, root, evaluation)
        elif result == ONGOING:
            remaining = depth if rules.mid_turn(after) else depth - 1
            value = minimax(after, remaining, ply + 1, root, evaluation, free[count:])
            value = value if rules.to_move(after) == root else -value
        best = max(best, value if rules.to_move(position) == root else -value)
    return best


def plain(game, position, depth, evaluation):
    """Return the value of every legal action to the player to move, by plain minimax."""
    player, free = game.to_move(position), np.empty(100_000, np.int32)
    values = {}
    for action in map(int, game.legal_actions(position)):
        after = game.apply(position, action)
        result, remaining = game.outcome(after), depth if game.mid_turn(after) else depth - 1
        if result != ONGOING:
            values[action] = 0 if result == DRAW else WIN - 1 if result == player else 1 - WIN
        elif remaining == 0:
            values[action] = int(rules.evaluate(after, player, evaluation))
        else:
            value = int(minimax(after, remaining, 1, player, evaluation, free))
            values[action] = value if game.to_move(after) == player else -value
    return values


def positions(game, count, seed):
    """Yield unfinished positions of random games, mid-turn ones among them."""
    rng = np.random.default_rng(seed)
    position = game.initial
    while count:
        legal = game.legal_actions(position)
        if not len(legal):
            position = game.initial
            continue
        if rng.random() < 0.3:
            count -= 1
            yield position
        position = game.apply(position, int(rng.choice(legal)))


MANY = [
    pytest.param(*case, marks=pytest.mark.slow) for case in ((4, 150), (5, 60), (6, 60), (8, 6))
]


@pytest.mark.parametrize(("size", "count"), [(4, 20), *MANY])
@pytest.mark.parametrize("name", ["standard", "published"])
def test_values_equal_those_of_plain_minimax(size, count, name):
    game = make_game("capture_conquer", size=size)
    search = AlphaBeta(game, game.evaluations[name], table_megabytes=1)
    for position in positions(game, count, seed=size):
        for depth in range(1, 5 if size < 8 else 4):
            values = plain(game, position, depth, game.evaluations[name])
            result = search.search(position, depth=depth)
            if len(values) > 1:
                assert result.score == max(values.values())
                assert values[result.action] == result.score


def test_principal_variation_leads_to_its_value(game):
    search, checked = AlphaBeta(game), 0
    for position in positions(game, 60, seed=1):
        result = search.search(position, depth=4)
        player, end = game.to_move(position), position
        for action in result.line:
            end = game.apply(end, action)
        if game.outcome(end) == ONGOING and len(game.legal_actions(position)) > 1:
            assert result.score == rules.evaluate(end, player, game.evaluations["standard"])
            checked += 1
    assert checked > 30


@pytest.mark.parametrize("turns", [1, 2, 3, 4])
def test_alpha_beta_finds_a_race_won_in_n_turns(game, turns):
    start = 5 - turns
    rows = [["."] * 6 for _ in range(6)]
    for row, column, piece in ((start, start, "b"), (0, 5, "b"), (5, 0, "r"), (4, 0, "r")):
        rows[row][column] = piece
    position = game.from_text("/".join(map("".join, rows)) + " b")
    result = AlphaBeta(game).search(position, depth=9)
    assert result.score == WIN - (2 * turns - 1)
    assert result.value == 1
    # The search stops at the win.
    assert result.depth == 2 * turns - 1
    assert len(result.line) == 2 * turns - 1
    assert game.outcome(game.play_turn(position, result.line)) == 0


def test_lost_race_is_delayed_as_long_as_possible(game):
    position = game.from_text("5b/6/6/3b2/r5/r5 r")
    result = AlphaBeta(game).search(position, depth=8)
    assert result.score == 4 - WIN
    assert result.value == -1
    values = plain(game, position, 4, game.evaluations["standard"])
    assert max(values.values()) == 4 - WIN


@pytest.mark.parametrize("limit", [{"nodes": 1}, {"seconds": 0}, {"depth": 1}])
def test_immediate_win_is_taken_at_any_limit(game, limit):
    search = AlphaBeta(game)
    for text in ("5b/6/6/6/4b1/rr4 b", "1bb3/r5/6/6/6/4r1 r", "6/6/2b3/3r2/6/b4r b"):
        position = game.from_text(text)
        result = search.search(position, **limit)
        end = game.play_turn(position, result.line)
        assert game.outcome(end) == game.to_move(position), text


def test_single_action_is_played_without_a_search(game):
    position = game.from_text("6/6/6/5b/r4b/1r1r1r b")
    result = AlphaBeta(game).search(position, depth=20)
    assert (
        result.line == tuple(game.legal_actions(position)) == game.parse_turn(position, "4,5-2,5")
    )
    assert (result.nodes, result.depth, result.score, result.value) == (0, 0, None, None)


def test_search_stops_at_limits_of_nodes_and_seconds(game):
    search = AlphaBeta(game)
    search.search(game.initial, depth=1)
    result = search.search(game.initial, nodes=5000)
    assert 5000 <= result.nodes <= 5100
    # There is no other limit.
    result = search.search(game.initial, seconds=0.1)
    assert result.depth >= 1
    assert not result.is_exact
    assert result.nodes_per_second == pytest.approx(result.nodes / result.seconds)


def test_interrupted_search_returns_the_last_completed_iteration(game):
    search = AlphaBeta(game)
    whole = search.search(game.initial, depth=4)
    stopped = search.search(game.initial, nodes=whole.nodes + 1)
    assert stopped.nodes > whole.nodes
    assert (stopped.depth, stopped.line, stopped.value) == (4, whole.line, whole.value)


def test_other_threads_run_during_a_search(game):
    search, most = AlphaBeta(game), 10**9
    workspace = search._context.workspace
    workspace["nodes"] = 0

    def stop():
        while not workspace["nodes"]:
            pass
        workspace["stop"] = 1

    thread = threading.Thread(target=stop)
    thread.start()
    result = search.search(game.initial, nodes=most)
    thread.join()
    assert 0 < result.nodes < most


@pytest.mark.parametrize("before", [0, 1, 10, transposition.AGES - 1, transposition.AGES])
def test_searches_are_independent(game, before):
    """A search finds nothing of earlier ones, even if the table is full of their entries."""
    used = AlphaBeta(game, table_megabytes=1 / 64)
    for position in positions(game, before, seed=3):
        used.search(position, depth=4)
    for position in positions(game, 5, seed=4):
        fresh = AlphaBeta(game, table_megabytes=1 / 64)
        new, other = fresh.search(position, depth=5), used.search(position, depth=5)
        assert (new.line, new.score, new.nodes) == (other.line, other.score, other.nodes)


def test_salts_do_not_collide_with_positions():
    """On the smallest board, the words of positions are small numbers, as salts are."""
    game = make_game("capture_conquer", size=4)
    search = AlphaBeta(game)
    keys = set()
    for own in range(1, 16):
        for number in range(1, 16):
            search._context.workspace["salt"] = number
            keys.add(
                int(alphabeta._key(game.initial._replace(own=np.uint64(own)), search._context))
            )
    assert len(keys) == 15 * 15


def test_small_transposition_table_finds_the_same_value(game):
    small, large = AlphaBeta(game, table_megabytes=1 / 1024), AlphaBeta(game)
    for position in positions(game, 30, seed=5):
        assert small.search(position, depth=4).score == large.search(position, depth=4).score


def test_cutoffs_are_counted_for_both_sides(game):
    result = AlphaBeta(game).search(game.initial, depth=5)
    assert result.cuts_max > 0
    assert result.cuts_min > 0
    assert result.cuts_max + result.cuts_min < result.nodes


def test_expected_result_is_symmetric_and_1_for_proven_wins():
    assert expected_result(0) == 0
    assert 0.4 < expected_result(100) == -expected_result(-100) < 0.8
    assert (expected_result(WIN - 7), expected_result(9 - WIN)) == (1, -1)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"depth": 0}, "depth=0; expected: an integer, 1 to 100, or None"),
        ({"depth": 2.5}, "depth=2.5; expected: an integer, 1 to 100"),
        ({"nodes": 0}, "nodes=0; expected: an integer, 1 or more"),
        ({"seconds": -1}, "seconds=-1; expected: 0 or more"),
        ({"seconds": "long"}, "seconds='long'; expected: 0 or more"),
    ],
)
def test_limits_out_of_range_are_rejected(game, limit, message):
    with pytest.raises(BadOption, match=message):
        AlphaBeta(game).search(game.initial, **limit)


def test_finished_game_cannot_be_searched(game):
    with pytest.raises(IllegalAction, match="the game is over"):
        AlphaBeta(game).search(game.from_text("bb4/6/6/6/6/rr3b r"), depth=1)


@pytest.mark.parametrize("size", [0, -1, float("inf"), float("nan"), 10**9, True, "big"])
def test_table_size_out_of_range_is_rejected(game, size):
    with pytest.raises(BadOption, match=f"table_megabytes={size!r}; expected: 1/1024 to 65536"):
        AlphaBeta(game, table_megabytes=size)


def test_evaluation_may_be_a_name_or_an_object(game):
    evaluations = "published", game.evaluations["published"]
    searches = [AlphaBeta(game, evaluation) for evaluation in evaluations]
    default = AlphaBeta(game).search(game.initial, depth=3).score
    scores = {search.search(game.initial, depth=3).score for search in searches}
    assert scores == {62} != {default}
    with pytest.raises(UnknownOption, match="no evaluation 'best'; it has: standard, published"):
        AlphaBeta(game, "best")


@pytest.mark.parametrize("size", [4, 5])
def test_proofs_of_a_selective_search_are_correct(size):
    """The exact values are those of the packaged tables."""
    game, proven = make_game("capture_conquer", size=size), set()
    tables, search = Tablebase(game), AlphaBeta(game, selective=True)
    for position in sample_uniform(tables, 300):
        if len(game.legal_actions(position)) > 1:
            score = search.search(position, depth=8).score
            if abs(score) >= PROVEN:
                proven.add(np.sign(score))
                assert np.sign(score) == tables.probe(position).value
    assert proven == {1, -1}


def test_selective_search_is_deeper_in_equal_nodes(game):
    searches, deeper = [AlphaBeta(game, selective=switch) for switch in (False, True)], 0
    for position in positions(game, 10, seed=8):
        if len(game.legal_actions(position)) > 1:
            full, selective = (search.search(position, nodes=100_000) for search in searches)
            assert selective.depth > full.depth or abs(full.score) >= PROVEN
            deeper += selective.depth > full.depth
    assert deeper > 4


def test_copy_of_a_selective_search_is_selective(game):
    copied = pickle.loads(pickle.dumps(AlphaBeta(game, selective=True)))
    nodes = [search.search(game.initial, depth=6).nodes for search in (copied, AlphaBeta(game))]
    assert nodes[0] < nodes[1] / 2


def test_selective_option_must_be_a_bool(game):
    with pytest.raises(BadOption, match="selective='yes'; expected: True or False"):
        AlphaBeta(game, selective="yes")


def test_search_without_limit_is_rejected(game):
    with pytest.raises(BadOption, match="depth=None, nodes=None, seconds=None; give at least one"):
        AlphaBeta(game).search(game.initial)


@pytest.mark.parametrize(
    ("captures_left", "depth", "score", "action"),
    [(3, 1, 0, 0), (2, 1, 700, 1), (1, 1, 200, 1), (3, 2, 0, 0)],
)
def test_quiescence_resolves_captures_beyond_the_horizon(captures_left, depth, score, action):
    """Capturing 3 loses 9, and then wins back 2."""
    game = exchange.make()
    position = game.initial._replace(captures_left=np.uint64(captures_left))
    result = AlphaBeta(game).search(position, depth=depth)
    assert (result.score, result.action) == (score, action)
