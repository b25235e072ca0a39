"""Accuracy of players, measured against exact values, and hard positions."""
