"""What people and pages ask for wrongly raises the error that says what is wrong with it.

A name that does not exist is an UnknownOption, with those that do, and all that are misspelt are
named; a value that cannot be is a BadOption; what is not a message, or a file without a game, is a
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
from cc_env.play.lessons import load_guide
from cc_env.play.messages import find_handler
from cc_env.play.session import HUMAN, GameSession
from cc_env.play.terminal import check_save_path
from cc_env.server import app, player_pool
from cc_env.server.limits import ServerLimits
from cc_env.server.lobby import Lobby, check_opening
from cc_env.server.requests import TooLongError
from cc_env.server.room import Guest
from cc_env.server.storage import GameFolder

PEOPLE = [HUMAN, HUMAN]
LIMITS = ServerLimits()


@pytest.fixture
def lobby(tmp_path):
    made = Lobby(GameFolder(tmp_path, LIMITS), cores=1)
    yield made
    made.close()


def check(kind, says, act, *given):
    with pytest.raises(CcEnvError) as raised:
        act(*given)
    assert type(raised.value) is kind, raised.value
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("wrong", "kind", "says"),
    [
        ({"gane": 1, "seat": 2}, UnknownOption, "has no field gane, seat; it has: game, options,"),
        ({"game": "chess"}, UnknownOption, "there is no game 'chess'; there are: capture_conquer"),
        ({"game": 3}, UnknownOption, "there is no game '3'"),
        ({"options": {"sise": 6, "colour": 1, "size": 6}}, UnknownOption, "no option sise, colour"),
        ({"options": [6]}, BadOption, "the options of a game have names and values"),
        ({"options": {"size": [6]}}, BadOption, "size is not a word, a number"),
        ({"options": {"size": 99}}, BadOption, "size=99; sizes are 4 to 8"),
        ({"seats": [HUMAN]}, BadOption, "a game has two seats"),
        ({"seats": [HUMAN, 7]}, BadPlayer, "'7' is not the name of a player"),
        ({"seats": [HUMAN, "os.system"]}, UnknownOption, "there is no player 'os.system' here"),
        ({"seed": -1}, BadOption, "seed='-1'; wanted: 0 or more"),
        ({"seconds": "1"}, BadOption, "'1' seconds for a game; wanted: 1 to 86400, or nothing"),
        ({"start": 5}, BadPosition, "a position is a text of this game"),
        ({"start": "hello"}, BadPosition, "cannot read position 'hello'"),
    ],
)
def test_of_what_opens_a_game(wrong, kind, says):
    asked = {"game": "capture_conquer", "seats": PEOPLE, **wrong}
    check(kind, says, check_opening, asked, LIMITS)


def test_of_who_sits_down():
    game = make_game("checkers")
    for name, kind, says in (
        (
            "minimax:dept=3,nods=2,depth=3",
            UnknownOption,
            "no option dept, nods here; it has: level",
        ),
        ("minimax:depth=99", BadOption, "minimax: depth=99; wanted: 1 to 64"),
        ("greedy:evaluation=3", BadOption, "greedy: evaluation=3 is not a word"),
        *(
            (
                f"{kind}:evaluation=runs/x.network",
                UnknownOption,
                "checkers has no evaluation 'runs/",
            )
            for kind in ("greedy", "minimax", "mcts")
        ),
        ("random:3=4", UnknownOption, "player random has no option 3 here; it has: none"),
    ):
        check(kind, says, player_pool.check, name, game)


@pytest.mark.parametrize(
    ("message", "kind", "says"),
    [
        ({}, UnknownOption, "'None' cannot be done; wanted: play, say, take_back, hint, resign"),
        ({"do": "fly"}, UnknownOption, "'fly' cannot be done"),
        (
            {"do": "play", "acton": 3, "versoin": 1},
            UnknownOption,
            "play has no field acton, versoin",
        ),
        (
            {"do": "pace", "second": 3},
            UnknownOption,
            "no field second; it has: do, version, seconds",
        ),
        ({"do": "resign", "action": 3}, UnknownOption, "resign has no field action"),
        ({"do": "play", "version": 1}, IllegalAction, "'None' is not the number of an action"),
        ({"do": "look_back", "turns": 9}, BadOption, "'9' turns; there are 0 to 0 to look back at"),
        ({"do": "pace", "seconds": 11}, BadOption, "'11' seconds a decision; wanted: 0 to 10"),
    ],
)
def test_of_messages(message, kind, says, lobby):
    guest = Guest(frozenset((0, 1)), is_owner=True)
    name = lobby.open(check_opening({"game": "mini_checkers", "seats": PEOPLE, "seed": 1}, LIMITS))
    room = asyncio.run(lobby.find(name))
    check(kind, says, room.obey, guest, message)
    assert not room.session.decisions


def test_of_what_is_not_a_message():
    limits = ServerLimits(max_message_bytes=10)
    check(BadRecord, "a message is JSON", app._read, "{", limits)
    check(BadRecord, "a message is a JSON object", app._read, "[1]", limits)
    check(TooLongError, "a message has 10 bytes at most", app._read, " " * 11, limits)
    check(BadRecord, "what opens a game is a JSON object", check_opening, [1], LIMITS)
    check(
        UnknownOption, "'7' cannot be done; wanted: play", find_handler, {"do": 7}, {"play": None}
    )


def test_of_what_is_asked_about_positions(serving):
    client = serving()
    for path, asked, says in (
        ("/look", {"game": "morris", "action": [1]}, "to /look has no field action; it has: game,"),
        (
            "/open",
            {"txt": "", "wich": 1},
            "to /open has no field txt, wich; it has: room, tokens, text",
        ),
        ("/judge", {"game": "morris", "trun": []}, "to /judge has no field trun"),
        ("/analyse", {"game": "morris", "turn": []}, "to /analyse has no field turn"),
        ("/look", [1], "to /look is a JSON object"),
    ):
        answer = client.post(path, json=asked)
        assert answer.status_code == 400
        assert says in answer.json()["error"]


def test_of_what_comes_first(serving):
    client = serving()
    opened = client.post("/games", json={"game": "mini_checkers", "seats": PEOPLE}).json()
    place = f"ws://127.0.0.1:8000/play/{opened['game']}"
    for first, says in (
        ({"token": "x"}, "the first message has no field token; it has: tokens"),
        ({"tokens": "x"}, "wanted: the tokens of seats, or none"),
        ({"tokens": ["x"]}, "this link holds no seat of this game"),
    ):
        with client.websocket_connect(place, headers={"origin": "http://127.0.0.1:8000"}) as socket:
            socket.send_json(first)
            assert says in socket.receive_json()["why"]


def test_of_the_terminal(tmp_path):
    session = GameSession(make_game("checkers"), (HUMAN, HUMAN))
    empty = tmp_path / "empty"
    for ending in (".jsonl", ".pdn"):
        empty.with_suffix(ending).touch()
        check(BadRecord, "no", terminal.load, empty.with_suffix(ending), session)
    check(BadOption, "is a folder", check_save_path, tmp_path, session.game)
    check(
        UnknownOption, "'.xyz' is not a kind of file", exporting.check_suffix, session.game, ".xyz"
    )
    check(
        BadOption, "there is no lesson 99", list, lessons.format_lessons(load_guide("checkers"), 99)
    )


def test_of_commands_for_programs():
    check(BadOption, "3 players; a game has two", hosted, {"player": ["random"] * 3})
    check(BadOption, "seconds=nan; it is more than 0", hosted, {"seconds": float("nan")})
    check(UnknownOption, "protocol='uci'; there are: ugi, cannon", hosted, {"protocol": "uci"})
    check(BadOption, "protocol=cannon is for the game cannon", hosted, {"game": "checkers"})
    with pytest.raises(TimeoutError, match=r"0 clients came in 0\.01 s; wanted: 1"):
        hosted({"player": ["random"], "patience": 0.01})


def hosted(options):
    program_commands.host(
        **{"protocol": "cannon", "game": "cannon", "address": "127.0.0.1", "port": 0, "seat": 2,
           "seconds": 1, "patience": 1, "log_file": None, "seed": 0, **options},
    )  # fmt: skip
