"""Learned evaluations: a small network of integers, evaluated within searches; its files."""
