"""Where a piece can jump to in chains, and what it can capture, without walking every path.

    0  1  2  3  4  5  6  7     Sets of cells are 64-bit words on a frame of 8 by 8: cell (r, c) is
    8  9 10 11 12 13 14 15     bit 8r + c on every board size, so shifts are the same for all.
   16 17 18 …                  "Middles" are the pieces that may be hopped over.

A dense 8x8 position has hundreds of thousands of paths for one piece, but the cells that a piece
can land on form a small graph: a hop changes row and column by 0 or 2, so it stays on at most 16
cells of equal parity, and what it hops over lies on the others. Therefore a capture never opens or
closes a landing cell, and a chain is a walk in that graph that uses no piece twice:

- A straight middle joins one pair of cells, so a walk without cycles uses it once of itself. Only
  a diagonal middle joins two pairs, whose hops cross. `reachable` floods; where hops can cross, a
  chain makes one of the two at most, so that it ends where one can get to without the one, or
  without the other. This gives all ends, with any capture or none.
- A chain that captures `victim` is a walk over own pieces to a cell beside it, the hop, and a walk
  over any pieces to the end; the two walks share no piece. `ends_capturing` floods both. Where they
  could share a piece, it tries the first walks one by one; where these can be many, `_can_capture`
  takes a shortest pair for each end, and if that uses a piece twice, branches on which use to
  forbid.

Both are exact. Cycles can be cut out of each walk without using more pieces.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cc_env.core.bitboard import ONE, ZERO, lowest_bit, lowest_index, popcount
from cc_env.jit.compiler import jit

Word = np.uint64  # a set of cells

_1, _2, _7, _8, _9, _14, _16, _18 = (np.uint64(n) for n in (1, 2, 7, 8, 9, 14, 16, 18))
_TWO_RISING = _14  # index distance of a hop along a rising diagonal
_FEW = 8  # own pieces: there are few walks over them
_LANDS_EAST = np.uint64(0xFCFCFCFCFCFCFCFC)  # columns 2-7
_LANDS_WEST = np.uint64(0x3F3F3F3F3F3F3F3F)  # columns 0-5
NOT_FIRST = np.uint64(0xFEFEFEFEFEFEFEFE)  # columns 1-7
NOT_LAST = np.uint64(0x7F7F7F7F7F7F7F7F)  # columns 0-6
_INNER = NOT_FIRST & NOT_LAST


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


class Hops(NamedTuple):
    """For each direction, the cells from which a hop can be made."""

    east: Word
    southeast: Word
    northeast: Word
    west: Word
    northwest: Word
    southwest: Word
    south: Word
    north: Word


@jit
def hops_over(middles: Word, empty: Word) -> Hops:
    """Return the hops over `middles` to the cells of `empty`."""
    return _hops_over(middles, middles, empty)


@jit
def _hops_over(falling: Word, rising: Word, empty: Word) -> Hops:
    """Return the hops over `rising` in the two directions /, over `falling` in the other six."""
    east, west = empty & _LANDS_EAST, empty & _LANDS_WEST
    return Hops(
        (east >> _1 & falling) >> _1,
        (east >> _9 & falling) >> _9,
        (east << _7 & rising) << _7,
        (west << _1 & falling) << _1,
        (west << _9 & falling) << _9,
        (west >> _7 & rising) >> _7,
        (empty >> _8 & falling) >> _8,
        (empty << _8 & falling) << _8,
    )


@jit
def takeoffs(hops: Hops) -> Word:
    """Return the cells from which there is any hop."""
    east, west = hops.east | hops.southeast, hops.west | hops.northwest
    return east | west | hops.northeast | hops.southwest | hops.south | hops.north


@jit
def going_on(hops: Hops) -> Word:
    """Return the cells from which a hop leads to where there is another."""
    more = takeoffs(hops)
    east = hops.east & more >> _2 | hops.southeast & more >> _18
    west = hops.west & more << _2 | hops.northwest & more << _18
    rising = hops.northeast & more << _14 | hops.southwest & more >> _14
    return east | west | rising | hops.south & more >> _16 | hops.north & more << _16


@jit
def jumpers(pieces: Word, middles: Word, empty: Word) -> Word:
    """Return those of `pieces` that can hop at all."""
    return pieces & takeoffs(hops_over(middles, empty))


@jit
def count_hops(pieces: Word, middles: Word, empty: Word) -> np.int64:
    """Return in how many ways one of `pieces` can hop once."""
    count = np.int64(0)
    hops = hops_over(middles, empty)
    for direction in range(len(hops)):
        count += popcount(pieces & hops[direction])
    return count


@jit
def hopped(cells: Word, hops: Hops) -> Word:
    """Return the middles that one hop from any of `cells` goes over."""
    east = (cells & hops.east) << _1 | (cells & hops.southeast) << _9
    west = (cells & hops.west) >> _1 | (cells & hops.northwest) >> _9
    rising = (cells & hops.northeast) >> _7 | (cells & hops.southwest) << _7
    return east | west | rising | (cells & hops.south) << _8 | (cells & hops.north) >> _8


@jit
def landed(cells: Word, hops: Hops) -> Word:
    """Return the cells that one hop from any of `cells` lands on."""
    east = (cells & hops.east) << _2 | (cells & hops.southeast) << _18
    west = (cells & hops.west) >> _2 | (cells & hops.northwest) >> _18
    rising = (cells & hops.northeast) >> _14 | (cells & hops.southwest) << _14
    return east | west | rising | (cells & hops.south) << _16 | (cells & hops.north) >> _16


@jit
def _without(hops: Hops, middles: Word) -> Hops:
    """Return the hops that go over none of `middles`."""
    return Hops(
        hops.east & ~(middles >> _1),
        hops.southeast & ~(middles >> _9),
        hops.northeast & ~(middles << _7),
        hops.west & ~(middles << _1),
        hops.northwest & ~(middles << _9),
        hops.southwest & ~(middles >> _7),
        hops.south & ~(middles >> _8),
        hops.north & ~(middles << _8),
    )


@jit
def flood(cells: Word, hops: Hops) -> Word:
    """Return `cells` and all that hops lead to, if a piece could be used more than once."""
    reached = cells
    while True:
        grown = reached | landed(reached, hops)
        if grown == reached:
            return reached
        reached = grown


@jit
def _crossed(cells: Word) -> Word:
    """Return the cells of which all four diagonal neighbours are in `cells`."""
    return cells << _9 & cells >> _9 & cells << _7 & cells >> _7 & _INNER


@jit
def _joined(cells: Word) -> Word:
    """Return the cells that are in the middle between two of `cells`."""
    diagonal = cells << _9 & cells >> _9 | cells << _7 & cells >> _7
    return (cells << _1 & cells >> _1 | diagonal) & _INNER | cells << _8 & cells >> _8


@jit
def reachable(start: Word, hops: Hops, middles: Word, empty: Word) -> Word:
    """Return `start` and all cells at which a chain can end that uses each of `middles` once.

    `hops` are those over `middles`.
    """
    reached = flood(start, hops)
    if _crossed(reached) & middles:
        return _reachable_crossing(start, hops, middles, empty, reached)
    return reached


@jit
def _reachable_crossing(start: Word, hops: Hops, middles: Word, empty: Word, reached: Word) -> Word:
    """Return those of `reached` that a chain gets to without using one of `middles` twice."""
    crossed = _crossed(reached) & middles
    others = _without(hops, crossed)
    certain = flood(start, others)
    certain |= landed(certain, hops)
    if certain == reached:
        return reached
    certain = flood(certain, others)  # what it gets to with one hop over `crossed` at most
    if certain == reached or crossed == lowest_bit(crossed):
        return certain
    return _add_crossing(start, middles, middles, empty, certain)


@jit
def _add_crossing(start: Word, falling: Word, rising: Word, empty: Word, certain: Word) -> Word:
    """Add to `certain` what chains get to that go over these pieces, over each in one direction."""
    reached = flood(start, _hops_over(falling, rising, empty))
    if reached == reached & certain:
        return certain
    crossed = lowest_bit(_crossed(reached) & falling & rising)
    if not crossed:
        return certain | reached
    certain = _add_crossing(start, falling ^ crossed, rising, empty, certain)
    return _add_crossing(start, falling, rising ^ crossed, empty, certain)


@jit
def _reachable_from(starts: Word, hops: Hops, middles: Word, empty: Word) -> Word:
    """Return all cells at which a chain from any of `starts` can end."""
    reached = flood(starts, hops)
    if not _crossed(reached) & middles:
        return reached
    ends = ZERO
    while starts:
        start = lowest_bit(starts)
        starts ^= start
        ends |= reachable(start, hops, middles, empty)
    return ends


class Field(NamedTuple):
    """A position as a piece sees it that jumps."""

    own: Word  # itself may be among them: it stands on no cell that it can hop over
    occupied: Word
    empty: Word
    hops: Hops  # over any piece


@jit
def captures(start: Word, end: Word, own: Word, enemy: Word, empty: Word) -> tuple[Word, bool]:
    """Return the pieces of `enemy` that chains from `start` to `end` capture.

    And whether some chain does without; there is one of the two kinds at least.
    """
    over_own = hops_over(own, empty)
    before = flood(start, over_own)
    if not before & takeoffs(hops_over(enemy, empty)):
        return ZERO, True
    field = Field(own, own | enemy, empty, hops_over(own | enemy, empty))
    candidates = between(before, flood(end, field.hops), enemy)
    if not candidates:
        return ZERO, True
    before = reachable(start, over_own, own, empty)
    victims = ZERO
    while candidates:
        victim = lowest_bit(candidates)
        candidates ^= victim
        if ends_capturing(start, before, victim, end, captured(victim, field)):
            victims |= victim
    return victims, True if before & end else False  # noqa: SIM210 (compiled)


@jit
def captured(victim: Word, field: Field) -> Field:
    """Return the field without `victim`. Its cell is none that the piece could land on."""
    occupied, hops = field.occupied ^ victim, _without(field.hops, victim)
    return Field(field.own, occupied, field.empty, hops)


@jit
def ends_capturing(start: Word, before: Word, victim: Word, wanted: Word, left: Field) -> Word:
    """Return those of `wanted` at which chains end that capture `victim`.

    `before` are `start` and the cells that it gets to over own pieces; `left` is without `victim`.
    """
    own, others, empty = left.own, left.occupied, left.empty
    landings = hop(before, victim, victim, empty)
    possible = _reachable_from(landings, left.hops, others, empty)
    used = _joined(before) & own
    if not used & _joined(possible):
        return possible & wanted
    possible &= wanted
    if popcount(used) <= _FEW:
        beside = hop(landings, victim, victim, before)
        return _walk(_Question(victim, beside, possible, empty), start, own, others, ZERO) & wanted
    at_once = hop(start, victim, victim, empty)  # the usual way, which decides most ends
    doubtful = possible & ~_reachable_from(at_once, left.hops, others, empty)
    while doubtful:
        end = lowest_bit(doubtful)
        doubtful ^= end
        if not _can_capture(_Chain(start, victim, end, empty), _Ways(own, own, others, others)):
            possible ^= end
    return possible


class _Question(NamedTuple):
    """At which cells of `wanted` does a chain end that captures `victim` from one of `beside`?"""

    victim: Word
    beside: Word
    wanted: Word
    empty: Word


@jit
def _walk(question: _Question, cell: Word, own: Word, others: Word, ends: Word) -> Word:
    """Add to `ends` the ends of all chains that go on from `cell`, over own pieces at first."""
    if cell & question.beside:
        landings = hop(cell, question.victim, question.victim, question.empty)
        hops = hops_over(others, question.empty)
        ends |= _reachable_from(landings, hops, others, question.empty)
    cells = hop(cell, own, own, question.empty)
    while cells and question.wanted & ~ends:
        next_cell = lowest_bit(cells)
        cells ^= next_cell
        middle = ONE << ((lowest_index(cell) + lowest_index(next_cell)) >> ONE)
        ends = _walk(question, next_cell, own ^ middle, others ^ middle, ends)
    return ends


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
def _forbid(ways: _Ways, gone: _Ways) -> _Ways:
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
    before = flood(chain.start, _hops_over(ways.falling, ways.rising, chain.empty))
    after = flood(chain.end, _hops_over(ways.falling_after, ways.rising_after, chain.empty))
    return True if between(before, after, chain.victim) else False  # noqa: SIM210 (compiled)


@jit
def _can_capture(chain: _Chain, ways: _Ways) -> bool:
    """Return whether the chain exists, within `ways` and each piece used once."""
    before = flood(chain.start, _hops_over(ways.falling, ways.rising, chain.empty))
    after = flood(chain.end, _hops_over(ways.falling_after, ways.rising_after, chain.empty))
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
            first, second = _Ways(piece, piece, ZERO, ZERO), _Ways(ZERO, ZERO, piece, piece)
        elif piece & twice_before:
            first, second = _Ways(piece, ZERO, ZERO, ZERO), _Ways(ZERO, piece, ZERO, ZERO)
        else:
            first, second = _Ways(ZERO, ZERO, piece, ZERO), _Ways(ZERO, ZERO, ZERO, piece)
        first, second = _forbid(ways, first), _forbid(ways, second)
        if not _possible(chain, first):
            return _can_capture(chain, second)
        if not _possible(chain, second):
            return _can_capture(chain, first)
        if not conflicts:
            return _can_capture(chain, first) or _can_capture(chain, second)
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
    here, there = lowest_index(previous), lowest_index(cell)
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
        if not _leads(cells[-1], middles, end, empty):
            continue
        for landing, middle in _hops(cells[-1], middles, empty):
            taken = middle if victim is None and enemy >> middle & 1 else victim
            left = middles ^ 1 << middle
            if (landing, taken, left) not in seen:
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
    reached = _flood_over(ONE << np.uint64(cell), np.uint64(middles), np.uint64(empty))
    return bool(int(reached) >> end & 1)


@jit
def _flood_over(cells: Word, middles: Word, empty: Word) -> Word:
    return flood(cells, hops_over(middles, empty))
