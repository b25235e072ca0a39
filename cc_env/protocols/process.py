"""External programs as child processes that end with all their descendants.

A program runs in a session of its own, so that it and its children form one process group. A marker
in its environment, which children inherit, identifies descendants that leave the group (on Linux,
in /proc); the process tree does not, because the parent of a daemon has ended. A descendant that
both leaves the group and clears its environment is missed. All others are killed when the channel
is closed or garbage-collected, when this process exits, and, by a guard shell, when this process is
killed.
"""

import os
import secrets
import signal
import subprocess
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO

from cc_env.protocols.channel import Channel

# Time for a program to end by itself.
GRACE_SECONDS = 0.3
_POLL_SECONDS = 0.005
# Unless the guard reads a line, it kills the group $0 and all processes with $1 in their
# environment.
_GUARD = """read _ && exit; kill -s KILL -- "-$0"
for _ in 1 2 3 4 5; do grep -lsF "$1" /proc/[0-9]*/environ; sleep .05; done |
while IFS=/ read -r _ _ process _; do kill -s KILL "$process"; done"""
_PROC = Path("/proc")
# Searches for marked processes, which may start others while they are killed.
_MAX_SEARCHES = 100
# Searches while no process is marked but some may be in the middle of execve.
_MAX_SEARCHES_DURING_EXEC = 40


class ProcessChannel(Channel):
    """Lines to and from a program, started by the constructor."""

    def __init__(self, command: list[str], farewell: str = "") -> None:
        """Start the program; `farewell` is the line that ends it.

        Raises OSError if the program cannot be started.
        """
        marker = f"CC_ENV_PROGRAM_{secrets.token_hex(16)}"
        process = subprocess.Popen(
            command,
            bufsize=0,
            start_new_session=True,
            env={**os.environ, marker: "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            guard = _start_guard(process.pid, marker)
        except OSError:
            _kill(process, marker)
            raise
        source, sink, stderr = (stream.fileno() for stream in _streams(process))
        os.set_blocking(sink, False)
        super().__init__(source, sink, stderr)
        self._process, self._marker = process, marker
        kill = partial(_kill, process, marker)
        self._end = weakref.finalize(
            self, _end_program, process, guard, kill, farewell, os.getpid()
        )

    def check(self) -> None:
        """Raise EOFError if the program has ended; its children may keep the descriptors open."""
        if _has_ended(self._process):
            raise EOFError("the program has ended")

    def close(self) -> None:
        """End the program and all its descendants."""
        self._end()

    def kill(self) -> None:
        """Kill the program and all its descendants."""
        _kill(self._process, self._marker)
        self._end()


def _start_guard(group: int, marker: str) -> "subprocess.Popen[bytes]":
    """Start the shell that kills the program when this process is killed."""
    return subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, str(group), marker],
        bufsize=0,
        start_new_session=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _streams(process: "subprocess.Popen[bytes]") -> list[IO[bytes]]:
    """Return stdout, stdin and stderr."""
    streams = process.stdout, process.stdin, process.stderr
    return [stream for stream in streams if stream is not None]


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Return whether a process has ended, without reaping it: its group id stays reserved."""
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _kill(process: "subprocess.Popen[bytes]", marker: str) -> None:
    """Kill the group of a process and all processes with this marker in their environment."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    for search in range(_MAX_SEARCHES):
        pids, in_exec = _find_marked_processes(marker)
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not pids and not (in_exec and search < _MAX_SEARCHES_DURING_EXEC):
            return
        time.sleep(_POLL_SECONDS)


def _find_marked_processes(marker: str) -> tuple[list[int], bool]:
    """Return the ids of processes with this marker, and whether any process may be in execve.

    While a process replaces its program, Linux shows its environment as empty, so it may be marked.
    Kernel threads and zombies, which have no environment either, have no executable.
    """
    pids = []
    in_exec = False
    for folder in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            environment = (folder / "environ").read_bytes()
            if marker.encode() in environment:
                pids.append(int(folder.name))
            elif not environment:
                in_exec = in_exec or bool((folder / "exe").readlink())
    return pids, in_exec


def _end_program(
    process: "subprocess.Popen[bytes]",
    guard: "subprocess.Popen[bytes]",
    kill: Callable[[], None],
    farewell: str,
    owner_pid: int,
) -> None:
    """Send the farewell and close stdin, wait up to GRACE_SECONDS, then kill all that remains."""
    # A fork of the owner must not end the program.
    if os.getpid() != owner_pid:
        return
    source, sink, stderr = _streams(process)
    with suppress(OSError):
        if farewell:
            sink.write(farewell.encode() + b"\n")
    with suppress(OSError):
        sink.close()
    deadline = time.perf_counter() + GRACE_SECONDS
    while not _has_ended(process) and time.perf_counter() < deadline:
        time.sleep(_POLL_SECONDS)
    kill()
    process.wait()
    source.close()
    stderr.close()
    # A line ends the guard without killing.
    guard.communicate(b"\n")
