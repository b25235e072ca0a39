"""Connections by TCP, with errors that say to where."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Connection(NamedTuple):
    """A connection that a client has opened."""

    socket: socket.socket
    peer: str  # HOST:PORT; the socket does not have it any more once the client has reset it


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes any that is free. Raises OSError."""
    with _told(f"cannot listen on {host}:{port}"):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)


def accept(server: socket.socket) -> Connection:
    """Return the next connection; raise TimeoutError after the timeout of `server`."""
    accepted, address = server.accept()
    return Connection(accepted, "{}:{}".format(*address[:2]))


def connect(host: str, port: int) -> socket.socket:
    """Return a connection; raise OSError."""
    with _told(f"cannot connect to {host}:{port}"):
        return socket.create_connection((host, port))


@contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = str(error.strerror or error).partition(" (while ")[0]  # create_server says it again
        raise OSError(f"{what}: {why}") from error
    except ValueError as error:  # names that cannot be any host's
        raise OSError(f"{what}: this is not the name of a host") from error
