"""The rating of a puzzle, in the Elo of the game's ladder, and the puzzle of the day."""

import datetime
from collections.abc import Sequence

from cc_env.core.game import Game
from cc_env.games.factory import make_game
from cc_env.ladder.rungs import Rung, rungs
from cc_env.puzzles.puzzle import Puzzle, shipped_puzzles
from cc_env.registry.catalogue import GAMES

# The daily puzzle is one that takes no more own turns.
MAX_DAILY_TURNS = 3
# A prime that is greater than every number of puzzles, so that all of them have their day.
_STRIDE = 7919
# Elo beyond the ladder, and the accuracy of a rating.
_ELO_MARGIN, _ELO_STEP = 1000.0, 0.5


def puzzle_rating(puzzle: Puzzle, ladder: Sequence[Rung]) -> int:
    """Return the Elo at which as many levels of the ladder fail as are expected to.

    Each level is regarded as having played one game against the puzzle. If none or all failed, the
    rating is that of one failure, and half a failure less than all, so that it is finite.

    Examples:

        >>> import cc_env
        >>> from cc_env.ladder import rungs
        >>> from cc_env.puzzles import shipped_puzzles
        >>> from cc_env.puzzles.difficulty import puzzle_rating
        >>> game = cc_env.make_game("capture_conquer")
        >>> puzzle = shipped_puzzles(game)[59]
        >>> len(puzzle.failing_rungs), puzzle_rating(puzzle, rungs(game)) > 0
        (3, True)
    """
    elos = [rung.elo.value for rung in ladder]
    failed = min(max(len(puzzle.failing_rungs), 1), len(elos) - 0.5)
    low, high = min(elos) - _ELO_MARGIN, max(elos) + _ELO_MARGIN
    while high - low > _ELO_STEP:
        middle = (low + high) / 2
        if sum(expected_score(middle, elo) for elo in elos) < failed:
            low = middle
        else:
            high = middle
    return round((low + high) / 2)


def expected_score(elo: float, other: float) -> float:
    """Return the score that a player with an Elo is expected to have against another, 0 to 1."""
    return float(1 / (1 + 10 ** ((other - elo) / 400)))


def daily_puzzle(date: datetime.date) -> tuple[Game, Puzzle]:
    """Return the puzzle of a day: every day another game, and of each game another puzzle."""
    names = list(GAMES)
    day = date.toordinal()
    game = make_game(names[day % len(names)])
    puzzles = [puzzle for puzzle in shipped_puzzles(game) if puzzle.turns <= MAX_DAILY_TURNS]
    return game, puzzles[day // len(names) * _STRIDE % len(puzzles)]


def describe_difficulty(puzzle: Puzzle, game: Game) -> str:
    """Return the number of the ladder's opponents that fail, such as "3 of 8 opponents fail"."""
    return f"{len(puzzle.failing_rungs)} of {len(rungs(game))} opponents fail"
