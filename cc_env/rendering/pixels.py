"""Pictures as pixels and in a window, painted by pygame-ce (extra `render`)."""

import functools
import io
import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env.errors import MissingExtra
from cc_env.rendering.picture import Picture
from cc_env.rendering.shapes import Disc, Label, Polyline, Shape, Square, board, foreground, size
from cc_env.rendering.svg import element

# Texts are painted at this scale and scaled down, for smooth letters.
TEXT_SCALE = 3

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
try:
    import pygame
except ImportError as missing:
    raise MissingExtra("pictures as pixels", "pygame-ce", "render") from missing


def to_pixels(picture: Picture) -> NDArray[np.uint8]:
    """Return a picture as RGB, uint8[height, width, 3]."""
    surface = _surface(picture)
    width, height = surface.get_size()
    # Unlike bytes, a bytearray gives a writable array.
    pixels = np.frombuffer(bytearray(pygame.image.tobytes(surface, "RGB")), np.uint8)
    return pixels.reshape(height, width, 3)


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


def _surface(picture: Picture) -> pygame.Surface:
    """Return a picture as a pygame surface."""
    # Another user of pygame may have ended it.
    if not pygame.font.get_init():
        pygame.font.init()
        _open_font.cache_clear()
    surface = _board_image(size(picture), tuple(board(picture))).copy()
    surface.blits([_place(shape) for shape in foreground(picture)])
    return surface


@functools.lru_cache(maxsize=16)
def _board_image(picture_size: tuple[int, int], parts: tuple[Shape, ...]) -> pygame.Surface:
    """Return the image of an empty board, by its width and height and its shapes."""
    image = pygame.Surface(picture_size)
    image.fill("#ffffff")
    image.blits([_place(shape) for shape in parts])
    return image


def _place(shape: Shape) -> tuple[pygame.Surface, tuple[int, int]]:
    """Return the image of a shape and its upper left corner in the picture."""
    x, y = shape.points[0] if isinstance(shape, Polyline) else (shape.x, shape.y)
    column, row = math.floor(x), math.floor(y)
    image, left, top = _image(_move(shape, -column, -row))
    return image, (column + left, row + top)


@functools.lru_cache(maxsize=4096)
def _image(shape: Shape) -> tuple[pygame.Surface, int, int]:
    """Return the image of a shape, transparent around it, and its left and upper edge."""
    if isinstance(shape, Label):
        font = _open_font(round(1.35 * TEXT_SCALE * shape.size))
        large = font.render(shape.text, True, shape.color)
        width, height = (math.ceil(length / TEXT_SCALE) for length in large.get_size())
        image = pygame.transform.smoothscale(large, (width, height))
        return image, round(shape.x - width / 2), round(shape.y - height / 2)
    left, top, width, height = _bounds(shape)
    view = f'width="{width}" height="{height}" viewBox="{left} {top} {width} {height}"'
    document = f'<svg xmlns="http://www.w3.org/2000/svg" {view}>{element(shape)}</svg>'
    image = pygame.image.load(io.BytesIO(document.encode()), "shape.svg")
    # Images of this format are drawn faster.
    return image.convert(pygame.Surface((1, 1), pygame.SRCALPHA)), left, top


def _move(shape: Shape, x: int, y: int) -> Shape:
    """Return a shape moved by x and y."""
    if isinstance(shape, Polyline):
        return shape._replace(points=tuple((px + x, py + y) for px, py in shape.points))
    return shape._replace(x=shape.x + x, y=shape.y + y)


def _bounds(shape: Square | Disc | Polyline) -> tuple[int, int, int, int]:
    """Return the left and upper edge of a shape, its width and its height, rounded outwards."""
    match shape:
        case Square(x, y, edge):
            corners, reach = [(x, y), (x + edge, y + edge)], 0.0
        case Disc(x, y, radius, _, _, width):
            corners, reach = [(x, y)], radius + width / 2
        case Polyline(points, _, width):
            corners, reach = list(points), width / 2
    columns, rows = zip(*corners, strict=True)
    left, top = math.floor(min(columns) - reach), math.floor(min(rows) - reach)
    return left, top, math.ceil(max(columns) + reach) - left, math.ceil(max(rows) + reach) - top


@functools.lru_cache(maxsize=64)
def _open_font(font_size: int) -> pygame.font.Font:
    return pygame.font.Font(None, font_size)
