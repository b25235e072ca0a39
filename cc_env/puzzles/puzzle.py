"""Puzzles and their files: a line of JSON for each puzzle.

    {"position": "…", "task": "win", "turns": 2, "solutions": ["1,0-2,0"], "proof": "3 0 1",
     "themes": ["quiet"], "failing_rungs": [1, 2]}

    position       the position as text; the attacker, the player to move, has the task
    task           win: to win the game; capture: to capture a piece before losing one
    turns          the least number of own turns in which that can be forced
    solutions      the first turns that force it
    proof          see `cc_env.puzzles.proof`; "" if tables of exact values are the judge
    themes         see `cc_env.puzzles.themes`
    failing_rungs  the levels of the rungs of the game's ladder that do not solve it
    missed_depth   the greatest depth at which alpha-beta misses it; only in the set "hard"

A game has up to two sets: "people", with at most five own turns, and "hard", for programs: long
wins on solved boards of which alpha-beta misses the only first turn.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from cc_env.core.game import Game, Turn
from cc_env.core.rules import ONGOING, Position
from cc_env.errors import BadOption, BadRecord, CcEnvError, check_fields, check_integer, check_name
from cc_env.files import read_lines
from cc_env.ladder.rungs import NAMES
from cc_env.registry.catalogue import file_stem

Value = TypeVar("Value")

SHIPPED = Path(__file__).parent / "shipped"
SUFFIX = ".puzzles.jsonl"
PEOPLE, HARD = SETS = "people", "hard"
WIN, CAPTURE = TASKS = "win", "capture"
# Before the name of an ending.
END = "end: "
# Limits of untrusted values.
_MAX_TURNS, _MAX_DEPTH, _MAX_TEXT_LENGTH, _MAX_DIGITS = 50, 1000, 100_000, 9
THEMES = (
    *("quiet", "capture", "chain", "multiple", "sacrifice", "forced", "only move", "mill"),
    "shot",
)


@dataclass(frozen=True)
class Puzzle:
    """A position with a task."""

    position: Position
    # One of TASKS.
    task: str
    # Own turns.
    turns: int
    solutions: tuple[Turn, ...]
    # Indices of turns, see `cc_env.puzzles.proof`; () if tables are the judge.
    proof: tuple[int, ...] = ()
    themes: tuple[str, ...] = ()
    # Levels of the rungs that do not solve it.
    failing_rungs: tuple[int, ...] = ()
    # 0 except in the set "hard".
    missed_depth: int = 0
    # The place in its set, from 1; 0 for a puzzle of no set.
    number: int = 0

    def describe_task(self, game: Game) -> str:
        """Return the task in words, such as "blue to move wins in 3 turns"."""
        mover = game.players[game.to_move(self.position)]
        turns = "this turn" if self.turns == 1 else f"in {self.turns} turns"
        if self.task == WIN:
            return f"{mover} to move wins {turns}"
        return f"{mover} to move captures a piece {turns}, before losing one"

    def to_json(self, game: Game) -> dict[str, Any]:
        """Return the line of a file as a JSON object."""
        values: dict[str, Any] = {
            "position": game.to_text(self.position),
            "task": self.task,
            "turns": self.turns,
            "solutions": [game.turn_text(self.position, turn) for turn in self.solutions],
        }
        if self.proof:
            values["proof"] = " ".join(map(str, self.proof))
        values |= {"themes": list(self.themes)} if self.themes else {}
        values |= {"failing_rungs": list(self.failing_rungs)} if self.failing_rungs else {}
        return values | ({"missed_depth": self.missed_depth} if self.missed_depth else {})


def shipped_puzzles(game: Game, name: str = PEOPLE) -> list[Puzzle]:
    """Return a set of puzzles of a game, "people" or "hard"; easiest and hardest first.

    It is empty if the game has none with its options. Raises UnknownOption for another name.

    Examples:

        >>> import cc_env
        >>> game = cc_env.make_game("capture_conquer")
        >>> from cc_env.puzzles import shipped_puzzles
        >>> puzzle = shipped_puzzles(game)[0]
        >>> puzzle.task
        'win'
    """
    path = puzzle_path(SHIPPED, game, name)
    return read_puzzles(path, game) if path.exists() else []


def puzzle_path(folder: Path, game: Game, name: str) -> Path:
    """Return the file of a set of puzzles in a folder; raise UnknownOption for another name."""
    check_name("puzzles", name, SETS)
    options = game.options
    if name == HARD and game.numbering is not None:
        # Those that affect the values of positions in tables.
        options = game.numbering.options
    return folder / f"{file_stem(game.name, options)}.{name}{SUFFIX}"


def write_lines(puzzles: Iterable[Puzzle], game: Game) -> str:
    """Return the content of a file."""
    lines = (json.dumps(puzzle.to_json(game), ensure_ascii=False) for puzzle in puzzles)
    return "".join(f"{line}\n" for line in lines)


def read_puzzles(
    path: Path, game: Game, check: Callable[[Game, Puzzle], None] = lambda game, puzzle: None
) -> list[Puzzle]:
    """Return the puzzles of a file; raise BadRecord, with the line, for an invalid one.

    `check` raises BadRecord for an invalid puzzle. By default, proofs are not checked; see
    `cc_env.puzzles.proof.check_proof` and `cc_env.puzzles.judge.check_puzzle`.
    """
    puzzles: list[Puzzle] = []
    for line_number, line in read_lines(path):
        try:
            puzzle = parse_puzzle(json.loads(line), game)
            check(game, puzzle)
        except (ValueError, KeyError, TypeError, RecursionError, CcEnvError) as error:
            raise BadRecord(f"{path}, line {line_number}: {error!s:.300}") from error
        puzzles.append(replace(puzzle, number=len(puzzles) + 1))
    return puzzles


def check_task(game: Game, name: object) -> str:
    """Return the name of a task; raise BadOption unless puzzles of the game can have it."""
    task = check_name("task", name, TASKS)
    if task == CAPTURE and game.numbering is None:
        raise BadOption(f"task 'capture' in {game.name}; expected: 'win'")
    return task


def parse_puzzle(entry: Any, game: Game) -> Puzzle:
    """Return the puzzle in a line; raise ValueError or TypeError if it is invalid."""
    check_fields(entry, ("position", "task", "turns", "solutions"))
    position = game.from_text(entry["position"])
    if game.outcome(position) != ONGOING or game.mid_turn(position):
        raise BadRecord("the position is not at the beginning of a turn")
    texts = entry["solutions"]
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        raise BadRecord(f"solutions: {texts!r:.80}; expected: a list of turns")
    proof = entry.get("proof", "")
    if not isinstance(proof, str) or len(proof) > _MAX_TEXT_LENGTH:
        raise BadRecord(f"proof: {proof!r:.80}; expected: a text of numbers")
    numbers = proof.split()
    if not all(number.isdecimal() and len(number) <= _MAX_DIGITS for number in numbers):
        raise BadRecord(f"proof: {proof!r:.80}; expected: a text of numbers")
    valid_themes = (*THEMES, *(f"{END}{name}" for name in game.endings))
    missed_depth = check_integer("missed_depth", entry.get("missed_depth", 0), 0, _MAX_DEPTH)
    return Puzzle(
        position=position,
        task=check_task(game, entry["task"]),
        turns=check_integer("turns", entry["turns"], 1, _MAX_TURNS),
        solutions=tuple(game.parse_turn(position, text) for text in texts),
        proof=tuple(map(int, numbers)),
        themes=_read_list(entry, "themes", partial(check_name, "theme", valid_names=valid_themes)),
        failing_rungs=_read_list(
            entry,
            "failing_rungs",
            partial(check_integer, "failing_rungs", minimum=1, maximum=len(NAMES)),
        ),
        missed_depth=missed_depth,
    )


def _read_list(
    entry: Mapping[str, Any], name: str, check: Callable[[object], Value]
) -> tuple[Value, ...]:
    """Return the checked values of an optional list; raise BadRecord if it is not one.

    The values must differ. Raises as `check`.
    """
    values = entry.get(name, [])
    if not isinstance(values, list):
        raise BadRecord(f"{name}: {values!r:.80}; expected: a list")
    checked = tuple(map(check, values))
    if len(set(checked)) < len(checked):
        raise BadRecord(f"{name}: {values!r:.80}; expected: different values")
    return checked
