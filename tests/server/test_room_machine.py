"""A served game as a state machine: clients join, leave and play, and the disk fails at times.

The model is a list of decisions. Memory, the file and the model always agree.
"""

import json

from game_machine import GameMachine
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    consumes,
    invariant,
    precondition,
    rule,
)

from cc_env.errors import IllegalAction
from cc_env.files import append_atomically
from cc_env.games.factory import make_game
from cc_env.match.match import Match
from cc_env.server.journal import Journal
from cc_env.server.limits import ServerLimits

GAME = make_game("mini_checkers")
LIMITS = ServerLimits(spectators_per_game=1)


class Disk:
    """A replacement of `append_atomically` that can fail before or in the middle of a line."""

    def __init__(self):
        self.fails_after = None
        self._append = append_atomically

    def append(self, path, content, **options):
        if self.fails_after is None:
            self._append(path, content, **options)
            return
        with path.open("a") as file:
            file.write(content[: self.fails_after])
        raise OSError(28, "No space left on device", str(path))


class RoomMachine(GameMachine):
    """Clients of one game, a disk that fails, and a model of the game."""

    clients = Bundle("clients")

    def __init__(self):
        super().__init__(LIMITS, game=GAME.name)
        self.disk = Disk()
        self.patch.setattr("cc_env.server.journal.append_atomically", self.disk.append)
        self.actions, self.is_over = [], False

    @rule(target=clients, seats=st.sampled_from([(0,), (1,), (0, 1)]))
    def join(self, seats):
        room = self.find_room()
        client = room.admit([self.tokens[seat] for seat in seats])
        self.run(room.join, client)
        return room, client

    @rule(pair=consumes(clients))
    def leave(self, pair):
        room, client = pair
        self.run(room.leave, client)

    def send(self, pair, message):
        """Send a command of a client; return whether it was executed."""
        room, client = pair
        while not client.messages.empty():
            client.messages.get_nowait()
        was_closed = room.is_closed
        try:
            self.run(room.execute_command, client, message)
        except IllegalAction:
            return False
        assert not was_closed
        return not room.is_closed

    @rule(pair=clients, place=st.integers(0, 3))
    def play(self, pair, place):
        room, client = pair
        match = self.match()
        if match.result or self.is_over:
            return
        action = match.legal_actions[place % len(match.legal_actions)]
        version = room._journal.version
        done = self.send(pair, {"command": "play", "action": action, "version": version})
        assert not done or match.mover in client.seats
        if done:
            self.actions.append(action)

    @rule(pair=clients)
    def resign(self, pair):
        if self.send(pair, {"command": "resign"}):
            assert not self.is_over
            self.is_over = True

    @rule(pair=clients)
    def take_back(self, pair):
        before = len(self.actions)
        if self.send(pair, {"command": "take_back"}):
            count = len(pair[0].session.decisions)
            is_request_only = pair[0].take_back_requested_by is not None
            assert (count == before) if is_request_only else (count < before)
            if not is_request_only:
                self.is_over = False
            self.actions = self.actions[:count]

    @rule(pair=clients)
    def offer_a_draw(self, pair):
        self.send(pair, {"command": "draw"})
        room, _ = pair
        self.is_over |= not room.is_closed and room.session.result is not None

    @rule(fails_after=st.integers(0, 30))
    def disk_fails(self, fails_after):
        self.disk.fails_after = fails_after

    @precondition(lambda self: self.disk.fails_after is not None)
    @rule()
    def disk_recovers(self):
        self.disk.fails_after = None

    @rule()
    def room_closes(self):
        """The game is read from its file again when a client joins."""
        self.run(self.find_room().close)

    def match(self):
        match = Match(GAME)
        for action in self.actions:
            match.play(action)
        return match

    @invariant()
    def memory_and_file_and_model_agree(self):
        copy = self.path.with_name("copy")
        copy.write_bytes(self.path.read_bytes())
        saved_game = Journal(copy).read(self.lobby.make_player)
        copy.unlink()
        assert [decision.action for decision in saved_game.session.decisions] == self.actions
        ended = self.is_over or self.match().result is not None
        assert (saved_game.session.result is not None) == ended
        room = self.lobby.rooms.get(self.name)
        if room:
            assert not room.is_closed
            assert [decision.action for decision in room.session.decisions] == self.actions
            assert room.session.result == saved_game.session.result
            assert room._journal.version == journal_version(self.path)

    @invariant()
    def sent_states_were_written(self):
        """Every state that was sent has no more decisions than the model."""
        room = self.lobby.rooms.get(self.name)
        for client in room.clients if room else ():
            messages = list(client.messages._queue)
            states = [json.loads(message) for message in messages if message]
            states = [state for state in states if state["type"] == "state"]
            assert not states or states[-1]["decisions"] == len(self.actions)


def journal_version(path):
    """Return the version of a journal: the number of lines that change the position."""
    lines = path.read_text().splitlines()
    kinds = '"do":"offer"', '"do":"request_take_back"', '"do":"decline"', '"do":"pace"'
    return sum(not any(kind in line for kind in kinds) for line in lines)


TestRoom = RoomMachine.TestCase
TestRoom.settings = settings(
    max_examples=25,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
