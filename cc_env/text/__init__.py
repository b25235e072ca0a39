"""Games in words, for language models: rules, boards and legal turns, and turns in replies."""
