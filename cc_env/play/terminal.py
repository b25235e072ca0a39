"""Play in the terminal. Commands are lines, which may also come from a file or a pipe."""

import contextlib
import re
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from rich.text import Text

from cc_env.core.game import Cell, Game
from cc_env.core.rules import DRAW
from cc_env.errors import (
    BadOption,
    BadRecord,
    CcEnvError,
    IllegalAction,
    UnknownOption,
    escape_controls,
    format_count,
    format_list,
    suggest,
)
from cc_env.files import write_atomically
from cc_env.ladder.rungs import Rung, find_rung, has_ladder, named_rung, rungs
from cc_env.match import record
from cc_env.match.record import Record, append_record, read_records, read_text
from cc_env.output import Terminal
from cc_env.play import exporting
from cc_env.play.analysis import describe_analysis
from cc_env.play.choices import Choice, list_choices
from cc_env.play.commands import CommandTable
from cc_env.play.descriptions import (
    count_pieces,
    describe_player,
    describe_result,
    summarize_decision,
)
from cc_env.play.exporting import PICTURE_SUFFIX, POSITION_SUFFIX, RECORD_SUFFIX, export_game
from cc_env.play.importing import record_from_svg
from cc_env.play.move_input import cell_style, parse_move
from cc_env.play.review import describe_review, review_game, reviewer_spec
from cc_env.play.session import GameSession
from cc_env.players.specs import PLAYERS, check_spec, make_player
from cc_env.rendering.picture import Picture, draw
from cc_env.rendering.text import to_ansi
from cc_env.text.rules import rules_text, title_and_goal

# Maximum width of the list of moves, in columns.
MAX_WIDTH = 80

COMMANDS = CommandTable()
SAVE_DESCRIPTION = "save the game: .jsonl, .svg, checkers .pdn, Cannon .log; or its position: .txt"
# What can be typed besides commands, with descriptions.
OTHER_INPUT = (
    ("a move", "play it; notation as in the list, a whole turn or a part of it"),
    ("N", "play the move with this number in the list"),
    ("a1", "select the piece on a cell, then its target; or both at once: a1 b2"),
    ("quit", "leave the game"),
)


class Console:
    """Front end of a game session in the terminal."""

    def __init__(
        self,
        session: GameSession,
        terminal: Terminal,
        read_line: Callable[[str], str],
        *,
        hint_player: str = "minimax",
        pause: float = 0.0,
    ) -> None:
        """Use `read_line(prompt)` for input; it raises EOFError at the end.

        `hint_player` is the spec of the player for hints and analysis; `pause` is the time in
        seconds to wait after a player's turn. Raises UnknownOption for an unknown player.
        """
        check_spec(hint_player)
        self.session, self._terminal, self._read_line = session, terminal, read_line
        self._print = terminal.print
        self._hint_player, self._pause = hint_player, pause
        self._selected: Cell | None = None
        # Numbers of turns and decisions at which the list of moves was printed last.
        self._listed_at: tuple[int, int] | None = None

    def run(self) -> None:
        """Play until the input ends or a person quits; without people, until the game ends.

        Re-raises KeyboardInterrupt after a message.
        """
        try:
            self._run()
        except KeyboardInterrupt:
            self._print("\ninterrupted")
            raise
        finally:
            if self.session.result is None:
                turns = format_count(len(self.session.match.turns), "turn")
                self._print(f"unfinished, after {turns}")

    def _run(self) -> None:
        """Let players decide and execute lines until the end."""
        self._print_start()
        has_people = any(seat.player is None for seat in self.session.seats)
        while self.session.result is None or has_people:
            if self.session.result is None and not self.session.is_person_to_move:
                self._play_computer()
                continue
            self._print_moves_once()
            try:
                line = self._read_line(self._prompt()).strip()
            except EOFError:
                break
            if line.lower() in ("quit", "exit"):
                break
            self._execute(line)

    # Output

    @COMMANDS.add("help", description="list the commands")
    def _print_help(self) -> None:
        described = [
            (" ".join((name, *command.arguments)), command.description)
            for name, command in COMMANDS.items()
        ]
        width = max(len(usage) for usage, _ in described)
        for usage, description in (*OTHER_INPUT, *described):
            self._print_text(f"{usage:{width}} {description}", " " * (width + 1))

    def _print_start(self) -> None:
        """Print the game, its players and its goal, and the board."""
        game, seats = self.session.game, self.session.seats
        title, goal = title_and_goal(game)
        mover, person = self.session.mover, self._only_person
        if person is None:
            pairs = zip(game.players, (describe_player(game, s.name) for s in seats), strict=True)
            text = f"{', '.join(map(' '.join, pairs))}; {game.players[mover]} begins"
        else:
            opponent = describe_player(game, seats[1 - person].name)
            own, other = game.players[person], game.players[1 - person]
            begins = "you begin" if mover == person else f"{other} begins"
            text = f"you ({own}) against {opponent}; {begins}"
        self._print_text(f"{title[0].upper()}{title[1:]}: {text}")
        if any(seat.player is None for seat in seats):
            if person is not None and game.goal_cells:
                goal += f" Your far corner is {self._cell_text(game.goal_cells[person])}."
            self._print_text(goal)
            self._print("type help for the commands, rules for the rules")
        if any(named_rung(game, seat.name) for seat in seats):
            self._print_text(
                f"opponents: {_list_levels(rungs(game))}; type opponent NAME for a new game"
            )
        self._listed_at = None
        self._print_board()

    @COMMANDS.add("rules", description="print the rules")
    def _print_rules(self) -> None:
        for line in rules_text(self.session.game).splitlines():
            self._print_text(line, "  " if line.startswith("- ") else "")

    def _print_text(self, text: str, indent: str = "") -> None:
        """Print a line of text, wrapped, with an indent before all lines but the first."""
        self._print("\n".join(textwrap.wrap(text, self._width, subsequent_indent=indent)))

    @property
    def _only_person(self) -> int | None:
        """The seat of the person; None for two people, or none."""
        people = [seat for seat in (0, 1) if self.session.seats[seat].player is None]
        return people[0] if len(people) == 1 else None

    def _print_moves_once(self) -> None:
        """Print the moves once per decision of a person; if they do not fit, only their number."""
        progress = len(self.session.match.turns), len(self.session.decisions)
        if self.session.result is None and progress != self._listed_at:
            self._listed_at = progress
            offer = []
            if self.session.draw_offered_by == 1 - self.session.mover:
                offering = self.session.game.players[self.session.draw_offered_by]
                offer = [f"{offering} offers a draw; type draw, decline, or a move"]
            moves = self._list_lines()
            if not self._fits([*offer, *moves]):
                moves = [f"{moves[0]}; type moves for the list"]
            self._print("\n".join([*offer, *moves]))

    def _fits(self, lines: Sequence[str]) -> bool:
        """Return whether the board, its two lines of text, these lines and a prompt fit.

        They always fit if the output is not a terminal.
        """
        board_height = len(to_ansi(self._picture()).splitlines()) + 2
        height = board_height + len("\n".join(lines).splitlines())
        return not self._terminal.shows_progress or height < self._terminal.height

    def _prompt(self) -> str:
        if self.session.result is not None:
            return "over> "
        if self._selected:
            return f"{self._mover} {self._cell_text(self._selected)} to> "
        return f"{self._mover}> "

    @property
    def _mover(self) -> str:
        return self.session.game.players[self.session.mover]

    @COMMANDS.add("moves", description="list the legal moves")
    def _print_moves(self) -> None:
        self._print("\n".join(self._list_lines()))

    @COMMANDS.add("board", description="show the board again")
    def _print_board(self) -> None:
        self._print(Text.from_ansi(to_ansi(self._picture())))
        self._print(f"pieces: {count_pieces(self.session.game, self.session.position)}")
        if self.session.match.limits.seconds_per_game:
            clocks = (
                f"{name} {self.session.seconds_left(player):.0f} s"
                for player, name in enumerate(self.session.game.players)
            )
            self._print(f"time left: {', '.join(clocks)}")

    def _picture(self) -> Picture:
        session, match = self.session, self.session.match
        last = match.history[-1] if match.history else None
        return draw(
            session.game, session.position, last=last, select=self._selected, end=match.result
        )

    def _list_lines(self) -> list[str]:
        """Return the heading and the numbered legal moves, grouped by kind and by piece."""
        choices = self._listed_choices()
        kinds = Counter(map(_kind, choices))
        lines = [format_count(len(choices), "move") + _kind_counts(kinds, len(choices))]
        numbered = list(enumerate(choices, 1))
        for kind, same_kind in groupby(numbered, lambda entry: _kind(entry[1])):
            if len(kinds) > 1:
                lines.append(f"{kind}:")
            for cells, same_piece in groupby(same_kind, lambda entry: entry[1].pieces[:1]):
                name = self._cell_text(cells[0]) if cells else ""
                texts = [f"{number}) {choice.text}" for number, choice in same_piece]
                lines.append(_wrap_texts(name, texts, self._width))
        return lines

    def _player_name(self, seat: int) -> str:
        """Return the name of a rung, or the spec of another player."""
        spec = self.session.seats[seat].name
        rung = named_rung(self.session.game, spec)
        return rung.name if rung else spec

    def _cell_text(self, cell: Cell) -> str:
        game = self.session.game
        return game.cell_text(cell, cell_style(game))

    @property
    def _width(self) -> int:
        return min(MAX_WIDTH, self._terminal.width) if self._terminal.shows_progress else MAX_WIDTH

    def _listed_choices(self) -> list[Choice]:
        """Return the choices in the order of the list: by kind, then by piece."""
        choices = list_choices(self.session.game, self.session.position)
        return sorted(choices, key=lambda choice: (KINDS.index(_kind(choice)), choice.pieces[:1]))

    @COMMANDS.add("turns", description="list all turns so far")
    def _print_turns(self) -> None:
        game, history = self.session.game, self.session.match.history
        turns = (game.readable_turn_text(*turn).strip() for turn in history)
        texts = [f"{number}. {text}" for number, text in enumerate(turns, 1)]
        self._print(_wrap_texts("", texts, self._width) if texts else "no turns yet")

    # Decisions of players

    def _play_computer(self) -> None:
        """Play and print the computer's decision; after a turn, print the board and pause."""
        session = self.session
        before, mover, turns = session.position, self._mover, len(session.match.turns)
        spec, name = session.seats[session.mover].name, self._player_name(session.mover)
        decision = session.play_computer_decision()
        if decision is not None:
            text = session.game.readable_action_text(before, decision.action).strip()
            is_forced = len(session.game.legal_actions(before)) == 1
            self._print(f"\n{mover}, {name}: {text}{' (the only move)' if is_forced else ''}")
            is_rung = named_rung(session.game, spec) is not None
            statistics = "" if is_rung else summarize_decision(session.game, before, decision)
            if statistics:
                self._print(f"  {statistics}")
        if session.result is not None or len(session.match.turns) > turns:
            self._print_board()
            self._print_result()
            time.sleep(self._pause)

    def _print_result(self) -> None:
        """Print the result, its reason, and the scores if the game has them.

        While the game is in progress, print nothing.
        """
        session, result = self.session, self.session.result
        if result is None:
            return
        text = describe_result(session.game, result)
        if self._only_person is not None and result.outcome != DRAW:
            text += "; you win" if result.outcome == self._only_person else "; you lose"
        if session.detail:
            text += f" ({session.detail})"
        if session.match.score and session.game.has_scores:
            text += "; scores {:g} - {:g}".format(*session.match.score)
        self._print(text)

    # Commands

    def _execute(self, line: str) -> None:
        """Execute a command, or play a move; print an error for anything else."""
        word, _, rest = line.partition(" ")
        try:
            if command := COMMANDS.get(word.lower()):
                if command.arguments and not rest.strip():
                    (argument,) = command.arguments
                    raise BadOption(f"nothing after {word}; expected: {word.lower()} {argument}")
                command.run_line(self, rest.strip())
            elif line:
                self._play_move(line)
        except (CcEnvError, OSError) as error:
            may_be_command = isinstance(error, IllegalAction) and not re.search(r"\d", line)
            hint = "; type help for the commands" if may_be_command else ""
            self._print(f"error: {error}{hint}")

    def _play_move(self, text: str) -> None:
        """Play a typed move or select a piece; raise IllegalAction if it is neither."""
        session = self.session
        if session.result is not None:
            raise IllegalAction("the game is over; type review, undo, save FILE, load FILE or quit")
        game, numbered = session.game, self._listed_choices()
        move = parse_move(game, session.position, numbered, self._selected, text)
        if move.candidates:
            numbers = {choice.action: number for number, choice in enumerate(numbered, 1)}
            texts = [f"{numbers[choice.action]}) {choice.text}" for choice in move.candidates]
            self._print("which? " + "  ".join(texts))
            return
        # Selecting the same piece again deselects it.
        self._selected = move.piece if move.piece != self._selected else None
        if move.turn:
            session.play_turn(move.turn)
        self._print_board()
        self._print_result()

    @COMMANDS.add("hint", description="suggest a move")
    def _print_hint(self) -> None:
        decision = self.session.hint(self._hint_player)
        game, position = self.session.game, self.session.position
        text = game.readable_action_text(position, decision.action).strip()
        self._print(f"try {text} (the choice of {self._hint_player})")

    @COMMANDS.add("analyze", description="evaluate the position and the best moves")
    def _print_analysis(self) -> None:
        session = self.session
        session.check_in_progress()
        player = make_player(self._hint_player, session.game)
        for name, text in describe_analysis(session.game, session.position, player):
            self._print(f"{name:10} {text}")

    @COMMANDS.add("review", description="review the turns: mistakes, and what was better")
    def _print_review(self) -> None:
        """Print accuracies and the mistakes of the only person, or of both sides."""
        session, history = self.session, self.session.match.history
        if not history:
            raise IllegalAction("no turns yet to review")
        self._print(f"reviewing {format_count(len(history), 'turn')}")
        player = make_player(reviewer_spec(session.game), session.game)
        seat = self._only_person
        turns, moments = review_game(session.game, history, player, seat=seat)
        self._print("\n".join(describe_review(session.game, history, turns, moments, seat)))

    @COMMANDS.add("undo", description="take back your last turn")
    def _take_back(self) -> None:
        turns = self.session.take_back()
        self._selected = self._listed_at = None
        taken_back = format_count(turns, "turn") if turns else "unfinished turn"
        self._print(f"{taken_back} taken back")
        self._print_board()

    @COMMANDS.add("draw", description="offer a draw, or accept it")
    def _offer_draw(self) -> None:
        session, mover = self.session, self.session.mover
        other = session.seats[1 - mover]
        if not session.offer_draw(mover):
            color = session.game.players[1 - mover]
            reply = (
                f"{self._player_name(1 - mover)} declines"
                if other.player
                else f"{color} may type draw or decline"
            )
            self._print(f"a draw is offered; {reply}")
        self._print_result()

    @COMMANDS.add("decline", description="decline a draw offer")
    def _decline_draw(self) -> None:
        self.session.decline_draw(self.session.mover)
        self._print("the draw is declined")

    @COMMANDS.add("resign", description="resign the game, after a question")
    def _resign(self) -> None:
        self.session.check_in_progress()
        if self._confirm(f"{self._mover} resigns"):
            self.session.resign(self.session.mover)
            self._print_result()

    def _confirm(self, text: str) -> bool:
        """Return whether a person answers a question with yes; otherwise say what follows."""
        try:
            reply = self._read_line(f"{text}? yes or no: ")
        except EOFError:
            reply = ""
        is_confirmed = reply.strip().lower() in ("y", "yes")
        if not is_confirmed:
            self._print("the game goes on")
        return is_confirmed

    @COMMANDS.add("opponents", description="list the levels of the ladder")
    def _print_opponents(self) -> None:
        names = {self._player_name(seat) for seat in (0, 1)}
        for rung in rungs(self.session.game):
            mark = "  in this game" if rung.name in names else ""
            self._print(f"{rung.level} {rung.name:8} Elo {rung.elo.value:5.0f}{mark}")

    @COMMANDS.add("opponent", "NAME", description="begin a new game against this level or player")
    def _choose_opponent(self, name: str) -> None:
        """Begin a new game with the same start and limits; people keep their seats.

        A question comes before the end of a game in progress.
        """
        session = self.session
        is_person = [seat.player is None for seat in session.seats]
        seat = is_person.index(False) if False in is_person else 1
        specs = [other.name for other in session.seats]
        specs[seat] = to_spec(session.game, name)
        begun = GameSession(
            session.game,
            specs,
            start=session.match.start,
            limits=session.match.limits,
            seed=session.seed + 1,
        )
        is_in_progress = session.result is None and bool(session.match.turns)
        if is_in_progress and not self._confirm("leave this game"):
            return
        self.session = begun
        self._selected = None
        self._print_start()

    @COMMANDS.add("save", "FILE", description=SAVE_DESCRIPTION)
    def _save(self, name: str) -> None:
        save(self.session, Path(name))
        self._print(f"saved in {name}, {format_count(len(self.session.match.turns), 'turn')}")

    @COMMANDS.add("load", "FILE", description="continue a saved game or position")
    def _load(self, name: str) -> None:
        """Continue the last game of a file."""
        self.session, count = load(Path(name), self.session)
        self._print(f"loaded the last of {format_count(count, 'game')} in {name}")
        self._selected = None
        self._print_start()
        self._print_result()


# Kinds of choices, in the order of the list.
KINDS = "steps", "captures", "shots", "captures by shots", "others"


def to_spec(game: Game, name: str) -> str:
    """Return the player spec of the level that a name or a number names, or else `name` itself.

    Raises UnknownOption for a level that does not exist, or a name that resembles one.
    """
    if name.isdecimal():
        return f"ladder:{find_rung(game, name).level}"
    if rung := named_rung(game, name):
        return f"ladder:{rung.level}"
    ladder = rungs(game) if has_ladder(game) else []
    resembled = suggest(name, [rung.name for rung in ladder])
    if resembled and name not in PLAYERS:
        reason = f"there is no opponent {name!r}; {resembled}"
        raise UnknownOption(f"{reason}levels: {_list_levels(ladder)}")
    return name


def _list_levels(ladder: Sequence[Rung]) -> str:
    """Return the levels of a ladder with their names, as in "1 Pebble, 2 Slate"."""
    return format_list(f"{rung.level} {rung.name}" for rung in ladder)


def save(session: GameSession, path: Path) -> None:
    """Append a game to a file of records, or write a file in the format of its suffix.

    Raises UnknownOption for an unknown suffix, BadRecord for a game that the format cannot express,
    and OSError.
    """
    suffix = path.suffix.lower()
    if suffix == RECORD_SUFFIX:
        append_record(path, session.record())
        return
    write_atomically(path, export_game(session, suffix))


def check_save_path(path: Path, game: Game) -> None:
    """Raise BadOption or UnknownOption if `save` could not write a game to this path."""
    if path.is_dir() or not path.parent.is_dir():
        problem = "is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise BadOption(f"{path}: {problem}; expected: the name of a file")
    exporting.check_suffix(game, path.suffix.lower())


def load(path: Path, session: GameSession) -> tuple[GameSession, int]:
    """Return the last game of a file as a session with the same players, and the number of games.

    The file may also be a position of this game or a picture with a record. Raises BadRecord for an
    invalid file or one without a game, BadPosition for an invalid position, UnknownOption for an
    unknown suffix.
    """
    names = [seat.name for seat in session.seats]
    if path.suffix.lower() == POSITION_SUFFIX:
        start = session.game.from_text(read_text(path).strip())
        return GameSession(session.game, names, start=start, limits=session.match.limits), 1
    records = _records(path, session.game, names)
    if not records:
        raise BadRecord(f"{path} contains no games")
    return GameSession.from_record(records[-1], names), len(records)


def _records(path: Path, game: Game, names: list[str]) -> list[Record]:
    """Return the games of a file: records, a picture, or a format of another program."""
    suffix = path.suffix.lower()
    if suffix == PICTURE_SUFFIX:
        return [Record.from_json(record_from_svg(read_text(path)))]
    if suffix == RECORD_SUFFIX:
        return [game_record for _, game_record in read_records(path)]
    games = record.valid_games(path, record.read_foreign(path, game))
    return [Record.from_match(match, players=names) for _, match in games]


def line_reader() -> Callable[[str], str]:
    """Return a function that reads a line from stdin after a prompt.

    On a terminal, lines can be edited and the arrow keys recall earlier ones; lines from a file or
    a pipe are echoed.
    """
    if sys.stdin.isatty():
        # `input` uses readline if it is imported; some systems lack it.
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401

    def read_line(prompt: str) -> str:
        try:
            line = input(prompt)
        except EOFError:
            print()
            raise
        if not sys.stdin.isatty():
            print(escape_controls(line))
        return line

    return read_line


def _kind(choice: Choice) -> str:
    """Return the kind of a choice, one of KINDS."""
    if choice.is_shot:
        return "captures by shots" if choice.captures else "shots"
    if choice.captures:
        return "captures"
    return "steps" if choice.cell else "others"


def _kind_counts(kinds: dict[str, int], total: int) -> str:
    """Return ": 3 steps, 2 captures" for several kinds of choices, "" for one."""
    singular = {kind: re.sub(r"s\b", "", kind, count=1) for kind in kinds}
    parts = (
        f"{count} {singular[kind] if count == 1 else kind}"
        for kind, count in kinds.items()
        if count != total
    )
    return f": {text}" if (text := ", ".join(parts)) else ""


def _wrap_texts(name: str, texts: Sequence[str], width: int) -> str:
    """Return texts joined and wrapped to `width`, with `name` in front of the first line."""
    first = f"  {name:4} " if name else "  "
    joined = "  ".join(text.replace(" ", "\xa0") for text in texts)
    lines = textwrap.wrap(joined, width, initial_indent=first, subsequent_indent=" " * len(first))
    return "\n".join(lines).replace("\xa0", " ")
