"""The style that all charts share."""

from typing import Any

INK, FAINT = "#23272e", "#8a919c"  # text and axes; grid and background lines
STYLE: Any = {
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "font.size": 10.5,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.parse_math": False,  # a $ in a name is not mathematics
}
