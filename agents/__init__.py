"""Who plays: players that search, learn, remember, and people. Runs from a checkout.

The first of them come with the next release; until then there is `cc_env.referee.RandomPlayer`.
"""
