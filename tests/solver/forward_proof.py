"""C&C solved once more, in plain Python and straight from the rule sheet, to check tables against.

Nothing of the library is used: boards do not turn, no symmetry is used, and every jump path is
walked. A position is (blue, red, mover): sets of cells with bit size * row + column, and 0 or 1.
"""

from itertools import combinations, count

STEPS = (1, 0), (0, 1), (1, 1)
AROUND = [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if r or c]


class Board:
    """Where pieces can go on a board of some size."""

    def __init__(self, size):
        self.bits = [1 << place for place in range(size * size)]
        self.targets = self.bits[-1], self.bits[0]  # of blue and of red
        self.steps = [{}, {}]  # by player and cell
        self.hops = {}  # by cell: over which one to which
        for row in range(size):
            for column in range(size):
                here = 1 << size * row + column
                for player, sign in ((0, 1), (1, -1)):
                    ends = [(row + sign * r, column + sign * c) for r, c in STEPS]
                    self.steps[player][here] = [1 << size * r + c for r, c in ends if self.on(r, c)]
                overs = [(row + r, column + c, row + 2 * r, column + 2 * c) for r, c in AROUND]
                self.hops[here] = [
                    (1 << size * over + by, 1 << size * r + c)
                    for over, by, r, c in overs
                    if self.on(r, c)
                ]

    def on(self, row, column):
        size = int(len(self.bits) ** 0.5)
        return 0 <= row < size and 0 <= column < size

    def positions(self, most):
        """Yield every position with at most so many pieces on each side, and at least one."""
        sets = [sum(some) for n in range(1, most + 1) for some in combinations(self.bits, n)]
        for blue in sets:
            for red in sets:
                if not blue & red:
                    yield blue, red, 0
                    yield blue, red, 1

    def is_lost(self, position):
        """Return whether the turn that led to a position won."""
        mover = position[2]
        own, enemy = position[mover], position[1 - mover]
        is_last = own.bit_count() == 1 and enemy.bit_count() > 1
        return bool(enemy & self.targets[1 - mover]) or is_last

    def successors(self, position):
        """Return the positions after every turn."""
        mover = position[2]
        own, enemy = position[mover], position[1 - mover]
        after = set()
        for start in self.bits:
            if own & start:
                for end in self.steps[mover][start]:
                    if not end & (own | enemy):
                        after.add((own ^ start | end, enemy))
                self.walk(start, start, own, enemy, 0, 0, after)
        return [(theirs, mine, 0) if mover else (mine, theirs, 1) for mine, theirs in after]

    def walk(self, start, cell, own, enemy, used, captured, after):
        """Add where chains lead that have come to `cell`; the piece still stands on its start."""
        for over, end in self.hops[cell]:
            is_free = not end & (own | enemy)
            if is_free and over & (own | enemy) and not over & (used | start):
                is_first = over & enemy and not captured
                taken, left = (over, enemy ^ over) if is_first else (captured, enemy)
                after.add((own ^ start | end, left))
                self.walk(start, end, own, left, used | over, taken, after)

    def solved(self, most):
        """Return the value of every position to the player to move: (1, 0 or -1, turns to the end).

        Round after round, what can be forced within so many turns is found by looking forward.
        """
        values, undecided = {}, {}
        for position in self.positions(most):
            if self.is_lost(position):
                values[position] = (-1, 0)
            elif after := self.successors(position):
                undecided[position] = after
            else:
                values[position] = (0, 0)
        for turns in count(1):
            now = {}
            for position, after in undecided.items():
                known = [
                    values.get(successor) or self.without_pieces(successor) for successor in after
                ]
                if any(value and value[0] < 0 for value in known):
                    now[position] = (1, turns)
                elif all(value and value[0] > 0 for value in known):
                    now[position] = (-1, turns)
            if not now:
                return values | dict.fromkeys(undecided, (0, 0))
            values.update(now)
            for position in now:
                del undecided[position]
        return None

    def without_pieces(self, position):
        """Return the value of a position in which a side has no piece, None for others."""
        if all(position[:2]):
            return None
        return (-1, 0) if self.is_lost(position) else (0, 0)
