"""Preparations: compilation before games and puzzles are shown."""

import asyncio
import threading

import pytest

from cc_env.games.factory import make_game
from cc_env.registry.catalogue import GAMES
from cc_env.server import jobs, preparation, puzzle_api
from cc_env.server import lobby as lobby_module
from cc_env.server.limits import BusyError, ServerLimits
from cc_env.server.lobby import Lobby
from cc_env.server.preparation import Preparations
from cc_env.server.storage import GameFolder


class PreparedLobby(Lobby):
    """A lobby whose preparations end when `compiled` is set."""

    def __init__(self, folder):
        super().__init__(folder, cores=1)
        self.compiled = asyncio.Event()
        self._start_task = lambda work: work.close()
        self.start_warm_up()

    async def _run_preparation(self, job):
        await self.compiled.wait()


def run_prepared(test, tmp_path):
    async def run():
        lobby = PreparedLobby(GameFolder(tmp_path, ServerLimits()))
        await test(lobby)
        lobby.close()

    asyncio.run(run())


def test_game_is_created_when_it_and_its_opponent_are_prepared(tmp_path):
    async def create_game(lobby):
        assert lobby.preparation("mini_checkers") == {"elapsed": 0, "expected": 0}
        request = {"game": "mini_checkers", "seats": ["human", "ladder:6"]}
        creation = asyncio.create_task(lobby.create_game(request))
        while not lobby.preparation("mini_checkers")["expected"]:
            await asyncio.sleep(0)
        assert lobby.preparation("morris") == {"elapsed": 0, "expected": 0}
        assert not creation.done()
        lobby.compiled.set()
        name, _ = await creation
        assert list(lobby._preparations._preparations) == [
            ("mini_checkers", "game"),
            ("mini_checkers", "alphazero"),
        ]
        assert lobby.preparation("mini_checkers") == {"elapsed": 0, "expected": 0}
        assert await lobby.find_room(name)

    run_prepared(create_game, tmp_path)


@pytest.mark.parametrize("name", GAMES)
def test_game_is_prepared_from_its_first_decision_to_an_end_by_its_rules(name, monkeypatch):
    states, session_state = [], jobs.view.session_state
    monkeypatch.setattr(
        jobs.view, "session_state", lambda session: states.append(session_state(session))
    )
    jobs.play_random_game(name)
    first, last = states
    assert first["decisions"] == 1
    assert last["result"]["reason"] not in ("max_turns", "repetition")
    assert last["result"]["scores"] or not make_game(name).has_scores


def test_puzzle_is_shown_when_its_game_and_its_judge_are_prepared(tmp_path):
    async def show(lobby):
        fields = {"game": "mini_checkers", "number": 1}
        showing = asyncio.create_task(puzzle_api._show(lobby, fields, ""))
        while not lobby.preparation("mini_checkers")["expected"]:
            await asyncio.sleep(0)
        assert not showing.done()
        lobby.compiled.set()
        assert (await showing)["number"] == 1
        parts = [part for _, part in lobby._preparations._preparations]
        assert parts == ["puzzles", "game"]

    run_prepared(show, tmp_path)


def test_preparations_delay_no_analysis_and_each_other_once(tmp_path):
    """The only slot of searches is free while two preparations run; a third one waits."""
    started, release = [], threading.Event()

    def job(pool, time):
        started.append(None)
        release.wait()

    async def analyze():
        lobby = Lobby(GameFolder(tmp_path, ServerLimits()), cores=1)
        waiting = [asyncio.create_task(lobby._run_preparation(job)) for _ in range(3)]
        while len(started) < 2:
            await asyncio.sleep(0.001)
        assert await lobby.run_analysis(lambda pool, time: "analyzed", 1.0) == "analyzed"
        assert len(started) == 2
        release.set()
        await asyncio.gather(*waiting)
        # Each compiles in one worker, and is loaded by another.
        assert len(started) == 6
        lobby.close()

    asyncio.run(analyze())


def test_expected_time_is_that_of_the_same_part_of_another_game():
    async def prepare_slowly():
        compiled = asyncio.Event()
        preparations = Preparations(lambda job: compiled.wait(), lambda name: asyncio.sleep(0))
        first = asyncio.create_task(preparations.prepare("morris", "game"))
        await asyncio.sleep(0)
        assert preparations.progress("morris")["expected"] == preparation.DEFAULT_SECONDS
        compiled.set()
        await first
        compiled.clear()
        second = asyncio.create_task(preparations.prepare("cannon", "game"))
        await asyncio.sleep(0)
        assert 0 < preparations.progress("cannon")["expected"] < preparation.DEFAULT_SECONDS
        compiled.set()
        await second

    asyncio.run(prepare_slowly())


def test_everything_is_prepared_games_first():
    async def prepare_all():
        prepared = []

        async def run(job):
            prepared.append(job)

        await Preparations(run, lambda name: asyncio.sleep(0)).prepare_all()
        names = [job.args[0] for job in prepared]
        assert names[: 2 * len(GAMES)] == [*GAMES, *GAMES]
        assert {job.args[1] for job in prepared if len(job.args) > 1} > {"alphazero:simulations=2"}

    asyncio.run(prepare_all())


def test_preparation_of_an_unknown_game_is_not_found(serving):
    client = serving()
    assert client.get("/preparation/ludo").status_code == 404
    assert client.get("/preparation/morris").json() == {"elapsed": 0, "expected": 0}


@pytest.mark.parametrize("fails", [False, True])
def test_catalogue_is_prepared_once(tmp_path, monkeypatch, fails):
    """If that fails, the next request computes it."""
    calls, messages = [], []

    def compute():
        calls.append(0)
        if fails and len(calls) == 1:
            raise BusyError("no worker")
        return {"games": len(calls)}

    async def request(lobby):
        work = lobby._prepare_all(lobby._preparations)
        lobby.compiled.set()
        await work
        catalogues = [await lobby.catalogue() for _ in range(2)]
        assert [each["games"] for each in catalogues] == ([2, 3] if fails else [1, 1])

    monkeypatch.setattr(lobby_module, "_catalogue", compute)
    monkeypatch.setattr(lobby_module._log, "warning", lambda *args: messages.append(args))
    run_prepared(request, tmp_path)
    assert len(messages) == fails
