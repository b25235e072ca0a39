"""Matches between players: limits, clocks, records, openings and statistics."""
