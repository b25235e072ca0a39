"""The render modes that all environments share."""

from collections.abc import Iterable
from typing import Any

from cc_env.errors import UnknownOption, format_list
from cc_env.rendering.picture import Picture

RENDER_MODES = ("ansi", "rgb_array", "human")
FRAMES_PER_SECOND = 2


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
        self._window: Any = None
        if mode in ("rgb_array", "human"):
            from cc_env.rendering.pixels import Window, to_pixels

            self._to_pixels, self._window = to_pixels, Window(title)

    def frame(self, picture: Picture) -> Any:
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
        if self._window is not None:
            self._window.close()
