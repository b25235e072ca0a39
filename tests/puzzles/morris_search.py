"""An independent search of forced goals in nine men's morris, in plain Python, from the rule sheet.

It uses nothing of the library. The rules are those without options: a mill removes any enemy bead,
and the next move of its player may go anywhere. A side is (beads, beads in hand, whether its next
move is free); beads are sets of points as bits. A position is (side to move, other side).
"""

from functools import lru_cache

POINTS = "ABCDEFGHIJKLMNOPQRSTUVWX"
LINES = (
    *("ABC", "DEF", "GHI", "JKL", "MNO", "PQR", "STU", "VWX"),
    *("AJV", "DKS", "GLP", "BEH", "QTW", "IMR", "FNU", "COX"),
)


def bits(points):
    return sum(1 << POINTS.index(point) for point in points)


ALL = bits(POINTS)
# By point: the rest of each line through it, and the neighbors.
RESTS = {
    1 << place: [bits(line) & ~bits(point) for line in LINES if point in line]
    for place, point in enumerate(POINTS)
}
NEIGHBORS = {
    1 << place: bits(
        {
            other
            for line in LINES
            for pair in (line[:2], line[1:])
            if point in pair
            for other in pair
        }
        - {point}
    )
    for place, point in enumerate(POINTS)
}


def each(beads):
    """Yield the points of a set, as bits."""
    while beads:
        point = beads & -beads
        yield point
        beads ^= point


def removals(enemy, count):
    """Yield the enemy's beads after `count` removals."""
    if not count:
        yield enemy
        return
    for point in each(enemy):
        yield from removals(enemy ^ point, count - 1)


def moves(position):
    """Yield the beads that stay and the target of each move or placement."""
    (own, hand, is_free), (enemy, _, _) = position
    empty = ALL & ~(own | enemy)
    if hand:
        for end in each(empty):
            yield own, end
        return
    for start in each(own):
        for end in each(empty & (ALL if is_free else NEIGHBORS[start])):
            yield own ^ start, end


def successors(position):
    """Yield the positions after the turns that capture, then after the others."""
    (_, hand, _), other = position
    hand = max(0, hand - 1)
    quiet = []
    for rest, end in moves(position):
        mills = sum(rest & line == line for line in RESTS[end])
        count = min(mills, other[0].bit_count())
        if not count:
            quiet.append((other, (rest | end, hand, False)))
            continue
        for left in set(removals(other[0], count)):
            yield (left, *other[1:]), (rest | end, hand, True)
    yield from quiet


def is_lost(position):
    """Return whether the player to move has lost."""
    (own, hand, _), _ = position
    return (not hand and own.bit_count() < 3) or next(moves(position), None) is None


class ForcedGoal:
    """Search for a win, or for a capture before the attacker loses a bead."""

    def __init__(self, position, is_capture):
        """Begin at a position of the attacker."""
        self.own, self.enemy = (side[0].bit_count() for side in position)
        self.is_capture = is_capture
        self.can_force = lru_cache(maxsize=None)(self._can_force)

    def is_goal(self, position):
        """Return whether a turn of the attacker reached the goal; the defender is to move."""
        enemy, own = (side[0].bit_count() for side in position)
        has_captured = enemy < self.enemy and own >= self.own
        return is_lost(position) or (self.is_capture and has_captured)

    def _can_force(self, position, limit):
        """Return whether the attacker, to move, forces the goal within `limit` own turns."""
        if limit <= 0 or is_lost(position):
            return False
        return any(self.reaches(after, limit - 1) for after in successors(position))

    def reaches(self, position, limit):
        """Return whether the attacker forces the goal after a turn, in `limit` more own turns."""
        if limit < 0 or self.is_goal(position):
            return limit >= 0
        return limit > 0 and all(self.can_force(after, limit) for after in successors(position))
