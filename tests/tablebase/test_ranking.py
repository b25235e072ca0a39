"""Numbering: each position has one number and each number one position, as many as published."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest

from cc_env.core.numbering import swap_sides
from cc_env.errors import BadOption
from cc_env.games.factory import make_game
from cc_env.jit.compiler import jit
from cc_env.tablebase.ranking import (
    FIRST_SETS,
    NO_INDEX,
    both_views,
    cached_index_of,
    count_positions,
    decode_next,
    decode_position,
    image_indices,
    index_of,
    make_ranking_tables,
    material_code,
    material_size,
    material_start,
    parse_pieces,
    position_fields,
)

CASES = [
    ("capture_conquer", {"size": 4}, "2v2"),
    ("capture_conquer", {"size": 6}, "2v2"),
    ("mini_checkers", {}, "2v2"),
    ("checkers", {}, "2v1"),
    ("morris", {"free_move": "never"}, "3v3"),
    ("morris", {}, "3v3"),
]


def numbered(name, options, pieces):
    game = make_game(name, **options)
    materials = game.numbering.materials(*parse_pieces(pieces))
    return game, materials, make_ranking_tables(game.numbering, materials)


@jit
def count_differences(material, size, ranking, like):
    """Return how many positions differ if they are decoded from the one before.

    Also return how many indices differ by the cache of first sets.
    """
    sets, first_sets = np.empty(len(material), np.uint64), np.zeros((FIRST_SETS, 5), np.uint64)
    previous = decode_position(np.int64(0), material, ranking, like, sets)
    different, wrong = 0, 0
    for number in range(1, size):
        previous = decode_next(np.int64(number), previous, material, ranking, sets)
        position = decode_position(np.int64(number), material, ranking, like, sets)
        different += position != previous
        wrong += cached_index_of(position, ranking, first_sets) != index_of(position, ranking)
    return different, wrong


@jit
def count_wrong(material, start, size, ranking, like):
    """Return how many numbers of a material are not those of their positions."""
    sets, wrong = np.empty(len(material), np.uint64), 0
    for number in range(size):
        position = decode_position(np.int64(number), material, ranking, like, sets)
        wrong += index_of(position, ranking) != start + number
    return wrong


@pytest.mark.parametrize(("name", "options", "pieces"), CASES)
def test_decoding_and_indexing_are_inverse(name, options, pieces):
    game, materials, ranking = numbered(name, options, pieces)
    like, end = game.numbering.like, 0
    for material in both_views(materials):
        start, size = material_start(material, ranking), material_size(material, ranking)
        assert size > 0
        assert start >= end
        end = start + size
        shape = np.array(material, np.int64)
        assert count_wrong(shape, start, size, ranking, like) == 0
        assert count_differences(shape, size, ranking, like) == (0, 0)


@pytest.mark.parametrize(("name", "options", "pieces"), CASES)
def test_numbering_is_complete(name, options, pieces):
    """Each number represents one position per image of its first set; their sum is the total."""
    game, materials, ranking = numbered(name, options, pieces)
    for material in both_views(materials):
        low, high = ranking.representatives_at[material[0] : material[0] + 2]
        first, last = ranking.first[material[0] : material[0] + 2]
        images = np.bincount(ranking.orbits[first:last], minlength=high - low)
        at = int(ranking.before_at[material_code(material, ranking)])
        rooms = np.diff(ranking.before[at : at + high - low + 1])
        assert int(images @ rooms) == count_positions(game.numbering, material)


@pytest.mark.parametrize(("name", "options", "pieces"), CASES)
def test_symmetric_positions_share_a_number(name, options, pieces):
    game, materials, ranking = numbered(name, options, pieces)
    rng = np.random.default_rng(0)
    for material in both_views(materials):
        for number in rng.integers(material_size(material, ranking), size=10).tolist():
            fields = position_fields(number, material, ranking, game.numbering.like)
            position = game.make_position(fields)
            for symmetry in game.symmetries:
                image = symmetry.position(position)
                same = index_of(image, ranking) == index_of(position, ranking)
                assert same or image.own == position.own or is_fixed(game, position)
                assert index_of(image, ranking) in all_indices(position, ranking)


def all_indices(position, ranking):
    indices = np.zeros(len(ranking.cell_maps), np.int64)
    count = image_indices(position, ranking, indices)
    assert indices[0] == index_of(position, ranking)
    return indices[:count].tolist()


def is_fixed(game, position):
    """Return whether a symmetry maps the own pieces onto themselves."""
    return any(symmetry.position(position).own == position.own for symmetry in game.symmetries)


@pytest.mark.parametrize(
    ("pieces", "published"), [(1, 120), (2, 6_972), (3, 261_224), (4, 7_092_774), (5, 148_688_232)]
)
def test_checkers_has_the_published_number_of_positions(pieces, published):
    """Schaeffer et al., "Solving checkers" (IJCAI 2005), table 1; either side may have none."""
    numbering = replace(make_game("checkers").numbering, min_pieces=0)
    materials = numbering.materials((pieces, pieces), pieces)
    exactly = [material for material in both_views(materials) if sum(material) == pieces]
    assert sum(count_positions(numbering, material) for material in exactly) == published


def test_capture_conquer_positions_are_counted_by_binomials():
    numbering = make_game("capture_conquer", size=6).numbering
    assert count_positions(numbering, (3, 3)) == comb(36, 3) * comb(33, 3) == 38_955_840


def test_mid_turn_and_other_material_have_no_number():
    game, _, ranking = numbered("capture_conquer", {"size": 4}, "2v2")
    assert index_of(game.initial, ranking) == NO_INDEX
    position = game.from_text("4/1rb1/1bb1/4 b")
    assert index_of(position, ranking) == NO_INDEX
    game, _, ranking = numbered("morris", {"free_move": "never"}, "3v3")
    assert index_of(game.initial, ranking) == NO_INDEX
    due = game.initial._replace(
        own=np.uint64(7), enemy=np.uint64(0o7000), own_hand=np.uint64(0), enemy_hand=np.uint64(0)
    )
    assert index_of(due, ranking) != NO_INDEX
    assert index_of(due._replace(pending=np.uint64(1)), ranking) == NO_INDEX
    assert index_of(due._replace(own_free=np.uint64(1)), ranking) == NO_INDEX


def test_man_on_its_last_row_has_no_number():
    game, _, ranking = numbered("checkers", {}, "1v1")
    assert index_of(game.from_text("r7/8/8/8/8/8/8/7b r"), ranking) == NO_INDEX
    assert index_of(game.from_text("R7/8/8/8/8/8/8/7B r"), ranking) != NO_INDEX


def test_labels_of_materials_can_be_parsed():
    numbering = make_game("checkers").numbering
    for material in numbering.materials((3, 2), 4):
        assert numbering.parse_label(numbering.label(material)) == material
        assert numbering.parse_label(numbering.label(swap_sides(material))) in (material, None)
    assert numbering.label((2, 0, 1, 1)) == "2m1kv1k"
    for label in ("", "v", "3", "3v2", "13mv1k", "1kv2m", "0m1kv1k", "2m1kv1k "):
        assert numbering.parse_label(label) is None
    numbering = make_game("morris").numbering
    assert [numbering.label(material) for material in numbering.materials((5, 4), 9)] == [
        *("3v3", "4v3", "4v4", "5v3", "5v4")
    ]


@pytest.mark.parametrize("text", ["", "v", "3v", "3v3v3", "-1", "x", "٣", "999"])
def test_invalid_pieces_are_rejected(text):
    with pytest.raises(BadOption, match="expected: the number in all"):
        parse_pieces(text)
