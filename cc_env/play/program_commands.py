"""Commands for programs that play: `engine`, `host` and `join` of `python -m cc_env`."""

import math
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated

from cc_env import games, options, players
from cc_env.errors import MissingExtra, UnknownOption
from cc_env.games.cannon import log
from cc_env.play import tournament
from cc_env.play.channel import Channel
from cc_env.play.engine import Engine, serve
from cc_env.play.wire import Wire
from cc_env.record import RESULTS

try:
    import typer
except ImportError as missing:
    raise MissingExtra("python -m cc_env", "typer and rich", "cli") from missing

GameName = Annotated[str, typer.Option("--game", "-g", help="Which game; `games` lists them.")]
Pairs = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="NAME=VALUE", help="An option of the game, e.g. rows=8"),
]
Protocol = Annotated[str, typer.Option(help="cannon: that of the Cannon tournament.")]
Seed = Annotated[int, typer.Option(help="Of random choices.", min=0, max=2**31 - 1)]


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
        str, typer.Argument(help="Who plays, e.g. minimax:hard.", show_default=False)
    ],
    game: GameName = "capture_conquer",
    option: Pairs = None,
    seed: Seed = 0,
) -> None:
    """Let a player speak UGI on stdin and stdout, as UCI's engines do; any game can be set."""
    say = _Printer()
    made = games.make(game, **options.read(option or []))
    serve(Engine(player, made, say, seed=seed), Channel(sys.stdin.fileno()), say)


def host(
    protocol: Protocol = "cannon",
    address: Annotated[str, typer.Option("--host", help="Where it listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 0,
    player: Annotated[
        list[str] | None,
        typer.Option("--player", "-p", help="Who plays here: none, one, or both in order."),
    ] = None,
    seat: Annotated[
        int, typer.Option(min=1, max=2, help="Where the only player here sits; 1 moves first.")
    ] = 2,
    option: Pairs = None,
    seconds: Annotated[float, typer.Option(help="That each has for the game.")] = 150,
    patience: Annotated[
        float, typer.Option(help="Seconds to wait for a client, and for each of its messages.")
    ] = 150,
    log_file: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="Write the game there.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Let two programs play a game: they connect, in the order of their turns, or play here."""
    check_seconds(seconds=seconds, patience=patience)
    names = player or []
    if len(names) > 2:
        raise UnknownOption(f"{len(names)} players; a game has two")
    made = games.make("cannon", **options.read(option or []))
    here = [tournament.Here(players.make(name, made), seed + at) for at, name in enumerate(names)]
    with ended_by_signals(), ExitStack() as stack:
        note = _printer_to(log_file, stack)
        wires = _connected(2 - len(here), (address, port), patience, stack)
        if len(wires) + len(here) < 2:
            for wire in wires:
                wire.send(log.message("KILLPROC", meta=tournament.TOO_FEW))
                wire.close()
            raise UnknownOption(
                f"{len(wires)} clients came in {patience:g} s; wanted: {2 - len(here)}"
            )
        seats: list[tournament.Seat] = [tournament.Client(wire, patience) for wire in wires]
        for each in here:
            seats.insert(len(seats) if len(here) == 2 else seat - 1, each)
        found = tournament.play(made, (seats[0], seats[1]), seconds=seconds, note=note)
    assert found.match.result is not None
    result = RESULTS[found.match.result.outcome]
    print(f"{result} ({found.match.result.reason}), {len(found.match.turns)} turns")
    print(found.meta + (f" ({found.detail})" if found.detail else ""))


def _connected(
    count: int, address: tuple[str, int], patience: float, stack: ExitStack
) -> list[Wire]:
    """Return so many connections, or fewer if no more come in time."""
    wires = list[Wire]()
    if not count:
        return wires
    server = stack.enter_context(socket.create_server(address))
    print("listening on {}:{}".format(*server.getsockname()[:2]), flush=True)
    until = time.perf_counter() + patience
    while len(wires) < count and (left := until - time.perf_counter()) > 0:
        server.settimeout(left)
        with suppress(TimeoutError):
            wires.append(Wire(server.accept()[0]))
    return wires


def _printer_to(path: Path | None, stack: ExitStack) -> Callable[[str], None]:
    """Return what writes lines to a file, at once."""
    if path is None:
        return lambda line: None
    file = stack.enter_context(path.open("w", encoding="utf-8"))
    return lambda line: print(line, file=file, flush=True)


def join(
    address: Annotated[str, typer.Argument(metavar="HOST", show_default=False)],
    port: Annotated[int, typer.Argument(min=1, max=65535, show_default=False)],
    player: Annotated[str, typer.Argument(help="Who plays, e.g. minimax:hard.")],
    protocol: Protocol = "cannon",
    seed: Seed = 0,
) -> None:
    """Let a player play at somebody else's host, over TCP."""
    players.check(player)
    with ended_by_signals(), socket.create_connection((address, port)) as connection:
        try:
            print(tournament.join(Wire(connection), partial(players.make, player), seed))
        except (EOFError, TimeoutError) as error:
            said = "is silent" if isinstance(error, TimeoutError) else "has closed the connection"
            raise ConnectionError(f"{address}:{port} {said}") from error


def check_seconds(**given: float) -> None:
    """Raise UnknownOption for what is no time."""
    for name, value in given.items():
        if not (math.isfinite(value) and value > 0):
            raise UnknownOption(f"{name}={value}; it is more than 0")


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
