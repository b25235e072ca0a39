"""A server that is killed while people play: no confirmed decision is lost, and none invented.

    python tests/play/test_kills.py 100

kills it a hundred times.
"""

import asyncio
import json
import multiprocessing
import random
import socket
import sys
import tempfile
from pathlib import Path

import pytest
import uvicorn
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from benchmarks.load import Server
from cc_env.play import server
from cc_env.play.bench import Bench
from cc_env.play.journal import Journal
from cc_env.play.lobby import Bounds
from cc_env.play.sitting import HUMAN

KILLS = 6
MOST = 60  # messages that are sent and confirmed between two kills
KINDS = "capture_conquer", "mini_checkers", "morris"
FORKS = multiprocessing.get_context("forkserver")  # what is imported once serves many times


def serve(listening, folder):
    """Serve until killed."""
    app = server.application(Path(folder), bounds=Bounds(messages=1e6))
    config = uvicorn.Config(app, log_level="critical", ws="websockets-sansio")
    uvicorn.Server(config).run([listening])


class Killing:
    """Servers of one folder and port, each killed after so many messages."""

    def __init__(self, folder, rng):
        self.folder, self.rng = folder, rng
        self._listening = socket.create_server(("127.0.0.1", 0))  # clients wait for the next
        self.port = self._listening.getsockname()[1]
        self._process = None

    def start(self):
        self._left = self.rng.randint(1, MOST)
        self._process = FORKS.Process(target=serve, args=(self._listening, str(self.folder)))
        self._process.start()

    @property
    def is_killed(self):
        return self._left <= 0

    def count(self):
        """Count a message that was sent or confirmed; kill the server after the last."""
        self._left -= 1
        if not self._left:
            self._process.kill()

    def end(self):
        self._process.kill()
        self._process.join()

    def close(self):
        self.end()
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
                self._check(state)
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

    def _check(self, state):
        """Assert that the game stands at what was confirmed, or else at what was asked for."""
        path = self._killing.folder / f"{self._name}.jsonl"
        assert path.read_bytes().endswith(b"\n")
        decisions = Journal(path).read(Bench()).sitting.decisions
        found = [decision.action for decision in decisions]
        assert state["decisions"] == len(found)
        if self.asked is None or found == self.confirmed:
            assert found == self.confirmed
        elif self.asked["do"] == "play":
            assert found == [*self.confirmed, self.asked["action"]]
        else:
            assert found == self.confirmed[: len(found)]
        self.confirmed, self.asked = found, None


async def kill(times, folder, seed):
    """Let people play while servers are killed; return how many decisions they had confirmed."""
    FORKS.set_forkserver_preload(["cc_env.play.server"])
    killing = Killing(folder, random.Random(seed))
    try:
        killing.start()
        site = Server(killing.port, 0)
        opened = [await site.begin(kind, (HUMAN, HUMAN)) for kind in KINDS]
        people, count = [Person(each, killing) for each in opened], 0
        for _ in range(times + 1):
            await asyncio.gather(*(person.play() for person in people))
            assert killing.is_killed
            count += sum(len(person.confirmed) for person in people)
            killing.end()
            killing.start()
        return count
    finally:
        killing.close()


@pytest.mark.slow
def test_no_confirmed_decision_is_lost_when_the_server_is_killed(tmp_path):
    assert asyncio.run(kill(KILLS, tmp_path, seed=1)) > 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        count = asyncio.run(kill(int(sys.argv[1]), Path(folder), seed=2))
    print(f"killed {sys.argv[1]} times; {count:,} confirmed decisions were there again")
