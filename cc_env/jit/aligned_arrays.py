"""Arrays that begin at a line of the processor's cache."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

LINE = 64  # bytes


def zeros(shape: int | tuple[int, ...], kind: np.dtype[Any]) -> NDArray[Any]:
    """Return zeros of any shape and dtype."""
    size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * kind.itemsize
    room = np.zeros(size + LINE, np.uint8)
    begin = -room.ctypes.data % LINE
    return room[begin : begin + size].view(kind).reshape(shape)
