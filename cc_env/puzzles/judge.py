"""The judge of a puzzle: which turns still force the goal, and the defender's best reply."""

from functools import lru_cache

from cc_env.core.game import Game, Turn
from cc_env.core.rules import ONGOING, Position
from cc_env.errors import BadRecord, format_list
from cc_env.puzzles.proof import check_proof, is_goal
from cc_env.puzzles.puzzle import CAPTURE, WIN, Puzzle
from cc_env.search.forced import DEFAULT_NODES, CaptureGoal, ForcedSearch, Goal, WinGoal


def check_puzzle(game: Game, puzzle: Puzzle) -> None:
    """Raise BadRecord unless the proof, the solutions and the number of turns are correct.

    Raises SearchLimit if the search takes too many positions.
    """
    check_proof(game, puzzle)
    judge = Judge(game, puzzle)
    if judge.turns_to_goal(puzzle.position, puzzle.turns - 1) is not None:
        raise BadRecord(f"turns={puzzle.turns}: fewer suffice")
    solutions = judge.winning_turns(puzzle.position, puzzle.turns)
    if set(solutions) != set(puzzle.solutions):
        texts = format_list(game.turn_text(puzzle.position, turn) for turn in solutions)
        raise BadRecord(f"the solutions are: {texts}")


class Judge:
    """Answers by a search for the forced goal."""

    def __init__(self, game: Game, puzzle: Puzzle, *, nodes: int = DEFAULT_NODES) -> None:
        """Limit each search to a number of positions."""
        self.game, self.puzzle = game, puzzle
        self._attacker = game.to_move(puzzle.position)
        self._search = ForcedSearch(game, goal_of(game, puzzle), nodes=nodes)
        self.turns_to_goal = lru_cache(maxsize=None)(self._turns_to_goal)

    def _turns_to_goal(self, position: Position, limit: int) -> int | None:
        """Return the own turns to the goal from a position between turns; None beyond `limit`.

        0 if the goal is reached. Raises SearchLimit.
        """
        if is_goal(self.game, self.puzzle, position):
            return 0
        if self.game.outcome(position) != ONGOING:
            return None
        return self._search.turns_to_goal(position, self._attacker, limit)

    def winning_turns(self, position: Position, limit: int) -> dict[Turn, int]:
        """Return the attacker's turns that force the goal within `limit` own turns.

        The values are the own turns that each needs, itself included.
        """
        needed = {}
        for turn, after in self.game.finished_turns(position):
            rest = self.turns_to_goal(after, limit - 1)
            if rest is not None:
                needed[turn] = rest + 1
        return needed

    def best_reply(self, position: Position, limit: int) -> Turn:
        """Return the defender's turn that holds out longest, then leaves fewest winning turns."""

        def resistance(turn: Turn) -> tuple[int, int]:
            after = self.game.play_turn(position, turn)
            needed = self.turns_to_goal(after, limit)
            if needed is None:
                # The attacker has erred: this reply escapes.
                return limit + 1, 0
            return needed, -len(self.winning_turns(after, needed)) if needed else 0

        return max(self.game.turns(position), key=resistance)

    def make_proof(self) -> tuple[int, ...]:
        """Return a proof of the puzzle: the attacker plays the turns that need fewest turns."""
        numbers: list[int] = []
        visited: set[Position] = set()

        def visit(position: Position, limit: int) -> None:
            if position in visited:
                return
            visited.add(position)
            best, needed = self._best_turn(position, limit)
            numbers.append(list(self.game.turns(position)).index(best))
            after = self.game.play_turn(position, best)
            if is_goal(self.game, self.puzzle, after):
                return
            for _, answered in self.game.finished_turns(after):
                if not is_goal(self.game, self.puzzle, answered):
                    visit(answered, needed - 1)

        visit(self.puzzle.position, self.puzzle.turns)
        return tuple(numbers)

    def _best_turn(self, position: Position, limit: int) -> tuple[Turn, int]:
        """Return the turn that needs fewest own turns, then leaves fewest replies, and its need."""
        needed = self.winning_turns(position, limit)
        best = min(needed, key=lambda turn: (needed[turn], self._num_replies(position, turn)))
        return best, needed[best]

    def _num_replies(self, position: Position, turn: Turn) -> int:
        after = self.game.play_turn(position, turn)
        if self.game.outcome(after) != ONGOING:
            return 0
        return sum(1 for _ in self.game.turns(after))

    def main_line(self) -> list[Turn]:
        """Return the turns of both sides with best play: a shortest solution, longest defense."""
        position, limit, line = self.puzzle.position, self.puzzle.turns, list[Turn]()
        while True:
            best, needed = self._best_turn(position, limit)
            line.append(best)
            position, limit = self.game.play_turn(position, best), needed - 1
            if is_goal(self.game, self.puzzle, position):
                return line
            reply = self.best_reply(position, limit)
            line.append(reply)
            position = self.game.play_turn(position, reply)
            if is_goal(self.game, self.puzzle, position):
                return line


def goal_of(game: Game, puzzle: Puzzle) -> Goal:
    """Return the goal of a puzzle's task."""
    if puzzle.task == WIN:
        return WinGoal()
    assert puzzle.task == CAPTURE
    mover = game.to_move(puzzle.position)
    owners = [game.owner(letter) for letter in game.pieces(puzzle.position).values()]
    return CaptureGoal(owners.count(mover), owners.count(1 - mover))
