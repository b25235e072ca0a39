"""Play: people and players at a board, in the terminal and through faces of other kinds."""
