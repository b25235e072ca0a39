"""Every command of `cc_env`, from a wheel in a virtual environment of its own, to its end.

The environment sees the packages of this one behind its own, so that nothing is downloaded, and no
checkout: worker processes find what they need only if the wheel has it.
"""

import gzip
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import sysconfig
import urllib.request
import venv
from pathlib import Path

import pytest
from conftest import ORACLE

from cc_env.cli.commands import app
from cc_env.cli.tools import TOOLS

ROOT = Path(__file__).parents[1]
RESULT = Path(__file__).parent / "training/submissions/greedy.json"
SMALL_RUN = """--size 4 --name small --set 'evaluation_opponents.names=("random",)'
    --set evaluation_opponents.anchor=random
    --set evaluation_opponents.games=4 --set evaluation_opponents.positions=0 """
SMALL_NETWORK = "--blocks 1 --channels 8 --set network.keys=4 "

# Commands that need nothing but arguments, and a part of what they print.
CASES = {
    "games": ("", "cc_env/Cannon-v0"),
    "perft": ("-d 2", "depth 2: "),
    "warm": ("mini_checkers morris", "mini_checkers: compiled"),
    "analyze": ("minimax:depth=2", "nodes"),
    "learn": ("morris 1", "."),
    "check": ("--game mini_checkers", "no faults"),
    "dataset": ("games.npz --player random --games 2 --size 4", "games.npz: 2 games"),
    "solve": ("capture_conquer --pieces 1v1 -o size=4 --check 9", "1v1"),
    "book": ("capture_conquer --turns 2 -o size=4 --out .", "the start is drawn"),
    "arena": ("random greedy --games 4 --workers 2", "greedy"),
    "train-alphazero": (
        SMALL_RUN
        + SMALL_NETWORK
        + """--rounds 1 --simulations 4 --workers 2 --set play.boards=8 --set play.considered=4
        --set play.last_simulations=8 --set warm_up=50 --set decisions=8 --set replay=1000
        --set learn.batch_size=64 --set evaluate_every=1""",
        "the best network: ",
    ),
    "train-ppo": (
        SMALL_RUN
        + SMALL_NETWORK
        + """--steps 256 --set boards=32 --set n_steps=8 --set batch_size=64
        --set 'pool.names=("random",)' --set evaluate_every=256""",
        "the best network: ",
    ),
    "train-dqn": (
        SMALL_RUN
        + SMALL_NETWORK
        + """--steps 256 --set boards=32 --set n_steps=8 --set batch_size=64 --set warm_up=64
        --set 'opponents=("random",)' --set evaluate_every=256""",
        "the best network: ",
    ),
    "train-evaluation": (
        SMALL_RUN
        + """--rounds 1 --positions 1500 --depth 1 --workers 2 --set epochs=1
        --set batch_size=128 --set limit=nodes=300""",
        "the best network: ",
    ),
    "train-distillation": (
        SMALL_RUN
        + SMALL_NETWORK
        + """--rounds 1 --depth 2 --workers 2 --set 'opponents=("random",)' --set decisions=1000
        --set learn.batch_size=128 --set evaluate_every=1""",
        "the best network: ",
    ),
    "export-onnx": ("network.onnx --game mini_checkers", "network.onnx: "),
    "tune": ("--size 4 --rounds 1 --positions 1000 --games 2 --depth 1", "round 1: loss "),
    "accuracy": ("random --size 4 --positions 20 --games 1", "random"),
    "tasks": ("-g mini_checkers --kind legal --count 5 --to tasks.jsonl", "tasks.jsonl"),
    "ladder": ("-g mini_checkers", "Pebble"),
    "rate": ("random -g mini_checkers --max-games 8", "random: Elo "),
    "solve-rate": ("random -g mini_checkers", "all "),
    "measure-ladder": ("greedy --width 300 --size 4 --out ladder.json", "ladder: ladder.json"),
    "mine-puzzles": ("--games 2 --out puzzles.jsonl", "puzzles.jsonl: "),
    "hard-positions": ("--size 4 --positions 50 --number 3 --depth 3", "positions"),
    "write-result": ("greedy --size 4 --opponent random --games 4", "greedy against random: "),
    "verify-result": (RESULT, "agree with the rules"),
    "published": (
        "random --games 5 --seat-games 2 --workers 2",
        "Moving first, in 2 games",
    ),
}


@pytest.fixture(scope="module")
def command(tmp_path_factory, wheel):
    """Return the command line `cc_env` of the wheel."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True)
    python = folder / "bin/python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True, env=environment())
    (packages,) = folder.glob("lib/*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    _share_compiled(packages / "cc_env")
    return folder / "bin/cc_env"


def _share_compiled(installed):
    """Link the folders of compiled code to those of the checkout, which has the same sources."""
    places = {"cc_env": ".", "agents": "bundled/agents", "training": "bundled/training"}
    for top, below in places.items():
        for package in {file.parent for file in (ROOT / top).rglob("*.py")}:
            target = installed / below / package.relative_to(ROOT / top)
            shared = package / "__pycache__"
            shared.mkdir(exist_ok=True)
            if target.exists():
                (target / "__pycache__").symlink_to(shared, target_is_directory=True)


def environment():
    """Return the variables of this process without those that lead to the checkout."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def _use_one_core():
    """Leave one core to this process: threads of torch that wait for a busy core spin."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


@pytest.fixture
def run(command, tmp_path):
    """Return a function that runs the command in an empty folder and returns what it prints."""

    def run(*words, **settings):
        done = subprocess.run(
            [command, *map(str, words)],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            preexec_fn=_use_one_core,
            **settings,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout

    return run


@pytest.fixture
def begin(command, tmp_path):
    """Return a function that starts the command, which is ended with the test."""
    processes = []

    def begin(*words):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        words = [command, *map(str, words)]
        processes.append(subprocess.Popen(words, cwd=tmp_path, env=environment(), **pipes))
        return processes[-1]

    yield begin
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("word", CASES)
def test_installed_command_finishes(run, word):
    words, printed = CASES[word]
    assert printed in run(word, *shlex.split(str(words)))


@pytest.mark.slow
def test_installed_python_imports_the_wheel(command, tmp_path):
    code = "import cc_env; from cc_env import arena, errors; "
    code += "print(cc_env.__file__, arena.play_tournament)\n"
    code += "print(errors.MissingExtra('this', 'that', 'train'))"
    done = subprocess.run(
        [command.parent / "python", "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    printed_lines, error = done.stdout.splitlines()
    place, _, function = printed_lines.partition(" ")
    assert Path(place).is_relative_to(command.parents[1])
    assert function.startswith("<function play_tournament")
    advice = "pip install 'PATH[train]', where PATH is the wheel file or the checkout of cc_env"
    assert error == f"this needs that: {advice}"


@pytest.mark.slow
def test_installed_play_and_replay_finish(run):
    players = ["--first", "random", "--second", "greedy", "--seed", "1"]
    assert "puzzle 1: " in run("puzzle", 1, stdin=subprocess.DEVNULL)
    assert "wins" in run("play", *players, "--pause", "0", "--save", "game.jsonl")
    assert "1-0" in (out := run("replay", "game.jsonl")) or "0-1" in out


@pytest.mark.slow
def test_installed_memory_finishes(run, tmp_path):
    lines = gzip.decompress((ORACLE / "morris.jsonl.gz").read_bytes()).splitlines()
    tree = next(line["merged"] for line in map(json.loads, lines) if line["kind"] == "memory")
    (tmp_path / "tree.json").write_text(json.dumps(tree))
    assert "choices added" in run("memory", "import", "tree.json", "-m", "memory.sqlite")
    assert "choices written" in run("memory", "export", "back.json", "-m", "memory.sqlite")


@pytest.mark.slow
def test_installed_engine_finishes(run):
    # The move compiles the rules before the search, for which `quit` waits only a second.
    lines = "position startpos moves 0,1-2,1\ngo\nquit\n"
    assert "bestmove " in run("engine", "random", input=lines)


@pytest.mark.slow
def test_installed_server_runs_until_interrupted(begin):
    serving = begin("serve", "--port", "0")
    (address,) = re.findall(r"http://\S*/", serving.stdout.readline())
    with urllib.request.urlopen(address) as answer:
        assert b"<html" in answer.read()
    serving.send_signal(signal.SIGINT)
    _, errors = serving.communicate()
    assert "Traceback" not in errors


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["ugi", "cannon"])
def test_installed_host_and_client_play_a_game(begin, protocol):
    host = begin("host", "--protocol", protocol, "-g", "cannon", "-p", "random")
    port = int(host.stdout.readline().rpartition(":")[2])
    client = begin("join", "127.0.0.1", port, "random", "--protocol", protocol)
    out, errors = host.communicate()
    assert (host.returncode, "Traceback" in errors) == (0, False)
    assert "turns" in out
    _, errors = client.communicate()
    assert (client.returncode, "Traceback" in errors) == (0, False)


def test_every_command_is_tested():
    own = {command.name or command.callback.__name__ for command in app.registered_commands}
    tested_elsewhere = {"play", "replay", "puzzle", "memory", "engine", "serve", "host", "join"}
    assert {*CASES, *tested_elsewhere} == own | set(TOOLS)
