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

from training.runs.chart_style import FAINT, STYLE
from training.runs.log import Row

COLOURS = ("#2f74c0", "#cf4a3e", "#3d9a50", "#e0a030", "#8256b0", "#4aa8b5", "#8a919c", "#b0568a")
FEW = 60  # curves with more points have no markers


def to_png(rows: Sequence[Row], charts: Mapping[str, Sequence[str]]) -> bytes:
    """Return a PNG with a chart for each title, of these columns of the rows."""
    count = len(charts)
    columns = min(2, count)
    colours = {"axes.prop_cycle": cycler(color=COLOURS)}
    with matplotlib.rc_context(STYLE | colours), io.BytesIO() as file:
        size = (5.2 * columns, 0.3 + 2.9 * math.ceil(count / columns))
        figure = Figure(figsize=size, layout="constrained")
        for place, (title, names) in enumerate(charts.items(), 1):
            axes = figure.add_subplot(math.ceil(count / columns), columns, place)
            _chart(axes, title, names, rows)
        figure.savefig(file, format="png", dpi=130, facecolor="white")
        return file.getvalue()


def _chart(axes: Axes, title: str, names: Sequence[str], rows: Sequence[Row]) -> None:
    """Draw columns of the log; columns without data are left out.

    More than FEW points are drawn faintly, below their running mean.
    """
    over = "minutes" if any("minutes" in row for row in rows) else "step"
    for name in names:
        points = [(row[over], row[name]) for row in rows if name in row and over in row]
        if not points:
            continue
        times, values = np.array(points).T
        many = len(points) > FEW
        (line,) = axes.plot(times, _smooth(values), label=name, marker="" if many else "o")
        line.set_markersize(3.5)
        if many:
            axes.plot(times, values, color=line.get_color(), alpha=0.25, linewidth=0.8, zorder=1)
    axes.set(title=title, xlabel=over)
    axes.grid(color=FAINT, alpha=0.25)
    axes.margins(x=0.02)
    if axes.lines:
        axes.legend(framealpha=0.7, edgecolor="none", fontsize=8.5)


def _smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a running mean of float64[N] over about 2 N / FEW neighbours; FEW values stay."""
    window = np.ones(len(values) // FEW * 2 + 1 if len(values) > FEW else 1)
    sums = np.convolve(values, window, "same")
    return np.asarray(sums / np.convolve(np.ones(len(values)), window, "same"))
