"""An attempt to solve a puzzle, turn by turn, against the defender's best replies."""

from dataclasses import dataclass

from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import BadOption, BadRecord, IllegalAction, format_count
from cc_env.puzzles.judge import Judge
from cc_env.puzzles.proof import is_goal
from cc_env.puzzles.puzzle import Puzzle


@dataclass(frozen=True)
class Verdict:
    """The judgment of a turn."""

    is_correct: bool
    # Whether the goal is reached.
    is_solved: bool
    # The defender's reply: to a correct turn the one that holds out longest, to a wrong one that
    # which refutes it. None if the game or the puzzle is over.
    reply: Turn | None


class Attempt:
    """An attempt: correct turns are played on the board, with the reply; wrong ones are not."""

    def __init__(self, game: Game, puzzle: Puzzle) -> None:
        """Begin at the position of a puzzle with a proof; raise BadOption for another one."""
        if not puzzle.proof:
            raise BadOption("the puzzle has no proof; expected: one of the set 'people'")
        self.game, self.puzzle, self.position = game, puzzle, puzzle.position
        self.turns_left = puzzle.turns
        self.mistakes = 0
        self.is_solved = False
        self._judge = Judge(game, puzzle)

    def play(self, turn: Turn) -> Verdict:
        """Judge a turn, and play it with the defender's reply if it is correct.

        Every turn that forces the goal within the puzzle's number of own turns is correct. Raises
        IllegalAction unless the actions are one legal turn, BadOption if the puzzle is solved.
        """
        if self.is_solved:
            raise BadOption("the puzzle is solved")
        after = self._play_single_turn(turn)
        needed = self._judge.turns_to_goal(after, self.turns_left - 1)
        if needed is None:
            self.mistakes += 1
            return Verdict(False, False, self._reply(after))
        self.position, self.turns_left = after, self.turns_left - 1
        reply = self._reply(after)
        if reply is not None:
            self.position = self.game.play_turn(after, reply)
        self.is_solved = is_goal(self.game, self.puzzle, self.position)
        return Verdict(True, self.is_solved, reply)

    def _play_single_turn(self, turn: Turn) -> Position:
        """Return the position after a turn; raise IllegalAction unless it is one legal turn."""
        ends = list[bool]()
        position = self.position
        for action in turn:
            position = self.game.apply(position, action)
            ends.append(not self.game.mid_turn(position))
        if sum(ends) != 1 or not ends[-1]:
            text = self.game.to_text(self.position)
            raise IllegalAction(f"{turn} is not one turn in '{text}'; expected: all its actions")
        return position

    def _reply(self, position: Position) -> Turn | None:
        """Return the defender's best reply; None if the game or the puzzle is over."""
        is_over = is_goal(self.game, self.puzzle, position)
        if is_over or not len(self.game.legal_actions(position)):
            return None
        return self._judge.best_reply(position, self.turns_left)

    def solutions(self) -> list[Turn]:
        """Return the correct turns, those that need fewest turns first.

        Raises BadRecord if there are none, because the puzzle is wrong.
        """
        needed = self._judge.winning_turns(self.position, self.turns_left)
        if not needed:
            turns = format_count(self.turns_left, "turn")
            raise BadRecord(f"nothing forces the goal within {turns}: the puzzle is wrong")
        return sorted(needed, key=lambda turn: needed[turn])

    def hint(self) -> str:
        """Return a hint: the number of turns left, and the piece that moves first.

        Raises as `solutions`.
        """
        best = self.solutions()[0]
        path, _ = self.game.track(self.position, best)
        place = f"; begin at {self.game.cell_text(path[0], 'readable')}" if path else ""
        return f"{format_count(self.turns_left, 'turn')} left{place}"
