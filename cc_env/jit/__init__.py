"""Compilation by numba with a disk cache; arrays, vectors and threads for compiled code."""
