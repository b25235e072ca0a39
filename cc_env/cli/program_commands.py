"""Commands that connect programs: `engine`, `host` and `join` of `python -m cc_env`."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

from typer import Argument, Option

from cc_env.cli.arguments import LOOPBACK, Address, GameName, GameOptions, Port, game_options
from cc_env.core.game import Game
from cc_env.errors import BadOption, escape_controls, format_count
from cc_env.games.cannon import log
from cc_env.games.factory import make_game
from cc_env.match import record
from cc_env.match.match import Limits, check_time_limits
from cc_env.match.record import RESULTS
from cc_env.match.referee import Clock, Player, play_match
from cc_env.play.ugi_engine import UGIEngine, serve
from cc_env.players.program import ProgramConnection, check_protocol
from cc_env.players.specs import check_spec, make_player
from cc_env.protocols import tcp
from cc_env.protocols.channel import Channel, SocketChannel
from cc_env.protocols.ugi_driver import UGIDriver
from cc_env.reproductions.cannon_tournament import server
from cc_env.reproductions.cannon_tournament.messages import MessageSocket
from cc_env.reproductions.cannon_tournament.program_lines import check_game

ProtocolName = Annotated[str, Option(help="cannon (the protocol of the Cannon tournament) or ugi.")]
Seed = Annotated[int, Option(help="Seed of all random choices.", min=0, max=2**31 - 1)]


def engine(
    player: Annotated[str, Argument(help="The player, e.g. minimax:hard.", show_default=False)],
    game: GameName = "capture_conquer",
    option: GameOptions = None,
    seed: Seed = 0,
) -> None:
    """Run a player as a UGI engine on stdin and stdout, for any game.

    UGI is UCI for all games; `python -m pydoc cc_env.play.ugi_engine` describes its commands.
    """
    check_spec(player)
    channel = Channel(sys.stdin.fileno(), sys.stdout.fileno())
    _serve_ugi(player, make_game(game, **game_options(option, game=game)), channel, seed)


def host(
    protocol: ProtocolName = "cannon",
    game: GameName = "cannon",
    option: GameOptions = None,
    address: Address = LOOPBACK,
    port: Port = 0,
    player: Annotated[
        list[str] | None,
        Option("--player", "-p", help="A local player, e.g. minimax:hard; twice for both seats."),
    ] = None,
    seat: Annotated[
        int,
        Option(min=0, max=1, help="The seat of a single local player: 0 moves first, 1 second."),
    ] = 1,
    seconds: Annotated[
        float, Option(help="Time limit of each program for the game, in seconds.")
    ] = 150,
    patience: Annotated[
        float, Option(help="Seconds to wait for clients, and for each one to be ready or move.")
    ] = 150,
    log_file: Annotated[
        Path | None,
        Option(
            "--log",
            metavar="FILE",
            help="Write the game to this file: a log; with UGI a record, .jsonl.",
        ),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Host a game between two programs, which connect over TCP.

    Local players can take seats, too.
    """
    check_time_limits(seconds=seconds, patience=patience)
    hosted_game = make_game(game, **game_options(option, game=game))
    specs = player or []
    if len(specs) > 2:
        raise BadOption(f"{len(specs)} players; expected: at most 2")
    if check_protocol(protocol) == "cannon":
        check_game(hosted_game)
    seats: list[_Seat] = [_LocalPlayer(spec, make_player(spec, hosted_game)) for spec in specs]
    needed = 2 - len(seats)
    with exit_on_sigterm(), ExitStack() as stack:
        write_log = _open_log(log_file, stack)
        clients = _accept_clients(needed, (address, port), patience, stack)
        if len(clients) < needed:
            _reject_clients(clients, protocol)
            connections = f"{len(clients)} clients connected in {patience:g} s"
            raise TimeoutError(f"{connections}; expected: {needed}")
        seats = [*seats, *clients] if len(seats) == 1 and seat == 0 else [*clients, *seats]
        play_hosted = _play_tournament if protocol == "cannon" else _play_ugi
        for line in play_hosted(hosted_game, seats, _Terms(seconds, patience, seed), write_log):
            print(escape_controls(line))


class _LocalPlayer(NamedTuple):
    """A player of this process."""

    spec: str
    player: Player


_Seat = _LocalPlayer | tcp.Connection


class _Terms(NamedTuple):
    """Settings of a hosted game."""

    # Seconds of each program for the game.
    seconds: float
    # Seconds to wait for a client.
    patience: float
    seed: int


def _play_tournament(
    game: Game, seats: list[_Seat], terms: _Terms, write_log: Callable[[str], None]
) -> Iterator[str]:
    """Play a game by the tournament's protocol; yield a summary of the result."""
    first, second = (
        server.LocalSeat(seat.player, terms.seed + index)
        if isinstance(seat, _LocalPlayer)
        else server.RemoteSeat(MessageSocket(seat.socket), terms.patience)
        for index, seat in enumerate(seats)
    )
    finished = server.play_game(game, (first, second), seconds=terms.seconds, write_log=write_log)
    match, result = finished.match, finished.match.result
    assert result is not None
    turns = format_count(len(match.turns), "turn")
    yield f"{RESULTS[result.outcome]} ({result.reason}), {turns}"
    yield finished.meta + (f" ({finished.detail})" if finished.detail else "")


def _play_ugi(
    game: Game, seats: list[_Seat], terms: _Terms, write_log: Callable[[str], None]
) -> Iterator[str]:
    """Play a game by UGI; yield a summary of the result."""
    channels: list[SocketChannel] = []
    players: list[Player] = []
    names: list[str] = []
    for seat in seats:
        if isinstance(seat, _LocalPlayer):
            players.append(seat.player)
            names.append(seat.spec)
            continue
        channel, driver = SocketChannel(seat.socket), UGIDriver()
        channels.append(channel)
        clock = Clock(turn=terms.patience)
        players.append(ProgramConnection(game, seat.peer, driver, channel, clock, terms.patience))
        names.append(driver.name or seat.peer)
    try:
        limits = Limits(seconds_per_game=terms.seconds)
        game_record = play_match(game, players, names=names, limits=limits, seed=terms.seed)
    finally:
        for channel in channels:
            with suppress(EOFError, TimeoutError, OSError, ValueError):
                channel.write_line(UGIDriver.farewell, time.perf_counter() + 1)
            channel.close()
    write_log(game_record.to_json())
    scores = record.replay(game_record).score
    score_text = ", scores {:g} - {:g}".format(*scores) if scores and game.has_scores else ""
    turns = format_count(len(game_record.turns), "turn")
    yield f"{' - '.join(names)}  {game_record.result} ({game_record.reason}){score_text}, {turns}"
    if game_record.detail:
        yield game_record.detail


def _reject_clients(clients: list[tcp.Connection], protocol: str) -> None:
    """Inform clients that no game starts, and disconnect them."""
    for client in clients:
        connection = MessageSocket(client.socket)
        too_few = log.message("KILLPROC", meta=server.TOO_FEW)
        connection.send(too_few if protocol == "cannon" else f"{UGIDriver.farewell}\n")
        connection.close()


def _accept_clients(
    count: int, address: tuple[str, int], timeout: float, stack: ExitStack
) -> list[tcp.Connection]:
    """Accept `count` connections, or fewer after `timeout` seconds."""
    connections = list[tcp.Connection]()
    if not count:
        return connections
    listener = stack.enter_context(tcp.listen(*address))
    print("listening on {}:{}".format(*listener.getsockname()[:2]), flush=True)
    until = time.perf_counter() + timeout
    while len(connections) < count and (remaining := until - time.perf_counter()) > 0:
        listener.settimeout(remaining)
        with suppress(TimeoutError):
            connections.append(tcp.accept(listener))
            stack.callback(connections[-1].socket.close)
    return connections


def _open_log(path: Path | None, stack: ExitStack) -> Callable[[str], None]:
    """Return a function that writes lines to a file unbuffered, or discards them."""
    if path is None:
        return lambda line: None
    file = stack.enter_context(path.open("w", encoding="utf-8"))
    return lambda line: print(line, file=file, flush=True)


def join(
    address: Annotated[
        str, Argument(metavar="HOST", help="The address to connect to.", show_default=False)
    ],
    port: Annotated[
        int, Argument(min=1, max=65535, help="The port to connect to.", show_default=False)
    ],
    player: Annotated[str, Argument(help="The player, e.g. minimax:hard.")],
    protocol: ProtocolName = "cannon",
    seed: Seed = 0,
) -> None:
    """Join a game that another program hosts, over TCP."""
    check_spec(player)
    is_ugi = check_protocol(protocol) == "ugi"
    with exit_on_sigterm(), tcp.connect(address, port) as connection:
        connection.settimeout(None)
        if is_ugi:
            _serve_ugi(player, make_game("capture_conquer"), SocketChannel(connection), seed)
            return
        try:
            result = server.join_game(MessageSocket(connection), partial(make_player, player), seed)
            print(escape_controls(result))
        except TimeoutError as error:
            seconds = f"{server.MESSAGE_TIMEOUT_SECONDS:g} seconds"
            raise ConnectionError(f"{address}:{port} has sent nothing for {seconds}") from error
        except EOFError as error:
            raise ConnectionError(f"{address}:{port} has closed the connection") from error


def _serve_ugi(player: str, game: Game, channel: Channel, seed: int) -> None:
    """Run a player as a UGI engine on a channel until it is closed."""
    lock = threading.Lock()

    def write(line: str) -> None:
        with lock, suppress(EOFError):
            channel.write_line(line)

    serve(UGIEngine(player, game, write, seed=seed), channel)


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Raise SystemExit in the block on SIGTERM, so that programs and clients are notified."""

    def exit_process(*_: object) -> None:
        sys.exit(128 + signal.SIGTERM)

    is_main = threading.current_thread() is threading.main_thread()
    previous = signal.signal(signal.SIGTERM, exit_process) if is_main else None
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, previous)


COMMANDS = (engine, host, join)
