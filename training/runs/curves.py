"""Charts of a training run: columns of its log over time.

Shapes: N steps of a log.
"""

import io
import math
from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from training.runs.chart_style import COLORS, FAINT, STYLE
from training.runs.log import Row

# Curves with more points are smoothed and have no markers.
MAX_MARKERS = 60


def to_png(rows: Sequence[Row], charts: Mapping[str, Sequence[str]]) -> bytes:
    """Return a PNG with one chart per title; `charts` maps titles to columns of the rows."""
    count = len(charts)
    columns = min(2, count)
    colors = {"axes.prop_cycle": cycler(color=COLORS)}
    with matplotlib.rc_context(STYLE | colors), io.BytesIO() as file:
        size = (5.2 * columns, 0.3 + 2.9 * math.ceil(count / columns))
        figure = Figure(figsize=size, layout="constrained")
        for index, (title, names) in enumerate(charts.items(), 1):
            axes = figure.add_subplot(math.ceil(count / columns), columns, index)
            _draw_chart(axes, title, names, rows)
        figure.savefig(file, format="png", dpi=130, facecolor="white")
        return file.getvalue()


def _draw_chart(axes: Axes, title: str, names: Sequence[str], rows: Sequence[Row]) -> None:
    """Draw columns of the log over time; skip columns without data.

    More than MAX_MARKERS points are drawn faintly, below their running mean.
    """
    x_column = "minutes" if any("minutes" in row for row in rows) else "step"
    for name in names:
        points = [(row[x_column], row[name]) for row in rows if name in row and x_column in row]
        if not points:
            continue
        times, values = np.array(points).T
        is_long = len(points) > MAX_MARKERS
        (line,) = axes.plot(times, _smooth(values), label=name, marker="" if is_long else "o")
        line.set_markersize(3.5)
        if is_long:
            axes.plot(times, values, color=line.get_color(), alpha=0.25, linewidth=0.8, zorder=1)
    axes.set(title=title, xlabel=x_column)
    axes.grid(color=FAINT, alpha=0.25)
    axes.margins(x=0.02)
    if axes.lines:
        axes.legend(framealpha=0.7, edgecolor="none", fontsize=8.5)


def _smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a running mean of float64[N] over about N / 30 neighbors; short arrays stay."""
    window = np.ones(len(values) // MAX_MARKERS * 2 + 1 if len(values) > MAX_MARKERS else 1)
    sums = np.convolve(values, window, "same")
    return np.asarray(sums / np.convolve(np.ones(len(values)), window, "same"))
