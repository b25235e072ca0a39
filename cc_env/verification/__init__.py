"""Checks of a game: perft, conformance and reference positions."""
