"""Default options of the learned players."""

CONTEMPT = 0.25  # value of a draw by repetition: -CONTEMPT, where a win is 1
MEMORY = "runs/memory.sqlite"
