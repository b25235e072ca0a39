"""Examples of training with RL libraries, one file for each; README.md lists them."""
