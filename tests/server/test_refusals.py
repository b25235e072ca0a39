"""Invalid requests raise errors of the right type that name the invalid value.

Unknown names raise UnknownOption, invalid values BadOption, and malformed messages or files
BadRecord.
"""

import asyncio

import pytest

from cc_env.cli import program_commands
from cc_env.errors import (
    BadOption,
    BadPlayer,
    BadPosition,
    BadRecord,
    CcEnvError,
    IllegalAction,
    UnknownOption,
)
from cc_env.games.factory import make_game
from cc_env.play import exporting, lessons, terminal
from cc_env.play.commands import CommandTable
from cc_env.play.lessons import load_guide
from cc_env.play.messages import read_command
from cc_env.play.session import HUMAN, GameSession
from cc_env.play.terminal import check_save_path
from cc_env.server import app, player_pool
from cc_env.server.limits import ServerLimits
from cc_env.server.lobby import Lobby, parse_setup
from cc_env.server.requests import TooLongError
from cc_env.server.room import Client
from cc_env.server.storage import GameFolder

PEOPLE = [HUMAN, HUMAN]
LIMITS = ServerLimits()


@pytest.fixture
def lobby(tmp_path):
    lobby = Lobby(GameFolder(tmp_path, LIMITS), cores=1)
    yield lobby
    lobby.close()


def check_error(error_type, text, function, *args):
    with pytest.raises(CcEnvError) as raised:
        function(*args)
    assert type(raised.value) is error_type, raised.value
    assert text in str(raised.value)


@pytest.mark.parametrize(
    ("fields", "error_type", "text"),
    [
        ({"gane": 1, "seat": 2}, UnknownOption, "gane, seat"),
        ({"game": "chess"}, UnknownOption, "'chess'"),
        ({"game": 3}, UnknownOption, "'3'"),
        ({"options": {"sise": 6, "colour": 1, "size": 6}}, UnknownOption, "sise, colour"),
        ({"options": [6]}, BadOption, "options"),
        ({"options": {"size": [6]}}, BadOption, "size"),
        ({"options": {"size": 99}}, BadOption, "size=99"),
        ({"seats": [HUMAN]}, BadOption, "seats"),
        ({"seats": [HUMAN, 7]}, BadPlayer, "'7'"),
        ({"seats": [HUMAN, "os.system"]}, UnknownOption, "'os.system'"),
        ({"seed": -1}, BadOption, "seed=-1"),
        ({"seconds": "1"}, BadOption, "seconds='1'"),
        ({"start": 5}, BadPosition, "position"),
        ({"start": "hello"}, BadPosition, "'hello'"),
    ],
)
def test_invalid_game_requests_are_rejected(fields, error_type, text):
    request = {"game": "capture_conquer", "seats": PEOPLE, **fields}
    check_error(error_type, text, parse_setup, request, LIMITS)


def test_invalid_player_specs_are_rejected():
    game = make_game("checkers")
    for name, error_type, text in (
        (
            "minimax:dept=3,nods=2,depth=3",
            UnknownOption,
            "dept, nods",
        ),
        ("minimax:depth=99", BadOption, "depth=99"),
        ("minimax:depth=2.5", BadOption, "depth=2.5; expected: an integer, 1 to "),
        ("greedy:evaluation=3", BadOption, "evaluation=3"),
        *(
            (
                f"{player}:evaluation=runs/x.network",
                UnknownOption,
                "'runs/",
            )
            for player in ("greedy", "minimax", "mcts")
        ),
        ("random:3=4", UnknownOption, "option 3"),
    ):
        check_error(error_type, text, player_pool.normalize_spec, name, game)


@pytest.mark.parametrize(
    ("message", "error_type", "text"),
    [
        ({}, UnknownOption, "'None'"),
        ({"command": "fly"}, UnknownOption, "'fly'"),
        (
            {"command": "play", "acton": 3, "versoin": 1},
            UnknownOption,
            "acton, versoin",
        ),
        (
            {"command": "pace", "second": 3},
            UnknownOption,
            "second",
        ),
        ({"command": "resign", "action": 3}, UnknownOption, "action"),
        ({"command": "play", "version": 1}, IllegalAction, "action None"),
        ({"command": "view_turn", "turns": 9}, BadOption, "turns=9"),
        ({"command": "pace", "seconds": 11}, BadOption, "seconds=11"),
    ],
)
def test_invalid_commands_are_rejected(message, error_type, text, lobby):
    client = Client(frozenset((0, 1)), is_owner=True)
    name = lobby.store_game(
        parse_setup({"game": "mini_checkers", "seats": PEOPLE, "seed": 1}, LIMITS)
    )
    room = asyncio.run(lobby.find_room(name))
    check_error(error_type, text, room.execute_command, client, message)
    assert not room.session.decisions


def test_malformed_messages_are_rejected():
    limits = ServerLimits(max_message_bytes=10)
    check_error(BadRecord, "valid JSON", app._parse_message, "{", limits)
    check_error(
        BadRecord, "a message: [1]; expected: a JSON object", app._parse_message, "[1]", limits
    )
    check_error(TooLongError, "10 bytes", app._parse_message, " " * 11, limits)
    check_error(BadRecord, "request for a game", parse_setup, [1], LIMITS)
    check_error(UnknownOption, "'7'", read_command, {"command": 7}, CommandTable())


def test_invalid_analysis_requests_are_rejected(serving):
    client = serving()
    for path, request, text in (
        ("/position", {"game": "morris", "action": [1]}, "/position has no field action"),
        (
            "/open",
            {"txt": "", "wich": 1},
            "txt, wich",
        ),
        ("/assess", {"game": "morris", "trun": []}, "trun"),
        ("/analyze", {"game": "morris", "turn": []}, "turn"),
        ("/position", [1], "/position"),
    ):
        answer = client.post(path, json=request)
        assert answer.status_code == 400
        assert text in answer.json()["error"]


def test_invalid_first_messages_are_rejected(serving):
    client = serving()
    opened = client.post("/games", json={"game": "mini_checkers", "seats": PEOPLE}).json()
    place = f"ws://127.0.0.1:8000/play/{opened['game']}"
    for first, text in (
        ({"token": "x"}, "token"),
        ({"tokens": "x"}, "tokens"),
        ({"tokens": ["x"]}, "seat"),
    ):
        with client.websocket_connect(place, headers={"origin": "http://127.0.0.1:8000"}) as socket:
            socket.send_json(first)
            assert text in socket.receive_json()["reason"]


def test_invalid_files_and_lessons_are_rejected(tmp_path):
    session = GameSession(make_game("checkers"), (HUMAN, HUMAN))
    empty = tmp_path / "empty"
    for ending in (".jsonl", ".pdn"):
        empty.with_suffix(ending).touch()
        check_error(BadRecord, "no", terminal.load, empty.with_suffix(ending), session)
    check_error(BadOption, "folder", check_save_path, tmp_path, session.game)
    check_error(UnknownOption, "'.xyz'", exporting.check_suffix, session.game, ".xyz")
    check_error(BadOption, "99", list, lessons.format_lessons(load_guide("checkers"), 99))


def test_invalid_host_commands_are_rejected():
    check_error(BadOption, "3 players", host, {"player": ["random"] * 3})
    check_error(BadOption, "seconds=nan", host, {"seconds": float("nan")})
    check_error(UnknownOption, "'uci'", host, {"protocol": "uci"})
    check_error(BadOption, "protocol", host, {"game": "checkers"})
    with pytest.raises(TimeoutError, match="0 clients"):
        host({"player": ["random"], "patience": 0.01})


def host(options):
    program_commands.host(
        **{"protocol": "cannon", "game": "cannon", "address": "127.0.0.1", "port": 0, "seat": 2,
           "seconds": 1, "patience": 1, "log_file": None, "seed": 0, **options},
    )  # fmt: skip
