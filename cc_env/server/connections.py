"""Connections of untrusted clients: how many there are, how long they take, how much they cost.

uvicorn parses HTTP and WebSocket, and closes idle connections between requests. What it leaves open
is here: the number of connections, of all clients and of one address; the time until a request is
complete; the share of the event loop that a connection gets; what its log may grow.
"""

import asyncio
import logging
import socket
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from cc_env.server.limits import Rates, ServerLimits, TooManyRequestsError
from cc_env.server.requests import network_of

LOOP_SHARE = 0.1  # of the event loop's time, for what one connection sends
SLICE_BYTES = 2048  # parsed at once
PARSING_SECONDS = 0.001  # after which others get their turn
MAX_PENDING_BYTES = 2**20  # received and not parsed
RESERVED_FILES = 96  # that the process needs for other things than connections
BACKLOG = 64  # connections accepted at once
PROXY = "127.0.0.1"  # whose X-Forwarded-For is trusted
LOG_SECONDS = 60.0  # between two lines that say the same


def pause_after(seconds: float) -> float:
    """Return how long a connection has to wait that took this time of the event loop."""
    return seconds * (1 / LOOP_SHARE - 1)


def max_connections(limits: ServerLimits) -> int:
    """Return how many connections there may be, after raising the process's limit of files."""
    try:
        import resource
    except ImportError:  # Windows
        return limits.connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections + RESERVED_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, soft - RESERVED_FILES)
    return limits.connections


def end_stalled_writes(listening: socket.socket, limits: ServerLimits) -> None:
    """Let the system end connections whose client stops to read, where it can."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        milliseconds = int(1000 * limits.stalled_seconds)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)


class SiteConfig(uvicorn.Config):
    """The configuration of a server, with its limits."""

    def __init__(self, app: Any, limits: ServerLimits, **options: Any) -> None:
        """Configure uvicorn with the limits that it has, and with the protocols of this module."""
        super().__init__(
            app,
            http=BoundedHTTP,
            ws=BoundedWebSocket,
            ws_max_size=4 * limits.max_message_bytes,
            ws_per_message_deflate=False,  # of a short message it saves little, and takes a while
            h11_max_incomplete_event_size=4 * limits.max_message_bytes,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=1,
            backlog=BACKLOG,
            log_level="warning",
            forwarded_allow_ips=PROXY,
            **options,
        )
        self.limits, self.max_connections = limits, max_connections(limits)
        self.rates = Rates(limits)
        self.open_connections = Counter[str]()  # by address


class _Paced(asyncio.Protocol):
    """Parses what comes slice by slice; slices that take long delay the next ones."""

    config: Any
    client: tuple[str, int] | None
    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop
    _pending = b""
    _feeding: asyncio.TimerHandle | None = None

    def is_reading_paused(self) -> bool:
        """Return whether uvicorn has paused reading."""
        raise NotImplementedError

    def has_handed_over(self) -> bool:
        """Return whether another protocol has the connection now."""
        return False

    def after_parsing(self) -> None:
        """Take note of what was parsed."""

    @property
    def address(self) -> str:
        """Return the address that limits apply to, "" if it is unknown."""
        return network_of(self.client[0]) if self.client else ""

    def connection_lost(self, exc: Exception | None) -> None:
        """End; the protocol that has the connection then is the only one that is called."""
        super().connection_lost(exc)
        self.config.open_connections[self.address] -= 1
        if not self.config.open_connections[self.address]:
            del self.config.open_connections[self.address]

    def data_received(self, data: bytes) -> None:
        """Parse some data now, and the rest later."""
        self._pending += data
        if len(self._pending) > MAX_PENDING_BYTES:
            self.transport.abort()
        elif self._feeding is None:
            self._feed()
        else:
            self.transport.pause_reading()

    def _feed(self) -> None:
        was_held, self._feeding = self._feeding is not None, None
        began = time.perf_counter()
        while True:
            data, self._pending = self._pending[:SLICE_BYTES], self._pending[SLICE_BYTES:]
            super().data_received(data)
            self.after_parsing()
            if self.transport.is_closing() or self.has_handed_over():
                return
            if not self._pending or time.perf_counter() - began > PARSING_SECONDS:
                break
        if self._pending:
            self.transport.pause_reading()
            pause = pause_after(time.perf_counter() - began)
            self._feeding = self.loop.call_later(pause, self._feed)
        elif was_held and not self.is_reading_paused():
            self.transport.resume_reading()


class BoundedWebSocket(_Paced, WebSocketsSansIOProtocol):
    """uvicorn's WebSocket, which reads nothing from a client that does not read its answers."""

    def is_reading_paused(self) -> bool:
        """As `_Paced.is_reading_paused`."""
        return self.read_paused or not self.writable.is_set()

    def pause_writing(self) -> None:
        """Read nothing while the buffer of what is written is full."""
        super().pause_writing()
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        """Read again."""
        super().resume_writing()
        if not self.is_reading_paused():
            self.transport.resume_reading()


class BoundedHTTP(_Paced, H11Protocol):
    """uvicorn's HTTP, with a time limit for a request, and limits of connections.

    Where there are too many, the connection that has waited longest for a request is closed.
    """

    config: SiteConfig
    _deadline: asyncio.TimerHandle | None = None

    def is_reading_paused(self) -> bool:
        """As `_Paced.is_reading_paused`."""
        return self.flow.read_paused

    def has_handed_over(self) -> bool:
        """As `_Paced.has_handed_over`."""
        return self.transport.get_protocol() is not self

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, or end at once where there are too many connections."""
        super().connection_made(transport)
        self.config.open_connections[self.address] += 1
        if self.address != PROXY and self._exceeds_limits():
            transport.abort()
        elif len(self.connections) > self.config.max_connections:
            self._longest_waiting().transport.abort()
        self.after_parsing()

    def _exceeds_limits(self) -> bool:
        """Return whether this address has too many connections, or connects too often."""
        config, address = self.config, self.address
        most = min(config.limits.connections_per_address, max(1, config.max_connections // 2))
        try:
            config.rates.check("connections", address)
        except TooManyRequestsError:
            return True
        return config.open_connections[address] > most

    def _longest_waiting(self) -> "BoundedHTTP":
        """Return the connection whose request has to be complete first, this one if need be."""
        waiting = [
            (other._deadline.when(), id(other), other)
            for other in self.connections
            if isinstance(other, BoundedHTTP) and other._deadline
            if not other.transport.is_closing()
        ]
        return min(waiting)[2] if waiting else self

    def on_response_complete(self) -> None:
        """Let the time for the next request run."""
        super().on_response_complete()
        self.after_parsing()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        self._stop_deadline()

    def after_parsing(self) -> None:
        """Let the time for a request run until it is complete."""
        if self.has_handed_over() or self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_deadline()
        elif self._deadline is None and not self.transport.is_closing():
            seconds = self.config.limits.request_seconds
            self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _stop_deadline(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None


class LogLimit(logging.Filter):
    """Lets one line through per minute of those that say the same, without traceback if it is long.

    What fails because of clients or the system may fail a thousand times a second.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing said."""
        super().__init__()
        self._now = now
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is written; make one line of it."""
        key, now = str(record.msg).partition("\n")[0], self._now()
        if now - self._said.get(key, -LOG_SECONDS) < LOG_SECONDS:
            return False
        self._said = {said: at for said, at in self._said.items() if now - at < LOG_SECONDS}
        self._said[key] = now
        if record.exc_info and isinstance(record.exc_info[1], OSError | asyncio.CancelledError):
            record.msg, record.args = f"{key}: %s", (record.exc_info[1],)
            record.exc_info = record.exc_text = None
        return True


def limit_log() -> None:
    """Limit what the server and its libraries write to the log."""
    for name in ("asyncio", "uvicorn.error", "cc_env.play"):
        logger = logging.getLogger(name)
        if not any(isinstance(known, LogLimit) for known in logger.filters):
            logger.addFilter(LogLimit())
