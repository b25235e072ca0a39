"""The UGI engine, in this process and in a process of its own."""

import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from conftest import command_line
from hypothesis import given
from hypothesis import strategies as st

from cc_env.__main__ import main
from cc_env.cli.program_commands import _serve_ugi
from cc_env.errors import BadOption, BadPosition, CcEnvError, IllegalAction, UnknownOption
from cc_env.games.factory import make_game
from cc_env.match.referee import Decision
from cc_env.play.ugi_engine import UGIEngine
from cc_env.protocols import channel
from cc_env.protocols.ugi import turn_word
from cc_env.registry.catalogue import GAMES
from cc_env.version import __version__

TRANSCRIPT = f"""
> ugi
< id name cc_env {__version__} minimax:depth=2
< id author cc_env
< option name Seed type spin default 0 min 0 max 2147483647
< ugiok
> isready
< readyok
> uginewgame
> position startpos
> go depth 1
< info depth 1 nodes 17 score cp 0 pv 0,1-2,1
< bestmove 0,1-2,1
> position startpos moves 0,1-2,1
> query p1turn
< response false
> position text 6/1bb3/1brrr1/1r1r2/6/6 b moves 1,2-1,3
> query p1turn
< response false
> dance
< info string error unknown command 'dance'; expected: go, isready, position, query, quit, \
setgame, setoption, stop, ugi, uginewgame
> position startpos moves 9,9-8,8
< info string error turn 1: '9,9-8,8' is not legal in 'bbb3/bb4/b5/5r/4rr/3rrr b'; legal: …
> query result
< info string error query: position has failed; send it again first
> stop
> setgame mini_checkers first=white
> position startpos
> go nodes 50
< info depth 2 nodes 50 score cp 1 pv 14-25 41-30 12-23
< bestmove 14-25
> quit
"""


@contextmanager
def engine_thread(player, game):
    """Yield functions that write and read lines of an engine, which runs in another thread."""
    ours, its = socket.socketpair()
    with ours, its, ours.makefile("r") as lines, ThreadPoolExecutor(1) as pool:
        its.setblocking(False)
        connection = channel.Channel(its.fileno(), its.fileno())
        ended = pool.submit(_serve_ugi, player, game, connection, 0)
        yield (
            lambda line: ours.sendall(f"{line}\n".encode()),
            lambda: lines.readline().rstrip("\n"),
        )
        # The end of its input ends the engine.
        ours.shutdown(socket.SHUT_WR)
        ended.result()


def test_engine_process_follows_the_transcript():
    command = [sys.executable, "-m", "cc_env", "engine", "minimax:depth=2"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, bufsize=1, **pipes) as process:
        for line in TRANSCRIPT.strip().splitlines():
            if line.startswith("> "):
                process.stdin.write(line[2:] + "\n")
            else:
                output = process.stdout.readline().rstrip("\n")
                assert output.startswith(line[2:].removesuffix("…"))
        assert process.stdout.readline() == ""
        assert process.wait() == 0


def test_engine_reads_commands_during_a_search(game):
    with engine_thread("mcts", game) as (write_line, read_line):
        write_line("go infinite")
        write_line("position startpos")
        assert read_line() == "info string error position: a search is in progress; send stop first"
        write_line("isready")
        assert read_line() == "readyok"
        write_line("stop")
        assert read_line().startswith("info depth ")
        assert read_line().startswith("bestmove ")
        write_line("go infinite")


def test_invalid_player_is_rejected_at_start():
    assert "no player 'randm'" in command_line(main, "engine", "randm", status=2)
    assert "no option depth" in command_line(main, "engine", "random:depth=3", status=2)


NO_MOVE = "bestmove (none)"


class EngineClient:
    """An engine of this process whose output is collected in a list."""

    def __init__(self, name, game):
        self.output, self.changed = [], threading.Condition()
        self.engine = UGIEngine(name, game, self.write)

    def write(self, line):
        with self.changed:
            self.output += line.split("\n")
            self.changed.notify_all()

    def __call__(self, *lines, until=None):
        """Send lines; return the output up to a line that begins with `until`."""
        self.output.clear()
        for line in lines:
            self.engine.handle_line(line)
        with self.changed:
            assert self.changed.wait_for(lambda: until is None or self.has_ended(until), timeout=60)
        return list(self.output)

    def has_ended(self, until):
        return bool(self.output) and self.output[-1].startswith(until)


@pytest.fixture(scope="module")
def client(game):
    return EngineClient("minimax:depth=1", game)


@pytest.mark.parametrize("name", GAMES)
def test_turns_are_one_word_in_every_game(name):
    game = make_game(name)
    client, turns = EngineClient("random", game), []
    for _ in range(12):
        words = " ".join(["position startpos moves", *turns])
        *_, best = client(words, "go movetime 50", until="bestmove")
        word, turn = best.split(" ")
        assert word == "bestmove"
        turns.append(turn)
    position = game.initial
    for turn in turns:
        position = game.play_turn(position, game.parse_turn(position, turn))
    assert client(f"position text {game.to_text(position)}") == []
    assert client.engine._position == position


def test_bestmove_is_a_complete_turn():
    game = make_game("morris")
    position, decisions = game.initial, 0
    client = EngineClient("random", game)
    while decisions < 2:
        assert game.outcome(position) == -1
        lines = f"position text {game.to_text(position)}", "go"
        turn = game.parse_turn(position, client(*lines, until="bestmove")[-1].split()[1])
        position, decisions = game.play_turn(position, turn), len(turn)
        assert not game.mid_turn(position)


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        ("fly", UnknownOption, "unknown command 'fly'; expected: go, isready, position, query"),
        ("position", BadPosition, "position ''; expected: startpos"),
        ("position startpos e2e4", BadPosition, "position 'startpos e2e4'; "),
        ("position startpos moves e2e4", IllegalAction, "turn 1: 'e2e4' is not legal"),
        ("position text junk", BadPosition, "cannot read position 'junk'"),
        ("position text", BadPosition, "cannot read position ''"),
        ("setgame chess", UnknownOption, "there is no game 'chess'"),
        ("setgame", UnknownOption, "there is no game ''"),
        ("setgame antigravity", UnknownOption, "a file names it, and importing it runs its code"),
        ("setgame checkers size=9 sise=8", UnknownOption, "checkers has no option sise, size"),
        ("setgame checkers crowning=1e3", BadOption, "crowning='1e3'; expected: continue or ends"),
        ("setoption name Hash value 16", UnknownOption, "setoption 'name Hash value 16'; "),
        ("setoption name Seed value -1", BadOption, "Seed=-1; "),
        ("setoption name Seed value 99999999999", BadOption, "Seed=99999999999; "),
        ("query mood", UnknownOption, "expected: gameover, p1turn, result"),
    ],
)
def test_invalid_commands_report_an_error_and_change_nothing(client, game, line, kind, message):
    client("uginewgame", "position startpos moves 0,1-2,1")
    before = client.engine._position
    (output,) = client(line)
    assert output.startswith("info string error ")
    assert message in output
    word, _, rest = line.partition(" ")
    with pytest.raises(CcEnvError) as raised:
        client.engine._execute(word, rest)
    assert type(raised.value) is kind
    assert client.engine._position == before
    if word in ("setgame", "position"):
        assert client("query p1turn", "go") == [
            f"info string error {command}: {word} has failed; send it again first"
            for command in ("query", "go")
        ] + [NO_MOVE]
        client("setgame capture_conquer", "position startpos moves 0,1-2,1")
    assert client("query p1turn") == ["response false"]


# "arbitrary white space between tokens is allowed": the UCI protocol, April 2004, whose example is
# "\t  debug \t  \t\ton\t  \n".
@pytest.mark.parametrize("blank", ["\t", "   ", " \t \t\t", "\r\t"])
def test_whitespace_separates_words(client, blank):
    def spread(line):
        return blank + line.replace(" ", blank) + blank

    assert client(spread("setgame capture_conquer"), spread("uginewgame")) == []
    assert client(spread("position startpos moves 0,1-2,1"), spread("query p1turn")) == [
        "response false"
    ]
    assert client(spread("position text 6/1bb3/1brrr1/1r1r2/6/6 b"), spread("query p1turn")) == [
        "response true"
    ]
    assert client(spread("go depth 1"), until="bestmove")[0].startswith("info depth 1 ")
    assert client(spread("setoption name Seed value 3"), spread("isready")) == ["readyok"]
    assert not client.engine.handle_line(spread("quit"))


# A player's clock may be below 0 where the other side has not claimed the time yet; UCI bounds
# `wtime`, `btime` and `movetime` by nothing.
@pytest.mark.parametrize(
    "limits",
    [
        "p1time -20 p2time 1000",
        "p1time 1000 p2time -5",
        "movetime -1",
        "movetime 0",
        "p1time 0",
        "p1time -99999999999 p2time -1 p1inc -3",
        "movetime 99999999999 depth 1",
    ],
)
def test_expired_clock_gives_an_immediate_move(game, limits):
    client = EngineClient("minimax:depth=1", game)
    output = client("position startpos", f"go {limits}", until="bestmove")
    assert [line.split()[0] for line in output] == ["info", "bestmove"]


def test_failed_position_blocks_go_and_query(client):
    refused = "info string error go: position has failed; send it again first"
    for line in ("position startpos moves e2e4", "position\tfen junk", "position"):
        client("uginewgame", "position startpos moves 0,1-2,1", line)
        assert client("go depth 1") == [refused, NO_MOVE]
        client("position startpos")
        assert client("go depth 1", until="bestmove")[-1].startswith("bestmove ")


def test_failed_setgame_blocks_position(client):
    client("setgame chess")
    for line in ("uginewgame", "position startpos", "go depth 1", "query result"):
        response, *best = client(line)
        assert best == ([NO_MOVE] if line == "go depth 1" else [])
        assert response.endswith(": setgame has failed; send it again first")
    client("setgame capture_conquer")
    assert client("go depth 1", until="bestmove")[-1].startswith("bestmove ")


def test_position_during_a_search_must_be_sent_again(game):
    client = EngineClient("mcts", game)
    client("go infinite")
    assert "a search is in progress" in client("position startpos moves 0,1-2,1")[0]
    client("stop", until="bestmove")
    assert client("go nodes 9") == [
        "info string error go: position has failed; send it again first",
        NO_MOVE,
    ]


def test_overlong_position_is_rejected(game):
    long = "position startpos moves" + " 0,1-2,1" * 40_000
    with engine_thread("random", game) as (write_line, read_line):
        for line in (long, "go", "isready", "position startpos", "go"):
            write_line(line)
        assert read_line() == "info string error a line of more than 262,144 characters"
        assert read_line() == "info string error go: position has failed; send it again first"
        assert [read_line() for _ in range(2)] == [NO_MOVE, "readyok"]
        assert read_line().startswith("bestmove ")


def test_go_limits_replace_spec_limits_once(client, game):
    client("uginewgame")
    assert client("go depth 3", until="bestmove")[0].startswith("info depth 3 ")
    assert client("go", until="bestmove")[0].startswith("info depth 1 ")
    assert client("go p1time 1000 p2time 9 p1inc 5", until="bestmove")[0].startswith(
        "info depth 1 "
    )
    tree = EngineClient("mcts:seconds=100", game)
    assert " nodes 20 score value " in tree("go nodes 20", until="bestmove")[0]


KNOWN = (
    "expected: depth, nodes, movetime, p1time, p2time, p1inc, p2inc, movestogo, each with a number,"
    " or infinite"
)
NO_LIMIT = "or None for no limit"
AN_INTEGER = "expected: an integer of at most 18 digits"


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ("p1time 60000 p2time 60000 movestogo 40", []),
        ("ponder", [f"unknown words of go: 'ponder'; {KNOWN}"]),
        ("depth 2 foo", [f"unknown words of go: 'foo'; {KNOWN}"]),
        ("mate 3", [f"unknown words of go: 'mate', '3'; {KNOWN}"]),
        (
            f"a b c {'d' * 50} e f",
            [f"unknown words of go: 'a', 'b', 'c', '{'d' * 40}', 'e', … (6 in all); {KNOWN}"],
        ),
        ("depth", [f"go depth has no number; {AN_INTEGER}"]),
        ("depth x depth 2", [f"go depth x; {AN_INTEGER}"]),
        ("movetime -", [f"go movetime -; {AN_INTEGER}"]),
        ("nodes movetime 9999", [f"go nodes has no number; {AN_INTEGER}"]),
        (f"depth {'9' * 5000}", [f"go depth {'9' * 40}; {AN_INTEGER}"]),
        ("depth 0", [f"depth=0; expected: an integer, 1 to 100, {NO_LIMIT}"]),
        ("depth 101", [f"depth=101; expected: an integer, 1 to 100, {NO_LIMIT}"]),
        ("nodes 0", [f"nodes=0; expected: an integer, 1 or more, {NO_LIMIT}"]),
        ("nodes -3", [f"nodes=-3; expected: an integer, 1 or more, {NO_LIMIT}"]),
    ],
)
def test_words_of_go_without_effect_are_named_and_ignored(client, words, messages):
    *output, _, best = client("position startpos", f"go {words}", until="bestmove")
    assert output == [f"info string ignored {message}" for message in messages]
    assert best.startswith("bestmove 0,")


@pytest.mark.parametrize(
    ("player", "command", "limits"),
    [
        ("greedy", "go depth 3", ""),
        ("greedy", "go nodes 3", ""),
        ("mcts:simulations=9", "go nodes 20 depth 3", "nodes, "),
    ],
)
def test_go_limits_that_a_player_lacks_are_ignored(game, player, command, limits):
    missing = "depth" if "depth" in command else "nodes"
    message, *_, best = EngineClient(player, game)(command, until="bestmove")
    assert message == (
        f"info string ignored go {missing}: the player has no such limit; expected: {limits}"
        "movetime, p1time, p2time, p1inc, p2inc, movestogo"
    )
    assert best.startswith("bestmove ")


def test_go_during_a_search_has_no_bestmove_of_its_own(game):
    client = EngineClient("mcts", game)
    assert client("go infinite", "go") == [
        "info string error go: a search is in progress; send stop first"
    ]
    output = client("stop", until="bestmove")
    assert [line.split()[0] for line in output] == ["info", "bestmove"]


def test_finished_game_is_reported(client):
    client("position text r5/6/5b/6/5b/4bb b")
    assert client("query gameover", "query result") == ["response true", "response p2win"]
    error, best = client("go")
    assert error == (
        "info string error there is no action to choose in 'r5/6/5b/6/5b/4bb b'; the game is over"
        " (conquest)"
    )
    assert best == NO_MOVE


def test_seed_determines_random_moves(game):
    client = EngineClient("random", game)

    def moves(seed):
        client(f"setoption name Seed value {seed}", "position startpos")
        return [client("go", until="bestmove")[-1] for _ in range(8)]

    assert moves(1) == moves(1) != moves(2)


class Fails:
    """A player that cannot decide."""

    def __init__(self, game):
        pass

    def choose(self, position, rng, clock):
        raise ArithmeticError("no\nidea")


def test_player_exception_is_reported(game):
    client = EngineClient("test_ugi_engine.Fails", game)
    assert client("isready") == ["readyok"]
    error = "info string error ArithmeticError: no idea"
    assert client("go", until="bestmove") == [error, NO_MOVE]
    assert client("isready") == ["readyok"]


class Counting:
    """A player that counts its decisions and records their times."""

    decisions = []

    def __init__(self, game):
        self.game = game

    def choose(self, position, rng, clock):
        self.decisions.append((self.game.name, clock.turn))
        return Decision(int(rng.choice(self.game.legal_actions(position))))


def test_player_decides_once_before_the_first_readyok_of_a_game(game, monkeypatch):
    monkeypatch.setattr(Counting, "decisions", [])
    client = EngineClient("test_ugi_engine.Counting", game)
    assert client("isready", "isready", "uginewgame", "isready") == ["readyok"] * 3
    assert Counting.decisions == [("capture_conquer", 0.05)]
    client("go movetime 200", until="bestmove")
    assert Counting.decisions[1:] == [("capture_conquer", 0.2)]
    client("setgame mini_checkers", "isready", "isready")
    assert Counting.decisions[2:] == [("mini_checkers", 0.05)]


def test_decision_before_readyok_does_not_change_later_ones(game):
    lines = "setoption name Seed value 3", "position startpos", "go"
    for name in ("random", "minimax:depth=3", "mcts:simulations=50"):
        cold, ready = (EngineClient(name, game) for _ in range(2))
        ready("isready")
        assert ready(*lines, until="bestmove") == cold(*lines, until="bestmove")


def test_program_is_not_started_for_a_decision_before_readyok(game, tmp_path):
    path, started = tmp_path / "bot.sh", tmp_path / "started"
    path.write_text(
        f"#!/bin/sh\necho x >>{started}\n"
        "while read -r line; do case $line in ugi) echo ugiok;; isready) echo readyok;; esac; done"
    )
    path.chmod(0o755)
    client = EngineClient(f"program:command={path}", game)
    assert client("isready") == ["readyok"]
    assert started.read_text() == "x\n"


def test_channel_limits_line_length(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"a" * (channel.MAX_LINE_LENGTH + 9) + b"\nb\r\n" + b"c" * 5)
    with path.open("rb") as file:
        lines = channel.Channel(file.fileno())
        with pytest.raises(channel.LineTooLong, match="a line of more than 262,144"):
            lines.read_line()
        assert [lines.read_line(), lines.read_line()] == ["b", "ccccc"]
        with pytest.raises(EOFError):
            lines.read_line()


WORDS = ["ugi", "isready", "setgame", "position", "startpos", "moves", "go", "depth", "nodes"]
WORDS += [
    "1",
    "0",
    "-1",
    "99999999999999999999",
    "text",
    "fen",
    "stop",
    "query",
    "result",
    "infinite",
]
WORDS += [
    "uginewgame",
    "setoption",
    "name",
    "Seed",
    "value",
    "cannon",
    "rows=8",
    "size=9",
    "=",
    "a.b",
]
WORDS += ["0,1-2,1", "bbb3/bb4/b5/5r/4rr/3rrr", "b", "movetime", "p1time", "capture_conquer"]
LINES = st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=6).map(" ".join)


@given(lines=st.lists(LINES | st.text(), max_size=4))
def test_engine_survives_random_input(client, lines):
    for line in lines:
        assert client.engine.handle_line(line) or line.split()[:1] == ["quit"]
    client.engine.handle_line("stop")
    assert client("isready") == ["readyok"]


def test_option_names_are_those_of_the_player():
    from cc_env.players.specs import player_option_defaults

    assert "depth" in player_option_defaults("minimax:hard")
    assert player_option_defaults("random") == {}
    with pytest.raises(UnknownOption, match="no player"):
        player_option_defaults("nobody")


def test_turn_words_have_no_spaces():
    assert turn_word(" S 0 5  M 0 4") == "S05M04"
