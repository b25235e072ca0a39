"""Training of the small network that corrects an evaluation inside alpha-beta."""
