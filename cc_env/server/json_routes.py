"""Routes of POST requests with a JSON object: limited per address, cancelled on disconnect."""

import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from cc_env.errors import CcEnvError
from cc_env.play import messages
from cc_env.server.limits import ConcurrencyLimit
from cc_env.server.lobby import Lobby
from cc_env.server.requests import cancel_on_disconnect, client_address, read_json

# The HTTP status of a request whose client has disconnected, as in nginx.
CLIENT_CLOSED_REQUEST = 499
Fields = Mapping[str, object]
Data = dict[str, object]
# (lobby, fields of a request, address of the client) -> response
Handler = Callable[[Lobby, Fields, str], Coroutine[object, object, Data]]
StreamHandler = Callable[
    [Lobby, Fields, str], Coroutine[object, object, AsyncGenerator[Data, None]]
]


def json_route(path: str, valid_names: Sequence[str], handler: Handler) -> Route:
    """Return the route of POST requests with these fields, which count as analyses."""

    async def respond(request: Request) -> Response:
        lobby: Lobby = request.app.state.lobby
        address = client_address(request)
        lobby.rates.check("analyses", address)
        with lobby.analyses.count(address):
            fields = await read_fields(request, lobby, valid_names)
            result = await cancel_on_disconnect(request, handler(lobby, fields, address))
        if result is None:
            return Response(status_code=CLIENT_CLOSED_REQUEST)
        return JSONResponse(result)

    return Route(path, respond, methods=["POST"])


def stream_route(path: str, valid_names: Sequence[str], handler: StreamHandler) -> Route:
    """Return the route of POST requests whose response is a line of JSON for each part.

    An error after the first part is the last line, {"error": REASON}.
    """

    async def respond(request: Request) -> Response:
        lobby: Lobby = request.app.state.lobby
        address = client_address(request)
        lobby.rates.check("analyses", address)
        fields = await read_fields(request, lobby, valid_names)
        # Errors before the first part have a status.
        with lobby.analyses.count(address):
            parts = await handler(lobby, fields, address)
        lines = write_lines(parts, lobby.analyses, address)
        return StreamingResponse(lines, media_type="application/x-ndjson")

    return Route(path, respond, methods=["POST"])


async def write_lines(
    parts: AsyncGenerator[Data, None], limit: ConcurrencyLimit, address: str
) -> AsyncGenerator[str, None]:
    """Yield a line for each part; a client that disconnects closes both generators."""
    try:
        with limit.count(address):
            async with aclosing(parts):
                async for part in parts:
                    yield _to_line(part)
    except CcEnvError as error:
        yield _to_line({"error": str(error)})


def _to_line(part: Data) -> str:
    return json.dumps(part, separators=(",", ":")) + "\n"


async def read_fields(request: Request, lobby: Lobby, valid_names: Sequence[str]) -> Fields:
    """Return the JSON object of a request; raise CcEnvError unless it has only valid names."""
    limits = lobby.limits
    body = await read_json(request, limits.max_request_bytes, limits.request_seconds)
    return messages.read_object(body, f"a request to {request.url.path}", valid_names)
