"""How the positions of a game are numbered, so that a table of values needs no keys.

Only positions between turns are numbered, as the player to move sees them: who that is does not
matter. They consist of K sets of cells and, in some games, of a small `state`. The sizes of the
sets are the position's *material*; within one material the numbers are 0, 1, 2, … without a gap.

    number    the rank of the first set, the player's own, then of the others, then the state
    rank      of a set among those of its size, in the combinatorial number system; only the cells
              that the sets before it leave free are counted
    symmetry  of the images of the first set one, its representative, is counted, and the other sets
              are taken to where this image is. Where several symmetries lead there, the others are
              not folded further: so each number is one position, and nothing is left out

Source: combinatorial number system, Knuth, The Art of Computer Programming 4A, section 7.2.1.3.

Shapes: K sets; C codes of materials, (limit + 1)**K; G symmetries, the identity included; R sets of
cells that the first set can be, of all sizes up to `limit`; O representatives of them.
"""

import itertools
from collections.abc import Iterable, Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO, lowest_bit, lowest_index, popcount, reverse_bits
from cc_env.core.numbering import MAX_CELLS, Material, Numbering, swap_sides
from cc_env.core.rules import Int, Position
from cc_env.errors import BadOption
from cc_env.jit.compiler import jit

NO_INDEX = -1  # the place of a position that has no number
BLOCK_SIZE = 2**15  # values; those of each material begin at a multiple of it

_63 = np.uint64(63)


def both_views(materials: Iterable[Material]) -> list[Material]:
    """Return the materials as either side sees them, each view once."""
    return list(
        dict.fromkeys(view for material in materials for view in (material, swap_sides(material)))
    )


class RankingTables(NamedTuple):
    """The tables by which compiled code finds the place of a position's value, and back.

    Values of several materials lie in one array, see `start`; those of the first set's size n have
    their part of `orbit` and `image` from `first[n]` on, of `own` from `own_at[n]` on.
    """

    cells: NDArray[np.uint64]  # [K] where the pieces of a set can stand
    choose: NDArray[np.int64]  # [65, limit + 1] binomial coefficients
    moved: NDArray[np.uint64]  # [G, 64] the image of a cell, as an index
    first: NDArray[np.int64]  # [limit + 2]
    orbit: NDArray[np.int32]  # [R] the representative of a first set
    image: NDArray[np.int8]  # [R] the symmetry that leads to it
    own_at: NDArray[np.int64]  # [limit + 2]
    own: NDArray[np.uint64]  # [O] the representatives
    before_at: NDArray[np.int64]  # [C] where the part of a material in `before` begins
    before: NDArray[np.int64]  # numbers that are taken before a representative's, and the end
    start: NDArray[np.int64]  # [C] the place of a material's number 0; NOWHERE: not there
    states: np.int64


@jit
def rank(cells: np.uint64, free: np.uint64, choose: NDArray[np.int64]) -> Int:
    """Return the rank of a set among those of its size within the cells `free`.

    `choose`, int64[65, limit + 1], are binomial coefficients.
    """
    number: Int = np.int64(0)
    size = 1
    while cells:
        cell = lowest_bit(cells)
        cells ^= cell
        number += choose[popcount(free & (cell - ONE)), size]
        size += 1
    return number


@jit
def unrank(number: Int, size: Int, free: np.uint64, choose: NDArray[np.int64]) -> np.uint64:
    """Return the set of this size and rank within the cells `free`.

    `choose`, int64[65, limit + 1], are binomial coefficients.
    """
    cells = ZERO
    below = popcount(free)
    while size:
        cell = ONE << (_63 - lowest_index(reverse_bits(free)))
        free ^= cell
        below -= 1
        if choose[below, size] <= number:
            number -= choose[below, size]
            cells |= cell
            size -= 1
    return cells


@jit
def transform(cells: np.uint64, images: NDArray[np.uint64]) -> np.uint64:
    """Return the image of a set, by the images of the cells, uint64[64]."""
    image = ZERO
    while cells:
        image |= ONE << images[lowest_index(cells)]
        cells &= cells - ONE
    return image


@jit
def index_of(position: Position, numbers: RankingTables) -> Int:
    """Return the place of a position's value; NOWHERE for a position that has none."""
    state = rules.numbering_state(position)
    sets = rules.to_sets(position)
    limit = numbers.choose.shape[1] - 1
    code: Int = np.int64(0)
    is_within = 0 <= state < numbers.states
    for index in range(len(sets)):
        size = popcount(sets[index])
        is_within = is_within and size <= limit and not sets[index] & ~numbers.cells[index]
        code = code * (limit + 1) + size
    if not is_within or numbers.start[code] < 0:
        return np.int64(NO_INDEX)
    own = sets[0]
    row = numbers.first[popcount(own)] + rank(own, numbers.cells[0], numbers.choose)
    image, orbit = np.int64(numbers.image[row]), np.int64(numbers.orbit[row])
    taken = own if image == 0 else transform(own, numbers.moved[image])
    others: Int = np.int64(0)
    for index in range(1, len(sets)):
        cells = sets[index] if image == 0 else transform(sets[index], numbers.moved[image])
        free = numbers.cells[index] & ~taken
        others *= numbers.choose[popcount(free), popcount(cells)]
        others += rank(cells, free, numbers.choose)
        taken |= cells
    first = numbers.start[code] + numbers.before[numbers.before_at[code] + orbit]
    place: Int = first + others * numbers.states + state
    return place


@jit
def decode_position(
    number: Int,
    material: NDArray[np.int64],
    numbers: RankingTables,
    like: Position,
    sets: NDArray[np.uint64],
) -> Position:
    """Return the position with this number in a material, int64[K].

    `sets`, uint64[K], is scratch space.
    """
    limit = numbers.choose.shape[1] - 1
    code: Int = np.int64(0)
    for index in range(len(material)):
        code = code * (limit + 1) + material[index]
    first = numbers.own_at[material[0]]
    at = numbers.before_at[code]
    low, high = np.int64(0), numbers.own_at[material[0] + 1] - first
    while high - low > 1:
        middle = (low + high) // 2
        if numbers.before[at + middle] <= number:
            low = middle
        else:
            high = middle
    number -= numbers.before[at + low]
    state = number % numbers.states
    number //= numbers.states
    sets[0] = numbers.own[first + low]
    _place_others(number, material, numbers, sets)
    return rules.from_sets(sets, state, like)


@jit
def _place_others(
    number: Int, material: NDArray[np.int64], numbers: RankingTables, sets: NDArray[np.uint64]
) -> None:
    """Write the sets after the first one, given the number without the first set and the state."""
    choose, everywhere = numbers.choose, popcount(numbers.cells[0] | numbers.cells[1])
    radix: Int = np.int64(1)
    left = everywhere - material[0] - material[1]
    for index in range(2, len(material)):
        radix *= choose[left, material[index]]
        left -= material[index]
    taken = sets[0]
    left = everywhere - material[0] - material[1]
    for index in range(1, len(material)):
        sets[index] = unrank(
            number // radix, material[index], numbers.cells[index] & ~taken, choose
        )
        number %= radix
        taken |= sets[index]
        if index + 1 < len(material):
            radix //= choose[left, material[index + 1]]
            left -= material[index + 1]


def make_ranking_tables(numbering: Numbering, materials: Iterable[Material]) -> RankingTables:
    """Return the tables for these materials and the same as the opponent sees them.

    In `start` the materials follow each other as they come, each from a multiple of BLOCK on.
    """
    shown = both_views(materials)
    limit = max((size for material in shown for size in material), default=0)
    choose = np.array([[comb(n, k) for k in range(limit + 1)] for n in range(MAX_CELLS + 1)])
    images = _images(numbering)
    cells = np.array(numbering.cells, np.uint64)
    first = _ends(comb(int(cells[0]).bit_count(), size) for size in range(limit + 1))
    orbit, image = np.empty(first[-1], np.int32), np.empty(first[-1], np.int8)
    parts = [
        _fold(cells[0], choose, images, size, orbit[low:high], image[low:high])
        for size, (low, high) in enumerate(itertools.pairwise(first))
    ]
    own_at = _ends(map(len, parts))
    own = np.concatenate(parts)
    codes = (limit + 1) ** len(cells)
    numbers = RankingTables(
        cells=cells,
        choose=choose,
        moved=images,
        first=first,
        orbit=orbit,
        image=image,
        own_at=own_at,
        own=own,
        before_at=np.full(codes, NO_INDEX, np.int64),
        before=np.empty(0, np.int64),
        start=np.full(codes, NO_INDEX, np.int64),
        states=np.int64(numbering.num_states),
    )
    return numbers._replace(before=_lay_out(shown, numbers))


def _lay_out(shown: list[Material], numbers: RankingTables) -> NDArray[np.int64]:
    """Fill in `start` and `before_at`; return `before`."""
    befores, at, place = [np.empty(0, np.int64)], 0, 0
    for material in shown:
        low, high = numbers.own_at[material[0] : material[0] + 2]
        before = _ends(_rooms(numbers.own[low:high], material, numbers).tolist())
        code = material_code(material, numbers)
        numbers.before_at[code], numbers.start[code] = at, place
        befores.append(before)
        at += len(before)
        place += -(-int(before[-1]) // BLOCK_SIZE) * BLOCK_SIZE
    return np.concatenate(befores)


def _rooms(
    own: NDArray[np.uint64], material: Material, numbers: RankingTables
) -> NDArray[np.int64]:
    """Return how many positions there are with each of these first sets."""
    everywhere = int(numbers.cells[0] | numbers.cells[1]).bit_count()
    rest, left = int(numbers.states), everywhere - material[0] - material[1]
    for size in material[2:]:
        rest *= comb(left, size) if left >= 0 else 0
        left -= size
    free = np.bitwise_count(numbers.cells[1] & ~own).astype(np.int64)
    rooms: NDArray[np.int64] = numbers.choose[free, material[1]] * rest
    return rooms


def material_code(material: Material, numbers: RankingTables) -> int:
    """Return the code of a material, by which `numbers` has its tables."""
    code = 0
    for size in material:
        code = code * numbers.choose.shape[1] + size
    return code


def material_size(material: Material, numbers: RankingTables) -> int:
    """Return how many numbers a material has."""
    low, high = numbers.own_at[material[0] : material[0] + 2]
    return int(numbers.before[numbers.before_at[material_code(material, numbers)] + high - low])


def material_start(material: Material, numbers: RankingTables) -> int:
    """Return the place of a material's number 0."""
    return int(numbers.start[material_code(material, numbers)])


def position_fields(
    number: int, material: Sequence[int], numbers: RankingTables, like: Position
) -> Any:
    """Return the fields of the position with this number in a material."""
    sets = np.empty(len(material), np.uint64)
    return _position_at(np.int64(number), np.array(material, np.int64), numbers, like, sets)


@jit
def _position_at(
    number: Int,
    material: NDArray[np.int64],
    numbers: RankingTables,
    like: Position,
    sets: NDArray[np.uint64],
) -> Position:
    return decode_position(number, material, numbers, like, sets)


def count_positions(numbering: Numbering, material: Material) -> int:
    """Return how many positions a material has, symmetric ones included, as one side sees it."""
    cells = [int(cells) for cells in numbering.cells]
    everywhere = numbering.num_cells
    only, both = (cells[0] & ~cells[1]).bit_count(), (cells[0] & cells[1]).bit_count()
    own, enemy, *rest = material
    total = sum(
        comb(both, shared) * comb(only, own - shared) * comb(cells[1].bit_count() - shared, enemy)
        for shared in range(own + 1)
    )
    left = everywhere - own - enemy
    for size in rest:
        total *= comb(max(left, 0), size)
        left -= size
    return total * numbering.num_states


def _ends(sizes: Iterable[int]) -> NDArray[np.int64]:
    """Return where parts of these sizes begin, and the end of the last."""
    return np.array(list(itertools.accumulate(sizes, initial=0)), np.int64)


def _images(numbering: Numbering) -> NDArray[np.uint64]:
    """Return the images of the cells, uint64[G, 64], the identity first."""
    rows = [list(range(MAX_CELLS))]
    used = [bit for bit in range(MAX_CELLS) if numbering.cells[0] >> bit & 1]
    for symmetry in numbering.symmetries:
        row = [0] * MAX_CELLS
        for bit in used:
            alone = numbering.like._replace(own=np.uint64(1 << bit))
            row[bit] = int(symmetry.position(alone).own).bit_length() - 1
        rows.append(row)
    return np.array(rows, np.uint64)


def _fold(
    cells: np.uint64,
    choose: NDArray[np.int64],
    images: NDArray[np.uint64],
    size: int,
    orbit: NDArray[np.int32],
    image: NDArray[np.int8],
) -> NDArray[np.uint64]:
    """Fill in `orbit` and `image` for the first sets of one size; return the representatives."""
    own = np.empty(len(orbit), np.uint64)
    return own[: _find_orbits(cells, choose, images, size, orbit, image, own)]


@jit
def _find_orbits(
    cells: np.uint64,
    choose: NDArray[np.int64],
    images: NDArray[np.uint64],
    size: int,
    orbit: NDArray[np.int32],
    image: NDArray[np.int8],
    own: NDArray[np.uint64],
) -> int:
    """As `_fold`, writing to `own`, uint64[len(orbit)]; return how many there are.

    The representative is the image with the least rank.
    """
    count = 0
    for row in range(len(orbit)):
        here = unrank(np.int64(row), np.int64(size), cells, choose)
        least: Int = np.int64(row)
        by: Int = np.int64(0)
        for symmetry in range(1, len(images)):
            there = rank(transform(here, images[symmetry]), cells, choose)
            if there < least:
                least, by = there, np.int64(symmetry)
        image[row] = by
        if by == 0:
            orbit[row], own[count] = count, here
            count += 1
        else:
            orbit[row] = orbit[least]
    return count


def parse_pieces(text: str) -> tuple[tuple[int, int], int]:
    """Return the most pieces of the stronger and of the weaker side, and of both, of a text.

    The text is N, for so many in all, or AvB. Raises BadOption for another.
    """
    words = text.split("v")
    if len(words) > 2 or not all(
        word.isascii() and word.isdigit() and len(word) < 3 for word in words
    ):
        raise BadOption(
            f"pieces={text!r}; wanted: how many in all, such as 6, or by side, as in 3v3"
        )
    counts = sorted(map(int, words), reverse=True)
    sides = (counts[0], counts[-1])
    return sides, counts[0] if len(counts) == 1 else sum(counts)
