"""C&C turns by enumeration of all jump paths, an independent check of the move generator."""

import numpy as np
from numba import njit

# The captured index of a path without a capture.
NOTHING = 64


def all_turns(rows, first_moves, max_paths=10_000_000):
    """Return the turns as {(start, end, captured or None)}, cells as (row, column), and the paths.

    Returns (None, max_paths) if there are more than `max_paths` paths.
    """
    size = len(rows)
    board = np.zeros((size, size), np.int8)
    for row in range(size):
        for column in range(size):
            board[row, column] = {".": 0, "b": 1, "r": 2}[rows[row][column]]
    if not first_moves:
        board = np.ascontiguousarray(np.array([0, 2, 1], np.int8)[board][::-1, ::-1])
    reached = np.zeros((64, 64, 65), np.bool_)
    paths = _walk_all(board, reached, max_paths)
    if paths >= max_paths:
        return None, max_paths

    def cell(index):
        if index == NOTHING:
            return None
        row, column = divmod(int(index), 8)
        return (row, column) if first_moves else (size - 1 - row, size - 1 - column)

    return {tuple(map(cell, triple)) for triple in zip(*np.nonzero(reached), strict=True)}, paths


@njit(cache=True)
def _walk_all(board, reached, max_paths):
    size, paths = len(board), 0
    used = np.zeros_like(board)
    for row in range(size):
        for column in range(size):
            if board[row, column] != 1:
                continue
            start = 8 * row + column
            for down, right in ((0, 1), (1, 0), (1, 1)):
                r, c = row + down, column + right
                if r < size and c < size and board[r, c] == 0:
                    reached[start, 8 * r + c, NOTHING] = True
            paths += _walk(
                board, used, row, column, start, np.int64(NOTHING), reached, max_paths - paths
            )
    return paths


@njit(cache=True)
def _walk(board, used, row, column, start, captured, reached, max_paths):
    """Try every hop and return the number of paths; the start cell stays occupied."""
    size, paths = len(board), 1
    for down in range(-1, 2):
        for right in range(-1, 2):
            r, c = row + 2 * down, column + 2 * right
            if paths >= max_paths:
                return paths
            if not (0 <= r < size and 0 <= c < size) or board[r, c] != 0:
                continue
            over = row + down, column + right
            if board[over] == 0 or used[over] or 8 * over[0] + over[1] == start:
                continue
            new_captured = captured
            if captured == NOTHING and board[over] == 2:
                new_captured = 8 * over[0] + over[1]
            reached[start, 8 * r + c, new_captured] = True
            used[over] = 1
            paths += _walk(board, used, r, c, start, new_captured, reached, max_paths - paths)
            used[over] = 0
    return paths
