"""The games in frameworks for language models."""
