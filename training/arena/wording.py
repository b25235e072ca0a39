"""Numbers and the verdict as people read them, in the terminal and in the report."""

from training.arena.ratings import Interval
from training.arena.standings import Standings


def summary(standings: Standings) -> str:
    """Return in a sentence or two who is strongest, and how sure that is."""
    best, second, *_ = standings.players
    line = standings.pair(best.name, second.name).line
    known = f"{best.name} scores {percent(line.score.value)} against {second.name}"
    known += f" ({interval(line.score)} with 95 % confidence)"
    if line.score.low > 0.5:
        verdict = f"{best.name} is the stronger"
    elif line.score.high < 0.5:
        verdict = f"{second.name} wins that match, {best.name} leads by the other games"
    else:
        verdict = "too close to say who is stronger by so many games"
    return f"{known}: {verdict}."


def percent(value: float) -> str:
    """Return a score, 0 to 1, as per cent."""
    return f"{value:.1%}".replace("%", " %")


def interval(found: Interval) -> str:
    """Return the bounds of a score as per cent."""
    return f"{100 * found.low:.1f} – {100 * found.high:.1f} %"


def elo(found: Interval) -> str:
    """Return an Elo with half the width of its interval."""
    return f"{found.value:+.0f} ± {(found.high - found.low) / 2:.0f}".replace("-", "−")


def milliseconds(seconds: float) -> str:
    """Return a time with about three digits."""
    value = 1000 * seconds
    return f"{value:,.{max(0, 2 - len(str(int(value))) + (value < 1))}f} ms"
