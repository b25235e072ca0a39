"""The render modes that all environments share."""

from collections.abc import Iterable
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Cell
from cc_env.core.rules import Position
from cc_env.envs.boards import Boards
from cc_env.errors import UnknownOption, format_list
from cc_env.rendering.picture import Picture

# A frame of the modes ansi, rgb_array (uint8[height, width, 3]) and human.
RenderFrame = str | NDArray[np.uint8] | None

RENDER_MODES = ("ansi", "rgb_array", "human")
FRAMES_PER_SECOND = 2


def available_modes(modes: Iterable[str]) -> list[str]:
    """Return those of `modes` whose packages are installed; environments declare only these."""
    has_pygame = find_spec("pygame") is not None
    return [mode for mode in modes if has_pygame or mode.startswith("ansi")]


def check_render_mode(mode: object, modes: Iterable[str]) -> None:
    """Raise UnknownOption unless `mode` is None or one of `modes`."""
    valid = list(modes)
    if mode is not None and not (isinstance(mode, str) and mode in valid):
        raise UnknownOption(f"unknown render_mode {mode!r}; there are: {format_list(valid)}")


class Renderer:
    """Converts pictures to the frames of a render mode."""

    def __init__(self, mode: str | None, title: str) -> None:
        """Raise UnknownOption for an unknown mode, MissingExtra if pygame is needed but missing."""
        check_render_mode(mode, RENDER_MODES)
        self.mode, self._title = mode, title
        if mode in ("rgb_array", "human"):
            from cc_env.rendering.pixels import Window, to_pixels

            self._to_pixels, self._window = to_pixels, Window(title)

    def frame(self, picture: Picture) -> RenderFrame:
        """Return text, uint8[height, width, 3], or None after showing the picture in the window."""
        if self.mode == "ansi":
            return str(picture)
        if self.mode == "rgb_array":
            return self._to_pixels(picture)
        self._window.show(picture, 1 / FRAMES_PER_SECOND)
        return None

    def __reduce__(self) -> tuple[type, tuple[str | None, str]]:
        # A copy opens a window of its own.
        return Renderer, (self.mode, self._title)

    def close(self) -> None:
        """Close the window, if one is open."""
        if self.mode in ("rgb_array", "human"):
            self._window.close()


class RenderableEnv:
    """Mixin for environments with one board: position, pictures and window."""

    _boards: Boards
    _renderer: Renderer

    @property
    def position(self) -> Position:
        """The position on the board; raises ResetNeeded before the first reset."""
        return self._boards.position()

    def picture(self, select: Cell | None = None) -> Picture:
        """Return a picture of the board, its last turn and the targets of the piece on `select`.

        Raises ResetNeeded before the first reset.
        """
        return self._boards.picture(select=select)

    def _repr_svg_(self) -> str | None:
        return self.picture()._repr_svg_() if self._boards.has_begun else None

    def close(self) -> None:
        """Close the window, if one is open."""
        self._renderer.close()
