"""Games of OpenEnv on its WebSocket: several sessions at once, illegal replies, bad options."""

import contextlib
import random
import socket
import threading

import pytest

from cc_env.registry.catalogue import GAMES

# The library's own warnings.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture
def connect(heavy):
    """Return a function that connects a client to a running server."""
    heavy("openenv")
    import uvicorn
    from openenv.core import GenericEnvClient

    from examples.language_models.openenv_server import app

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    has_started = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            has_started.set()

    server = Server(uvicorn.Config(app, log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    has_started.wait()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with contextlib.ExitStack() as clients:
        yield lambda: clients.enter_context(GenericEnvClient(base_url=url).sync())
    server.should_exit = True
    thread.join()


def test_sessions_play_all_games_to_the_end(connect):
    rng, clients = random.Random(0), [connect() for _ in GAMES]
    results = [
        client.reset(seed=1, game=game, opponent="greedy", tries=2)
        for client, game in zip(clients, GAMES, strict=True)
    ]
    assert all(result.observation["rules"].startswith("Rules of") for result in results)
    num_refused = 0
    while not all(result.done for result in results):
        for index, client in enumerate(clients):
            text = results[index].observation["text"]
            if results[index].done:
                continue
            reply = rng.choice(text.split("Legal turns: ")[-1].split(", "))
            if rng.random() < 0.2 and "1 reply left" not in text:
                reply, num_refused = "none", num_refused + 1
            results[index] = client.step({"text": f"<turn>{reply}</turn>"})
    assert num_refused > 5
    assert all(result.reward in (-1, 0, 1) for result in results)
    assert clients[0].state()["step_count"] > 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"game": "os"}, "'os'"),
        ({"game": "chess"}, "'chess'"),
        ({"opponent": "program:command=ls"}, "program 'ls'"),
    ],
)
def test_options_of_clients_are_untrusted(options, message, connect):
    client = connect()
    with pytest.raises(RuntimeError, match=message):
        client.reset(**options)
    assert not client.reset(seed=0).done
