"""Self-play, learning, and what all training algorithms share."""
