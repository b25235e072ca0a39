"""Puzzles: positions with a task whose answer is proven."""

from cc_env.puzzles.attempt import Attempt
from cc_env.puzzles.puzzle import Puzzle, shipped_puzzles
from cc_env.puzzles.solve_rate import solve_rate

__all__ = ["Attempt", "Puzzle", "shipped_puzzles", "solve_rate"]
