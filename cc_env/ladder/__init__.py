"""Ladders: players of measured strength, from a beginner to the strongest."""

from cc_env.ladder.rungs import Rung, rungs

__all__ = ["Rung", "rungs"]
