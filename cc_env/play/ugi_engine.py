"""UGI engine: a player behind the Universal Game Interface, UCI for any two-player game.

    ugi                                   id name …, id author …, option …, ugiok
    isready                               readyok, after the player has been created
    setgame NAME [OPTION=VALUE …]         select a game (extension of this engine)
    setoption name Seed value N           seed of random choices
    uginewgame                            start a new game
    position startpos [moves TURN …]      a turn is one word: its notation without spaces
    position text POSITION [moves TURN …] the position may contain spaces; also: fen
    go [LIMIT …]                          info …, then bestmove TURN, a complete turn
    stop                                  bestmove at once, if the player can be interrupted
    query gameover | p1turn | result      response true, false, p1win, p2win, draw, none
    quit                                  same as the end of input

Limits are `depth N`, `nodes N` (simulations of a tree search), `movetime MS`, `p1time MS`,
`p2time MS`, and `infinite`, which searches until `stop`; by default the limits of the player spec
apply. `p1inc`, `p2inc` and `movestogo` are accepted and ignored. Negative times count as 0. Other
words, limits without a valid number and those that the player lacks are ignored, too, after an
`info string ignored …`. Each `go` outside of a search is answered by one `bestmove`: `bestmove
(none)` after an `info string error …` if no turn can be chosen. Words are separated by spaces and
tabs. The reply to another invalid line is `info string error …`; it changes nothing, except that
after a failed `setgame`, `uginewgame` or `position` all lines that depend on it fail until it is
sent again. Input is read during a search: minimax and mcts stop at once on `stop`, other players
finish their decision. The first `isready` of a game makes the player decide once, so that the time
of the first `go` excludes the loading of code.
"""

import threading
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from math import inf
from typing import NamedTuple

import numpy as np

from cc_env.core.game import Game
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS, Position
from cc_env.errors import (
    MAX_INTEGER,
    BadOption,
    CcEnvError,
    IllegalAction,
    UnknownOption,
    check_integer,
    describe_os_error,
    format_list,
    is_integer,
)
from cc_env.games.factory import make_game, parse_game_options
from cc_env.match.referee import Clock, Decision, Player, player_for_new_game
from cc_env.play.commands import CommandTable
from cc_env.players.program import ProgramPlayer
from cc_env.players.specs import make_player, player_option_defaults
from cc_env.protocols.channel import Channel, LineTooLong
from cc_env.protocols.ugi import GO_NUMBERS, one_line, parse_position, split_first, turn_word
from cc_env.registry.import_allowlist import untrusted_names
from cc_env.version import __version__

WriteLine = Callable[[str], None]

# Player options that limit a search.
_LIMITS = "level", "depth", "nodes", "simulations", "seconds"
_RESULTS = {FIRST_WINS: "p1win", SECOND_WINS: "p2win", DRAW: "draw", ONGOING: "none"}
# Interval between attempts to stop a search.
_STOP_INTERVAL_SECONDS = 0.01
_MAX_DIGITS = 18
# Limits of `go` that are no options of a player.
_CLOCK_LIMITS = "movetime", "p1time", "p2time", "p1inc", "p2inc", "movestogo"
_GO_WORDS = *GO_NUMBERS, "infinite"
# The reply to a `go` that fails.
_NO_MOVE = "bestmove (none)"
# Time for the decision before the first readyok of a game.
_WARM_UP_MILLISECONDS = 50
# Commands that `go` and `query` depend on.
_SETUP_COMMANDS = "setgame", "uginewgame", "position"
_COMMANDS = CommandTable()
# Time to wait at shutdown for a player that cannot be interrupted.
_SHUTDOWN_SECONDS = 1.0


class GoCommand(NamedTuple):
    """The limits of a `go` command by name, times in milliseconds."""

    limits: dict[str, int]
    infinite: bool
    # Messages about words without effect.
    ignored: list[str]

    @staticmethod
    def parse(text: str) -> "GoCommand":
        """Parse the text after `go`; ignore unknown words, and limits without an integer."""
        limits: dict[str, int] = {}
        unknown, errors = list[str](), dict[str, str]()
        words = deque(text.split())
        while words:
            name = words.popleft()
            if name not in GO_NUMBERS:
                unknown += [name] if name != "infinite" else []
                continue
            number = words.popleft() if words and words[0] not in _GO_WORDS else ""
            try:
                limits[name] = _parse_go_number(name, number)
            except BadOption as error:
                errors[name] = str(error)
        return GoCommand(
            limits, "infinite" in text.split(), [*errors.values(), *_describe_unknown(unknown)]
        )

    def clock(self, player: int) -> Clock:
        """Return the time limits of a player, 0 or 1."""
        names = "movetime", f"p{player + 1}time"
        turn, game = (max(0, self.limits.get(name, inf)) for name in names)
        return Clock(turn / 1000, game / 1000)

    def player_options(self, option_names: Collection[str]) -> dict[str, float | None]:
        """Return the player options that replace the limits of the spec; None removes a limit.

        `option_names` are the options of the player. A limit that it lacks is ignored.
        """
        names = self._limit_options(option_names)
        limits: dict[str, float | None]
        limits = {
            option: self.limits[name] for name, option in names.items() if name in self.limits
        }
        if not limits and self.infinite and "seconds" in option_names:
            limits = {"seconds": inf}
        replaced = [name for name in _LIMITS if name in option_names]
        return {**dict.fromkeys(replaced), **limits} if limits else {}

    def missing_limits(self, option_names: Collection[str]) -> list[str]:
        """Return messages about the limits that a player with these options lacks."""
        valid = *self._limit_options(option_names), *_CLOCK_LIMITS
        expected = f"the player has no such limit; expected: {format_list(valid)}"
        return [f"go {name}: {expected}" for name in self.limits if name not in valid]

    @staticmethod
    def _limit_options(option_names: Collection[str]) -> dict[str, str]:
        """Return the option of a player, one of `option_names`, for each limit that it has."""
        steps = "nodes" if "nodes" in option_names else "simulations"
        pairs = ("depth", "depth"), ("nodes", steps)
        return {name: option for name, option in pairs if option in option_names}


def _describe_unknown(unknown: list[str]) -> list[str]:
    """Return a message about unknown words of `go`, if there are any."""
    words = format_list((repr(word[:40]) for word in unknown), 5)
    valid = f"{format_list(GO_NUMBERS)}, each with a number, or infinite"
    return [f"unknown words of go: {words}; expected: {valid}"] if unknown else []


class UGIEngine:
    """An engine: game, position, player, and the search in progress."""

    def __init__(self, spec: str, game: Game, write: WriteLine, *, seed: int = 0) -> None:
        """Play `game` with the player of a spec; `write` is called with lines, from any thread.

        The player is created when it is first used. Raises BadOption for an invalid spec.
        """
        self._option_names = player_option_defaults(spec).keys()
        self._spec, self._game, self._write = spec, game, write
        self._position, self._seed = game.initial, seed
        self._rng = np.random.default_rng(seed)
        self._player: Player | None = None
        # Changed options and player of the last `go` with limits.
        self._limited: tuple[dict[str, float | None], Player] | None = None
        self._searching: Player | None = None
        self._thread: threading.Thread | None = None
        # The game for which code has been loaded.
        self._warm_game: Game | None = None
        # The setup command that failed and has to be sent again.
        self._failed_setup = ""
        self._stop_requested = threading.Event()
        self._search_finished = threading.Event()

    def handle_line(self, line: str) -> bool:
        """Execute a line; return False after `quit`."""
        word, rest = split_first(line)
        try:
            self._execute(word, rest)
        except (CcEnvError, ImportError, OSError) as error:
            self.report_error(word, error)
            if word == "go" and not self._is_searching():
                self._write(_NO_MOVE)
        return word != "quit"

    def report_error(self, word: str, error: Exception) -> None:
        """Report that the line beginning with `word` has failed."""
        if word in _SETUP_COMMANDS and self._failed_setup != "setgame":
            self._failed_setup = word
        text = describe_os_error(error) if isinstance(error, OSError) else str(error)
        self._write(f"info string error {one_line(text)}")

    @_COMMANDS.add("quit")
    def shut_down(self) -> None:
        """Stop the search; wait at most _SHUTDOWN_SECONDS for it."""
        self._interrupt(_SHUTDOWN_SECONDS)

    def _execute(self, word: str, rest: str) -> None:
        """Execute a command with the rest of its line; raise CcEnvError if it is invalid."""
        if not word:
            return
        command = _COMMANDS.find(word)
        if self._is_searching() and word in (*_SETUP_COMMANDS, "setoption", "go"):
            raise IllegalAction(f"{word}: a search is in progress; send stop first")
        if self._search_finished.is_set() and self._thread is not None:
            # Only the output of the decision is left to do.
            self._thread.join()
        self._check_setup(word)
        command.run_line(self, rest)
        if word in _SETUP_COMMANDS:
            self._failed_setup = ""

    def _check_setup(self, word: str) -> None:
        """Raise IllegalAction for a command that depends on a failed setup command."""
        needs_game = word in _SETUP_COMMANDS[1:] and self._failed_setup == "setgame"
        if needs_game or (self._failed_setup and word in ("go", "query")):
            raise IllegalAction(f"{word}: {self._failed_setup} has failed; send it again first")

    @_COMMANDS.add("ugi")
    def _identify(self) -> None:
        self._write(f"id name cc_env {__version__} {self._spec}")
        self._write("id author cc_env")
        self._write(f"option name Seed type spin default {self._seed} min 0 max {MAX_INTEGER}")
        self._write("ugiok")

    @_COMMANDS.add("isready")
    def _get_ready(self) -> None:
        if not self._is_searching():
            self._ensure_player()
            self._warm_up()
        self._write("readyok")

    def _warm_up(self) -> None:
        """Decide once in each game with another player, which loads or compiles the code for it."""
        # A program runs its own code.
        if self._warm_game is self._game or isinstance(self._player, ProgramPlayer):
            return
        self._warm_game = self._game
        go = GoCommand({"movetime": _WARM_UP_MILLISECONDS}, False, [])
        # The player may be external code that raises anything; `go` reports it.
        with suppress(Exception):
            player = player_for_new_game(make_player(self._spec, self._game))
            self._decide(go, player, self._game.initial, np.random.default_rng(0))

    def _ensure_player(self) -> Player:
        """Create the player unless it exists; return it."""
        if self._player is None:
            self._player = player_for_new_game(make_player(self._spec, self._game))
        return self._player

    @_COMMANDS.add("setgame", "rest")
    def _set_game(self, rest: str) -> None:
        """Select a game and create the player for it."""
        name, *pairs = rest.split()[:100] or [""]
        # The input is untrusted.
        with untrusted_names():
            game = make_game(name, **parse_game_options(name, pairs))
        self._player = player_for_new_game(make_player(self._spec, game))
        self._game, self._position, self._limited = game, game.initial, None

    @_COMMANDS.add("setoption", "rest")
    def _set_option(self, rest: str) -> None:
        words = rest.split()
        is_seed = [word.lower() for word in words[:3]] == ["name", "seed", "value"]
        if not is_seed or len(words) != 4:
            raise UnknownOption(f"setoption {rest[:40]!r}; expected: name Seed value N")
        number = int(words[3]) if _is_integer_text(words[3]) else words[3]
        self._rng = np.random.default_rng(check_integer("Seed", number, 0))

    @_COMMANDS.add("uginewgame")
    def _start_new_game(self) -> None:
        self._player = player_for_new_game(self._ensure_player())
        self._position, self._limited = self._game.initial, None

    @_COMMANDS.add("position", "rest")
    def _set_position(self, rest: str) -> None:
        """Set the position; raise BadPosition or IllegalAction, before any change, if invalid."""
        start, turns = parse_position(self._game, rest)
        position = start
        for number, text in enumerate(turns, 1):
            try:
                position = self._game.play_turn(position, self._game.parse_turn(position, text))
            except IllegalAction as error:
                raise IllegalAction(f"turn {number}: {error}") from None
        self._position = position

    @_COMMANDS.add("query", "rest")
    def _answer_query(self, rest: str) -> None:
        """Report whether the game is over, whose turn it is, or the result."""
        outcome = self._game.outcome(self._position)
        responses = {
            "gameover": str(outcome != ONGOING).lower(),
            "p1turn": str(self._game.to_move(self._position) == 0).lower(),
            "result": _RESULTS[outcome],
        }
        if rest not in responses:
            raise UnknownOption(f"query {rest[:40]!r}; expected: {', '.join(responses)}")
        self._write(f"response {responses[rest]}")

    @_COMMANDS.add("go", "rest")
    def _start_search(self, rest: str) -> None:
        """Start a search in a thread; raise IllegalAction if the game is over."""
        go = GoCommand.parse(rest)
        # Raises IllegalAction if the game is over.
        self._game.choices(self._position)
        self._searching, ignored = self._limited_player(go)
        for message in (*go.ignored, *ignored):
            self._write(f"info string ignored {one_line(message)}")
        self._stop_requested.clear()
        self._search_finished.clear()
        self._thread = threading.Thread(target=self._search, args=(go, self._searching))
        self._thread.daemon = True
        self._thread.start()

    def _limited_player(self, go: GoCommand) -> tuple[Player, list[str]]:
        """Return the player with the limits of `go`, and messages about those that are ignored."""
        player = self._ensure_player()
        # A player that cannot be stopped keeps its limits in an infinite search.
        names = self._option_names if hasattr(player, "stop") or not go.infinite else ()
        changes, ignored = go.player_options(names), go.missing_limits(names)
        try:
            return (self._player_with(changes) if changes else player), ignored
        except BadOption as error:
            return player, [*ignored, str(error)]

    def _player_with(self, changes: dict[str, float | None]) -> Player:
        """Return the player with these options changed; raise BadOption for an invalid value."""
        if self._limited is None or self._limited[0] != changes:
            self._limited = changes, make_player(self._spec, self._game, **changes)
        return self._limited[1]

    def _is_searching(self) -> bool:
        return self._thread is not None and not self._search_finished.is_set()

    @_COMMANDS.add("stop")
    def _stop_search(self) -> None:
        self._interrupt(inf)

    def _interrupt(self, timeout: float) -> None:
        """Stop the search; wait at most `timeout` seconds for a player that ignores `stop`."""
        self._stop_requested.set()
        stop = getattr(self._searching, "stop", lambda: None)
        # Counted instead of timed: a search that has to share a busy machine gets more time.
        attempts = timeout / _STOP_INTERVAL_SECONDS
        while self._thread is not None and self._thread.is_alive() and attempts > 0:
            # Repeated, because a stop before the search begins has no effect.
            stop()
            self._thread.join(_STOP_INTERVAL_SECONDS)
            attempts -= 1

    def _search(self, go: GoCommand, player: Player) -> None:
        """Search for a complete turn and write it."""
        try:
            output = "\n".join(self._decide(go, player, self._position, self._rng))
        # The player may be external code that raises anything.
        except Exception as error:
            output = f"info string error {type(error).__name__}: {one_line(error)}\n{_NO_MOVE}"
        if go.infinite:
            self._stop_requested.wait()
        self._search_finished.set()
        self._write(output)

    def _decide(
        self, go: GoCommand, player: Player, start: Position, rng: np.random.Generator
    ) -> list[str]:
        """Return the `info` line of the first decision, if any, and the `bestmove` line."""
        game, position = self._game, start
        clock = go.clock(game.to_move(position))
        turn: list[int] = []
        info: list[str] = []
        while not turn or game.mid_turn(position):
            decision = player.choose(position, rng, clock)
            info = info or [_info_line(game, position, decision)]
            position = game.apply(position, decision.action)
            turn.append(int(decision.action))
        best = turn_word(game.turn_text(start, tuple(turn)))
        return [*filter(None, info), f"bestmove {best}"]


def _parse_go_number(name: str, text: str) -> int:
    """Parse the number of a limit, of _MAX_DIGITS digits at most; raise BadOption otherwise."""
    if not _is_integer_text(text):
        expected = f"expected: an integer of at most {_MAX_DIGITS} digits"
        problem = f"go {name} {text[:40]}" if text else f"go {name} has no number"
        raise BadOption(f"{problem}; {expected}")
    return int(text)


def _is_integer_text(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isdecimal() and len(digits) <= _MAX_DIGITS


def _info_line(game: Game, position: Position, decision: Decision) -> str:
    """Return the `info` line with the statistics of a decision, "" if there are none."""
    words = []
    for name in ("depth", "nodes"):
        if is_integer(count := decision.details.get(name), 0):
            words += [name, str(count)]
    if is_integer(score := decision.details.get("score"), -(2**31), 2**31):
        words += ["score", "cp", str(score)]
    elif decision.value is not None:
        words += ["score", "value", f"{decision.value:.3f}"]
    if line := decision.details.get("principal_variation"):
        words += ["pv", *map(turn_word, game.turn_texts(position, line))]
    return " ".join(["info", *words]) if words else ""


def serve(engine: UGIEngine, channel: Channel) -> None:
    """Execute the lines of a channel until its end or `quit`."""
    is_running = True
    while is_running:
        try:
            is_running = engine.handle_line(channel.read_line())
        except LineTooLong as error:
            # Only `position` lines are long.
            engine.report_error("position", error)
        except EOFError:
            engine.shut_down()
            is_running = False
