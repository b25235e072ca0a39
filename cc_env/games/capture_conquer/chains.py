"""Where a piece can jump to in chains, and what it can capture, without walking every path.

    0  1  2  3  4  5  6  7     Sets of cells are 64-bit words on a frame of 8 by 8: cell (r, c) is
    8  9 10 11 12 13 14 15     bit 8r + c on every board size, so shifts are the same for all.
   16 17 18 …                  "Middles" are the pieces that may be hopped over.

A dense 8x8 position has hundreds of thousands of paths for one piece, but the cells that a piece
can land on form a small graph: a hop changes row and column by 0 or 2, so it stays on at most 16
cells of equal parity, and what it hops over lies on the others. Therefore a capture never opens or
closes a landing cell, and a chain is a walk in that graph that uses no piece twice:

- A straight middle joins one pair of cells, so a walk without cycles uses it once of itself. Only
  a diagonal middle joins two pairs, whose hops cross. `reachable` floods; where hops can cross,
  `can_reach` takes a shortest walk, and if it crosses itself, branches on which of the two hops
  to forbid. This gives all ends, with any capture or none.
- A chain from `start` to `end` that captures `victim` is a walk over own pieces to a cell beside
  it, the hop, and a walk over any pieces to the end; the two walks share no piece. `can_capture`
  likewise takes a shortest pair, and if that uses a piece twice, branches on which use to forbid.

Both are exact. Cycles can be cut out of each walk without using more pieces.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cc_env.bits import ONE, ZERO, lowest, lowest_bit, popcount
from cc_env.compile import jit

Word = np.uint64  # a set of cells

_1, _7, _8, _9 = np.uint64(1), np.uint64(7), np.uint64(8), np.uint64(9)
_TWO_RISING = np.uint64(14)  # index distance of a hop along a rising diagonal
_LANDS_EAST = np.uint64(0xFCFCFCFCFCFCFCFC)  # columns 2-7
_LANDS_WEST = np.uint64(0x3F3F3F3F3F3F3F3F)  # columns 0-5
NOT_FIRST = np.uint64(0xFEFEFEFEFEFEFEFE)  # columns 1-7
NOT_LAST = np.uint64(0x7F7F7F7F7F7F7F7F)  # columns 0-6


@jit
def hop(cells: Word, falling: Word, rising: Word, empty: Word) -> Word:
    """Return the cells of `empty` that one hop from any of `cells` lands on.

    It goes over `rising` in the two directions /, over `falling` in the other six.
    """
    east = ((cells << _1 & falling) << _1) | ((cells << _9 & falling) << _9)
    east |= (cells >> _7 & rising) >> _7
    west = ((cells >> _1 & falling) >> _1) | ((cells >> _9 & falling) >> _9)
    west |= (cells << _7 & rising) << _7
    straight = ((cells << _8 & falling) << _8) | ((cells >> _8 & falling) >> _8)
    return (east & _LANDS_EAST | west & _LANDS_WEST | straight) & empty


@jit
def _takeoffs(middles: Word, empty: Word) -> tuple[Word, ...]:
    """Return the cells from which a hop over `middles` can land, for each of the directions."""
    east, west = empty & _LANDS_EAST, empty & _LANDS_WEST
    return (
        (east >> _1 & middles) >> _1,
        (east >> _9 & middles) >> _9,
        (east << _7 & middles) << _7,
        (west << _1 & middles) << _1,
        (west << _9 & middles) << _9,
        (west >> _7 & middles) >> _7,
        (empty >> _8 & middles) >> _8,
        (empty << _8 & middles) << _8,
    )


@jit
def jumpers(pieces: Word, middles: Word, empty: Word) -> Word:
    """Return those of `pieces` that can hop at all."""
    found = ZERO
    for takeoffs in _takeoffs(middles, empty):
        found |= takeoffs
    return pieces & found


@jit
def count_hops(pieces: Word, middles: Word, empty: Word) -> np.int64:
    """Return in how many ways one of `pieces` can hop once."""
    count = np.int64(0)
    for takeoffs in _takeoffs(middles, empty):
        count += popcount(pieces & takeoffs)
    return count


@jit
def flood(cells: Word, falling: Word, rising: Word, empty: Word) -> Word:
    """Return `cells` and all that hops lead to, if a piece could be used more than once."""
    reached = cells
    new = hop(cells, falling, rising, empty) & ~reached
    while new:
        reached |= new
        new = hop(new, falling, rising, empty) & ~reached
    return reached


@jit
def reachable(start: Word, middles: Word, empty: Word) -> Word:
    """Return `start` and all cells at which a chain over `middles`, each used once, can end."""
    reached = flood(start, middles, middles, empty)
    corners = (reached << _9) & (reached >> _9) & (reached << _7) & (reached >> _7)
    crossed = middles & corners & NOT_FIRST & NOT_LAST
    if crossed:
        return _reachable_crossing(start, reached, middles, crossed, empty)
    return reached


@jit
def _reachable_crossing(
    start: Word, reached: Word, middles: Word, crossed: Word, empty: Word
) -> Word:
    """Return those of `reached` that a chain gets to without using one of `crossed` twice."""
    certain = _spread(start, middles ^ crossed, crossed, empty)
    doubtful = reached & ~certain
    while doubtful:
        end = lowest_bit(doubtful)
        doubtful ^= end
        if can_reach(start, end, middles, middles, empty):
            certain |= end
    return certain


@jit
def _spread(start: Word, plain: Word, crossed: Word, empty: Word) -> Word:
    """Return cells that a chain from `start` surely gets to: `crossed` are used up one by one."""
    reached = flood(start, plain, plain, empty)
    while hop(reached, crossed, crossed, empty) & ~reached:
        candidates = crossed
        while candidates:
            middle = lowest_bit(candidates)
            candidates ^= middle
            new = hop(reached, middle, middle, empty) & ~reached
            if new:
                reached |= flood(new, plain, plain, empty)
                crossed ^= middle
    return reached


@jit
def can_reach(start: Word, end: Word, falling: Word, rising: Word, empty: Word) -> bool:
    """Return whether a chain leads from `start` to `end`, each piece used once."""
    if not flood(start, falling, rising, empty) & end:
        return False
    _, used_falling, used_rising = _trace(start, start, end, falling, rising, empty)
    twice = lowest_bit(used_falling & used_rising)
    if not twice:
        return True
    return can_reach(start, end, falling ^ twice, rising, empty) or can_reach(
        start, end, falling, rising ^ twice, empty
    )


@jit
def captures(start: Word, end: Word, own: Word, enemy: Word, empty: Word) -> Word:
    """Return the pieces of `enemy` that some chain from `start` to `end` captures.

    `own` is without the moving piece; `empty` without the start cell.
    """
    before = flood(start, own, own, empty)
    after = flood(end, own | enemy, own | enemy, empty)
    candidates = between(before, after, enemy)
    found = ZERO
    while candidates:
        victim = lowest_bit(candidates)
        candidates ^= victim
        if ends_capturing(start, victim, end, own, (own | enemy) ^ victim, empty):
            found |= victim
    return found


@jit
def ends_capturing(
    start: Word, victim: Word, ends: Word, own: Word, others: Word, empty: Word
) -> Word:
    """Return those of `ends` that a chain from `start` gets to which captures `victim`.

    `own` is what it may hop over before, `others` after the victim.
    """
    found = ZERO
    landing = hop(start, victim, victim, empty)
    if landing:  # capturing at once is the usual way, and settles most ends
        found = reachable(landing, others, empty) & ends
    doubtful = ends & ~found
    if doubtful and hop(start, own, own, empty):
        before = flood(start, own, own, empty)
        landings = hop(before, victim, victim, empty)
        doubtful &= flood(landings, others, others, empty)
        while doubtful:
            end = lowest_bit(doubtful)
            doubtful ^= end
            if _can_capture(_Chain(start, victim, end, empty), _Ways(own, own, others, others)):
                found |= end
    return found


class _Chain(NamedTuple):
    """The question: can a chain through `empty` go from `start` to `end`, capturing `victim`?"""

    start: Word
    victim: Word
    end: Word
    empty: Word


class _Ways(NamedTuple):
    """The pieces that may still be hopped over before and after the victim, by direction."""

    falling: Word
    rising: Word
    falling_after: Word
    rising_after: Word


@jit
def _without(ways: _Ways, gone: _Ways) -> _Ways:
    """Return the ways that are in `ways` and not in `gone`."""
    return _Ways(
        ways.falling & ~gone.falling,
        ways.rising & ~gone.rising,
        ways.falling_after & ~gone.falling_after,
        ways.rising_after & ~gone.rising_after,
    )


@jit
def between(before: Word, after: Word, victims: Word) -> Word:
    """Return those of `victims` that a hop from a cell of `before` to one of `after` goes over."""
    east, west = after & _LANDS_EAST, after & _LANDS_WEST
    sides = (before << _1 & east >> _1) | (before << _9 & east >> _9) | (before >> _7 & east << _7)
    sides |= (before >> _1 & west << _1) | (before >> _9 & west << _9) | (before << _7 & west >> _7)
    sides |= (before << _8 & after >> _8) | (before >> _8 & after << _8)
    return victims & sides


@jit
def _possible(chain: _Chain, ways: _Ways) -> bool:
    """Return whether the chain exists if pieces could be used twice."""
    before = flood(chain.start, ways.falling, ways.rising, chain.empty)
    after = flood(chain.end, ways.falling_after, ways.rising_after, chain.empty)
    return True if between(before, after, chain.victim) else False  # noqa: SIM210 (compiled)


@jit
def _can_capture(chain: _Chain, ways: _Ways) -> bool:
    """Return whether the chain exists, within `ways` and each piece used once."""
    before = flood(chain.start, ways.falling, ways.rising, chain.empty)
    after = flood(chain.end, ways.falling_after, ways.rising_after, chain.empty)
    if not between(before, after, chain.victim):
        return False
    used = _shortest(chain, ways, before, after)
    twice_before = used.falling & used.rising
    twice_after = used.falling_after & used.rising_after
    both = (used.falling | used.rising) & (used.falling_after | used.rising_after)
    conflicts = both | twice_before | twice_after
    while conflicts:
        piece = lowest_bit(conflicts)
        conflicts ^= piece
        if piece & both:
            one, other = _Ways(piece, piece, ZERO, ZERO), _Ways(ZERO, ZERO, piece, piece)
        elif piece & twice_before:
            one, other = _Ways(piece, ZERO, ZERO, ZERO), _Ways(ZERO, piece, ZERO, ZERO)
        else:
            one, other = _Ways(ZERO, ZERO, piece, ZERO), _Ways(ZERO, ZERO, ZERO, piece)
        one, other = _without(ways, one), _without(ways, other)
        if not _possible(chain, one):
            return _can_capture(chain, other)
        if not _possible(chain, other):
            return _can_capture(chain, one)
        if not conflicts:
            return _can_capture(chain, one) or _can_capture(chain, other)
    return True


@jit
def _shortest(chain: _Chain, ways: _Ways, before: Word, after: Word) -> _Ways:
    """Return the pieces that one chain uses, shortest before the victim and shortest after it.

    `before` are the cells that it can reach from its start, `after` those that lead to its end.
    """
    beside = lowest_bit(hop(after, chain.victim, chain.victim, before))  # hops can be undone
    landing = lowest_bit(hop(beside, chain.victim, chain.victim, after))
    start, empty = chain.start, chain.empty
    _, falling, rising = _trace(start, start, beside, ways.falling, ways.rising, empty)
    _, falling_after, rising_after = _trace(
        landing, landing, chain.end, ways.falling_after, ways.rising_after, empty
    )
    return _Ways(falling, rising, falling_after, rising_after)


@jit
def _trace(
    frontier: Word, reached: Word, target: Word, falling: Word, rising: Word, empty: Word
) -> tuple[Word, Word, Word]:
    """Follow a shortest walk from `frontier` to `target`.

    Return the cell of `frontier` where it begins and the pieces that it uses, falling and rising.
    """
    if frontier & target:
        return target, ZERO, ZERO
    new = hop(frontier, falling, rising, empty) & ~reached
    cell, used_falling, used_rising = _trace(new, reached | new, target, falling, rising, empty)
    previous = lowest_bit(hop(cell, falling, rising, frontier))
    here, there = lowest(previous), lowest(cell)
    middle = ONE << ((here + there) >> ONE)
    if max(here, there) - min(here, there) == _TWO_RISING:
        return previous, used_falling, used_rising | middle
    return previous, used_falling | middle, used_rising


class Chain(NamedTuple):
    """A jump chain: the bit indices of the cells it touches down on, and of what it captured."""

    cells: tuple[int, ...]
    victim: int | None


def paths(start: int, end: int, own: int, enemy: int, empty: int) -> Iterator[Chain]:
    """Yield the jump chains of the piece on `start` to `end`, shortest first; for display.

    `start` and `end` are bit indices; `own`, without the moving piece, `enemy` and `empty` are sets
    of cells. There can be very many: each is made when it is asked for.
    """
    queue = deque([(Chain((start,), None), own | enemy)])
    seen = set()
    while queue:
        (cells, victim), middles = queue.popleft()
        if cells[-1] == end:
            yield Chain(cells, victim)
        for landing, middle in _hops(cells[-1], middles, empty):
            taken = middle if victim is None and enemy >> middle & 1 else victim
            left = middles ^ 1 << middle
            if (landing, taken, left) not in seen and _leads(landing, left, end, empty):
                seen.add((landing, taken, left))
                queue.append((Chain((*cells, landing), taken), left))


def _hops(cell: int, middles: int, empty: int) -> Iterator[tuple[int, int]]:
    """Yield where a hop from `cell` lands and over what, as bit indices."""
    row, column = divmod(cell, 8)
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            middle, landing = cell + 8 * down + right, cell + 16 * down + 2 * right
            inside = 0 <= row + 2 * down < 8 and 0 <= column + 2 * right < 8
            if inside and middles >> middle & 1 and empty >> landing & 1:
                yield landing, middle


def _leads(cell: int, middles: int, end: int, empty: int) -> bool:
    """Return whether hops over `middles` may lead from `cell` to `end`."""
    over = np.uint64(middles)
    reached = flood(ONE << np.uint64(cell), over, over, np.uint64(empty))
    return bool(int(reached) >> end & 1)
