"""The shipped puzzles: every proof by the rules alone, and by another search."""

from dataclasses import replace

import pytest

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
MAX_TURNS = 5


@pytest.fixture(scope="module", params=NUMBERS)
def game(request):
    return make_game(request.param)


def sample(game, count):
    puzzles = shipped_puzzles(game)
    return puzzles[:: max(1, len(puzzles) // count)]


def wins_within(game, search, position, turns):
    """Return whether alpha-beta proves that the player to move wins within its own turns."""
    if not turns:
        return False
    result = search.search(position, depth=2 * turns - 1)
    if result.score is not None:
        return result.score >= PROVEN
    # A single legal action is not searched.
    after = game.apply(position, result.action)
    if game.outcome(after) != ONGOING:
        return game.outcome(after) == game.to_move(position)
    if game.mid_turn(after):
        return wins_within(game, search, after, turns)
    return turns > 1 and all(
        game.outcome(answered) == game.to_move(position)
        if game.outcome(answered) != ONGOING
        else wins_within(game, search, answered, turns - 1)
        for reply in game.turns(after)
        for answered in [game.play_turn(after, reply)]
    )


def test_sets_are_large_distinct_and_ordered(game):
    puzzles = shipped_puzzles(game)
    assert len(puzzles) >= NUMBERS[game.name]
    assert len({canonical_text(game, puzzle.position) for puzzle in puzzles}) == len(puzzles)
    assert [puzzle.number for puzzle in puzzles] == list(range(1, len(puzzles) + 1))
    failures = [len(puzzle.failed) for puzzle in puzzles]
    assert failures == sorted(failures)
    levels = len(rungs(game))
    assert all(level <= levels for puzzle in puzzles for level in puzzle.failed)


def test_puzzles_are_for_people(game):
    for puzzle in shipped_puzzles(game):
        turns = list(game.turns(puzzle.position))
        assert MIN_TURNS <= puzzle.turns <= MAX_TURNS
        assert len(puzzle.solutions) <= MAX_SOLUTIONS
        assert len(turns) >= len(puzzle.solutions) + MIN_ALTERNATIVES
        assert puzzle.task == WIN or (game.name == "morris" and puzzle.task == CAPTURE)


@pytest.mark.slow
def test_every_proof_reaches_the_goal_over_all_replies(game):
    for puzzle in shipped_puzzles(game):
        check_proof(game, puzzle)


def test_sampled_proofs_reach_the_goal_over_all_replies(game):
    for puzzle in sample(game, 10):
        check_proof(game, puzzle)


def check_by_alpha_beta(game, puzzles):
    search = AlphaBeta(game)
    for puzzle in puzzles:
        if puzzle.task != WIN:
            continue
        assert wins_within(game, search, puzzle.position, puzzle.turns)
        assert not wins_within(game, search, puzzle.position, puzzle.turns - 1)
        for turn in game.turns(puzzle.position):
            after = game.play_turn(puzzle.position, turn)
            is_won = game.outcome(after) == ONGOING and all(
                is_goal(game, puzzle, answered)
                or (
                    game.outcome(answered) == ONGOING
                    and wins_within(game, search, answered, puzzle.turns - 1)
                )
                for reply in game.turns(after)
                for answered in [game.play_turn(after, reply)]
            )
            assert is_won == (turn in puzzle.solutions)


@pytest.mark.slow
def test_alpha_beta_finds_the_same_solutions_and_none_shorter(game):
    check_by_alpha_beta(game, [p for p in sample(game, 40) if p.turns <= 4])


def test_alpha_beta_finds_the_solutions_of_short_puzzles(game):
    check_by_alpha_beta(game, [p for p in sample(game, 30) if p.turns == 2][:3])


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
        with pytest.raises(BadRecord, match=r"has no turn in '"):
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
@pytest.mark.parametrize("name", ["capture_conquer", "mini_checkers", "checkers", "cannon"])
def test_lower_levels_solve_fewer_puzzles_than_those_two_above(name):
    game = make_game(name)
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
            assert (share < 0.5) == (rung.level in puzzle.failed)
