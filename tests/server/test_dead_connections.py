"""Connections that die without a close: numbered commands, heartbeats, and the page."""

import asyncio
import contextlib
import json
import threading

import pytest
from conftest import HERE
from page_server import (
    PageServer,
    ignores_playwright_warnings,
    needs_chromium,
    resign,
    type_move,
)
from test_app import GameClient, create_game
from test_hostile_clients import site
from websockets.asyncio.client import connect

from benchmarks.load import Server
from benchmarks.proxy import Proxy
from cc_env.play.session import HUMAN
from cc_env.server.limits import ServerLimits

PEOPLE = HUMAN, HUMAN


# The protocol


@contextlib.contextmanager
def join(client, opened, name, seats=(0, 1)):
    """Yield a client that numbers its commands."""
    place = f"ws://127.0.0.1:8000/play/{opened['game']}"
    with client.websocket_connect(place, headers={"origin": HERE}) as socket:
        tokens = [opened["tokens"][seat] for seat in seats]
        socket.send_text(json.dumps({"tokens": tokens, "client": name}))
        player = GameClient(socket)
        player.until("state")
        yield player


def first_action(player):
    return {"action": player.state["choices"][0][0], "version": player.state["version"]}


def test_numbered_command_is_executed_once(serving, tmp_path):
    """Also after a reconnection and after a restart of the server."""
    client = serving()
    opened = create_game(client)
    path = tmp_path / f"{opened['game']}.jsonl"
    with join(client, opened, "a") as player:
        move = first_action(player)
        for _ in range(2):
            player.send_command("play", **move, number=1)
            assert player.until("accepted") == {"type": "accepted", "number": 1}
        journal = path.read_bytes()
    for again in (client, serving()):
        with join(again, opened, "a") as player:
            assert player.state["decisions"] == 1
            player.send_command("play", **move, number=1)
            player.until("accepted", number=1)
            assert path.read_bytes() == journal
    with join(again, opened, "b") as player:
        player.send_command("play", **first_action(player), number=1)
        player.until("accepted", number=1)
        assert player.state["decisions"] == 2


def test_refused_command_is_answered_with_the_reason(serving):
    client = serving()
    opened = create_game(client)
    late = "too late: the position has changed since"
    with join(client, opened, "a") as player:
        move = first_action(player)
        player.send_command("play", **{**move, "version": 7}, number=1)
        assert player.until("error") == {"type": "error", "reason": late, "number": 1}
        player.send_command("play", **move, number=5)
        player.until("accepted", number=5)
        player.send_command("play", **move, number=6)
        assert player.until("error") == {"type": "error", "reason": late, "number": 6}
        player.send_command("resign", number=4)
        assert player.until("error")["reason"] == "number=4; expected: at least 5"
        for number in (0, -1, 2**31, 1.5, "1", True, None, [1]):
            player.send_command("resign", number=number)
            error = player.until("error")
            assert error["reason"].startswith(f"number={number!r}; expected: an integer, 1")
            assert error["number"] == number
        assert player.state["result"] is None


def test_client_without_a_name_sends_no_numbers(serving):
    client = serving()
    opened = create_game(client)
    place = f"ws://127.0.0.1:8000/play/{opened['game']}"
    with client.websocket_connect(place, headers={"origin": HERE}) as socket:
        socket.send_text(json.dumps({"tokens": opened["tokens"]}))
        player = GameClient(socket)
        player.send_command("resign", number=1)
        reason = player.until("error")["reason"]
        assert reason == "number=1; expected: none, since the first message names no client"
        player.play_first()
    for name in ("", "x" * 33, "a b", "é", 7, None, ["a"]):
        with client.websocket_connect(place, headers={"origin": HERE}) as socket:
            socket.send_text(json.dumps({"tokens": opened["tokens"], "client": name}))
            reason = f"client={name!r:.40}; expected: 1 to 32 letters, digits, _ or -"
            assert GameClient(socket).until("error")["reason"] == reason


def test_only_the_last_connection_of_a_client_is_open(serving):
    """What was sent on an earlier connection is not executed any more."""
    client = serving()
    opened = create_game(client)
    with join(client, opened, "a") as first, join(client, opened, "a") as second:
        first.send_command("resign", number=1)
        assert first.socket.receive()["type"] == "websocket.send"
        while (message := first.socket.receive())["type"] != "websocket.close":
            assert json.loads(message["text"])["type"] == "presence"
        second.play_first()
        assert second.state["result"] is None


@contextlib.contextmanager
def game_on_server(tmp_path, **limits):
    """Yield a server with short intervals, and a game on it."""
    limits = ServerLimits(heartbeat_seconds=0.05, **limits)
    with site(tmp_path, limits) as server:
        yield server, asyncio.run(Server(server.port, 0).create_game("mini_checkers", PEOPLE))


class NumberingClient:
    """A connection through some port to a server, which numbers its commands."""

    def __init__(self, opened, port):
        self._opened, self._place = opened, f"ws://127.0.0.1:{port}/play/{opened['game']}"
        self._origin = f"http://127.0.0.1:{port}"

    async def __aenter__(self):
        self.socket = await connect(self._place, origin=self._origin)
        return self

    async def __aexit__(self, *error):
        self.socket.transport.abort()

    async def join(self, name, *seats):
        tokens = [self._opened["tokens"][seat] for seat in seats]
        await self.send(tokens=tokens, client=name)
        return await self.until("state")

    async def send(self, **message):
        await self.socket.send(json.dumps(message))

    async def until(self, kind, **values):
        """Return the next message of a kind with these values; skip others."""
        while True:
            message = json.loads(await self.socket.recv())
            if message["type"] == kind and values.items() <= message.items():
                return message


def test_heartbeats_arrive_at_a_quiet_client(tmp_path):
    async def run_clients(server, opened):
        async with NumberingClient(opened, server.port) as client:
            # Before the first message, too.
            await client.until("heartbeat")
            await client.join("a", 0)
            for _ in range(3):
                await client.until("heartbeat")

    with game_on_server(tmp_path) as (server, opened):
        asyncio.run(run_clients(server, opened))


@pytest.mark.parametrize("directions", [("up",), ("down",), ("up", "down")])
def test_unanswered_command_is_executed_once(directions, tmp_path):
    """It is sent again on another connection, whether or not the first one reached the server."""

    async def run_clients(server, opened):
        async with (
            Proxy(server.port) as proxy,
            NumberingClient(opened, server.port) as spectator,
            NumberingClient(opened, proxy.port) as dead,
        ):
            await spectator.join("watcher")
            state = await dead.join("a", 0, 1)
            move = {"command": "play", "action": state["choices"][0][0], "version": 1, "number": 1}
            proxy.drop_data(*directions)
            proxy.restore()
            await dead.send(**move)
            if "up" not in directions:
                await spectator.until("state", decisions=1)
            async with NumberingClient(opened, proxy.port) as client:
                state = await client.join("a", 0, 1)
                assert state["decisions"] == ("up" not in directions)
                await client.send(**move)
                await client.until("accepted", number=1)

    with game_on_server(tmp_path) as (server, opened):
        asyncio.run(run_clients(server, opened))
    lines = (tmp_path / f"{opened['game']}.jsonl").read_text().splitlines()
    assert [json.loads(line)["do"] for line in lines[1:]] == ["play"]


def test_dead_client_leaves_its_seat(tmp_path):
    """The other player sees that it is away."""

    async def run_clients(server, opened):
        async with (
            Proxy(server.port) as proxy,
            NumberingClient(opened, proxy.port) as dead,
            NumberingClient(opened, server.port) as client,
        ):
            await dead.join("a", 0)
            await client.join("b", 1)
            await client.until("presence", seats=[0, 1])
            proxy.drop_data()
            await client.until("presence", seats=[1])

    with game_on_server(tmp_path, ping_timeout_seconds=2.0) as (server, opened):
        asyncio.run(run_clients(server, opened))


# The page


@contextlib.contextmanager
def loop_in_thread():
    """Run an event loop in a thread, since Playwright occupies this one; yield `run(coroutine)`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop).result(60)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture
def page_behind_proxy(tmp_path, open_pages):
    """Yield the page of a game behind a proxy, with a clock that the test moves, and the proxy."""
    server = PageServer(tmp_path)
    with contextlib.ExitStack() as stack:
        stack.callback(server.stop)
        run = stack.enter_context(loop_in_thread())
        proxy = run(Proxy(server.port).__aenter__())
        stack.callback(lambda: run(proxy.__aexit__()))
        opened = run(Server(server.port, 0).create_game("mini_checkers", PEOPLE))
        page = open_pages(f"127.0.0.1:{proxy.port}", reusable=False)
        stack.callback(page.close)
        page.set_default_timeout(60_000)
        page.clock.install()
        tokens = "/".join(opened["tokens"])
        page.goto(f"http://127.0.0.1:{proxy.port}/#/{opened['game']}/{tokens}")
        page.wait_for_selector("#game[data-decisions='0']")
        yield page, proxy


def journal_kinds(tmp_path):
    (path,) = tmp_path.glob("*.jsonl")
    return [json.loads(line)["do"] for line in path.read_text().splitlines()[1:]]


def page_test(function):
    """Mark a slow test in Chromium."""
    return pytest.mark.slow(needs_chromium(ignores_playwright_warnings(function)))


@page_test
@pytest.mark.parametrize("directions", [("up",), ("down",), ("up", "down")])
def test_typed_move_is_sent_again_after_a_reconnection(directions, page_behind_proxy, tmp_path):
    page, proxy = page_behind_proxy
    proxy.drop_data(*directions)
    type_move(page, "41-32")
    page.clock.run_for(4000)
    page.wait_for_selector("#connection-alert:has-text('reconnecting to send 41-32 …')")
    proxy.restore()
    page.clock.run_for(5000)
    page.wait_for_selector("#game[data-decisions='1']")
    page.wait_for_selector("#connection-alert", state="hidden")
    assert page.text_content("#status") == "White to move"
    type_move(page, "14-25")
    page.wait_for_selector("#game[data-decisions='2']")
    assert journal_kinds(tmp_path) == ["play", "play"]


@page_test
def test_move_typed_without_a_connection_is_shown_as_not_played(page_behind_proxy, tmp_path):
    page, proxy = page_behind_proxy
    proxy.drop_data()
    page.clock.run_for(10_000)
    page.wait_for_selector("#connection-alert:text-is('Connection lost; reconnecting …')")
    page.click("rect[data-cell='4,1']")
    page.click("rect[data-cell='3,2']")
    page.wait_for_selector("#connection-alert:has-text('reconnecting to send 6-8 …')")
    page.clock.run_for(12_000)
    message = "6-8 not played, unless it appears after reconnecting"
    page.wait_for_selector(f"#message.error:text-is('{message}')")
    page.wait_for_selector("#connection-alert:text-is('Connection lost; reconnecting …')")
    assert page.get_attribute("rect[data-cell='4,1']", "aria-label").startswith("6, black")
    proxy.restore()
    page.clock.run_for(10_000)
    page.wait_for_selector("#connection-alert", state="hidden")
    # The empty second line is a space without a break.
    assert page.text_content("#message").strip() == message
    assert journal_kinds(tmp_path) == []
    type_move(page, "6-8")
    page.wait_for_selector("#game[data-decisions='1']")
    page.wait_for_selector("#status:text-is('White to move')")


@page_test
def test_resignation_without_a_connection_is_shown_as_not_executed(page_behind_proxy):
    page, proxy = page_behind_proxy
    proxy.drop_data()
    resign(page)
    page.clock.run_for(13_000)
    message = "Resign not executed, unless it appears after reconnecting"
    page.wait_for_selector(f"#message.error:text-is('{message}')")
