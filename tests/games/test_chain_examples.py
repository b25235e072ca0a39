"""Jump chains of C&C: a position for each branch of the search, whose comments name its title.

In the drawings, S is the moving piece, b are other own pieces, r is the enemy piece, and x are the
ends of chains: those that capture the enemy piece, if there is one.
"""

import inspect
import sys
import textwrap
from typing import NamedTuple

import numpy as np
import pytest
from chain_walk import all_turns

from cc_env.core.bitboard import lowest_bit, lowest_index
from cc_env.games.capture_conquer import chains


class Example(NamedTuple):
    """A drawn position, and the lines that a function of `chains` executes because of it."""

    drawing: str
    function: str
    lines: tuple[str, ...]


REACHABLE = {
    "hops do not cross": Example(
        """
        S b x
        . . b
        . . x
        """,
        "reachable",
        ("return reached",),
    ),
    "crossed by the last hop": Example(
        """
        S . x
        b b .
        x . x
        """,
        "_reachable_crossing",
        ("return reached",),
    ),
    "plain hops after a crossing": Example(
        """
        S . x
        . b b
        x b x
        """,
        "_reachable_crossing",
        ("return certain",),
    ),
    "single crossing": Example(
        """
        S . .
        . b .
        x b x
        """,
        "_reachable_crossing",
        ("return certain",),
    ),
    "two crossings": Example(
        """
        S . x . x
        b b . b .
        x . x . x
        . . . . .
        . . . . .
        """,
        "_add_crossings",
        ("return certain | reached",),
    ),
    "two crossings, nothing new": Example(
        """
        S . . . x
        . b . b .
        x b x . .
        . . . . .
        . . . . .
        """,
        "_add_crossings",
        ("return certain",),
    ),
}
CAPTURING = {
    "walks share no piece": Example(
        """
        S b .
        . . r
        . . x
        """,
        "ends_capturing",
        ("return possible & targets",),
    ),
    "few pieces before the capture": Example(
        """
        S . .
        . b .
        x r .
        """,
        "ends_capturing",
        ("return _walk(query, start, own, occupied, ZERO) & targets",),
    ),
}
# Positions with so few pieces get here only if no walks are enumerated.
UNENUMERATED = {
    "capture by the first hop": Example(
        """
        S . x
        r b .
        x . .
        """,
        "ends_capturing",
        ("return possible",),
    ),
    "needed before and after": Example(
        """
        S . x
        . b r
        . . .
        """,
        "_exists_without_reuse",
        (
            "_UsableMiddles(piece, piece, ZERO, ZERO),",
            "return _exists_without_reuse(chain, second)",
            "return False",
        ),
    ),
    "twice before": Example(
        """
        S . x
        . b r
        . b .
        """,
        "_exists_without_reuse",
        ("_UsableMiddles(piece, ZERO, ZERO, ZERO),",),
    ),
    "twice after": Example(
        """
        S . . . .
        b . . . .
        x b x . .
        . b r . .
        . . x . .
        """,
        "_exists_without_reuse",
        ("_UsableMiddles(ZERO, ZERO, piece, ZERO),",),
    ),
    "second impossible": Example(
        """
        S . . . .
        . b . . .
        x . . . .
        r b . . .
        . b . . .
        """,
        "_exists_without_reuse",
        ("return _exists_without_reuse(chain, first)", "return True"),
    ),
    "both possible": Example(
        """
        S . . . .
        . b . . .
        . . x . .
        . . b b .
        . . x r x
        """,
        "_exists_without_reuse",
        ("return _exists_without_reuse(chain, first) or _exists_without_reuse(chain, second)",),
    ),
}


class Board(NamedTuple):
    """The sets of a drawn position."""

    start: np.uint64
    own: np.uint64
    enemy: np.uint64
    empty: np.uint64
    ends: np.uint64

    @classmethod
    def read(cls, drawing):
        rows = textwrap.dedent(drawing).split("\n")[1:-1]
        sets = dict.fromkeys("Sbr.x", 0)
        for row, line in enumerate(rows):
            for column, letter in enumerate(line.split()):
                sets[letter] |= 1 << 8 * row + column
        start, own, enemy, free, ends = map(np.uint64, sets.values())
        return cls(start, own, enemy, free | ends, ends)


@pytest.fixture
def plain(monkeypatch):
    """Run the functions of `chains` in plain Python."""
    for name, function in vars(chains).items():
        if getattr(function, "__module__", None) == chains.__name__ and hasattr(
            function, "py_func"
        ):
            monkeypatch.setattr(chains, name, function.py_func)
    for function in (lowest_bit, lowest_index):
        monkeypatch.setattr(chains, function.py_func.__name__, as_word(function))


def as_word(function):
    """Return a compiled function whose results are words, as in compiled code, not integers."""
    return lambda word: np.uint64(function(word))


def executed_lines(function, *arguments):
    """Return the result of a call, and {(name of the function, line)} of `chains`."""
    source, executed = inspect.getsource(chains).split("\n"), set()

    def trace(frame, event, _):
        if frame.f_code.co_filename != chains.__file__:
            return None
        if event == "line":
            executed.add((frame.f_code.co_name, source[frame.f_lineno - 1].strip()))
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        return function(*arguments), executed
    finally:
        sys.settrace(previous)


def enumerated_ends(drawing):
    """Return the ends of the enumerated paths of S: those that capture, if there is an enemy."""
    rows = ["".join(line.split()) for line in drawing.split("\n")[1:-1]]
    start = next((r, row.index("S")) for r, row in enumerate(rows) if "S" in row)
    turns, _ = all_turns([row.replace("S", "b").replace("x", ".") for row in rows], True)
    has_enemy = any("r" in row for row in rows)
    ends = {end for first, end, victim in turns if first == start and bool(victim) == has_enemy}
    steps = {(start[0] + 1, start[1]), (start[0], start[1] + 1), (start[0] + 1, start[1] + 1)}
    return np.uint64(sum(1 << 8 * row + column for row, column in ends - steps))


def assert_branch_taken(example, board, executed, ends):
    assert {(example.function, line) for line in example.lines} <= executed
    assert ends == board.ends == enumerated_ends(example.drawing)


@pytest.mark.parametrize("title", REACHABLE)
def test_example_takes_its_branch_to_the_reachable_cells(plain, title):
    example = REACHABLE[title]
    board = Board.read(example.drawing)
    hops = chains.hops_over(board.own, board.empty)
    reached, executed = executed_lines(chains.reachable, board.start, hops, board.own, board.empty)
    assert_branch_taken(example, board, executed, reached ^ board.start)


@pytest.mark.parametrize("title", CAPTURING | UNENUMERATED)
def test_example_takes_its_branch_to_the_captures(plain, monkeypatch, title):
    example = (CAPTURING | UNENUMERATED)[title]
    if title in UNENUMERATED:
        monkeypatch.setattr(chains, "_MAX_ENUMERATED", 0)
    board = Board.read(example.drawing)
    start, own, enemy, empty, _ = board
    before = chains.reachable(start, chains.hops_over(own, empty), own, empty)
    field = chains.Field(own, own | enemy, empty, chains.hops_over(own | enemy, empty))
    remaining = chains.remove_victim(enemy, field)
    ends, executed = executed_lines(chains.ends_capturing, start, before, enemy, empty, remaining)
    assert_branch_taken(example, board, executed, ends)


def test_source_names_each_example():
    source = inspect.getsource(chains)
    for title in REACHABLE | CAPTURING | UNENUMERATED:
        assert f'"{title}"' in source
