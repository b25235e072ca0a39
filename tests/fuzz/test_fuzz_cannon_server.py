"""Cannon tournament: random messages to server and client, compared with a model."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from cc_env.core.rules import ONGOING
from cc_env.errors import BadRecord
from cc_env.games.cannon import log
from cc_env.games.factory import make_game
from cc_env.players.specs import make_player
from cc_env.reproductions.cannon_tournament import server
from cc_env.reproductions.cannon_tournament.messages import MessageSocket
from cc_env.reproductions.cannon_tournament.program_lines import GAME_SECONDS

GAME = make_game("cannon")
blanks = st.text(" ", min_size=1, max_size=3)
garbage = st.one_of(
    st.binary(min_size=1, max_size=20).filter(bytes.strip),
    st.sampled_from(
        ["{}", "[]", "1", '{"data": "S 0 0"}', '{"meta": 1, "action": 2, "data": 3}']
    ).map(str.encode),
)
illegal = st.sampled_from(
    ["M 0 0", "S 0 0 M 0 0", "S 9 9 B 1 1", "S 0", "x", "S 0 0 S 0 0", "S a b M 1 2"]
)


class Peer(RuleBasedStateMachine):
    """The peer of a tournament server or client, and a model of the game."""

    def __init__(self):
        super().__init__()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.connection = socket.create_connection(listener.getsockname())
            self.tested_end = listener.accept()[0]
        self.connection.settimeout(60)
        self.message_socket = MessageSocket(self.tested_end)
        self.pool = ThreadPoolExecutor(1)
        # Future of the result of the tested end.
        self.game = None
        self.position, self.is_over, self.buffer = GAME.initial, False, ""

    def read(self):
        """Return the next message, None at the end."""
        decoder = json.JSONDecoder()
        while True:
            try:
                message, end = decoder.raw_decode(self.buffer)
            except json.JSONDecodeError:
                received = self.connection.recv(1024)
                if not received:
                    return None
                self.buffer += received.decode()
            else:
                self.buffer = self.buffer[end:]
                return message

    def close(self):
        """Close for writing, and read until the tested end has closed."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
        while self.read() is not None:
            pass

    def teardown(self):
        try:
            if self.game is not None:
                self.close()
                self.check()
        finally:
            self.tested_end.close()
            self.connection.close()
            self.pool.shutdown()

    def receive_move(self):
        """Receive and play the move of the tested end, which must be legal."""
        message = self.read()
        assert message is not None
        turn = log.parse_command(GAME, self.position, message["data"])
        self.position = GAME.play_turn(self.position, turn)
        self.is_over = message["action"] in log.CLOSING
        assert self.is_over == (GAME.outcome(self.position) != ONGOING)

    def send(self, content, cuts=()):
        """Send bytes in parts."""
        start = 0
        for cut in sorted({*cuts, len(content)}):
            self.connection.sendall(content[start:cut])
            start = max(start, cut)

    @precondition(lambda self: not self.is_over)
    @rule(data=st.data(), blank=blanks)
    def move(self, data, blank):
        turn = data.draw(st.sampled_from([*GAME.turns(self.position)]))
        words = GAME.turn_text(self.position, turn).split()
        self.position = GAME.play_turn(self.position, turn)
        content = log.message("NORMAL", blank.join(words)).encode()
        self.send(content, data.draw(st.lists(st.integers(1, len(content)), max_size=3)))
        if GAME.outcome(self.position) == ONGOING:
            self.receive_move()
        else:
            self.is_over = True

    @precondition(lambda self: not self.is_over)
    @rule(command=illegal)
    def move_illegally(self, command):
        self.lose(log.message("NORMAL", command).encode(), {"illegal"})

    @precondition(lambda self: not self.is_over)
    @rule(content=garbage)
    def send_garbage(self, content):
        self.lose(content, {"error", "illegal"})

    @precondition(lambda self: not self.is_over)
    @rule()
    def leave(self):
        self.lose(b"", {"error"})

    @precondition(lambda self: self.is_over)
    @rule()
    def stay(self):
        """Send nothing after the end of the game."""


class ClientMachine(Peer):
    """A client of the tested server, which plays at random."""

    @initialize(first=st.booleans())
    def begin(self, first):
        seats = (
            server.RemoteSeat(self.message_socket),
            server.LocalSeat(make_player("random", GAME)),
        )
        seats = seats if first else seats[::-1]
        self.seat = 0 if first else 1
        self.game = self.pool.submit(server.play_game, GAME, seats)
        number, rows, columns, seconds = log.parse_opening(self.read()["data"])
        assert (number, rows, columns, seconds) == (self.seat, 8, 8, GAME_SECONDS)
        if not first:
            self.receive_move()

    def lose(self, content, reasons):
        """Send a fault and close; the game must be lost for one of these reasons."""
        self.send(content)
        self.close()
        result = self.game.result(timeout=60).match.result
        assert result.outcome == 1 - self.seat
        assert result.reason in reasons
        self.is_over = True

    def check(self):
        match = self.game.result(timeout=60).match
        assert match.position == self.position
        assert match.result is not None


class ServerMachine(Peer):
    """A server of the tested client, which plays at random."""

    @initialize(first=st.booleans(), blank=blanks)
    def begin(self, first, blank):
        player_factory = partial(make_player, "random")
        self.game = self.pool.submit(server.join_game, self.message_socket, player_factory)
        opening = log.opening(GAME, 0 if first else 1, 60.0)
        self.send(log.message("INIT", blank.join(opening.split())).encode())
        if first:
            self.receive_move()

    def lose(self, content, reasons):
        """Send a fault, on which the client ends the game."""
        self.send(content)
        self.is_over = True

    def check(self):
        try:
            assert self.game.result(timeout=60)
        except (EOFError, BadRecord):
            assert GAME.outcome(self.position) == ONGOING


TestServer = pytest.mark.slow(ClientMachine.TestCase)
TestClient = ServerMachine.TestCase
TestServer.settings = TestClient.settings = settings(stateful_step_count=6)
