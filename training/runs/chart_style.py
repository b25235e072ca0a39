"""The common style of all charts."""

from typing import Any

# Text and axes; grid and background lines.
INK, FAINT = "#23272e", "#8a919c"
TEXTS = "text.color", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"
STYLE: Any = {
    **dict.fromkeys(TEXTS, INK),
    "axes.edgecolor": FAINT,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "font.size": 10.5,
    # A $ in a name is not mathematics.
    "text.parse_math": False,
}
# Colors of curves.
COLORS = ("#2f74c0", "#cf4a3e", "#3d9a50", "#e0a030", "#8256b0", "#4aa8b5", "#8a919c", "#b0568a")
