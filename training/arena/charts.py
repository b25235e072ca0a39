"""Charts of a tournament: Elo ladder, scores of pairs, first-seat advantage, lengths of games."""

import io
import re
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from cc_env.match.confidence import Interval
from training.arena.standings import Standings
from training.runs.chart_style import FAINT, INK, STYLE

DATA, MEDIAN = "#2f74c0", "#cf4a3e"
WIDTH_INCHES = 6.0
# Maximum characters per line.
NAME_WIDTH = 24


def ladder(standings: Standings) -> Figure:
    """Return a chart of the players' Elo with intervals, best first."""
    figure, axes = _make_row_chart(len(standings.players))
    _draw_intervals(axes, [player.elo for player in standings.players], "{:+.0f}")
    _label_rows(axes, [player.name for player in standings.players])
    axes.axvline(0, color=FAINT, linewidth=1, zorder=0)
    axes.set(title="Elo with 95 % intervals", xlabel="Elo")
    axes.margins(x=0.12)
    return figure


def matrix(standings: Standings) -> Figure:
    """Return a matrix of scores: the row's player against the column's, wins-draws-losses."""
    names = [player.name for player in standings.players]
    count = len(names)
    figure, axes = _make_figure(0.85 * count + 2.6, 0.62 * count + 1.6)
    scores = np.full((count, count), np.nan)
    size = 9.5 if count < 9 else 7
    for row, column in zip(*np.nonzero(~np.eye(count, dtype=bool)), strict=True):
        tally = standings.pair(names[row], names[column]).tally
        scores[row, column] = tally.score.value
        text = f"{tally.score.value:.0%}\n{tally}"
        axes.text(column, row, text, ha="center", va="center", fontsize=size, color="#1d2026")
    axes.imshow(scores, cmap=_two_colors(), vmin=0, vmax=1, aspect="auto")
    _label_rows(axes, names)
    labels = [_wrap_name(name, 12) for name in names]
    axes.set_xticks(range(count), labels, fontsize=8.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set(title="Score of row against column")
    return figure


def seats(standings: Standings) -> Figure:
    """Return a chart of the first seat's score, in all games and in those of each pair."""
    rows = [("all games", standings.first_seat.score)]
    if len(standings.pairs) > 1:
        rows += [(" – ".join(pair.players), pair.first_seat) for pair in standings.pairs]
    figure, axes = _make_row_chart(len(rows))
    _draw_intervals(axes, [score for _, score in rows], "{:.0%}")
    _label_rows(axes, [name for name, _ in rows], 2 * NAME_WIDTH)
    axes.axvline(0.5, color=FAINT, linewidth=1, zorder=0)
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set(title="Score of the first seat", xlim=(-0.02, 1.02))
    return figure


def lengths(standings: Standings) -> Figure:
    """Return a histogram of the lengths of games, in turns."""
    figure, axes = _make_figure(WIDTH_INCHES, 3)
    turns = np.array(standings.turns)
    width = max(1, round(turns.max(initial=1) / 40))
    edges = np.arange(turns.min(initial=0), turns.max(initial=1) + 2 * width, width) - 0.5
    axes.hist(turns, edges.tolist(), color=DATA, edgecolor="white", linewidth=0.4)
    axes.axvline(float(np.median(turns)), color=MEDIAN, linewidth=1.6)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    axes.set(title="Length of the games (red: median)", xlabel="turns", ylabel="games")
    return figure


def learning(standings: Standings) -> Figure:
    """Return a chart of each player's score over the course of a tournament with learning."""
    figure, axes = _make_figure(WIDTH_INCHES, 3)
    for name, scores in standings.learning.items():
        parts = np.linspace(0, 1, len(scores) + 1)
        axes.plot(
            (parts[1:] + parts[:-1]) / 2, scores, "o-", markersize=4, label=_wrap_name(name, 40)
        )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set(title="Score while learning", xlabel="games played", xlim=(0, 1), ylim=(-0.02, 1.02))
    axes.legend(frameon=False, fontsize=9)
    return figure


CHARTS: dict[str, Callable[[Standings], Figure]] = {
    chart.__name__: chart for chart in (ladder, matrix, seats, lengths, learning)
}


def names(standings: Standings) -> list[str]:
    """Return the names of the CHARTS with data in this tournament."""
    return [name for name in CHARTS if name != "learning" or standings.learning]


def to_png(name: str, standings: Standings) -> bytes:
    """Return a chart as a PNG with a white background; `name` is a key of CHARTS."""
    return _render(name, standings, {"format": "png", "dpi": 160, "facecolor": "white"})


def to_svg(name: str, standings: Standings) -> str:
    """Return a chart as a transparent SVG element in the page's text color."""
    no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    options = {"format": "svg", "transparent": True, "metadata": no_metadata}
    text = _render(name, standings, options).decode()
    return text[text.index("<svg") :].replace(INK, "currentColor")


def _render(name: str, standings: Standings, options: dict[str, Any]) -> bytes:
    """Return a chart as a file; `options` are those of savefig."""
    with matplotlib.rc_context(STYLE | {"svg.hashsalt": name}), io.BytesIO() as file:
        CHARTS[name](standings).savefig(file, **options)
        return file.getvalue()


def _make_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """Return an empty chart of this size in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _make_row_chart(count: int) -> tuple[Figure, Axes]:
    """Return a chart with `count` rows, the first on top."""
    figure, axes = _make_figure(WIDTH_INCHES, 1.1 + 0.42 * count)
    axes.set_ylim(count - 0.5, -0.5)
    axes.grid(axis="x", color=FAINT, alpha=0.25)
    return figure, axes


def _draw_intervals(axes: Axes, rows: Sequence[Interval], value_format: str) -> None:
    """Draw intervals as points with error bars, one per row."""
    for row, (value, low, high) in enumerate(rows):
        axes.plot((low, high), (row, row), color=DATA, linewidth=5, alpha=0.35)
        axes.plot(value, row, "o", color=DATA, markersize=7)
        axes.annotate(
            value_format.format(value),
            (value, row),
            (0, 7),
            textcoords="offset points",
            ha="center",
            size=9,
        )


def _label_rows(axes: Axes, names: Sequence[str], width: int = NAME_WIDTH) -> None:
    """Label the rows with names, broken into lines of at most `width` characters."""
    labels = [_wrap_name(name, width) for name in names]
    axes.set_yticks(range(len(names)), labels, fontsize=9)


def _wrap_name(name: str, width: int) -> str:
    """Return the name broken after punctuation into lines of at most `width` characters."""
    lines = [""]
    for word in re.split(r"(?<=[:,.=–/])", name):
        if lines[-1] and len(lines[-1] + word) > width:
            lines.append("")
        lines[-1] += word
    return "\n".join(line.strip() for line in lines)


def _two_colors() -> matplotlib.colors.Colormap:
    """Return a color map for scores, from losses to wins."""
    colors = ["#e58a7e", "#f5f1ea", "#7fb0e0"]
    color_map = matplotlib.colors.LinearSegmentedColormap.from_list("score", colors)
    return color_map.with_extremes(bad=(0, 0, 0, 0.06))
