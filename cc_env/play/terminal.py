"""Play in the terminal, line by line; lines from a file or a pipe do as well."""

import contextlib
import re
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.text import Text

from cc_env.core.game import Cell, Game
from cc_env.core.rules import DRAW
from cc_env.errors import (
    BadOption,
    BadRecord,
    CcEnvError,
    IllegalAction,
    escape_controls,
    format_count,
)
from cc_env.files import write_atomically
from cc_env.match import record
from cc_env.match.record import Record, append_record, read_records, read_text
from cc_env.output import Terminal
from cc_env.play import exporting
from cc_env.play.analysis import describe_analysis
from cc_env.play.choices import Choice, list_choices
from cc_env.play.descriptions import count_pieces, describe_ending, summarize_decision
from cc_env.play.exporting import PICTURE_SUFFIX, POSITION_SUFFIX, RECORD_SUFFIX, export_game
from cc_env.play.importing import record_from_svg
from cc_env.play.move_input import cell_name, parse_move
from cc_env.play.session import GameSession
from cc_env.players.specs import check_spec, make_player
from cc_env.rendering.picture import Picture, draw
from cc_env.rendering.text import to_ansi

WIDTH = 80  # columns of the list of moves, fewer in a narrow terminal

HELP = (  # what can be typed, and what it does
    ("a move", "in notation, as in the list; a whole turn or a part of it"),
    ("N", "the move with this number in the list"),
    ("R C", "the piece in row R and column C, then its target in the same way; or R C R C at once"),
    ("moves", "the list of legal moves"),
    ("board", "the board again"),
    ("hint", "what a player would do"),
    ("analyse", "what it expects"),
    ("undo", "take back your last turn"),
    ("draw", "offer a draw, or accept it"),
    ("decline", "decline the offer of a draw"),
    ("resign", "give up"),
    ("turns", "all turns so far"),
    ("save FILE", "save the game: .jsonl, .svg, checkers .pdn, Cannon .log; or its position: .txt"),
    ("load FILE", "go on with a saved game or position"),
    ("quit", "leave the game"),
)


class Console:
    """A session in the terminal."""

    def __init__(
        self,
        session: GameSession,
        terminal: Terminal,
        lines: Callable[[str], str],
        *,
        adviser: str = "minimax",
        pause: float = 0.0,
    ) -> None:
        """Show a session; `lines` asks with a prompt for the next line, and raises EOFError.

        `adviser` is the player who gives hints, `pause` how many seconds to wait after a player has
        moved. Raises UnknownOption where there is no such player.
        """
        check_spec(adviser)
        self.session, self._terminal, self._lines = session, terminal, lines
        self._adviser, self._pause = adviser, pause
        self._commands: dict[str, Callable[[str], object]] = {
            "help": lambda _: self._help(),
            "moves": lambda _: self._say("\n".join(self._list_lines())),
            "board": lambda _: self._board(),
            "turns": lambda _: self._turns(),
            "hint": lambda _: self._hint(),
            "analyse": lambda _: self._analyse(),
            "undo": lambda _: self._undo(),
            "draw": lambda _: self._offer(),
            "decline": lambda _: self._decline(),
            "resign": lambda _: self._resign(),
            "save": self._save,
            "load": self._load,
        }
        self._piece: Cell | None = None  # that was pointed at
        self._turn_of: tuple[int, int] | None = None  # whose heading was shown last

    def run(self) -> None:
        """Play until the game is over and nobody says more, or somebody quits.

        Raises KeyboardInterrupt again after a message.
        """
        try:
            self._run()
        except KeyboardInterrupt:
            self._say("\ninterrupted")
            self._say_unfinished()
            raise
        self._say_unfinished()

    def _run(self) -> None:
        self._begin()
        people = any(seat.player is None for seat in self.session.seats)
        while self.session.result is None or people:
            if self.session.result is None and not self.session.is_person_to_move:
                self._think()
                continue
            self._head()
            try:
                line = self._lines(self._prompt()).strip()
            except EOFError:
                break
            if line.lower() in ("quit", "exit"):
                break
            self._obey(line)

    def _say_unfinished(self) -> None:
        if self.session.result is None:
            self._say(f"unfinished, after {format_count(len(self.session.match.turns), 'turn')}")

    # What is said

    def _say(self, text: str = "") -> None:
        self._terminal.print(text)

    def _help(self) -> None:
        for typed, meaning in HELP:
            width, indent = self._width, " " * 11
            lines = textwrap.wrap(f"{typed:10} {meaning}", width, subsequent_indent=indent)
            self._say("\n".join(lines))

    def _begin(self) -> None:
        game, seats = self.session.game, self.session.seats
        who = (f"{name} {seat.name}" for name, seat in zip(game.players, seats, strict=True))
        self._say(f"{game.name}: {', '.join(who)}; {game.players[self.session.mover]} begins")
        if any(seat.player is None for seat in seats):
            self._say("type help for the commands")
        self._turn_of = None
        self._board()

    def _head(self) -> None:
        """Show the moves, once for each decision of a person, if the board stays in view."""
        at = len(self.session.match.turns), len(self.session.decisions)
        if self.session.result is None and at != self._turn_of:
            self._turn_of = at
            if self.session.draw_offered_by == 1 - self.session.mover:
                offering = self.session.game.players[self.session.draw_offered_by]
                self._say(f"{offering} offers a draw; wanted: draw, decline, or a move")
            lines = self._list_lines()
            self._say("\n".join(lines) if self._fits(lines) else f"{lines[0]}; moves: the list")

    def _fits(self, lines: Sequence[str]) -> bool:
        """Return whether the terminal shows these lines below the board, above the next prompt."""
        board = len(to_ansi(self._picture()).splitlines()) + 2  # with what is said below it
        shown = "\n".join(lines).count("\n") + 1
        return not self._terminal.shows_progress or board + shown < self._terminal.height

    def _prompt(self) -> str:
        if self.session.result is not None:
            return "over> "
        if self._piece:
            return f"{self._mover} {cell_name(self.session.game, self._piece)} to> "
        return f"{self._mover}> "

    @property
    def _mover(self) -> str:
        return self.session.game.players[self.session.mover]

    def _board(self) -> None:
        self._terminal.print(Text.from_ansi(to_ansi(self._picture())))
        self._say(f"on the board: {count_pieces(self.session.game, self.session.position)}")
        if self.session.match.limits.seconds_per_game:
            left = (self.session.seconds_left(player) for player in (0, 1))
            names = self.session.game.players
            pairs = zip(names, left, strict=True)
            self._say("left: " + ", ".join(f"{name} {seconds:.0f} s" for name, seconds in pairs))

    def _picture(self) -> Picture:
        session, match = self.session, self.session.match
        last = match.history[-1] if match.history else None
        return draw(session.game, session.position, last=last, select=self._piece, end=match.result)

    def _list_lines(self) -> list[str]:
        """Return the legal moves by what they do and by their pieces, with their numbers."""
        numbered = self._numbered()
        kinds = {_kind(choice): 0 for choice in numbered}
        for choice in numbered:
            kinds[_kind(choice)] += 1
        listed = [format_count(len(numbered), "move") + _counted(kinds, len(numbered))]
        game = self.session.game
        for kind in kinds:
            if len(kinds) > 1:
                listed.append(f"{kind}:")
            groups: dict[str, list[str]] = {}
            for number, choice in enumerate(numbered, 1):
                if _kind(choice) == kind:
                    name = cell_name(game, choice.pieces[0]) if choice.pieces else ""
                    groups.setdefault(name, []).append(f"{number}) {choice.text}")
            listed += [_wrapped(name, texts, self._width) for name, texts in groups.items()]
        return listed

    @property
    def _width(self) -> int:
        return min(WIDTH, self._terminal.width) if self._terminal.shows_progress else WIDTH

    def _numbered(self) -> list[Choice]:
        """Return the choices in the order of the list: by kind, then by piece."""
        numbered = list_choices(self.session.game, self.session.position)
        kinds = list(dict.fromkeys(sorted((_kind(choice) for choice in numbered), key=KINDS.index)))
        return sorted(numbered, key=lambda choice: (kinds.index(_kind(choice)), choice.pieces[:1]))

    def _turns(self) -> None:
        texts = [f"{number}. {text}" for number, text in enumerate(self.session.match.turns, 1)]
        self._say(_wrapped("", texts, self._width) if texts else "no turns yet")

    # What players do

    def _think(self) -> None:
        session = self.session
        before, mover, number = session.position, self._mover, len(session.match.turns)
        name = session.seats[session.mover].name
        decision = session.play_computer_decision()
        if decision is not None:
            text = session.game.action_text(before, decision.action)
            only = len(session.game.legal_actions(before)) == 1
            self._say(f"\n{mover}, {name}: {text}{' (the only move)' if only else ''}")
            if said := summarize_decision(session.game, before, decision):
                self._say(f"  {said}")
        if session.result is not None or len(session.match.turns) > number:
            self._board()
            self._end()
            time.sleep(self._pause)

    def _end(self) -> None:
        """Say who won, by what, and the scores where the game has them."""
        session, result = self.session, self.session.result
        if result is None:
            return
        text = describe_ending(session)
        people = [seat.player is None for seat in session.seats]
        if people.count(True) == 1 and result.outcome != DRAW:
            text += "; you win" if people[result.outcome] else "; you lose"
        if session.detail:
            text += f" ({session.detail})"
        if session.match.score and session.game.has_scores:
            text += "; scores {:g} - {:g}".format(*session.match.score)
        self._say(text)

    # What people type

    def _obey(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        try:
            if word.lower() in self._commands:
                self._commands[word.lower()](rest.strip())
            elif line:
                self._move(line)
        except (CcEnvError, OSError) as error:
            is_word = isinstance(error, IllegalAction) and not re.search(r"\d", line)
            self._say(f"no: {error}{'; type help for the commands' if is_word else ''}")

    def _move(self, text: str) -> None:
        session = self.session
        if session.result is not None:
            raise IllegalAction("the game is over; wanted: undo, save FILE, load FILE or quit")
        game, numbered = session.game, self._numbered()
        which = parse_move(game, session.position, numbered, self._piece, text)
        if which.candidates:
            numbers = {choice.action: number for number, choice in enumerate(numbered, 1)}
            texts = [f"{numbers[choice.action]}) {choice.text}" for choice in which.candidates]
            self._say("which? " + "  ".join(texts))
            return
        self._piece = which.piece if which.piece != self._piece else None  # twice lets it go
        if which.turn:
            session.play_turn(which.turn)
        self._board()
        self._end()

    def _hint(self) -> None:
        decision = self.session.hint(self._adviser)
        text = self.session.game.action_text(self.session.position, decision.action)
        self._say(f"{self._adviser} would play {text}")

    def _analyse(self) -> None:
        session = self.session
        if session.result is not None:
            raise IllegalAction("the game is over")
        adviser = make_player(self._adviser, session.game)
        for name, text in describe_analysis(session.game, session.position, adviser):
            self._say(f"{name:10} {text}")

    def _undo(self) -> None:
        turns = self.session.take_back()
        self._piece = self._turn_of = None
        what = format_count(turns, "turn") if turns else "what you began"
        self._say(f"{what} taken back")
        self._board()

    def _offer(self) -> None:
        session, mover = self.session, self.session.mover
        other = session.seats[1 - mover]
        if not session.offer_draw(mover):
            colour = session.game.players[1 - mover]
            answer = (
                f"{other.name} declines" if other.player else f"{colour} may answer: draw, decline"
            )
            self._say(f"a draw is offered; {answer}")
        self._end()

    def _decline(self) -> None:
        self.session.decline_draw(self.session.mover)
        self._say("the draw is declined")

    def _resign(self) -> None:
        self.session.resign(self.session.mover)
        self._end()

    def _save(self, name: str) -> None:
        if not name:
            raise BadOption("save where? wanted: save FILE")
        save(self.session, Path(name))
        self._say(f"saved in {name}, {format_count(len(self.session.match.turns), 'turn')}")

    def _load(self, name: str) -> None:
        if not name:
            raise BadOption("load what? wanted: load FILE")
        self.session, count = load(Path(name), self.session)
        self._say(f"loaded the last of {format_count(count, 'game')} in {name}")
        self._piece = None
        self._begin()
        self._end()


KINDS = "steps", "captures", "shots", "captures by shots", "others"


def save(session: GameSession, path: Path) -> None:
    """Add a game to a file of records, or write a file of another kind, by the end of its name.

    Raises UnknownOption and BadRecord as `export_game`, OSError.
    """
    suffix = path.suffix.lower()
    if suffix == RECORD_SUFFIX:
        append_record(path, session.record())
        return
    write_atomically(path, export_game(session, suffix))


def check_save_path(path: Path, game: Game) -> None:
    """Raise BadOption where `save` could not write a game, as far as can be told before."""
    if path.is_dir() or not path.parent.is_dir():
        wrong = "is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise BadOption(f"{path}: {wrong}; wanted: the name of a file")
    exporting.check_suffix(game, path.suffix.lower())


def load(path: Path, session: GameSession) -> tuple[GameSession, int]:
    """Return the last game of a file, with the same players, and the number of its games.

    A file may have a position of this game instead, or a picture with a record.

    Raises BadRecord where it is broken or has no game, BadPosition for a broken position,
    UnknownOption where it is of no known kind.
    """
    names, suffix = [seat.name for seat in session.seats], path.suffix.lower()
    if suffix == POSITION_SUFFIX:
        start = session.game.from_text(read_text(path).strip())
        return GameSession(session.game, names, start=start, limits=session.match.limits), 1
    records = _records(path, session.game, names)
    if not records:
        raise BadRecord(f"{path} has no game")
    return GameSession.from_record(records[-1], names), len(records)


def _records(path: Path, game: Game, names: list[str]) -> list[Record]:
    """Return the games of a file of records, a picture, or a file of another program."""
    suffix = path.suffix.lower()
    if suffix == PICTURE_SUFFIX:
        return [Record.from_json(record_from_svg(read_text(path)))]
    if suffix == RECORD_SUFFIX:
        return [kept for _, kept in read_records(path)]
    games = record.valid_games(path, record.read_foreign(path, game))
    return [Record.from_match(match, players=names) for _, match in games]


def line_reader() -> Callable[[str], str]:
    """Return what asks for lines; where nobody types them it shows what it has read.

    Who types them can edit them, and fetch earlier ones by the arrow keys.
    """
    if sys.stdin.isatty():
        with contextlib.suppress(ImportError):  # not every system has it
            import readline  # noqa: F401  input uses it once it is imported

    def ask(prompt: str) -> str:
        try:
            line = input(prompt)
        except EOFError:
            print()
            raise
        if not sys.stdin.isatty():
            print(escape_controls(line))
        return line

    return ask


def _kind(choice: Choice) -> str:
    if choice.is_shot:
        return "captures by shots" if choice.captures else "shots"
    if choice.captures:
        return "captures"
    return "steps" if choice.cell else "others"


def _counted(kinds: dict[str, int], total: int) -> str:
    parts = (f"{count} {kind}" for kind, count in kinds.items() if count != total)
    return f": {text}" if (text := ", ".join(parts)) else ""


def _wrapped(name: str, texts: Sequence[str], width: int) -> str:
    """Return texts side by side, below each other where they are too long, behind a name."""
    first = f"  {name:4} " if name else "  "
    joined = "  ".join(text.replace(" ", "\xa0") for text in texts)
    lines = textwrap.wrap(joined, width, initial_indent=first, subsequent_indent=" " * len(first))
    return "\n".join(lines).replace("\xa0", " ")
