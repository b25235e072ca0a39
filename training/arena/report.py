"""The report of a tournament: one HTML file that needs nothing else, and the charts as PNGs."""

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

from cc_env import __version__, files, record
from cc_env.match import FAULTS
from cc_env.pictures import frames
from cc_env.record import Record
from training.arena import Tournament, pictures
from training.arena.standings import times
from training.arena.wording import elo, interval, milliseconds, percent, summary

REPORT = "report.html"
EXAMPLES = 8  # games to step through, at most
LONGEST = 300  # turns of such a game that are shown
FAULTY = 20  # different faults that are listed


def write(tournament: Tournament, path: Path, command: str, curves: Path | None = None) -> Path:
    """Write the report and the charts into a folder; return the report's path.

    `command` is what to type to play the same tournament again; `curves` a PNG of how a player
    learned.
    """
    for name in pictures.names(tournament.standings):
        files.write(path / f"{name}.png", pictures.to_png(name, tournament.standings))
    files.write(path / REPORT, to_html(tournament, command, curves))
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
    standings, records = tournament.standings, list(tournament.records.values())
    return environment.get_template(REPORT).render(
        charts={
            name: Markup(pictures.to_svg(name, standings)) for name in pictures.names(standings)
        },
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
    """Return who failed, by which reason and detail, and how often; the most frequent first."""
    found = Counter(
        (one.players[one.result == "1-0"], one.reason, one.detail)
        for one in records
        if one.reason in FAULTS
    )
    return [(*fault, count) for fault, count in found.most_common(FAULTY)]


def breakable(name: str) -> Markup:
    """Return a name as HTML that may be broken after punctuation."""
    return Markup(re.sub(r"([:.,=/])", r"\1<wbr>", str(escape(name))))


def examples(tournament: Tournament) -> dict[str, Any]:
    """Return the games of the first opening that the best player was in, to step through.

    `frames` of a game are the pictures as numbers of `lines`, which the pictures share.
    """
    best = tournament.standings.players[0].name
    shown = [
        one
        for index, one in tournament.records.items()
        if tournament.schedule[index].opening == 0 and best in one.players
    ]
    lines: dict[str, int] = {}
    found = [
        {
            "title": f"{one.players[0]} – {one.players[1]}",
            "result": f"{one.result} ({one.reason})",
            "frames": [
                [lines.setdefault(text, len(lines)) for text in frame.split("\n")]
                for frame in _frames(one)
            ],
        }
        for one in shown[:EXAMPLES]
    ]
    return {"lines": list(lines), "games": found}


def _frames(one: Record) -> list[str]:
    """Return the positions of a game as SVG, the start first."""
    shown = islice(frames(record.replay(one)), 1 + LONGEST)
    return [each._repr_svg_() for each in shown]
