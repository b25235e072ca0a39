"""The folder of a tournament, altered in any way: it goes on, or is refused as such."""

import contextlib
import io
import json
import shutil

import pytest
from fuzz.harness import call_or_reject
from hypothesis import given
from hypothesis import strategies as st

from cc_env.output import Terminal
from training import arena
from training.arena import report, tables
from training.arena.folder import GAMES, RESULTS
from training.runs.folder import CONFIG, LOCK

SETTLED = arena.Config(players=("random", "greedy"), options={"size": 4}, games=4, seed=1)
FILES = CONFIG, GAMES, RESULTS, LOCK, CONFIG + ".half"

texts = st.text(st.characters(), max_size=12) | st.sampled_from(
    ["\ud800", "1-0", "0-1", "1/2-1/2", "time", "error", "repetition", "os", "runs.x.evil", "NaN"]
)
numbers = (
    st.integers(-3, 3)
    | st.sampled_from([2**31, 2**53, 2**64, 10**400, -1, 1e308, 1e-320])
    | st.floats()
)
leaves = st.none() | st.booleans() | numbers | texts
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What the files of a finished tournament hold, and the folder to change them in."""
    path = tmp_path_factory.mktemp("fuzzed") / "run"
    arena.run_tournament(SETTLED, path, workers=0)
    return path, {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.fixture(autouse=True)
def _without_charts(monkeypatch):
    """Charts show numbers and names of the config alone, and take long."""
    monkeypatch.setattr("training.arena.charts.to_svg", lambda name, standings: "")


def put(whole, change):
    """Leave the folder as it was when the tournament was over, but for these files."""
    path, content = whole
    shutil.rmtree(path)
    path.mkdir()
    for name, data in (content | change).items():
        if data is not None:
            (path / name).write_bytes(data)
    return path


def go_on(path):
    """Resume a tournament and return its complete report."""
    tournament = arena.run_tournament(SETTLED, path, workers=0)
    with contextlib.redirect_stdout(io.StringIO()):
        tables.show(tournament, Terminal())
    report.to_html(tournament, "command").encode()
    assert json.loads((path / RESULTS).read_text())["config"]["seed"] == 1
    assert sorted(tournament.records) == [*range(4)]


@st.composite
def splices(draw, data):
    """Return data with a few parts of it cut out, doubled or replaced."""
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(data)))
        end = begin + draw(st.sampled_from([0, 1, 8, len(data)]))
        new = draw(st.binary(max_size=6) | st.just(2 * data[begin:end]))
        data = data[:begin] + new + data[end:]
    return data


def places(value, path=()):
    """Yield where a JSON value has parts."""
    if path:
        yield path
    if isinstance(value, list):
        value = dict(enumerate(value))
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from places(inner, (*path, key))


def placed(value, path, new):
    """Return a JSON value with another part in a place; without it where that is Ellipsis."""
    key, *inside = path
    copied = value.copy()
    if inside:
        copied[key] = placed(value[key], inside, new)
    elif new is ...:
        del copied[key]
    else:
        copied[key] = new
    return copied


@st.composite
def altered(draw, text):
    """Return a JSON object as text with another value in one or two places, or without it."""
    value = json.loads(text)
    for _ in range(draw(st.integers(1, 2))):
        where = draw(st.sampled_from([*places(value), ("new",)]))
        new = draw(values if where == ("new",) else st.just(...) | values)
        value = placed(value, where, new)
    return json.dumps(value).encode()


@given(data=st.data())
def test_damaged_tournament_files_raise_only_cc_env_errors(whole, data):
    name = data.draw(st.sampled_from(FILES))
    before = whole[1].get(name, b"")
    new = data.draw(splices(before) | st.binary(max_size=40) | st.none())
    call_or_reject(go_on, put(whole, {name: new}))


@given(data=st.data())
def test_altered_tournament_records_raise_only_cc_env_errors(whole, data):
    lines = whole[1][GAMES].splitlines()
    for _ in range(data.draw(st.integers(1, 2))):
        number = data.draw(st.integers(0, len(lines) - 1))
        lines[number] = data.draw(altered(lines[number]))
    call_or_reject(go_on, put(whole, {GAMES: b"\n".join(lines) + b"\n"}))


@given(data=st.data())
def test_reordered_tournament_records_raise_only_cc_env_errors(whole, data):
    lines = whole[1][GAMES].splitlines(keepends=True)
    lines = data.draw(st.lists(st.sampled_from([*lines, b"\n", b"{}\n"]), max_size=6))
    call_or_reject(go_on, put(whole, {GAMES: b"".join(lines)}))


@given(data=st.data())
def test_altered_tournament_configs_raise_only_cc_env_errors(whole, data):
    new = data.draw(altered(whole[1][CONFIG]))
    call_or_reject(go_on, put(whole, {CONFIG: new}))


@pytest.mark.parametrize("name", [CONFIG, GAMES, RESULTS])
@pytest.mark.parametrize("deep", ["[", '{"a":', '{"game":['])
def test_deeply_nested_files_raise_only_cc_env_errors(whole, name, deep):
    for depth in (500, 900, 100_000):
        for end in ("", "]" * depth):
            call_or_reject(go_on, put(whole, {name: (deep * depth + end + "\n").encode()}))
