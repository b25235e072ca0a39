"""Messages of the Cannon tournament over a connection: one JSON object a send, nothing between.

A client reads at most 1024 bytes and takes them for one whole message, so two that arrive together
crash it. Whoever has not answered since the last message gets the next one after a pause.
"""

import socket
import time
from contextlib import suppress
from math import inf

from cc_env.errors import BadRecord
from cc_env.games.cannon import log

READ = 1024  # bytes, as the tournament's client reads
LONGEST = 4 * READ  # bytes of what is taken for one message
PAUSE = 0.05  # seconds
LINGER = 2.0  # seconds for the other side to read the last message


class Wire:
    """One end of a connection on which messages are sent."""

    def __init__(self, connection: socket.socket) -> None:
        """Use the connection, which is closed with this."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection = connection
        self._sent = -inf  # when the last message was, if nothing came since
        self._rest = ""

    def send(self, text: str, seconds: float = LINGER) -> None:
        """Send a message; nothing where nobody is there."""
        time.sleep(max(0.0, self._sent + PAUSE - time.perf_counter()))
        self._connection.settimeout(seconds)
        with suppress(OSError):
            self._connection.sendall(text.encode())
        self._sent = time.perf_counter()

    def receive(self, seconds: float) -> tuple[dict[str, str], str]:
        """Return a message, and as it came.

        Raises TimeoutError after so many seconds, EOFError where the connection has ended, and
        BadRecord for what is not a message.
        """
        until, text = time.perf_counter() + seconds, self._rest
        while not _is_whole(text):
            if len(text) > LONGEST:
                raise BadRecord(f"more than {LONGEST:,} bytes without the end of a message")
            text += self._read(until)
        self._sent, end = -inf, _end(text)
        self._rest, text = text[end:].lstrip(), text[:end]
        return log.parse_message(text), text

    def _read(self, until: float) -> str:
        left = until - time.perf_counter()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        try:
            received = self._connection.recv(READ)
        except TimeoutError:
            raise
        except OSError:
            received = b""
        if not received:
            raise EOFError
        return received.decode("latin-1")  # of which messages use ASCII

    def close(self) -> None:
        """Close the connection, once the other side has read what was sent."""
        until = time.perf_counter() + LINGER
        with suppress(OSError, TimeoutError, EOFError):
            self._connection.shutdown(socket.SHUT_WR)
            while True:
                self._read(until)
        self._connection.close()


def _end(text: str) -> int:
    """Return where the object ends with which the text begins; 0 where it does not end."""
    depth, is_quoted, is_escaped = 0, False, False
    for place, letter in enumerate(text):
        if is_escaped:
            is_escaped = False
        elif is_quoted:
            is_escaped, is_quoted = letter == "\\", letter != '"'
        elif letter == '"':
            is_quoted = True
        else:
            depth += (letter in "{[") - (letter in "}]")
            if depth <= 0 and not letter.isspace():
                return place + 1
    return 0


def _is_whole(text: str) -> bool:
    return _end(text) > 0
