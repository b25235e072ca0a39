"""A package that is not ours, with a game of its own."""
