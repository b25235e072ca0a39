"""The ends and captures of jump chains, without enumerating paths.

    0  1  2  3  4  5  6  7     Sets of cells are 64-bit words on a frame of 8 by 8: cell (r, c) is
    8  9 10 11 12 13 14 15     bit 8r + c on every board size, so shifts are the same for all.
   16 17 18 …                  "Middles" are pieces that may be hopped over.

A dense 8x8 position has hundreds of thousands of paths for one piece, but the cells that a piece
can land on form a small graph: a hop changes row and column by 0 or 2, so it stays on at most 16
cells of equal parity, and middles lie on other cells. Therefore a capture never opens or
closes a landing cell, and a chain is a walk in that graph that uses no piece twice.

A walk may have cycles; without them it has the same ends and uses no further piece. So it is enough
to find walks without cycles. A straight middle joins one pair of cells, so such a walk uses it at
most once. Only a diagonal middle joins two pairs, whose hops cross; such a walk may use both.

- `reachable` finds all ends, with any capture or none. It is a flood fill, unless hops cross. A
  chain uses at most one of two hops that cross, so it is a walk of the fill with the other hop
  forbidden, and a walk of that fill without cycles does not use this piece twice. All ends are
  therefore the union of both fills, each divided further while hops cross in it.
- A chain that captures `victim` is a walk over own pieces to a cell next to it, the hop, and a walk
  over any pieces to the end; the two walks share no piece. `ends_capturing` fills both. If they
  could share a piece, it enumerates the first walks; if these can be many,
  `_exists_without_reuse` takes a shortest pair of walks for each end. If the pair uses no piece
  twice, it is a chain. Otherwise a chain lacks at least one of the two uses of that piece, so it
  exists if it exists with the one or with the other use forbidden.

Titles in quotes are those of drawn positions in `tests/games/test_chain_examples.py`.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cc_env.core.bitboard import ONE, ZERO, lowest_bit, lowest_index, popcount
from cc_env.jit.compiler import jit

# A set of cells.
Word = np.uint64

_1, _2, _7, _8, _9, _14, _16, _18 = (np.uint64(n) for n in (1, 2, 7, 8, 9, 14, 16, 18))
# The distance of a hop along a rising diagonal, in bits.
_RISING_HOP = _14
# With at most this many own pieces, the walks over them are enumerated.
_MAX_ENUMERATED = 8
# Columns 2 to 7, 0 to 5, 1 to 7 and 0 to 6.
_LANDS_EAST = np.uint64(0xFCFCFCFCFCFCFCFC)
_LANDS_WEST = np.uint64(0x3F3F3F3F3F3F3F3F)
NOT_FIRST = np.uint64(0xFEFEFEFEFEFEFEFE)
NOT_LAST = np.uint64(0x7F7F7F7F7F7F7F7F)
_INNER = NOT_FIRST & NOT_LAST


@jit
def hop(cells: Word, falling: Word, rising: Word, empty: Word) -> Word:
    """Return the landing cells in `empty` of one hop from any of `cells`.

    Hops along / go over `rising`, hops in the other six directions over `falling`.
    """
    east = ((cells << _1 & falling) << _1) | ((cells << _9 & falling) << _9)
    east |= (cells >> _7 & rising) >> _7
    west = ((cells >> _1 & falling) >> _1) | ((cells >> _9 & falling) >> _9)
    west |= (cells << _7 & rising) << _7
    straight = ((cells << _8 & falling) << _8) | ((cells >> _8 & falling) >> _8)
    return (east & _LANDS_EAST | west & _LANDS_WEST | straight) & empty


class Hops(NamedTuple):
    """By direction, the cells from which a hop is possible."""

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
    """Return the hops along / over `rising` and in the other six directions over `falling`."""
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
    """Return the cells from which any hop is possible."""
    east, west = hops.east | hops.southeast, hops.west | hops.northwest
    return east | west | hops.northeast | hops.southwest | hops.south | hops.north


@jit
def jumpers(pieces: Word, middles: Word, empty: Word) -> Word:
    """Return the pieces of `pieces` that can hop."""
    return pieces & takeoffs(hops_over(middles, empty))


@jit
def count_hops(pieces: Word, middles: Word, empty: Word) -> np.int64:
    """Return the number of single hops of `pieces`."""
    count = np.int64(0)
    hops = hops_over(middles, empty)
    for direction in range(len(hops)):
        count += popcount(pieces & hops[direction])
    return count


@jit
def hop_landings(cells: Word, hops: Hops) -> Word:
    """Return the landing cells of single hops from any of `cells`."""
    east = (cells & hops.east) << _2 | (cells & hops.southeast) << _18
    west = (cells & hops.west) >> _2 | (cells & hops.northwest) >> _18
    rising = (cells & hops.northeast) >> _14 | (cells & hops.southwest) << _14
    return east | west | rising | (cells & hops.south) << _16 | (cells & hops.north) >> _16


@jit
def _without(hops: Hops, middles: Word) -> Hops:
    """Return the hops that avoid all of `middles`."""
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
    """Return `cells` and all cells reached by hops, if middles could be used repeatedly."""
    reached = cells
    while True:
        grown = reached | hop_landings(reached, hops)
        if grown == reached:
            return reached
        reached = grown


@jit
def _crossings(cells: Word) -> Word:
    """Return the cells whose four diagonal neighbors are all in `cells`."""
    return cells << _9 & cells >> _9 & cells << _7 & cells >> _7 & _INNER


@jit
def _middles_between(cells: Word) -> Word:
    """Return the cells midway between two of `cells`."""
    diagonal = cells << _9 & cells >> _9 | cells << _7 & cells >> _7
    return (cells << _1 & cells >> _1 | diagonal) & _INNER | cells << _8 & cells >> _8


@jit
def reachable(start: Word, hops: Hops, middles: Word, empty: Word) -> Word:
    """Return `start` and all ends of chains that use each of `middles` at most once.

    `hops` are those over `middles`.
    """
    reached = flood(start, hops)
    if _crossings(reached) & middles:
        return _reachable_crossing(start, hops, middles, empty, reached)
    # "hops do not cross"
    return reached


@jit
def _reachable_crossing(start: Word, hops: Hops, middles: Word, empty: Word, reached: Word) -> Word:
    """Return the cells of `reached` that chains reach without using a middle twice."""
    crossings = _crossings(reached) & middles
    plain_hops = _without(hops, crossings)
    certain = flood(start, plain_hops)
    certain |= hop_landings(certain, hops)
    # "crossed by the last hop"
    if certain == reached:
        return reached
    # All cells that chains reach with at most one hop over a crossing, e.g. by
    # "plain hops after a crossing". With a "single crossing", no chain has two such hops.
    certain = flood(certain, plain_hops)
    if certain == reached or crossings == lowest_bit(crossings):
        return certain
    # "two crossings"
    return _add_crossings(start, middles, middles, empty, certain)


@jit
def _add_crossings(start: Word, falling: Word, rising: Word, empty: Word, certain: Word) -> Word:
    """Return `certain` and the cells that chains reach if each piece is jumped along one diagonal.

    `falling` and `rising` are the pieces that may be jumped along each diagonal.
    """
    reached = flood(start, _hops_over(falling, rising, empty))
    # "two crossings, nothing new"
    if reached == reached & certain:
        return certain
    crossing = lowest_bit(_crossings(reached) & falling & rising)
    if not crossing:
        return certain | reached
    certain = _add_crossings(start, falling ^ crossing, rising, empty, certain)
    return _add_crossings(start, falling, rising ^ crossing, empty, certain)


@jit
def _reachable_from(starts: Word, hops: Hops, middles: Word, empty: Word) -> Word:
    """Return all ends of chains from any of `starts`."""
    reached = flood(starts, hops)
    if not _crossings(reached) & middles:
        return reached
    ends = ZERO
    while starts:
        start = lowest_bit(starts)
        starts ^= start
        ends |= reachable(start, hops, middles, empty)
    return ends


class Field(NamedTuple):
    """The sets of cells that the jumps of a piece depend on; `hops` go over any piece.

    `own` may include the piece itself, which never stands on a cell that it hops over.
    """

    own: Word
    occupied: Word
    empty: Word
    hops: Hops


@jit
def captures(start: Word, end: Word, own: Word, enemy: Word, empty: Word) -> tuple[Word, bool]:
    """Return the pieces of `enemy` that some chain from `start` to `end` captures.

    The second value is whether some chain captures nothing. There must be at least one chain.
    """
    over_own = hops_over(own, empty)
    possible_before = flood(start, over_own)
    if not possible_before & takeoffs(hops_over(enemy, empty)):
        return ZERO, True
    field = Field(own, own | enemy, empty, hops_over(own | enemy, empty))
    candidates = between(possible_before, flood(end, field.hops), enemy)
    if not candidates:
        return ZERO, True
    before = reachable(start, over_own, own, empty)
    victims = ZERO
    while candidates:
        victim = lowest_bit(candidates)
        candidates ^= victim
        if ends_capturing(start, before, victim, end, remove_victim(victim, field)):
            victims |= victim
    return victims, True if before & end else False  # noqa: SIM210 (compiled)


@jit
def remove_victim(victim: Word, field: Field) -> Field:
    """Return the field after the capture of `victim`; the piece never lands on its cell."""
    occupied, hops = field.occupied ^ victim, _without(field.hops, victim)
    return Field(field.own, occupied, field.empty, hops)


@jit
def ends_capturing(
    start: Word, before: Word, victim: Word, targets: Word, remaining: Field
) -> Word:
    """Return the cells of `targets` where chains that capture `victim` end.

    `before` are `start` and the cells that it reaches over own pieces; `remaining` is the field
    without `victim`.
    """
    own, occupied, empty = remaining.own, remaining.occupied, remaining.empty
    landings = hop(before, victim, victim, empty)
    possible = _reachable_from(landings, remaining.hops, occupied, empty)
    used = _middles_between(before) & own
    # "walks share no piece"
    if not used & _middles_between(possible):
        return possible & targets
    possible &= targets
    # "few pieces before the capture"
    if popcount(used) <= _MAX_ENUMERATED:
        beside = hop(landings, victim, victim, before)
        query = _CaptureQuery(victim, beside, possible, empty)
        return _walk(query, start, own, occupied, ZERO) & targets
    # A chain that captures by its first hop uses no piece before: "capture by the first hop". This
    # decides most ends.
    direct = hop(start, victim, victim, empty)
    doubtful = possible & ~_reachable_from(direct, remaining.hops, occupied, empty)
    while doubtful:
        end = lowest_bit(doubtful)
        doubtful ^= end
        chain = _Chain(start, victim, end, empty)
        if not _exists_without_reuse(chain, _UsableMiddles(own, own, occupied, occupied)):
            possible ^= end
    return possible


class _CaptureQuery(NamedTuple):
    """The search for ends in `targets` of chains that capture `victim` from a cell of `beside`."""

    victim: Word
    beside: Word
    targets: Word
    empty: Word


@jit
def _walk(query: _CaptureQuery, cell: Word, own: Word, occupied: Word, ends: Word) -> Word:
    """Return `ends` and the ends of chains from `cell` over own pieces that then capture.

    Stops as soon as the result contains all targets of the query.
    """
    if cell & query.beside:
        landings = hop(cell, query.victim, query.victim, query.empty)
        hops = hops_over(occupied, query.empty)
        ends |= _reachable_from(landings, hops, occupied, query.empty)
    cells = hop(cell, own, own, query.empty)
    while cells and query.targets & ~ends:
        next_cell = lowest_bit(cells)
        cells ^= next_cell
        middle = ONE << ((lowest_index(cell) + lowest_index(next_cell)) >> ONE)
        ends = _walk(query, next_cell, own ^ middle, occupied ^ middle, ends)
    return ends


class _Chain(NamedTuple):
    """A chain from `start` to `end` over cells of `empty` that captures `victim`."""

    start: Word
    victim: Word
    end: Word
    empty: Word


class _UsableMiddles(NamedTuple):
    """The pieces that may be hopped over before and after the victim, by kind of diagonal."""

    falling: Word
    rising: Word
    falling_after: Word
    rising_after: Word


@jit
def _subtract(usable: _UsableMiddles, forbidden: _UsableMiddles) -> _UsableMiddles:
    """Return the uses in `usable` that are not in `forbidden`."""
    return _UsableMiddles(
        usable.falling & ~forbidden.falling,
        usable.rising & ~forbidden.rising,
        usable.falling_after & ~forbidden.falling_after,
        usable.rising_after & ~forbidden.rising_after,
    )


@jit
def between(before: Word, after: Word, victims: Word) -> Word:
    """Return the victims that lie midway between a cell of `before` and one of `after`."""
    east, west = after & _LANDS_EAST, after & _LANDS_WEST
    sides = (before << _1 & east >> _1) | (before << _9 & east >> _9) | (before >> _7 & east << _7)
    sides |= (before >> _1 & west << _1) | (before >> _9 & west << _9) | (before << _7 & west >> _7)
    sides |= (before << _8 & after >> _8) | (before >> _8 & after << _8)
    return victims & sides


@jit
def _exists_with_reuse(chain: _Chain, usable: _UsableMiddles) -> bool:
    """Return whether the chain would exist if pieces could be used repeatedly."""
    before = flood(chain.start, _hops_over(usable.falling, usable.rising, chain.empty))
    after = flood(chain.end, _hops_over(usable.falling_after, usable.rising_after, chain.empty))
    return True if between(before, after, chain.victim) else False  # noqa: SIM210 (compiled)


@jit
def _exists_without_reuse(chain: _Chain, usable: _UsableMiddles) -> bool:
    """Return whether the chain exists; it uses no piece twice, and pieces only as in `usable`."""
    before = flood(chain.start, _hops_over(usable.falling, usable.rising, chain.empty))
    after = flood(chain.end, _hops_over(usable.falling_after, usable.rising_after, chain.empty))
    if not between(before, after, chain.victim):
        return False
    used = _shortest(chain, usable, before, after)
    twice_before = used.falling & used.rising
    twice_after = used.falling_after & used.rising_after
    both = (used.falling | used.rising) & (used.falling_after | used.rising_after)
    conflicts = both | twice_before | twice_after
    while conflicts:
        piece = lowest_bit(conflicts)
        conflicts ^= piece
        # "needed before and after"
        if piece & both:
            first, second = (
                _UsableMiddles(piece, piece, ZERO, ZERO),
                _UsableMiddles(ZERO, ZERO, piece, piece),
            )
        # "twice before"
        elif piece & twice_before:
            first, second = (
                _UsableMiddles(piece, ZERO, ZERO, ZERO),
                _UsableMiddles(ZERO, piece, ZERO, ZERO),
            )
        # "twice after"
        else:
            first, second = (
                _UsableMiddles(ZERO, ZERO, piece, ZERO),
                _UsableMiddles(ZERO, ZERO, ZERO, piece),
            )
        first, second = _subtract(usable, first), _subtract(usable, second)
        if not _exists_with_reuse(chain, first):
            return _exists_without_reuse(chain, second)
        # "second impossible"
        if not _exists_with_reuse(chain, second):
            return _exists_without_reuse(chain, first)
        # No conflict rules out a use: "both possible".
        if not conflicts:
            return _exists_without_reuse(chain, first) or _exists_without_reuse(chain, second)
    return True


@jit
def _shortest(chain: _Chain, usable: _UsableMiddles, before: Word, after: Word) -> _UsableMiddles:
    """Return the pieces that a chain uses, by shortest walks before and after the capture.

    `before` are the cells reached from its start, `after` those that lead to its end.
    """
    # Hops are reversible.
    beside = lowest_bit(hop(after, chain.victim, chain.victim, before))
    landing = lowest_bit(hop(beside, chain.victim, chain.victim, after))
    start, empty = chain.start, chain.empty
    _, falling, rising = _trace(start, start, beside, usable.falling, usable.rising, empty)
    _, falling_after, rising_after = _trace(
        landing, landing, chain.end, usable.falling_after, usable.rising_after, empty
    )
    return _UsableMiddles(falling, rising, falling_after, rising_after)


@jit
def _trace(
    frontier: Word, reached: Word, target: Word, falling: Word, rising: Word, empty: Word
) -> tuple[Word, Word, Word]:
    """Trace a shortest walk from `frontier` to `target`.

    Return its first cell and the pieces that it uses, falling and rising.
    """
    if frontier & target:
        return target, ZERO, ZERO
    new = hop(frontier, falling, rising, empty) & ~reached
    cell, used_falling, used_rising = _trace(new, reached | new, target, falling, rising, empty)
    previous = lowest_bit(hop(cell, falling, rising, frontier))
    start, end = lowest_index(previous), lowest_index(cell)
    middle = ONE << ((start + end) >> ONE)
    if start + _RISING_HOP == end or end + _RISING_HOP == start:
        return previous, used_falling, used_rising | middle
    return previous, used_falling | middle, used_rising


class Chain(NamedTuple):
    """A jump chain: the bit indices of its landing cells and of its victim, None for none."""

    cells: tuple[int, ...]
    victim: int | None


def paths(start: int, end: int, own: int, enemy: int, empty: int) -> Iterator[Chain]:
    """Yield the jump chains of the piece on `start` to `end`, shortest first, for display.

    `start` and `end` are bit indices; `own`, without the moving piece, `enemy` and `empty` are sets
    of cells. There can be hundreds of thousands of chains, which are generated lazily.
    """
    queue = deque([(Chain((start,), None), own | enemy)])
    visited = set()
    while queue:
        (cells, victim), middles = queue.popleft()
        if cells[-1] == end:
            yield Chain(cells, victim)
        if not _leads(cells[-1], middles, end, empty):
            continue
        for landing, middle in _hops(cells[-1], middles, empty):
            new_victim = middle if victim is None and enemy >> middle & 1 else victim
            remaining = middles ^ 1 << middle
            if (landing, new_victim, remaining) not in visited:
                visited.add((landing, new_victim, remaining))
                queue.append((Chain((*cells, landing), new_victim), remaining))


def _hops(cell: int, middles: int, empty: int) -> Iterator[tuple[int, int]]:
    """Yield the landing cell and the middle of each hop from `cell`, as bit indices."""
    row, column = divmod(cell, 8)
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            middle, landing = cell + 8 * down + right, cell + 16 * down + 2 * right
            inside = 0 <= row + 2 * down < 8 and 0 <= column + 2 * right < 8
            if inside and middles >> middle & 1 and empty >> landing & 1:
                yield landing, middle


def _leads(cell: int, middles: int, end: int, empty: int) -> bool:
    """Return whether hops over `middles`, each used repeatedly, lead from `cell` to `end`."""
    reached = _flood_over(ONE << np.uint64(cell), np.uint64(middles), np.uint64(empty))
    return bool(int(reached) >> end & 1)


@jit
def _flood_over(cells: Word, middles: Word, empty: Word) -> Word:
    return flood(cells, hops_over(middles, empty))
