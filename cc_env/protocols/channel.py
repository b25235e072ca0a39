"""Lines to and from somebody else, in bounded memory and time: a pair of descriptors, a socket."""

import os
import select
import socket
import time
from collections import deque
from math import inf

from cc_env.errors import CcEnvError

LONGEST = 1 << 18  # characters of a line
ASIDE = 1 << 20  # bytes that may be written aside, such as to stderr
KEPT = 2000  # of them, the last, for messages
SLICE = 0.1  # seconds after which a wait looks whether the other side is still there
CHUNK = 1 << 16
_ENDED = "it has ended"
_TOO_LONG = f"a line of more than {LONGEST:,} characters"


class LineTooLong(CcEnvError):
    """Somebody writes a line without an end, or floods what nobody reads."""


class Channel:
    """Lines from `source` and to `sink`; what comes from `aside` is read, and its end kept."""

    def __init__(self, source: int, sink: int | None = None, aside: int | None = None) -> None:
        """Use these descriptors; that of `sink` must not block."""
        self._source, self._sink, self._aside = source, sink, aside
        self._lines = deque[bytes]()
        self._rest = b""  # of which the end has not come
        self._skips = False  # the rest of a line that was too long
        self._has_ended = False
        self._said_aside, self._counted_aside = b"", 0

    @property
    def said_aside(self) -> str:
        """Return the end of what came from `aside`."""
        return self._said_aside.decode(errors="replace").strip()

    def hear(self, until: float = inf) -> str:
        """Return the next line, without its end.

        Raises TimeoutError at the time `until` (of `time.perf_counter`), EOFError where no line
        comes any more, and LineTooLong, after which the line after it is next.
        """
        while (line := self._line()) is None:
            if self._has_ended:
                raise EOFError(_ENDED)
            self._wait(self._source, select.POLLIN, until)
            self._read()
        return line

    def say(self, line: str, until: float = inf) -> None:
        """Write a line; raise as `hear`, EOFError where nobody reads any more."""
        left = line.encode(errors="backslashreplace") + b"\n"
        while left and self._sink is not None:
            self._wait(self._sink, select.POLLOUT, until)
            try:
                left = left[os.write(self._sink, left) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise EOFError(_ENDED) from error

    def close(self) -> None:
        """Let go of the other side."""

    def kill(self) -> None:
        """Let go of the other side at once."""
        self.close()

    def check(self) -> None:
        """Raise EOFError where the other side is gone, though its descriptors are open."""

    def _read(self) -> None:
        """Take what can be read; at the end, that of the last line."""
        try:
            received = os.read(self._source, CHUNK)
        except BlockingIOError:
            return
        except OSError:  # a connection that was reset
            received = b""
        self._has_ended = not received
        *whole, self._rest = (self._rest + (received or b"\n" * bool(self._rest))).split(b"\n")
        self._lines.extend(whole)

    def _line(self) -> str | None:
        """Return the next whole line, None where there is none; raise LineTooLong."""
        while self._lines:
            line, skipped, self._skips = self._lines.popleft(), self._skips, False
            if skipped:
                continue
            if len(line) > LONGEST:
                raise LineTooLong(_TOO_LONG)
            return line.decode(errors="replace").rstrip("\r")
        if len(self._rest) > LONGEST:
            self._rest, skipped, self._skips = b"", self._skips, True
            if not skipped:
                raise LineTooLong(_TOO_LONG)
        return None

    def _wait(self, descriptor: int, event: int, until: float) -> None:
        """Wait until something can be read or written; read what comes aside."""
        poll = select.poll()
        poll.register(descriptor, event)
        while True:
            if self._aside is not None:
                poll.register(self._aside, select.POLLIN)
            left = min(SLICE, until - time.perf_counter())
            ready = dict(poll.poll(max(left, 0.0) * 1000))
            if self._aside in ready:
                poll.unregister(self._aside)
                self._read_aside()
            if time.perf_counter() >= until:
                raise TimeoutError("no answer in time")
            if descriptor in ready:
                return
            if not ready:
                self.check()

    def _read_aside(self) -> None:
        """Keep the end of what comes aside; raise LineTooLong where it is too much."""
        assert self._aside is not None
        received = os.read(self._aside, CHUNK)
        if not received:
            self._aside = None
        self._said_aside = (self._said_aside + received)[-KEPT:]
        self._counted_aside += len(received)
        if self._counted_aside > ASIDE:
            raise LineTooLong(f"more than {ASIDE:,} bytes on stderr")


class SocketChannel(Channel):
    """Lines over a connection."""

    def __init__(self, connection: socket.socket) -> None:
        """Use the connection, which is closed with the channel."""
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().__init__(connection.fileno(), connection.fileno())
        self._connection = connection

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
