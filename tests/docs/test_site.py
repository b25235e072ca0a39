"""The documentation as a whole: it is built without a warning, and its examples run."""

import importlib
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

from cc_env.cli.tools import TOOLS
from cc_env.games.factory import make_game
from cc_env.play.ugi_engine import UGIEngine
from cc_env.players.specs import PLAYERS
from cc_env.registry.catalogue import GAMES
from docs.make.blocks import without_generated_text

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PYTHON = re.compile(r"^( *)```python\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
# Pages whose Python another test runs, and compares the results with those on the page.
TESTED_ELSEWHERE = {"your_agent", "datasets"}
WITH_PYTHON = sorted(
    page
    for page in DOCS.rglob("*.md")
    if PYTHON.search(without_generated_text(page.read_text())) and page.stem not in TESTED_ELSEWHERE
)
SHELL = re.compile(r"^ *```sh\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
PAGES_WITH_COMMANDS = [ROOT / "README.md", ROOT / "examples/README.md", *DOCS.rglob("*.md")]
COMMANDS = {
    line.partition(" #")[0].strip()
    for page in PAGES_WITH_COMMANDS
    for block in SHELL.findall(without_generated_text(page.read_text()))
    for line in block.splitlines()
    if re.match(r" *(cc_env|python -m (cc_env|training|agents)\S*) ", line)
}
SHORTER = {
    "learn(20_000)": "learn(600)",
    'board("checkers"': '_ = board("checkers"',
}


class Fetched(HTMLParser):
    """What a page has the browser fetch."""

    def __init__(self):
        super().__init__()
        self.targets = []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag in ("script", "img", "iframe"):
            self.targets.append(attributes.get("src") or "")
        if tag == "link" and attributes.get("rel") != "canonical":
            self.targets.append(attributes.get("href") or "")


LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_links_lead_to_files_of_the_checkout(page):
    targets = LINK.findall(without_generated_text(page.read_text()))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_site_has_a_page_for_each_game_and_notebook(site):
    names = {path.stem for path in (site / "environments").glob("*.html")}
    assert set(GAMES) <= names
    notebooks = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert notebooks <= {path.stem for path in (site / "tutorials").glob("*.html")}


@pytest.mark.slow
def test_links_to_files_outside_of_the_folder_lead_to_their_pages(site):
    text = (site / "guide/exact.html").read_text(encoding="utf-8")
    assert 'href="../tutorials/exact_values.html"' in text
    text = (site / "tutorials/your_game.html").read_text(encoding="utf-8")
    assert 'href="../project/contributing.html"' in text
    for page in site.rglob("*.html"):
        assert '.ipynb"' not in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_reference_has_constructors_with_arguments(site):
    text = (site / "reference/api/environments.html").read_text(encoding="utf-8")
    _, _, after = text.partition('id="cc_env.envs.single.BoardGameEnv"')
    text = re.sub("<[^>]*>", "", after.partition("<h3")[0])
    assert 'opponent: AnyOpponent = "random"' in text
    assert "None is sampled at every reset" in text


@pytest.mark.slow
def test_pages_fetch_nothing_from_other_hosts(site):
    pages = list(site.rglob("*.html"))
    assert site / "index.html" in pages
    for page in pages:
        parser = Fetched()
        parser.feed(page.read_text(encoding="utf-8"))
        for target in filter(None, parser.targets):
            assert "//" not in target, f"{page}: {target}"
            if page.name != "404.html" and not target.startswith("data:"):
                assert (page.parent / target.partition("#")[0].partition("?")[0]).exists(), target


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.stem)
def test_python_of_a_page_runs(page, monkeypatch, tmp_path, capsys):
    """Its blocks follow each other, as a reader would run them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(page.parent)  # the game of your_game.md
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    (tmp_path / "runs").mkdir()
    monkeypatch.setattr("cc_env.players.specs.PLAYERS", dict(PLAYERS))
    names = {"__name__": "page"}
    blocks = [block for _, block in PYTHON.findall(without_generated_text(page.read_text()))]
    assert blocks
    for block in blocks:
        for long, short in SHORTER.items():
            block = block.replace(long, short)
        exec(compile(block, page.name, "exec"), names)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_documented_command_lines_are_accepted(command, monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "tutorials")  # has what is copied into training/
    words = shlex.split(command)
    if words[0] == "cc_env" and words[1] in TOOLS:
        words = ["python", "-m", TOOLS[words[1]].module, *words[2:]]
    module, words = ("cc_env", words[1:]) if words[0] == "cc_env" else (words[2], words[3:])
    module = "cc_env.cli.commands" if module == "cc_env" else module
    is_copied = find_spec(module) is None
    module = module.removeprefix("training.") if is_copied else module
    spec = find_spec(module)
    is_package = spec is not None and spec.submodule_search_locations is not None
    app = importlib.import_module(f"{module}.__main__" if is_package else module).app
    group = typer.main.get_command(app)
    if commands := getattr(group, "commands", {}):
        word, *words = words
        assert word.startswith("--install") or word in commands
        group = commands.get(word, group)
    group.make_context(command, words)


def test_documented_ugi_session_agrees_with_the_engine():
    text = (DOCS / "guide/programs.md").read_text()
    (session,) = re.findall(r"```ugi\n(.*?)```", text, re.DOTALL)
    said = []
    engine = UGIEngine("minimax:depth=3", make_game("capture_conquer"), said.append)
    for line in session.splitlines():
        if line.startswith("> "):
            said.append(line)
            engine.handle_line(line.removeprefix("> "))
        if line.startswith("> go"):
            engine._thread.join()
    assert _stable_lines(session) == _stable_lines("\n".join(said))


def _stable_lines(session):
    """Return the lines of a session without the statistics of searches, which may change."""
    return [line for line in session.splitlines() if not line.startswith("info depth")]
