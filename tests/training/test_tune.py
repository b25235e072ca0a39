"""Tuning: features, the fit, and a round of improvement."""

import numpy as np
import pytest

from cc_env.core import rules
from cc_env.errors import BadOption
from cc_env.games.factory import make_game
from cc_env.players.specs import PLAYERS
from training.experiments import tune
from training.experiments.tune import Config, Sample


@pytest.fixture(scope="module")
def game():
    return make_game("capture_conquer", size=4)


@pytest.fixture(scope="module")
def positions(game):
    return some_positions(game, 3000)


def some_positions(game, count):
    rng, position, positions = np.random.default_rng(1), game.initial, []
    while len(positions) < count:
        legal = game.legal_actions(position)
        if not len(legal):
            position = game.initial
            continue
        if not game.mid_turn(position):
            positions.append(position)
        position = game.apply(position, int(rng.choice(legal)))
    return np.array(positions, np.uint64)


def with_weights(game, weights):
    evaluation = game.evaluations["standard"]._replace(weights=np.array(weights, np.int64))
    return game.replace(evaluations={"standard": evaluation})


@pytest.mark.parametrize("name", ["capture_conquer", "checkers", "morris", "cannon"])
def test_features_times_weights_equal_the_evaluation(name):
    game = make_game(name)
    positions = some_positions(game, 300)
    evaluation = game.evaluations["standard"]
    values = tune.features(game, positions) @ evaluation.weights
    for row, value in zip(positions, values, strict=True):
        position = type(game.initial)(*row)
        assert value == rules.evaluate(position, game.to_move(position), evaluation)


def test_fit_recovers_the_weights_behind_results(game, positions):
    rng = np.random.default_rng(2)
    true_game = with_weights(game, np.where(game.evaluations["standard"].weights, 60, 0))
    scores = tune.features(true_game, positions) @ true_game.evaluations["standard"].weights
    chances = 1 / (1 + np.exp(-2 * scores / tune.SCALE))
    results = (rng.random(len(chances)) < chances).astype(float)
    weights, loss = tune.fit(game, Sample(positions, results), penalty=2e-5)
    fitted = tune.features(game, positions) @ weights
    assert np.corrcoef(fitted, scores)[0, 1] > 0.97
    assert np.polyfit(scores, fitted, 1)[0] == pytest.approx(1, abs=0.15)
    assert loss < 0.6
    assert weights[1] == weights[8]


def test_weights_without_features_stay_unchanged():
    morris = make_game("morris")
    positions = some_positions(morris, 400)
    before = morris.evaluations["standard"].weights
    unused = np.flatnonzero(~tune.features(morris, positions).any(0))
    assert len(unused) > 1
    results = np.random.default_rng(3).random(len(positions)).round()
    weights, _ = tune.fit(morris, Sample(positions, results), penalty=2e-5)
    assert (weights[unused] == before[unused]).all()
    assert (weights != before).any()


def test_self_play_results_belong_to_the_player_to_move(game):
    config = Config(positions=2000, depth=1, exploration=0, workers=0)
    sample = tune.play_games(game, game.evaluations["standard"].weights, config, 3)
    assert len(sample.positions) == len(sample.results) > 500
    assert set(sample.results) <= {0, 0.5, 1}
    # The search plays immediate wins.
    for row, result in zip(sample.positions, sample.results, strict=True):
        position = type(game.initial)(*row)
        wins = [
            turn
            for turn in game.turns(position)
            if game.outcome(game.play_turn(position, turn)) == game.to_move(position)
        ]
        assert not wins or result == 1


@pytest.mark.slow
def test_one_round_improves_zero_weights():
    game = make_game("capture_conquer", size=5)
    config = Config(rounds=1, positions=10_000, games=60, depth=2, exploration=0.3, workers=0)
    zero_weights = with_weights(game, np.zeros(len(game.evaluations["standard"].weights)))
    (result,) = tune.tune(zero_weights, config)
    assert result.is_adopted
    assert result.score.low > 0.5
    assert not {"new", "best"} & set(PLAYERS)


def test_game_without_weights_is_rejected(game):
    published = {"published": game.evaluations["published"]}
    bare = game.replace(evaluations=published)
    with pytest.raises(BadOption, match="capture_conquer has no evaluation with weights"):
        next(tune.tune(bare, Config()))


@pytest.mark.parametrize("change", [{"positions": 10}, {"depth": 0}, {"exploration": 2}])
def test_settings_out_of_range_are_rejected(change):
    with pytest.raises(BadOption, match=next(iter(change))):
        Config(**change)
