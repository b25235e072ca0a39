"""A server that is killed while clients play loses no confirmed decision and adds none.

A command without an answer is sent again to the next server, and executed once.

    python tests/server/test_kills.py 100

kills it a hundred times.
"""

import asyncio
import json
import multiprocessing
import os
import random
import signal
import socket
import sys
import tempfile
from pathlib import Path

import pytest
import uvicorn
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from benchmarks.load import Server
from cc_env.games.factory import make_game
from cc_env.play import view
from cc_env.play.session import HUMAN, GameSession
from cc_env.players.specs import make_player
from cc_env.server import app
from cc_env.server.journal import Journal
from cc_env.server.limits import ServerLimits

KILLS = 6
MAX_MESSAGES_PER_KILL = 60
KINDS = "capture_conquer", "mini_checkers", "morris"


def fork_servers(server_socket, folder, calls):
    """Fork a server with loaded modules at each call; send its pid, later its exit code."""
    for kind in KINDS:
        view.session_state(GameSession(make_game(kind), (HUMAN, HUMAN)))
    forks = multiprocessing.get_context("fork")
    while calls.recv():
        process = forks.Process(target=serve, args=(server_socket, folder))
        process.start()
        calls.send(process.pid)
        process.join()
        calls.send(process.exitcode)


def serve(server_socket, folder):
    """Serve until killed."""
    site = app.create_app(
        Path(folder), limits=ServerLimits(messages_per_second=10**6, joins_per_second=10**6)
    )
    config = uvicorn.Config(site, log_level="critical", ws="websockets-sansio")
    uvicorn.Server(config).run([server_socket])


class KilledServers:
    """Servers of one folder and port, each killed after a random number of messages."""

    def __init__(self, folder, rng):
        self.folder, self.rng = folder, rng
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._messages_left = 0
        self._calls, theirs = multiprocessing.Pipe()
        arguments = self._socket, str(folder), theirs
        spawned = multiprocessing.get_context("spawn")
        self._forker = spawned.Process(target=fork_servers, args=arguments)
        self._forker.start()

    def start(self):
        self._messages_left = self.rng.randint(1, MAX_MESSAGES_PER_KILL)
        self._calls.send(True)
        self._server = self._calls.recv()

    @property
    def is_killed(self):
        return self._messages_left <= 0

    def count(self):
        """Count a message that was sent or confirmed; kill the server after the last."""
        self._messages_left -= 1
        if not self._messages_left:
            os.kill(self._server, signal.SIGKILL)

    def end(self):
        """Wait until the server is gone."""
        assert self._calls.recv() == -signal.SIGKILL

    def close(self):
        if not self.is_killed:
            os.kill(self._server, signal.SIGKILL)
        self._calls.send(False)
        self._forker.join()
        self._socket.close()


class PlayingClient:
    """A client with both seats of a game; records the confirmed decisions."""

    def __init__(self, opened, servers):
        self._name, self._tokens = opened["game"], opened["tokens"]
        self._servers, self._rng = servers, random.Random(servers.rng.random())
        self.confirmed, self.pending, self._number = [], None, 0

    async def play(self):
        """Play until the server is killed."""
        host = f"127.0.0.1:{self._servers.port}"
        try:
            place = connect(
                f"ws://{host}/play/{self._name}", origin=f"http://{host}", open_timeout=None
            )
            async with place as socket:
                await socket.send(json.dumps({"tokens": self._tokens, "client": "player"}))
                state = await self._send_again(socket, await self._state(socket))
                while True:
                    self.pending = self._next_command(state)
                    await socket.send(json.dumps(self.pending))
                    self._servers.count()
                    state = await self._state(socket)
                    self._confirm(state)
                    self._servers.count()
        except (WebSocketException, OSError, EOFError):
            return

    async def _state(self, socket):
        while True:
            message = json.loads(await socket.recv())
            assert message["type"] != "error", message
            if message["type"] == "state":
                return message

    async def _send_again(self, socket, state):
        """Send the command without an answer again; return the state after its only execution."""
        pending, before = self.pending, list(self.confirmed)
        assert self.check() == state["decisions"]
        if not pending:
            return state
        is_executed = self.confirmed != before
        if not is_executed:
            self.pending = pending
        await socket.send(json.dumps(pending))
        while (message := json.loads(await socket.recv()))["type"] != "accepted":
            assert message["type"] != "error", message
            if message["type"] == "state":
                assert not is_executed
                state = message
        if not is_executed:
            self._confirm(state)
        assert state["decisions"] == len(self.confirmed)
        return state

    def _next_command(self, state):
        self._number += 1
        fields = {"version": state["version"], "number": self._number}
        if state["result"] or (self.confirmed and self._rng.random() < 0.1):
            return {"command": "take_back", **fields}
        return {"command": "play", "action": self._rng.choice(state["choices"])[0], **fields}

    def _confirm(self, state):
        """Record the confirmation of the pending command."""
        if self.pending["command"] == "play":
            self.confirmed.append(self.pending["action"])
        else:
            assert state["decisions"] < len(self.confirmed)
            del self.confirmed[state["decisions"] :]
        assert state["decisions"] == len(self.confirmed)
        self.pending = None

    def check(self):
        """Assert that the game has the confirmed decisions, or also the pending one.

        Return the number of decisions.
        """
        path = self._servers.folder / f"{self._name}.jsonl"
        assert path.read_bytes().endswith(b"\n")
        stored_actions = [
            decision.action for decision in Journal(path).read(make_player).session.decisions
        ]
        if self.pending is None or stored_actions == self.confirmed:
            assert stored_actions == self.confirmed
        elif self.pending["command"] == "play":
            assert stored_actions == [*self.confirmed, self.pending["action"]]
        else:
            assert stored_actions == self.confirmed[: len(stored_actions)]
        self.confirmed, self.pending = stored_actions, None
        return len(stored_actions)


async def kill(times, folder, seed):
    """Play while servers are killed; return the number of confirmed decisions."""
    servers, count, clients = KilledServers(folder, random.Random(seed)), 0, []
    try:
        for _ in range(times):
            servers.start()
            if not clients:
                site = Server(servers.port, 0)
                opened = [await site.create_game(kind, (HUMAN, HUMAN)) for kind in KINDS]
                clients = [PlayingClient(room, servers) for room in opened]
            await asyncio.gather(*(client.play() for client in clients))
            assert servers.is_killed
            servers.end()
            count += sum(len(client.confirmed) for client in clients)
    finally:
        servers.close()
    for client in clients:
        client.check()
    return count


@pytest.mark.slow
def test_no_confirmed_decision_is_lost_when_the_server_is_killed(tmp_path):
    assert asyncio.run(kill(KILLS, tmp_path, seed=1)) > 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        count = asyncio.run(kill(int(sys.argv[1]), Path(folder), seed=2))
    print(f"killed {sys.argv[1]} times; {count:,} confirmed decisions were kept")
