"""The games, each in a package or module of its own; `factory` makes them by name."""
