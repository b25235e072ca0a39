"""Self-play: workers, replay buffer, learner, opponents and promotion of the best network."""
