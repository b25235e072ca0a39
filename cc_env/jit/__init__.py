"""Compilation by numba, cached on disk, and what compiled code needs of arrays and threads."""
