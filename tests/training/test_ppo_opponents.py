"""The opponents of PPO: the policy of a network, snapshots and shares."""

import numpy as np
import pytest
import torch

from agents.evaluator import Evaluator
from agents.network import Network
from agents.network_weights import Size
from cc_env.envs.opponents import DecisionBatch
from cc_env.errors import BadOption
from cc_env.games.factory import make_game
from cc_env.match.openings import play_random_turns
from training.ppo.opponents import LearningOpponents, PoolSettings, network_policy


@pytest.fixture(scope="module")
def game():
    return make_game("capture_conquer", size=4)


@pytest.fixture(scope="module")
def batch(game):
    rng = np.random.default_rng(0)
    positions = [play_random_turns(game, turns, rng) for turns in (0, 1, 2, 3, 3)]
    observations = [game.observe(position) for position in positions]
    return DecisionBatch(
        *map(
            np.array,
            (positions, observations, [game.action_mask(position) for position in positions]),
        )
    )


def repeat_row(batch, index, times):
    return DecisionBatch(*(np.repeat(column[index : index + 1], times, 0) for column in batch))


def test_network_policy_samples_legal_actions(game, batch):
    logits = np.random.default_rng(1).normal(0, 2, game.num_actions).astype(np.float32)

    def evaluate(planes):
        return np.tile(logits, (len(planes), 1)), np.zeros(len(planes), np.float32)

    rng, count = np.random.default_rng(0), 4000
    repeated = repeat_row(batch, 0, count)
    counts = np.bincount(network_policy(evaluate)(repeated, rng), minlength=game.num_actions)
    probabilities = np.exp(logits) * batch.masks[0]
    np.testing.assert_allclose(counts / count, probabilities / probabilities.sum(), atol=0.03)
    assert not counts[batch.masks[0] == 0].any()


# Snapshots and shares


@pytest.fixture
def network(game):
    torch.manual_seed(0)
    return Network(game, Size(blocks=1, channels=8, keys=4))


@pytest.fixture
def pool(game, network):
    names = "random", "greedy"
    return LearningOpponents(
        game,
        network,
        PoolSettings(names=names, named_share=0.5, snapshot_share=0.3, snapshots=2),
    )


def shares(pool):
    return [opponent.share for opponent in pool.opponents]


def with_bias(network, number):
    torch.nn.init.constant_(network.value[2].bias, number)
    return network


def biases(pool):
    return [snapshot.value[2].bias.item() for snapshot in pool.networks]


def test_newest_snapshots_have_equal_shares(pool, network):
    assert pool.newest_network is None
    assert shares(pool) == pytest.approx([0.2, 0.25, 0.25, 0, 0])
    pool.add_snapshot(with_bias(network, 1))
    assert pool.newest_network is pool.networks[0]
    assert shares(pool) == pytest.approx([0.2, 0.25, 0.25, 0.3, 0])
    pool.add_snapshot(with_bias(network, 2))
    assert pool.newest_network is pool.networks[1]
    assert shares(pool) == pytest.approx([0.2, 0.25, 0.25, 0.15, 0.15])
    assert biases(pool) == [1, 2]
    pool.add_snapshot(with_bias(network, 3))
    assert pool.newest_network is pool.networks[0]
    assert (pool.snapshots_taken, biases(pool)) == (3, [3, 2])
    assert sum(shares(pool)) == pytest.approx(1)


def test_snapshots_stay_fixed_while_the_learner_changes(pool, network, batch):
    def choices(index):
        return pool.opponents[index].player(repeat_row(batch, 0, 500), np.random.default_rng(0))

    pool.add_snapshot(network)
    pool.set_current_evaluator(Evaluator(network))
    before = choices(0)
    np.testing.assert_array_equal(before, choices(3))
    torch.nn.init.normal_(network.keys.weight, std=5)
    np.testing.assert_array_equal(before, choices(0))
    pool.set_current_evaluator(Evaluator(network))
    assert (before != choices(0)).any()
    np.testing.assert_array_equal(before, choices(3))


def test_scores_are_means_since_the_last_call(pool):
    pool.opponents[1].points += [1.0, 0.5]
    pool.opponents[3].points += [1.0]
    pool.opponents[4].points += [0.0, 0.0]
    assert pool.take_scores() == pytest.approx({"random": 0.75, "snapshots": 1 / 3})
    assert pool.take_scores() == {}


def test_players_of_similar_strength_play_most_games(game, network):
    names = "random", "greedy", "minimax:depth=1", "minimax:depth=2"
    pool = LearningOpponents(game, network, PoolSettings(names=names, named_share=0.5))
    for opponent, points in zip(pool.opponents[1:5], (1.0, 0.5, 0.0, 0.0), strict=True):
        opponent.points += [points] * 1000
    pool.take_scores()
    assert shares(pool)[1:5] == pytest.approx([0.03, 0.41, 0.03, 0.03], abs=0.005)
    assert sum(shares(pool)[1:5]) == pytest.approx(0.5)
    # The learner improves.
    pool.opponents[3].points += [0.0, 1.0] * 20
    pool.take_scores()
    assert shares(pool)[2] > shares(pool)[3] > 3 * shares(pool)[4]


def test_self_play_replaces_games_against_much_stronger_and_weaker_players(pool):
    pool.opponents[1].points += [1.0] * 1000
    pool.opponents[2].points += [0.0] * 1000
    pool.take_scores()
    assert shares(pool) == pytest.approx([0.2, 0.0185, 0.0185, 0, 0], abs=0.001)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": ("gambler",)}, "no player 'gambler'"),
        ({"snapshots": 0}, "snapshots=0; expected: an integer, 1"),
        ({"named_share": 0.9}, r"named_share=0\.9, .* a sum below 1"),
        ({"snapshot_share": -0.1}, r"snapshot_share=-0\.1; expected: 0 to 1"),
    ],
)
def test_invalid_values_are_rejected(change, message):
    with pytest.raises(BadOption, match=message):
        PoolSettings(**change)


def test_unavailable_player_is_rejected(game, network):
    with pytest.raises(BadOption, match="depth=0"):
        LearningOpponents(game, network, PoolSettings(names=("minimax:depth=0",)))
