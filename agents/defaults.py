"""Default options of the learned players."""

# Default of `alphazero` and of its training: a draw by repetition has the value -CONTEMPT; a win
# has 1.
CONTEMPT = 0.25
MEMORY_PATH = "runs/memory.sqlite"
