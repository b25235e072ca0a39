"""Files that are read line by line, and JSON in them."""

import gzip
import tracemalloc

import pytest

from cc_env import files
from cc_env.errors import BadRecord
from cc_env.files import read_lines
from cc_env.games.cannon import log
from cc_env.games.factory import make_game
from cc_env.games.morris import tree
from cc_env.match.record import Record, replay_records


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
        tree.read(make_game("morris"), f'{{"A": {choice}, "A": {choice}}}')


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
