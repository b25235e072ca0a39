"""Untrusted HTTP requests: client addresses, JSON bodies of bounded size, disconnects."""

import asyncio
import ipaddress
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TypeVar

from starlette.requests import HTTPConnection, Request

from cc_env.errors import BadOption, CcEnvError
from cc_env.play import messages

# One token per seat.
MAX_TOKENS = 2
T = TypeVar("T")


class TooLongError(CcEnvError):
    """A request or a message that exceeds its maximum size."""

    status = 413


class TooSlowError(CcEnvError):
    """A request that does not arrive within its time limit."""

    status = 408


def client_address(connection: HTTPConnection) -> str:
    """Return the address that rate limits apply to, "" if it is unknown."""
    return rate_limit_address(connection.client.host) if connection.client else ""


@lru_cache(maxsize=10_000)
def rate_limit_address(host: str) -> str:
    """Return an IPv4 address unchanged, an IPv6 address as its /64 network.

    One client usually controls all addresses of such a network.
    """
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        if address.version == 6:
            return str(ipaddress.ip_network((int(address), 64), strict=False))
    return host


def read_tokens(fields: Mapping[str, object]) -> list[str]:
    """Return the tokens of a request, by default none; raise BadOption if they are invalid."""
    tokens = fields.get("tokens", [])
    if (
        not isinstance(tokens, list)
        or len(tokens) > MAX_TOKENS
        or not all(isinstance(token, str) for token in tokens)
    ):
        raise BadOption(f"invalid tokens; expected: a list of at most {MAX_TOKENS} strings")
    return tokens


async def read_json(request: Request, max_bytes: int, seconds: float) -> object:
    """Return the JSON body of a request; raise TooLongError, TooSlowError or BadRecord."""
    body = b""
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                body += part
                if len(body) > max_bytes:
                    raise TooLongError(f"request too long; expected: at most {max_bytes:,} bytes")
    except TimeoutError:
        raise TooSlowError(f"request incomplete after {seconds:g} seconds") from None
    return messages.read_json(body, "the request")


async def cancel_on_disconnect(request: Request, work: Coroutine[object, object, T]) -> T | None:
    """Await `work`; cancel it and return None if the client disconnects."""
    work_task = asyncio.create_task(work)
    disconnect_task = asyncio.create_task(_wait_for_disconnect(request))
    try:
        await asyncio.wait({work_task, disconnect_task}, return_when=asyncio.FIRST_COMPLETED)
        return work_task.result() if work_task.done() else None
    finally:
        work_task.cancel()
        disconnect_task.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
