"""Books: the exact values of the first turns of a game, without its tables."""

import numpy as np
import pytest
from conftest import command_line

from cc_env.__main__ import main
from cc_env.accuracy.decisions import enumerate_replies
from cc_env.core.rules import ONGOING
from cc_env.errors import BadOption, BadTable, MissingTable
from cc_env.games.factory import make_game
from cc_env.search.alphabeta import AlphaBeta
from cc_env.solver import book as making
from cc_env.solver.book import make_book
from cc_env.tablebase import Tablebase
from cc_env.tablebase.book import book_path, read_book, write_book
from cc_env.tablebase.ranking import (
    both_views,
    index_of,
    material_size,
    material_start,
    position_fields,
)
from cc_env.tablebase.tablebase import SHIPPED
from cc_env.tablebase.values import DRAW_VALUE, result_of, turns_of

GAME = make_game("capture_conquer", size=4)
TABLES = Tablebase(GAME)
TURNS = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    write_book(book_path(folder, GAME), *make_book(TABLES, TURNS))
    return folder


@pytest.fixture(scope="module")
def from_book(folder):
    return Tablebase(GAME, folder)


def follow(position, turns, has_kept, found):
    """Add the unfinished positions of all games by plain recursion, with the turns still to come.

    `has_kept` are the players that have always kept the value; without one, no turn follows.
    """
    if not GAME.mid_turn(position):
        found[position] = max(found.get(position, -1), turns if has_kept else 0)
        if not turns or not has_kept:
            return
        turns -= 1
    solved, mover = TABLES.probe(position), GAME.to_move(position)
    for action in solved.actions:
        after = GAME.apply(position, action)
        kept = has_kept if action in solved.value_keeping else has_kept - {mover}
        if GAME.outcome(after) == ONGOING:
            follow(after, turns, kept, found)


def test_book_has_the_positions_of_games_in_which_a_player_keeps_the_value(folder):
    book, found = read_book(book_path(folder, GAME), GAME), {}
    follow(GAME.initial, TURNS, frozenset({0, 1}), found)
    assert {int(index_of(position, book.ranking)) for position in found} == set(
        book.indices.tolist()
    )


def test_values_and_actions_are_those_of_the_tables(from_book):
    found = {}
    follow(GAME.initial, TURNS, frozenset({0, 1}), found)
    inner = [position for position, turns in found.items() if turns]
    assert len(inner) > 200
    assert [from_book.probe(position) for position in inner] == list(map(TABLES.probe, inner))
    assert from_book.probe(GAME.initial).value == 0


@pytest.fixture(scope="module")
def shipped():
    return Tablebase(make_game("capture_conquer", size=5))


def test_shipped_book_has_the_value_of_the_start_and_its_turns(shipped):
    solved = shipped.probe(shipped.game.initial)
    assert (solved.value, solved.values.count(0), solved.values.count(-1)) == (0, 11, 5)
    assert not shipped.has_table(shipped.game.initial)


def test_entries_of_the_shipped_book_follow_from_those_a_turn_later(shipped):
    game, rng = shipped.game, np.random.default_rng(0)
    book = read_book(book_path(SHIPPED, game), game)
    values = dict(zip(book.indices.tolist(), book.values.tolist(), strict=True))
    compared = 0
    for _ in range(200):
        position, turns = game.initial, 0
        # One player keeps the value, the other one plays any turn.
        keeper = int(rng.integers(2))
        while turns < 6 and game.outcome(position) == ONGOING:
            solved = shipped.probe(position)
            if not game.mid_turn(position):
                value = values[int(index_of(position, book.ranking))]
                assert (result_of(value), turns_of(value)) == (solved.value, solved.turns)
                compared += 1
            keeps = game.to_move(position) == keeper
            actions = solved.value_keeping if keeps else solved.actions
            position = game.apply(position, int(rng.choice(actions)))
            turns += not game.mid_turn(position)
    assert compared > 900


def test_alpha_beta_agrees_with_the_shipped_book(shipped):
    game, search = shipped.game, AlphaBeta(shipped.game, table_megabytes=1)
    book = read_book(book_path(SHIPPED, game), game)
    quick = np.flatnonzero(turns_of(book.values.astype(np.int64)) <= 3)
    proven = 0
    for place in np.random.default_rng(0).choice(quick, 200, replace=False).tolist():
        index, value = int(book.indices[place]), int(book.values[place])
        if value == DRAW_VALUE:
            continue
        view = next(
            view
            for view in both_views(book.materials)
            if 0 <= index - material_start(view, book.ranking) < material_size(view, book.ranking)
        )
        number = index - material_start(view, book.ranking)
        fields = position_fields(number, view, book.ranking, game.initial)
        result = search.search(game.make_position(fields), depth=turns_of(value))
        assert result.margin == result_of(value)
        proven += 1
    assert proven > 100


def test_position_outside_of_the_book_is_missing(from_book):
    with pytest.raises(MissingTable, match=r"no table has the value of '1b1b/.*available: none"):
        from_book.probe(GAME.from_text("1b1b/4/4/r2r b"))
    assert "book of" in repr(from_book)


def test_accuracy_from_the_start_needs_no_table(from_book):
    positions = enumerate_replies(from_book, "greedy", 20)
    assert len(positions) == 20
    assert positions == enumerate_replies(TABLES, "greedy", 20)


def test_command_writes_the_book_of_a_folder_of_tables(tmp_path):
    command = "book", "capture_conquer", "-o", "size=4", "--turns", "2", "--out", tmp_path
    output = command_line(main, *command)
    assert "\n2 turns: 93 positions\n" in output
    assert "book: 56 without symmetric ones, 3" in output
    assert "bytes; the start is drawn" in output
    assert Tablebase(GAME, tmp_path).probe(GAME.initial) == TABLES.probe(GAME.initial)


def test_command_keeps_a_book_of_another_start(tmp_path):
    command = "book", "capture_conquer", "-o", "size=4", "--turns", "1", "--out", tmp_path
    command_line(main, *command)
    path = book_path(tmp_path, GAME)
    content = path.read_bytes()
    other = *command, "-o", "corner=3"
    output = command_line(main, *other, status=2, columns=200)
    assert f"is the book of another start, '{GAME.to_text(GAME.initial)}'" in output
    assert path.read_bytes() == content
    command_line(main, *command)


def test_command_without_tables_leaves_no_folder(tmp_path):
    (tmp_path / "tables").mkdir()
    folders = "--tables", tmp_path / "tables", "--out", tmp_path / "book"
    command = "book", "capture_conquer", "-o", "size=4", "--turns", "2", *folders
    assert "no table has the value" in command_line(main, *command, status=2, columns=200)
    assert not (tmp_path / "book").exists()


def test_book_needs_tables_and_a_number_of_turns(tmp_path, monkeypatch):
    with pytest.raises(BadOption, match="turns=0; expected: an integer, 1 to 100"):
        make_book(TABLES, 0)
    with pytest.raises(MissingTable, match="no table has the value"):
        make_book(Tablebase(GAME, tmp_path), 1)
    monkeypatch.setattr(making, "MAX_POSITIONS", 5)
    with pytest.raises(BadOption, match="turns=2: more than 5 positions; choose fewer"):
        make_book(TABLES, 2)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda content: b"nonsense\n" + content, "not a file of the format 'cc_env book'"),
        (lambda content: content.replace(b"book 1 ", b"book 9 ", 1), "version '9'; expected: 1"),
        (lambda content: content[:-1], "does not match its hash"),
        (lambda content: content[:-1] + bytes([content[-1] ^ 1]), "does not match its hash"),
        (lambda content: content.replace(b"size", b"sise", 1), "does not match its hash"),
    ],
)
def test_damaged_book_is_rejected(folder, tmp_path, damage, why):
    content = book_path(folder, GAME).read_bytes()
    book_path(tmp_path, GAME).write_bytes(damage(content))
    with pytest.raises(BadTable, match=why):
        Tablebase(GAME, tmp_path)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"options": {"size": 5}}, r"the book is for .*5.*; expected: .*4"),
        ({"rules": "other"}, r"\(other\); expected"),
        ({"labels": ("3v3", "9x")}, "invalid label"),
        ({"labels": ()}, "invalid label"),
        ({"labels": ("1v1",)}, "index is out of range"),
        ({"labels": 5}, "cannot be read"),
        ({"start": 5}, "invalid field"),
        ({"positions": 0}, "invalid field"),
        ({"positions": 2**40}, "invalid field"),
        ({"positions": 11}, "does not decompress to exactly"),
    ],
)
def test_book_with_a_false_header_is_rejected(tmp_path, monkeypatch, changes, why):
    header, book = make_book(TABLES, 1)
    fields = {name: changes.get(name, value) for name, value in vars(header).items()}
    monkeypatch.setattr("cc_env.tablebase.book.asdict", lambda header: fields)
    write_book(book_path(tmp_path, GAME), header, book)
    with pytest.raises(BadTable, match=why):
        Tablebase(GAME, tmp_path)


@pytest.mark.parametrize("wrong", [[-1, 1], [3, 3], [0, 2**62], [2**62, 2**62 + 2**61]])
def test_book_with_impossible_indices_is_rejected(tmp_path, wrong):
    header, book = make_book(TABLES, 1)
    indices = np.array([*wrong, *book.indices[2:]], np.int64)
    write_book(book_path(tmp_path, GAME), header, book._replace(indices=indices))
    with pytest.raises(BadTable, match="index is out of range"):
        Tablebase(GAME, tmp_path)
