"""Programs as players: they play, they are bounded, and they end with all their children."""

import gc
import json
import os
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
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
from cc_env.players.specs import check_spec, make_player
from cc_env.protocols import channel
from cc_env.registry.catalogue import GAMES
from cc_env.registry.import_allowlist import untrusted_names
from cc_env.registry.options import split_options

ENGINE = shlex.join([sys.executable, "-m", "cc_env", "engine"])
UGI = "case $line in ugi) echo ugiok;; isready) echo readyok;; {more} esac"
LOOP = "while read -r line; do {body}; done"


@pytest.fixture
def bot(tmp_path):
    """Return a function that writes a shell program and returns the spoken name of its player."""

    def write(body, more="", **said):
        path = tmp_path / "bot.sh"
        path.write_text(f"#!/bin/sh\n{body}\n{more}\n")
        path.chmod(0o755)
        more = "".join(f",{name}={value}" for name, value in said.items())
        return f'program:command="{path}"{more}'

    return write


def answering(answer):
    """Return a program that answers every `go` so."""
    return LOOP.format(body=UGI.format(more=f"go*) {answer};;"))


def play(game, first, second="random", **rest):
    pair = [make_player(name, game) for name in (first, second)]
    return play_match(game, pair, names=(first, second), **rest)


def ask(name, game, clock=None):
    player = player_for_new_game(make_player(name, game))
    return player.choose(game.initial, np.random.default_rng(0), clock or Clock())


@pytest.mark.parametrize("name", ["capture_conquer", "morris"])
def test_a_program_plays_a_game_by_ugi(name):
    game = make_game(name)
    played = play(game, f"program:command={ENGINE} minimax:depth=1", "random")
    assert played.reason not in ("error", "illegal", "time"), played.detail
    assert played.turns == play(game, "minimax:depth=1").turns
    replayed = record.replay(played)
    assert replayed.turns == list(played.turns)


def test_a_program_plays_from_any_position_in_either_seat():
    game = make_game("capture_conquer", size=4)
    name = f"program:command={ENGINE} greedy"
    start = game.play_turn(game.initial, next(game.turns(game.initial)))
    played = play(game, "random", name, start=start, limits=Limits(max_turns=9))
    assert played.reason not in ("error", "illegal", "time"), played.detail


def test_what_a_program_is_told(game, bot, tmp_path):
    heard = tmp_path / "heard"
    name = bot(
        LOOP.format(
            body=f"echo $line >>{heard};" + UGI.format(more="go*) echo bestmove 0,1-2,1;;")
        ),
        seconds=2,
    )
    player = player_for_new_game(make_player(name, game))
    clock = Clock(turn=30, game=60)
    assert player.choose(game.initial, None, clock).action == 16
    del player
    assert heard.read_text().splitlines() == [
        "ugi", "setgame capture_conquer size=6 corner=3", "uginewgame", "isready",
        "position startpos", "go movetime 1880 p1time 56980 p2time 56980", "quit",
    ]  # fmt: skip


def test_a_program_is_an_opponent_of_environments():
    name = f"program:command={ENGINE} greedy"
    with gymnasium.make("cc_env/CaptureConquer-v0", size=4, opponent=name, seat=1) as env:
        for _ in range(2):  # a program for each game
            _, info = env.reset(seed=0)
            env.step(int(info["action_mask"].argmax()))
            assert env.unwrapped.position != env.unwrapped.game.initial


TOURNAMENT = """
import sys
from cc_env import games
from cc_env.games.cannon.log import parse_command
number, rows, columns, seconds = sys.stdin.readline().split()
game = make_game("cannon", rows=int(rows), columns=int(columns))
assert seconds == "150"
position, mine = game.initial, number == "1"
while line := mine or sys.stdin.readline():
    if mine:
        turn = (int(game.legal_actions(position)[-1]),)
        print(game.turn_text(position, turn), flush=True)
    else:
        turn = parse_command(game, position, line)
    position, mine = game.play_turn(position, turn), not mine
"""


@pytest.mark.parametrize("seat", [0, 1])
def test_a_program_of_the_tournament_plays(tmp_path, seat):
    """cannon: client that wraps any player program: a line-based program plays a game."""
    path = tmp_path / "tournament.py"
    path.write_text(TOURNAMENT)
    game = make_game("cannon", rows=10)
    program = f"program:command={sys.executable} {path},protocol=cannon"
    names = (program, "random") if seat == 0 else ("random", program)
    played = play(game, *names, limits=Limits(max_turns=None), seed=seat)
    assert played.reason in ("halls", "no_moves", "no_soldiers", "stagnant"), played.detail
    assert len(played.turns) > 20


def test_the_tournaments_programs_play_cannon_from_its_start(game, bot):
    name = bot("read x", protocol="cannon")
    with pytest.raises(BadOption, match="protocol=cannon is for the game cannon"):
        make_player(name, game)
    cannon = make_game("cannon")
    start = cannon.initial
    for _ in range(2):
        start = cannon.play_turn(start, next(cannon.turns(start)))
    played = play(cannon, name, start=start)
    assert played.reason == "error"
    assert "a game begins at the start, not in 'WwWw" in played.detail


@pytest.mark.parametrize(
    ("body", "reason", "says"),
    [
        (answering("echo bestmove 9,9-8,8"), "illegal", "'9,9-8,8' is not legal in"),
        (answering("echo bestmove"), "illegal", "'' is not legal in"),
        (answering("echo info string error no idea"), "error", "string error no idea"),
        (answering("echo oops >&2; exit 3"), "error", "it has ended; last on stderr: "),
        (answering("sleep 1000 & exit 3"), "error", "it has ended"),
        (answering("exec 1>&-; sleep 1000"), "error", "it has ended"),
        (answering("head -c 300000 /dev/zero"), "error", "a line of more than 262,144 characters"),
        (answering("head -c 2000000 /dev/zero >&2"), "error", "more than 1,048,576 bytes"),
        ("exit", "error", "it has ended"),
        (answering("printf 'bestmove %02000d\\n' 0"), "illegal", "has 2,000 characters"),
        (answering("yes"), "time", "no answer in 0.3 s"),
        (answering(":"), "time", "no answer in 0.3 s"),
    ],
)  # fmt: skip
def test_a_program_loses_by_its_faults(game, bot, body, reason, says):
    name = bot(body, seconds=0.3 if reason == "time" else 60)
    played = play(game, name)
    assert (played.result, played.reason) == ("0-1", reason)
    assert played.detail.startswith(f"program {name.split(chr(34))[1]}: ")
    assert says in played.detail


def test_a_program_that_is_not_ready_in_time_loses(game, bot):
    played = play(game, bot("read x; read x", start=0.05))
    assert (played.reason, played.turns) == ("time", ())
    with pytest.raises(Forfeit, match=r"no answer in 0.05 s"):
        ask(bot("read x; read x", start=0.05), game)


def test_a_budget_is_for_the_whole_game(game, bot):
    name = bot(answering("read never"), budget=0.2)
    assert play(game, name).detail.endswith("no answer in 0.2 s")
    assert play(game, bot(answering(":")), limits=Limits(seconds_per_game=0.2)).reason == "time"


@pytest.mark.parametrize(
    ("given", "kind", "says"),
    [
        ("", BadOption, 'wanted a program: command="./bot --strong"'),
        ("command=", BadOption, "wanted a program"),
        ("command='\"'", BadOption, "No closing quotation"),
        ("command=no-such-program", BadOption, "there is no program 'no-such-program'"),
        ("command=sh,protocol=uci", UnknownOption, "protocol='uci'; there are: ugi, cannon"),
        ("command=sh,seconds=0", BadOption, "seconds=0; it is more than 0"),
        ("command=sh,budget=many", BadOption, "budget='many'; it is more than 0"),
        (
            "command=sh,speed=1,sed=2",
            UnknownOption,
            "has no option sed, speed; it has: command, protocol=ugi",
        ),
    ],
)
def test_what_is_not_a_program_is_told(game, given, kind, says):
    with pytest.raises(BadOption, match=says) as raised:
        make_player(f"program:{given}", game)
    assert type(raised.value) is kind


def test_a_command_in_quotes_may_have_commas():
    assert split_options('command="./a b,c=\'d\'",seconds=2') == [
        "command=\"./a b,c='d'\"", "seconds=2",
    ]  # fmt: skip
    assert split_options("easy,path=o'brien,x=1,, ") == ["easy", "path=o'brien", "x=1"]
    assert split_options('a="x",b="y,z"') == ['a="x"', 'b="y,z"']
    assert split_options('a="x,b="y') == ['a="x', 'b="y']


PARENT = "exec 3>{fifo}; sleep 1000 & "  # both hold it open
LEAVER = "exec 3>{fifo}; setsid sleep 1000 & "  # its child leaves its session, and so its group
QUITTER = f"{LEAVER} while read -r line; do echo; exit; done"  # and is an orphan when we end it


def opened(fifo):
    """Return what reads the fifo to its end: that comes when the last of its writers ends."""
    return subprocess.Popen(["cat", str(fifo)], stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("how", ["deleted", "fault", "interrupted"])
def test_a_program_is_ended_with_its_children(game, bot, tmp_path, how):
    os.mkfifo(fifo := tmp_path / "fifo")
    answer = "echo bestmove x" if how == "fault" else "echo bestmove 0,1-2,1"
    name = bot(PARENT.format(fifo=fifo) + answering(answer))
    reader = opened(fifo)
    player = player_for_new_game(make_player(name, game))
    if how == "fault":
        with pytest.raises(Forfeit, match="is not legal"):
            player.choose(game.initial, None, Clock())
    else:
        player.choose(game.initial, None, Clock())
        assert reader.poll() is None
    if how == "interrupted":
        player._talker._talk.ask = interrupted
        with pytest.raises(KeyboardInterrupt):
            player.choose(game.initial, None, Clock())
    elif how == "deleted":
        del player
        gc.collect()
    assert reader.wait(timeout=60) == 0


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="found by /proc")
@pytest.mark.parametrize("program", [LEAVER + answering("echo bestmove 0,1-2,1"), QUITTER])
def test_children_that_leave_its_session_are_ended(game, bot, tmp_path, program):
    os.mkfifo(fifo := tmp_path / "fifo")
    name = bot(program.replace("{fifo}", str(fifo)))
    reader = opened(fifo)
    player = player_for_new_game(make_player(name, game))
    with suppress(Forfeit):
        player.choose(game.initial, None, Clock())
    del player
    gc.collect()
    assert reader.wait(timeout=60) == 0


def test_tabs_separate_the_words_of_a_program(game, bot):
    name = bot(answering("printf '\\t bestmove\\t0,1-2,1 \\tponder\\t0,1-0,2\\t\\n'"))
    assert game.action_text(game.initial, ask(name, game).action) == "0,1-2,1"


def interrupted(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("parent", [PARENT, LEAVER])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_program_ends_when_we_are_killed(bot, tmp_path, number, parent):
    os.mkfifo(fifo := tmp_path / "fifo")
    name = bot(parent.format(fifo=fifo) + "echo on; sleep 1000")
    reader = opened(fifo)
    code = "import sys; from cc_env.protocols.process import ProcessChannel as P\n"
    code += "channel = P([sys.argv[1]]); print(channel.hear(), flush=True); channel.hear()"
    path = name.split('"')[1]
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as ours:
        assert ours.stdout.readline() == b"on\n"
        ours.send_signal(number)
    assert reader.wait(timeout=60) == 0


def test_a_file_starts_no_program(game, bot, tmp_path):
    started = tmp_path / "started"
    name = bot(f"touch {started}; {answering('echo bestmove x')}")
    with untrusted_names():
        for refused in (check_spec, lambda text: make_player(text, game)):
            with pytest.raises(BadPlayer, match=r"a file names the program '.*bot.sh'"):
                refused(name)
    path, pair = tmp_path / "games.jsonl", [make_player("random", game)] * 2
    played = play_match(game, pair, names=("random", "random"))
    append_record(path, replace(played, players=(name, name)))
    assert [kept.players for _, kept in read_records(path)] == [(name, name)]
    line = json.loads(path.read_text())
    path.write_text(json.dumps(line | {"game": name}))
    with pytest.raises(BadRecord, match="there is no game 'program:"):
        list(read_records(path))
    assert not started.exists()
    check_spec(name)  # typed
    with untrusted_names():
        check_spec(name)


def test_every_game_can_be_said(bot):
    for kind in GAMES:
        game = make_game(kind)
        with pytest.raises(Forfeit, match="'none' is not legal"):
            ask(bot(answering("echo bestmove none")), game)


SAID = st.lists(
    st.sampled_from([b"bestmove", b"ugiok", b"readyok", b"info", b"string", b"error", b"\n", b" "])
    | st.binary(max_size=6),
    max_size=12,
).map(b"".join)


class Deaf(channel.Channel):
    """Somebody who has said all that there is to say."""

    def say(self, line, until=0.0):
        pass


@settings(max_examples=40)
@given(said=SAID)
def test_whatever_a_program_says_its_player_decides_or_loses(game, tmp_path_factory, said):
    from cc_env.protocols.program import Talker, UGITalk

    path = tmp_path_factory.getbasetemp() / "said"
    path.write_bytes(b"ugiok\nreadyok\n" + said)
    with path.open("rb") as file:
        talker = Talker(game, "it", UGITalk(), Deaf(file.fileno()), Clock())
        with pytest.raises(Forfeit, match=r"^it: "):
            talker.choose(game.initial, None, Clock())
