"""UGI: sequences of commands in any order, compared with a model of the conversation."""

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
ERROR = "info string error "

blanks = st.text(" \t", min_size=1, max_size=3)
numbers = st.integers(-(2**70), 2**70).map(str)
times = st.integers(-(10**17), 3).map(str)  # in milliseconds, a few at most: they end a search
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
        ["depth", "depth 0", "depth -1", "nodes x", "movetime", "p1time 1.5", "wtime 9"]
    ),
    st.integers(2**31, 2**70).map("depth {}".format),
    st.integers(10**18, 10**30).map("movetime -{}".format),
).map(str.split)
bad_positions = st.one_of(
    st.sampled_from(["", "startpos x", "startpos moves 9,9-8,8", "text", "fen 4/4 b", "moves"]),
    st.text("bwr/123 ", min_size=1, max_size=9).map("text {}x".format),
    st.sampled_from(["\u2654", "\u200b", "\x00"]).map("startpos moves {}".format),
).map(str.split)


class Conversation(RuleBasedStateMachine):
    """An engine, and a model: the game, the last accepted position, and what was refused since."""

    def __init__(self):
        super().__init__()
        self.lines, self.has_line = [], threading.Condition()
        self.game, self.refused = GAMES["capture_conquer size=4"], ""
        self.position, self.thinks_in = self.game.initial, None
        self.engine = UGIEngine("minimax:depth=1", self.game, self.write)

    def write(self, text):
        with self.has_line:
            self.lines += text.split("\n")
            self.has_line.notify_all()

    def send(self, *line, blank=" ", awaited=None):
        """Send a line; return what is answered, up to a line that begins with `awaited`."""
        self.lines.clear()
        assert self.engine.take(blank.join(line))
        with self.has_line:
            assert self.has_line.wait_for(
                lambda: awaited is None or any(line.startswith(awaited) for line in self.lines),
                timeout=60,
            )
        return list(self.lines)

    def assert_refused(self, *line, blank=" "):
        (answer,) = self.send(*line, blank=blank)
        assert answer.startswith(ERROR)

    def assert_best(self, lines, position):
        """Assert that exactly one whole turn was answered, legal in this position."""
        (best,) = [line for line in lines if line.startswith("bestmove ")]
        assert best == lines[-1]
        turn = self.game.parse_turn(position, best.removeprefix("bestmove "))
        assert not self.game.mid_turn(self.game.play_turn(position, turn))
        assert not any(line.startswith(ERROR) for line in lines)

    def needs(self, command):
        """Return whether a command has to be refused by the model."""
        depends_on_game = self.refused == "setgame" and command in ("uginewgame", "position")
        depends_on_all = bool(self.refused) and command in ("go", "query")
        is_busy = self.thinks_in is not None and command not in ("query", "isready", "stop")
        return depends_on_game or depends_on_all or is_busy

    def note_refusal(self, command):
        if self.refused != "setgame":
            self.refused = command

    @initialize()
    def begin(self):
        assert self.send("ugi")[-1] == "ugiok"

    @rule(blank=blanks, data=st.data())
    def place(self, blank, data):
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
        if self.needs("position"):
            self.assert_refused(*line, blank=blank)
            self.note_refusal("position")
        else:
            assert self.send(*line, blank=blank) == []
            self.position, self.refused = position, ""

    @rule(blank=blanks, rest=bad_positions)
    def place_nothing(self, blank, rest):
        self.assert_refused("position", *rest, blank=blank)
        self.note_refusal("position")

    @rule(name=st.sampled_from([*GAMES]), blank=blanks)
    def set_game(self, name, blank):
        line = ["setgame", *name.split()]
        if self.needs("setgame"):
            self.assert_refused(*line, blank=blank)
            self.note_refusal("setgame")
        else:
            assert self.send(*line, blank=blank) == []
            self.game, self.refused = GAMES[name], ""
            self.position = self.game.initial

    @rule(rest=st.sampled_from(["", "chess", "morris size=x", "a.b", "capture_conquer size=-1"]))
    def set_no_game(self, rest):
        self.assert_refused("setgame", *rest.split())
        self.note_refusal("setgame")

    @rule(blank=blanks)
    def begin_another(self, blank):
        if self.needs("uginewgame"):
            self.assert_refused("uginewgame", blank, blank=blank)
            self.note_refusal("uginewgame")
        else:
            assert self.send("uginewgame", blank=blank) == []
            self.position, self.refused = self.game.initial, ""

    @rule(rest=limits, blank=blanks)
    def go(self, rest, blank):
        if self.needs("go") or self.game.outcome(self.position) != ONGOING:
            self.assert_refused("go", *rest, blank=blank)
        else:
            lines = self.send("go", *rest, blank=blank, awaited="bestmove ")
            self.assert_best(lines, self.position)

    @rule(rest=bad_limits)
    def go_nowhere(self, rest):
        self.assert_refused("go", *rest)

    @rule(blank=blanks)
    def go_until_stop(self, blank):
        if self.needs("go") or self.game.outcome(self.position) != ONGOING:
            self.assert_refused("go", "infinite", blank=blank)
        else:
            assert self.send("go", "infinite", blank=blank) == []
            self.thinks_in = self.position

    @precondition(lambda self: self.thinks_in is not None)
    @rule()
    def stop(self):
        self.assert_best(self.send("stop", awaited="bestmove "), self.thinks_in)
        self.thinks_in = None

    @precondition(lambda self: self.thinks_in is None)
    @rule()
    def stop_nothing(self):
        assert self.send("stop") == []

    @rule()
    def is_ready(self):
        assert self.send("isready") == ["readyok"]

    @rule(blank=blanks)
    def query(self, blank):
        if self.needs("query"):
            self.assert_refused("query", "p1turn", blank=blank)
        else:
            expected = str(self.game.to_move(self.position) == 0).lower()
            assert self.send("query", "p1turn", blank=blank) == [f"response {expected}"]

    @rule(
        line=st.lists(words, max_size=5).filter(lambda line: " ".join(line).split()[:1] != ["quit"])
    )
    def say_anything_else(self, line):
        first = [*" ".join(line).split(), ""][0]
        if first and first not in COMMANDS:
            self.assert_refused(*line)

    def teardown(self):
        self.engine.end()


TestConversation = Conversation.TestCase
TestConversation.settings = settings(stateful_step_count=15)
