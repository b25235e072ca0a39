"""Players for the arena's tests, by their dotted names."""

import os
import time

from cc_env.players import RandomPlayer
from cc_env.referee import Decision


class Lowest:
    """Plays the lowest legal action, or the highest: the same game every time."""

    def __init__(self, game, *, highest=False):
        self.game, self.highest = game, highest

    def choose(self, position, rng, clock):
        return Decision(int(self.game.legal_actions(position)[-1 if self.highest else 0]))


class Raiser:
    def __init__(self, game):
        pass

    def choose(self, position, rng, clock):
        raise RuntimeError("lost my head")


class Cheat:
    def __init__(self, game):
        self.game = game

    def choose(self, position, rng, clock):
        legal = set(self.game.legal_actions(position).tolist())
        return Decision(next(a for a in range(self.game.num_actions) if a not in legal))


class Sleeper(RandomPlayer):
    def choose(self, position, rng, clock):
        time.sleep(0.15)
        return super().choose(position, rng, clock)


class Forever(RandomPlayer):
    def choose(self, position, rng, clock):
        while True:
            pass


class Leaver(RandomPlayer):
    def choose(self, position, rng, clock):
        raise SystemExit("bye")


class Dead(RandomPlayer):
    """Takes its whole process along at its first turn."""

    def choose(self, position, rng, clock):
        os.kill(os.getpid(), 9)


class Slow(RandomPlayer):
    """Takes some time, so that a tournament can be killed in the middle."""

    def choose(self, position, rng, clock):
        time.sleep(0.003)
        return super().choose(position, rng, clock)


class Crash(RandomPlayer):
    """Takes its whole process along, at its first turn in every game from the second seat."""

    def choose(self, position, rng, clock):
        if self.game.to_move(position) == 1:
            os.kill(os.getpid(), 9)
        return super().choose(position, rng, clock)


def unmakable(game, *, depth=1):
    raise RuntimeError(f"no depth {depth} today")


class Named(RandomPlayer):
    """Plays at random under any name."""

    def __init__(self, game, *, name):
        super().__init__(game)
