"""Requests of untrusted clients: their addresses, and their JSON, which is of bounded length."""

import asyncio
import ipaddress
import json
from collections.abc import Coroutine
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar

from starlette.requests import HTTPConnection, Request

from cc_env.errors import BadRecord, CcEnvError

Result = TypeVar("Result")


class TooLongError(CcEnvError):
    """A request or a message that exceeds its limit of bytes."""


class TooSlowError(CcEnvError):
    """A request that does not arrive in its time."""


def address_of(connection: HTTPConnection) -> str:
    """Return the address that limits apply to, "" if it is unknown."""
    return network_of(connection.client.host) if connection.client else ""


@lru_cache(maxsize=10_000)
def network_of(host: str) -> str:
    """Return an IPv4 address as it is, of an IPv6 address its network: a client has all of it."""
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        if address.version == 6:
            return str(ipaddress.ip_network((int(address), 64), strict=False))
    return host


async def read_json(request: Request, max_bytes: int, seconds: float) -> Any:
    """Return the JSON body of a request; raises TooLongError, TooSlowError, BadRecord."""
    body = b""
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                body += part
                if len(body) > max_bytes:
                    raise TooLongError(f"this is too long; {max_bytes:,} bytes will do")
    except TimeoutError:
        raise TooSlowError(f"this took longer than {seconds:g} seconds") from None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise BadRecord("this is not JSON") from None


async def unless_gone(request: Request, work: Coroutine[Any, Any, Result]) -> Result | None:
    """Await some work; cancel it and return None if the client disconnects."""
    working, going = asyncio.create_task(work), asyncio.create_task(_gone(request))
    try:
        await asyncio.wait({working, going}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        going.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
