"""Training and evaluation of players. Runs from a checkout.

alphazero  self-play guided by tree search
ppo        MaskablePPO against a pool of opponents
arena      tournaments; the command is python -m training.evaluate
published  the experiments of the game's publication, and the value of moving first
tune       the weights of an evaluation, fitted to self-play and tested in matches
"""
