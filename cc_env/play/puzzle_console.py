"""Puzzles in the terminal: one after the other, with hints and solutions."""

from collections.abc import Callable, Sequence

from rich.text import Text

from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import CcEnvError, IllegalAction, format_count, quote
from cc_env.output import Terminal
from cc_env.play import reasons
from cc_env.play.move_input import parse_typed_turn
from cc_env.puzzles.attempt import Attempt
from cc_env.puzzles.puzzle import WIN, Puzzle
from cc_env.rendering.picture import draw
from cc_env.rendering.text import to_ansi
from cc_env.text.turns import refusal

_HELP = """a turn     play it; every turn that is proven to reach the goal is correct
hint       show the number of turns left, and the piece that moves first
solution   show all correct turns
next       go on to the next puzzle
quit       end"""


class PuzzleConsole:
    """Front end of a sequence of puzzles of one game."""

    def __init__(
        self,
        game: Game,
        puzzles: Sequence[Puzzle],
        terminal: Terminal,
        read_line: Callable[[str], str],
    ) -> None:
        """Use `read_line(prompt)` for input; it raises EOFError at the end."""
        self._game, self._puzzles = game, puzzles
        self._terminal, self._read_line = terminal, read_line
        self._print = terminal.print
        # Puzzles solved without a mistake, a hint or the solution, and all that were shown.
        self._num_solved = self._num_shown = 0

    def run(self) -> None:
        """Show the puzzles until the input ends or a person quits."""
        self._print("type help for the commands")
        for puzzle in self._puzzles:
            if not self._solve(puzzle):
                break
        total = format_count(self._num_shown, "puzzle")
        self._print(f"solved at the first try: {self._num_solved} of {total}")

    def _solve(self, puzzle: Puzzle) -> bool:
        """Show a puzzle until it is solved or skipped; return whether to go on."""
        attempt, has_help = Attempt(self._game, puzzle), False
        self._num_shown += 1
        self._print(f"\npuzzle {puzzle.number}: {reasons.describe_task(self._game, puzzle)}")
        self._print_board(attempt.position)
        while not attempt.is_solved:
            try:
                line = self._read_line("your turn: ").strip()
            except EOFError:
                return False
            word = line.lower()
            if word in ("quit", "exit"):
                return False
            if word == "next":
                return True
            has_help |= word in ("hint", "solution")
            try:
                self._execute(attempt, line)
            except CcEnvError as error:
                self._print(f"error: {error}")
        self._num_solved += not (has_help or attempt.mistakes)
        themes = [reasons.describe_theme(self._game, theme) for theme in puzzle.themes]
        self._print(f"solved{'; ' if themes else ''}{', '.join(themes)}")
        return True

    def _execute(self, attempt: Attempt, line: str) -> None:
        """Execute a command or judge a turn."""
        if line.lower() == "help":
            self._print(_HELP)
        elif line.lower() == "hint":
            self._print(attempt.hint())
        elif line.lower() == "solution":
            texts = (self._text(attempt.position, turn) for turn in attempt.solutions())
            self._print(f"correct: {' or '.join(texts)}")
        elif line:
            try:
                turn = parse_typed_turn(self._game, attempt.position, line)
            except IllegalAction:
                reason = f"{quote(line)} is not legal"
                raise refusal(self._game, attempt.position, reason) from None
            self._judge(attempt, turn)

    def _judge(self, attempt: Attempt, turn: Turn) -> None:
        """Judge a turn and print the verdict with the defender's reply."""
        before = attempt.position
        verdict = attempt.play(turn)
        after = self._game.play_turn(before, turn)
        reply = "" if verdict.reply is None else f"; reply: {self._text(after, verdict.reply)}"
        if not verdict.is_correct:
            goal = "the win" if attempt.puzzle.task == WIN else "the capture"
            self._print(f"{self._text(before, turn)} does not force {goal}{reply}; try again")
            return
        self._print(f"{self._text(before, turn)} is correct{reply}")
        self._print_board(
            attempt.position,
            (before, turn) if verdict.reply is None else (after, verdict.reply),
        )

    def _text(self, position: Position, turn: Turn) -> str:
        return self._game.readable_turn_text(position, turn).strip()

    def _print_board(self, position: Position, last: tuple[Position, Turn] | None = None) -> None:
        self._print(Text.from_ansi(to_ansi(draw(self._game, position, last=last))))
