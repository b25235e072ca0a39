"""Policies, compared with the players whose decisions they make."""

import numpy as np
import pytest

from cc_env.core import random_streams
from cc_env.core.bitboard import mix
from cc_env.games.factory import make_game
from cc_env.match.openings import random_opening
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player
from cc_env.search.greedy import score_actions
from cc_env.search.policies import decide

# A game of single decisions, and one of several decisions in a turn.
GAMES = "capture_conquer", "morris"
STREAM = [np.uint64(state) for state in random_streams.streams(7, 40)]


def positions(game, count=30):
    rng = np.random.default_rng(3)
    openings = [random_opening(game, 30, rng) for _ in range(count)]
    return [position for position in openings if game.outcome(position) < 0]


class FixedSeed:
    """A generator whose only number is the seed of the search of a policy."""

    def __init__(self, state):
        self.state = state

    def integers(self, bound, dtype):
        return np.uint64(mix(self.state))


@pytest.mark.parametrize("name", GAMES)
def test_greedy_policy_samples_each_of_the_best_actions(name):
    game = make_game(name)
    policy = make_player("greedy", game).make_policy()
    for position in [game.initial, *positions(game, 10)]:
        actions, scores = score_actions(game, position, game.evaluation(None))
        best = {
            action for action, score in zip(actions, scores, strict=True) if score == max(scores)
        }
        drawn = {decide(policy, position, np.uint64(state)) for state in range(400)}
        assert drawn == best


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("options", ["depth=2", "depth=3", "nodes=200"])
def test_alpha_beta_policy_decides_as_the_player(name, options):
    game = make_game(name)
    player = make_player(f"minimax:{options}", game)
    policy = player.make_policy()
    rng = np.random.default_rng(0)
    for position, state in zip(positions(game), STREAM, strict=False):
        assert decide(policy, position, state) == player.choose(position, rng, Clock()).action


@pytest.mark.parametrize("name", GAMES)
def test_uct_policy_decides_as_the_player(name):
    game = make_game(name)
    player = make_player("mcts:simulations=60", game)
    policy = player.make_policy()
    for position, state in zip(positions(game), STREAM, strict=False):
        decision = player.choose(position, FixedSeed(state), Clock())
        assert decide(policy, position, state) == decision.action


def test_random_policy_samples_all_legal_actions_equally_often(game):
    policy = make_player("random", game).make_policy()
    legal = game.legal_actions(game.initial).tolist()
    states = random_streams.streams(0, 100 * len(legal))
    drawn = [decide(policy, game.initial, np.uint64(state)) for state in states]
    counts = np.unique(drawn, return_counts=True)
    assert counts[0].tolist() == legal
    assert (np.abs(counts[1] - 100) < 50).all()


@pytest.mark.parametrize(
    "spec", ["minimax:seconds=0.1", "minimax:depth=3,seconds=1", "mcts:seconds=0.1"]
)
def test_player_with_a_time_limit_has_no_policy(game, spec):
    assert make_player(spec, game).make_policy() is None
