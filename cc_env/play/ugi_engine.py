"""A player that speaks UGI, the Universal Game Interface: UCI's lines, for any game of two players.

    ugi                                   id name …, id author …, option …, ugiok
    isready                               readyok, once the player is made
    setgame NAME [OPTION=VALUE …]         plays this game from its start; ours alone
    setoption name Seed value N           what random choices are drawn from
    uginewgame                            the next position is of another game
    position startpos [moves TURN …]      a turn is one word: its notation without blanks
    position text POSITION [moves TURN …] a position text may have blanks; also: fen
    go [LIMIT …]                          info …, then bestmove TURN, all decisions of the turn
    stop                                  bestmove at once, where the player can be interrupted
    query gameover | p1turn | result      response true, false, p1win, p2win, draw, none
    quit                                  as the end of the lines

Limits are `depth N`, `nodes N` (simulations, of a tree), `movetime MS`, `p1time MS`, `p2time MS`,
and `infinite`, which wants `stop`; without any the player thinks as its name says. Increments
(`p1inc`, `p2inc`) are read, and not counted on. Times below 0 count as 0. Any run of blanks and
tabs separates words. A line that cannot be obeyed is answered by `info string error …`, and changes
nothing, except that after a refused `setgame`, `uginewgame` or `position` all lines that depend on
it are refused until it is sent again. Thinking goes on beside reading: minimax and mcts stop when
told, all others answer when they have decided, which their name bounds.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from cc_env.core.game import Game
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS, Position
from cc_env.errors import (
    BadOption,
    CcEnvError,
    IllegalAction,
    UnknownOption,
    format_list,
    is_integer,
)
from cc_env.games.factory import make_game
from cc_env.match.referee import Clock, Decision, Player, player_for_new_game
from cc_env.players.specs import make_player, player_option_defaults
from cc_env.protocols.channel import Channel, LineTooLong
from cc_env.protocols.ugi import GO_NUMBERS, one_line, read_moves, split_first, turn_word
from cc_env.registry.import_allowlist import untrusted_names
from cc_env.registry.options import parse_options
from cc_env.version import __version__

Say = Callable[[str], None]

_LIMITS = "level", "depth", "nodes", "simulations", "seconds"  # options that bound a search
_RESULTS = {FIRST_WINS: "p1win", SECOND_WINS: "p2win", DRAW: "draw", ONGOING: "none"}
_SLICE = (
    0.01  # seconds between two attempts to stop a search, the first of which may come too early
)
_MAX_NUMBER = 2**31 - 1
_MAX_DIGITS = 18  # of a number that is read
_CLOCKS = "movetime", "p1time", "p2time", "p1inc", "p2inc"  # may be below 0, and as 0 then
_SETUPS = "setgame", "uginewgame", "position"  # what `go` and `query` depend on
_PATIENCE = 1.0  # seconds that the end waits for a player that cannot be interrupted


@dataclass(frozen=True)
class Go:
    """What `go` asks for."""

    depth: int | None = None
    nodes: int | None = None
    movetime: int | None = None  # milliseconds
    times: tuple[int | None, int | None] = (None, None)  # that both players have left
    infinite: bool = False

    @staticmethod
    def read(words: list[str]) -> "Go":
        """Return what the words after `go` say; raise UnknownOption, BadOption for a number."""
        given: dict[str, int] = {}
        left = [word for word in words if word != "infinite"]
        for name, text in zip(left[::2], [*left[1::2], ""], strict=False):
            if name not in GO_NUMBERS:
                would_do = f"{format_list(GO_NUMBERS)} N, infinite"
                raise UnknownOption(f"go {name[:40]} {text[:40]}: wanted {would_do}")
            is_clock = name in _CLOCKS
            given[name] = _milliseconds(name, text) if is_clock else _number(f"go {name}", text)
        times = given.get("p1time"), given.get("p2time")
        numbers = {name: given.get(name) for name in ("depth", "nodes", "movetime")}
        return Go(**numbers, times=times, infinite="infinite" in words)

    def clock(self, player: int) -> Clock:
        """Return how long the player may think."""
        turn, game = self.movetime, self.times[player]
        return Clock(inf if turn is None else turn / 1000, inf if game is None else game / 1000)

    def changes(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the options of a player become that has the options `known`.

        Raises UnknownOption if it has no option for what is asked.
        """
        steps = "nodes" if "nodes" in known else "simulations"
        asked = {"depth": self.depth, steps: self.nodes}
        asked = {name: value for name, value in asked.items() if value is not None}
        if missing := [name for name in asked if name not in known]:
            has = format_list(name for name in _LIMITS if name in known) or "nothing"
            raise UnknownOption(
                f"this player cannot be bounded by {format_list(missing)}; by: {has}"
            )
        if not asked and not (self.infinite and "seconds" in known):
            return {}
        return {**{name: None for name in _LIMITS if name in known}, **(asked or {"seconds": inf})}


class UGIEngine:
    """The state of the conversation: a game, a position, a player, and whether it is thinking."""

    def __init__(self, name: str, game: Game, say: Say, *, seed: int = 0) -> None:
        """Play `game` as the player of this spoken name; `say` writes a line, from any thread.

        The player is made when it is needed. Raises UnknownOption where its name is wrong.
        """
        self._known = player_option_defaults(name)
        self._name, self._game, self._say = name, game, say
        self._position, self._seed = game.initial, seed
        self._rng = np.random.default_rng(seed)
        self._player: Player | None = None
        self._special: tuple[dict[str, Any], Player] | None = None  # of the last `go` with limits
        self._asked: Player | None = None  # who is thinking
        self._thread: threading.Thread | None = None
        self._refused = ""  # the one of _SETUPS that has to be sent again
        self._is_told_to_stop, self._has_decided = threading.Event(), threading.Event()

    def take(self, line: str) -> bool:
        """Obey a line; return whether to go on."""
        word, rest = split_first(line)
        if word == "quit":
            self.end()
            return False
        try:
            self._obey(word, rest)
        except (CcEnvError, ImportError, OSError) as error:
            self.refuse(word, error)
        return True

    def refuse(self, word: str, error: Exception) -> None:
        """Report that the line which begins with `word` cannot be obeyed."""
        if word in _SETUPS and self._refused != "setgame":
            self._refused = word
        self._say(f"info string error {one_line(error)}")

    def end(self) -> None:
        """Stop thinking, and wait for that as long as it is reasonable."""
        self._interrupt(_PATIENCE)

    def _obey(self, word: str, rest: str) -> None:
        commands: dict[str, Callable[[str], None]] = {
            "": lambda rest: None,
            "ugi": self._introduce,
            "isready": self._get_ready,
            "setgame": self._set_game,
            "setoption": self._set_option,
            "uginewgame": self._begin,
            "position": self._place,
            "go": self._go,
            "stop": lambda rest: self._interrupt(inf),
            "query": self._answer,
        }
        if word not in commands:
            known = ", ".join(sorted(name for name in commands if name))
            raise UnknownOption(f"unknown command '{word[:40]}'; there are: {known}, quit")
        if self._is_thinking() and word in (*_SETUPS, "setoption", "go"):
            raise IllegalAction(f"{word}: the player is thinking; stop comes first")
        self._check_setup(word)
        if self._has_decided.is_set() and self._thread is not None:
            self._thread.join()  # it has only to say what it decided
        commands[word](rest)
        if word in _SETUPS:
            self._refused = ""

    def _check_setup(self, word: str) -> None:
        """Raise IllegalAction for a command that depends on a line that was refused."""
        needs_game = word in _SETUPS[1:] and self._refused == "setgame"
        if needs_game or (self._refused and word in ("go", "query")):
            raise IllegalAction(f"{word}: {self._refused} was refused; it has to be sent again")

    def _introduce(self, rest: str) -> None:
        self._say(f"id name cc_env {__version__} {self._name}")
        self._say("id author cc_env")
        self._say(f"option name Seed type spin default {self._seed} min 0 max {2**31 - 1}")
        self._say("ugiok")

    def _get_ready(self, rest: str) -> None:
        if not self._is_thinking():
            self._made()
        self._say("readyok")

    def _made(self) -> Player:
        """Return the player, made where that was not yet done."""
        if self._player is None:
            self._player = player_for_new_game(make_player(self._name, self._game))
        return self._player

    def _set_game(self, rest: str) -> None:
        name, *pairs = rest.split()[:100] or [""]
        with untrusted_names():  # whoever sends lines may be a stranger
            game = make_game(name, **parse_options(pairs))
        self._player = player_for_new_game(make_player(self._name, game))
        self._game, self._position, self._special = game, game.initial, None

    def _set_option(self, rest: str) -> None:
        words = rest.split()
        is_seed = [word.lower() for word in words[:3]] == ["name", "seed", "value"]
        if not is_seed or len(words) != 4:
            raise UnknownOption(f"setoption {rest[:40]}: wanted name Seed value N")
        self._rng = np.random.default_rng(_number("Seed", words[3]))

    def _begin(self, rest: str) -> None:
        self._player = player_for_new_game(self._made())
        self._position, self._special = self._game.initial, None

    def _place(self, rest: str) -> None:
        start, turns = read_moves(self._game, rest)
        position = start
        for number, text in enumerate(turns, 1):
            try:
                position = self._game.play_turn(position, self._game.parse_turn(position, text))
            except IllegalAction as error:
                raise IllegalAction(f"turn {number}: {error}") from None
        self._position = position

    def _answer(self, rest: str) -> None:
        outcome = self._game.outcome(self._position)
        answers = {
            "gameover": str(outcome != ONGOING).lower(),
            "p1turn": str(self._game.to_move(self._position) == 0).lower(),
            "result": _RESULTS[outcome],
        }
        if rest not in answers:
            raise UnknownOption(f"query {rest[:40]}: there are: {', '.join(answers)}")
        self._say(f"response {answers[rest]}")

    def _go(self, rest: str) -> None:
        go = Go.read(rest.split())
        self._game.choices(self._position)  # or refuse, where the game is over
        known = self._known if hasattr(self._made(), "stop") or not go.infinite else {}
        self._asked = self._player_for(go.changes(known))
        self._is_told_to_stop.clear()
        self._has_decided.clear()
        self._thread = threading.Thread(target=self._think, args=(go, self._asked), daemon=True)
        self._thread.start()

    def _player_for(self, changes: dict[str, Any]) -> Player:
        """Return the player with these options changed."""
        if not changes:
            return self._made()
        if self._special is None or self._special[0] != changes:
            self._special = changes, make_player(self._name, self._game, **changes)
        return self._special[1]

    def _is_thinking(self) -> bool:
        return self._thread is not None and not self._has_decided.is_set()

    def _interrupt(self, patience: float) -> None:
        """Have the player answer now; wait that long for one that cannot be interrupted."""
        self._is_told_to_stop.set()
        stop, waited = getattr(self._asked, "stop", None), 0.0
        while self._thread is not None and self._thread.is_alive() and waited < patience:
            if stop is not None:
                stop()
            self._thread.join(_SLICE)
            waited += _SLICE

    def _think(self, go: Go, player: Player) -> None:
        """Find a whole turn, and say it."""
        try:
            said = "\n".join(self._decide(go, player))
        except Exception as error:  # of a player of somebody else's
            said = f"info string error {type(error).__name__}: {one_line(error)}"
        if go.infinite:
            self._is_told_to_stop.wait()
        self._has_decided.set()
        self._say(said)

    def _decide(self, go: Go, player: Player) -> list[str]:
        """Return the lines that say the turn, and what the player knows about its begin."""
        game, position, turn = self._game, self._position, list[int]()
        clock, told = go.clock(game.to_move(position)), list[str]()
        while not turn or game.mid_turn(position):
            decision = player.choose(position, self._rng, clock)
            told = told or [_told(game, position, decision)]
            position = game.apply(position, decision.action)
            turn.append(int(decision.action))
        best = turn_word(game.turn_text(self._position, tuple(turn)))
        return [*filter(None, told), f"bestmove {best}"]


def _number(name: str, text: str) -> int:
    """Return the number of a text; raise BadOption for what is not a whole number from 0."""
    number = _whole(text)
    if number is None or not 0 <= number <= _MAX_NUMBER:
        raise BadOption(f"{name} {text[:40]}: it is 0 to {_MAX_NUMBER}")
    return number


def _milliseconds(name: str, text: str) -> int:
    """Return the time of a text, 0 for one below 0; raise BadOption for what is not a number."""
    number = _whole(text)
    if number is None:
        raise BadOption(f"go {name} {text[:40]}: it is a whole number of milliseconds")
    return max(0, number)


def _whole(text: str) -> int | None:
    """Return the whole number of a text, None where it is none."""
    digits = text.removeprefix("-")
    is_whole_number = digits.isdecimal() and len(digits) <= _MAX_DIGITS
    return int(text) if is_whole_number else None


def _told(game: Game, position: Position, decision: Decision) -> str:
    """Return the line that tells what a player knows about its decision; nothing if it does not."""
    words = []
    for name in ("depth", "nodes"):
        if is_integer(known := decision.details.get(name), 0):
            words += [name, str(known)]
    if is_integer(score := decision.details.get("score"), -(2**31), 2**31):
        words += ["score", "cp", str(score)]
    elif decision.value is not None:
        words += ["score", "value", f"{decision.value:.3f}"]
    if line := decision.details.get("principal_variation"):
        words += ["pv", *map(turn_word, game.turn_texts(position, line))]
    return " ".join(["info", *words]) if words else ""


def serve(engine: UGIEngine, channel: Channel) -> None:
    """Obey the lines of a channel until it ends or says quit."""
    goes_on = True
    while goes_on:
        try:
            goes_on = engine.take(channel.hear())
        except LineTooLong as error:
            engine.refuse("position", error)  # no other line is as long
        except EOFError:
            engine.end()
            goes_on = False
