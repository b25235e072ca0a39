"""Arrays that begin at a line of the processor's cache."""

import numpy as np
import pytest

from cc_env.jit import aligned_arrays


@pytest.mark.parametrize("kind", [np.int16, np.float32, np.int64])
@pytest.mark.parametrize("shape", [(3, 5), 7, (2, 1, 33)])
def test_zeros_start_at_a_cache_line(shape, kind):
    arrays = [aligned_arrays.zeros(shape, np.dtype(kind)) for _ in range(20)]
    for array in arrays:
        assert array.ctypes.data % aligned_arrays.CACHE_LINE_BYTES == 0
        assert (array.dtype, array.shape) == (kind, np.zeros(shape).shape)
        assert not array.any()
