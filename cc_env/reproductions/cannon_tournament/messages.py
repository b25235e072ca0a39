"""Messages of the Cannon tournament: one JSON object per `send`, without separators.

A client reads at most 1024 bytes and parses them as one message; two messages that arrive together
crash it. So a message is delayed if the client has not replied to the previous one.
"""

import socket
import time
from contextlib import suppress
from math import inf

from cc_env.errors import BadRecord
from cc_env.games.cannon import log

# Bytes that the tournament's client reads at once.
READ_BYTES = 1024
MAX_MESSAGE_LENGTH = 4 * READ_BYTES
# Delay between messages without a reply.
PAUSE_SECONDS = 0.05
# Time for the peer to read the last message.
LINGER_SECONDS = 2.0


class MessageSocket:
    """A connection on which messages are sent and received."""

    def __init__(self, connection: socket.socket) -> None:
        """Take over the connection; `close` closes it."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection = connection
        # Time of the last message sent without a reply.
        self._sent_at = -inf
        # Received text after the last complete message.
        self._pending = ""

    def send(self, text: str, seconds: float = LINGER_SECONDS) -> None:
        """Send a message; errors of a closed connection are ignored."""
        time.sleep(max(0.0, self._sent_at + PAUSE_SECONDS - time.perf_counter()))
        self._connection.settimeout(seconds)
        with suppress(OSError):
            self._connection.sendall(text.encode())
        self._sent_at = time.perf_counter()

    def receive(self, seconds: float) -> tuple[dict[str, str], str]:
        """Return the next message, parsed and as text.

        Raises TimeoutError after `seconds`, EOFError if the connection is closed, BadRecord for an
        invalid message.
        """
        until = time.perf_counter() + seconds
        text = self._pending
        while not _message_end(text):
            if len(text) > MAX_MESSAGE_LENGTH:
                size = f"incomplete message of {len(text):,} bytes"
                raise BadRecord(f"{size}; expected: at most {MAX_MESSAGE_LENGTH:,}")
            text += self._read(until)
        self._sent_at = -inf
        end = _message_end(text)
        self._pending = text[end:].lstrip()
        return log.parse_message(text[:end]), text[:end]

    def _read(self, until: float) -> str:
        """Return received text; raise TimeoutError at `until`, EOFError at the end."""
        remaining = until - time.perf_counter()
        if remaining <= 0:
            raise TimeoutError
        self._connection.settimeout(remaining)
        try:
            received = self._connection.recv(READ_BYTES)
        except TimeoutError:
            raise
        except OSError:
            received = b""
        if not received:
            raise EOFError("the connection has ended")
        return received.decode("latin-1")

    def close(self) -> None:
        """Close the connection after the peer has read everything sent."""
        until = time.perf_counter() + LINGER_SECONDS
        with suppress(OSError, TimeoutError, EOFError):
            self._connection.shutdown(socket.SHUT_WR)
            while True:
                self._read(until)
        self._connection.close()


def _message_end(text: str) -> int:
    """Return the length of the JSON object at the start of a text, 0 if it is incomplete."""
    depth, is_quoted, is_escaped = 0, False, False
    for index, letter in enumerate(text):
        if is_escaped:
            is_escaped = False
        elif is_quoted:
            is_escaped, is_quoted = letter == "\\", letter != '"'
        elif letter == '"':
            is_quoted = True
        else:
            depth += (letter in "{[") - (letter in "}]")
            if depth <= 0 and not letter.isspace():
                return index + 1
    return 0
