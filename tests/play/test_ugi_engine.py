"""UGI: a player that speaks it on stdin and stdout."""

import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
from conftest import command_line
from hypothesis import given
from hypothesis import strategies as st

from cc_env.__main__ import main
from cc_env.errors import BadOption, BadPosition, CcEnvError, IllegalAction, UnknownOption
from cc_env.games.factory import make_game
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
< info string error unknown command 'dance'; there are: go, isready, position, query, setgame, \
setoption, stop, ugi, uginewgame, quit
> position startpos moves 9,9-8,8
< info string error turn 1: '9,9-8,8' is not legal in 'bbb3/bb4/b5/5r/4rr/3rrr b'; legal: …
> query result
< info string error query: position was refused; it has to be sent again
> stop
> setgame mini_checkers first=white
> position startpos
> go nodes 50
< info depth 2 nodes 50 score cp 1 pv 14-25 41-30 12-23
< bestmove 14-25
> quit
"""


class Spoken:
    """An engine in a process of its own."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "cc_env", "engine", *arguments]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, text=True, bufsize=1, **pipes)

    def say(self, line):
        self.process.stdin.write(line + "\n")

    def hear(self):
        return self.process.stdout.readline().rstrip("\n")


@contextmanager
def engine(*arguments):
    with (made := Spoken(*arguments)).process:
        yield made
        made.process.stdin.close()
        assert made.process.wait() == 0


def test_a_conversation():
    with engine("minimax:depth=2") as made:
        for line in TRANSCRIPT.strip().splitlines():
            if line.startswith("> "):
                made.say(line[2:])
            else:
                assert made.hear().startswith(line[2:].removesuffix("…"))
        assert made.hear() == ""  # quit


def test_it_stops_and_reads_while_it_thinks():
    with engine("mcts") as made:
        made.say("go infinite")
        made.say("position startpos")
        assert made.hear() == "info string error position: the player is thinking; stop comes first"
        made.say("isready")
        assert made.hear() == "readyok"
        made.say("stop")
        assert made.hear().startswith("info depth ")
        assert made.hear().startswith("bestmove ")
        made.say("go infinite")  # and the end of its input ends it


def test_a_wrong_player_is_refused_at_once():
    assert "no player 'randm'" in command_line(main, "engine", "randm", status=2)
    assert "no option depth" in command_line(main, "engine", "random:depth=3", status=2)


class Talk:
    """An engine of this process: what it says is put into a list."""

    def __init__(self, name, game):
        self.said, self.waits = [], threading.Condition()
        self.engine = UGIEngine(name, game, self.hear)

    def hear(self, line):
        with self.waits:
            self.said += line.split("\n")
            self.waits.notify_all()

    def __call__(self, *lines, until=None):
        """Return what is said after some lines, up to the one that begins with `until`."""
        self.said.clear()
        for line in lines:
            self.engine.take(line)
        with self.waits:
            assert self.waits.wait_for(lambda: until is None or self.ends(until), timeout=60)
        return list(self.said)

    def ends(self, until):
        return bool(self.said) and self.said[-1].startswith((until, "info string error"))


@pytest.fixture(scope="module")
def talk(game):
    return Talk("minimax:depth=1", game)


@pytest.mark.parametrize("name", GAMES)
def test_turns_are_one_word_in_every_game(name):
    game = make_game(name)
    talk, turns = Talk("random", game), []
    for _ in range(12):
        words = " ".join(["position startpos moves", *turns])
        *_, best = talk(words, "go movetime 50", until="bestmove")
        word, turn = best.split(" ")
        assert word == "bestmove"
        turns.append(turn)
    position = game.initial
    for turn in turns:
        position = game.play_turn(position, game.parse_turn(position, turn))
    assert talk(f"position text {game.to_text(position)}") == []
    assert talk.engine._position == position


def test_a_turn_has_all_its_decisions():
    game = make_game("morris")
    position, decisions = game.initial, 0
    talk = Talk("random", game)
    while decisions < 2:
        assert game.outcome(position) == -1
        lines = f"position text {game.to_text(position)}", "go"
        turn = game.parse_turn(position, talk(*lines, until="bestmove")[-1].split()[1])
        position, decisions = game.play_turn(position, turn), len(turn)
        assert not game.mid_turn(position)


@pytest.mark.parametrize(
    ("line", "kind", "says"),
    [
        ("fly", UnknownOption, "unknown command 'fly'; there are: go, isready, position, query"),
        ("go depth -1", BadOption, "go depth -1: it is 0 to"),
        ("go movetime soon", BadOption, "go movetime soon: it is a whole number of milliseconds"),
        ("go movetime -", BadOption, "go movetime -: it is a whole number"),
        ("go depth", BadOption, "go depth : it is 0 to 2147483647"),
        ("go depth x", BadOption, "go depth x: it is 0 to"),
        (f"go depth {'9' * 5000}", BadOption, f"go depth {'9' * 40}: it is 0 to"),
        ("go depth 0", BadOption, "depth=0; it is 1 to 100"),
        (
            "go simulations 3",
            UnknownOption,
            "go simulations 3: wanted depth, nodes, movetime, p1time",
        ),
        ("go sideways", UnknownOption, "p1inc, p2inc N, infinite"),
        ("position", BadPosition, "position : wanted startpos or text POSITION"),
        ("position startpos e2e4", BadPosition, "wanted startpos or text POSITION"),
        ("position startpos moves e2e4", IllegalAction, "turn 1: 'e2e4' is not legal"),
        ("position text junk", BadPosition, "cannot read position 'junk'"),
        ("position text", BadPosition, "cannot read position ''"),
        ("setgame chess", UnknownOption, "there is no game 'chess'"),
        ("setgame", UnknownOption, "there is no game ''"),
        ("setgame antigravity", UnknownOption, "a file names it, and importing it runs its code"),
        ("setgame checkers size=9 sise=8", UnknownOption, "checkers has no option sise, size"),
        ("setoption name Hash value 16", UnknownOption, "wanted name Seed value N"),
        ("setoption name Seed value -1", BadOption, "Seed -1: it is 0 to 2147483647"),
        ("setoption name Seed value 99999999999", BadOption, "it is 0 to 2147483647"),
        ("query mood", UnknownOption, "there are: gameover, p1turn, result"),
    ],
)
def test_what_cannot_be_obeyed_is_told_and_changes_nothing(talk, game, line, kind, says):
    talk("uginewgame", "position startpos moves 0,1-2,1")
    before = talk.engine._position
    (said,) = talk(line)
    assert said.startswith("info string error ")
    assert says in said
    word, _, rest = line.partition(" ")
    with pytest.raises(CcEnvError) as raised:
        talk.engine._obey(word, rest)
    assert type(raised.value) is kind
    assert talk.engine._position == before
    if word in ("setgame", "position"):
        assert talk("query p1turn", "go") == [
            f"info string error {command}: {word} was refused; it has to be sent again"
            for command in ("query", "go")
        ]
        talk("setgame capture_conquer", "position startpos moves 0,1-2,1")
    assert talk("query p1turn") == ["response false"]


# "arbitrary white space between tokens is allowed": the UCI protocol, April 2004, whose example is
# "\t  debug \t  \t\ton\t  \n".
@pytest.mark.parametrize("blank", ["\t", "   ", " \t \t\t", "\r\t"])
def test_any_run_of_blanks_separates_words(talk, blank):
    def spread(line):
        return blank + line.replace(" ", blank) + blank

    assert talk(spread("setgame capture_conquer"), spread("uginewgame")) == []
    assert talk(spread("position startpos moves 0,1-2,1"), spread("query p1turn")) == [
        "response false"
    ]
    assert talk(spread("position text 6/1bb3/1brrr1/1r1r2/6/6 b"), spread("query p1turn")) == [
        "response true"
    ]
    assert talk(spread("go depth 1"), until="bestmove")[0].startswith("info depth 1 ")
    assert talk(spread("setoption name Seed value 3"), spread("isready")) == ["readyok"]
    assert not talk.engine.take(spread("quit"))


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
def test_a_clock_that_has_run_out_is_answered_at_once(game, limits):
    talk = Talk("minimax:depth=1", game)
    said = talk("position startpos", f"go {limits}", until="bestmove")
    assert [line.split()[0] for line in said] == ["info", "bestmove"]


def test_after_a_refused_position_there_is_no_answer_for_the_one_before(talk):
    refused = "info string error go: position was refused; it has to be sent again"
    for line in ("position startpos moves e2e4", "position\tfen junk", "position"):
        talk("uginewgame", "position startpos moves 0,1-2,1", line)
        assert talk("go depth 1") == [refused]
        talk("position startpos")
        assert talk("go depth 1", until="bestmove")[-1].startswith("bestmove ")


def test_after_a_refused_game_no_position_is_of_the_one_before(talk):
    talk("setgame chess")
    for line in ("uginewgame", "position startpos", "go depth 1", "query result"):
        (said,) = talk(line)
        assert said.endswith(": setgame was refused; it has to be sent again")
    talk("setgame capture_conquer")
    assert talk("go depth 1", until="bestmove")[-1].startswith("bestmove ")


def test_a_position_that_comes_while_the_player_thinks_has_to_be_sent_again(game):
    talk = Talk("mcts", game)
    talk("go infinite")
    assert "the player is thinking" in talk("position startpos moves 0,1-2,1")[0]
    talk("stop", until="bestmove")
    assert talk("go nodes 9") == [
        "info string error go: position was refused; it has to be sent again"
    ]


def test_a_position_that_is_too_long_is_refused():
    long = "position startpos moves" + " 0,1-2,1" * 40_000
    with engine("random") as made:
        for line in (long, "go", "isready", "position startpos", "go"):
            made.say(line)
        assert made.hear() == "info string error a line of more than 262,144 characters"
        assert made.hear() == "info string error go: position was refused; it has to be sent again"
        assert [made.hear(), made.hear().split()[0]] == ["readyok", "bestmove"]


def test_limits_replace_those_of_the_name_for_once(talk, game):
    talk("uginewgame")
    assert talk("go depth 3", until="bestmove")[0].startswith("info depth 3 ")
    assert talk("go", until="bestmove")[0].startswith("info depth 1 ")
    assert talk("go p1time 1000 p2time 9 p1inc 5", until="bestmove")[0].startswith("info depth 1 ")
    only = Talk("greedy", game)
    assert "cannot be bounded by depth; by: nothing" in only("go depth 3")[0]
    tree = Talk("mcts:seconds=100", game)
    assert " nodes 20 score value " in tree("go nodes 20", until="bestmove")[0]


def test_a_finished_game_is_told(talk):
    talk("position text r5/6/5b/6/5b/4bb b")
    assert talk("query gameover", "query result") == ["response true", "response p2win"]
    assert "the game is over" in talk("go")[0]
    talk("uginewgame")


def test_the_seed_can_be_set(game):
    talk = Talk("random", game)

    def chosen(seed):
        talk(f"setoption name Seed value {seed}", "position startpos")
        return [talk("go", until="bestmove")[-1] for _ in range(8)]

    assert chosen(1) == chosen(1) != chosen(2)


class Fails:
    """A player that cannot decide."""

    def __init__(self, game):
        pass

    def choose(self, position, rng, clock):
        raise ArithmeticError("no\nidea")


def test_a_player_that_fails_is_told(game):
    talk = Talk("test_ugi_engine.Fails", game)
    assert talk("go", until="info") == ["info string error ArithmeticError: no idea"]
    assert talk("isready") == ["readyok"]


def test_lines_are_bounded(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"a" * (channel.LONGEST + 9) + b"\nb\r\n" + b"c" * 5)
    with path.open("rb") as file:
        heard = channel.Channel(file.fileno())
        with pytest.raises(channel.LineTooLong, match="a line of more than 262,144"):
            heard.hear()
        assert [heard.hear(), heard.hear()] == ["b", "ccccc"]
        with pytest.raises(EOFError):
            heard.hear()


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
def test_whatever_is_said_it_lives(talk, lines):
    for line in lines:
        assert talk.engine.take(line) or line.split()[:1] == ["quit"]
    talk.engine.take("stop")
    assert talk("isready") == ["readyok"]


def test_names_of_options_are_those_of_the_player():
    from cc_env.players.specs import player_option_defaults

    assert "depth" in player_option_defaults("minimax:hard")
    assert player_option_defaults("random") == {}
    with pytest.raises(UnknownOption, match="no player"):
        player_option_defaults("nobody")


def test_words_have_no_blanks():
    assert turn_word(" S 0 5  M 0 4") == "S05M04"
