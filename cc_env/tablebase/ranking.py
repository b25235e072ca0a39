"""Numbering of the positions of a game, so that a table of values needs no keys.

Only positions between turns are numbered, in the frame of the player to move. They consist of K
sets of cells and, in some games, of a small `state`. The sizes of the sets are the position's
*material*; within one material the numbers are 0, 1, 2, … without a gap.

    number    the rank of the first set, the player's own, then of the others, then the state
    rank      of a set among those of its size, in the combinatorial number system; only the cells
              that the sets before it leave free are counted
    symmetry  only one image of the first set, its representative, is counted, and the other sets
              are transformed with it. If several symmetries lead to the representative, the other
              sets are not folded further: each number is one position, and none is left out

Source: combinatorial number system, Knuth, The Art of Computer Programming 4A, section 7.2.1.3.

Shapes: K sets; C codes of materials, (limit + 1)**K; G symmetries, the identity included; R sets of
cells that the first set can be, of all sizes up to `limit`; O representatives of them; N elements.
"""

import itertools
from collections.abc import Container, Iterable, Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO, highest_index, lowest_bit, lowest_index, mix, popcount
from cc_env.core.numbering import MAX_CELLS, Material, Numbering, swap_sides
from cc_env.core.rules import Int, Position
from cc_env.errors import BadOption
from cc_env.jit.compiler import jit

# Index of a position without a number.
NO_INDEX = -1
# Values in a block; the values of each material begin with a new block.
BLOCK_SIZE = 2**15
# Entries of a cache of first sets.
FIRST_SETS = 64
_LAST_FIRST_SET = np.uint64(FIRST_SETS - 1)


def both_views(materials: Iterable[Material]) -> list[Material]:
    """Return the materials in the frames of both sides, each view once."""
    return list(
        dict.fromkeys(view for material in materials for view in (material, swap_sides(material)))
    )


class RankingTables(NamedTuple):
    """Tables for converting positions to indices of values, and back, in compiled code.

    The values of several materials are in one array, each from its `start` on. The entries of first
    sets of size n start at `first[n]` in `orbits` and `symmetries`, and at `representatives_at[n]`
    in `representatives`.
    """

    # Cells on which the pieces of a set can stand.
    cells: NDArray[np.uint64]  # [K]
    # Binomial coefficients.
    choose: NDArray[np.int64]  # [65, limit + 1]
    # Index of the image of a cell.
    cell_maps: NDArray[np.uint64]  # [G, 64]
    first: NDArray[np.int64]  # [limit + 2]
    # Index of the representative of a first set, and a symmetry that leads to it.
    orbits: NDArray[np.int32]  # [R]
    symmetries: NDArray[np.int8]  # [R]
    # Whether several symmetries lead to the representative.
    is_symmetric: NDArray[np.bool_]  # [R]
    representatives_at: NDArray[np.int64]  # [limit + 2]
    representatives: NDArray[np.uint64]  # [O]
    # For each material, the number of its positions before each representative, and their total;
    # `before_at` is where the entries of a material start.
    before_at: NDArray[np.int64]  # [C]
    before: NDArray[np.int64]
    # Index of the first value of a material; NO_INDEX if the material is not included.
    start: NDArray[np.int64]  # [C]
    states: np.int64


@jit
def rank(cells: np.uint64, free: np.uint64, choose: NDArray[np.int64]) -> Int:
    """Return the rank of the set `cells` among the subsets of `free` with the same size.

    `choose[n, k]`, int64[65, maximum size + 1], are binomial coefficients.
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
    """Return the set of `size` cells whose rank within `free` is `number`, the inverse of `rank`.

    `choose`, int64[65, limit + 1], are binomial coefficients.
    """
    cells = ZERO
    below = popcount(free)
    while size:
        cell = ONE << highest_index(free)
        free ^= cell
        below -= 1
        if choose[below, size] <= number:
            number -= choose[below, size]
            cells |= cell
            size -= 1
    return cells


@jit
def transform(cells: np.uint64, cell_map: NDArray[np.uint64]) -> np.uint64:
    """Return the image of a set, by the images of the cells, uint64[64]."""
    image = ZERO
    while cells:
        image |= ONE << cell_map[lowest_index(cells)]
        cells &= cells - ONE
    return image


@jit
def index_of(position: Position, ranking: RankingTables) -> Int:
    """Return the index of a position's value; NO_INDEX if it has none."""
    sets, state = rules.to_sets(position), rules.numbering_state(position)
    code = _code_of(sets, state, ranking)
    if code == NO_INDEX:
        return code
    start, first, symmetry = _find_first_set(sets[0], code, ranking)
    index: Int = start + rank_others(sets, state, first, symmetry, ranking)
    return index


@jit
def cached_index_of(
    position: Position, ranking: RankingTables, first_sets: NDArray[np.uint64]
) -> Int:
    """Return what `index_of` returns, faster if few first sets occur.

    `first_sets`, uint64[FIRST_SETS, 5], is a cache, initially 0. Its rows have the first set, the
    code of the material, and what `_find_first_set` returns.
    """
    sets, state = rules.to_sets(position), rules.numbering_state(position)
    code = _code_of(sets, state, ranking)
    if code == NO_INDEX:
        return code
    row = first_sets[np.int64(mix(sets[0]) & _LAST_FIRST_SET)]
    if row[0] != sets[0] or row[1] != np.uint64(code):
        start, first, symmetry = _find_first_set(sets[0], code, ranking)
        row[0], row[1], row[2] = sets[0], np.uint64(code), np.uint64(start)
        row[3], row[4] = first, np.uint64(symmetry)
    rest = rank_others(sets, state, row[3], np.int64(row[4]), ranking)
    return np.int64(row[2]) + rest


@jit
def image_indices(position: Position, ranking: RankingTables, indices: NDArray[np.int64]) -> Int:
    """Write the indices of a position and of its images to `indices`, int64[G].

    Return their number: 0 if the position has no index, 1 unless its first set is symmetric.
    Indices may be repeated.
    """
    sets, state = rules.to_sets(position), rules.numbering_state(position)
    code = _code_of(sets, state, ranking)
    if code == NO_INDEX:
        return np.int64(0)
    start, first, to_first = _find_first_set(sets[0], code, ranking)
    indices[0] = start + rank_others(sets, state, first, to_first, ranking)
    count: Int = np.int64(1)
    if not ranking.is_symmetric[_row_of(sets[0], ranking)]:
        return count
    for symmetry in range(len(ranking.cell_maps)):
        if symmetry != to_first and transform(sets[0], ranking.cell_maps[symmetry]) == first:
            indices[count] = start + rank_others(sets, state, first, np.int64(symmetry), ranking)
            count += 1
    return count


@jit
def _code_of(sets: tuple[np.uint64, ...], state: Int, ranking: RankingTables) -> Int:
    """Return the code of the material of the sets; NO_INDEX if their positions have no index."""
    num_sizes = ranking.choose.shape[1]
    code: Int = np.int64(0)
    is_within = 0 <= state < ranking.states
    for index in range(len(sets)):
        size = popcount(sets[index])
        is_within = is_within and size < num_sizes and not sets[index] & ~ranking.cells[index]
        code = _extend_code(code, size, num_sizes)
    return code if is_within and ranking.start[code] >= 0 else np.int64(NO_INDEX)


@jit
def _extend_code(code: Int, size: Int, num_sizes: Int) -> Int:
    """Return the code of a material, given that of the sets before its last and the last size."""
    return code * num_sizes + size


@jit
def _row_of(first_set: np.uint64, ranking: RankingTables) -> Int:
    """Return the row of a first set in the tables of first sets."""
    size = popcount(first_set)
    row: Int = ranking.first[size] + rank(first_set, ranking.cells[0], ranking.choose)
    return row


@jit
def _find_first_set(
    first_set: np.uint64, code: Int, ranking: RankingTables
) -> tuple[Int, np.uint64, Int]:
    """Return the index of the first position of a material with the representative of a first set.

    Also return the representative, and the symmetry that leads to it.
    """
    row = _row_of(first_set, ranking)
    orbit, symmetry = np.int64(ranking.orbits[row]), np.int64(ranking.symmetries[row])
    start = ranking.start[code] + ranking.before[ranking.before_at[code] + orbit]
    # Processors predict this, so it is faster than to look up the representative.
    representative = first_set
    if symmetry:
        representative = transform(first_set, ranking.cell_maps[symmetry])
    return start, representative, symmetry


@jit
def rank_others(
    sets: tuple[np.uint64, ...],
    state: Int,
    first: np.uint64,
    symmetry: Int,
    ranking: RankingTables,
) -> Int:
    """Return the rank of a position among those with the same first set.

    `symmetry` maps the first set to its representative `first`.
    """
    occupied = first
    rest: Int = np.int64(0)
    for set_index in range(1, len(sets)):
        cells = sets[set_index]
        if symmetry:
            cells = transform(cells, ranking.cell_maps[symmetry])
        free = ranking.cells[set_index] & ~occupied
        rest *= ranking.choose[popcount(free), popcount(cells)]
        rest += rank(cells, free, ranking.choose)
        occupied |= cells
    return rest * ranking.states + state


@jit
def decode_position(
    number: Int,
    material: NDArray[np.int64],
    ranking: RankingTables,
    like: Position,
    sets: NDArray[np.uint64],
) -> Position:
    """Return the position of `material`, int64[K], with this number.

    `like` is any position of the game, whose other properties it shares. `sets`, uint64[K], is
    scratch space.
    """
    code: Int = np.int64(0)
    for index in range(len(material)):
        code = _extend_code(code, material[index], ranking.choose.shape[1])
    first = ranking.representatives_at[material[0]]
    count = ranking.representatives_at[material[0] + 1] - first
    at = ranking.before_at[code]
    orbit = find_last(number, ranking.before[at : at + count])
    number -= ranking.before[at + orbit]
    state = number % ranking.states
    number //= ranking.states
    sets[0] = ranking.representatives[first + orbit]
    _decode_other_sets(number, material, ranking, sets)
    return rules.from_sets(sets, state, like)


@jit
def find_last(number: Int, ascending: NDArray[np.int64]) -> Int:
    """Return the last index of an element that is at most `number`; 0 if there is none.

    `ascending`, int64[N], has at least one element.
    """
    low, high = np.int64(0), np.int64(len(ascending))
    while high - low > 1:
        middle = (low + high) // 2
        if ascending[middle] <= number:
            low = middle
        else:
            high = middle
    return low


@jit
def decode_next(
    number: Int,
    previous: Position,
    material: NDArray[np.int64],
    ranking: RankingTables,
    sets: NDArray[np.uint64],
) -> Position:
    """Return what `decode_position` returns, faster, given the position with the number before.

    `sets`, uint64[K], are those of that position, and are updated.
    """
    state = rules.numbering_state(previous) + 1
    if state == ranking.states:
        state = 0
        if not _advance_other_sets(material, ranking, sets):
            return decode_position(number, material, ranking, previous, sets)
    return rules.from_sets(sets, state, previous)


@jit
def _advance_other_sets(
    material: NDArray[np.int64], ranking: RankingTables, sets: NDArray[np.uint64]
) -> bool:
    """Replace the sets after the first by those with the next ranks; return False if none are."""
    for index in range(len(sets) - 1, 0, -1):
        free = _free_cells(index, ranking, sets)
        following = _next_subset(sets[index], free)
        if following:
            sets[index] = following
            for later in range(index + 1, len(sets)):
                sets[later] = _lowest_cells(_free_cells(later, ranking, sets), material[later])
            return True
    return False


@jit
def _free_cells(index: Int, ranking: RankingTables, sets: NDArray[np.uint64]) -> np.uint64:
    """Return the cells that the sets before this one leave free."""
    free: np.uint64 = ranking.cells[index]
    for other in range(index):
        free &= ~sets[other]
    return free


@jit
def _next_subset(cells: np.uint64, free: np.uint64) -> np.uint64:
    """Return the subset of `free` of the same size with the next rank; ZERO after the last."""
    # The carry of the addition skips the cells that are not free.
    carried = ((cells | ~free) + lowest_bit(cells)) & free
    if not cells or not carried:
        return ZERO
    following: np.uint64 = carried | _lowest_cells(free, popcount(cells) - popcount(carried))
    return following


@jit
def _lowest_cells(free: np.uint64, size: Int) -> np.uint64:
    """Return the subset of `free` of this size with rank 0."""
    cells = ZERO
    for _ in range(size):
        cells |= lowest_bit(free & ~cells)
    return cells


@jit
def _decode_other_sets(
    number: Int, material: NDArray[np.int64], ranking: RankingTables, sets: NDArray[np.uint64]
) -> None:
    """Decode `number`, the mixed-radix number of the other sets' ranks, into `sets[1:]`."""
    choose, num_cells = ranking.choose, popcount(ranking.cells[0] | ranking.cells[1])
    radix: Int = np.int64(1)
    num_free = num_cells - material[0] - material[1]
    for index in range(2, len(material)):
        radix *= choose[num_free, material[index]]
        num_free -= material[index]
    occupied = sets[0]
    num_free = num_cells - material[0] - material[1]
    for index in range(1, len(material)):
        sets[index] = unrank(
            number // radix, material[index], ranking.cells[index] & ~occupied, choose
        )
        number %= radix
        occupied |= sets[index]
        if index + 1 < len(material):
            radix //= choose[num_free, material[index + 1]]
            num_free -= material[index + 1]


def make_ranking_tables(
    numbering: Numbering, materials: Iterable[Material], *, without_values: Container[Material] = ()
) -> RankingTables:
    """Return the tables for these materials, in the frames of both sides.

    The values of the materials are in this order, each starting at a multiple of BLOCK_SIZE. Views
    in `without_values` have numbers, but no indices of values.
    """
    views = both_views(materials)
    limit = max((size for view in views for size in view), default=0)
    choose = np.array([[comb(n, k) for k in range(limit + 1)] for n in range(MAX_CELLS + 1)])
    cell_maps = _cell_maps(numbering)
    cells = np.array(numbering.cells, np.uint64)
    first = _ends(comb(int(cells[0]).bit_count(), size) for size in range(limit + 1))
    orbits, symmetries = np.empty(first[-1], np.int32), np.empty(first[-1], np.int8)
    is_symmetric = np.zeros(first[-1], np.bool_)
    representatives = [
        _find_orbits(
            cells[0],
            choose,
            cell_maps,
            size,
            orbits[low:high],
            symmetries[low:high],
            is_symmetric[low:high],
        )
        for size, (low, high) in enumerate(itertools.pairwise(first))
    ]
    num_codes = (limit + 1) ** len(cells)
    ranking = RankingTables(
        cells=cells,
        choose=choose,
        cell_maps=cell_maps,
        first=first,
        orbits=orbits,
        symmetries=symmetries,
        is_symmetric=is_symmetric,
        representatives_at=_ends(map(len, representatives)),
        representatives=np.concatenate(representatives),
        before_at=np.full(num_codes, NO_INDEX, np.int64),
        before=np.empty(0, np.int64),
        start=np.full(num_codes, NO_INDEX, np.int64),
        states=np.int64(numbering.num_states),
    )
    return ranking._replace(before=_lay_out(views, without_values, ranking))


def _lay_out(
    views: list[Material], without_values: Container[Material], ranking: RankingTables
) -> NDArray[np.int64]:
    """Fill in `start` and `before_at`; return `before`."""
    befores = [np.empty(0, np.int64)]
    start = 0
    for view in views:
        low, high = ranking.representatives_at[view[0] : view[0] + 2]
        code = material_code(view, ranking)
        ranking.before_at[code] = sum(map(len, befores))
        befores.append(
            _ends(_count_completions(ranking.representatives[low:high], view, ranking).tolist())
        )
        if view not in without_values:
            ranking.start[code] = start
            start += -(-int(befores[-1][-1]) // BLOCK_SIZE) * BLOCK_SIZE
    return np.concatenate(befores)


def _count_completions(
    own: NDArray[np.uint64], material: Material, ranking: RankingTables
) -> NDArray[np.int64]:
    """Return the number of positions with each of these first sets."""
    free = np.bitwise_count(ranking.cells[1] & ~own).astype(np.int64)
    num_cells = int(ranking.cells[0] | ranking.cells[1]).bit_count()
    per_pair = _count_other_sets(num_cells, material) * int(ranking.states)
    completions: NDArray[np.int64] = ranking.choose[free, material[1]] * per_pair
    return completions


def _count_other_sets(num_cells: int, material: Material) -> int:
    """Return the number of ways to place the sets after the first two."""
    free = num_cells - material[0] - material[1]
    count = 1
    for size in material[2:]:
        count *= comb(max(free, 0), size)
        free -= size
    return count


def material_code(material: Material, ranking: RankingTables) -> Int:
    """Return the code of a material, an index of `ranking.start`."""
    code: Int = 0
    for size in material:
        code = _extend_code(code, size, ranking.choose.shape[1])
    return code


def material_size(material: Material, ranking: RankingTables) -> int:
    """Return the number of values of a material."""
    low, high = ranking.representatives_at[material[0] : material[0] + 2]
    return int(ranking.before[ranking.before_at[material_code(material, ranking)] + high - low])


def material_start(material: Material, ranking: RankingTables) -> int:
    """Return the index of the first value of a material."""
    return int(ranking.start[material_code(material, ranking)])


def position_fields(
    number: int, material: Sequence[int], ranking: RankingTables, like: Position
) -> Any:
    """Return the fields of the position with this number in a material."""
    sets = np.empty(len(material), np.uint64)
    return decode_position(np.int64(number), np.array(material, np.int64), ranking, like, sets)


def count_positions(numbering: Numbering, material: Material) -> int:
    """Return the number of positions of a material in one frame, symmetric ones included."""
    first, second = (int(cells) for cells in numbering.cells[:2])
    only_first, both = (first & ~second).bit_count(), (first & second).bit_count()
    own, enemy = material[:2]
    pairs = sum(
        comb(both, shared)
        * comb(only_first, own - shared)
        * comb(second.bit_count() - shared, enemy)
        for shared in range(own + 1)
    )
    return pairs * _count_other_sets(numbering.num_cells, material) * numbering.num_states


def _ends(sizes: Iterable[int]) -> NDArray[np.int64]:
    """Return the offset of each part, given their sizes, and the total size."""
    return np.array(list(itertools.accumulate(sizes, initial=0)), np.int64)


def _cell_maps(numbering: Numbering) -> NDArray[np.uint64]:
    """Return the images of the cells, uint64[G, 64], the identity first."""
    rows = [list(range(MAX_CELLS))]
    used_bits = [bit for bit in range(MAX_CELLS) if numbering.cells[0] >> bit & 1]
    for symmetry in numbering.symmetries:
        row = [0] * MAX_CELLS
        for bit in used_bits:
            alone = numbering.like._replace(own=np.uint64(1 << bit))
            row[bit] = int(symmetry.position(alone).own).bit_length() - 1
        rows.append(row)
    return np.array(rows, np.uint64)


@jit
def _find_orbits(
    cells: np.uint64,
    choose: NDArray[np.int64],
    cell_maps: NDArray[np.uint64],
    size: int,
    orbits: NDArray[np.int32],
    symmetries: NDArray[np.int8],
    is_symmetric: NDArray[np.bool_],
) -> NDArray[np.uint64]:
    """Write the orbits of the first sets of `size` cells, and the symmetries to representatives.

    Return the representatives, the images with the lowest rank.
    """
    representatives = np.empty(len(orbits), np.uint64)
    count = 0
    for row in range(len(orbits)):
        first_set = unrank(np.int64(row), np.int64(size), cells, choose)
        lowest: Int = np.int64(row)
        lowest_symmetry: Int = np.int64(0)
        for symmetry in range(1, len(cell_maps)):
            other = rank(transform(first_set, cell_maps[symmetry]), cells, choose)
            if other < lowest:
                lowest, lowest_symmetry = other, np.int64(symmetry)
            elif other == row:
                is_symmetric[row] = True
        symmetries[row] = lowest_symmetry
        if lowest_symmetry == 0:
            orbits[row], representatives[count] = count, first_set
            count += 1
        else:
            orbits[row], is_symmetric[row] = orbits[lowest], is_symmetric[lowest]
    return representatives[:count]


def parse_pieces(text: str) -> tuple[tuple[int, int], int]:
    """Return the maximum number of pieces: of the stronger and the weaker side, and in all.

    The text is N, the number in all, or AvB. Raises BadOption for other texts.
    """
    words = text.split("v")
    if len(words) > 2 or not all(
        word.isascii() and word.isdigit() and len(word) < 3 for word in words
    ):
        raise BadOption(
            f"pieces={text!r}; expected: the number in all, such as 6, or by side, such as 3v3"
        )
    counts = sorted(map(int, words), reverse=True)
    sides = (counts[0], counts[-1])
    return sides, counts[0] if len(counts) == 1 else sum(counts)
