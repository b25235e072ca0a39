"""Players: specs such as `minimax:depth=3`, and the built-in players."""
