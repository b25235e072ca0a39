"""Line-based channels over file descriptors and sockets, bounded in memory and time."""

import os
import select
import socket
import time
from collections import deque
from math import inf

from cc_env.errors import CcEnvError

MAX_LINE_LENGTH = 1 << 18
MAX_STDERR_BYTES = 1 << 20
# Bytes at the end of stderr that are kept for error messages.
STDERR_TAIL_BYTES = 2000
# Interval at which a wait checks that the peer is alive.
CHECK_INTERVAL_SECONDS = 0.1
CHUNK_BYTES = 1 << 16
_ENDED = "the program has ended"
_TOO_LONG = f"a line of more than {MAX_LINE_LENGTH:,} characters"


class LineTooLong(CcEnvError):
    """The peer has written an overlong line or too much on stderr."""


class Channel:
    """Lines from descriptor `source` and to `sink`; the end of `stderr` is stored."""

    def __init__(self, source: int, sink: int | None = None, stderr: int | None = None) -> None:
        """Use these descriptors; `sink` must be non-blocking."""
        self._source, self._sink, self._stderr = source, sink, stderr
        self._lines = deque[bytes]()
        # An incomplete line.
        self._partial = b""
        # Whether the rest of an overlong line is being skipped.
        self._is_skipping = False
        self._has_ended = False
        self._stderr_tail = b""
        self._stderr_bytes = 0

    @property
    def stderr_tail(self) -> str:
        """The last characters of stderr."""
        return self._stderr_tail.decode(errors="replace").strip()

    def read_line(self, until: float = inf) -> str:
        """Return the next line without its newline.

        Raises TimeoutError at the time `until` (of `time.perf_counter`), EOFError at the end of
        input or if the peer is gone, and LineTooLong for an overlong line, which is skipped, or
        for more than MAX_STDERR_BYTES on stderr.
        """
        while (line := self._next_line()) is None:
            if self._has_ended:
                raise EOFError(_ENDED)
            self._wait(self._source, select.POLLIN, until)
            self._read()
        return line

    def write_line(self, line: str, until: float = inf) -> None:
        """Write a line; raise TimeoutError at `until`, EOFError if the peer has closed."""
        unsent = line.encode(errors="backslashreplace") + b"\n"
        while unsent and self._sink is not None:
            self._wait(self._sink, select.POLLOUT, until)
            try:
                unsent = unsent[os.write(self._sink, unsent) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise EOFError(_ENDED) from error

    def close(self) -> None:
        """Close the channel."""

    def kill(self) -> None:
        """Close the channel at once."""
        self.close()

    def check(self) -> None:
        """Raise EOFError if the peer is gone although its descriptors are open."""

    def _read(self) -> None:
        """Read available bytes into lines; at the end of input, complete the last line."""
        try:
            received = os.read(self._source, CHUNK_BYTES)
        except BlockingIOError:
            return
        # The connection was reset.
        except OSError:
            received = b""
        if not received:
            self._has_ended = True
            received = b"\n" if self._partial else b""
        *lines, self._partial = (self._partial + received).split(b"\n")
        self._lines.extend(lines)

    def _next_line(self) -> str | None:
        """Return the next complete line, None if there is none yet.

        Raises LineTooLong for an overlong line, whose rest is then skipped.
        """
        while self._lines:
            line = self._lines.popleft()
            if self._is_skipping:
                self._is_skipping = False
                continue
            if len(line) > MAX_LINE_LENGTH:
                raise LineTooLong(_TOO_LONG)
            return line.decode(errors="replace").rstrip("\r")
        if len(self._partial) > MAX_LINE_LENGTH:
            self._partial = b""
            if not self._is_skipping:
                self._is_skipping = True
                raise LineTooLong(_TOO_LONG)
        return None

    def _wait(self, descriptor: int, event: int, until: float) -> None:
        """Wait until the descriptor is ready; read stderr meanwhile."""
        poll = select.poll()
        poll.register(descriptor, event)
        while True:
            if self._stderr is not None:
                poll.register(self._stderr, select.POLLIN)
            remaining = min(CHECK_INTERVAL_SECONDS, until - time.perf_counter())
            ready = dict(poll.poll(max(remaining, 0.0) * 1000))
            if self._stderr in ready:
                poll.unregister(self._stderr)
                self._read_stderr()
            if time.perf_counter() >= until:
                is_write = event == select.POLLOUT
                raise TimeoutError("no input accepted in time" if is_write else "no reply in time")
            if descriptor in ready:
                return
            if not ready:
                self.check()

    def _read_stderr(self) -> None:
        """Read stderr and keep its end; raise LineTooLong above MAX_STDERR_BYTES."""
        assert self._stderr is not None
        received = os.read(self._stderr, CHUNK_BYTES)
        if not received:
            self._stderr = None
        self._stderr_tail = (self._stderr_tail + received)[-STDERR_TAIL_BYTES:]
        self._stderr_bytes += len(received)
        if self._stderr_bytes > MAX_STDERR_BYTES:
            raise LineTooLong(f"more than {MAX_STDERR_BYTES:,} bytes on stderr")


class SocketChannel(Channel):
    """Lines over a TCP connection."""

    def __init__(self, connection: socket.socket) -> None:
        """Take over the connection; it is closed with the channel."""
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().__init__(connection.fileno(), connection.fileno())
        self._connection = connection

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
