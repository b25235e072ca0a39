"""Tasks by seed: from puzzles, tables of exact values, and random games.

The answers are certain: legal turns and boards follow from the rules, solutions of puzzles are
proven, and winners follow from tables or, without any, from puzzles.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from cc_env.accuracy.decisions import sample_uniform
from cc_env.core.game import Game
from cc_env.core.random_streams import check_seed
from cc_env.core.rules import Position
from cc_env.errors import check_integer, check_name
from cc_env.match.openings import random_opening
from cc_env.puzzles.puzzle import SETS, WIN, Puzzle, shipped_puzzles
from cc_env.tablebase.tablebase import Tablebase
from cc_env.tasks.task import BOARD, KINDS, LEGAL, PUZZLE, TEST, TRAIN, WINNER, Task
from cc_env.text.board import board_text
from cc_env.text.turns import legal_turn_texts

DEFAULT_COUNT = 200
TEST_SHARE = 0.2
MAX_KEY_SHARE = 0.15
# Random turns before a position.
MAX_RANDOM_TURNS = 60
# Legal turns of a task of the kind "legal".
MIN_LEGAL, MAX_LEGAL = 2, 60
# Positions per task that are tried.
_MAX_TRIES = 50
# Positions that are drawn from tables at a time.
_BATCH = 100


class _Question(NamedTuple):
    """A question about a position, with its key."""

    position: Position
    text: str
    key: tuple[str, ...]


def make_tasks(game: Game, kind: str, count: int = DEFAULT_COUNT, *, seed: int = 0) -> list[Task]:
    """Return `count` tasks of a kind, or fewer if the game has too few puzzles or positions.

    Their positions differ, also up to symmetry and exchange of the players. The split of a position
    is the same in all kinds. At most MAX_KEY_SHARE of the tasks have the same key. Raises
    UnknownOption for an unknown kind, BadOption for a count below 1 or an invalid seed.

    Examples:

        >>> import cc_env
        >>> from cc_env.tasks import make_tasks
        >>> task = make_tasks(cc_env.make_game("checkers"), "board", 1)[0]
        >>> task.question.startswith("What is the board after the turn")
        True
    """
    check_name("kind", kind, KINDS)
    check_integer("count", count, 1)
    check_seed(seed)
    questions = _QUESTIONS[kind](game, np.random.default_rng((seed, KINDS.index(kind))))
    tasks: dict[str, Task] = {}
    key_counts = Counter[tuple[str, ...]]()
    for question in filter(None, islice(questions, _MAX_TRIES * count)):
        text = canonical_text(game, question.position)
        if text not in tasks and key_counts[question.key] < max(1, MAX_KEY_SHARE * count):
            tasks[text] = Task(kind, game, *question, split_of(text, seed))
            key_counts[question.key] += 1
        if len(tasks) == count:
            break
    return list(tasks.values())


def canonical_text(game: Game, position: Position) -> str:
    """Return a text that is the same for symmetric positions, and after exchange of the players."""
    if "player" in position._fields:
        position = position._replace(player=np.uint64(0))
    images = (symmetry.position(position) for symmetry in game.symmetries)
    return min(map(game.to_text, (position, *images)))


def split_of(text: str, seed: int) -> str:
    """Return the split of a position with this canonical text."""
    digest = hashlib.sha256(f"{seed} {text}".encode()).digest()
    return TEST if int.from_bytes(digest[:4]) < TEST_SHARE * 2**32 else TRAIN


def _puzzle_questions(game: Game, rng: np.random.Generator) -> Iterator[_Question]:
    for puzzle in _shuffled_puzzles(game, rng):
        text = (
            f"{puzzle.describe_task(game).capitalize()}, whatever the other player replies. "
            "What is the first turn? Reply with it in a tag: <turn>TURN</turn>."
        )
        turns = [game.readable_turn_text(puzzle.position, turn) for turn in puzzle.solutions]
        yield _Question(puzzle.position, text, tuple(turns))


def _shuffled_puzzles(game: Game, rng: np.random.Generator) -> list[Puzzle]:
    puzzles = [puzzle for name in SETS for puzzle in shipped_puzzles(game, name)]
    return [puzzles[index] for index in rng.permutation(len(puzzles))]


def _legal_questions(game: Game, rng: np.random.Generator) -> Iterator[_Question | None]:
    """Yield questions about positions of random games, None for unsuitable ones."""
    text = "Which turns are legal? Reply with all of them in a tag: <answer>TURN; TURN; …</answer>."
    while True:
        position = random_opening(game, MAX_RANDOM_TURNS, rng)
        turns = tuple(dict.fromkeys(legal_turn_texts(game, position)))
        is_suitable = MIN_LEGAL <= len(turns) <= MAX_LEGAL
        yield _Question(position, text, turns) if is_suitable else None


def _board_questions(game: Game, rng: np.random.Generator) -> Iterator[_Question | None]:
    """Yield questions about positions of random games, None for unsuitable ones."""
    while True:
        position = random_opening(game, MAX_RANDOM_TURNS, rng)
        turns, seat = list(game.turns(position)), game.to_move(position)
        turn = turns[rng.integers(len(turns))]
        board = board_text(game, game.play_turn(position, turn), seat)
        text = (
            f"What is the board after the turn {game.readable_turn_text(position, turn)}? "
            "Reply with its lines, in the same form, in a tag: <answer>BOARD</answer>."
        )
        # A pass changes nothing.
        is_suitable = board != board_text(game, position, seat)
        yield _Question(position, text, (board,)) if is_suitable else None


def _winner_questions(game: Game, rng: np.random.Generator) -> Iterator[_Question]:
    text = (
        "Who wins if both play perfectly, and in how many turns of the winner? The winner wins as "
        "soon as possible, the loser loses as late as possible. Reply in a tag: "
        f"<answer>PLAYER NUMBER</answer>, where PLAYER is {' or '.join(game.players)}, or "
        "<answer>draw</answer>."
    )
    # With margins, best play is not the shortest one.
    has_tables = game.numbering is not None and game.max_margin == 1 and Tablebase(game).paths
    results = _table_results(game, rng) if has_tables else _puzzle_results(game, rng)
    return (_Question(position, text, (result,)) for position, result in results)


def _table_results(game: Game, rng: np.random.Generator) -> Iterator[tuple[Position, str]]:
    """Yield positions of tables, with the key."""
    tables = Tablebase(game)
    while True:
        for position in sample_uniform(tables, _BATCH, seed=int(rng.integers(2**31))):
            if rng.integers(2):
                # In the tables, the first player is to move.
                turns = list(game.turns(position))
                position = game.play_turn(position, turns[rng.integers(len(turns))])
            exact, mover = tables.get(position), game.to_move(position)
            if exact is None or not exact.actions:
                continue
            if exact.value:
                winner = game.players[mover if exact.value > 0 else 1 - mover]
                yield position, f"{winner} {(exact.turns + (exact.value > 0)) // 2}"
            else:
                yield position, "draw"


def _puzzle_results(game: Game, rng: np.random.Generator) -> Iterator[tuple[Position, str]]:
    """Yield positions of puzzles, or those after a solution, with the key."""
    for puzzle in _shuffled_puzzles(game, rng):
        if puzzle.task != WIN:
            continue
        winner, position = game.players[game.to_move(puzzle.position)], puzzle.position
        if puzzle.turns > 1 and rng.integers(2):
            position = game.play_turn(position, puzzle.solutions[0])
            yield position, f"{winner} {puzzle.turns - 1}"
        else:
            yield position, f"{winner} {puzzle.turns}"


_QUESTIONS: dict[str, Callable[[Game, np.random.Generator], Iterator[_Question | None]]] = {
    PUZZLE: _puzzle_questions,
    LEGAL: _legal_questions,
    BOARD: _board_questions,
    WINNER: _winner_questions,
}
