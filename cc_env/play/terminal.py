"""Play in the terminal, line by line; lines from a file or a pipe do as well."""

import contextlib
import re
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.text import Text

from cc_env import files
from cc_env.core.game import Cell, Game
from cc_env.core.rules import DRAW
from cc_env.errors import BadOption, BadRecord, CcEnvError, IllegalAction, escape_controls, quantity
from cc_env.match import record
from cc_env.match.record import Record, append_record, read_records, read_text
from cc_env.output import Terminal
from cc_env.play import exporting
from cc_env.play.analysis import told
from cc_env.play.choices import Choice, choices
from cc_env.play.descriptions import counted, ending, summary
from cc_env.play.exporting import PICTURE, POSITION, RECORD, exported
from cc_env.play.importing import record_of_picture
from cc_env.play.move_input import cell_name, meant
from cc_env.play.session import Sitting
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
    """A sitting in the terminal."""

    def __init__(
        self,
        sitting: Sitting,
        terminal: Terminal,
        lines: Callable[[str], str],
        *,
        adviser: str = "minimax",
        pause: float = 0.0,
    ) -> None:
        """Show a sitting; `lines` asks with a prompt for the next line, and raises EOFError.

        `adviser` is the player who gives hints, `pause` how many seconds to wait after a player has
        moved. Raises UnknownOption where there is no such player.
        """
        check_spec(adviser)
        self.sitting, self._terminal, self._lines = sitting, terminal, lines
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
        people = any(seat.player is None for seat in self.sitting.seats)
        while self.sitting.result is None or people:
            if self.sitting.result is None and not self.sitting.is_person_to_move:
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
        if self.sitting.result is None:
            self._say(f"unfinished, after {quantity(len(self.sitting.match.turns), 'turn')}")

    # What is said

    def _say(self, text: str = "") -> None:
        self._terminal.print(text)

    def _help(self) -> None:
        for typed, meaning in HELP:
            width, indent = self._width, " " * 11
            lines = textwrap.wrap(f"{typed:10} {meaning}", width, subsequent_indent=indent)
            self._say("\n".join(lines))

    def _begin(self) -> None:
        game, seats = self.sitting.game, self.sitting.seats
        who = (f"{name} {seat.name}" for name, seat in zip(game.players, seats, strict=True))
        self._say(f"{game.name}: {', '.join(who)}; {game.players[self.sitting.mover]} begins")
        if any(seat.player is None for seat in seats):
            self._say("type help for the commands")
        self._turn_of = None
        self._board()

    def _head(self) -> None:
        """Show the moves, once for each decision of a person, if the board stays in view."""
        at = len(self.sitting.match.turns), len(self.sitting.decisions)
        if self.sitting.result is None and at != self._turn_of:
            self._turn_of = at
            if self.sitting.offered == 1 - self.sitting.mover:
                offering = self.sitting.game.players[self.sitting.offered]
                self._say(f"{offering} offers a draw; wanted: draw, decline, or a move")
            lines = self._list_lines()
            self._say("\n".join(lines) if self._fits(lines) else f"{lines[0]}; moves: the list")

    def _fits(self, lines: Sequence[str]) -> bool:
        """Return whether the terminal shows these lines below the board, above the next prompt."""
        board = len(to_ansi(self._picture()).splitlines()) + 2  # with what is said below it
        shown = "\n".join(lines).count("\n") + 1
        return not self._terminal.is_watched or board + shown < self._terminal.height

    def _prompt(self) -> str:
        if self.sitting.result is not None:
            return "over> "
        if self._piece:
            return f"{self._mover} {cell_name(self.sitting.game, self._piece)} to> "
        return f"{self._mover}> "

    @property
    def _mover(self) -> str:
        return self.sitting.game.players[self.sitting.mover]

    def _board(self) -> None:
        self._terminal.print(Text.from_ansi(to_ansi(self._picture())))
        self._say(f"on the board: {counted(self.sitting.game, self.sitting.position)}")
        if self.sitting.match.limits.seconds_per_game:
            left = (self.sitting.left(player) for player in (0, 1))
            names = self.sitting.game.players
            pairs = zip(names, left, strict=True)
            self._say("left: " + ", ".join(f"{name} {seconds:.0f} s" for name, seconds in pairs))

    def _picture(self) -> Picture:
        sitting, match = self.sitting, self.sitting.match
        last = match.history[-1] if match.history else None
        return draw(sitting.game, sitting.position, last=last, select=self._piece, end=match.result)

    def _list_lines(self) -> list[str]:
        """Return the legal moves by what they do and by their pieces, with their numbers."""
        numbered = self._numbered()
        kinds = {_kind(choice): 0 for choice in numbered}
        for choice in numbered:
            kinds[_kind(choice)] += 1
        listed = [quantity(len(numbered), "move") + _counted(kinds, len(numbered))]
        game = self.sitting.game
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
        return min(WIDTH, self._terminal.width) if self._terminal.is_watched else WIDTH

    def _numbered(self) -> list[Choice]:
        """Return the choices in the order of the list: by kind, then by piece."""
        numbered = choices(self.sitting.game, self.sitting.position)
        kinds = list(dict.fromkeys(sorted((_kind(choice) for choice in numbered), key=KINDS.index)))
        return sorted(numbered, key=lambda choice: (kinds.index(_kind(choice)), choice.pieces[:1]))

    def _turns(self) -> None:
        texts = [f"{number}. {text}" for number, text in enumerate(self.sitting.match.turns, 1)]
        self._say(_wrapped("", texts, self._width) if texts else "no turns yet")

    # What players do

    def _think(self) -> None:
        sitting = self.sitting
        before, mover, number = sitting.position, self._mover, len(sitting.match.turns)
        name = sitting.seats[sitting.mover].name
        decision = sitting.think()
        if decision is not None:
            text = sitting.game.action_text(before, decision.action)
            only = len(sitting.game.legal_actions(before)) == 1
            self._say(f"\n{mover}, {name}: {text}{' (the only move)' if only else ''}")
            if said := summary(sitting.game, before, decision):
                self._say(f"  {said}")
        if sitting.result is not None or len(sitting.match.turns) > number:
            self._board()
            self._end()
            time.sleep(self._pause)

    def _end(self) -> None:
        """Say who won, by what, and the scores where the game has them."""
        sitting, result = self.sitting, self.sitting.result
        if result is None:
            return
        text = ending(sitting)
        people = [seat.player is None for seat in sitting.seats]
        if people.count(True) == 1 and result.outcome != DRAW:
            text += "; you win" if people[result.outcome] else "; you lose"
        if sitting.detail:
            text += f" ({sitting.detail})"
        if sitting.match.score and sitting.game.scores:
            text += "; scores {:g} - {:g}".format(*sitting.match.score)
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
        sitting = self.sitting
        if sitting.result is not None:
            raise IllegalAction("the game is over; wanted: undo, save FILE, load FILE or quit")
        game, numbered = sitting.game, self._numbered()
        which = meant(game, sitting.position, numbered, self._piece, text)
        if which.several:
            numbers = {choice.action: number for number, choice in enumerate(numbered, 1)}
            texts = [f"{numbers[choice.action]}) {choice.text}" for choice in which.several]
            self._say("which? " + "  ".join(texts))
            return
        self._piece = which.piece if which.piece != self._piece else None  # twice lets it go
        if which.turn:
            sitting.play_turn(which.turn)
        self._board()
        self._end()

    def _hint(self) -> None:
        decision = self.sitting.hint(self._adviser)
        text = self.sitting.game.action_text(self.sitting.position, decision.action)
        self._say(f"{self._adviser} would play {text}")

    def _analyse(self) -> None:
        sitting = self.sitting
        if sitting.result is not None:
            raise IllegalAction("the game is over")
        adviser = make_player(self._adviser, sitting.game)
        for name, text in told(sitting.game, sitting.position, adviser):
            self._say(f"{name:10} {text}")

    def _undo(self) -> None:
        turns = self.sitting.take_back()
        self._piece = self._turn_of = None
        what = quantity(turns, "turn") if turns else "what you began"
        self._say(f"{what} taken back")
        self._board()

    def _offer(self) -> None:
        sitting, mover = self.sitting, self.sitting.mover
        other = sitting.seats[1 - mover]
        if not sitting.offer_draw(mover):
            colour = sitting.game.players[1 - mover]
            answer = (
                f"{other.name} declines" if other.player else f"{colour} may answer: draw, decline"
            )
            self._say(f"a draw is offered; {answer}")
        self._end()

    def _decline(self) -> None:
        self.sitting.decline_draw(self.sitting.mover)
        self._say("the draw is declined")

    def _resign(self) -> None:
        self.sitting.resign(self.sitting.mover)
        self._end()

    def _save(self, name: str) -> None:
        if not name:
            raise BadOption("save where? wanted: save FILE")
        save(self.sitting, Path(name))
        self._say(f"saved in {name}, {quantity(len(self.sitting.match.turns), 'turn')}")

    def _load(self, name: str) -> None:
        if not name:
            raise BadOption("load what? wanted: load FILE")
        self.sitting, count = load(Path(name), self.sitting)
        self._say(f"loaded the last of {quantity(count, 'game')} in {name}")
        self._piece = None
        self._begin()
        self._end()


KINDS = "steps", "captures", "shots", "captures by shots", "others"


def save(sitting: Sitting, path: Path) -> None:
    """Add a game to a file of records, or write a file of another kind, by the end of its name.

    Raises UnknownOption and BadRecord as `exported`, OSError.
    """
    ending = path.suffix.lower()
    if ending == RECORD:
        append_record(path, sitting.record())
        return
    files.write(path, exported(sitting, ending))


def check_place(path: Path, game: Game) -> None:
    """Raise BadOption where `save` could not write a game, as far as can be told before."""
    if path.is_dir() or not path.parent.is_dir():
        wrong = "is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise BadOption(f"{path}: {wrong}; wanted: the name of a file")
    exporting.check(game, path.suffix.lower())


def load(path: Path, sitting: Sitting) -> tuple[Sitting, int]:
    """Return the last game of a file, with the same players, and the number of its games.

    A file may have a position of this game instead, or a picture with a record.

    Raises BadRecord where it is broken or has no game, BadPosition for a broken position,
    UnknownOption where it is of no known kind.
    """
    names, ending = [seat.name for seat in sitting.seats], path.suffix.lower()
    if ending == POSITION:
        start = sitting.game.from_text(read_text(path).strip())
        return Sitting(sitting.game, names, start=start, limits=sitting.match.limits), 1
    records = _records(path, sitting.game, names)
    if not records:
        raise BadRecord(f"{path} has no game")
    return Sitting.of(records[-1], names), len(records)


def _records(path: Path, game: Game, names: list[str]) -> list[Record]:
    """Return the games of a file of records, a picture, or a file of another program."""
    ending = path.suffix.lower()
    if ending == PICTURE:
        return [Record.from_json(record_of_picture(read_text(path)))]
    if ending == RECORD:
        return [kept for _, kept in read_records(path)]
    return [Record.from_match(match, players=names) for _, match in record.read_foreign(path, game)]


def read_lines() -> Callable[[str], str]:
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
    told = (f"{count} {kind}" for kind, count in kinds.items() if count != total)
    return f": {text}" if (text := ", ".join(told)) else ""


def _wrapped(name: str, texts: Sequence[str], width: int) -> str:
    """Return texts side by side, below each other where they are too long, behind a name."""
    first = f"  {name:4} " if name else "  "
    joined = "  ".join(text.replace(" ", "\xa0") for text in texts)
    lines = textwrap.wrap(joined, width, initial_indent=first, subsequent_indent=" " * len(first))
    return "\n".join(lines).replace("\xa0", " ")
