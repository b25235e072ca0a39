"""MaskablePPO against a pool of opponents."""
