"""The common part of the state machines of a served game."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis.stateful import RuleBasedStateMachine

from cc_env.play.session import HUMAN
from cc_env.server.lobby import Lobby, parse_setup
from cc_env.server.storage import GameFolder


class GameMachine(RuleBasedStateMachine):
    """A stored game of two people, its lobby in a temporary folder, and an event loop."""

    def __init__(self, limits, **request):
        """Store a game; `request` contains the fields of its setup except for the seats."""
        super().__init__()
        self.loop, self.folder = asyncio.new_event_loop(), tempfile.TemporaryDirectory()
        self.patch = pytest.MonkeyPatch()
        self.lobby = Lobby(GameFolder(Path(self.folder.name), limits), limits, cores=1)
        setup = parse_setup({**request, "seats": [HUMAN, HUMAN], "seed": 1}, limits)
        self.tokens, self.name = setup.tokens, self.lobby.store_game(setup)

    def teardown(self):
        self.lobby.close()
        self.patch.undo()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        self.folder.cleanup()

    def run(self, function, *args):
        """Call a function in the event loop."""

        async def call():
            return function(*args)

        return self.loop.run_until_complete(call())

    def find_room(self):
        """Return the room of the game, which is read from its file if it is not loaded."""
        return self.loop.run_until_complete(self.lobby.find_room(self.name))

    @property
    def path(self):
        return Path(self.folder.name) / f"{self.name}.jsonl"
