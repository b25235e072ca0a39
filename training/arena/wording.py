"""Formats of numbers and the summary, for the terminal and the report."""

from cc_env.match.confidence import Interval
from training.arena.standings import Standings


def summary(standings: Standings) -> str:
    """Return a sentence that names the strongest player and the confidence in this result."""
    best, second, *_ = standings.players
    tally = standings.pair(best.name, second.name).tally
    scores = f"{best.name} scores {percent(tally.score.value)} against {second.name}"
    scores += f" ({interval(tally.score)} with 95 % confidence)"
    if tally.score.low > 0.5:
        verdict = f"{best.name} is stronger"
    elif tally.score.high < 0.5:
        verdict = f"{second.name} is stronger in this match; {best.name} leads by its other games"
    else:
        verdict = "more games are needed to decide who is stronger"
    return f"{scores}: {verdict}."


def percent(value: float) -> str:
    """Return a score, 0 to 1, as a percentage."""
    return f"{value:.1%}".replace("%", " %")


def interval(score: Interval) -> str:
    """Return the bounds of a score as percentages."""
    return f"{100 * score.low:.1f} – {100 * score.high:.1f} %"


def elo(rating: Interval) -> str:
    """Return an Elo rating with half the width of its interval."""
    return f"{rating.value:+.0f} ± {(rating.high - rating.low) / 2:.0f}".replace("-", "−")


def milliseconds(seconds: float) -> str:
    """Return a time in milliseconds with about three digits."""
    value = 1000 * seconds
    return f"{value:,.{max(0, 2 - len(str(int(value))) + (value < 1))}f} ms"
