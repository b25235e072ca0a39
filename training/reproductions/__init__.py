"""Reproductions of earlier programs: the published experiments with C&C."""
