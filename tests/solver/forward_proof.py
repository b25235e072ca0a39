"""An independent solver of C&C in plain Python, written from the rule sheet, to check tables.

It uses nothing of the library: no rotated boards, no symmetry, and every jump path is followed. A
position is (blue, red, mover): sets of cells with bit size * row + column, and 0 or 1.
"""

from itertools import combinations, count

STEPS = (1, 0), (0, 1), (1, 1)
AROUND = [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if r or c]


class Board:
    """The moves on a board of some size."""

    def __init__(self, size):
        self.bits = [1 << place for place in range(size * size)]
        # Target corners of blue and red.
        self.targets = self.bits[-1], self.bits[0]
        # Ends of steps by player and cell; (jumped cell, end) of jumps by cell.
        self.steps = [{}, {}]
        self.hops = {}
        for row in range(size):
            for column in range(size):
                cell = 1 << size * row + column
                for player, sign in ((0, 1), (1, -1)):
                    ends = [(row + sign * r, column + sign * c) for r, c in STEPS]
                    self.steps[player][cell] = [1 << size * r + c for r, c in ends if self.on(r, c)]
                overs = [(row + r, column + c, row + 2 * r, column + 2 * c) for r, c in AROUND]
                self.hops[cell] = [
                    (1 << size * over + by, 1 << size * r + c)
                    for over, by, r, c in overs
                    if self.on(r, c)
                ]

    def on(self, row, column):
        size = int(len(self.bits) ** 0.5)
        return 0 <= row < size and 0 <= column < size

    def positions(self, max_pieces):
        """Yield every position with 1 to `max_pieces` pieces on each side."""
        sets = [sum(some) for n in range(1, max_pieces + 1) for some in combinations(self.bits, n)]
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
        return [(other, moved, 0) if mover else (moved, other, 1) for moved, other in after]

    def walk(self, start, cell, own, enemy, used, captured, after):
        """Add the positions after jumps from `cell`; the piece itself is still on its start."""
        for over, end in self.hops[cell]:
            is_free = not end & (own | enemy)
            if is_free and over & (own | enemy) and not over & (used | start):
                is_first = over & enemy and not captured
                taken_piece, rest = (over, enemy ^ over) if is_first else (captured, enemy)
                after.add((own ^ start | end, rest))
                self.walk(start, end, own, rest, used | over, taken_piece, after)

    def solved(self, max_pieces):
        """Return the value of every position to the player to move: (1, 0 or -1, turns to the end).

        Round n finds the results that can be forced in n turns, by looking forward.
        """
        values, undecided = {}, {}
        for position in self.positions(max_pieces):
            if self.is_lost(position):
                values[position] = (-1, 0)
            elif after := self.successors(position):
                undecided[position] = after
            else:
                values[position] = (0, 0)
        for turns in count(1):
            now = {}
            for position, after in undecided.items():
                results = [
                    values.get(successor) or self.without_pieces(successor) for successor in after
                ]
                if any(value and value[0] < 0 for value in results):
                    now[position] = (1, turns)
                elif all(value and value[0] > 0 for value in results):
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
