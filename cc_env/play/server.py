"""The page, its games and their messages over HTTP and WebSocket. `application` makes it.

GET  /              the page; /static/… what it consists of
GET  /catalogue     the games, their options and who plays them
GET  /lessons/GAME  how to play a game: texts, and boards that show what they say
POST /games         open a game; its name, the tokens of its people, and that of who watches it
GET  /games/NAME.…  a game as a file, by the end of its name; see `cc_env.play.export`
POST /open, /look, /analyse, /judge: analysis, see desk.py
WS   /play/NAME     first {"tokens": […]}, of seats or none, then what `Room.obey` takes
"""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from cc_env.errors import BadOption, BadRecord, CcEnvError, MissingExtra, UnknownOption
from cc_env.play import lessons
from cc_env.play.export import KINDS, exported
from cc_env.play.lobby import Bounds, BusyError, Lobby
from cc_env.play.messages import fields
from cc_env.play.room import Guest, Room
from cc_env.play.workers import Workers

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import FileResponse, JSONResponse, Response
    from starlette.routing import Mount, Route, WebSocketRoute
    from starlette.staticfiles import StaticFiles
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from starlette.websockets import WebSocket, WebSocketDisconnect

    from cc_env.play.asked import TooLongError, content
    from cc_env.play.desk import ROUTES, Desk
except ImportError as missing:
    raise MissingExtra("python -m cc_env serve", "starlette and uvicorn", "play") from missing

PAGE = Path(__file__).parent / "page"
LOOPBACK = "127.0.0.1", "localhost", "::1"
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
EXCESS = 50  # messages too many before somebody is sent away


def application(
    folder: Path,
    *,
    bounds: Bounds | None = None,
    hosts: Collection[str] = LOOPBACK,
    in_processes: bool = False,
) -> ASGIApp:
    """Return the server of the games in a folder; raises OSError where it cannot be made.

    Requests to other `hosts` than these are refused; without any, all are taken. Players think in
    processes of their own, or else in threads: those that only this process knows can do nothing
    else.
    """
    folder.mkdir(parents=True, exist_ok=True)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.lobby = Lobby(folder, bounds, workers=Workers() if in_processes else None)
        app.state.desk = Desk(app.state.lobby)
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
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={CcEnvError: _refusal})
    return _Guard(app, frozenset(hosts))


def prepared(listening: socket.socket, folder: Path, bounds: Bounds) -> uvicorn.Server:
    """Return what will serve on a socket; raises OSError where the folder cannot be made.

    A socket that only this machine reaches takes requests only to this machine's own names.
    """
    hosts = LOOPBACK if listening.getsockname()[0] in LOOPBACK else ()
    config = uvicorn.Config(
        application(folder, bounds=bounds, hosts=hosts, in_processes=True),
        log_level="warning",
        ws_max_size=4 * bounds.letters,
        ws="websockets-sansio",
        ws_per_message_deflate=False,  # of a short message it saves little, and takes a while
    )
    return uvicorn.Server(config)


class _Guard:
    """Refuses requests of other sites, and gives every answer its headers."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app, self._hosts = app, hosts

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
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if self._hosts and name.strip("[]") not in self._hosts:
            return "this server has another name"
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
    return JSONResponse(await lobby.beside(lessons.told, request.path_params["game"]))


async def _open(request: Request) -> Response:
    lobby: Lobby = request.app.state.lobby
    room = await lobby.begin(await content(request, lobby.bounds.letters))
    opening = room.opening
    return JSONResponse({"game": room.name, "tokens": opening.tokens, "owner": opening.owner}, 201)


async def _export(request: Request) -> Response:
    """Give whoever knows the name of a game the game as a file."""
    name, dot, kind = request.path_params["file"].partition(".")
    room, ending = await request.app.state.lobby.find(name), dot + kind
    text, file = exported(room.sitting, ending), f"{room.opening.game}-{name}{ending}"
    headers = {"content-disposition": f'attachment; filename="{file}"'}
    return Response(text, headers=headers, media_type=KINDS.get(ending, "text/plain"))


async def _refusal(request: Request, error: Exception) -> Response:
    """Return why; what a GET asks for and does not exist is 404."""
    unknown = 404 if request.method == "GET" else 400
    statuses: dict[type, int] = {BusyError: 503, TooLongError: 413, UnknownOption: unknown}
    return JSONResponse({"error": str(error)}, statuses.get(type(error), 400))


class Allowance:
    """How many messages somebody may send: so many a second, twice as many in a burst."""

    def __init__(self, rate: float, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with a whole burst."""
        self._rate, self._now, self._left, self._at = rate, now, 2 * rate, now()

    def take(self) -> bool:
        """Return whether one more is allowed."""
        now = self._now()
        self._left = min(2 * self._rate, self._left + (now - self._at) * self._rate)
        self._at = now
        self._left -= 1
        self._left = max(self._left, -1.0)
        return self._left >= 0


async def _serve_guest(socket: WebSocket) -> None:
    """Seat a guest, then do what it asks for, until it goes."""
    lobby: Lobby = socket.app.state.lobby
    await socket.accept()
    with suppress(WebSocketDisconnect, RuntimeError):  # the latter: it has gone while told
        entered = await _enter(socket, lobby)
        if entered:
            await _converse(socket, lobby, *entered)


async def _enter(socket: WebSocket, lobby: Lobby) -> tuple[Room, Guest] | None:
    """Return the game and the guest; None, and the guest knows why, where it may not come in."""
    try:
        first = _read(await _received(socket), lobby.bounds)
        tokens = fields(first, "the first message", ("tokens",)).get("tokens", [])
        if not isinstance(tokens, list) or len(tokens) > TOKENS:
            raise BadOption("wanted: the tokens of seats, or none")
        if not all(isinstance(token, str) for token in tokens):
            raise BadOption("a token is a text")
        room = await lobby.find(socket.path_params["name"])
        guest = room.admit(tokens)
        if len(room.guests) >= lobby.bounds.guests:
            raise BusyError("too many look on at this game")
    except (CcEnvError, OSError) as error:
        await socket.send_text(json.dumps({"type": "refused", "why": str(error), "final": True}))
        await socket.close(TRY_LATER if isinstance(error, BusyError) else VIOLATION)
        return None
    return room, guest


async def _converse(socket: WebSocket, lobby: Lobby, room: Room, guest: Guest) -> None:
    """Hear and tell, until one of both ends."""
    room.join(guest)
    hearing = asyncio.create_task(_hear(socket, lobby.bounds, room, guest))
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


async def _hear(socket: WebSocket, bounds: Bounds, room: Room, guest: Guest) -> None:
    allowance, refused = Allowance(bounds.messages), 0
    while True:
        text = await _received(socket)
        if not allowance.take():
            refused += 1
            guest.send("refused", why="too many messages; a little slower")
            if refused > EXCESS:
                await socket.close(VIOLATION)
                return
            continue
        try:
            room.obey(guest, _read(text, bounds))
        except (CcEnvError, OSError) as error:
            guest.send("refused", why=str(error))


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


def _read(text: str, bounds: Bounds) -> Mapping[str, Any]:
    """Return a message; raise TooLongError, or BadRecord where it is not one."""
    if len(text) > bounds.letters:
        raise TooLongError(f"a message has {bounds.letters:,} letters at most")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise BadRecord("a message is JSON") from None
    return fields(message, "a message")
