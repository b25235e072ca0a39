"""Processes of low priority in which players think, so that nobody who plays has to wait for them.

A thread of low priority that waits for a core may hold the interpreter's lock meanwhile, for which
the event loop then waits, too. A process has a lock of its own.
"""

import asyncio
import gc
import logging
import multiprocessing
import os
import queue
import signal
import threading
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from cc_env import checkout, games, referee
from cc_env.errors import Forfeit
from cc_env.game import Game
from cc_env.play.bench import Bench, Lent
from cc_env.referee import Answer, Clock, Decision
from cc_env.rules import Position

NICE = 15  # how much less than other processes they get of a core, as Unix counts
PRELOADED = ["cc_env.play.workers", "cc_env.players"]  # imported once for all, where one can fork
ATTEMPTS = 2  # processes that may end over one question
_log = logging.getLogger(__name__)


class Workers:
    """As many processes as think at once; safe to use from many threads.

    They start when they are needed, stay, and end with this process, however that ends.
    """

    def __init__(self) -> None:
        """Begin with none."""
        can_fork = "forkserver" in multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("forkserver" if can_fork else "spawn")
        if can_fork:
            self._context.set_forkserver_preload(PRELOADED)
            forkserver.ensure_running()  # imports meanwhile
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._is_closed = False

    def choose(
        self, name: str, game: Game, position: Position, rng: np.random.Generator, clock: Clock
    ) -> Decision:
        """Return what the player of this name decides; raise Forfeit where it fails.

        A process that ends over it is replaced by another, which is asked again. Raises
        CancelledError once these are closed.
        """
        for _ in range(ATTEMPTS):
            worker = self._take()
            try:
                answer, state = worker.ask(name, game, position, rng, clock)
            except (EOFError, OSError):
                self._drop(worker)
                continue
            with self._lock:
                self._idle.append(worker)
            rng.bit_generator.state = state
            if answer.decision is None:
                raise Forfeit(*(answer.fault or ("error", "")))
            return answer.decision
        raise Forfeit("error", "the process in which it thinks has ended, again and again")

    @property
    def processes(self) -> set[int]:
        """Return the numbers of the processes that there are."""
        with self._lock:
            return {worker.process.pid for worker in self._all}

    def _take(self) -> "_Worker":
        with self._lock:
            if self._is_closed:
                raise asyncio.CancelledError
            if self._idle:
                return self._idle.pop()
            worker = _Worker(self._context)
            self._all.add(worker)
            return worker

    def _drop(self, worker: "_Worker") -> None:
        worker.end()
        with self._lock:
            self._all.discard(worker)
            if not self._is_closed:
                _log.warning("a process in which players think has ended; another replaces it")

    def close(self) -> None:
        """End them, whatever they think about."""
        with self._lock:
            self._is_closed = True
            for worker in self._all:
                worker.end()


class _Worker:
    """One process, asked one question at a time."""

    def __init__(self, context: Any) -> None:
        self._ours, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()  # so that the end of the process is the end of what can be read

    def ask(
        self, name: str, game: Game, position: Position, rng: np.random.Generator, clock: Clock
    ) -> tuple[Answer, Any]:
        """Return the answer, and the state of the generator then; raise EOFError, OSError."""
        made = game.name, dict(game.options)
        self._ours.send((name, made, position, rng, clock))
        answer: tuple[Answer, Any] = self._ours.recv()
        return answer

    def end(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.join()


def _work(connection: Connection) -> None:
    """Answer questions until the process that asks has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server's matter
    if hasattr(os, "nice"):
        os.nice(NICE)
    checkout.know_learned_players()
    gc.freeze()  # what is imported stays
    questions: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_think, args=(connection, questions), daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            questions.put(connection.recv())
    os._exit(0)  # also from the middle of a search


def _think(connection: Connection, questions: "queue.SimpleQueue[Any]") -> None:
    there = Bench()
    try:
        while True:
            name, (kind, options), position, rng, clock = questions.get()
            player = Lent(there, name, games.make(kind, **options))
            answer = referee.ask(player, position, rng, clock)
            connection.send((answer, rng.bit_generator.state))
    finally:
        os._exit(1)  # rather than never to answer
