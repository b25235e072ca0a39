"""Notebook widget: a game session on the board of the page.

The front end, notebook.js, receives `setting` and `state` and sends commands. Players decide in a
thread, so that the kernel can run other cells.
"""

import itertools
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import CcEnvError, MissingExtra
from cc_env.play import messages, view
from cc_env.play.commands import CommandTable
from cc_env.play.session import HUMAN, GameSession
from cc_env.rendering.picture import draw

try:
    import anywidget
    import traitlets
except ImportError as missing:
    raise MissingExtra("cc_env.play.board", "anywidget", "notebook") from missing

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "server" / "page"
HINT_PLAYER = "minimax:hard"
COMMANDS = CommandTable()
# Pause after each decision of a game without people.
PAUSE_SECONDS = 0.8


def _read_files(*paths: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


class NotebookBoard(anywidget.AnyWidget):
    """A board with a game in progress, `session`, which "New game" replaces."""

    _esm = _read_files(PAGE / "board.js", FOLDER / "notebook.js")
    _css = _read_files(PAGE / "board.css", FOLDER / "notebook.css")
    setting = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        game: Game,
        names: Sequence[str],
        *,
        start: Position | None = None,
        seed: int = 0,
    ) -> None:
        """Start the first game; each new game has the next seed.

        Raises BadOption for an invalid seed or if a player cannot be created, BadPosition if
        `start` is no position of the game.
        """
        self._closed = threading.Event()
        self._make_session = partial(GameSession, game, names, start=start)
        self._seeds = itertools.count(seed)
        self.session = self._make_session(seed=next(self._seeds))
        # Number of changes of the session.
        self._version = 0
        self._pause = 0.0 if HUMAN in names else PAUSE_SECONDS
        self._seats = {seat for seat, name in enumerate(names) if name == HUMAN}
        # Guards the attributes above.
        self._lock = threading.RLock()
        self._player_thread: threading.Thread | None = None
        self._hint_thread: threading.Thread | None = None
        super().__init__(setting=view.static_state(game), state=self._state_data())
        self.on_msg(lambda _, message, buffers: self.handle_message(message))
        self._start_player()

    def __repr__(self) -> str:
        names = ", ".join(seat.name for seat in self.session.seats)
        return f"<board of {self.session.game.name}: {names}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return the widget and an SVG picture, which viewers without widgets show."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            session = self.session
            picture = draw(
                session.game, session.position, last=session.last_turn, end=session.result
            )
            bundle[0]["image/svg+xml"] = picture._repr_svg_()
        return cast("tuple[dict[str, Any], dict[str, Any]] | None", bundle)

    def close(self) -> None:
        """Remove the widget and stop the players after their current decision."""
        self._closed.set()
        super().close()

    def wait(self) -> None:
        """Wait until no player is thinking: a person is to move, or the game is over."""
        for thread in (self._player_thread, self._hint_thread):
            if thread is not None:
                thread.join()

    def handle_message(self, message: object) -> None:
        """Execute a command of the front end; report an error to the front end."""
        try:
            fields = messages.read_object(message, "a message")
            command, arguments = messages.read_command(fields, COMMANDS)
            with self._lock:
                command.run(self, *arguments)
        except CcEnvError as error:
            self.send({"refused": str(error)})

    def _state_data(self) -> dict[str, Any]:
        return {"version": self._version, **view.session_state(self.session)}

    def _publish(self) -> None:
        """Send the changed state to the front end; let the next player think."""
        self._version += 1
        self.state = self._state_data()
        self._start_player()

    def _check_turn(self, version: object) -> None:
        """Raise IllegalAction unless a person is to move, in the current version."""
        messages.check_turn(self.session, self._seats, version == self._version)

    @COMMANDS.add("play", "version", "action")
    def _play(self, version: object, action: int) -> None:
        self._check_turn(version)
        self.session.play(action)
        self._publish()

    @COMMANDS.add("take_back")
    def _take_back(self) -> None:
        self.session.take_back()
        self._publish()

    @COMMANDS.add("again")
    def _start_again(self) -> None:
        self.session = self._make_session(seed=next(self._seeds))
        self._publish()

    def _start_player(self) -> None:
        if self._player_thread is None and self._is_player_to_move:
            self._player_thread = threading.Thread(target=self._think, daemon=True)
            self._player_thread.start()

    @property
    def _is_player_to_move(self) -> bool:
        session = self.session
        is_over = session.result is not None or self._closed.is_set()
        return not (is_over or session.is_person_to_move)

    def _think(self) -> None:
        """Play players' decisions until a person is to move, the game ends or the board closes."""
        while True:
            with self._lock:
                if not self._is_player_to_move:
                    self._player_thread = None
                    return
                session, version = self.session, self._version
                task = session.decision_task()
            response = task()
            with self._lock:
                if version == self._version and not self._closed.is_set():
                    session.finish_decision(response)
                    self._publish()
            self._closed.wait(self._pause)

    @COMMANDS.add("hint", "version")
    def _request_hint(self, version: object) -> None:
        self._check_turn(version)
        if self._hint_thread is None or not self._hint_thread.is_alive():
            arguments = self.session, self._version
            self._hint_thread = threading.Thread(
                target=self._send_hint, args=arguments, daemon=True
            )
            self._hint_thread.start()

    def _send_hint(self, session: GameSession, version: int) -> None:
        """Compute a hint; send it unless the position has changed meanwhile."""
        position = session.position
        decision = session.hint(HINT_PLAYER)
        with self._lock:
            if version == self._version:
                text = session.game.readable_action_text(position, decision.action).strip()
                self.send({"hint": decision.action, "text": f"{HINT_PLAYER} would play {text}"})
