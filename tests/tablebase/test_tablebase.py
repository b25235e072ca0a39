"""Tables: values of positions, and rejection of damaged files."""

import copy
import json
import os
import pickle
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import numpy as np
import pytest
from conftest import command_line
from solved_boards import SMALL, solve

from cc_env.__main__ import main
from cc_env.accuracy.decisions import sample_uniform
from cc_env.core import rules
from cc_env.errors import BadOption, BadPosition, BadTable, InsufficientSpace, MissingTable
from cc_env.files import open_atomically, open_temporary
from cc_env.games.factory import make_game
from cc_env.match.referee import Clock
from cc_env.players.builtin import MinimaxPlayer
from cc_env.players.perfect import PerfectPlayer
from cc_env.players.specs import make_player
from cc_env.registry.catalogue import file_stem
from cc_env.tablebase import table_file as files
from cc_env.tablebase import tablebase
from cc_env.tablebase.cache import NOT_READ
from cc_env.tablebase.ranking import BLOCK_SIZE, index_of
from cc_env.tablebase.table_file import ExactTable, TableHeader, TableView, write_table
from cc_env.tablebase.tablebase import SHIPPED, Tablebase
from cc_env.tablebase.values import turns_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    solve(SMALL, folder, "2v2")
    return folder


@pytest.fixture(scope="module")
def tables(folder):
    return Tablebase(SMALL, folder)


@pytest.mark.parametrize(
    ("text", "value", "turns", "best"),
    [
        # The capture leaves one piece.
        ("4/1br1/4/b2r b", 1, 1, ["1,1-1,3x1,2"]),
        # The turn reaches the far corner.
        ("1r2/r3/2b1/b3 b", 1, 1, ["2,2-3,3"]),
        ("4/4/4/2rb r", -1, 0, []),
        ("4/4/rr2/1b1b r", -1, 0, []),
    ],
)
def test_probe_returns_value_turns_and_best_actions(tables, text, value, turns, best):
    position = SMALL.from_text(text)
    solved = tables.probe(position)
    assert (solved.value, solved.margin, solved.turns) == (value, abs(value), turns)
    texts = [SMALL.turn_text(position, (action,)) for action in solved.best]
    assert texts == best


def test_value_is_that_of_the_best_action(tables):
    """Along random games: the value is the best action's, and turns count down along best ones."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        position = SMALL.from_text("b2b/4/4/r2r b")
        while len(SMALL.legal_actions(position)):
            solved = tables.probe(position)
            assert solved.actions == tuple(SMALL.legal_actions(position).tolist())
            assert solved.value == max(solved.values)
            assert set(solved.best) <= set(solved.value_keeping) <= set(solved.actions)
            for action, value in zip(solved.actions, solved.values, strict=True):
                assert (action in solved.value_keeping) == (value == solved.value)
                after = SMALL.apply(position, action)
                result = tables.probe(after)
                within = SMALL.mid_turn(after)
                assert result.value == (value if within else -value)
                if action in solved.best and value:
                    assert result.turns == solved.turns - (not within)
            position = SMALL.apply(position, int(rng.choice(solved.actions)))


def test_mid_turn_position_has_the_value_of_its_best_capture(tables):
    game = make_game("capture_conquer", size=4)
    # The piece on 0,0 may capture 1,1 or nothing.
    position = game.from_text("bb2/1rr1/4/4 b")
    successors = [game.apply(position, action) for action in game.legal_actions(position)]
    within = list(filter(game.mid_turn, successors))
    assert within
    for after in within:
        solved = tables.probe(after)
        assert solved.value == max(solved.values)
        assert solved.turns >= 1 or solved.value == 0


def test_missing_value_is_an_error_with_available_tables(tables):
    position = make_game("capture_conquer", size=4).initial
    with pytest.raises(
        MissingTable, match="no table has the value of 'bb2/b3/3r/2rr b'; available"
    ):
        tables.probe(position)
    assert position not in tables
    assert tables.get(position) is None
    assert SMALL.from_text("b3/4/4/3r b") in tables
    with pytest.raises(MissingTable, match="there is no table 3v3"):
        tables.table((3, 3))


@pytest.mark.parametrize(
    ("name", "options", "other"),
    [
        ("capture_conquer", {"size": 4}, {"size": 5}),
        ("morris", {"flying": True}, {"flying": False}),
        ("morris", {"removals": "one"}, {"removals": "per_mill"}),
        ("checkers", {"crowning": "ends_move"}, {"crowning": "continue"}),
    ],
)
def test_position_of_other_rules_is_rejected(name, options, other, tmp_path):
    tables = Tablebase(make_game(name, **options), tmp_path)
    assert tables.get(make_game(name, **options).initial) is None
    foreign = make_game(name, **other).initial
    for probe in (tables.probe, tables.get, tables.__contains__):
        with pytest.raises(BadPosition, match=rf"is not a position of make_game\('{name}'"):
            probe(foreign)


def test_position_of_another_game_is_rejected(tables):
    with pytest.raises(BadPosition, match=r"is not a position of make_game"):
        tables.probe(make_game("morris").initial)


def test_two_pieces_on_one_cell_are_rejected(tables):
    position = SMALL.from_text("b3/4/4/3r b")
    both = position._replace(enemy=position.own | position.enemy)
    with pytest.raises(BadPosition, match="two pieces stand on one cell"):
        tables.probe(both)


def test_arguments_of_other_types_are_rejected(tmp_path):
    with pytest.raises(BadOption, match=r"'checkers' is not a game; expected: make_game"):
        Tablebase("checkers")
    for ask in (
        lambda: Tablebase(SMALL, 5),
        lambda: MinimaxPlayer(SMALL, depth=1, tables=5),
    ):
        with pytest.raises(BadOption, match="folder 5"):
            ask()
    # In a player spec it is a path.
    with pytest.raises(BadOption, match=r"^5: there is no such folder of tables"):
        make_player("minimax:depth=1,tables=5", SMALL)
    with pytest.raises(MissingTable, match="no tables of"):
        MinimaxPlayer(SMALL, depth=1, tables=tmp_path)


def test_options_without_influence_on_values_are_ignored(tables, tmp_path):
    assert make_game("capture_conquer", size=4, corner=3).initial not in tables
    checkers = Tablebase(make_game("checkers", no_progress_limit=80), tmp_path)
    assert make_game("checkers", no_progress_limit=40).initial not in checkers
    morris = Tablebase(make_game("morris", count_hand=True), tmp_path)
    assert make_game("morris", free_move="moving_phase_only").initial not in morris


def test_deleted_table_raises_bad_table(copied):
    tables = Tablebase(SMALL, copied)
    table_path(copied, "1v1").unlink()
    with pytest.raises(BadTable, match=r"1v1\.exact: can no longer be read: No such file"):
        tables.probe(SMALL.from_text(POSITION))


def test_position_without_a_table_has_a_value_if_all_turns_lead_to_values(tables):
    """There is no table of 2 v 3, but every turn of the first position captures a piece or wins."""
    assert tables.probe(SMALL.from_text("r3/1bb1/1r2/1b2 r")).value == 1
    assert SMALL.from_text("4/4/bb2/b1rr r") not in tables


def test_value_is_uncertain_if_a_draw_rule_may_come_first(tmp_path):
    """A win that takes more turns than the draw rule allows is not certain."""
    free = make_game("checkers", no_progress_limit=None)
    solve(free, tmp_path, "1v1")
    text = "R7/8/8/8/8/8/6B1/8 r"
    turns = Tablebase(free, tmp_path).probe(free.from_text(text)).turns
    limited = make_game("checkers", no_progress_limit=20)
    tables = Tablebase(limited, tmp_path)
    for idle in (0, 19):
        solved = tables.get(limited.from_text(f"{text} {idle}" if idle else text))
        if turns:
            assert (solved is None) == (turns > 20 - idle)
        else:
            assert solved is None or solved.value == 0


@pytest.mark.slow
def test_certain_win_is_known_despite_uncertain_actions(tmp_path):
    """Some wins come before the draw rule applies, others after."""
    free = make_game("checkers", no_progress_limit=None)
    solve(free, tmp_path, "2v1")
    limited, counts = make_game("checkers", no_progress_limit=20), [0, 0]
    unlimited, certain = Tablebase(free, tmp_path), Tablebase(limited, tmp_path)
    for number in range(0, unlimited.sizes[4], 47):
        position = unlimited.position_at(4, number)
        if not len(free.legal_actions(position)):
            continue
        text, solved = free.to_text(position), unlimited.probe(position)
        after = [unlimited.probe(free.apply(position, action)) for action in solved.actions]
        if any(free.mid_turn(free.apply(position, action)) for action in solved.actions):
            continue
        start = limited.from_text(text)
        successors = [limited.apply(start, action) for action in solved.actions]
        late = [
            value.turns > rules.turns_to_draw(successor)
            for value, successor in zip(after, successors, strict=True)
        ]
        wins = [
            value.turns
            for value, is_late in zip(after, late, strict=True)
            if value.value < 0 and not is_late
        ]
        actual = certain.get(start)
        if wins:
            assert actual is not None, text
            assert (actual.value, actual.turns) == (1, solved.turns)
            assert not {a for a, is_late in zip(solved.actions, late, strict=True) if is_late} & {
                *actual.value_keeping
            }
            counts[0] += any(late)
        elif any(late):
            assert actual is None
            counts[1] += 1
    assert min(counts) > 3


def test_best_actions_keep_the_margin(tmp_path):
    game = make_game("mini_checkers")
    solve(game, tmp_path, "3v1")
    solved = Tablebase(game, tmp_path).probe(game.from_text("1b1b2/2w3/6/6/1b4/6 b"))
    assert solved.values == (1, 1)
    assert solved.value_keeping == solved.actions
    assert len(solved.best) == 1


def test_copies_are_shared_and_pickles_reopen_the_folders(tables, folder):
    position = SMALL.from_text(POSITION)
    expected = tables.probe(position)
    assert copy.deepcopy(tables) is tables
    for name in ("perfect", "minimax:depth=2", "mcts:simulations=20"):
        player = make_player(f'{name}{"," if ":" in name else ":"}tables="{folder}"', SMALL)
        first = player.choose(position, np.random.default_rng(0), Clock())
        copied = copy.deepcopy(player) if name == "perfect" else player
        assert copied.choose(position, np.random.default_rng(0), Clock()).action == first.action
    for again in (pickle.loads(pickle.dumps(tables)), Tablebase(SMALL, folder)):
        assert again.probe(position) == expected
        assert again.labels == tables.labels


def test_probing_is_thread_safe(folder):
    """Threads that are switched at every opportunity get the values of their own positions."""
    alone, shared = Tablebase(SMALL, folder), Tablebase(SMALL, folder)
    positions = sample_uniform(alone, 200)
    expected = [alone.probe(position) for position in positions]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(3) as pool:
            turns = [pool.submit(lambda: [shared.probe(p) for p in positions]) for _ in range(3)]
            assert [turn.result() for turn in turns] == 3 * [expected]
    finally:
        sys.setswitchinterval(before)


@pytest.fixture
def cached(monkeypatch):
    """The shipped tables of 5×5 with room for 48 of their 81 blocks."""
    monkeypatch.setattr(tablebase, "MIN_CACHE_MEGABYTES", 3)
    return Tablebase(make_game("capture_conquer", size=5, corner=2), cache_megabytes=3)


def test_copy_in_another_process_has_the_same_room(cached):
    copy = pickle.loads(pickle.dumps(cached))
    assert len(copy._blocks.values) == len(cached._blocks.values) == 48 * BLOCK_SIZE


def test_cache_has_room_for_the_blocks_of_any_position():
    with pytest.raises(BadOption, match="cache_megabytes=255; expected: an integer, 256 or"):
        Tablebase(make_game("capture_conquer", size=4), cache_megabytes=255)


def test_large_tables_have_the_same_values_with_few_blocks_in_memory(cached):
    whole = Tablebase(cached.game, SHIPPED)
    whole.load_all()
    positions = sample_uniform(whole, 500, seed=1)
    assert list(map(cached.probe, positions)) == list(map(whole.probe, positions))
    places = cached._probing.places
    assert np.count_nonzero(places != NOT_READ) == 48 < len(places)
    # Too large for compiled code of vector environments.
    assert cached.make_probing() is None
    fallback = make_player("minimax:depth=2", cached.game)
    assert PerfectPlayer(cached.game, cached, fallback, delay=False).make_policy() is None


def test_load_all_reads_large_tables_if_they_fit_into_memory(cached, monkeypatch):
    whole = Tablebase(cached.game, SHIPPED)
    positions = sample_uniform(whole, 100)
    monkeypatch.setattr(tablebase, "available_memory", lambda: 1024)
    with pytest.raises(InsufficientSpace, match=r"in memory, .* MiB; 1 KiB are free; .* perfect"):
        cached.load_all()
    monkeypatch.undo()
    loaded = cached.load_all()
    assert len(loaded.values) == 81 * BLOCK_SIZE
    assert list(map(cached.probe, positions)) == list(map(whole.probe, positions))
    values = [loaded.values[index_of(position, loaded.ranking)] for position in positions]
    assert [solved.turns for solved in map(whole.probe, positions)] == list(map(turns_of, values))


def test_missing_folder_and_game_without_tables_are_rejected(folder, tmp_path):
    with pytest.raises(BadOption, match="there is no such folder of tables"):
        Tablebase(SMALL, tmp_path / "nowhere")
    with pytest.raises(BadOption, match="cannon: there are no exact values"):
        Tablebase(make_game("cannon"), folder)


def test_tables_are_found_in_folders(folder, tmp_path):
    assert Tablebase(make_game("capture_conquer", size=5), folder).labels == []
    assert Tablebase(SMALL, tmp_path, folder).labels == ["1v1", "2v1", "2v2"]
    assert repr(Tablebase(SMALL, tmp_path)).endswith("corner=2): none)")


@pytest.fixture
def copied(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def table_path(folder, label):
    return folder / (file_stem("capture_conquer", {"size": 4}, label) + files.SUFFIX)


POSITION = "b3/4/2r1/4 b"


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda content: b"", "the file is empty"),
        (lambda content: b"nonsense\n" + content, "not a file of the format 'cc_env exact'"),
        (lambda content: content.replace(b"exact 1 ", b"exact 2 ", 1), "version '2'; expected: 1"),
        (lambda content: content[:200], "truncated at 200 bytes"),
        (lambda content: content[:-1], "bytes; expected"),
        (lambda content: content + b"x", "bytes; expected"),
        (lambda content: content[:-1] + bytes([content[-1] ^ 1]), "block 0 does not match"),
        (lambda content: content.replace(b'"lost"', b'"last"', 1), "does not match its hash|read"),
        (lambda content: content.replace(b" 1 ", b" 1 9", 1), "altered|truncated"),
    ],
)
def test_damaged_file_is_rejected(copied, damage, why):
    path = table_path(copied, "1v1")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(BadTable, match=why):
        Tablebase(SMALL, copied).probe(SMALL.from_text(POSITION))


@pytest.mark.parametrize("damage", ["cut", "overwritten"])
def test_file_changed_while_open_is_rejected(copied, damage):
    path = table_path(copied, "2v2")
    table = ExactTable(path)
    if damage == "cut":
        os.truncate(path, path.stat().st_size - 100)
    else:
        path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(BadTable, match="block 0 does not match its hash"):
        table.block(0, 0)


def test_table_replaced_while_open_stays_readable(copied):
    path = table_path(copied, "2v2")
    table, other = ExactTable(path), path.with_name("other")
    before = table.block(0, 0)
    other.write_bytes(b"another")
    other.replace(path)
    assert (table.block(0, 0) == before).all()


def test_table_of_another_material_or_game_is_rejected(copied):
    table_path(copied, "2v1").rename(table_path(copied, "1v1"))
    with pytest.raises(BadTable, match=r"is for 2v1 of .*; expected: 1v1 of capture_conquer"):
        Tablebase(SMALL, copied).probe(SMALL.from_text(POSITION))
    larger = make_game("capture_conquer", size=5)
    other = copied / (file_stem("capture_conquer", {"size": 5}, "1v1") + files.SUFFIX)
    table_path(copied, "1v1").rename(other)
    with pytest.raises(BadTable, match=r"for 2v1 of .*'size': 4.*; expected: 1v1 .*'size': 5"):
        Tablebase(larger, copied).probe(larger.from_text("b4/5/2r2/5/5 b"))


def test_table_with_another_number_of_positions_is_rejected(copied):
    path = table_path(copied, "1v1")
    table = ExactTable(path)
    (values,) = table.read()
    words = {**asdict(table.header), "views": (table.header.views[0],)}
    shorter = TableView(**{**asdict(table.header.views[0]), "numbers": 149})
    write_table(path, TableHeader(**{**words, "views": (shorter,)}), [values[:149]])
    with pytest.raises(BadTable, match=r"\(149, \(1, 1\)\)\]; expected: \[\(150, \(1, 1"):
        Tablebase(SMALL, copied).probe(SMALL.from_text(POSITION))


def test_written_table_can_be_read(tmp_path):
    rng = np.random.default_rng(0)
    values = [rng.integers(2**16, size=size).astype(np.uint16) for size in (2 * BLOCK_SIZE + 1, 5)]
    views = tuple(
        TableView(
            material=(2, 1), numbers=len(part), won=1, drawn=2, lost=3, turns=4, longest="b r"
        )
        for part in values
    )
    header = TableHeader(
        game="a", options={"size": 3}, rules="r", label="2v1", views=views, seconds=1.5
    )
    path = tmp_path / "x.exact"
    write_table(path, header, values)
    table = ExactTable(path)
    assert table.header == header
    buffers = [np.zeros_like(part) for part in values]
    for view, buffer in enumerate(buffers):
        table.read_view(view, buffer)
    for views_read in table.read(), buffers:
        for part, other in zip(views_read, values, strict=True):
            np.testing.assert_array_equal(part, other)
    np.testing.assert_array_equal(table.block(0, 2), values[0][-1:])
    table.close()
    assert [path.name for path in tmp_path.iterdir()] == ["x.exact"]


def test_failed_write_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda file: (_ for _ in ()).throw(OSError(28, "full")))
    header = TableHeader(game="a", options={}, rules="r", label="x", views=(), seconds=0)
    with pytest.raises(OSError, match=r"full.*x\.exact"):
        write_table(tmp_path / "x.exact", header, [])
    assert list(tmp_path.iterdir()) == []


def test_only_files_of_killed_runs_are_removed(tmp_path):
    path = table_path(tmp_path, "2v1")
    abandoned = [path.with_name(f"{path.name}{kind}.12345.half") for kind in ("", ".body", ".part")]
    for half in abandoned:
        half.write_bytes(b"half a table")
    (notes := tmp_path / "notes.half").write_text("unrelated")
    with (
        open_temporary(path.with_name(f"{path.name}.body.7.half")),
        open_atomically(path, exclusive=False),
    ):
        command = "solve", "capture_conquer", "-o", "size=4", "--out", tmp_path, "--pieces", "1v1"
        command_line(main, *command)
        assert not any(half.exists() for half in abandoned)
        names = {half.name for half in tmp_path.glob("*.half")}
        assert names == {
            notes.name,
            f"{path.name}.body.7.half",
            f"{path.name}.{os.getpid()}.half",
        }
    assert [half.name for half in tmp_path.glob("*.half")] == [notes.name]


def test_solve_command_prints_a_plan_and_solves(tmp_path):
    def run(*more, status=0):
        command = "solve", "capture_conquer", "-o", "size=4", "--out", tmp_path, *more
        return command_line(main, *command, status=status)

    plan = run("--pieces", "2v1", "--dry-run")
    assert "2 tables, 1v1 to 2v1: 3,600 positions, 2,124 without symmetric ones" in plan
    assert list(tmp_path.iterdir()) == []
    out = run("--pieces", "2v1", "--threads", 1)
    assert "2v1: verified" in out
    assert "  1v2, first side to move: 0 won, 0 drawn, 1,680 lost" in out
    assert "existing tables: 2 of 2" in run("--pieces", "2v1")
    assert "2v2: verified" in run("--pieces", "2v2", "--check", 50)
    out = run("--pieces", "2v2", "--check", 50)
    assert "existing tables: 3 of 3" in out
    assert re.search(r"\d\d positions compared with alpha-beta: \d+ values proven", out)
    assert "expected: the number in all" in str(run("--pieces", "many", status=2))
    assert json.loads(
        table_path(tmp_path, "1v1").read_bytes().split(b"\n", 1)[1][:400].split(b', "views"')[0]
        + b"}"
    )
