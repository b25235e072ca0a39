"""TCP connections; errors contain the address."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Connection(NamedTuple):
    """An accepted connection of a client."""

    socket: socket.socket
    # HOST:PORT. The socket loses it when the client resets the connection.
    peer: str


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 selects a free port. Raises OSError if it fails."""
    with _explain_errors(f"cannot listen on {host}:{port}"):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)


def accept(server: socket.socket) -> Connection:
    """Accept the next connection; raise TimeoutError after the timeout of `server`."""
    client, address = server.accept()
    return Connection(client, "{}:{}".format(*address[:2]))


def connect(host: str, port: int) -> socket.socket:
    """Return a connection to an address; raise OSError if it fails."""
    with _explain_errors(f"cannot connect to {host}:{port}"):
        return socket.create_connection((host, port))


@contextmanager
def _explain_errors(attempt: str) -> Iterator[None]:
    """Re-raise connection errors as OSError with `attempt` in front of the reason."""
    try:
        yield
    except OSError as error:
        # create_server appends the address to its message.
        reason = str(error.strerror or error).partition(" (while ")[0]
        raise OSError(f"{attempt}: {reason}") from error
    except ValueError as error:
        raise OSError(f"{attempt}: invalid host name") from error
