"""A board in a notebook: a session shown by the page's own board, in a widget.

The front end, notebook.js, gets `setting` and `state` and sends what people ask for. Players think
in a thread, so that the kernel stays free for other cells.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import CcEnvError, MissingExtra
from cc_env.play import view
from cc_env.play.messages import check_turn, find_handler, read_action, read_object
from cc_env.play.session import HUMAN, GameSession
from cc_env.rendering.picture import draw

try:
    import anywidget
    import traitlets
except ImportError as missing:
    raise MissingExtra("cc_env.play.board", "anywidget", "notebook") from missing

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "server" / "page"
ADVISER = "minimax:hard"  # who gives hints
PAUSE = 0.8  # seconds after each decision where players are watched


def _sources(*paths: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


class NotebookBoard(anywidget.AnyWidget):
    """A game in progress on a board. Its `session` is another one after each new game."""

    _esm = _sources(PAGE / "board.js", FOLDER / "notebook.js")
    _css = _sources(PAGE / "board.css", FOLDER / "notebook.css")
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
        """Begin; raises as `GameSession`. Each new game has the next seed."""
        self._closed = threading.Event()
        self._begin: Callable[[int], GameSession] = lambda number: GameSession(
            game, names, start=start, seed=seed + number
        )
        self.session = self._begin(0)
        self._games, self._version = 1, 0  # the latter counts all changes
        self._pause = 0.0 if HUMAN in names else PAUSE
        self._seats = {seat for seat, name in enumerate(names) if name == HUMAN}
        self._lock = threading.RLock()  # held to read or change what is above
        self._thinking: threading.Thread | None = None
        self._advising: threading.Thread | None = None
        super().__init__(setting=view.static_state(game), state=self._told())
        self.on_msg(lambda _, message, buffers: self.obey(message))
        self._go_on()

    def __repr__(self) -> str:
        names = ", ".join(seat.name for seat in self.session.seats)
        return f"<board of {self.session.game.name}: {names}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return the widget, with a picture for where no widgets are shown, as in a saved file."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            session = self.session
            picture = draw(
                session.game, session.position, last=session.last_turn, end=session.result
            )
            bundle[0]["image/svg+xml"] = picture._repr_svg_()
        return cast("tuple[dict[str, Any], dict[str, Any]] | None", bundle)

    def close(self) -> None:
        """Show it no more, and let no player go on."""
        self._closed.set()
        super().close()

    def wait(self) -> None:
        """Wait until nobody thinks: a person is to move, or the game is over."""
        for thread in (self._thinking, self._advising):
            if thread is not None:
                thread.join()

    def obey(self, message: object) -> None:
        """Do what the front end asks for, or tell it why not."""
        acts: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "play": self._play,
            "take_back": self._take_back,
            "hint": self._hint,
            "again": self._again,
        }
        try:
            asked = read_object(message, "a message")
            with self._lock:
                find_handler(asked, acts)(asked)
        except CcEnvError as error:
            self.send({"refused": str(error)})

    def _told(self) -> dict[str, Any]:
        return {"version": self._version, **view.session_state(self.session)}

    def _changed(self) -> None:
        self._version += 1
        self.state = self._told()
        self._go_on()

    def _play(self, message: Mapping[str, Any]) -> None:
        check_turn(self.session, self._seats, message, self._version)
        self.session.play(read_action(message))
        self._changed()

    def _take_back(self, message: Mapping[str, Any]) -> None:
        self.session.take_back()
        self._changed()

    def _again(self, message: Mapping[str, Any]) -> None:
        self.session = self._begin(self._games)
        self._games += 1
        self._changed()

    # Who thinks

    def _go_on(self) -> None:
        if self._thinking is None and self._is_player_to_move:
            self._thinking = threading.Thread(target=self._think, daemon=True)
            self._thinking.start()

    @property
    def _is_player_to_move(self) -> bool:
        session = self.session
        over = session.result is not None or self._closed.is_set()
        return not (over or session.is_person_to_move)

    def _think(self) -> None:
        """Let players decide until a person is to move, the game is over, or it is closed."""
        while True:
            with self._lock:
                if not self._is_player_to_move:
                    self._thinking = None
                    return
                session, version = self.session, self._version
                question = session.decision_task()
            answer = question()
            with self._lock:
                if version == self._version and not self._closed.is_set():
                    session.finish_decision(answer)
                    self._changed()
            self._closed.wait(self._pause)

    def _hint(self, message: Mapping[str, Any]) -> None:
        check_turn(self.session, self._seats, message, self._version)
        if self._advising is None or not self._advising.is_alive():
            asked = self.session, self._version
            self._advising = threading.Thread(target=self._advise, args=asked, daemon=True)
            self._advising.start()

    def _advise(self, session: GameSession, version: int) -> None:
        position = session.position
        decision = session.hint(ADVISER)
        with self._lock:
            if version == self._version:
                text = session.game.action_text(position, decision.action).strip()
                self.send({"hint": decision.action, "text": f"{ADVISER} would play {text}"})
