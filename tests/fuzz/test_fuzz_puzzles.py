"""Altered files of puzzles are rejected or usable."""

import pytest
from fuzz.harness import call_or_reject
from fuzz.mutations import lines
from hypothesis import given

from cc_env.games.factory import make_game
from cc_env.puzzles.proof import check_proof
from cc_env.puzzles.puzzle import HARD, PEOPLE, SHIPPED, puzzle_path, read_puzzles

SETS = {"hard": (HARD, {"size": 4}), "people": (PEOPLE, {})}


@pytest.mark.parametrize("name", SETS)
def test_altered_puzzles_raise_only_cc_env_errors(name, tmp_path):
    kind, options = SETS[name]
    game, path = make_game("capture_conquer", **options), tmp_path / "puzzles.jsonl"
    good = puzzle_path(SHIPPED, game, kind).read_text().splitlines()[:3]

    @given(lines(good))
    def fuzz(line):
        path.write_text(f"{good[0]}\n{line}", "utf-8", "surrogatepass")
        for puzzle in call_or_reject(read_puzzles, path, game) or ():
            for turn in puzzle.solutions:
                game.play_turn(puzzle.position, turn)
            if puzzle.proof:
                call_or_reject(check_proof, game, puzzle)

    fuzz()
