"""The pool: how its members choose, who joins, how often each is met."""

import numpy as np
import pytest
import torch

from agents.network import Network, Size
from cc_env.envs.opponents import DecisionBatch, wrap_player
from cc_env.errors import BadOption
from cc_env.games.factory import make_game
from cc_env.match.openings import play_random_turns
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player
from training.ppo.opponent_pool import OpponentPool, PoolSettings, network_policy


@pytest.fixture(scope="module")
def game():
    return make_game("capture_conquer", size=4)


@pytest.fixture(scope="module")
def asked(game):
    rng = np.random.default_rng(0)
    positions = [play_random_turns(game, turns, rng) for turns in (0, 1, 2, 3, 3)]
    observations = [game.observe(position) for position in positions]
    return DecisionBatch(
        *map(
            np.array,
            (positions, observations, [game.action_mask(position) for position in positions]),
        )
    )


def many_times(asked, index, times):
    return DecisionBatch(*(np.repeat(column[index : index + 1], times, 0) for column in asked))


def test_players_by_name_choose_as_they_do_elsewhere(game, asked):
    rng = np.random.default_rng(0)
    actions = wrap_player("minimax:depth=2", game)(asked, rng)
    player = make_player("minimax:depth=2", game)
    for row, action in zip(asked.positions, actions, strict=True):
        assert player.choose(type(game.initial)(*row), rng, Clock()).action == action


def test_random_draws_every_legal_action_as_often(game, asked):
    rng, many = np.random.default_rng(0), 4000
    choose = wrap_player("random", game)
    repeated = many_times(asked, 0, many)
    counts = np.bincount(choose(repeated, rng), minlength=game.num_actions)
    legal = np.flatnonzero(asked.masks[0])
    assert counts[legal].sum() == many
    np.testing.assert_allclose(counts[legal] / many, 1 / len(legal), atol=0.03)


def test_a_network_draws_by_its_probabilities_and_only_what_is_legal(game, asked):
    logits = np.random.default_rng(1).normal(0, 2, game.num_actions).astype(np.float32)

    def evaluate(planes):
        return np.tile(logits, (len(planes), 1)), np.zeros(len(planes), np.float32)

    rng, many = np.random.default_rng(0), 4000
    repeated = many_times(asked, 0, many)
    counts = np.bincount(network_policy(evaluate)(repeated, rng), minlength=game.num_actions)
    chances = np.exp(logits) * asked.masks[0]
    np.testing.assert_allclose(counts / many, chances / chances.sum(), atol=0.03)
    assert not counts[asked.masks[0] == 0].any()


# Who is met


@pytest.fixture
def network(game):
    torch.manual_seed(0)
    return Network(game, Size(blocks=1, channels=8, keys=4))


@pytest.fixture
def pool(game, network):
    names = "random", "greedy"
    return OpponentPool(game, network, PoolSettings(names=names, snapshot_share=0.3, snapshots=2))


def shares(pool):
    return [opponent.share for opponent in pool.opponents]


def turned(network, number):
    torch.nn.init.constant_(network.value[2].bias, number)
    return network


def biases(pool):
    return [snapshot.value[2].bias.item() for snapshot in pool.networks]


def test_the_newest_snapshots_are_met_equally_often(pool, network):
    assert pool.newest is None
    assert shares(pool) == pytest.approx([0.2, 0.25, 0.25, 0, 0])
    pool.add_snapshot(turned(network, 1))
    assert pool.newest is pool.networks[0]
    assert shares(pool) == pytest.approx([0.2, 0.25, 0.25, 0.3, 0])
    pool.add_snapshot(turned(network, 2))
    assert pool.newest is pool.networks[1]
    assert shares(pool) == pytest.approx([0.2, 0.25, 0.25, 0.15, 0.15])
    assert biases(pool) == [1, 2]
    pool.add_snapshot(turned(network, 3))
    assert pool.newest is pool.networks[0]
    assert (pool.snapshots_taken, biases(pool)) == (3, [3, 2])
    assert sum(shares(pool)) == pytest.approx(1)


def test_itself_follows_and_snapshots_stay_as_they_were(pool, network, asked):
    def choices(index):
        return pool.opponents[index].choose(many_times(asked, 0, 500), np.random.default_rng(0))

    pool.add_snapshot(network)
    pool.set_current_network(network)
    before = choices(0)
    np.testing.assert_array_equal(before, choices(3))
    torch.nn.init.normal_(network.keys.weight, std=5)
    np.testing.assert_array_equal(before, choices(0))
    pool.set_current_network(network)
    assert (before != choices(0)).any()
    np.testing.assert_array_equal(before, choices(3))


def test_scores_are_means_by_name_since_they_were_taken(pool):
    pool.opponents[1].points += [1.0, 0.5]
    pool.opponents[3].points += [1.0]
    pool.opponents[4].points += [0.0, 0.0]
    assert pool.take_scores() == pytest.approx({"random": 0.75, "snapshots": 1 / 3})
    assert pool.take_scores() == {}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"names": ("gambler",)}, "no player 'gambler'"),
        ({"snapshots": 0}, "snapshots=0; expected a whole number from 1"),
        ({"named_share": 0.8}, r"named_share=0\.8, .* a sum below 1"),
        ({"snapshot_share": -0.1}, r"snapshot_share=-0\.1; expected 0 to 1"),
    ],
)
def test_what_cannot_be_is_refused(change, why):
    with pytest.raises(BadOption, match=why):
        PoolSettings(**change)


def test_a_player_that_cannot_be_made_is_refused(game, network):
    with pytest.raises(BadOption, match="depth=0"):
        OpponentPool(game, network, PoolSettings(names=("minimax:depth=0",)))
