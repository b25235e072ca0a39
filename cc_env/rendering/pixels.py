"""Pictures as pixels and in a window, painted by pygame (extra `render`)."""

import os
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env.errors import MissingExtra
from cc_env.rendering.picture import Picture
from cc_env.rendering.shapes import Disc, Polyline, Shape, Square, shapes, size

# Pictures are painted at this scale and scaled down, for smooth edges.
SCALE = 3

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
try:
    import pygame
except ImportError as missing:
    raise MissingExtra("pictures as pixels", "pygame", "render") from missing


def to_pixels(picture: Picture) -> NDArray[np.uint8]:
    """Return a picture as RGB, uint8[height, width, 3]."""
    return np.ascontiguousarray(pygame.surfarray.array3d(_surface(picture)).transpose(1, 0, 2))


class Window:
    """A window that shows pictures."""

    def __init__(self, title: str) -> None:
        """Set the title; the window opens when the first picture is shown, in its size."""
        self._title = title
        self._screen: Any = None

    def show(self, picture: Picture, seconds: float) -> None:
        """Show the picture and wait for `seconds`, handling the window's events."""
        if self._screen is None:
            pygame.display.init()
            self._screen = pygame.display.set_mode(size(picture))
            pygame.display.set_caption(self._title)
        self._screen.blit(_surface(picture), (0, 0))
        pygame.display.flip()
        until = pygame.time.get_ticks() + 1000 * seconds
        while pygame.time.get_ticks() < until:
            pygame.event.pump()
            pygame.time.wait(10)

    def close(self) -> None:
        """Close the window, if it is open."""
        if self._screen is not None:
            pygame.display.quit()
            self._screen = None


def _surface(picture: Picture) -> Any:
    """Return a picture as a pygame surface."""
    pygame.font.init()
    width, height = size(picture)
    surface = pygame.Surface((SCALE * width, SCALE * height))
    surface.fill("#ffffff")
    for shape in shapes(picture):
        _paint(surface, shape)
    return pygame.transform.smoothscale(surface, (width, height))


def _paint(surface: Any, shape: Shape) -> None:
    match shape:
        case Square(x, y, edge, fill):
            pygame.draw.rect(surface, fill, [SCALE * n for n in (x, y, edge, edge)])
        case Disc(x, y, radius, fill, rim, width):
            center = SCALE * x, SCALE * y
            pygame.draw.circle(surface, rim, center, SCALE * (radius + width / 2))
            pygame.draw.circle(surface, fill, center, SCALE * (radius - width / 2))
        case Polyline(points, color, width):
            scaled = [(SCALE * x, SCALE * y) for x, y in points]
            for start, end in pairwise(scaled):
                pygame.draw.line(surface, color, start, end, round(SCALE * width))
            for point in scaled:
                pygame.draw.circle(surface, color, point, SCALE * width / 2)
        case label:
            font = pygame.font.Font(None, round(SCALE * label.size * 1.35))
            image = font.render(label.text, True, label.color)
            surface.blit(image, image.get_rect(center=(SCALE * label.x, SCALE * label.y)))
