"""What comes with a request: JSON of a stranger, of bounded length."""

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import Request

from cc_env.errors import BadRecord, CcEnvError

Result = TypeVar("Result")


class TooLongError(CcEnvError):
    """A request that is longer than it may be."""


async def content(request: Request, letters: int) -> Any:
    """Return the JSON value that came; raises TooLongError, BadRecord."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > letters:
            raise TooLongError(f"this is too long; {letters:,} bytes will do")
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise BadRecord("this is not JSON") from None


async def unless_gone(request: Request, work: Coroutine[Any, Any, Result]) -> Result | None:
    """Return what is found, or None, and it is cancelled, where who asked goes before."""
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
