"""UGI, the driver's side: plays with a program that is a UGI engine."""

import math
from collections.abc import Iterator

from cc_env.core.game import Game, Turn
from cc_env.match.referee import Clock
from cc_env.protocols.channel import Channel
from cc_env.protocols.program_protocol import MAX_TURN_LENGTH, GameHistory, clean_turn_text
from cc_env.protocols.ugi import game_words, position_words, split_first

MAX_NAME_LENGTH = 80
# Programs get a share of their time, less a reserve, to allow for communication.
_TIME_SHARE = 0.95
_RESERVE_SECONDS = 0.02


class UGIDriver:
    """The protocol UGI, as documented in `cc_env.play.ugi_engine`.

    The first `bestmove` after `go` is the turn; `info` lines and lines before `go` are dropped.
    """

    farewell = "quit"
    # Name that the program reports.
    name = ""
    # The error that the program reported by `info string error …` since its last turn.
    reported_error = ""

    def begin(self, channel: Channel, game: Game, until: float) -> None:
        """Start a game: read the program's name, select the game, and wait for readyok."""
        channel.write_line("ugi", until)
        for word, rest in self._read_lines(channel, until):
            if word == "ugiok":
                break
            field, name = split_first(rest)
            if (word, field) == ("id", "name"):
                self.name = name[:MAX_NAME_LENGTH]
        for line in (f"setgame {game_words(game)}", "uginewgame"):
            channel.write_line(line, until)
        self._synchronize(channel, until)

    def request_turn(
        self, channel: Channel, history: GameHistory, clock: Clock, until: float
    ) -> Turn:
        """Send the position and the time limits; return the turn of the reply."""
        game = history.game
        assert history.start is not None
        position = position_words(game, history.start, history.turns)
        channel.write_line(f"position {position}", until)
        self._synchronize(channel, until)
        channel.write_line(f"go {_go_limits(clock)}", until)
        words = self._await_line("bestmove", channel, until).split()
        end = words.index("ponder") if "ponder" in words else len(words)
        turn = game.parse_turn(history.position, clean_turn_text(" ".join(words[:end])))
        self.reported_error = ""
        return turn

    def _synchronize(self, channel: Channel, until: float) -> None:
        """Wait until the program has executed all lines; drop its output, such as other turns."""
        channel.write_line("isready", until)
        self._await_line("readyok", channel, until)

    def _await_line(self, word: str, channel: Channel, until: float) -> str:
        """Return the rest of the next line that begins with `word`."""
        return next(rest for first, rest in self._read_lines(channel, until) if first == word)

    def _read_lines(self, channel: Channel, until: float) -> Iterator[tuple[str, str]]:
        """Yield lines as (first word, rest); store errors that the program reports."""
        while True:
            first, rest = split_first(channel.read_line(until))
            if (first, *rest.split()[:2]) == ("info", "string", "error"):
                self.reported_error = " ".join(rest.split()[2:])[:MAX_TURN_LENGTH]
            yield first, rest


def _go_limits(clock: Clock) -> str:
    """Return the limits of `go`; both players' times are the program's own."""
    words = []
    if clock.turn < math.inf:
        words += ["movetime", _safe_milliseconds(clock.turn)]
    if clock.game < math.inf:
        remaining = _safe_milliseconds(clock.game)
        words += ["p1time", remaining, "p2time", remaining]
    return " ".join(words)


def _safe_milliseconds(seconds: float) -> str:
    """Return a time less the reserve for communication, in milliseconds, at least 1."""
    return str(int(1000 * max(_TIME_SHARE * seconds - _RESERVE_SECONDS, 0.001)))
