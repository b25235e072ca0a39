"""Proofs of puzzles: a turn of the attacker for every position that the defender can reach.

A proof is a sequence of numbers. The first one is the index of the attacker's turn, among
`game.turns`, in the puzzle's position. After it come the numbers of the positions after each reply
of the defender, in the order of `game.turns`, likewise with all that follows. A position that was
reached before has no number again. Every line ends with the goal, within the puzzle's number of own
turns.

`check_proof` verifies a proof by the rules alone; `make_proof` finds one by search.
"""

from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Position
from cc_env.errors import BadRecord, format_count
from cc_env.puzzles.puzzle import CAPTURE, Puzzle


def check_proof(game: Game, puzzle: Puzzle) -> None:
    """Raise BadRecord unless the proof is valid, and begins with one of the solutions."""
    if not puzzle.proof:
        raise BadRecord("the proof is missing")
    checker = _Checker(game, puzzle)
    checker.visit(puzzle.position, puzzle.turns)
    checker.finish()


class _Checker:
    """A check of a proof, without any search."""

    def __init__(self, game: Game, puzzle: Puzzle) -> None:
        self._game, self._puzzle = game, puzzle
        self._attacker = game.to_move(puzzle.position)
        self._numbers = iter(puzzle.proof)
        # Own turns to the goal, by position of the attacker.
        self._needed: dict[Position, int] = {}

    def visit(self, position: Position, limit: int) -> int:
        """Return the own turns that the proof needs from a position of the attacker.

        Raises BadRecord if they exceed `limit`, or the proof is invalid.
        """
        if not limit:
            raise self._error(
                position, f"takes more than {format_count(self._puzzle.turns, 'turn')}"
            )
        if position not in self._needed:
            self._needed[position] = self._follow(position, limit)
        if self._needed[position] > limit:
            raise self._error(
                position, f"takes more than {format_count(self._puzzle.turns, 'turn')}"
            )
        return self._needed[position]

    def _follow(self, position: Position, limit: int) -> int:
        game = self._game
        number = next(self._numbers, None)
        if number is None:
            raise self._error(position, "has no turn")
        turns = list(game.finished_turns(position))
        if not 0 <= number < len(turns):
            raise self._error(position, f"has the turn {number} of {len(turns)}")
        turn, after = turns[number]
        if position == self._puzzle.position and turn not in self._puzzle.solutions:
            raise self._error(position, "begins with another turn than the solutions")
        if is_goal(game, self._puzzle, after):
            return 1
        needed = 0
        for _, answered in game.finished_turns(self._check_ongoing(after)):
            if not is_goal(game, self._puzzle, answered):
                needed = max(needed, self.visit(self._check_ongoing(answered), limit - 1))
        return 1 + needed

    def _check_ongoing(self, position: Position) -> Position:
        if self._game.outcome(position) != ONGOING:
            raise self._error(position, "ends without the goal")
        return position

    def finish(self) -> None:
        """Raise BadRecord if numbers are left."""
        if rest := len(list(self._numbers)):
            raise BadRecord(f"the proof has {format_count(rest, 'number')} too many")

    def _error(self, position: Position, reason: str) -> BadRecord:
        return BadRecord(f"the proof {reason} in '{self._game.to_text(position)}'")


def is_goal(game: Game, puzzle: Puzzle, position: Position) -> bool:
    """Return whether the attacker has reached the goal in a position between turns."""
    attacker = game.to_move(puzzle.position)
    if game.outcome(position) != ONGOING:
        return game.outcome(position) == attacker
    if puzzle.task != CAPTURE or game.to_move(position) == attacker:
        return False
    before, now = (_count_pieces(game, p) for p in (puzzle.position, position))
    return now[1 - attacker] < before[1 - attacker] and now[attacker] >= before[attacker]


def _count_pieces(game: Game, position: Position) -> tuple[int, int]:
    """Return the number of pieces of both players on the board."""
    owners = [game.owner(letter) for letter in game.pieces(position).values()]
    return owners.count(0), owners.count(1)
