"""A server in a thread of this process, for tests of the page in a browser."""

import shutil
import socket
import threading

import pytest
import uvicorn

from cc_env.server import app
from cc_env.server.limits import ServerLimits

needs_chromium = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="needs Debian's chromium"
)
ignores_playwright_warnings = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def open_more(page):
    """Open the panel of a game's rare commands."""
    if page.is_hidden("#more"):
        page.click("#buttons >> text=More")


def new_game(page):
    """Go from a game to the form for another one."""
    open_more(page)
    page.click("#more >> text=Custom game")
    page.wait_for_selector("#start:not([hidden])")


def type_move(page, text):
    """Type a move of a game."""
    open_more(page)
    page.fill("[name=text]", text)
    page.press("[name=text]", "Enter")


def resign(page):
    page.click("#buttons >> text=Resign")
    page.click("#buttons >> text=Really resign?")


class PageServer:
    """A server in a thread; it keeps its port after a restart."""

    def __init__(self, folder, port=0, pause=10.0):
        self.folder, self._pause = folder, pause
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port = self._socket.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}/"
        limits = ServerLimits(pace_seconds=pause, games_per_minute=10_000, joins_per_second=1000)
        site = app.create_app(folder, limits=limits)
        config = uvicorn.Config(
            site, log_level="critical", ws="websockets-sansio", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()

    def stop(self):
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def restart(self):
        self.stop()
        self.__init__(self.folder, self.port, self._pause)
