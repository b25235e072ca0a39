"""The web application: the page, and games over HTTP and WebSocket. `create_app` makes it.

GET  /              the page; /static/… its files
GET  /catalogue     the games with their options and players
GET  /lessons/GAME  lessons: texts, and boards that illustrate them
GET  /preparation/GAME  seconds for which this game is being prepared, and expected ones
POST /games         create a game; returns its name, the tokens of its people, the owner's token
GET  /standings/NAME  whose turn it is, or the outcome of a game
GET  /games/NAME.…  a game as a file; the suffix selects the format, see `cc_env.play.exporting`
POST /players, /open, /position, /analyze, /assess: analysis, see `cc_env.server.analysis_api`
GET  /puzzles, /puzzles/daily, POST /puzzle, …: puzzles, see `cc_env.server.puzzle_api`
POST /review, /retry: reviews of games, see `cc_env.server.review_api`
WS   /play/NAME     first {"tokens": […], "client": ID, "name": NAME}, without an ID if the client
                    numbers no commands, and without a NAME if its person has none; then commands
                    of `Room.handle_message`
"""

import asyncio
import ipaddress
import json
import logging
import socket
import time
from collections.abc import AsyncIterator, Collection, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from cc_env.errors import CcEnvError, MissingExtra, UnknownOption
from cc_env.play import lessons, messages
from cc_env.play.exporting import MEDIA_TYPES, prepare_export
from cc_env.server.journal import read_client_name, read_player_name
from cc_env.server.room import Client, Message, Room

try:
    import uvicorn
    from starlette import types
    from starlette.applications import Starlette
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.middleware import Middleware
    from starlette.middleware.gzip import GZipMiddleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import FileResponse, JSONResponse, Response
    from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
    from starlette.staticfiles import StaticFiles
    from starlette.websockets import WebSocket, WebSocketClose, WebSocketDisconnect

    from cc_env.server import analysis_api, connections, puzzle_api, review_api
    from cc_env.server.json_routes import CLIENT_CLOSED_REQUEST
    from cc_env.server.limits import BusyError, ServerLimits
    from cc_env.server.lobby import Lobby
    from cc_env.server.requests import (
        TooLongError,
        TooSlowError,
        client_address,
        read_json,
        read_tokens,
    )
    from cc_env.server.storage import GameFolder
    from cc_env.server.workers import LocalWorker, ProcessWorker, start_fork_server
except ModuleNotFoundError as error:
    raise MissingExtra("cc_env serve", str(error.name), "play") from error

PAGE = Path(__file__).parent / "page"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}
# WebSocket close codes.
POLICY_VIOLATION, TRY_AGAIN_LATER = 1008, 1013
HEARTBEAT = '{"type":"heartbeat"}'
UNAVAILABLE = "games cannot be stored or read now; try again later"
_log = logging.getLogger("cc_env.server")


def create_app(
    folder: Path,
    *,
    limits: ServerLimits | None = None,
    hosts: Collection[str] = (),
    is_local: bool = True,
    in_processes: bool = False,
) -> types.ASGIApp:
    """Return the application that serves the games of a folder.

    `limits` are those of clients and of stored games. `hosts` are the names to which requests may
    be addressed besides "localhost" and addresses; if `is_local`, only loopback addresses are
    valid. With `in_processes`, players run in worker processes, otherwise in threads, where players
    registered in this process are available, too.

    The folder is locked from this call until the application shuts down. Raises FolderInUse if
    another server has locked it, OSError if it cannot be created.
    """
    limits = limits or ServerLimits()
    games = GameFolder(folder, limits)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if in_processes:
            start_fork_server()
        worker_class = ProcessWorker if in_processes else LocalWorker
        app.state.lobby = Lobby(games, limits, worker_class=worker_class)
        app.state.lobby.start_expiry()
        if in_processes:
            app.state.lobby.start_warm_up()
        try:
            yield
        finally:
            app.state.lobby.close()

    app = Starlette(routes=_routes(), lifespan=lifespan, exception_handlers=ERROR_HANDLERS)
    return _SameOriginGuard(app, frozenset(name.lower() for name in hosts), is_local)


def _routes() -> list[BaseRoute]:
    """Return the routes of the application.

    Only responses without secrets are compressed, and none that is sent in parts.
    """
    compressed = [Middleware(GZipMiddleware)]
    return [
        Route("/", _get_page, middleware=compressed),
        Route("/catalogue", _get_catalogue, middleware=compressed),
        Route("/lessons/{game}", _get_lessons, middleware=compressed),
        Route("/preparation/{game}", _get_preparation),
        Route("/games", _create_game, methods=["POST"]),
        Route("/games/{file}", _export_game),
        Route("/standings/{game}", _get_standing),
        *analysis_api.ROUTES,
        *puzzle_api.ROUTES,
        *review_api.ROUTES,
        WebSocketRoute("/play/{name}", _serve_client),
        Mount("/static", StaticFiles(directory=PAGE), middleware=compressed),
    ]


def create_server(
    server_socket: socket.socket, folder: Path, limits: ServerLimits, hosts: Collection[str] = ()
) -> uvicorn.Server:
    """Return a server for a listening socket.

    Requests may be addressed to the names in `hosts` as well as to addresses. A server on a
    loopback address accepts only requests addressed to this machine. Raises FolderInUse if another
    server has locked the folder, OSError if it cannot be created.
    """
    is_local = ipaddress.ip_address(server_socket.getsockname()[0]).is_loopback
    app = create_app(folder, limits=limits, hosts=hosts, is_local=is_local, in_processes=True)
    connections.set_write_timeout(server_socket, limits)
    config = connections.ServerConfig(app, limits)
    connections.limit_log()
    return uvicorn.Server(config)


def is_allowed_host(host: str, hosts: Collection[str], is_local: bool) -> bool:
    """Return whether a request with this Host header is addressed to this server.

    Allowed are the names in `hosts`, "localhost", and addresses, which DNS rebinding cannot forge:
    all addresses, or only loopback addresses for a local server.
    """
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    name = name.strip("[]").lower()
    if name == "localhost" or name in hosts:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback or not is_local
    except ValueError:
        return False


class _SameOriginGuard:
    """Middleware that rejects requests of other sites and adds security headers to responses."""

    def __init__(self, app: types.ASGIApp, hosts: Collection[str], is_local: bool) -> None:
        self._app, self._hosts, self._is_local = app, hosts, is_local

    async def __call__(self, scope: types.Scope, receive: types.Receive, send: types.Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        app = self._app
        if reason := self._rejection_reason(scope):
            is_websocket = scope["type"] == "websocket"
            rejection = JSONResponse({"error": reason}, 403)
            app = WebSocketClose(POLICY_VIOLATION, reason) if is_websocket else rejection

        async def send_with_headers(message: types.Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, text in HEADERS.items():
                    headers.setdefault(name, text)
            await send(message)

        await app(scope, receive, send_with_headers)

    def _rejection_reason(self, scope: types.Scope) -> str:
        """Return the reason to reject a request, "" for a request of this server's own page."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not is_allowed_host(host, self._hosts, self._is_local):
            return "unknown host name; `serve --allow-host NAME` allows one"
        needs_origin = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        origin = headers.get("origin", "")
        if needs_origin and origin not in (f"http://{host}", f"https://{host}"):
            return "only this server's own page may send this request"
        return ""


async def _get_page(request: Request) -> Response:
    return FileResponse(PAGE / "index.html")


async def _get_catalogue(request: Request) -> Response:
    return JSONResponse(await request.app.state.lobby.catalogue())


async def _get_lessons(request: Request) -> Response:
    lobby: Lobby = request.app.state.lobby
    game = request.path_params["game"]
    guide = await lobby.run_in_worker(client_address(request), lessons.guide_json, game)
    return Response(guide, media_type="application/json")


async def _get_preparation(request: Request) -> Response:
    return JSONResponse(request.app.state.lobby.preparation(request.path_params["game"]))


async def _create_game(request: Request) -> Response:
    lobby: Lobby = request.app.state.lobby
    limits, address = lobby.limits, client_address(request)
    lobby.rates.check("new games", address)
    fields = await read_json(request, limits.max_message_bytes, limits.request_seconds)
    name, setup = await lobby.create_game(fields, address)
    return JSONResponse({"game": name, "tokens": setup.tokens, "owner_token": setup.owner}, 201)


async def _get_standing(request: Request) -> Response:
    """Return the player to move and the outcome to every client that has the game's name."""
    lobby: Lobby = request.app.state.lobby
    address = client_address(request)
    lobby.rates.check("analyses", address)
    session = (await lobby.find_room(request.path_params["game"], address)).session
    result = session.result
    outcome = result.outcome if result else None
    return JSONResponse({"mover": session.mover, "is_over": bool(result), "outcome": outcome})


async def _export_game(request: Request) -> Response:
    """Return a game as a file to every client that has its name."""
    name, dot, extension = request.path_params["file"].partition(".")
    suffix = dot + extension
    lobby: Lobby = request.app.state.lobby
    address = client_address(request)
    room = await lobby.find_room(name, address)
    text = await lobby.run_in_background(address, prepare_export(room.session, suffix))
    file = f"{room.setup.game}-{name}{suffix}"
    headers = {"content-disposition": f'attachment; filename="{file}"'}
    return Response(text, headers=headers, media_type=MEDIA_TYPES.get(suffix, "text/plain"))


async def _respond_to_error(request: Request, error: Exception) -> Response:
    """Return the error with its status; an unknown name in a GET request is 404."""
    is_unknown_name = isinstance(error, UnknownOption) and request.method == "GET"
    status = 404 if is_unknown_name else getattr(error, "status", 400)
    return JSONResponse({"error": str(error)}, status)


async def _respond_to_system_error(request: Request, error: Exception) -> Response:
    """Return status 503 for an error of the system, such as a full disk, and log the details."""
    _log.warning("a request failed: %s", error)
    return JSONResponse({"error": UNAVAILABLE}, 503)


async def _respond_to_disconnect(request: Request, error: Exception) -> Response:
    return Response(status_code=CLIENT_CLOSED_REQUEST)


ERROR_HANDLERS = {
    CcEnvError: _respond_to_error,
    OSError: _respond_to_system_error,
    ClientDisconnect: _respond_to_disconnect,
}


async def _serve_client(socket: WebSocket) -> None:
    """Add a client to its game and serve it until it disconnects; reject it if that fails."""
    lobby: Lobby = socket.app.state.lobby
    address = client_address(socket)
    await socket.accept()
    heartbeats = asyncio.create_task(_send_heartbeats(socket, lobby.limits.heartbeat_seconds))
    try:
        with lobby.connections.count(address):
            room, client = await _enter_game(socket, lobby, address)
            await _exchange_messages(socket, lobby, room, client)
    except WebSocketDisconnect:
        pass
    except TimeoutError:
        await _reject(socket, TooSlowError("the first message did not arrive in time"))
    except CcEnvError as error:
        await _reject(socket, error)
    except OSError as error:
        _log.warning("a game cannot be opened: %s", error)
        await _reject(socket, BusyError(UNAVAILABLE))
    finally:
        heartbeats.cancel()


async def _send_heartbeats(socket: WebSocket, seconds: float) -> None:
    """Send a message at regular intervals, since pages receive no WebSocket pings."""
    with suppress(WebSocketDisconnect):
        while True:
            await asyncio.sleep(seconds)
            await _run_send(socket.send_text(HEARTBEAT))


async def _enter_game(socket: WebSocket, lobby: Lobby, address: str) -> tuple[Room, Client]:
    """Return the room and the client of a connection, after its first message.

    Raises CcEnvError for an invalid message, an unknown game or an exceeded limit, TimeoutError
    without a message in time, OSError if the game cannot be read.
    """
    lobby.rates.check("connections to games", address)
    async with asyncio.timeout(lobby.limits.request_seconds):
        first = _parse_message(await _receive_text(socket), lobby.limits)
    fields = messages.read_object(first, "the first message", ("tokens", "client", "name"))
    tokens = read_tokens(fields)
    name = read_client_name(fields["client"]) if "client" in fields else ""
    player_name = read_player_name(fields.get("name", ""))
    room = await lobby.find_room(socket.path_params["name"], address)
    client = room.admit(tokens, address, name)
    client.player_name = player_name
    return room, client


async def _reject(socket: WebSocket, error: CcEnvError) -> None:
    """Close a connection with an error; a temporary one lets the client reconnect."""
    is_temporary = isinstance(error, BusyError)
    message = {"type": "error", "reason": str(error), "final": not is_temporary}
    with suppress(WebSocketDisconnect):
        await _run_send(socket.send_text(json.dumps(message)))
        await _run_send(socket.close(TRY_AGAIN_LATER if is_temporary else POLICY_VIOLATION))


async def _exchange_messages(socket: WebSocket, lobby: Lobby, room: Room, client: Client) -> None:
    """Receive commands and send messages until the connection ends; raise their other errors."""
    room.join(client)
    work = _receive_commands(socket, lobby, room, client), _send_messages(socket, client)
    tasks = [asyncio.create_task(_run_until_disconnect(part)) for part in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        room.leave(client)
        for task in tasks:
            task.cancel()
    for task in done:
        task.result()


async def _run_until_disconnect(work: Coroutine[object, object, None]) -> None:
    with suppress(WebSocketDisconnect):
        await work


async def _receive_commands(socket: WebSocket, lobby: Lobby, room: Room, client: Client) -> None:
    """Execute a client's commands, at a limited rate and share of the event loop."""
    min_pause = 1 / lobby.limits.messages_per_second
    # Time at which the next command may be executed.
    next_at = 0.0
    while True:
        text = await _receive_text(socket)
        if (pause := next_at - time.perf_counter()) > 0:
            await asyncio.sleep(pause)
        start = time.perf_counter()
        try:
            message = _parse_message(text, lobby.limits)
        except CcEnvError as error:
            client.send("error", reason=str(error))
        else:
            room.handle_message(client, message)
        end = time.perf_counter()
        next_at = end + max(connections.pause_after(end - start), min_pause)


async def _receive_text(socket: WebSocket) -> str:
    """Return the next message, "" for a binary one."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    return message.get("text") or ""


async def _send_messages(socket: WebSocket, client: Client) -> None:
    """Send queued messages until the client is disconnected."""
    while (message := await client.messages.get()) is not None:
        await _run_send(socket.send_text(message))
    await _run_send(socket.close(TRY_AGAIN_LATER))


async def _run_send(send: Coroutine[object, object, None]) -> None:
    """Await a send method of a WebSocket; raise WebSocketDisconnect if the connection has ended."""
    try:
        await send
    except RuntimeError as error:
        # Of Starlette or uvicorn: the connection is closed or being closed.
        raise WebSocketDisconnect from error


def _parse_message(text: str, limits: ServerLimits) -> Message:
    """Return the JSON object in a message; raise TooLongError or BadRecord."""
    if len(text.encode(errors="replace")) > limits.max_message_bytes:
        raise TooLongError(
            f"message too long; expected: at most {limits.max_message_bytes:,} bytes"
        )
    return messages.read_object(messages.read_json(text, "the message"), "a message")
