"""Tasks, their judge, and their files: a line of JSON for each task.

    {"kind": "winner", "game": "capture_conquer", "options": {"size": 4, "corner": 2},
     "position": "…", "question": "…", "key": ["blue 3"], "split": "train", "prompt": "…"}

kind      puzzle: the first turn of a forced win or capture; legal: all legal turns; board: the
          board after a turn; winner: who wins with perfect play, and in how many turns
position  the position as text
question  the last paragraph of the prompt, with the form of the reply
key       puzzle: the turns that solve it; legal: all legal turns; otherwise the only right answer
split     train or test
prompt    the whole text for a model: the rules, the position and the question; ignored by readers
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Position
from cc_env.errors import (
    BadOption,
    BadRecord,
    CcEnvError,
    IllegalAction,
    check_fields,
    check_name,
)
from cc_env.files import read_lines
from cc_env.games.factory import make_game
from cc_env.registry.import_allowlist import untrusted_names
from cc_env.text.prompts import describe_position
from cc_env.text.rules import rules_text
from cc_env.text.turns import find_turn, tagged_text

PUZZLE, LEGAL, BOARD, WINNER = KINDS = "puzzle", "legal", "board", "winner"
TRAIN, TEST = SPLITS = "train", "test"

# Of a line, without the prompt.
_FIELDS = "kind", "game", "options", "position", "question", "key", "split"
# Commas between turns; those within one, as in 0,0-2,2, stand between digits.
_SEPARATOR = re.compile(r"[;\n]|,\s+|,(?!\d)")


@dataclass(frozen=True)
class Task:
    """A question about a position, with its key."""

    # One of KINDS.
    kind: str
    game: Game
    # At the beginning of a turn.
    position: Position
    question: str
    key: tuple[str, ...]
    # One of SPLITS.
    split: str

    @property
    def prompt(self) -> str:
        """The rules, the position and the question."""
        game, position = self.game, self.position
        board = describe_position(game, position, game.to_move(position))
        return "\n\n".join((rules_text(game), "The position:", board, self.question))

    @property
    def solution(self) -> str:
        """A reply that solves the task."""
        answers = self.key[:1] if self.kind == PUZZLE else self.key
        return "<answer>{}</answer>".format("\n".join(answers))

    def to_json(self) -> str:
        """Return the task as one line of JSON, without a newline."""
        values = {
            "kind": self.kind,
            "game": self.game.name,
            "options": dict(self.game.options),
            "position": self.game.to_text(self.position),
            "question": self.question,
            "key": self.key,
            "split": self.split,
            "prompt": self.prompt,
        }
        return json.dumps(values, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> "Task":
        """Return the task in one line of JSON; raise BadRecord if it is invalid."""
        try:
            return _parse(json.loads(text))
        except (ValueError, KeyError, TypeError, RecursionError, CcEnvError) as error:
            raise BadRecord(f"{error!s:.300}") from error


def grade(task: Task, reply: str) -> float:
    """Return 1.0 if a reply solves a task, otherwise 0.0.

    Puzzles accept what `find_turn` reads; other replies need a tag. Raises BadOption for a reply
    that is not a string.

    Examples:

        >>> import cc_env
        >>> from cc_env.tasks import grade, make_tasks
        >>> game = cc_env.make_game("capture_conquer", size=4)
        >>> task = make_tasks(game, "winner", 1)[0]
        >>> grade(task, "Blue has more pieces.\\n<answer>blue 30</answer>")
        0.0
        >>> grade(task, task.solution)
        1.0
    """
    if not isinstance(reply, str):
        raise BadOption(f"reply={reply!r:.80}; expected: a string")
    try:
        return float(_solves(task, reply))
    except IllegalAction:
        return 0.0


def _solves(task: Task, reply: str) -> bool:
    """Return whether a reply solves a task; raise IllegalAction if it contains no legal turn."""
    game, position = task.game, task.position
    if task.kind == PUZZLE:
        turn = find_turn(game, position, reply)
        return turn in [game.parse_turn(position, text) for text in task.key]
    answer = tagged_text(reply)
    if answer is None:
        return False
    if task.kind == LEGAL:
        return _lists_all(task, answer)
    return _normalize(answer) == _normalize(*task.key)


def _lists_all(task: Task, answer: str) -> bool:
    """Return whether an answer lists the turns of the key; raise IllegalAction for another one."""
    game, position = task.game, task.position
    texts = list(filter(None, map(str.strip, _SEPARATOR.split(answer))))
    if len(texts) != len(task.key):
        return False
    turns = (game.parse_turn(position, text) for text in texts)
    return {game.readable_turn_text(position, turn) for turn in turns} == set(task.key)


def _normalize(text: str) -> str:
    """Return a text in lower case, with single spaces."""
    return " ".join(text.lower().split())


def read_tasks(path: Path) -> Iterator[Task]:
    """Yield the tasks of a file; raise BadRecord, with the line, for an invalid one."""
    for number, line in read_lines(path):
        try:
            yield Task.from_json(line)
        except BadRecord as error:
            raise BadRecord(f"{path}, line {number}: {error}") from error


def _parse(entry: Any) -> Task:
    """Return a task; raise ValueError, KeyError or TypeError if it is invalid."""
    check_fields(entry, _FIELDS)
    if not isinstance(entry["options"], dict):
        raise BadRecord(f"options: {entry['options']!r:.80}; expected: an object")
    game = _make_game(json.dumps([entry["game"], entry["options"]]))
    question, key = entry["question"], entry["key"]
    position = game.from_text(entry["position"])
    if game.outcome(position) != ONGOING or game.mid_turn(position):
        raise BadRecord("the position is not at the beginning of a turn")
    if not isinstance(question, str):
        raise BadRecord(f"question: {question!r:.80}; expected: a text")
    if not (isinstance(key, list) and key and all(isinstance(answer, str) for answer in key)):
        raise BadRecord(f"key: {key!r:.80}; expected: a list of texts")
    kind = check_name("kind", entry["kind"], KINDS)
    if kind in (BOARD, WINNER) and len(key) > 1:
        raise BadRecord(f"key: {len(key)} texts; expected: one")
    if kind == PUZZLE:
        for answer in key:
            game.parse_turn(position, answer)
    split = check_name("split", entry["split"], SPLITS)
    return Task(kind, game, position, question, tuple(key), split)


# The tasks of a file have few games.
@lru_cache(maxsize=32)
def _make_game(text: str) -> Game:
    """Return the game with a name and options in JSON."""
    name, options = json.loads(text)
    with untrusted_names():
        return make_game(name, **options)
