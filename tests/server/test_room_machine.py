"""A served game as a state machine: people come and go and play, and the disk fails now and then.

The model is the list of decisions and what is asked for; whatever happens, memory, the file and the
model agree.
"""

import asyncio
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    precondition,
    rule,
)

from cc_env.errors import IllegalAction
from cc_env.files import append_atomically
from cc_env.games.factory import make_game
from cc_env.match.match import Match
from cc_env.play.session import HUMAN
from cc_env.server.journal import Journal
from cc_env.server.limits import ServerLimits
from cc_env.server.lobby import Lobby, check_opening
from cc_env.server.storage import GameFolder

GAME = make_game("mini_checkers")
LIMITS = ServerLimits(spectators_per_game=1)


class Disk:
    """Replacement for `append_atomically` that fails on demand, before or within a line."""

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


class RoomMachine(RuleBasedStateMachine):
    """Clients of one game, a disk that fails, and a model of the game."""

    clients = Bundle("clients")

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.disk, self.patch = Disk(), pytest.MonkeyPatch()
        self.patch.setattr("cc_env.server.journal.append_atomically", self.disk.append)
        self.lobby = Lobby(GameFolder(Path(self.folder.name), LIMITS), LIMITS, cores=1)
        opening = check_opening({"game": GAME.name, "seats": [HUMAN, HUMAN], "seed": 1}, LIMITS)
        self.tokens, self.name = opening.tokens, self.lobby.open(opening)
        self.played, self.is_over = [], False

    def teardown(self):
        self.lobby.close()
        self.patch.undo()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        self.folder.cleanup()

    def run(self, act, *given):
        """Do something in the event loop, as everything in a room is done."""

        async def do():
            return act(*given)

        return self.loop.run_until_complete(do())

    @property
    def room(self):
        return self.loop.run_until_complete(self.lobby.find(self.name))

    @rule(target=clients, seats=st.sampled_from([(0,), (1,), (0, 1)]))
    def join(self, seats):
        room = self.room
        client = room.admit([self.tokens[seat] for seat in seats])
        self.run(room.join, client)
        return room, client

    @rule(pair=consumes(clients))
    def leave(self, pair):
        room, client = pair
        self.run(room.leave, client)

    def obey(self, pair, message):
        """Let a client ask for something; return whether it was done."""
        room, client = pair
        while not client.messages.empty():
            client.messages.get_nowait()
        was_closed = room.is_closed
        try:
            self.run(room.obey, client, message)
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
        done = self.obey(pair, {"do": "play", "action": action, "version": version})
        assert not done or match.mover in client.seats
        if done:
            self.played.append(action)

    @rule(pair=clients)
    def resign(self, pair):
        if self.obey(pair, {"do": "resign"}):
            assert not self.is_over
            self.is_over = True

    @rule(pair=clients)
    def take_back(self, pair):
        before = len(self.played)
        if self.obey(pair, {"do": "take_back"}):
            count = len(pair[0].session.decisions)
            was_asked_only = pair[0].wanted_back is not None
            assert (count == before) if was_asked_only else (count < before)
            if not was_asked_only:
                self.is_over = False
            self.played = self.played[:count]

    @rule(pair=clients)
    def offer_a_draw(self, pair):
        self.obey(pair, {"do": "draw"})
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
    def server_forgets(self):
        """The game is read from its file again when somebody comes."""
        room = self.room
        self.run(room.close)

    def match(self):
        match = Match(GAME)
        for action in self.played:
            match.play(action)
        return match

    @invariant()
    def memory_and_file_and_model_agree(self):
        path = Path(self.folder.name) / f"{self.name}.jsonl"
        copy = path.with_name("copy")
        copy.write_bytes(path.read_bytes())
        kept = Journal(copy).read(self.lobby.make_player)
        copy.unlink()
        assert [decision.action for decision in kept.session.decisions] == self.played
        ended = self.is_over or self.match().result is not None
        assert (kept.session.result is not None) == ended
        room = self.lobby.rooms.get(self.name)
        if room:
            assert not room.is_closed
            assert [decision.action for decision in room.session.decisions] == self.played
            assert room.session.result == kept.session.result
            assert room._journal.version == kept_version(path)

    @invariant()
    def nobody_sees_what_was_not_written(self):
        """Every state that was sent has no more decisions than the model."""
        room = self.lobby.rooms.get(self.name)
        for client in room.guests if room else ():
            messages = list(client.messages._queue)
            states = [json.loads(message) for message in messages if message]
            states = [state for state in states if state["type"] == "state"]
            assert not states or states[-1]["decisions"] == len(self.played)


def kept_version(path):
    """Return the version of a journal: the number of lines that change the position."""
    lines = path.read_text().splitlines()
    asked = '"do":"offer"', '"do":"ask_back"', '"do":"decline"', '"do":"pace"'
    return sum(not any(word in line for word in asked) for line in lines)


TestRoom = RoomMachine.TestCase
TestRoom.settings = settings(
    max_examples=25,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
