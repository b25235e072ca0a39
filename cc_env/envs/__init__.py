"""The environments: a learner against an opponent, both players in turn, many boards at once."""
