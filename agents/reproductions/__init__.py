"""Reproductions of earlier programs: the memory player of nine men's morris."""
