"""Exact solution of endgames by retrograde analysis."""
