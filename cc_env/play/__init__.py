"""Play with others: people at a board, programs and machines at a table."""
