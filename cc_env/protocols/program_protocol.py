"""Common parts of the protocols of external programs: the history of a game, texts of turns.

A protocol has four members:

farewell
    The line that ends the program, "" if there is none.
reported_error
    The error that the program reported since its last turn, "" if there is none.
begin(channel, game, until)
    Starts a game.
request_turn(channel, history, clock, until)
    Returns the next turn of the program.

Both methods raise TimeoutError at the time `until` (of `time.perf_counter`), EOFError if the
program has ended, LineTooLong for an overlong line, IllegalAction for an illegal turn, and Forfeit
for another fault of the program.
"""

from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import IllegalAction

MAX_TURN_LENGTH = 1000


class GameHistory:
    """The turns of a game, reconstructed from the positions in which a player has to decide."""

    def __init__(self, game: Game) -> None:
        self.game = game
        # None until the first decision.
        self.start: Position | None = None
        self.position: Position = game.initial
        self.turns: list[str] = []

    def add_opponent_turn(self, position: Position) -> None:
        """Add the opponent's turn that led to `position`.

        If no turn leads there, the history restarts with this position.
        """
        # The first player may have moved from the initial position.
        if self.start is None and self.game.to_move(position) != self.game.to_move(self.position):
            self.start = self.game.initial
        if self.start is not None and position != self.position:
            turn = next(self.game.turns_between(self.position, position), None)
            if turn is None:
                self.start = None
            else:
                self.turns.append(self.game.turn_text(self.position, turn))
        if self.start is None:
            self.start, self.turns = position, []
        self.position = position

    def add_own_turn(self, turn: Turn) -> None:
        """Add a turn of the player itself."""
        self.turns.append(self.game.turn_text(self.position, turn))
        self.position = self.game.play_turn(self.position, turn)


def clean_turn_text(text: str) -> str:
    """Return the notation of a turn, stripped; raise IllegalAction if it is overlong."""
    text = text.strip()
    if len(text) > MAX_TURN_LENGTH:
        size = f"'{text[:40]}…' has {len(text):,} characters"
        raise IllegalAction(f"{size}; expected: at most {MAX_TURN_LENGTH:,}")
    return text
