"""Commands for programs that play: `engine`, `host` and `join` of `python -m cc_env`."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from cc_env.cli.arguments import GameName, GameOptions, game_options
from cc_env.core.game import Game
from cc_env.errors import BadOption, MissingExtra, escape_controls, format_count
from cc_env.games.cannon import log
from cc_env.games.factory import make_game
from cc_env.match import record
from cc_env.match.match import Limits
from cc_env.match.record import RESULTS
from cc_env.match.referee import Clock, play_match
from cc_env.play.ugi_engine import UGIEngine, serve
from cc_env.players.specs import check_spec, make_player
from cc_env.protocols import tcp
from cc_env.protocols.cannon_tournament import server
from cc_env.protocols.cannon_tournament.messages import Wire
from cc_env.protocols.channel import Channel, SocketChannel
from cc_env.protocols.program import (
    Talker,
    UGITalk,
    check_protocol,
    check_seconds,
    check_tournament,
)

try:
    import typer
except ImportError as missing:
    raise MissingExtra("python -m cc_env", "typer and rich", "cli") from missing

Protocol = Annotated[str, typer.Option(help="cannon, that of the Cannon tournament, or ugi.")]
Seed = Annotated[int, typer.Option(help="Seed of all random choices.", min=0, max=2**31 - 1)]


class _Printer:
    """Prints lines at once, one thread at a time; where nobody reads any more, nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __call__(self, line: str) -> None:
        left = line.encode(errors="backslashreplace") + b"\n"
        with self._lock, suppress(BrokenPipeError):
            while left:
                left = left[os.write(sys.stdout.fileno(), left) :]


def engine(
    player: Annotated[
        str, typer.Argument(help="The player, e.g. minimax:hard.", show_default=False)
    ],
    game: GameName = "capture_conquer",
    option: GameOptions = None,
    seed: Seed = 0,
) -> None:
    """Let a player speak UGI on stdin and stdout, for any game.

    That is UCI for all games: `python -m pydoc cc_env.play.ugi_engine` tells the lines of UGI.
    """
    say = _Printer()
    made = make_game(game, **game_options(option))
    serve(UGIEngine(player, made, say, seed=seed), Channel(sys.stdin.fileno()))


def host(
    protocol: Protocol = "cannon",
    game: GameName = "cannon",
    option: GameOptions = None,
    address: Annotated[
        str,
        typer.Option(
            "--host", help="The address to listen on; 0.0.0.0 lets other machines connect."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on; 0: any free one.")
    ] = 0,
    player: Annotated[
        list[str] | None,
        typer.Option(
            "--player", "-p", help="A player here, e.g. minimax:hard; twice for both seats."
        ),
    ] = None,
    seat: Annotated[
        int,
        typer.Option(
            min=0, max=1, help="The seat of the only player here: 0 moves first, 1 second."
        ),
    ] = 1,
    seconds: Annotated[float, typer.Option(help="Time limit of each program for the game.")] = 150,
    patience: Annotated[
        float, typer.Option(help="Seconds to wait for clients, and for each to be ready or move.")
    ] = 150,
    log_file: Annotated[
        Path | None,
        typer.Option(
            "--log",
            metavar="FILE",
            help="Write the game to this file: a log; with UGI a record, .jsonl.",
        ),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Host a game of two programs, which connect over TCP.

    Players here can take seats, too.
    """
    check_seconds(seconds=seconds, patience=patience)
    made, names = make_game(game, **game_options(option)), player or []
    if len(names) > 2:
        raise BadOption(f"{len(names)} players; a game has two")
    if check_protocol(protocol) == "cannon":
        check_tournament(made)
    here = [make_player(name, made) for name in names]
    with ended_by_signals(), ExitStack() as stack:
        note = _printer_to(log_file, stack)
        clients = _connected(2 - len(here), (address, port), patience, stack)
        if len(clients) + len(here) < 2:
            _refuse(clients, protocol)
            told = f"{len(clients)} clients came in {patience:g} s"
            raise TimeoutError(f"{told}; wanted: {2 - len(here)}")
        hold = _hold_tournament if protocol == "cannon" else _hold_ugi
        order = [*clients, *here]
        if len(here) == 1 and seat == 0:
            order.reverse()
        for line in hold(made, order, _Terms(names, seconds, patience, seed), note):
            print(escape_controls(line))


class _Terms(NamedTuple):
    """How a game is held."""

    names: list[str]  # of the players here
    seconds: float
    patience: float
    seed: int


def _hold_tournament(
    game: Game, order: list[Any], terms: _Terms, note: Callable[[str], None]
) -> Iterator[str]:
    """Hold a game by the tournament's protocol; yield what is told at its end."""
    first, second = (
        server.Client(Wire(player.socket), terms.patience)
        if isinstance(player, tcp.Connection)
        else server.Here(player, terms.seed + at)
        for at, player in enumerate(order)
    )
    played = server.play(game, (first, second), seconds=terms.seconds, note=note)
    assert played.match.result is not None
    result = RESULTS[played.match.result.outcome]
    turns = format_count(len(played.match.turns), "turn")
    yield f"{result} ({played.match.result.reason}), {turns}"
    yield played.meta + (f" ({played.detail})" if played.detail else "")


def _hold_ugi(
    game: Game, order: list[Any], terms: _Terms, note: Callable[[str], None]
) -> Iterator[str]:
    """Hold a game by UGI; yield what is told at its end."""
    channels, seats, names, here = [], [], [], list(terms.names)
    for seat in order:
        if not isinstance(seat, tcp.Connection):
            seats.append(seat)
            names.append(here.pop(0))
            continue
        channels.append(channel := SocketChannel(seat.socket))
        unbound, talk = Clock(turn=terms.patience), UGITalk()
        seats.append(Talker(game, seat.peer, talk, channel, unbound, terms.patience))
        names.append(talk.name or seat.peer)
    try:
        limits = Limits(seconds_per_game=terms.seconds)
        kept = play_match(game, seats, names=names, limits=limits, seed=terms.seed)
    finally:
        for channel in channels:
            with suppress(EOFError, TimeoutError, OSError, ValueError):
                channel.say(UGITalk.farewell, time.perf_counter() + 1)
            channel.close()
    note(kept.to_json())
    scores = record.replay(kept).score
    told = ", scores {:g} - {:g}".format(*scores) if scores and game.has_scores else ""
    turns = format_count(len(kept.turns), "turn")
    yield f"{' - '.join(names)}  {kept.result} ({kept.reason}){told}, {turns}"
    if kept.detail:
        yield kept.detail


def _refuse(clients: list[tcp.Connection], protocol: str) -> None:
    """Tell clients that no game begins."""
    for client in clients:
        wire = Wire(client.socket)
        too_few = log.message("KILLPROC", meta=server.TOO_FEW)
        wire.send(too_few if protocol == "cannon" else f"{UGITalk.farewell}\n")
        wire.close()


def _connected(
    count: int, address: tuple[str, int], patience: float, stack: ExitStack
) -> list[tcp.Connection]:
    """Return so many connections, or fewer if no more come in time."""
    connections = list[tcp.Connection]()
    if not count:
        return connections
    server = stack.enter_context(tcp.listen(*address))
    print("listening on {}:{}".format(*server.getsockname()[:2]), flush=True)
    until = time.perf_counter() + patience
    while len(connections) < count and (left := until - time.perf_counter()) > 0:
        server.settimeout(left)
        with suppress(TimeoutError):
            connections.append(tcp.accept(server))
            stack.callback(connections[-1].socket.close)
    return connections


def _printer_to(path: Path | None, stack: ExitStack) -> Callable[[str], None]:
    """Return what writes lines to a file, at once."""
    if path is None:
        return lambda line: None
    file = stack.enter_context(path.open("w", encoding="utf-8"))
    return lambda line: print(line, file=file, flush=True)


def join(
    address: Annotated[
        str, typer.Argument(metavar="HOST", help="The address to connect to.", show_default=False)
    ],
    port: Annotated[
        int, typer.Argument(min=1, max=65535, help="The port to connect to.", show_default=False)
    ],
    player: Annotated[str, typer.Argument(help="The player, e.g. minimax:hard.")],
    protocol: Protocol = "cannon",
    seed: Seed = 0,
) -> None:
    """Let a player play at somebody else's host, over TCP."""
    check_spec(player)
    is_ugi = check_protocol(protocol) == "ugi"
    with ended_by_signals(), tcp.connect(address, port) as connection:
        connection.settimeout(None)
        if is_ugi:
            _answer(player, SocketChannel(connection), seed)
            return
        try:
            told = server.join(Wire(connection), partial(make_player, player), seed)
            print(escape_controls(told))
        except (EOFError, TimeoutError) as error:
            said = "is silent" if isinstance(error, TimeoutError) else "has closed the connection"
            raise ConnectionError(f"{address}:{port} {said}") from error


def _answer(player: str, channel: SocketChannel, seed: int) -> None:
    """Let a player speak UGI over a connection, until it ends."""
    lock = threading.Lock()

    def say(line: str) -> None:
        with lock, suppress(EOFError):
            channel.say(line)

    serve(UGIEngine(player, make_game("capture_conquer"), say, seed=seed), channel)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM leave the block as an exception does, so that programs and clients are told."""

    def leave(*_: object) -> None:
        sys.exit(128 + signal.SIGTERM)

    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, leave) if is_main else None
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, before)


COMMANDS = (engine, host, join)
