"""Themes of a puzzle, read from its main line: the solution against the longest defense.

A win adds the name of its ending (`Game.endings`), such as `end: conquest`.
"""

from collections.abc import Sequence

from cc_env.core.game import Game, Turn
from cc_env.core.rules import ONGOING
from cc_env.puzzles.puzzle import END, THEMES, Puzzle

# What a theme means; those of `puzzle.THEMES`.
THEME_NOTES = {
    "quiet": "the first turn neither captures nor reaches the goal",
    "capture": "the first turn captures",
    "chain": "a turn of the attacker passes at least two cells before its last",
    "multiple": "a turn of the attacker captures at least two pieces",
    "sacrifice": "the defender captures a piece before the goal",
    "forced": "every reply of the defender is the only legal one",
    "only move": "a single first turn reaches the goal",
    "mill": "the attacker closes a mill",
    "shot": "a cannon of the attacker shoots",
}


def themes_of(game: Game, puzzle: Puzzle, line: Sequence[Turn]) -> tuple[str, ...]:
    """Return the themes of a puzzle with this main line, in the order of THEMES."""
    position, found = puzzle.position, set[str]()
    is_forced = len(line) > 1
    for number, turn in enumerate(line):
        path, captured = game.track(position, turn)
        if number % 2 == 0:
            if number == 0:
                found |= {"capture"} if captured else {"quiet"} if len(line) > 1 else set()
            found |= {"chain"} if len(path) > 2 else set()
            found |= {"multiple"} if len(captured) > 1 else set()
            found |= {"mill"} if game.name == "morris" and captured else set()
            found |= {"shot"} if any(game.shooters(position, action) for action in turn) else set()
        else:
            found |= {"sacrifice"} if captured else set()
            is_forced &= sum(1 for _ in game.turns(position)) == 1
        position = game.play_turn(position, turn)
    found |= {"forced"} if is_forced else set()
    found |= {"only move"} if len(puzzle.solutions) == 1 else set()
    ending = (f"{END}{game.ending(position)}",) if game.outcome(position) != ONGOING else ()
    return tuple(theme for theme in THEMES if theme in found) + ending
