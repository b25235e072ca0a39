"""The correction by a network equals a plain computation, for both players."""

import itertools
import pickle

import numpy as np
import pytest
from learned_evaluation.networks import plain_correction, random_network

from cc_env.core import rules
from cc_env.core.rules import ONGOING, ordering_evaluation
from cc_env.errors import BadNetwork
from cc_env.games.factory import make_game
from cc_env.learned_evaluation.network import MAX_CORRECTION, STATES, UNITS, WIDTH, check
from cc_env.learned_evaluation.network_file import (
    SHIPPED,
    corrected_evaluation,
    file_name,
    short_hash,
)
from cc_env.match.openings import play_random_turns
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player
from cc_env.registry.options import parse_options, split_options
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.mcts import MCTS
from cc_env.search.policies import AlphaBetaPolicy, UCTPolicy
from cc_env.search.scores import PROVEN

WINDOWS = [(), (0,), tuple(8 * row + column for row in range(5) for column in range(5)), (6, 54)]


def positions(game, count, seed=0):
    rng = np.random.default_rng(seed)
    candidates = [play_random_turns(game, int(rng.integers(20)), rng) for _ in range(count)]
    return [position for position in candidates if game.outcome(position) == ONGOING]


@pytest.mark.parametrize("windows", WINDOWS, ids=len)
@pytest.mark.parametrize("name", ["capture_conquer", "checkers", "mini_checkers"])
def test_correction_equals_a_plain_computation(name, windows):
    game, rng = make_game(name), np.random.default_rng(len(windows))
    sets = 4 if name == "checkers" else 2
    network = random_network(rng, windows, sets)
    evaluation, corrections = corrected_evaluation(game, network), set()
    for position in positions(game, 60):
        for player in (0, 1):
            base = rules.evaluate(position, player, game.evaluation())
            points = rules.evaluate(position, player, evaluation) - base
            expected = plain_correction(position, network) * (
                1 if player == game.to_move(position) else -1
            )
            assert points == expected
            corrections.add(points)
    assert len(corrections) > 20
    assert max(map(abs, corrections)) < MAX_CORRECTION


@pytest.mark.parametrize("sets", [0, 1])
def test_network_with_fewer_input_sets_matches_the_python_reference(sets):
    game = make_game("capture_conquer")
    network = random_network(np.random.default_rng(0), WINDOWS[2], sets)
    evaluation = corrected_evaluation(game, network)
    for position in positions(game, 20):
        player = game.to_move(position)
        base = rules.evaluate(position, player, game.evaluation())
        assert rules.evaluate(position, player, evaluation) - base == plain_correction(
            position, network
        )


@pytest.mark.parametrize("path", sorted(SHIPPED.iterdir()), ids=lambda path: path.stem)
def test_evaluation_with_a_cache_has_the_same_values(path):
    name, _, options = path.stem.partition("-")
    game = make_game(name, **parse_options(split_options(options)))
    plain = game.evaluation("learned")
    cached = rules.with_cache(plain)
    # Successors share most of their contents, as in a search; all slots are used again.
    for position in positions(game, 60):
        for action in game.legal_actions(position):
            after = game.apply(position, int(action))
            assert rules.evaluate(after, 0, cached) == rules.evaluate(after, 0, plain)
    has_windows = bool(plain.windows.first_cells)
    assert (np.count_nonzero(cached.windows.keys) > 100) == has_windows
    assert np.any(cached.windows.sums) == has_windows


def test_entry_of_other_contents_is_not_used():
    """An entry with another key is not used."""
    game = make_game("capture_conquer")
    plain = corrected_evaluation(game, random_network(np.random.default_rng(0), WINDOWS[2]))
    cached = rules.with_cache(plain)
    cached.windows.keys[:] = 1 << 63
    cached.windows.sums[:] = 1000
    for position in positions(game, 20):
        assert rules.evaluate(position, 0, cached) == rules.evaluate(position, 0, plain)


def test_every_search_has_a_cache_of_its_own():
    game = make_game("capture_conquer")
    searches = [AlphaBeta(game, "learned")._context, MCTS(game, "learned").settings(10)]
    for spec in ("greedy:", "minimax:depth=1,", "mcts:simulations=10,"):
        player = make_player(f"{spec}evaluation=learned", game)
        searches += [player.make_policy(), player.make_policy()]
    caches = [find_evaluation_of(search).windows for search in searches]
    assert all(len(cache.keys) for cache in caches)
    for first, second in itertools.combinations(caches, 2):
        assert not np.shares_memory(first.keys, second.keys)
        assert not np.shares_memory(first.sums, second.sums)
    assert len(game.evaluation("learned").windows.keys) == 0


def find_evaluation_of(search):
    """Return the evaluation in a context, in settings or in a policy."""
    if isinstance(search, AlphaBetaPolicy):
        search = search.context
    return search.settings.evaluation if isinstance(search, UCTPolicy) else search.evaluation


def test_cache_is_pickled_without_its_entries():
    evaluation = AlphaBeta(make_game("capture_conquer"), "learned")._context.evaluation
    copy = pickle.loads(pickle.dumps(evaluation))
    assert copy.windows.first_cells == evaluation.windows.first_cells
    assert len(copy.windows.keys) == len(evaluation.windows.keys)
    assert not copy.windows.keys.any()


def test_base_evaluation_is_used_within_a_turn():
    game = make_game("capture_conquer")
    evaluation = corrected_evaluation(game, random_network(np.random.default_rng(0)))
    rng, mid_turn_positions = np.random.default_rng(0), 0
    for before in positions(game, 200):
        for action in game.legal_actions(before):
            position = game.apply(before, int(action))
            if game.mid_turn(position):
                base = rules.evaluate(position, 0, game.evaluation())
                assert rules.evaluate(position, 0, evaluation) == base
                mid_turn_positions += 1
    assert mid_turn_positions > 3, rng


def test_correction_is_bounded():
    game = make_game("capture_conquer")
    network = random_network(np.random.default_rng(0))
    network.third[:] = 60_000
    network.second[:] = np.abs(network.second)
    check(network)
    evaluation = corrected_evaluation(game, network)
    values = [rules.evaluate(p, game.to_move(p), evaluation) for p in positions(game, 20)]
    assert max(values) < PROVEN
    assert max(plain_correction(p, network) for p in positions(game, 20)) == MAX_CORRECTION


def test_weights_that_could_overflow_are_rejected():
    rng = np.random.default_rng(0)
    whole = random_network(rng, (0, 1, 2))
    check(whole)
    for name, index, value, layer in (
        ("cells", slice(None), 300, "first layer"),
        ("states", (2 * STATES + 1) * WIDTH + 5, 32_767, "first layer"),
        ("first_bias", 3, -(2**15), "first layer"),
        ("second_bias", UNITS - 1, -(2**31), "second layer"),
        ("third", slice(None), 70_000, "third layer"),
    ):
        network = whole._replace(**{name: getattr(whole, name).copy()})
        getattr(network, name)[index] = value
        with pytest.raises(BadNetwork, match=f"the sums of the {layer} can reach"):
            check(network)
    with pytest.raises(BadNetwork, match="third bias"):
        check(whole._replace(third_bias=np.int64(2**50)))


def test_invalid_windows_are_rejected():
    whole = random_network(np.random.default_rng(0), (0, 1, 2))
    for windows in ((0, 2, 1), (0, 0, 1)):
        with pytest.raises(BadNetwork, match="not in ascending order"):
            check(whole._replace(windows=np.array(windows, np.uint64)))
    for windows in ((0, 1, 7), (0, 1, 56)):
        with pytest.raises(BadNetwork, match="a window begins in the last row or column"):
            check(whole._replace(windows=np.array(windows, np.uint64)))
    whole.states[STATES * WIDTH + 7] = 1
    with pytest.raises(BadNetwork, match="the weights of an empty window"):
        check(whole)


def test_largest_accepted_weights_are_summed_exactly():
    """The sums of the first two layers are the greatest int16 and int32."""
    game = make_game("capture_conquer")
    network = random_network(np.random.default_rng(0), sets=2)
    for array in (network.cells, network.first_bias, network.second, network.second_bias):
        array[:] = 0
    network.first_bias[:] = 2**15 - 1
    network.second[:] = 16_383
    network.second_bias[:] = 2**31 - 1 - WIDTH * 1023 * 16_383
    network.third[:] = 65_000
    check(network)
    evaluation, position = corrected_evaluation(game, network), game.initial
    base = rules.evaluate(position, 0, game.evaluation())
    assert plain_correction(position, network) == MAX_CORRECTION
    assert rules.evaluate(position, 0, evaluation) - base == MAX_CORRECTION


@pytest.mark.parametrize("path", sorted(SHIPPED.iterdir()), ids=lambda path: path.stem)
def test_shipped_networks_match_the_python_reference(path):
    name, _, options = path.stem.partition("-")
    game = make_game(name, **parse_options(split_options(options)))
    assert path.name == file_name(game)
    evaluation = game.evaluation("learned")
    check(evaluation.network)
    values = set()
    for position in positions(game, 100, seed=1):
        player = game.to_move(position)
        base = rules.evaluate(position, player, evaluation.base)
        points = rules.evaluate(position, player, evaluation) - base
        assert points == plain_correction(position, evaluation.network)
        values.add(points)
    assert len(values) > 20


@pytest.mark.parametrize("name", ["greedy:", "minimax:depth=2,", "mcts:simulations=20,"])
def test_players_use_the_learned_evaluation(name):
    game = make_game("capture_conquer")
    player = make_player(f"{name}evaluation=learned", game)
    decision = player.choose(game.initial, np.random.default_rng(0), Clock())
    assert decision.action in game.legal_actions(game.initial)
    assert {"standard", "learned"} <= set(game.evaluations)
    assert "learned" not in make_game("capture_conquer", corner=4).evaluations
    assert player.fingerprint == short_hash(game.evaluation("learned"))
    assert make_player(name.strip(":,"), game).fingerprint == ""


def test_base_evaluation_orders_moves():
    game = make_game("capture_conquer")
    base, corrected = game.evaluation("standard"), game.evaluation("learned")
    assert ordering_evaluation(corrected) is corrected.base
    assert ordering_evaluation(base) is base
    context = AlphaBeta(game, "learned")._context
    assert context.evaluation.network is corrected.network
    assert context.ordering is corrected.base
