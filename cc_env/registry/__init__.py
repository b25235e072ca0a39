"""What names mean: games, players, options, and the modules that a name may import."""
