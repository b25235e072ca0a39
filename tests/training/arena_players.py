"""Players for the arena's tests, by their dotted names."""

import os
import time
from pathlib import Path

from cc_env.match.referee import Decision
from cc_env.players.builtin import RandomPlayer


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


class FailsLast(RandomPlayer):
    """Raises an exception in its games from the second seat."""

    def choose(self, position, rng, clock):
        if self.game.to_move(position) == 1:
            raise RuntimeError("the second seat\nis taken")
        return super().choose(position, rng, clock)


class Cheat:
    def __init__(self, game):
        self.game = game

    def choose(self, position, rng, clock):
        legal = set(self.game.legal_actions(position).tolist())
        return Decision(next(a for a in range(self.game.num_actions) if a not in legal))


class Forever(RandomPlayer):
    def choose(self, position, rng, clock):
        while True:
            time.sleep(3600)


class Leaver(RandomPlayer):
    def choose(self, position, rng, clock):
        raise SystemExit("bye")


class Dead(RandomPlayer):
    """Takes its whole process along at its first turn."""

    def choose(self, position, rng, clock):
        os.kill(os.getpid(), 9)


class Stopping(RandomPlayer):
    """Plays at random until $STOP_FILE has $STOP_LINES lines, then waits to be stopped itself.

    So a tournament can be stopped in the middle, however fast it is.
    """

    def choose(self, position, rng, clock):
        file, lines = os.environ.get("STOP_FILE", os.devnull), os.environ.get("STOP_LINES", "1")
        while Path(file).exists() and len(Path(file).read_bytes().splitlines()) >= int(lines):
            time.sleep(0.01)
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
