"""The shipped puzzles: every proof by the rules alone, and by another search."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from puzzles.morris_search import ForcedGoal, successors

from cc_env.core.rules import ONGOING
from cc_env.errors import BadRecord
from cc_env.games.factory import make_game
from cc_env.ladder import rungs
from cc_env.puzzles import shipped_puzzles, solve_rate
from cc_env.puzzles.judge import Judge
from cc_env.puzzles.proof import check_proof, is_goal
from cc_env.puzzles.puzzle import CAPTURE, SHIPPED, WIN
from cc_env.puzzles.themes import themes_of
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.scores import PROVEN
from training.experiments.puzzles import (
    ATTEMPTS,
    MAX_SOLUTIONS,
    MIN_ALTERNATIVES,
    MIN_TURNS,
    canonical_text,
)

# Least number of puzzles by game.
NUMBERS = {
    "capture_conquer": 300,
    "mini_checkers": 300,
    "checkers": 150,
    "cannon": 100,
    "morris": 100,
}
# Own turns.
MAX_TURNS = 5
# Games with wins in one turn.
ONE_TURN = {"morris"}


@pytest.fixture(scope="module", params=NUMBERS)
def game(request):
    return make_game(request.param)


def sample(game, count):
    puzzles = shipped_puzzles(game)
    return puzzles[:: max(1, len(puzzles) // count)]


def test_sets_are_large_distinct_and_ordered(game):
    puzzles = shipped_puzzles(game)
    assert len(puzzles) >= NUMBERS[game.name]
    assert len({canonical_text(game, puzzle.position) for puzzle in puzzles}) == len(puzzles)
    assert [puzzle.number for puzzle in puzzles] == list(range(1, len(puzzles) + 1))
    failures = [len(puzzle.failing_rungs) for puzzle in puzzles]
    assert failures == sorted(failures)
    levels = len(rungs(game))
    assert all(level <= levels for puzzle in puzzles for level in puzzle.failing_rungs)


def test_puzzles_are_for_people(game):
    for puzzle in shipped_puzzles(game):
        decisions = {turn[0] for turn in puzzle.solutions}
        has_one_turn = game.name in ONE_TURN and puzzle.task == WIN
        assert (1 if has_one_turn else MIN_TURNS) <= puzzle.turns <= MAX_TURNS
        assert len(decisions) <= MAX_SOLUTIONS
        assert len(game.legal_actions(puzzle.position)) >= len(decisions) + MIN_ALTERNATIVES
        assert puzzle.task == WIN or (game.name == "morris" and puzzle.task == CAPTURE)


@pytest.mark.slow
def test_every_proof_reaches_the_goal_over_all_replies(game):
    for puzzle in shipped_puzzles(game):
        check_proof(game, puzzle)


def test_sampled_proofs_reach_the_goal_over_all_replies(game):
    for puzzle in sample(game, 10):
        check_proof(game, puzzle)


def forces_win(game, search, position, attacker, turns):
    """Return whether alpha-beta proves that the attacker wins within its own turns."""
    if game.outcome(position) != ONGOING:
        return game.outcome(position) == attacker
    if turns <= 0:
        return False
    is_attack = game.to_move(position) == attacker
    result = search.search(position, depth=2 * turns - is_attack)
    if result.score is not None:
        return (result.score if is_attack else -result.score) >= PROVEN
    # A single legal action is not searched.
    after = game.apply(position, result.action)
    is_finished = is_attack and not game.mid_turn(after)
    return forces_win(game, search, after, attacker, turns - is_finished)


def check_by_alpha_beta(game, search, puzzle):
    position, attacker = puzzle.position, game.to_move(puzzle.position)
    assert not forces_win(game, search, position, attacker, puzzle.turns - 1)
    for turn, after in game.finished_turns(position):
        is_won = forces_win(game, search, after, attacker, puzzle.turns - 1)
        assert is_won == (turn in puzzle.solutions)


def sides(position):
    """Return a position of morris in the form of `ForcedGoal`."""
    own, enemy, own_hand, enemy_hand, own_is_free, enemy_is_free, *_ = map(int, position)
    return (own, own_hand, bool(own_is_free)), (enemy, enemy_hand, bool(enemy_is_free))


def check_by_plain_search(game, puzzle):
    position = sides(puzzle.position)
    goal = ForcedGoal(position, puzzle.task == CAPTURE)
    assert not goal.can_force(position, puzzle.turns - 1)
    reaching = {after for after in successors(position) if goal.reaches(after, puzzle.turns - 1)}
    assert reaching == {sides(game.play_turn(puzzle.position, turn)) for turn in puzzle.solutions}


@pytest.fixture(scope="module")
def check(game):
    """Return a function that checks the solutions of a puzzle, and that nothing is shorter.

    It uses another search than that of the proofs.
    """
    if game.name == "morris":
        return partial(check_by_plain_search, game)
    return partial(check_by_alpha_beta, game, AlphaBeta(game))


@pytest.mark.slow
def test_another_search_finds_the_same_solutions_and_none_shorter(game, check):
    for puzzle in shipped_puzzles(game):
        check(puzzle)


def test_another_search_finds_the_solutions_of_sampled_puzzles(game, check):
    puzzles = shipped_puzzles(game)
    for index in np.random.default_rng(0).permutation(len(puzzles))[:15]:
        check(puzzles[index])


def test_another_search_rejects_other_solutions_and_numbers_of_turns(game, check):
    for puzzle in sample(game, 3):
        wrong = next(turn for turn in game.turns(puzzle.position) if turn not in puzzle.solutions)
        for change in (
            {"solutions": ()},
            {"solutions": (*puzzle.solutions, wrong)},
            {"turns": puzzle.turns - 1},
            {"turns": puzzle.turns + 1},
        ):
            with pytest.raises(AssertionError):
                check(replace(puzzle, **change))


def mutations(puzzle):
    """Yield altered proofs of a puzzle."""
    proof = puzzle.proof
    yield proof[:-1]
    yield (*proof, 0)
    yield proof[1:]
    for index in range(min(len(proof), 12)):
        for number in (proof[index] + 1, proof[index] - 1, 10_000):
            yield (*proof[:index], number, *proof[index + 1 :])


def rejection(game, puzzle):
    """Return the reason why a proof is rejected, "" if it is valid."""
    try:
        check_proof(game, puzzle)
    except BadRecord as error:
        return str(error)
    return ""


def test_altered_proofs_are_rejected_unless_they_prove_the_goal_too(game):
    for puzzle in sample(game, 3):
        reasons = [rejection(game, replace(puzzle, proof=proof)) for proof in mutations(puzzle)]
        assert sum(map(bool, reasons)) > len(reasons) / 3
        assert all(reason.startswith("the proof ") for reason in reasons if reason)
        with pytest.raises(BadRecord, match="takes more than"):
            check_proof(game, replace(puzzle, turns=puzzle.turns - 1))
        with pytest.raises(BadRecord, match=r"has no turn in '|is missing"):
            check_proof(game, replace(puzzle, proof=puzzle.proof[:-1]))
        with pytest.raises(BadRecord, match="the proof has 1 number too many"):
            check_proof(game, replace(puzzle, proof=(*puzzle.proof, 0)))


def test_themes_are_those_of_the_line(game):
    for puzzle in sample(game, 5):
        line = Judge(game, puzzle).main_line()
        assert len(line) <= 2 * puzzle.turns
        assert themes_of(game, puzzle, line) == puzzle.themes
        position = puzzle.position
        for turn in line:
            assert not is_goal(game, puzzle, position)
            position = game.play_turn(position, turn)
        assert is_goal(game, puzzle, position)


def test_data_is_small():
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < 1_500_000


@pytest.mark.slow
def test_lower_levels_solve_fewer_puzzles_than_those_two_above(game):
    puzzles, ladder = shipped_puzzles(game), rungs(game)
    # Not the seed of the recorded failures.
    shares = [
        solve_rate(rung.spec, game, puzzles, seed=1).share.value
        for rung in ladder[: len(ladder) // 2 + 2]
    ]
    assert all(high - low >= 0.1 for low, high in zip(shares, shares[2:], strict=False))


def test_recorded_failures_are_those_of_most_attempts(game):
    for puzzle in sample(game, 8):
        for rung in rungs(game)[:4]:
            share = solve_rate(rung.spec, game, [puzzle] * ATTEMPTS).share.value
            assert (share < 0.5) == (rung.level in puzzle.failing_rungs)
