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
def small():
    return make_game("capture_conquer", size=4)


def even(planes):
    return np.zeros((len(planes), 2000), np.float32), np.zeros(len(planes), np.float32)


def test_samples_are_decisions_of_whole_games(small):
    samples, tally = SelfPlayWorker(small, SETTINGS, 0).play(even, 60)
    assert tally.decisions == 16 * 60
    assert tally.games > 16
    assert 0 < len(samples.values) <= tally.decisions
    for row in range(len(samples.values)):
        position = small.make_position(samples.positions[row])
        actions = samples.actions[row]
        assert sorted(actions[actions >= 0]) == small.legal_actions(position).tolist()
        assert samples.targets[row].sum() == pytest.approx(1, abs=0.01)


def test_values_are_results_to_the_player_to_move(small):
    samples, tally = SelfPlayWorker(small, SETTINGS, 0).play(even, 60)
    assert set(samples.values) <= {-1.0, 0.0, 1.0}
    # The last decision of a won game is the winner's, and wins.
    positions = [small.make_position(row) for row in samples.positions]
    winning = 0
    for position, value in zip(positions, samples.values, strict=True):
        actions = map(int, small.legal_actions(position))
        outcomes = {small.outcome(small.apply(position, action)) for action in actions}
        if small.to_move(position) in outcomes:
            assert value == 1  # the search sees it, and plays it
            winning += 1
    assert winning >= tally.games - tally.draws


def test_values_mix_the_result_with_what_the_search_said(small):
    mixed = SelfPlayWorker(small, replace(SETTINGS, value_mix=1), 0)
    values = mixed.play(even, 60)[0].values
    assert ((values > -1) & (values < 1)).mean() > 0.3


def test_games_begin_with_random_turns(small):
    settings = SelfPlaySettings(boards=64, simulations=2, considered=2, opening_turns=3)
    play = SelfPlayWorker(small, settings, 0)
    starts = {tuple(row) for row in play._boards.positions.tolist()}
    assert len(starts) > 10
    assert tuple(map(int, small.initial)) in starts


def test_the_same_seed_plays_the_same(small):
    runs = [SelfPlayWorker(small, SETTINGS, seed).play(even, 40)[0] for seed in (1, 1, 2)]
    for column, other in zip(runs[0], runs[1], strict=True):
        np.testing.assert_array_equal(column, other)
    assert not np.array_equal(runs[0].positions[:50], runs[2].positions[:50])


def test_endless_games_are_drawn(game):
    settings = SelfPlaySettings(boards=8, simulations=2, considered=2, max_turns=3, opening_turns=0)
    _, tally = SelfPlayWorker(game, settings, 0).play(even, 6)
    assert tally.games >= 8
    assert tally.draws == tally.games
    assert tally.turns == 3 * tally.games


def test_the_tally_says_what_it_cost(small):
    _, tally = SelfPlayWorker(small, SETTINGS, 0).play(even, 5)
    assert 0 < tally.network_seconds + tally.search_seconds < tally.seconds
    assert 0 < tally.evaluated <= tally.decisions * 9
    both = tally + tally
    assert both.decisions == 2 * tally.decisions


def test_searches_know_the_positions_of_their_games(small, monkeypatch):
    play = SelfPlayWorker(small, SETTINGS, 0)
    begun, begin = [], play._trees.restart

    def spy(rows, rng, *, earlier, **rest):
        begun.append((rows.copy(), earlier.copy()))
        begin(rows, rng, earlier=earlier)

    monkeypatch.setattr(play._trees, "restart", spy)
    play.play(even, 12)
    (before, _), (rows, earlier) = begun[-2:]
    long = np.flatnonzero((earlier != 0).sum(1) > 3)
    assert len(long)
    for board in long:
        keys = [small.key(small.make_position(words[board])) for words in (before, rows)]
        assert set(keys) <= set(earlier[board])


def test_a_network_is_asked_once_however_decisions_are_cut(small):
    at_once, cut = SelfPlayWorker(small, SETTINGS, 0), SelfPlayWorker(small, SETTINGS, 0)
    _, whole = at_once.play(even, 12)
    parts = [cut.play(even, 1)[1] for _ in range(12)]
    assert sum(part.evaluated for part in parts) == whole.evaluated
    _, other = cut.play(
        lambda planes: even(planes), 1
    )  # what another network says is another thing
    assert other.evaluated > max(part.evaluated for part in parts[-3:])


def test_opponents_decide_in_their_share_of_the_games(small, monkeypatch):
    settings = replace(SETTINGS, opponents=("minimax:depth=2",), opponents_share=0.5)
    play = SelfPlayWorker(small, settings, 0)
    minimax, step = make_player("minimax:depth=2", small), play._boards.step
    decided = []

    def spy(actions):
        for board, seat in enumerate(play._opponents.seats):
            if seat == play._boards.to_move[board]:
                position = play._boards.position(board)
                chosen = minimax.choose(position, play._rng, Clock()).action
                decided.append(actions[board] == chosen)
        step(actions)

    monkeypatch.setattr(play._boards, "step", spy)
    _, tally = play.play(even, 60)
    assert all(decided)
    assert len(decided) == pytest.approx(tally.decisions / 4, rel=0.3)
    assert tally.opponent_games == pytest.approx(tally.games / 2, rel=0.4)
    assert tally.points / tally.opponent_games < 0.4  # without a network it loses


def test_searches_become_longer_in_the_course_of_a_run(small):
    settings = replace(SETTINGS, simulations=4, last_simulations=64)
    asked = [settings.simulations_at(progress) for progress in (0, 0.25, 0.5, 1, 1.1)]
    assert asked == [4, 8, 16, 64, 64]
    assert replace(settings, last_simulations=None).simulations_at(0.7) == 4
    evaluated = [
        SelfPlayWorker(small, settings, 0).play(even, 4, simulations)[1].evaluated
        for simulations in asked[:4]
    ]
    assert evaluated == sorted(set(evaluated))
    assert SelfPlayWorker(small, settings, 0).play(even, 4)[1].evaluated == evaluated[0]
    with pytest.raises(BadOption, match="last_simulations=0"):
        replace(settings, last_simulations=0)


def test_it_stops_after_the_decisions_of_now(small):
    play = SelfPlayWorker(small, SETTINGS, (0,))
    asked = []

    def stopping(planes):
        asked.append(len(planes))
        play.stop()
        return even(planes)

    play.play(stopping, 1000)
    assert len(asked) <= SETTINGS.simulations + 1


def test_numbers_that_are_not_finite_are_not_a_policy(small):
    play = SelfPlayWorker(small, SETTINGS, (0,))

    def broken(planes):
        return tuple(np.full_like(array, np.nan) for array in even(planes))

    with pytest.raises(TrainingDiverged, match="values are not finite"):
        play.play(broken, 3)


def test_without_opponents_all_meet_themselves(small):
    settings = replace(SETTINGS, opponents=(), opponents_share=0)
    assert SelfPlayWorker(small, settings, 0).play(even, 30)[1].opponent_games == 0
    with pytest.raises(BadOption, match="name some, or set it to 0"):
        replace(settings, opponents_share=0.1)
    with pytest.raises(UnknownOption, match="no player 'nobody'"):
        replace(settings, opponents=("nobody",))
