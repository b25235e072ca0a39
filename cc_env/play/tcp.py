"""Connections by TCP, with errors that say to where."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes any that is free. Raises OSError."""
    with _told(f"cannot listen on {host}:{port}"):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)


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
