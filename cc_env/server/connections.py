"""Resource limits for connections of untrusted clients.

uvicorn parses HTTP and WebSocket and closes idle connections between requests. This module adds a
maximum number of connections, in total and per address, a time limit for incoming requests, a
maximum share of the event loop per connection, and a rate limit for the log.
"""

import asyncio
import logging
import socket
import time
from collections import Counter
from collections.abc import Callable

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from cc_env.server.limits import Rates, ServerLimits, TooManyRequestsError
from cc_env.server.requests import rate_limit_address

# Maximum share of the event loop's time for the data of one connection.
LOOP_SHARE = 0.1
SLICE_BYTES = 2048
MAX_PARSE_SECONDS = 0.001
# Files that the process needs for purposes other than connections.
RESERVED_FILES = 96
ACCEPT_BACKLOG = 64
# The X-Forwarded-For header of this proxy is trusted.
PROXY_ADDRESS = "127.0.0.1"
LOG_INTERVAL_SECONDS = 60.0
# Errors that clients or the system cause.
EXPECTED_ERRORS = OSError, asyncio.CancelledError
# uvicorn's message about a client's protocol error, which it logs with a traceback.
INVALID_UTF8 = "Invalid UTF-8 sequence received from client."


def pause_after(seconds: float) -> float:
    """Return the pause, in seconds, of a connection that used this time of the event loop."""
    return seconds * (1 / LOOP_SHARE - 1)


def ensure_max_connections(limits: ServerLimits) -> int:
    """Increase the process's file limit if necessary; return the maximum number of connections."""
    try:
        import resource
    except ImportError:
        # Windows has no such limit.
        return limits.connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    required = limits.connections + RESERVED_FILES
    if soft != resource.RLIM_INFINITY and soft < required:
        soft = required if hard == resource.RLIM_INFINITY else min(required, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, soft - RESERVED_FILES)
    return limits.connections


def set_write_timeout(server_socket: socket.socket, limits: ServerLimits) -> None:
    """Let the system close connections whose client stops reading, if it can."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        milliseconds = int(1000 * limits.stalled_seconds)
        server_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)


class ServerConfig(uvicorn.Config):
    """uvicorn's configuration with the limits and protocols of this module."""

    def __init__(self, app: ASGIApp, limits: ServerLimits) -> None:
        """Configure uvicorn for an application; may increase the process's file limit."""
        super().__init__(
            app,
            http=BoundedHTTP,
            ws=BoundedWebSocket,
            ws_max_size=4 * limits.max_message_bytes,
            # Compression saves little on short messages and costs time.
            ws_per_message_deflate=False,
            ws_ping_interval=limits.heartbeat_seconds,
            ws_ping_timeout=limits.ping_timeout_seconds,
            h11_max_incomplete_event_size=4 * limits.max_message_bytes,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=1,
            backlog=ACCEPT_BACKLOG,
            log_level="warning",
            forwarded_allow_ips=PROXY_ADDRESS,
        )
        self.limits, self.max_connections = limits, ensure_max_connections(limits)
        self.rates = Rates(limits)
        # Number of open connections by address.
        self.open_connections = Counter[str]()


class _ThrottledProtocol(asyncio.BufferedProtocol):
    """Reads data slice by slice; pauses after MAX_PARSE_SECONDS without a break in the data."""

    config: uvicorn.Config
    client: tuple[str, int] | None
    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop
    # Time that parsing has taken since the last pause, or since no data was waiting.
    _seconds_used = 0.0

    def is_reading_paused(self) -> bool:
        """Return whether uvicorn has paused reading."""
        raise NotImplementedError

    def after_parsing(self) -> None:
        """Run after each parsed slice."""

    @property
    def address(self) -> str:
        """The address that rate limits apply to, "" if it is unknown."""
        return rate_limit_address(self.client[0]) if self.client else ""

    def connection_lost(self, exc: Exception | None) -> None:
        """Count the connection as closed.

        After an upgrade to a WebSocket, uvicorn calls only the method of the WebSocket protocol.
        """
        super().connection_lost(exc)
        assert isinstance(self.config, ServerConfig)
        self.config.open_connections[self.address] -= 1
        if not self.config.open_connections[self.address]:
            del self.config.open_connections[self.address]

    def get_buffer(self, sizehint: int) -> bytearray:
        """Return the buffer for the next slice."""
        self._slice = bytearray(SLICE_BYTES)
        return self._slice

    def buffer_updated(self, nbytes: int) -> None:
        """Parse a slice; pause reading if parsing has taken too long."""
        start = time.perf_counter()
        self.data_received(bytes(self._slice[:nbytes]))  # type: ignore[attr-defined]
        self.after_parsing()
        self._seconds_used += time.perf_counter() - start
        if nbytes < SLICE_BYTES:
            # No data waits: only a flood is throttled, not many requests one after the other.
            self._seconds_used = 0.0
        is_current = self.transport.get_protocol() is self and not self.transport.is_closing()
        if is_current and self._seconds_used > MAX_PARSE_SECONDS:
            self.transport.pause_reading()
            self.loop.call_later(pause_after(self._seconds_used), self._resume)
            self._seconds_used = 0.0

    def _resume(self) -> None:
        if not self.transport.is_closing() and not self.is_reading_paused():
            self.transport.resume_reading()


class BoundedWebSocket(_ThrottledProtocol, WebSocketsSansIOProtocol):  # type: ignore[misc]
    """uvicorn's WebSocket protocol; pauses reading while the client does not read responses."""

    def is_reading_paused(self) -> bool:
        """Return whether uvicorn has paused reading, or the write buffer is full."""
        return self.read_paused or not self.writable.is_set()

    def pause_writing(self) -> None:
        """Pause reading while the write buffer is full."""
        super().pause_writing()
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        """Resume reading unless uvicorn has paused it."""
        super().resume_writing()
        self._resume()


class BoundedHTTP(_ThrottledProtocol, H11Protocol):  # type: ignore[misc]
    """uvicorn's HTTP protocol with a time limit per request and a limit of connections.

    Beyond the limit, the connection with the oldest incomplete request is closed.
    """

    config: ServerConfig
    _deadline: asyncio.TimerHandle | None = None

    def is_reading_paused(self) -> bool:
        """Return whether uvicorn has paused reading."""
        return self.flow.read_paused

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, or close it or an older one if a limit is exceeded."""
        super().connection_made(transport)
        self.config.open_connections[self.address] += 1
        if self.address != PROXY_ADDRESS and self._count_exceeds_limits():
            transport.abort()
        elif len(self.connections) > self.config.max_connections:
            self._oldest_incomplete().transport.abort()
        self.after_parsing()

    def _count_exceeds_limits(self) -> bool:
        """Count a connection; return whether its address has too many, or connects too often."""
        config, address = self.config, self.address
        limit = min(config.limits.connections_per_address, max(1, config.max_connections // 2))
        try:
            config.rates.check("connections", address)
        except TooManyRequestsError:
            return True
        return config.open_connections[address] > limit

    def _oldest_incomplete(self) -> "BoundedHTTP":
        """Return the open connection with the earliest deadline, by default this one."""
        candidates = [
            (connection._deadline.when(), id(connection), connection)
            for connection in self.connections
            if isinstance(connection, BoundedHTTP) and connection._deadline
            if not connection.transport.is_closing()
        ]
        return min(candidates)[2] if candidates else self

    def on_response_complete(self) -> None:
        """Start the deadline of the next request."""
        super().on_response_complete()
        self.after_parsing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the connection and its deadline."""
        super().connection_lost(exc)
        self._stop_deadline()

    def after_parsing(self) -> None:
        """Start the deadline of an incomplete request; stop it once the request is complete."""
        is_incomplete = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if self.transport.get_protocol() is not self or not is_incomplete:
            self._stop_deadline()
        elif self._deadline is None and not self.transport.is_closing():
            seconds = self.config.limits.request_seconds
            self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _stop_deadline(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None


class LogLimit(logging.Filter):
    """Passes one record per message and minute, without the traceback of expected errors.

    Errors that clients or the system cause may occur a thousand times a second.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """Start with an empty history; `now` returns seconds."""
        super().__init__()
        self._now = now
        # Time of the last record of each message.
        self._times: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record passes; shorten it to one line."""
        key = str(record.msg).partition("\n")[0]
        now = self._now()
        if now - self._times.get(key, -LOG_INTERVAL_SECONDS) < LOG_INTERVAL_SECONDS:
            return False
        self._times = {
            message: at for message, at in self._times.items() if now - at < LOG_INTERVAL_SECONDS
        }
        self._times[key] = now
        error = record.exc_info and record.exc_info[1]
        if error and (isinstance(error, EXPECTED_ERRORS) or key == INVALID_UTF8):
            record.msg, record.args = f"{key.rstrip('.')}: %s", (error,)
            record.exc_info = record.exc_text = None
        return True


def limit_log() -> None:
    """Add a LogLimit to the loggers of the server and its libraries."""
    for name in ("asyncio", "uvicorn.error", "cc_env.server"):
        logger = logging.getLogger(name)
        if not any(isinstance(log_filter, LogLimit) for log_filter in logger.filters):
            logger.addFilter(LogLimit())
