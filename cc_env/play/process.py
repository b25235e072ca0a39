"""A program that runs beside us, and ends with all its children when nobody needs it any more.

It has a session of its own, so that it and its children are one group, which is killed as a whole:
when the channel is closed, when it is garbage, when this process exits, and, by a shell that waits
for that, when this process is killed.
"""

import os
import signal
import subprocess
import time
import weakref
from contextlib import suppress
from typing import IO

from cc_env.play.channel import Channel

GRACE = 0.3  # seconds in which it may end by itself
_SLICE = 0.005
_GUARD = 'read _ || kill -s KILL -- "-$0"'  # unless told that the group is gone, kill it


class ProcessChannel(Channel):
    """Lines to and from a program, which this starts."""

    def __init__(self, command: list[str], farewell: str = "") -> None:
        """Start the program; `farewell` is the line that asks it to end. Raises OSError."""
        process = subprocess.Popen(
            command,
            bufsize=0,
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            guard = _guard(process.pid)
        except OSError:
            _kill(process)
            raise
        source, sink, aside = (stream.fileno() for stream in _streams(process))
        os.set_blocking(sink, False)
        super().__init__(source, sink, aside)
        self._process = process
        self._end = weakref.finalize(self, _end, process, guard, farewell, os.getpid())

    def check(self) -> None:
        """As `Channel.check`: children may hold its descriptors."""
        if _has_ended(self._process):
            raise EOFError("it has ended")

    def close(self) -> None:
        """End the program and all its children."""
        self._end()

    def kill(self) -> None:
        """End them at once."""
        _kill(self._process)
        self._end()


def _guard(group: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, str(group)],
        bufsize=0,
        start_new_session=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _streams(process: "subprocess.Popen[bytes]") -> list[IO[bytes]]:
    """Return what is read from, written to, and read aside."""
    streams = process.stdout, process.stdin, process.stderr
    return [stream for stream in streams if stream is not None]


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Return whether it has, and leave it in the table of processes: its group keeps its number."""
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _kill(process: "subprocess.Popen[bytes]") -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _end(
    process: "subprocess.Popen[bytes]",
    guard: "subprocess.Popen[bytes]",
    farewell: str,
    owner: int,
) -> None:
    """Ask a program to end, then kill what is left of its group."""
    if os.getpid() != owner:  # a copy of the process that has started it
        return
    source, sink, aside = _streams(process)
    with suppress(OSError):
        if farewell:
            sink.write(farewell.encode() + b"\n")
    with suppress(OSError):
        sink.close()
    until = time.perf_counter() + GRACE
    while not _has_ended(process) and time.perf_counter() < until:
        time.sleep(_SLICE)
    _kill(process)
    process.wait()
    source.close()
    aside.close()
    assert guard.stdin
    with suppress(OSError):
        guard.stdin.write(b"\n")
        guard.stdin.close()
    guard.wait()
