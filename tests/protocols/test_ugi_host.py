"""UGI games between programs that connect over loopback."""

import json
import socket
import struct
import subprocess
import sys

import pytest
from conftest import command_line, run_host

from cc_env.__main__ import main
from cc_env.cli.program_commands import join
from cc_env.match.record import read_records


def host_ugi(client, path, *arguments):
    """Run `host --protocol ugi` as `run_host`; it writes the record to a file."""
    return run_host(client, "--protocol", "ugi", "--log", path, *arguments)


@pytest.fixture
def path(tmp_path):
    """The file of the record."""
    return tmp_path / "game.jsonl"


def test_programs_connect_and_play(path):
    def join_twice(port):
        arguments = ["join", "127.0.0.1", str(port), "random", "--protocol", "ugi"]
        with subprocess.Popen([sys.executable, "-m", "cc_env", *arguments]) as other:
            join("127.0.0.1", port, "greedy", protocol="ugi")
            return other.wait()

    out, status = host_ugi(join_twice, path, "-g", "capture_conquer", "-o", "size=4")
    assert status == 0
    ((_, game_record),) = read_records(path)
    assert game_record.reason not in ("error", "time", "illegal"), game_record.detail
    assert game_record.options == {"size": 4, "corner": 2}
    assert f"{game_record.result} ({game_record.reason})" in out
    players = {"random", "greedy"}
    assert {name.split()[0] for name in game_record.players} == {"cc_env"}
    assert {name.split()[-1] for name in game_record.players} == players
    assert " - ".join(game_record.players) in out


def program(bestmove, name=b"bot"):
    """Return a client that answers as a program with this reply to `go`; it returns the lines."""
    answers = {"ugi": b"id\tname  " + name + b"\nugiok\n", "isready": b"readyok\n", "go": bestmove}

    def answer(port):
        received = []
        with socket.create_connection(("127.0.0.1", port)) as connection:
            for line in connection.makefile():
                received.append(line)
                connection.sendall(answers.get(line.split()[0], b""))
        return "".join(received)

    return answer


def test_program_name_is_shortened_and_escaped(path):
    client = program(b"bestmove nowhere\n", b"a\x1b[2J" + 99 * b"b")
    out, _ = host_ugi(client, path, "-g", "morris", "-p", "random", "--seat", 0)
    name = json.loads(path.read_text())["players"][1]
    assert name == "a\x1b[2J" + 75 * "b"
    assert "\x1b" not in out
    assert "a\\x1b[2J" in out


def test_invalid_output_of_a_client_loses(path):
    client = program(b"info string hello\nbestmove nowhere\n")
    out, received = host_ugi(client, path, "-g", "morris", "-p", "random", "--seat", 0)
    game_record = json.loads(path.read_text())
    assert (game_record["result"], game_record["reason"], len(game_record["turns"])) == (
        "1-0",
        "illegal",
        1,
    )
    assert game_record["players"][0] == "random"
    assert received.startswith("ugi\nsetgame morris protect_mills=False ")
    assert f"position startpos moves {game_record['turns'][0]}\nisready\ngo movetime " in received
    assert "'nowhere' is not legal" in out
    assert "random - bot" in out


def connect_and_reset(port):
    """Open a connection and reset it at once."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.mark.parametrize("protocol", ["ugi", "cannon"])
def test_connection_reset_loses(path, protocol):
    arguments = ["-g", "cannon", "-p", "random", "--seat", 0, "--protocol", protocol]
    out, _ = host_ugi(connect_and_reset, path, *arguments)
    assert "1-0 (error), " in out
    assert path.read_text()


def test_unknown_protocol_is_rejected():
    assert "expected: ugi, cannon" in command_line(main, "host", "--protocol", "uci", status=2)
    out = command_line(main, "join", "127.0.0.1", 1, "random", "--protocol", "x", status=2)
    assert "expected: ugi, cannon" in out
    out = command_line(main, "host", "-g", "checkers", status=2)
    assert "with the game 'checkers'; expected: 'cannon'" in out
    out = command_line(main, "host", "-p", "random", "--seat", 2, status=2)
    assert "'--seat': " in out
    out = command_line(main, "host", "--protocol", "ugi", "--patience", 0.05, status=2)
    assert "0 clients connected in 0.05 s; expected: 2" in out
