"""Baselines: five learning algorithms with equal CPU time, measured against the same players.

`python -m training.baselines` trains and measures; each run writes one file of `results/`.

boards       the games, and the players that each run is measured against
algorithms   the configs of the runs
measurement  matches and accuracy of a player
results      files of results, and ratings on one scale per game
command      the command line
submission   results of others: files with all games, which `cc_env verify-result` replays
"""
