"""One short file for each RL library; README.md lists them."""
