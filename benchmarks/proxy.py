"""A TCP proxy that loses data, for benchmarks and tests of lost connections."""

import asyncio
from dataclasses import dataclass, field
from typing import Self

from benchmarks.load import LOCAL


@dataclass
class ProxiedConnection:
    """One connection through a proxy, and the directions in which its data are dropped."""

    writers: list[asyncio.StreamWriter]
    dropped_directions: set[str] = field(default_factory=set)


class Proxy:
    """A TCP proxy on the loopback interface that can drop data without closing connections.

    Use it as an asynchronous context manager. Any thread may call `drop_data` and `restore`.
    """

    def __init__(self, target_port: int) -> None:
        """Prepare a proxy to a port of this machine; `port` is its own once it has started."""
        self._target_port, self.port = target_port, 0
        self._connections: list[ProxiedConnection] = []
        self._tasks: list[asyncio.Task[None]] = []
        # The directions in which the data of new connections are dropped.
        self._dropped_directions: set[str] = set()

    async def __aenter__(self) -> Self:
        """Start to accept connections."""
        self._server = await asyncio.start_server(self._connect, LOCAL, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close all connections."""
        self._server.close()
        for connection in self._connections:
            for writer in connection.writers:
                writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def drop_data(self, *directions: str) -> None:
        """Drop the data of all connections in the directions "up" and "down", by default both.

        The data of new connections are dropped, too, until `restore`.
        """
        self._dropped_directions = set(directions or ("up", "down"))
        for connection in self._connections:
            connection.dropped_directions |= self._dropped_directions

    def restore(self) -> None:
        """Copy the data of new connections; those of earlier ones are still dropped."""
        self._dropped_directions = set()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream_writer = await asyncio.open_connection(LOCAL, self._target_port)
        connection = ProxiedConnection([writer, upstream_writer], set(self._dropped_directions))
        self._connections.append(connection)
        self._tasks += [
            asyncio.create_task(self._copy(reader, upstream_writer, connection, "up")),
            asyncio.create_task(self._copy(upstream_reader, writer, connection, "down")),
        ]

    async def _copy(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        connection: ProxiedConnection,
        direction: str,
    ) -> None:
        """Copy data in one direction; drop them, and the end, if the direction is dropped."""
        while data := await reader.read(2**16):
            if direction not in connection.dropped_directions:
                writer.write(data)
        if direction not in connection.dropped_directions:
            writer.close()
