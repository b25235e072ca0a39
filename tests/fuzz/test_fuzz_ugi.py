"""UGI: random sequences of commands, compared with a model of the engine."""

import threading

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from cc_env.core.rules import ONGOING
from cc_env.games.factory import make_game
from cc_env.play.ugi_engine import UGIEngine
from cc_env.protocols.ugi import turn_word

GAMES = {
    "capture_conquer size=4": make_game("capture_conquer", size=4),
    "mini_checkers": make_game("mini_checkers"),
}
COMMANDS = "ugi", "isready", "setgame", "setoption", "uginewgame", "position", "go", "stop", "query"
ERROR, IGNORED = "info string error ", "info string ignored "

blanks = st.text(" \t", min_size=1, max_size=3)
numbers = st.integers(-(2**70), 2**70).map(str)
times = st.integers(-(10**17), 3).map(str)  # milliseconds
words = st.one_of(
    st.sampled_from([*COMMANDS, "startpos", "moves", "text", "fen", "depth", "infinite", "Seed"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=6),
    numbers,
)
limits = st.one_of(
    st.just([]),
    st.integers(1, 2).map(lambda depth: ["depth", str(depth)]),
    st.integers(1, 60).map(lambda nodes: ["nodes", str(nodes)]),
    st.lists(st.tuples(st.sampled_from(["p1time", "p2time", "movetime", "p1inc"]), times)).map(
        lambda pairs: [word for pair in pairs for word in pair]
    ),
)
bad_limits = st.one_of(
    st.sampled_from(
        ["depth", "depth 0", "depth -1", "nodes x", "movetime", "p1time 1.5", "wtime 9", "ponder"]
    ),
    st.integers(2**31, 2**70).map("depth {}".format),
    st.integers(10**18, 10**30).map("movetime -{}".format),
    st.sampled_from(["foo depth 1", "depth 1 searchmoves 0,1-2,1", "p1time movetime 9"]),
).map(str.split)
bad_positions = st.one_of(
    st.sampled_from(["", "startpos x", "startpos moves 9,9-8,8", "text", "fen 4/4 b", "moves"]),
    st.text("bwr/123 ", min_size=1, max_size=9).map("text {}x".format),
    st.sampled_from(["\u2654", "\u200b", "\x00"]).map("startpos moves {}".format),
).map(str.split)


class Conversation(RuleBasedStateMachine):
    """An engine and its model: game, last accepted position, and the setup command that failed."""

    def __init__(self):
        super().__init__()
        self.lines, self.has_line = [], threading.Condition()
        self.game, self.failed_setup = GAMES["capture_conquer size=4"], ""
        self.position, self.searched_position = self.game.initial, None
        self.engine = UGIEngine("minimax:depth=1", self.game, self.write)

    def write(self, text):
        with self.has_line:
            self.lines += text.split("\n")
            self.has_line.notify_all()

    def send(self, *line, blank=" ", expected_prefix=None):
        """Send a line; return the output up to a line that begins with `expected_prefix`."""
        self.lines.clear()
        assert self.engine.handle_line(blank.join(line))
        with self.has_line:
            assert self.has_line.wait_for(
                lambda: (
                    expected_prefix is None
                    or any(line.startswith(expected_prefix) for line in self.lines)
                ),
                timeout=60,
            )
        return list(self.lines)

    def assert_error(self, *line, blank=" "):
        (output,) = self.send(*line, blank=blank)
        assert output.startswith(ERROR)

    def assert_no_move(self, *line, blank=" "):
        """Assert that a `go` fails; outside of a search, its reply is `bestmove (none)`."""
        error, *best = self.send(*line, blank=blank)
        assert error.startswith(ERROR)
        assert best == (["bestmove (none)"] if self.searched_position is None else [])

    def can_move(self):
        return not self.must_fail("go") and self.game.outcome(self.position) == ONGOING

    def assert_best(self, lines, position):
        """Assert that the output has exactly one `bestmove`, a complete legal turn."""
        (best,) = [line for line in lines if line.startswith("bestmove ")]
        assert best == lines[-1]
        turn = self.game.parse_turn(position, best.removeprefix("bestmove "))
        assert not self.game.mid_turn(self.game.play_turn(position, turn))
        assert not any(line.startswith(ERROR) for line in lines)

    def must_fail(self, command):
        """Return whether a command fails in the model."""
        depends_on_game = self.failed_setup == "setgame" and command in ("uginewgame", "position")
        depends_on_all = bool(self.failed_setup) and command in ("go", "query")
        is_busy = self.searched_position is not None and command not in ("query", "isready", "stop")
        return depends_on_game or depends_on_all or is_busy

    def record_failure(self, command):
        if self.failed_setup != "setgame":
            self.failed_setup = command

    @initialize()
    def begin(self):
        assert self.send("ugi")[-1] == "ugiok"

    @rule(blank=blanks, data=st.data())
    def set_position(self, blank, data):
        position, turns = self.game.initial, []
        for _ in range(data.draw(st.integers(0, 6))):
            if self.game.outcome(position) != ONGOING:
                break
            turn = data.draw(st.sampled_from([*self.game.turns(position)]))
            turns.append(turn_word(self.game.turn_text(position, turn)))
            position = self.game.play_turn(position, turn)
        moves = ["moves", *turns] if turns else []
        line = ["position", "startpos", *moves]
        if data.draw(st.booleans()):
            line = ["position", "text", *self.game.to_text(position).split()]
        if self.must_fail("position"):
            self.assert_error(*line, blank=blank)
            self.record_failure("position")
        else:
            assert self.send(*line, blank=blank) == []
            self.position, self.failed_setup = position, ""

    @rule(blank=blanks, rest=bad_positions)
    def set_invalid_position(self, blank, rest):
        self.assert_error("position", *rest, blank=blank)
        self.record_failure("position")

    @rule(name=st.sampled_from([*GAMES]), blank=blanks)
    def set_game(self, name, blank):
        line = ["setgame", *name.split()]
        if self.must_fail("setgame"):
            self.assert_error(*line, blank=blank)
            self.record_failure("setgame")
        else:
            assert self.send(*line, blank=blank) == []
            self.game, self.failed_setup = GAMES[name], ""
            self.position = self.game.initial

    @rule(rest=st.sampled_from(["", "chess", "morris size=x", "a.b", "capture_conquer size=-1"]))
    def set_invalid_game(self, rest):
        self.assert_error("setgame", *rest.split())
        self.record_failure("setgame")

    @rule(blank=blanks)
    def start_game(self, blank):
        if self.must_fail("uginewgame"):
            self.assert_error("uginewgame", blank, blank=blank)
            self.record_failure("uginewgame")
        else:
            assert self.send("uginewgame", blank=blank) == []
            self.position, self.failed_setup = self.game.initial, ""

    @rule(rest=limits, blank=blanks)
    def go(self, rest, blank):
        if not self.can_move():
            self.assert_no_move("go", *rest, blank=blank)
        else:
            lines = self.send("go", *rest, blank=blank, expected_prefix="bestmove ")
            self.assert_best(lines, self.position)

    @rule(rest=bad_limits)
    def go_with_invalid_limits(self, rest):
        if not self.can_move():
            self.assert_no_move("go", *rest)
        else:
            lines = self.send("go", *rest, expected_prefix="bestmove ")
            assert lines[0].startswith(IGNORED)
            self.assert_best(lines, self.position)

    @rule(blank=blanks)
    def go_until_stop(self, blank):
        if not self.can_move():
            self.assert_no_move("go", "infinite", blank=blank)
        else:
            assert self.send("go", "infinite", blank=blank) == []
            self.searched_position = self.position

    @precondition(lambda self: self.searched_position is not None)
    @rule()
    def stop(self):
        self.assert_best(self.send("stop", expected_prefix="bestmove "), self.searched_position)
        self.searched_position = None

    @precondition(lambda self: self.searched_position is None)
    @rule()
    def stop_without_search(self):
        assert self.send("stop") == []

    @rule()
    def is_ready(self):
        assert self.send("isready") == ["readyok"]

    @rule(blank=blanks)
    def query(self, blank):
        if self.must_fail("query"):
            self.assert_error("query", "p1turn", blank=blank)
        else:
            expected = str(self.game.to_move(self.position) == 0).lower()
            assert self.send("query", "p1turn", blank=blank) == [f"response {expected}"]

    @rule(
        line=st.lists(words, max_size=5).filter(lambda line: " ".join(line).split()[:1] != ["quit"])
    )
    def send_unknown_command(self, line):
        first = [*" ".join(line).split(), ""][0]
        if first and first not in COMMANDS:
            self.assert_error(*line)

    def teardown(self):
        self.engine.shut_down()


TestConversation = Conversation.TestCase
TestConversation.settings = settings(stateful_step_count=15)
