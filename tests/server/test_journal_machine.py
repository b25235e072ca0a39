"""The journal of two people's game as a state machine.

After every command, the game restored from its journal equals the one in memory. A refused or
repeated command writes nothing.
"""

import json

from game_machine import GameMachine
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from cc_env.play import view
from cc_env.play.session import GameSession
from cc_env.server.journal import Journal
from cc_env.server.limits import ServerLimits
from cc_env.server.room import Room

LIMITS = ServerLimits(journal_bytes=4000)
# The board of a short game, in which the first move is a chain of two decisions.
START = "6/1bb3/1brrr1/1r1r2/6/6 b"
GAME_SECONDS = 20
SEATS = st.sampled_from([0, 1])


class JournalMachine(GameMachine):
    """Two people, each with a connection that numbers its commands."""

    def __init__(self):
        super().__init__(LIMITS, game="capture_conquer", start=START, seconds=GAME_SECONDS)
        self.now = 0.0
        self.patch.setitem(GameSession.__init__.__kwdefaults__, "time_source", lambda: self.now)
        # Only the rule `clock_runs_out` ends a game on time.
        self.patch.setattr(Room, "_set_timer", lambda *arguments: None)
        self.numbers, self.last_commands = [0, 0], [None, None]
        # Number of the last command of each client that has written a line.
        self.written = {}
        self.join()

    def join(self):
        """Load the game and let both people join it."""
        self.room = self.find_room()
        self.clients = [
            self.room.admit([token], name=f"client{seat}") for seat, token in enumerate(self.tokens)
        ]
        for client in self.clients:
            self.run(self.room.join, client)

    def send(self, seat, command):
        """Send a numbered command; return the reason of its refusal, "" if it is accepted."""
        self.numbers[seat] += 1
        self.last_commands[seat] = {**command, "number": self.numbers[seat]}
        return self.send_numbered(seat)

    def send_numbered(self, seat):
        """Send the last command of a seat; return the reason of its refusal."""
        before, command = snapshot(self.room, self.path), self.last_commands[seat]
        self.run(self.room.handle_message, self.clients[seat], command)
        (answer,) = [
            message
            for message in received(self.clients[seat])
            if message.get("number") == command["number"]
        ]
        received(self.clients[1 - seat])
        if answer["type"] == "error":
            assert snapshot(self.room, self.path) == before
            return answer["reason"]
        assert answer["type"] == "accepted"
        if self.path.read_bytes() != before[0]:
            self.written[f"client{seat}"] = command["number"]
        return ""

    @rule(seat=SEATS, place=st.integers(0, 20), seconds=st.sampled_from([0, 0.25, 0.5, 4]))
    def play(self, seat, place, seconds):
        self.now += seconds
        session = self.room.session
        actions = session.match.legal_actions or (0,)
        action = actions[place % len(actions)]
        version = self.room._journal.version
        reason = self.send(seat, {"command": "play", "action": action, "version": version})
        is_my_turn = session.result is None and session.mover == seat
        assert not reason or "game is over" in reason or not is_my_turn

    @rule(seat=SEATS)
    def play_typed_turn(self, seat):
        session = self.room.session
        turn = next(iter(session.game.turns(session.position)), None)
        text = session.game.turn_text(session.position, turn) if turn else "11-12"
        version = self.room._journal.version
        self.send(seat, {"command": "play_text", "text": text, "version": version})

    @rule(
        seat=SEATS,
        command=st.sampled_from(["take_back", "draw", "resign", "rematch", "pace", "step", "hint"]),
    )
    def command(self, seat, command):
        self.send(seat, {"command": command})

    @rule(seat=SEATS, offer=st.sampled_from(["draw", "take_back", "rematch", "money"]))
    def decline(self, seat, offer):
        self.send(seat, {"command": "decline", "offer": offer})

    @rule(
        seat=SEATS,
        command=st.sampled_from(
            [{"command": "fly"}, {"command": "play"}, {"command": "play", "action": -1}, {}]
        ),
    )
    def send_invalid_command(self, seat, command):
        assert self.send(seat, {**command, "version": self.room._journal.version})

    @rule(seat=SEATS)
    def repeat_the_last_command(self, seat):
        """An accepted command is not executed again."""
        if self.last_commands[seat]:
            before = snapshot(self.room, self.path)
            is_executed = self.numbers[seat] == self.room._journal.executed.get(f"client{seat}")
            reason = self.send_numbered(seat)
            assert not is_executed or (not reason and snapshot(self.room, self.path) == before)

    @rule(seat=SEATS)
    def reconnect(self, seat):
        client = self.room.admit([self.tokens[seat]], name=f"client{seat}")
        self.run(self.room.join, client)
        assert self.clients[seat].is_disconnected
        self.clients[seat] = client

    @rule()
    def clock_runs_out(self):
        self.now += GAME_SECONDS + 1
        self.run(self.room._forfeit_on_time)

    @rule()
    def server_restarts(self):
        self.run(self.room.close)
        self.join()

    @invariant()
    def restored_game_equals_the_one_in_memory(self):
        journal = Journal(self.path)
        saved_game = journal.read(self.lobby.make_player)
        assert comparable_state(saved_game.session) == comparable_state(self.room.session)
        assert saved_game.take_back_requested_by == self.room.take_back_requested_by
        assert saved_game.rematch_offered_by == self.room.rematch_offered_by
        assert saved_game.rematch == self.room.rematch
        assert saved_game.session.record() == self.room.session.record()
        kept = self.room._journal
        assert (journal.version, journal.bytes) == (kept.version, kept.bytes)
        assert journal.executed == self.written


def comparable_state(session):
    """Return the state of a session without the running clocks, which are not stored."""
    state = view.session_state(session)
    return {name: value for name, value in state.items() if not name.startswith("clocks")}


def snapshot(room, path):
    """Return what a refused command must not change."""
    requests = room.take_back_requested_by, room.rematch_offered_by, room.rematch
    decisions = [decision.action for decision in room.session.decisions]
    result, offer = room.session.result, room.session.draw_offered_by
    return path.read_bytes(), requests, decisions, result, offer, dict(room._journal.executed)


def received(client):
    """Return the queued messages of a client, and remove them."""
    messages = []
    while not client.messages.empty():
        messages.append(json.loads(client.messages.get_nowait() or "{}"))
    return messages


TestJournal = JournalMachine.TestCase
TestJournal.settings = settings(
    max_examples=15,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
