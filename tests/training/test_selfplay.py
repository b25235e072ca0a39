"""Self-play guided by tree search."""

from dataclasses import replace

import numpy as np
import pytest

from cc_env.errors import BadOption, TrainingDiverged, UnknownOption
from cc_env.games.factory import make_game
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player
from training.selfplay.worker import SelfPlaySettings, SelfPlayWorker

SETTINGS = SelfPlaySettings(boards=16, simulations=8, considered=4, value_mix=0, opponents_share=0)


@pytest.fixture(scope="module")
def game_4x4():
    return make_game("capture_conquer", size=4)


def uniform(planes):
    return np.zeros((len(planes), 2000), np.float32), np.zeros(len(planes), np.float32)


def test_samples_have_legal_actions_and_normalized_targets(game_4x4):
    samples, tally = SelfPlayWorker(game_4x4, SETTINGS, 0).play(uniform, 60)
    assert tally.decisions == 16 * 60
    assert tally.games > 16
    assert 0 < len(samples.values) <= tally.decisions
    for row in range(len(samples.values)):
        position = game_4x4.make_position(samples.positions[row])
        actions = samples.actions[row]
        assert sorted(actions[actions >= 0]) == game_4x4.legal_actions(position).tolist()
        assert samples.targets[row].sum() == pytest.approx(1, abs=0.01)


def test_values_are_results_for_the_player_to_move(game_4x4):
    samples, tally = SelfPlayWorker(game_4x4, SETTINGS, 0).play(uniform, 60)
    assert set(samples.values) <= {-1.0, 0.0, 1.0}
    # The last decision of a won game is the winner's, and wins.
    positions = [game_4x4.make_position(row) for row in samples.positions]
    winning = 0
    for position, value in zip(positions, samples.values, strict=True):
        actions = map(int, game_4x4.legal_actions(position))
        outcomes = {game_4x4.outcome(game_4x4.apply(position, action)) for action in actions}
        if game_4x4.to_move(position) in outcomes:
            # The search finds the win.
            assert value == 1
            winning += 1
    assert winning >= tally.games - tally.draws


def test_values_mix_results_and_search_values(game_4x4):
    results, means, search_values = (
        SelfPlayWorker(game_4x4, replace(SETTINGS, value_mix=mix), 0).play(uniform, 60)[0].values
        for mix in (0, 0.5, 1)
    )
    assert ((search_values > -1) & (search_values < 1)).mean() > 0.3
    np.testing.assert_allclose(means, (results + search_values) / 2, atol=1e-6)


def test_games_start_with_random_turns(game_4x4):
    settings = SelfPlaySettings(boards=64, simulations=2, considered=2, max_opening_turns=3)
    play = SelfPlayWorker(game_4x4, settings, 0)
    starts = {tuple(row) for row in play._boards.positions.tolist()}
    assert len(starts) > 10
    assert tuple(map(int, game_4x4.initial)) in starts


def test_same_seed_gives_the_same_games(game_4x4):
    runs = [SelfPlayWorker(game_4x4, SETTINGS, seed).play(uniform, 40)[0] for seed in (1, 1, 2)]
    for column, other in zip(runs[0], runs[1], strict=True):
        np.testing.assert_array_equal(column, other)
    assert not np.array_equal(runs[0].positions[:50], runs[2].positions[:50])


def test_endless_games_are_drawn(game):
    settings = SelfPlaySettings(
        boards=8, simulations=2, considered=2, max_turns=3, max_opening_turns=0
    )
    _, tally = SelfPlayWorker(game, settings, 0).play(uniform, 6)
    assert tally.games >= 8
    assert tally.draws == tally.games
    assert tally.turns == 3 * tally.games


def test_tally_counts_evaluations_and_time(game_4x4):
    _, tally = SelfPlayWorker(game_4x4, SETTINGS, 0).play(uniform, 5)
    assert 0 < tally.network_seconds + tally.search_seconds < tally.seconds
    assert 0 < tally.evaluated <= tally.decisions * 9
    both = tally + tally
    assert both.decisions == 2 * tally.decisions


def test_searches_receive_earlier_positions(game_4x4, monkeypatch):
    play = SelfPlayWorker(game_4x4, SETTINGS, 0)
    searches, restart = [], play._trees.restart

    def record_search(rows, rng, *, earlier, **rest):
        searches.append((rows.copy(), earlier.copy()))
        restart(rows, rng, earlier=earlier)

    monkeypatch.setattr(play._trees, "restart", record_search)
    play.play(uniform, 12)
    (before, _), (rows, earlier) = searches[-2:]
    long = np.flatnonzero((earlier != 0).sum(1) > 3)
    assert len(long)
    for board in long:
        positions = [game_4x4.make_position(words[board]) for words in (before, rows)]
        # Positions within a turn are not counted.
        keys = [game_4x4.key(each) for each in positions if not game_4x4.mid_turn(each)]
        assert set(keys) <= set(earlier[board])


def test_cached_evaluations_survive_between_calls(game_4x4):
    single, repeated = SelfPlayWorker(game_4x4, SETTINGS, 0), SelfPlayWorker(game_4x4, SETTINGS, 0)
    _, whole = single.play(uniform, 12)
    parts = [repeated.play(uniform, 1)[1] for _ in range(12)]
    assert sum(part.evaluated for part in parts) == whole.evaluated
    # Another network clears the cache.
    _, other = repeated.play(lambda planes: uniform(planes), 1)
    assert other.evaluated > max(part.evaluated for part in parts[-3:])


def test_opponents_decide_in_their_share_of_games(game_4x4, monkeypatch):
    settings = replace(SETTINGS, opponents=("minimax:depth=2",), opponents_share=0.5)
    play = SelfPlayWorker(game_4x4, settings, 0)
    minimax, step = make_player("minimax:depth=2", game_4x4), play._boards.step
    decided = []

    def record_actions(actions):
        for board, seat in enumerate(play._games.opponent_seats):
            if seat == play._boards.to_move[board]:
                position = play._boards.position(board)
                action = minimax.choose(position, play._rng, Clock()).action
                decided.append(actions[board] == action)
        step(actions)

    monkeypatch.setattr(play._boards, "step", record_actions)
    _, tally = play.play(uniform, 60)
    assert all(decided)
    assert len(decided) == pytest.approx(tally.decisions / 4, rel=0.3)
    assert tally.opponent_games == pytest.approx(tally.games / 2, rel=0.4)
    assert tally.points / tally.opponent_games < 0.4


def test_simulations_grow_during_a_run(game_4x4):
    settings = replace(SETTINGS, simulations=4, last_simulations=64)
    simulations = [settings.simulations_at(progress) for progress in (0, 0.25, 0.5, 1, 1.1)]
    assert simulations == [4, 8, 16, 64, 64]
    assert replace(settings, last_simulations=None).simulations_at(0.7) == 4
    evaluated = [
        SelfPlayWorker(game_4x4, settings, 0).play(uniform, 4, count)[1].evaluated
        for count in simulations[:4]
    ]
    assert evaluated == sorted(set(evaluated))
    assert SelfPlayWorker(game_4x4, settings, 0).play(uniform, 4)[1].evaluated == evaluated[0]


def test_zero_simulations_at_the_end_are_rejected():
    with pytest.raises(BadOption, match="last_simulations=0"):
        replace(SETTINGS, last_simulations=0)


def test_stop_ends_play_after_the_current_decisions(game_4x4):
    play = SelfPlayWorker(game_4x4, SETTINGS, (0,))
    batches = []

    def evaluate_and_stop(planes):
        batches.append(len(planes))
        play.stop()
        return uniform(planes)

    play.play(evaluate_and_stop, 1000)
    assert len(batches) <= SETTINGS.simulations + 1


@pytest.mark.parametrize("output", [0, 1])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("delay", [0, 5])
def test_non_finite_network_outputs_raise(game_4x4, output, value, delay):
    play, batches = SelfPlayWorker(game_4x4, SETTINGS, (0,)), []

    def evaluate(planes):
        batches.append(len(planes))
        outputs = uniform(planes)
        if len(batches) > delay:
            outputs[output].flat[-1] = value
        return outputs

    with pytest.raises(
        TrainingDiverged, match=r"^the outputs of the network are no longer finite, probably"
    ):
        play.play(evaluate, 3)


def test_without_opponents_all_games_are_self_play(game_4x4):
    settings = replace(SETTINGS, opponents=(), opponents_share=0)
    assert SelfPlayWorker(game_4x4, settings, 0).play(uniform, 30)[1].opponent_games == 0
    with pytest.raises(BadOption, match="name some, or set it to 0"):
        replace(settings, opponents_share=0.1)
    with pytest.raises(UnknownOption, match="no player 'nobody'"):
        replace(settings, opponents=("nobody",))
