"""Blocks of values in memory: all those of small tables, those read last of large ones.

Shapes: N values of a block, BLOCK_SIZE or fewer.
"""

import numpy as np
from numpy.typing import NDArray

from cc_env.tablebase.ranking import BLOCK_SIZE

# Place of a block that is not in memory.
NOT_READ = -1


class BlockCache:
    """Values of blocks, and where each block's values are."""

    def __init__(self, num_blocks: int, max_blocks: int) -> None:
        """Make room for `max_blocks` of `num_blocks` blocks."""
        size = min(num_blocks, max_blocks)
        self.is_complete = size == num_blocks
        """Whether there is room for all blocks; their values are then in their order."""
        # Memory pages are allocated when they are written to.
        self.values: NDArray[np.uint16] = np.empty(size * BLOCK_SIZE, np.uint16)
        self.places: NDArray[np.int64] = np.full(num_blocks, NOT_READ, np.int64)
        """Index in `values` of the first value of each block; NOT_READ if it is not there."""
        # The blocks in memory, the one that was added first at the front.
        self._blocks: dict[int, None] = {}

    def add(self, block: int, values: NDArray[np.uint16]) -> None:
        """Add a block that is not in memory, given its values, uint16[N].

        It replaces the block that was added first if there is no room.
        """
        place = block * BLOCK_SIZE
        if not self.is_complete:
            place = len(self._blocks) * BLOCK_SIZE
            if place == len(self.values):
                first = next(iter(self._blocks))
                del self._blocks[first]
                place, self.places[first] = int(self.places[first]), NOT_READ
            self._blocks[block] = None
        self.values[place : place + len(values)] = values
        self.places[block] = place
