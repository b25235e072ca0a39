"""Tables of a small board, solved for a test."""

from cc_env.games.factory import make_game
from cc_env.solver import solver

SMALL = make_game("capture_conquer", size=4)


def solve(game, folder, pieces, **options):
    """Solve all materials with these pieces, such as "2v2"; return the paths of the tables."""
    steps = solver.plan(game, folder, pieces)
    for step in steps:
        solver.Solver(game, step, **options).solve()
    return [step.path for step in steps]
