"""Exact values of positions: numbering, retrograde solver, tables, and how they are probed."""
