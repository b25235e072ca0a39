"""Arrays that begin at a boundary of a CPU cache line."""

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

CACHE_LINE_BYTES = 64


def zeros(shape: int | tuple[int, ...], dtype: np.dtype[Scalar]) -> NDArray[Scalar]:
    """Return an aligned array of zeros, of any shape and dtype."""
    size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * dtype.itemsize
    buffer = np.zeros(size + CACHE_LINE_BYTES, np.uint8)
    start = -buffer.ctypes.data % CACHE_LINE_BYTES
    return buffer[start : start + size].view(dtype).reshape(shape)
