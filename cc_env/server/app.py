"""The page, its games and their messages over HTTP and WebSocket. `create_app` makes it.

GET  /              the page; /static/… what it consists of
GET  /catalogue     the games, their options and who plays them
GET  /lessons/GAME  how to play a game: texts, and boards that show what they say
POST /games         open a game; its name, the tokens of its people, and that of who watches it
GET  /games/NAME.…  a game as a file, by the end of its name; see `cc_env.play.exporting`
POST /open, /look, /analyse, /judge: analysis, see desk.py
WS   /play/NAME     first {"tokens": […]}, of seats or none, then what `Room.obey` takes
"""

import asyncio
import ipaddress
import json
import logging
import socket
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from cc_env.errors import BadOption, BadRecord, CcEnvError, MissingExtra, UnknownOption
from cc_env.play import lessons
from cc_env.play.exporting import MEDIA_TYPES, prepare_export
from cc_env.play.messages import read_object
from cc_env.server.room import Guest, Room

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import FileResponse, JSONResponse, Response
    from starlette.routing import Mount, Route, WebSocketRoute
    from starlette.staticfiles import StaticFiles
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from starlette.websockets import WebSocket, WebSocketDisconnect

    from cc_env.server import connections
    from cc_env.server.analysis_api import GONE, ROUTES, Desk
    from cc_env.server.limits import BusyError, ServerLimits, TooManyRequestsError
    from cc_env.server.lobby import Lobby
    from cc_env.server.requests import TooLongError, TooSlowError, address_of, read_json
    from cc_env.server.storage import GameFolder
    from cc_env.server.workers import ProcessWorker, prepare
except ImportError as missing:
    raise MissingExtra("python -m cc_env serve", "starlette and uvicorn", "play") from missing

PAGE = Path(__file__).parent / "page"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}
VIOLATION, TRY_LATER = 1008, 1013  # codes of WebSocket
TOKENS = 2  # of one guest
UNAVAILABLE = "games cannot be stored or read now; try again later"
_log = logging.getLogger("cc_env.play")


def create_app(
    folder: Path,
    *,
    limits: ServerLimits | None = None,
    hosts: Collection[str] = (),
    is_local: bool = True,
    in_processes: bool = False,
) -> ASGIApp:
    """Return the server of the games in a folder.

    Requests have to be for this server, see `is_known_host`. Players think in processes of their
    own, or else in threads, where those that only this process knows can be used, too. Raises
    FolderInUse, and OSError where the folder cannot be made.
    """
    limits = limits or ServerLimits()
    games = GameFolder(folder, limits)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        make = None
        if in_processes:
            prepare()
            make = partial(ProcessWorker, limits.idle_player_bytes)
        app.state.lobby = Lobby(games, limits, make_worker=make)
        app.state.desk = Desk(app.state.lobby)
        app.state.lobby.begin_background()
        yield
        app.state.lobby.close()

    routes = [
        Route("/", _page),
        Route("/catalogue", _catalogue),
        Route("/lessons/{game}", _lessons),
        Route("/games", _open, methods=["POST"]),
        Route("/games/{file}", _export),
        *ROUTES,
        WebSocketRoute("/play/{name}", _serve_guest),
        Mount("/static", StaticFiles(directory=PAGE)),
    ]
    handlers = {CcEnvError: _refusal, OSError: _unavailable, ClientDisconnect: _gone}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    return _Guard(app, frozenset(name.lower() for name in hosts), is_local)


def create_server(
    listening: socket.socket, folder: Path, limits: ServerLimits, hosts: Collection[str] = ()
) -> uvicorn.Server:
    """Return what will serve on a socket; raises FolderInUse, OSError.

    The names of the `hosts` are allowed in requests, beside addresses. A socket that only this
    machine reaches takes requests only to this machine's own names.
    """
    is_local = ipaddress.ip_address(listening.getsockname()[0]).is_loopback
    app = create_app(folder, limits=limits, hosts=hosts, is_local=is_local, in_processes=True)
    connections.end_stalled_writes(listening, limits)
    config = connections.SiteConfig(app, limits)
    connections.limit_log()
    return uvicorn.Server(config)


def is_known_host(host: str, hosts: Collection[str], is_local: bool) -> bool:
    """Return whether a request for this host is for this server.

    Known are the names of `hosts`, "localhost", and addresses: of a local server those that only
    this machine reaches, of others all, which no name server of another site can forge.
    """
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    name = name.strip("[]").lower()
    if name == "localhost" or name in hosts:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback or not is_local
    except ValueError:
        return False


class _Guard:
    """Refuses requests of other sites, and gives every answer its headers."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], is_local: bool) -> None:
        self._app, self._hosts, self._is_local = app, hosts, is_local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        why = self._refused(scope)
        if why and scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": VIOLATION, "reason": why})
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        app = JSONResponse({"error": why}, 403) if why else self._app

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.decode().lower() for name, _ in message["headers"]}
                added = [(name, text) for name, text in HEADERS.items() if name not in own]
                message["headers"] += [(name.encode(), text.encode()) for name, text in added]
            await send(message)

        await app(scope, receive, send_with_headers)

    def _refused(self, scope: Scope) -> str:
        """Return why a request is refused: its host, or its page, is not this server's."""
        headers = {
            name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]
        }
        host = headers.get("host", "")
        if not is_known_host(host, self._hosts, self._is_local):
            return "this server has another name; `serve --allow-host NAME` allows one"
        needs_origin = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        origin = headers.get("origin", "")
        if needs_origin and origin not in (f"http://{host}", f"https://{host}"):
            return "only this server's own page may do this"
        return ""


async def _page(request: Request) -> Response:
    return FileResponse(PAGE / "index.html")


async def _catalogue(request: Request) -> Response:
    return JSONResponse(await request.app.state.lobby.catalogue())


async def _lessons(request: Request) -> Response:
    lobby: Lobby = request.app.state.lobby
    told = await lobby.compute(
        address_of(request), lessons.lesson_data, request.path_params["game"]
    )
    return JSONResponse(told)


async def _open(request: Request) -> Response:
    lobby: Lobby = request.app.state.lobby
    limits, address = lobby.limits, address_of(request)
    lobby.rates.check("new games", address)
    asked = await read_json(request, limits.max_message_bytes, limits.request_seconds)
    name, opening = await lobby.begin(asked, address)
    return JSONResponse({"game": name, "tokens": opening.tokens, "owner": opening.owner}, 201)


async def _export(request: Request) -> Response:
    """Give whoever knows the name of a game the game as a file."""
    name, dot, kind = request.path_params["file"].partition(".")
    lobby, address, ending = request.app.state.lobby, address_of(request), dot + kind
    room = await lobby.find(name, address)
    text = await lobby.run_io(address, prepare_export(room.session, ending))
    file = f"{room.opening.game}-{name}{ending}"
    headers = {"content-disposition": f'attachment; filename="{file}"'}
    return Response(text, headers=headers, media_type=MEDIA_TYPES.get(ending, "text/plain"))


async def _refusal(request: Request, error: Exception) -> Response:
    """Return why; what a GET asks for and does not exist is 404."""
    unknown = 404 if request.method == "GET" else 400
    statuses: dict[type, int] = {
        TooManyRequestsError: 429,
        BusyError: 503,
        TooLongError: 413,
        TooSlowError: 408,
        UnknownOption: unknown,
    }
    return JSONResponse({"error": str(error)}, statuses.get(type(error), 400))


async def _unavailable(request: Request, error: Exception) -> Response:
    """Return that the system fails, such as its disk; only the log has the details."""
    _log.warning("a request cannot be served: %s", error)
    return JSONResponse({"error": UNAVAILABLE}, 503)


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=GONE)


async def _serve_guest(socket: WebSocket) -> None:
    """Seat a guest, then do what it asks for, until it goes."""
    lobby: Lobby = socket.app.state.lobby
    await socket.accept()
    with suppress(WebSocketDisconnect, RuntimeError):  # the latter: it has gone while told
        try:
            with lobby.connections.counting(address_of(socket)):
                entered = await _enter(socket, lobby)
                if entered:
                    await _converse(socket, lobby, *entered)
        except TooManyRequestsError as error:
            await _refuse(socket, error)


async def _enter(socket: WebSocket, lobby: Lobby) -> tuple[Room, Guest] | None:
    """Return the game and the guest; None, and the guest knows why, where it may not come in."""
    try:
        address = address_of(socket)
        lobby.rates.check("connections to games", address)
        async with asyncio.timeout(lobby.limits.request_seconds):
            first = _read(await _received(socket), lobby.limits)
        tokens = read_object(first, "the first message", ("tokens",)).get("tokens", [])
        if not isinstance(tokens, list) or len(tokens) > TOKENS:
            raise BadOption("wanted: the tokens of seats, or none")
        if not all(isinstance(token, str) for token in tokens):
            raise BadOption("a token is a text")
        room = await lobby.find(socket.path_params["name"], address)
        return room, room.admit(tokens, address)
    except TimeoutError:
        await _refuse(socket, TooSlowError("the first message did not come in time"))
    except CcEnvError as error:
        await _refuse(socket, error)
    except OSError as error:
        _log.warning("a game cannot be opened: %s", error)
        await _refuse(socket, BusyError(UNAVAILABLE))
    return None


async def _refuse(socket: WebSocket, error: CcEnvError) -> None:
    """Send a client away; it may come again where the error passes."""
    passes = isinstance(error, BusyError)
    refusal = {"type": "refused", "why": str(error), "final": not passes}
    await socket.send_text(json.dumps(refusal))
    await socket.close(TRY_LATER if passes else VIOLATION)


async def _converse(socket: WebSocket, lobby: Lobby, room: Room, guest: Guest) -> None:
    """Hear and tell, until one of both ends."""
    room.join(guest)
    hearing = asyncio.create_task(_hear(socket, lobby, room, guest))
    telling = asyncio.create_task(_tell(socket, guest))
    try:
        await asyncio.wait({hearing, telling}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        room.leave(guest)
        for task in (hearing, telling):
            task.add_done_callback(_forget)
            task.cancel()


def _forget(task: asyncio.Task[None]) -> None:
    """Take note of how a conversation ended: the other has gone, in one way or another."""
    error = None if task.cancelled() else task.exception()
    if error and not isinstance(error, WebSocketDisconnect | RuntimeError):
        raise error


async def _hear(socket: WebSocket, lobby: Lobby, room: Room, guest: Guest) -> None:
    """Do what a guest asks for, as often and as long as it may take."""
    shortest, next_at = 1 / lobby.limits.messages_per_second, 0.0
    while True:
        text = await _received(socket)
        if (pause := next_at - time.perf_counter()) > 0:
            await asyncio.sleep(pause)
        began = time.perf_counter()
        try:
            room.obey(guest, _read(text, lobby.limits))
        except CcEnvError as error:
            guest.send("refused", why=str(error))
        ended = time.perf_counter()
        next_at = ended + max(connections.pause_after(ended - began), shortest)


async def _received(socket: WebSocket) -> str:
    """Return the next message; "" for one that is not text."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    return message.get("text") or ""


async def _tell(socket: WebSocket, guest: Guest) -> None:
    while (message := await guest.messages.get()) is not None:
        await socket.send_text(message)
    await socket.close(TRY_LATER)


def _read(text: str, limits: ServerLimits) -> Mapping[str, Any]:
    """Return a message; raise TooLongError, or BadRecord where it is not one."""
    if len(text.encode(errors="replace")) > limits.max_message_bytes:
        raise TooLongError(f"a message has {limits.max_message_bytes:,} bytes at most")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise BadRecord("a message is JSON") from None
    return read_object(message, "a message")
