"""What all tests share: they draw the same in every run, use one thread, and open no window."""

import collections
import contextlib
import gc
import gzip
import importlib.util
import io
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import cc_env  # noqa: F401  registers the environments
from cc_env.__main__ import main
from cc_env.games.factory import make_game
from cc_env.protocols import tcp
from cc_env.verification import reference_positions

# Set before torch and pygame are imported, and inherited by all processes that tests start.
os.environ["OMP_NUM_THREADS"] = "1"  # small networks are slower with more
os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ.pop("COLUMNS", None)  # of the terminal; a test says how wide it wants one

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell's & began us

QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}  # on a busy machine
settings.register_profile("all", derandomize=True, max_examples=60, **QUIET)
settings.register_profile("not slow", derandomize=True, max_examples=40, **QUIET)

ORACLE = Path(__file__).parent / "oracle"


def seed_everything():
    """Let everything that is given no seed draw the same from here on.

    numpy's generators, and with them the samplers of Gymnasium, take their entropy from `randbits`.
    """
    entropy = itertools.count()
    np.random.bit_generator.randbits = lambda bits: next(entropy)
    np.random.seed(0)
    random.seed(0)
    if "torch" in sys.modules:  # where it is not, it begins with the same seed anyway
        # torch.manual_seed, which also seeds devices, formats several stacks.
        sys.modules["torch"].default_generator.manual_seed(0)


# Garbage collection takes a sixth of the time if it often visits all modules and tests.
gc.disable()


def pytest_collection_finish():
    """Begin garbage collection, of objects that are made from here on."""
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    seed_everything()


def pytest_collection_modifyitems(items):
    """Put files with many slow tests first, so that no process has one left at the end."""
    slow = collections.Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])


def pytest_addoption(parser):
    """Add --fuzz N."""
    parser.addoption(
        "--fuzz",
        type=int,
        metavar="N",
        help="draw N new random examples for each test, instead of a few that are always the same",
    )


def pytest_configure(config):
    """Let --fuzz, or the selection of tests, decide how many examples a test draws."""
    settings.load_profile("not slow" if config.option.markexpr == "not slow" else "all")
    if count := config.getoption("--fuzz"):
        settings.register_profile("fuzz", derandomize=False, max_examples=count, **QUIET)
        settings.load_profile("fuzz")


@pytest.fixture(scope="session")
def game():
    """C&C on 6×6."""
    return make_game("capture_conquer")


@contextlib.contextmanager
def empty_curves():
    """Let runs write empty curves; drawing them takes four times as long as a tiny run."""
    with mock.patch("training.runs.curves.to_png", return_value=b""):
        yield


@pytest.fixture
def without_curves():
    """No run of the test draws curves."""
    with empty_curves():
        yield


@pytest.fixture(scope="module")
def module_without_curves():
    """No run of the module draws curves, nor those of its fixtures."""
    with empty_curves():
        yield


@pytest.fixture(params=[pytest.param(1, marks=pytest.mark.slow, id="all"), 10])
def assert_agreement(request, tmp_path):
    """Return a function that compares the rules with recorded positions: all, or one in ten."""

    def compare(name, game, least):
        lines = gzip.decompress((ORACLE / name).read_bytes()).splitlines(keepends=True)
        path = tmp_path / "recorded.jsonl"
        path.write_bytes(b"".join(lines[:: request.param]))
        comparisons = list(reference_positions.compare(path, game))
        assert len(comparisons) * request.param >= least
        assert not [comparison for comparison in comparisons if comparison.differences]

    return compare


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """Return the path of a wheel of the checkout."""
    folder, root = tmp_path_factory.mktemp("wheel"), Path(__file__).parents[1]
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", folder, root], check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def browser():
    """Debian's chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def idle_pages():
    """Empty pages of earlier tests; opening another takes twice as long."""
    return []


@pytest.fixture
def open_pages(browser, idle_pages):
    """Return a function that opens pages, which share no data and have no errors.

    They request nothing except from the server at `address`. A page with options of Playwright's
    contexts (`screen`) is closed after the test, as is one that a test changes by scripts, routes
    or listeners (`reusable=False`); others are emptied for the next test.
    """
    opened, wrong = [], []

    def add_error(error):
        wrong.append(str(error))

    def open_page(address, sockets=None, reusable=True, **screen):
        def check_address(request):
            if address not in request.url:
                wrong.append(request.url)

        reusable = reusable and not sockets and not screen
        page = idle_pages.pop() if reusable and idle_pages else new_page(sockets, screen)
        listeners = {"pageerror": add_error, "request": check_address}
        for event, listener in listeners.items():
            page.on(event, listener)
        opened.append((page, reusable, address, listeners))
        return page

    def new_page(sockets, screen):
        context = browser.new_context(reduced_motion="reduce", **screen)
        if sockets:
            context.route_web_socket("**/play/*", sockets)
        page = context.new_page()
        # The first game of a kind may have to be compiled, on a slow machine beside other tests.
        page.set_default_timeout(600_000)
        return page

    yield open_page
    for page, reusable, address, listeners in opened:
        if reusable:
            empty_page(page, address)
            for event, listener in listeners.items():
                page.remove_listener(event, listener)
            idle_pages.append(page)
        else:
            page.context.close()
    assert not wrong


def empty_page(page, address):
    """Delete the data of a page and close the other pages of its context."""
    for other in page.context.pages:
        if other != page:
            other.close()
    # The scripts of the page, which could store data again, end before its data are deleted.
    page.goto(f"{address}no-page")
    page.evaluate("localStorage.clear(); sessionStorage.clear()")
    page.context.clear_cookies()
    page.mouse.move(0, 0)


HERE = "http://127.0.0.1:8000"


@pytest.fixture
def serving(tmp_path):
    """Return a function that starts a server of the same folder, for Starlette's client.

    It ends the one before.
    """
    from starlette.testclient import TestClient

    from cc_env.server import app
    from cc_env.server.limits import ServerLimits

    with contextlib.ExitStack() as started:

        def start(**limits):
            started.close()
            chosen = ServerLimits(**{"pace_seconds": 0.0, **limits})
            site = app.create_app(tmp_path, limits=chosen)
            client = TestClient(site, base_url=HERE, headers={"origin": HERE})
            return started.enter_context(client)

        yield start


def command_line(main, *arguments, status=0, columns=80):
    """Return what `main` prints, called in this process as `python -m` would call it.

    The exit status has to be `status`.
    """
    out = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["command", *map(str, arguments)]),
        mock.patch.dict(os.environ, COLUMNS=str(columns)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        try:
            code = main()
        except SystemExit as end:
            code = end.code
    assert (code or 0) == status, out.getvalue()
    return out.getvalue()


def run_host(client, *arguments):
    """Run the command `host` with a client, a function of the port, in another thread.

    Return the output after the line with the address, and the result of the client.
    """
    listen, futures = tcp.listen, []

    def listen_and_connect(*address):
        listener = listen(*address)
        futures.append(pool.submit(client, listener.getsockname()[1]))
        return listener

    with ThreadPoolExecutor(1) as pool, mock.patch.object(tcp, "listen", listen_and_connect):
        output = command_line(main, "host", *arguments)
    return output.partition("\n")[2], futures[0].result()


def wait_for(condition, process):
    """Wait for what a process is to bring about; it has to live until then."""
    while not condition():
        assert process.poll() is None or condition(), "the process has ended"
        time.sleep(0.01)


class Stopwatch:
    """Stands in for `time.perf_counter`: goes on by `tick` seconds when it is read, or if told."""

    def __init__(self, tick):
        self.now, self.tick = 0.0, tick

    def __call__(self):
        self.now += self.tick
        return self.now


@pytest.fixture
def stopwatch(monkeypatch):
    """Return a function that lets `time.perf_counter` be a Stopwatch of a given tick."""

    def start(tick=0.0):
        made = Stopwatch(tick)
        monkeypatch.setattr("time.perf_counter", made)
        return made

    return start


@pytest.fixture(scope="module")
def tutorials():
    """The folder of the tutorials; their games can be imported meanwhile."""
    folder = Path(__file__).parents[1] / "docs/tutorials"
    sys.path.append(str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture
def heavy():
    """Return a function that skips a test where a library is missing, but in `make examples`."""

    def need(package):
        if not importlib.util.find_spec(package) and os.environ.get("CC_ENV_EXAMPLES") != "all":
            pytest.skip(f"{package} is not installed: make examples")

    return need


def readable_turns(game, position, turns):
    """Return the readable notation of turns in the notation of records."""
    texts = []
    for text in turns:
        turn = game.parse_turn(position, text)
        texts.append(game.readable_turn_text(position, turn))
        position = game.play_turn(position, turn)
    return texts


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a server of the page."""
    # Only tests of the page need its packages.
    from page_server import PageServer

    server = PageServer(tmp_path_factory.mktemp("games"))
    yield server.address
    server.stop()
