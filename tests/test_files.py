"""Files: their kinds, reading line by line, and JSON in them."""

import gzip
import os
import tracemalloc
from functools import partial

import pytest

from agents import weight_files
from agents.reproductions import memory_tree
from cc_env import files
from cc_env.datasets.dataset import load_dataset
from cc_env.errors import BadRecord, CcEnvError
from cc_env.files import read_lines
from cc_env.games.cannon import log
from cc_env.games.factory import make_game
from cc_env.learned_evaluation.network_file import read_network
from cc_env.match.record import Record, read_foreign, replay_records
from cc_env.play.session import GameSession
from cc_env.play.terminal import load as load_session
from cc_env.players.specs import make_player
from cc_env.puzzles.puzzle import read_puzzles
from cc_env.server.journal import Journal
from cc_env.tablebase.table_file import ExactTable
from cc_env.verification import reference_positions
from training.baselines.results import read_result
from training.baselines.submission import read_submission
from training.runs.folder import read_config

GAME = make_game("capture_conquer", size=4)

# (name of a file, function that reads a file with the path)
READERS = {
    "records": ("games.jsonl", lambda path: list(replay_records(path))),
    "compressed records": ("games.jsonl.gz", lambda path: list(replay_records(path))),
    "games of another program": (
        "games.pdn",
        lambda path: list(read_foreign(path, make_game("checkers"))),
    ),
    "position": ("start.txt", lambda path: load_session(path, GameSession(GAME, ["human"] * 2))),
    "picture": ("game.svg", lambda path: load_session(path, GameSession(GAME, ["human"] * 2))),
    "data set": ("games.npz", load_dataset),
    "puzzles": ("puzzles.jsonl", lambda path: read_puzzles(path, GAME)),
    "reference positions": (
        "capture_conquer.jsonl",
        lambda path: list(reference_positions.compare(path, "capture_conquer")),
    ),
    "table": ("all.values", ExactTable),
    "evaluation network": (
        "best.network",
        lambda path: read_network(path, make_game("capture_conquer")),
    ),
    "weights": ("best.safetensors", partial(weight_files.load, kind="network")),
    "submission": ("result.json", read_submission),
    "result of a baseline": ("result.json", read_result),
    "config": ("config.json", lambda path: read_config(path.parent)),
    "journal": ("a.jsonl", lambda path: Journal(path).read(make_player)),
    "partial line": ("log.jsonl", files.drop_partial_line),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_only_regular_files_are_read(tmp_path, reader, kind):
    """A device has no end, and opening a pipe waits for its writer."""
    name, read = READERS[reader]
    path = tmp_path / name
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises((CcEnvError, OSError), match="not a regular file"):
        read(path)


def test_links_to_regular_files_are_read(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    link = tmp_path / "link"
    link.symlink_to("file")
    assert files.read_bytes(link, 3) == b"abc"
    with pytest.raises(OSError, match=r"^\[Errno 27\] more than 2 bytes: '.*link'$"):
        files.read_bytes(link, 2)


@pytest.mark.parametrize("name", ["games.jsonl", "games.jsonl.gz"])
def test_overlong_line_is_rejected_before_it_is_read_completely(tmp_path, monkeypatch, name):
    path = tmp_path / name
    opened = gzip.open if name.endswith(".gz") else open
    with opened(path, "wt") as file:
        file.write("{}\n" + "a" * 100_000)
    monkeypatch.setattr(files, "MAX_LINE_LENGTH", 1000)
    lines = read_lines(path)
    assert next(lines) == (1, "{}\n")
    with pytest.raises(BadRecord, match=r"games\.jsonl.*: line 2 has more than 1,000 characters"):
        next(lines)


def test_repeated_name_in_an_object_is_rejected():
    """RFC 8259, section 4: what software does with such objects is unpredictable."""
    assert files.parse_json('{"a": {"b": 1}, "b": [{"a": 2}]}') == {"a": {"b": 1}, "b": [{"a": 2}]}
    for text in ('{"a": 1, "a": 1}', '[{"b": {"a": 1, "c": 2, "a": 3}}]'):
        with pytest.raises(BadRecord, match="the name 'a' is twice"):
            files.parse_json(text)
    players = '"players": ["a", "b"], "players": ["b", "a"]'
    with pytest.raises(BadRecord, match="the name 'players' is twice"):
        Record.from_json(f'{{"game": "morris", {players}}}')
    with pytest.raises(BadRecord, match="the name 'data' is twice"):
        log.parse_message('{"meta": "", "action": "NORMAL", "data": "S 2 5 M 1 4", "data": ""}')
    choice = '{"wins": 1, "looses": 0, "phase": 1, "player": 2}'
    with pytest.raises(BadRecord, match="the name 'A' is twice"):
        memory_tree.read(make_game("morris"), f'{{"A": {choice}, "A": {choice}}}')


@pytest.mark.slow
def test_compressed_gigabyte_line_needs_little_memory(tmp_path):
    path = tmp_path / "bomb.jsonl.gz"
    block = b" " * 2**20
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(1024):
            file.write(block)
    tracemalloc.start()
    with pytest.raises(BadRecord, match="line 1 has more than"):
        list(replay_records(path))
    assert tracemalloc.get_traced_memory()[1] < 200 * 2**20
    tracemalloc.stop()


def test_byte_order_mark_is_not_part_of_the_first_line(tmp_path):
    path = tmp_path / "games.jsonl"
    path.write_text("\ufeff{}\n\ufeff", "utf-8")
    assert list(read_lines(path)) == [(1, "{}\n"), (2, "\ufeff")]


def test_lines_of_maximum_length_are_read(tmp_path, monkeypatch):
    path = tmp_path / "games.jsonl"
    path.write_text("abcd\n\nefg")
    monkeypatch.setattr(files, "MAX_LINE_LENGTH", 5)
    assert list(read_lines(path)) == [(1, "abcd\n"), (3, "efg")]
