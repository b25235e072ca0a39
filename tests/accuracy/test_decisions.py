"""Accuracy of players, and the three sources of positions."""

import json
import math
from functools import partial

import numpy as np
import pytest
from conftest import command_line
from solved_boards import solve

from cc_env.accuracy.decisions import (
    Accuracy,
    enumerate_replies,
    keeps_value,
    measure,
    sample_from_games,
    sample_uniform,
)
from cc_env.cli.application import run
from cc_env.envs.single import BoardGameEnv
from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.envs.wrappers import ExactValues, VectorExactValues
from cc_env.errors import BadOption, BadPlayer, IllegalAction, MissingTable
from cc_env.games.factory import make_game
from cc_env.match.referee import Decision
from cc_env.players.specs import make_player
from cc_env.solver import solver
from cc_env.tablebase.tablebase import Tablebase
from training.experiments import accuracy

GAME = make_game("capture_conquer", size=4)
TABLES = Tablebase(GAME)


class Worst:
    """Gives value away wherever it can."""

    def choose(self, position, rng, clock):
        solved = TABLES.probe(position)
        return Decision(solved.actions[int(np.argmin(solved.values))])


def test_perfect_player_keeps_every_value():
    perfect = make_player("perfect", GAME)
    accuracy = measure(perfect, TABLES, sample_uniform(TABLES, 200))
    assert (accuracy.decisions, accuracy.kept.value, accuracy.kept_with_choice.value) == (200, 1, 1)
    assert not accuracy.misses


def test_players_may_be_specs_or_policy_functions():
    def first_legal(observation, info):
        assert observation.shape == GAME.observation_shape
        return info["action_mask"].argmax()

    assert measure("perfect", TABLES, sample_uniform(TABLES, 50)).kept.value == 1
    measured = measure(first_legal, TABLES, sample_uniform(TABLES, 50))
    assert [decision.action for decision in measured.graded_decisions] == [
        GAME.legal_actions(decision.position)[0] for decision in measured.graded_decisions
    ]
    assert {GAME.to_move(position) for position in enumerate_replies(TABLES, first_legal, 20)} == {
        0,
        1,
    }
    assert len(sample_from_games(TABLES, first_legal, "random", 2)) > 4


def test_object_that_is_no_player_is_rejected():
    with pytest.raises(BadPlayer, match="5 is not a player"):
        measure(5, TABLES, sample_uniform(TABLES, 50))


def test_accuracy_has_a_summary_line():
    summary = repr(measure("perfect", TABLES, sample_uniform(TABLES, 200)))
    assert summary == "<Accuracy: 100.0 % (98.1 – 100.0) of 200 decisions kept the value>"
    assert repr(Accuracy(())).endswith("of 0 decisions kept the value>")


def test_sampled_positions_can_be_measured_several_times():
    positions = sample_uniform(TABLES, 50)
    assert len(positions) == 50
    assert [measure(spec, TABLES, positions).decisions for spec in ("random", "perfect")] == [
        50,
        50,
    ]
    assert isinstance(sample_from_games(TABLES, "random", "random", 1), list)
    assert isinstance(enumerate_replies(TABLES, "random", 3), list)


@pytest.mark.parametrize("source", [list, tuple, lambda: iter(())])
def test_measuring_without_positions_is_rejected(source):
    message = (
        r"^there are no positions; expected: at least one "
        r"\(an iterator has none after its first use\)$"
    )
    with pytest.raises(BadOption, match=message):
        measure("random", TABLES, source())


def test_shares_have_intervals():
    accuracy = measure("random", TABLES, sample_uniform(TABLES, 200))
    for share in accuracy.kept, accuracy.kept_with_choice:
        assert share.low < share.value < share.high
    assert accuracy.kept_with_choice.value < accuracy.kept.value


def test_misses_lose_value():
    accuracy = measure(Worst(), TABLES, sample_uniform(TABLES, 200))
    free = [decision for decision in accuracy.graded_decisions if not decision.is_forced]
    assert 20 < len(free) < 200
    assert accuracy.kept_with_choice.value == 0
    assert accuracy.misses == free
    assert accuracy.kept.value == pytest.approx(1 - len(free) / 200)
    for decision in free:
        solved = TABLES.probe(decision.position)
        assert (decision.value, decision.turns) == (solved.value, solved.turns)
        assert decision.value_after == min(solved.values) < decision.value


def test_random_player_keeps_the_expected_share():
    accuracy = measure(
        make_player("random", GAME), TABLES, sample_uniform(TABLES, 800, seed=1), seed=2
    )
    chance = [len(solved.value_keeping) / len(solved.actions) for solved in _solved(accuracy)]
    error = 3 * math.sqrt(np.mean(np.multiply(chance, np.subtract(1, chance))) / len(chance))
    assert accuracy.kept.value == pytest.approx(np.mean(chance), abs=error)


def _solved(accuracy):
    return [TABLES.probe(decision.position) for decision in accuracy.graded_decisions]


def test_decisions_are_grouped_by_a_function():
    accuracy = measure(make_player("random", GAME), TABLES, sample_uniform(TABLES, 300))
    parts = accuracy.group_by(lambda decision: decision.value)
    assert list(parts) == [-1, 0, 1]
    assert sum(part.decisions for part in parts.values()) == 300
    assert parts[-1].kept.value == 1  # nothing is left to give away
    assert list(accuracy.group_by(lambda decision: decision.pieces)) == sorted(
        accuracy.group_by(lambda decision: decision.pieces)
    )
    assert math.isnan(Accuracy(()).kept.value)


def test_uniform_samples_cover_all_materials():
    positions = sample_uniform(TABLES, 500)
    sides = {
        tuple(sorted((int(position.own).bit_count(), int(position.enemy).bit_count())))
        for position in positions
    }
    assert {(3, 3), (2, 3), (1, 3)} <= sides
    assert all(len(GAME.legal_actions(position)) for position in positions)
    assert sample_uniform(TABLES, 500) == positions
    assert sample_uniform(TABLES, 500, seed=1) != positions


def test_game_samples_are_decisions_of_the_player():
    perfect, random = make_player("perfect", GAME), make_player("random", GAME)
    positions = sample_from_games(TABLES, perfect, random, 4, seed=5)
    assert GAME.initial in positions
    assert {int(position.player) for position in positions} == {0, 1}


def test_enumerated_positions_include_all_first_turns_of_the_opponent():
    first = make_player("minimax:depth=2", GAME)
    positions = enumerate_replies(TABLES, first, 1000)
    assert len(positions) == len(set(positions)) == 1000
    assert positions[0] == GAME.initial
    # Decisions of the second player.
    first_turns = {GAME.play_turn(GAME.initial, turn) for turn in GAME.turns(GAME.initial)}
    assert first_turns <= set(positions)
    assert enumerate_replies(TABLES, first, 7) == positions[:7]


def test_game_samples_are_distinct_and_openings_vary():
    player = make_player("minimax:depth=2", GAME)
    same = sample_from_games(TABLES, player, player, 10)
    varied = sample_from_games(TABLES, player, player, 10, max_opening_turns=4)
    assert len(set(same)) == len(same) < len(varied) == len(set(varied))
    with pytest.raises(BadOption, match="max_opening_turns=-1"):
        sample_from_games(TABLES, player, player, 1, max_opening_turns=-1)


def test_replies_require_the_value_of_the_start():
    larger = make_game("capture_conquer")
    with pytest.raises(MissingTable, match="no table has the value of '"):
        enumerate_replies(Tablebase(larger), "random", 1)


def test_uniform_samples_exclude_uncertain_values(tmp_path):
    free = make_game("checkers", no_progress_limit=None)
    for step in solver.plan(free, tmp_path, "2v1"):
        solver.Solver(free, step).solve()
    tables = Tablebase(make_game("checkers", no_progress_limit=20), tmp_path)
    positions = sample_uniform(tables, 60)
    assert len(positions) == 60
    assert all(tables.get(position) is not None for position in positions)
    assert 30 < measure("random", tables, positions).decisions < 60


def test_invalid_counts_and_empty_tables_are_rejected():
    with pytest.raises(BadOption, match="count=0; expected: an integer, 1 or more"):
        sample_uniform(TABLES, 0)
    with pytest.raises(BadOption, match="the tables have no positions"):
        sample_uniform(Tablebase(make_game("checkers")), 1)


@pytest.mark.parametrize("answer", [-1, 10**30], ids=repr)
def test_illegal_action_is_rejected_with_the_legal_ones(answer):
    assert 3 in GAME.legal_actions(GAME.initial)
    for call in (
        lambda: measure(lambda observation, info: answer, TABLES, [GAME.initial]),
        lambda: enumerate_replies(TABLES, lambda observation, info: answer, 2),
    ):
        with pytest.raises(IllegalAction, match=r"is not legal in '.*'; legal: "):
            call()


@pytest.mark.parametrize("fault", ["error", "illegal"])
def test_game_ending_by_a_fault_is_an_error(fault):
    def broken(observation, info):
        return 1 / 0 if fault == "error" else -1

    for pair in (broken, "random"), ("random", broken):
        with pytest.raises(BadPlayer, match=rf"forfeits \({fault}\): .*(division|-1)"):
            sample_from_games(TABLES, *pair, 3)


def test_invalid_seeds_and_tables_are_rejected():
    for call in (
        lambda: sample_uniform(TABLES, 1, seed=-1),
        lambda: sample_from_games(TABLES, "random", "random", 1, seed=-1),
        lambda: enumerate_replies(TABLES, "random", 1, seed=-1),
        lambda: measure("random", TABLES, [GAME.initial], seed=-1),
    ):
        with pytest.raises(BadOption, match="seed=-1"):
            call()
    with pytest.raises(BadOption, match="tables='runs'; expected: Tablebase"):
        measure("random", "runs", [GAME.initial])


def test_actions_may_be_numpy_integers():
    def first(kind):
        return lambda observation, info: kind(info["action_mask"].argmax())

    kinds = int, np.int64, np.uint8, np.array
    results = [measure(first(kind), TABLES, sample_uniform(TABLES, 50)) for kind in kinds]
    assert all(result == results[0] for result in results)
    assert all(type(decision.action) is int for decision in results[-1].graded_decisions)


def test_accuracy_command_measures_and_plots(tmp_path):
    command = "accuracy", "random", "perfect", "-o", "size=4", "--positions", 60, "--games", 2
    out = command_line(
        partial(run, accuracy.app), *command[1:], "--opponent", "random", "--out", tmp_path
    )
    assert "all positions" in out
    assert "100.0 %" in out
    results = json.loads((tmp_path / "results.json").read_text())["players"]
    assert results["perfect"]["all positions"]["kept"] == 1
    assert 0 < results["random"]["all positions"]["kept"] < 1
    assert set(results["random"]) == {
        "all positions",
        "against itself",
        "against random",
        "first replies",
        "hard positions",
    }
    misses = [json.loads(line) for line in (tmp_path / "misses.jsonl").read_text().splitlines()]
    assert {miss["player"] for miss in misses} == {"random"}
    for miss in misses[:5]:
        solved = TABLES.probe(GAME.from_text(miss["position"]))
        assert miss["was"] == {1: "won", 0: "drawn", -1: "lost"}[solved.value]
    assert results["random"]["all positions"]["interval"][0] > 0
    assert results["random"]["against random"]["interval"] is None
    assert (tmp_path / "accuracy.png").read_bytes()[:4] == b"\x89PNG"


class Fixed:
    """Plays one action."""

    def __init__(self, action):
        self.action = action

    def choose(self, position, rng, clock):
        return Decision(self.action)


@pytest.mark.slow
def test_action_of_uncertain_value_is_not_graded(tmp_path):
    """The position is won by another action, and this one leads to a win that may come too late."""
    solve(make_game("checkers", no_progress_limit=None), tmp_path, "2v1")
    game = make_game("checkers", no_progress_limit=20)
    tables = Tablebase(game, tmp_path)
    position, solved, action = next(_uncertain(tables))
    assert keeps_value(tables, position, action, solved) is None
    assert keeps_value(tables, position, solved.value_keeping[0], solved) is True
    assert not measure(Fixed(action), tables, [position]).decisions
    assert measure(Fixed(solved.value_keeping[0]), tables, [position]).kept.value == 1
    seat, start = game.to_move(position), {"position": game.to_text(position)}
    env = ExactValues(BoardGameEnv("checkers", seat=seat, no_progress_limit=20), tables)
    env.reset(options=start)
    *_, info = env.step(action)
    assert (info["keeps_value_known"], info["keeps_value"]) == (False, False)
    envs = BoardGameVectorEnv("checkers", 2, seat=seat, no_progress_limit=20)
    envs = VectorExactValues(envs, tables)
    envs.reset(options=start)
    *_, info = envs.step(np.array([action, solved.value_keeping[0]]))
    assert info["_keeps_value"].tolist() == info["keeps_value"].tolist() == [False, True]


def _uncertain(tables):
    """Yield won positions, their values, and actions of uncertain value."""
    for number in range(0, tables.sizes[4], 47):
        position = tables.position_at(4, number)
        solved = tables.get(position)
        if solved is not None and solved.value > 0:
            for action in solved.actions:
                if tables.game.apply(position, action) not in tables:
                    yield position, solved, action
