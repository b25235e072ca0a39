"""External programs as players: games, limits, faults and termination of all children."""

import gc
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cc_env.errors import BadOption, BadPlayer, BadRecord, Forfeit, UnknownOption
from cc_env.games.factory import make_game
from cc_env.match import record
from cc_env.match.match import Limits
from cc_env.match.record import append_record, read_records
from cc_env.match.referee import Clock, play_match, player_for_new_game
from cc_env.play.ugi_engine import UGIEngine, serve
from cc_env.players.program import ProgramConnection
from cc_env.players.specs import check_spec, make_player
from cc_env.protocols import channel, process
from cc_env.protocols.channel import SocketChannel
from cc_env.protocols.ugi_driver import UGIDriver
from cc_env.registry.catalogue import GAMES
from cc_env.registry.import_allowlist import untrusted_names
from cc_env.registry.options import split_options

ENGINE = shlex.join([sys.executable, "-m", "cc_env", "engine"])
UGI = "case $line in ugi) echo ugiok;; isready) echo readyok;; {more} esac"
LOOP = "while read -r line; do {body}; done"


@pytest.fixture
def bot(tmp_path):
    """Return a function that writes a shell program and returns the spec of its player."""

    def write(body, more="", **player_options):
        path = tmp_path / "bot.sh"
        path.write_text(f"#!/bin/sh\n{body}\n{more}\n")
        path.chmod(0o755)
        options = "".join(f",{name}={value}" for name, value in player_options.items())
        return f'program:command="{path}"{options}'

    return write


def replying(reply):
    """Return a program that executes `reply` for every `go`."""
    return LOOP.format(body=UGI.format(more=f"go*) {reply};;"))


def play(game, first, second="random", **match_options):
    players = [make_player(name, game) for name in (first, second)]
    return play_match(game, players, names=(first, second), **match_options)


def first_decision(name, game, clock=None):
    player = player_for_new_game(make_player(name, game))
    return player.choose(game.initial, np.random.default_rng(0), clock or Clock())


def test_program_plays_a_game_by_ugi(game):
    game_record = play(game, f"program:command={ENGINE} minimax:depth=1", "random")
    assert game_record.reason not in ("error", "illegal", "time"), game_record.detail
    assert game_record.turns == play(game, "minimax:depth=1").turns
    assert record.replay(game_record).turns == list(game_record.turns)


@contextmanager
def noisy_engine(game, noise):
    """Yield a player connected to an engine of this process that adds lines to some of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        connection = SocketChannel(socket.create_connection(listener.getsockname()))
        engine_connection = SocketChannel(listener.accept()[0])

    def write(text):
        for line in text.split("\n"):
            for output in noise.get(line.split()[0], "{}").format(line).split("\n"):
                # The driver may have closed the connection after the game.
                with suppress(EOFError):
                    engine_connection.write_line(output)

    engine = UGIEngine("minimax:depth=1", game, write)
    thread = threading.Thread(target=serve, args=(engine, engine_connection))
    thread.start()
    yield ProgramConnection(game, "engine", UGIDriver(), connection, Clock())
    connection.close()
    thread.join()
    engine_connection.close()


@pytest.mark.parametrize(
    "noise",
    [
        {"bestmove": "{0}\n{0}"},
        {"bestmove": "{}\nbestmove (none)\ninfo string error no search\nbestmove"},
        {"bestmove": "info string error margin 0.3\n{}"},
        {"info": "info string error\ninfo\n\ninfo string bestmove soon\ninfo error"},
        {"readyok": "{0}\n{0}"},
        {"readyok": "bestmove (none)\n{}"},
        {"readyok": "info string error setgame: unknown command\n{}"},
        {"ugiok": "info string error no license\n{}\nbestmove (none)\nuciok"},
    ],
)
def test_other_lines_of_a_program_are_dropped(noise):
    game = make_game("morris")
    with noisy_engine(game, noise) as player:
        game_record = play_match(game, [player, make_player("random", game)])
    assert game_record.turns == play(game, "minimax:depth=1").turns
    assert game_record.reason not in ("error", "illegal", "time"), game_record.detail


def test_program_in_the_second_seat_moves_first_if_it_is_to_move():
    game = make_game("capture_conquer", size=4)
    start = game.play_turn(game.initial, next(game.turns(game.initial)))
    with noisy_engine(game, {}) as player:
        players = [make_player("random", game), player]
        game_record = play_match(game, players, start=start, limits=Limits(max_turns=9))
    assert game_record.reason not in ("error", "illegal", "time"), game_record.detail


def test_program_receives_ugi_commands(game, bot, tmp_path):
    received = tmp_path / "received"
    name = bot(
        LOOP.format(
            body=f"echo $line >>{received};" + UGI.format(more="go*) echo bestmove 0,1-2,1;;")
        ),
        seconds=2,
    )
    player = player_for_new_game(make_player(name, game))
    clock = Clock(turn=30, game=60)
    assert player.choose(game.initial, None, clock).action == 16
    del player
    assert received.read_text().splitlines() == [
        "ugi", "setgame capture_conquer size=6 corner=3", "uginewgame", "isready",
        "position startpos", "isready", "go movetime 1880 p1time 56980 p2time 56980", "quit",
    ]  # fmt: skip


def test_program_can_be_an_environment_opponent(bot):
    """The program plays the same two turns in each of two episodes."""
    name = bot(
        replying("n=${n}x; case $n in x) echo bestmove 0,0-0,2;; *) echo bestmove 0,1-1,1;; esac")
    )
    with gymnasium.make("cc_env/CaptureConquer-v0", size=4, opponent=name, seat=1) as env:
        for _ in range(2):
            _, info = env.reset(seed=0)
            assert env.unwrapped.position != env.unwrapped.game.initial
            env.step(int(info["action_mask"].argmax()))


TOURNAMENT = """
import sys
from cc_env import make_game
from cc_env.games.cannon.log import parse_command
number, rows, columns, seconds = sys.stdin.readline().split()
game = make_game("cannon", rows=int(rows), columns=int(columns))
assert seconds == "150"
position, is_own_turn = game.initial, number == "1"
while line := is_own_turn or sys.stdin.readline():
    if is_own_turn:
        turn = (int(game.legal_actions(position)[-1]),)
        print(game.turn_text(position, turn), flush=True)
    else:
        turn = parse_command(game, position, line)
    position, is_own_turn = game.play_turn(position, turn), not is_own_turn
"""


@pytest.mark.parametrize("seat", [0, 1])
def test_tournament_program_plays_a_game(tmp_path, seat):
    path = tmp_path / "tournament.py"
    path.write_text(TOURNAMENT)
    game = make_game("cannon", rows=10)
    program = f"program:command={sys.executable} {path},protocol=cannon"
    names = (program, "random") if seat == 0 else ("random", program)
    game_record = play(game, *names, limits=Limits(max_turns=None), seed=seat)
    assert game_record.reason in ("halls", "no_moves", "no_soldiers", "stagnant"), (
        game_record.detail
    )
    assert len(game_record.turns) > 20


def test_tournament_programs_play_only_cannon_from_the_start(game, bot):
    name = bot("read x", protocol="cannon")
    with pytest.raises(BadOption, match="protocol='cannon' with the game"):
        make_player(name, game)
    cannon = make_game("cannon")
    start = cannon.initial
    for _ in range(2):
        start = cannon.play_turn(start, next(cannon.turns(start)))
    game_record = play(cannon, name, start=start)
    assert game_record.reason == "error"
    assert "the game begins in 'WwWw" in game_record.detail


@pytest.mark.parametrize(
    ("body", "reason", "message"),
    [
        (replying("echo bestmove 9,9-8,8"), "illegal", "'9,9-8,8' is not legal in"),
        (replying("echo bestmove"), "illegal", "'' is not legal in"),
        (
            replying("echo info string error no idea; echo bestmove none"),
            "illegal",
            "'none' is not legal in",
        ),
        (
            replying("echo info string error no idea; echo bestmove none"),
            "illegal",
            "; the program reported: no idea",
        ),
        (
            replying("echo info string error no idea"),
            "time",
            "no reply in 0.3 s; the program reported: no idea",
        ),
        (
            replying("echo oops >&2; exit 3"),
            "error",
            "the program has ended; last line of stderr: oops",
        ),
        (replying("sleep 1000 & exit 3"), "error", "the program has ended"),
        (replying("exec 1>&-; sleep 1000"), "error", "the program has ended"),
        (replying("head -c 300000 /dev/zero"), "error", "a line of more than 262,144 characters"),
        (replying("head -c 2000000 /dev/zero >&2"), "error", "more than 1,048,576 bytes"),
        ("exit", "error", "the program has ended"),
        (replying("printf 'bestmove %02000d\\n' 0"), "illegal", "has 2,000 characters"),
        (replying("yes"), "time", "no reply in 0.3 s"),
        (replying(":"), "time", "no reply in 0.3 s"),
    ],
)  # fmt: skip
def test_program_faults_lose_the_game(game, bot, body, reason, message):
    name = bot(body, seconds=0.3 if reason == "time" else 60)
    game_record = play(game, name)
    assert (game_record.result, game_record.reason) == ("0-1", reason)
    assert game_record.detail.startswith(f"program {name.split(chr(34))[1]}: ")
    assert message in game_record.detail


def test_program_not_ready_in_time_loses(game, bot):
    game_record = play(game, bot("read x; read x", start=0.05))
    assert (game_record.reason, game_record.turns) == ("time", ())
    with pytest.raises(Forfeit, match=r"no reply in 0.05 s"):
        first_decision(bot("read x; read x", start=0.05), game)


def test_budget_limits_the_whole_game(game, bot):
    name = bot(replying("read never"), budget=0.2)
    assert play(game, name).detail.endswith("no reply in 0.2 s")
    assert play(game, bot(replying(":")), limits=Limits(seconds_per_game=0.2)).reason == "time"


@pytest.mark.parametrize(
    ("player_options", "kind", "value"),
    [
        ("", BadOption, '"./bot --strong"'),
        ("command=", BadOption, "command=''"),
        ("command='\"'", BadOption, "No closing quotation"),
        ("command=no-such-program", BadOption, "there is no program 'no-such-program'"),
        ("command=sh,protocol=uci", UnknownOption, "protocol 'uci'; expected: ugi, cannon"),
        ("command=sh,seconds=0", BadOption, "seconds=0"),
        ("command=sh,budget=many", BadOption, "budget='many'"),
        (
            "command=sh,speed=1,sed=2",
            UnknownOption,
            "has no option sed, speed; if it is part of command, quote the value: "
            "command='sh,speed=1,sed=2'; it has: command, protocol=ugi",
        ),
    ],
)
def test_invalid_program_options_are_rejected(game, player_options, kind, value):
    with pytest.raises(BadOption, match=value) as raised:
        make_player(f"program:{player_options}", game)
    assert type(raised.value) is kind


def test_quoted_commands_may_contain_commas():
    assert split_options('command="./a b,c=\'d\'",seconds=2') == [
        "command=\"./a b,c='d'\"", "seconds=2",
    ]  # fmt: skip
    assert split_options("easy,path=o'brien,x=1,, ") == ["easy", "path=o'brien", "x=1"]
    assert split_options('a="x",b="y,z"') == ['a="x"', 'b="y,z"']
    assert split_options('a="x,b="y') == ['a="x', 'b="y']


# The parent and its child hold the fifo open.
PARENT = "exec 3>{fifo}; sleep 1000 & "
# The child leaves the session and the process group.
LEAVER = "exec 3>{fifo}; setsid sleep 1000 & "
# The child is an orphan when the program is ended.
QUITTER = f"{LEAVER} while read -r line; do echo; exit; done"


def open_reader(fifo):
    """Return a process that reads the fifo until its last writer ends."""
    return subprocess.Popen(["cat", str(fifo)], stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("how", ["deleted", "fault", "interrupted"])
def test_program_ends_with_its_children(game, bot, tmp_path, how):
    os.mkfifo(fifo := tmp_path / "fifo")
    reply = "echo bestmove x" if how == "fault" else "echo bestmove 0,1-2,1"
    name = bot(PARENT.format(fifo=fifo) + replying(reply))
    reader = open_reader(fifo)
    player = player_for_new_game(make_player(name, game))
    if how == "fault":
        with pytest.raises(Forfeit, match="is not legal"):
            player.choose(game.initial, None, Clock())
    else:
        player.choose(game.initial, None, Clock())
        assert reader.poll() is None
    if how == "interrupted":
        player._connection._protocol.request_turn = interrupt
        with pytest.raises(KeyboardInterrupt):
            player.choose(game.initial, None, Clock())
    elif how == "deleted":
        del player
        gc.collect()
    assert reader.wait(timeout=60) == 0


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="found by /proc")
@pytest.mark.parametrize("program", [LEAVER + replying("echo bestmove 0,1-2,1"), QUITTER])
def test_children_in_another_session_are_killed(game, bot, tmp_path, program):
    os.mkfifo(fifo := tmp_path / "fifo")
    name = bot(program.replace("{fifo}", str(fifo)))
    reader = open_reader(fifo)
    player = player_for_new_game(make_player(name, game))
    with suppress(Forfeit):
        player.choose(game.initial, None, Clock())
    del player
    gc.collect()
    assert reader.wait(timeout=60) == 0


def test_processes_in_execve_are_searched_again(tmp_path, monkeypatch):
    # Linux shows the environment of a process in execve as empty.
    child = tmp_path / "12345"
    child.mkdir()
    (child / "environ").touch()
    (child / "exe").symlink_to("/bin/sleep")
    killed = []

    def finish_execve(_):
        (child / "environ").write_bytes(b"" if killed else b"marker=1\0")

    def kill(pid, number):
        killed.append((pid, number))
        (child / "exe").unlink()

    monkeypatch.setattr(process, "_PROC", tmp_path)
    monkeypatch.setattr(process.time, "sleep", finish_execve)
    monkeypatch.setattr(process.os, "kill", kill)
    with subprocess.Popen(["true"]) as program:
        pass
    process._kill(program, "marker")
    assert killed == [(12345, signal.SIGKILL)]


def test_tabs_separate_words_of_a_program(game, bot):
    name = bot(replying("printf '\\t bestmove\\t0,1-2,1 \\tponder\\t0,1-0,2\\t\\n'"))
    assert game.action_text(game.initial, first_decision(name, game).action) == "0,1-2,1"


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("parent", [PARENT, LEAVER])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_program_ends_when_its_parent_is_killed(bot, tmp_path, number, parent):
    os.mkfifo(fifo := tmp_path / "fifo")
    name = bot(parent.format(fifo=fifo) + "echo on; sleep 1000")
    reader = open_reader(fifo)
    code = "import sys; from cc_env.protocols.process import ProcessChannel as P\n"
    code += (
        "channel = P([sys.argv[1]]); print(channel.read_line(), flush=True); channel.read_line()"
    )
    path = name.split('"')[1]
    with subprocess.Popen(
        [sys.executable, "-c", code, path], stdout=subprocess.PIPE
    ) as parent_process:
        assert parent_process.stdout.readline() == b"on\n"
        parent_process.send_signal(number)
    assert reader.wait(timeout=60) == 0


def test_files_cannot_start_programs(game, bot, tmp_path):
    marker = tmp_path / "started"
    name = bot(f"touch {marker}; {replying('echo bestmove x')}")
    with untrusted_names():
        for parse in (check_spec, lambda text: make_player(text, game)):
            with pytest.raises(BadPlayer, match=r"a file names the program '.*bot.sh'"):
                parse(name)
    path, pair = tmp_path / "games.jsonl", [make_player("random", game)] * 2
    game_record = play_match(game, pair, names=("random", "random"))
    append_record(path, replace(game_record, players=(name, name)))
    assert [game_record.players for _, game_record in read_records(path)] == [(name, name)]
    line = json.loads(path.read_text())
    path.write_text(json.dumps(line | {"game": name}))
    with pytest.raises(BadRecord, match="there is no game 'program:"):
        list(read_records(path))
    assert not marker.exists()
    check_spec(name)
    with untrusted_names():
        check_spec(name)


def test_every_game_can_be_sent_to_a_program(bot):
    for kind in GAMES:
        game = make_game(kind)
        with pytest.raises(Forfeit, match="'none' is not legal"):
            first_decision(bot(replying("echo bestmove none")), game)


OUTPUT = st.lists(
    st.sampled_from([b"bestmove", b"ugiok", b"readyok", b"info", b"string", b"error", b"\n", b" "])
    | st.binary(max_size=6),
    max_size=12,
).map(b"".join)


class InputOnly(channel.Channel):
    """A channel whose output is discarded."""

    def write_line(self, line, until=0.0):
        pass


@settings(max_examples=40)
@given(output=OUTPUT)
def test_random_program_output_gives_a_decision_or_a_fault(game, tmp_path_factory, output):
    path = tmp_path_factory.getbasetemp() / "output"
    path.write_bytes(b"ugiok\nreadyok\n" + output)
    with path.open("rb") as file:
        connection = ProgramConnection(game, "it", UGIDriver(), InputOnly(file.fileno()), Clock())
        with pytest.raises(Forfeit, match=r"^it: "):
            connection.choose(game.initial, None, Clock())
