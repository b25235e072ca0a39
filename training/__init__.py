"""How players are measured and learn. Runs from a checkout.

arena      who is stronger; its command is python -m training.evaluate
published  the experiments of the game's publication, and what they could not ask
tune       the weights of an evaluation, by self-play and matches
"""
