"""Comparison with recorded positions: differences are found and broken lines are reported."""

import gzip
import json

import pytest

from cc_env.errors import BadRecord, UnknownOption
from cc_env.verification import reference_positions

GOOD = {
    "size": 4,
    "corner": 2,
    "first": [[0, 0], [1, 1]],
    "second": [[3, 3], [3, 2]],
    "to_move": 1,
    "moves": [
        [[0, 0], [0, 1], None],
        [[0, 0], [1, 0], None],
        [[0, 0], [2, 2], None],
        [[1, 1], [1, 2], None],
        [[1, 1], [2, 1], None],
        [[1, 1], [2, 2], None],
    ],
    "result": None,
}


def compare(tmp_path, *lines, name="positions.jsonl"):
    path = tmp_path / name
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    return list(reference_positions.compare(path, "capture_conquer"))


@pytest.mark.parametrize("name", ["positions.jsonl", "positions.jsonl.gz"])
def test_correct_position_has_no_differences(tmp_path, name):
    (checked,) = compare(tmp_path, GOOD, name=name)
    assert not checked.differences


def test_differences_are_described(tmp_path):
    missing = GOOD | {"moves": GOOD["moves"][1:]}
    extra = GOOD | {"moves": [*GOOD["moves"], [[0, 0], [3, 0], [1, 1]]]}
    over = GOOD | {"result": "loss"}
    checked = compare(tmp_path, GOOD, missing, extra, over)
    assert [line.differences for line in checked] == [
        (),
        ("0,0-0,1 is not recorded",),
        ("0,0-3,0x1,1 is recorded, but not legal",),
        ("outcome -1, recorded 1",),
    ]
    assert checked[1].line == 2
    assert checked[1].position == "b3/1b2/4/2rr b"


def test_positions_after_turns_are_compared(tmp_path):
    def board(red):
        """Return the 32 cells in use, with black on 11 and red on cell number `red`."""
        return "".join({4: "b", red: "r"}.get(cell, ".") for cell in range(32))

    path = tmp_path / "checkers.jsonl"
    line = {"kind": "position", "board": board(17), "turn": "r"}
    right, wrong = (["42-33", board(13)], ["42-33", board(14)])
    lines = (line | {"moves": [["42-31", board(12)], after]} for after in (right, wrong))
    path.write_text("\n".join(map(json.dumps, lines)))
    agreed, differing = reference_positions.compare(path, "checkers")
    assert not agreed.differences
    (difference,) = differing.differences
    assert difference == "42-33 leads to 8/1b6/8/3r4/8/8/8/8 b, recorded 8/1b6/8/5r2/8/8/8/8 b"


def test_capture_is_truncated_at_crowning(tmp_path):
    path = tmp_path / "checkers.jsonl"
    # Red on 20, black on 11 and 13.
    cells = {8: "r", 4: "b", 5: "b"}
    board = "".join(cells.get(cell, ".") for cell in range(32))
    after = "".join({10: "R"}.get(cell, ".") for cell in range(32))
    line = {"kind": "position", "board": board, "turn": "r", "moves": [["20x02x24", after, 1]]}
    path.write_text(json.dumps(line))
    assert [line.differences for line in reference_positions.compare(path, "checkers")] == [(), ()]
    path.write_text(json.dumps(line | {"moves": [["20x02x24", after, 0]]}))
    _, (_, _, wrong) = reference_positions.compare(path, "checkers")
    assert wrong == ("20x02 is not recorded", "20 is recorded, but not legal")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "Expecting"),
        ("[]", "not a recorded position of capture_conquer"),
        ({key: value for key, value in GOOD.items() if key != "moves"}, "'moves' is missing"),
        (GOOD | {"size": 12}, "expected: an integer, 4 to 8"),
        (GOOD | {"second": []}, "it needs a piece"),
        (GOOD | {"first": [[0, 0], [9, 9]]}, "9,9 is off the board"),
        (GOOD | {"second": [[0, 0]]}, "occupied twice"),
        (GOOD | {"to_move": 3}, "to_move 1 or 2"),
        (GOOD | {"result": "won"}, "'draw' or 'loss'"),
        (GOOD | {"moves": [[1, 2]]}, "not a recorded position"),
        (GOOD | {"moves": [[[1], [2], None]]}, "not a recorded position"),
        (GOOD | {"to_move": "b"}, "to_move 1 or 2|not a recorded position"),
    ],
)
def test_broken_line_is_reported_with_its_number(tmp_path, line, message):
    with pytest.raises(BadRecord, match=rf"line 2: .*{message}"):
        compare(tmp_path, GOOD, line)


@pytest.mark.parametrize(
    ("game", "line", "message"),
    [
        (
            "cannon",
            {"kind": "game", "rows": 8, "cols": 8, "cmds": [{}], "final": "", "next": "w"},
            "{} is not a string",
        ),
        (
            "cannon",
            {"kind": "game", "rows": 8, "cols": 8, "end": [1], "next": "b"},
            r"\[1\] is not a string",
        ),
        (
            "cannon",
            {"kind": "perft", "rows": 8, "cols": 8, "nodes": ["1"]},
            "'1' is neither a count",
        ),
        (
            "cannon",
            {"kind": "perft", "rows": 8, "cols": 8, "nodes": [1.5]},
            "1.5 is neither a count",
        ),
        ("morris", {"kind": "game", "first": 11, "moves": "A", "winner": 1}, "player 11; expected"),
        ("morris", {"kind": "game", "first": 1, "moves": "A", "winner": -5}, "player -5; expected"),
        ("morris", {"kind": "game", "first": [], "moves": "A", "winner": 1}, r"player \[\]"),
    ],
)
def test_field_of_wrong_type_is_rejected(tmp_path, game, line, message):
    board = "W1W1W1W1/1w1w1w1w/1w1w1w1w/1w1w1w1w/b1b1b1b1/b1b1b1b1/b1b1b1b1/1B1B1B1B"
    path = tmp_path / "x.jsonl"
    fields = {"count": "effects", "cmds": [], "end": "halls"}
    path.write_text(json.dumps(fields | line | {"final": board}))
    with pytest.raises(BadRecord, match=f"x.jsonl, line 1: .*{message}"):
        list(reference_positions.compare(path, game))


def test_perft_stops_at_the_first_difference(tmp_path):
    path = tmp_path / "x.jsonl"
    # The last depths would take hours.
    nodes = [7, 49, 302, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    line = {"kind": "perft", "board": "wwwwww......bbbbbb", "turn": "b", "nodes": nodes}
    path.write_text(json.dumps(line))
    (checked,) = reference_positions.compare(path, "mini_checkers")
    assert len(checked.differences) == 1


def test_truncated_file_is_reported_after_the_last_valid_line(tmp_path):
    path = tmp_path / "positions.jsonl.gz"
    path.write_bytes(gzip.compress(f"{json.dumps(GOOD)}\n{json.dumps(GOOD)}".encode())[:-9])
    with pytest.raises(BadRecord, match="after line 1"):
        list(reference_positions.compare(path, "capture_conquer"))


def test_missing_file_is_rejected(tmp_path):
    with pytest.raises(BadRecord, match="nowhere"):
        list(reference_positions.compare(tmp_path / "nowhere.jsonl", "capture_conquer"))


def test_file_without_positions_is_rejected(tmp_path):
    with pytest.raises(BadRecord, match="no recorded position"):
        compare(tmp_path, "", "")


def test_unknown_game_is_rejected(tmp_path):
    with pytest.raises(UnknownOption, match="no game 'go'"):
        list(reference_positions.compare(tmp_path / "x", "go"))
