"""Play: people, players and programs at a board, in the terminal and over lines."""
