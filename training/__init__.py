"""Training and evaluation of players. Runs from a checkout.

alphazero  self-play guided by tree search
ppo        MaskablePPO against a pool of opponents
arena      tournaments; the command is python -m training.evaluate
accuracy   how many of a player's decisions keep the exact value
hardest    positions of solved boards that searches miss
published  the experiments of the game's publication, and the value of moving first
tune       the weights of an evaluation, fitted to self-play and tested in matches
"""
