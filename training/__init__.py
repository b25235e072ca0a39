"""How players learn and are measured: PPO, AlphaZero, the arena. Runs from a checkout.

They come with the releases after this one.
"""
