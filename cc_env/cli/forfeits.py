"""Warnings of players that forfeit games, puzzles or tasks."""

from collections.abc import Sequence

from cc_env.errors import describe_forfeits
from cc_env.output import Terminal

console = Terminal()


def warn_of_forfeits(player: str, faults: Sequence[str], total: int, noun: str) -> bool:
    """Print a warning if a player has faults; return whether it has one in all games or tasks.

    `faults` are their reasons, `total` is the number of games or tasks, and `noun` names one.
    """
    if faults:
        console.print(f"warning: {describe_forfeits(player, faults, total, noun)}")
    return len(faults) == total
