"""Experiments: published results, tuning, accuracy and a demonstration."""
