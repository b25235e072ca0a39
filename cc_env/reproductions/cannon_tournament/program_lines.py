"""Line protocol of the Cannon tournament's player programs, parsed by `cc_env.games.cannon.log`."""

from cc_env.core.game import Game, Turn
from cc_env.errors import BadOption, Forfeit
from cc_env.games.cannon import log
from cc_env.match.referee import Clock
from cc_env.protocols.channel import Channel
from cc_env.protocols.program_protocol import GameHistory, clean_turn_text

# Default time of a program for a game.
GAME_SECONDS = 150.0


class CannonProgramProtocol:
    """The lines between a tournament client and its player program.

    The protocol has no positions: games begin in the initial one.
    """

    farewell = ""
    reported_error = ""

    def __init__(self, seconds: float) -> None:
        """Use `seconds` as the program's time for the game, which the opening line announces."""
        self._seconds, self._has_started = seconds, False

    def begin(self, channel: Channel, game: Game, until: float) -> None:
        """Do nothing: the first line is sent with the first request."""

    def request_turn(
        self, channel: Channel, history: GameHistory, clock: Clock, until: float
    ) -> Turn:
        """Send the opponent's last turn, or first the opening line; return the program's reply.

        Raises Forfeit if the game did not begin in the initial position.
        """
        game, position = history.game, history.position
        if history.start != game.initial:
            text = game.to_text(position)
            reason = f"the game begins in '{text}'; expected: the initial position"
            raise Forfeit("error", reason)
        if not self._has_started:
            channel.write_line(log.opening(game, game.to_move(position), self._seconds), until)
            self._has_started = True
        for turn in history.turns[-1:]:
            channel.write_line(turn, until)
        return log.parse_command(game, position, clean_turn_text(channel.read_line(until)))


def check_game(game: Game) -> None:
    """Raise BadOption unless the game is Cannon."""
    if game.name != "cannon":
        raise BadOption(f"protocol='cannon' with the game {game.name!r}; expected: 'cannon'")
