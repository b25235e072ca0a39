"""A server that is killed while people play: no confirmed decision is lost, and none invented.

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
MOST = 60  # messages that are sent and confirmed between two kills
KINDS = "capture_conquer", "mini_checkers", "morris"


def nursery(listening, folder, calls):
    """Start a server at each call, of what is imported and loaded once; tell its number."""
    for kind in KINDS:
        view.session_state(GameSession(make_game(kind), (HUMAN, HUMAN)))
    forks = multiprocessing.get_context("fork")
    while calls.recv():
        process = forks.Process(target=serve, args=(listening, folder))
        process.start()
        calls.send(process.pid)
        process.join()
        calls.send(process.exitcode)


def serve(listening, folder):
    """Serve until killed."""
    site = app.create_app(
        Path(folder), limits=ServerLimits(messages_per_second=10**6, joins_per_second=10**6)
    )
    config = uvicorn.Config(site, log_level="critical", ws="websockets-sansio")
    uvicorn.Server(config).run([listening])


class Killing:
    """Servers of one folder and port, each killed after so many messages."""

    def __init__(self, folder, rng):
        self.folder, self.rng = folder, rng
        self._listening = socket.create_server(("127.0.0.1", 0))  # clients wait for the next
        self.port = self._listening.getsockname()[1]
        self._left = 0
        self._calls, theirs = multiprocessing.Pipe()
        arguments = self._listening, str(folder), theirs
        spawned = multiprocessing.get_context("spawn")
        self._nursery = spawned.Process(target=nursery, args=arguments)
        self._nursery.start()

    def start(self):
        self._left = self.rng.randint(1, MOST)
        self._calls.send(True)
        self._server = self._calls.recv()

    @property
    def is_killed(self):
        return self._left <= 0

    def count(self):
        """Count a message that was sent or confirmed; kill the server after the last."""
        self._left -= 1
        if not self._left:
            os.kill(self._server, signal.SIGKILL)

    def end(self):
        """Wait until the server is gone."""
        assert self._calls.recv() == -signal.SIGKILL

    def close(self):
        if not self.is_killed:
            os.kill(self._server, signal.SIGKILL)
        self._calls.send(False)
        self._nursery.join()
        self._listening.close()


class Person:
    """Somebody who has both seats of a game, and notes what was confirmed."""

    def __init__(self, opened, killing):
        self._name, self._tokens = opened["game"], opened["tokens"]
        self._killing, self._rng = killing, random.Random(killing.rng.random())
        self.confirmed, self.asked = [], None  # actions; what has been asked for since

    async def play(self):
        """Go on until the server is gone."""
        here = f"127.0.0.1:{self._killing.port}"
        try:
            place = connect(
                f"ws://{here}/play/{self._name}", origin=f"http://{here}", open_timeout=None
            )
            async with place as socket:
                await socket.send(json.dumps({"tokens": self._tokens}))
                state = await self._state(socket)
                assert self.check() == state["decisions"]
                while True:
                    self.asked = self._wish(state)
                    await socket.send(json.dumps({**self.asked, "version": state["version"]}))
                    self._killing.count()
                    state = await self._state(socket)
                    self._note(state)
                    self._killing.count()
        except (WebSocketException, OSError, EOFError):
            return  # it has been killed

    async def _state(self, socket):
        while True:
            message = json.loads(await socket.recv())
            assert message["type"] != "refused", message
            if message["type"] == "state":
                return message

    def _wish(self, state):
        if state["result"] or (self.confirmed and self._rng.random() < 0.1):
            return {"do": "take_back"}
        return {"do": "play", "action": self._rng.choice(state["choices"])[0]}

    def _note(self, state):
        """Take what was asked for as confirmed."""
        if self.asked["do"] == "play":
            self.confirmed.append(self.asked["action"])
        else:
            assert state["decisions"] < len(self.confirmed)
            del self.confirmed[state["decisions"] :]
        assert state["decisions"] == len(self.confirmed)
        self.asked = None

    def check(self):
        """Assert that the game stands at what was confirmed, or else at what was asked for.

        Return how many decisions that are.
        """
        path = self._killing.folder / f"{self._name}.jsonl"
        assert path.read_bytes().endswith(b"\n")
        kept = [decision.action for decision in Journal(path).read(make_player).session.decisions]
        if self.asked is None or kept == self.confirmed:
            assert kept == self.confirmed
        elif self.asked["do"] == "play":
            assert kept == [*self.confirmed, self.asked["action"]]
        else:
            assert kept == self.confirmed[: len(kept)]
        self.confirmed, self.asked = kept, None
        return len(kept)


async def kill(times, folder, seed):
    """Let people play while servers are killed; return how many decisions they had confirmed."""
    killing, count, people = Killing(folder, random.Random(seed)), 0, []
    try:
        for _ in range(times):
            killing.start()
            if not people:
                site = Server(killing.port, 0)
                opened = [await site.begin(kind, (HUMAN, HUMAN)) for kind in KINDS]
                people = [Person(room, killing) for room in opened]
            await asyncio.gather(*(person.play() for person in people))
            assert killing.is_killed
            killing.end()
            count += sum(len(person.confirmed) for person in people)
    finally:
        killing.close()
    for person in people:
        person.check()
    return count


@pytest.mark.slow
def test_no_confirmed_decision_is_lost_when_the_server_is_killed(tmp_path):
    assert asyncio.run(kill(KILLS, tmp_path, seed=1)) > 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        count = asyncio.run(kill(int(sys.argv[1]), Path(folder), seed=2))
    print(f"killed {sys.argv[1]} times; {count:,} confirmed decisions were there again")
