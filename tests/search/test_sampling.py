"""Actions drawn by their scores, with a temperature."""

import math

import numpy as np
import pytest

from cc_env.core import random_streams
from cc_env.core.rules import ONGOING
from cc_env.errors import BadOption, IllegalAction
from cc_env.games.factory import make_game
from cc_env.match.openings import random_opening
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.policies import decide
from cc_env.search.sampling import WIN_ADVANTAGE, sample
from cc_env.search.scores import WIN

# A game of single decisions, and one of several decisions in a turn.
GAMES = "capture_conquer", "morris"
STATES = random_streams.streams(3, 20_000)


def positions(game, count):
    rng = np.random.default_rng(5)
    return [random_opening(game, 30, rng) for _ in range(count)]


def frequencies(scores, temperature):
    drawn = [sample(np.array(scores), float(temperature), state) for state in STATES]
    return np.bincount(drawn, minlength=len(scores)) / len(STATES)


def test_fractions_are_uniform_in_the_unit_interval():
    values = np.array([random_streams.fraction(state) for state in STATES])
    assert values.min() >= 0
    assert values.max() < 1
    assert np.histogram(values, 10, (0, 1))[0] / len(values) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("temperature", [20, 100, 1e9])
def test_probability_is_proportional_to_the_exponential_of_the_score(temperature):
    scores = [30, -50, 0, 30, 100]
    weights = np.exp(np.array(scores) / temperature)
    assert frequencies(scores, temperature) == pytest.approx(weights / weights.sum(), abs=0.015)


def test_low_temperature_never_overlooks_a_win_and_takes_the_soonest():
    assert frequencies([500, WIN - 3, WIN - 1, 0], 100).tolist() == [0, 0, 1, 0]


def test_high_temperature_overlooks_a_win():
    share = math.exp(WIN_ADVANTAGE / 1000)
    wins = 2 * share / (2 * share + 1)
    assert frequencies([WIN - 3, WIN - 1, 0], 1000) == pytest.approx([0, wins, 1 - wins], abs=0.015)


def test_wins_and_losses_keep_their_distance_from_the_other_actions():
    drawn = frequencies([WIN - 1, -WIN + 2, 0, 1900], 1000)
    share = math.exp(WIN_ADVANTAGE / 1000)
    assert drawn[0] / drawn[3] == pytest.approx(share, rel=0.1)
    assert drawn[2] / drawn[1] == pytest.approx(share, rel=0.3)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_scores_are_those_of_a_search_after_each_action(name, depth):
    game, checked = make_game(name), 0
    scoring, search = AlphaBeta(game), AlphaBeta(game)
    for position in positions(game, 12):
        if game.outcome(position) != ONGOING:
            continue
        actions, scores, completed, nodes = scoring.score_actions(position, depth=depth)
        assert actions.tolist() == game.legal_actions(position).tolist()
        assert completed <= depth
        assert nodes > 0
        best = search.search(position, depth=depth)
        if best.score is not None:
            assert scores.max() == best.score
        for action, score in zip(actions.tolist(), scores.tolist(), strict=True):
            after = game.apply(position, action)
            is_same = game.to_move(after) == game.to_move(position)
            remaining = depth if game.mid_turn(after) else depth - 1
            if game.outcome(after) != ONGOING or not remaining or abs(score) > WIN // 2:
                continue
            result = search.search(after, depth=remaining)
            if result.score is not None:
                assert score == (result.score if is_same else -result.score)
                checked += 1
    assert checked or depth == 1


def test_limit_of_nodes_keeps_the_scores_of_the_last_complete_depth():
    game = make_game("capture_conquer")
    search = AlphaBeta(game)
    limited = search.score_actions(game.initial, depth=6, nodes=500)
    assert 1 <= limited.depth < 6
    whole = search.score_actions(game.initial, depth=limited.depth)
    assert limited.scores.tolist() == whole.scores.tolist()


def test_scores_of_a_finished_game_are_an_error():
    game = make_game("capture_conquer")
    with pytest.raises(IllegalAction):
        AlphaBeta(game).score_actions(game.from_text("b5/6/6/6/6/5b r"), depth=1)


class FixedState:
    """A generator whose only number is the random state of a policy."""

    def __init__(self, state):
        self.state = state

    def integers(self, bound, dtype):
        return self.state


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("options", ["depth=1,temperature=300", "depth=2,temperature=40"])
def test_policy_decides_as_the_player(name, options):
    game = make_game(name)
    player = make_player(f"minimax:{options}", game)
    policy, chosen = player.make_policy(), set()
    for position, state in zip(positions(game, 12), STATES, strict=False):
        if game.outcome(position) == ONGOING:
            decision = player.choose(position, FixedState(state), Clock())
            assert decide(policy, position, state) == decision.action
            chosen.add(decision.action)
    assert len(chosen) > 3


def test_player_reports_the_score_of_the_drawn_action():
    game = make_game("capture_conquer")
    player = make_player("minimax:depth=2,temperature=500", game)
    actions, scores, *_ = AlphaBeta(game).score_actions(game.initial, depth=2)
    expected = dict(zip(actions.tolist(), scores.tolist(), strict=True))
    drawn = set()
    for seed in range(20):
        decision = player.choose(game.initial, np.random.default_rng(seed), Clock())
        assert decision.details["score"] == expected[decision.action]
        drawn.add(decision.action)
    assert len(drawn) > 5


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "warm"])
def test_invalid_temperature_is_rejected(value):
    with pytest.raises(BadOption, match=r"temperature=.*; expected: 0 or more"):
        make_player("minimax", make_game("capture_conquer"), temperature=value)
