"""Learned evaluations: a small network of whole numbers, evaluated within searches; its files."""
