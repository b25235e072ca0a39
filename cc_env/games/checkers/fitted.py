"""The weights of the evaluation `standard` of checkers: fitted to self-play, judged by matches.

`cc_env tune --game checkers` fits such a table and prints its matches. The first eight lines
are men, the next eight kings, by their cells in the mover's frame, its target on top. The tempo,
steps and the lead by stage follow, and, chosen by hand, the nearness of kings to a side with few
pieces. Without nearness, won endings are repeated until they are draws; with it the search scores,
in 400 games each, 53.5 % (51.9 – 55.0) at depth 2, 53.3 % (51.5 – 55.0) at depth 4, 50.6 %
(49.0 – 52.3) at depth 6.

Scores against `published` at the same depth, in 400 games of `python -m training.evaluate
minimax:depth=4 minimax:depth=4,evaluation=published --game checkers --games 400` and the like:

    depth 4    74.6 % (72.0 – 77.1), 203-191-6
    depth 6    77.4 % (74.6 – 79.9), 226-167-7
"""

# fmt: off
WEIGHTS = [
    0, 0, 0, 0, 0, 0, 0, 0,
    0, 4, 0, 7, 0, -12, 0, 2,
    5, 0, -2, 0, -14, 0, -30, 0,
    0, -8, 0, -4, 0, -12, 0, -16,
    -4, 0, -7, 0, -9, 0, -20, 0,
    0, -9, 0, -7, 0, -15, 0, -5,
    -3, 0, -2, 0, -4, 0, -10, 0,
    0, 9, 0, 8, 0, 24, 0, -18,
    17, 0, 26, 0, 30, 0, 18, 0,
    0, 20, 0, 21, 0, 23, 0, 12,
    22, 0, 34, 0, 28, 0, 21, 0,
    0, 34, 0, 30, 0, 22, 0, 16,
    8, 0, 33, 0, 26, 0, 16, 0,
    0, 24, 0, 28, 0, 31, 0, 14,
    32, 0, 27, 0, 16, 0, 10, 0,
    0, 59, 0, 12, 0, 9, 0, -27,
    12, -1, 165, 98, 85, 78, 61, 54,
    0, 10,
]
