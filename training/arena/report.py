"""The report of a tournament: a self-contained HTML file, and the charts as PNGs."""

import base64
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import mean, median
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from cc_env.files import write_atomically
from cc_env.match import record
from cc_env.match.match import FAULTS
from cc_env.match.record import Record
from cc_env.rendering.picture import frames
from cc_env.version import __version__
from training.arena import Tournament, charts
from training.arena.standings import loser, times
from training.arena.wording import elo, interval, milliseconds, percent, summary

REPORT = "report.html"
# Limits of the report: interactive games, their turns, and distinct faults.
MAX_EXAMPLES = 8
MAX_EXAMPLE_TURNS = 300
MAX_FAULTS = 20


def write(tournament: Tournament, path: Path, command: str, curves: Path | None = None) -> Path:
    """Write the report and the charts into a folder; return the report's path.

    `command` is the shell command that plays this tournament again, `curves` a PNG of the learning
    curves of a training run.
    """
    for name in charts.names(tournament.standings):
        write_atomically(path / f"{name}.png", charts.to_png(name, tournament.standings))
    write_atomically(path / REPORT, to_html(tournament, command, curves))
    return path / REPORT


def to_html(tournament: Tournament, command: str, curves: Path | None = None) -> str:
    """Return the report as one HTML document."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        name=breakable, percent=percent, interval=interval, elo=elo, ms=milliseconds
    )
    standings = tournament.standings
    records = list(tournament.records.values())
    return environment.get_template(REPORT).render(
        charts={name: Markup(charts.to_svg(name, standings)) for name in charts.names(standings)},
        command=command,
        config=tournament.config,
        curves=base64.b64encode(curves.read_bytes()).decode() if curves else None,
        examples=examples(tournament),
        faults=faults(records),
        mean_turns=mean(standings.turns),
        median_turns=median(standings.turns),
        standings=standings,
        summary=summary(tournament.standings),
        times=times(tournament.config.players, records),
        tournament=tournament,
        version=__version__,
    )


def faults(records: Sequence[Record]) -> list[tuple[str, str, str, int]]:
    """Return player, reason, detail and count of the faults, the most frequent first."""
    counts = Counter(
        (loser(game), game.reason, game.detail) for game in records if game.reason in FAULTS
    )
    return [(*fault, count) for fault, count in counts.most_common(MAX_FAULTS)]


def breakable(name: str) -> Markup:
    """Return a name as HTML with line breaks allowed after punctuation."""
    return Markup(re.sub(r"([:.,=/])", r"\1<wbr>", str(escape(name))))


def examples(tournament: Tournament) -> dict[str, Any]:
    """Return the best player's games from the first opening, for the interactive board.

    A frame is a list of indices into `lines`, the lines of SVG that all frames share.
    """
    best = tournament.standings.players[0].name
    selected = [
        game
        for index, game in tournament.records.items()
        if tournament.schedule[index].opening == 0 and best in game.players
    ]
    lines: dict[str, int] = {}
    games = [
        {
            "title": f"{game.players[0]} – {game.players[1]}",
            "result": f"{game.result} ({game.reason})",
            "frames": [
                [lines.setdefault(text, len(lines)) for text in frame.split("\n")]
                for frame in _frames(game)
            ],
        }
        for game in selected[:MAX_EXAMPLES]
    ]
    return {"lines": list(lines), "games": games}


def _frames(game: Record) -> list[str]:
    """Return the start and the positions after at most MAX_EXAMPLE_TURNS turns, as SVG."""
    pictures = islice(frames(record.replay(game)), 1 + MAX_EXAMPLE_TURNS)
    return [picture._repr_svg_() for picture in pictures]
