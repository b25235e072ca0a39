"""Commands of Cannon's player programs, and the log that its server writes of a game.

A command is one line of triples, S x y to select, M x y to move there or B x y to bomb it, read in
order: a second S replaces the first, but each selects a soldier that can do something. A log has a
line for each message of a client: a JSON object with `meta`, `action` and `data`, then the words
"Received from client 0" or 1. Of a client that was silent for too long it has None instead of a
message: it has lost by time. A log has one game, from the start, and no names.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from cc_env import files
from cc_env.core.game import (
    BrokenGame,
    Format,
    Game,
    PlayedGame,
    Turn,
    normalize_newlines,
)
from cc_env.core.rules import FIRST_WINS, ONGOING, SECOND_WINS, Position
from cc_env.errors import BadRecord, CcEnvError, IllegalAction, format_list

CLOSING = "FINISH", "KILLPROC", "STAGNANT"  # after these the server has closed the game
ACTIONS = "INIT", "NORMAL", *CLOSING
SILENCE = "None"  # instead of a message
_LINE = re.compile(rf"(?P<message>\{{.*\}}|{SILENCE})\s*Received from client (?P<client>[01])\s*")
_SCORES = re.compile(r"Player ([12]) SCORE : ([0-9]{1,9}(?:\.[0-9]{0,9})?)")
FAULTS = {"TIMEOUT": "time", "INVALID MOVE": "illegal", "UNEXPECTED STOP": "error"}  # our words
_OPENING = re.compile(r"([12]) (\d{1,2}) (\d{1,2}) (\d{1,9}(?:\.\d{1,9})?)", re.ASCII)
_BY = "BY PLAYER"
_FAULT = re.compile(rf"({'|'.join(FAULTS)}) {_BY} ([12])( :|$)")


def parse_command(game: Game, position: tuple[int, ...], line: str) -> Turn:
    """Return the legal turn that a line of triples says; raise IllegalAction where it says none.

    Each soldier that is selected must be able to do something.
    """
    words = line.split()
    triples = [words[at : at + 3] for at in range(0, len(words), 3)]
    if not all(re.fullmatch("[SMB] [0-9] [0-9]", " ".join(triple)) for triple in triples):
        raise IllegalAction(f"'{line}' is not a command; wanted: S x y, then M x y or B x y")
    acts = [number for number, (kind, _, _) in enumerate(triples) if kind != "S"]
    if acts != [len(triples) - 1] or len(triples) < 2:
        raise IllegalAction(f"'{line}': after what is selected, one M or B has to come, at the end")
    turn = game.parse_turn(position, " ".join(triples[-2] + triples[-1]))
    replaced = [" ".join(triple) for triple in triples[:-2]]
    able = _able(game, position) if replaced else set()
    for selected in replaced:
        if selected not in able:
            where = game.to_text(position)
            raise IllegalAction(
                f"'{line}': {selected} selects no soldier that can do anything in '{where}';"
                f" these can: {format_list(sorted(able))}"
            )
    return turn


def _able(game: Game, position: tuple[int, ...]) -> set[str]:
    """Return how the soldiers are selected that can do something: S x y."""
    texts = set[str]()
    for action in map(int, game.legal_actions(position)):
        texts |= {game.action_text(position, action), *game.notation.other_texts(position, action)}
    return {text[: len("S x y")] for text in texts}


def opening(game: Game, player: int, seconds: float) -> str:
    """Return the line that begins a game for a player program: id rows cols seconds."""
    return f"{player + 1} {game.options['rows']} {game.options['columns']} {seconds:g}"


def parse_opening(line: str) -> tuple[int, int, int, float]:
    """Return the player, rows, columns and seconds of such a line; raise BadRecord.

    Any run of blanks separates them.
    """
    match = _OPENING.fullmatch(" ".join(line.split()))
    if not match:
        raise BadRecord(f"{line[:40]!r}; wanted: id rows cols seconds, such as 1 8 8 120")
    player, rows, columns, seconds = match.groups()
    return int(player) - 1, int(rows), int(columns), float(seconds)


def message(action: str, data: str = "", meta: str = "") -> str:
    """Return a message of a client or of the server."""
    return json.dumps({"meta": meta, "action": action, "data": data})


def end_message(meta: str, command: str = "", fault: str = "") -> str:
    """Return the message that ends a game: by a command, or by one of our faults."""
    action = "KILLPROC" if fault in ("illegal", "error") else "FINISH"
    return message(action, command, meta)


def line(message: str, client: int) -> str:
    """Return the line of a log for a message of a client."""
    return f"{message} Received from client {client}"


def scores_text(scores: tuple[float, float], sender: int, fault: str = "", by: int = 0) -> str:
    """Return the meta of a message that ends a game: the scores, that of the sender first.

    Before them stands who has lost by a fault, one of ours, if one ended it.
    """
    told = (f"Player {seat + 1} SCORE : {round(scores[seat], 2)}" for seat in (sender, 1 - sender))
    theirs = {ours: name for name, ours in FAULTS.items()}
    begin = f"{theirs[fault]} {_BY} {by + 1} : " if fault else ""
    return begin + " : ".join(told)


def fault_of(meta: str) -> tuple[str, int] | None:
    """Return the fault that a meta tells, in our word, and who has lost by it; None for none."""
    match = _FAULT.match(meta)
    return (FAULTS[match[1]], int(match[2]) - 1) if match else None


def read(text: str, game: Game) -> Iterator[PlayedGame | BrokenGame]:
    """Yield the one game of a log, or a BrokenGame if it is broken."""
    reading, number = _Reading(game), 1
    try:
        for number, line in enumerate(normalize_newlines(text).split("\n"), 1):  # noqa: B007 (used below)
            if line.strip():
                reading.take(*_message(line))
        entry: PlayedGame | BrokenGame = reading.finished()
    except CcEnvError as error:
        more = hint(game) if isinstance(error, IllegalAction) else ""
        entry = BrokenGame(number, f"move {reading.move}: {error}{more}")
    yield entry


def count(text: str) -> int:
    """Return how many games a log has: one, which may be broken."""
    return 1


class _Reading:
    """A game as far as it is read."""

    def __init__(self, game: Game) -> None:
        self.game, self.position = game, game.initial
        self.turns: list[Turn] = []
        self.move = 1  # that the message is about
        self.last = ""  # what came last: an action, or SILENCE
        self.scores: tuple[float, float] | None = None
        self.fault, self.outcome = "", ONGOING

    def take(self, message: dict[str, str], client: int) -> None:
        """Take what a client sent; raise BadRecord or IllegalAction where it cannot be."""
        self.move = len(self.turns) + 1
        if self.scores or self.fault or self.last in CLOSING:
            raise BadRecord(f"a message after the game has ended, with {self.last}")
        self.last = message["action"]
        if self.last == SILENCE:
            self.fault, self.outcome = FAULTS["TIMEOUT"], 1 - client
        elif self.last == "INIT":
            _check_board(self.game, message["data"])
        elif message["data"]:
            self._play_command(message["data"], client)
        self._end(message["meta"])

    def _play_command(self, command: str, client: int) -> None:
        to_move = self.game.to_move(self.position)
        if client != to_move:
            raise BadRecord(f"client {client} has a command; to move is {to_move}")
        turn = parse_command(self.game, self.position, command)
        self.position = self.game.play_turn(self.position, turn)
        self.turns.append(turn)

    def _end(self, meta: str) -> None:
        """Take what a message says of the end of the game."""
        self.scores = _scores(meta)
        if _BY in meta:
            self.fault, self.outcome = _fault(meta)
        elif self.last == "KILLPROC":
            self.fault = "error"  # whose, nobody knows
        if self.last == "FINISH" and not (self.scores or self.fault):
            raise BadRecord("FINISH without scores")

    def finished(self) -> PlayedGame:
        """Return the game; raise BadRecord if there is no game in it."""
        if not self.last:
            raise BadRecord("the log is empty; wanted: a line for each message")
        return PlayedGame(
            self.game.initial,
            tuple(self.turns),
            outcome=self.outcome,
            scores=self.scores,
            fault=self.fault,
        )


def _scores(meta: str) -> tuple[float, float] | None:
    scores = dict(_SCORES.findall(meta))
    if len(scores) == 1:
        raise BadRecord(f"meta {meta!r}: the score of the other player is missing")
    return (float(scores["1"]), float(scores["2"])) if scores else None


def _fault(meta: str) -> tuple[str, int]:
    """Return which fault it was, in our word, and who won by it."""
    match = _FAULT.match(meta)
    if not match:
        raise BadRecord(f"meta {meta!r}; wanted: {' or '.join(FAULTS)} {_BY} 1 or 2")
    return FAULTS[match[1]], 2 - int(match[2])


def _check_board(game: Game, data: str) -> None:
    """Raise BadRecord where the line that begins a game, id rows cols seconds, is of others."""
    _, *shape = game.observation_shape
    if not re.fullmatch(rf"[12] {shape[0]} {shape[1]} \d+(\.\d+)?", data):
        wanted = f"1 or 2, then {shape[0]} {shape[1]} and the seconds"
        raise BadRecord(f"INIT {data!r}; wanted: {wanted}{hint(game)}")


def export(game: Game, played: PlayedGame) -> str:
    """As `cc_env.core.game.Format.write`.

    A player who resigned is logged as one that stopped. A draw by agreement or by a limit is not
    logged: the log then ends as that of an unfinished game. Raises BadRecord where the game does
    not begin at the start, or nothing was played yet.
    """
    if played.start != game.initial:
        where = game.to_text(played.start)
        raise BadRecord(f"a log begins at the start of the game, not in '{where}'")
    lines, position, is_over = list[str](), played.start, False
    led_to = Counter[np.uint64]()
    for turn in played.turns:
        mover, text = game.to_move(position), game.turn_text(position, turn)
        position = game.play_turn(position, turn)
        led_to[key := game.key(position)] += 1
        is_over = game.outcome(position) != ONGOING or led_to[key] >= game.repetition_limit
        meta = scores_text(game.score(position), mover) if is_over else ""
        said = end_message(meta, text) if is_over else message("NORMAL", text)
        lines.append(line(said, mover))
    if not is_over:
        lines += _fault_lines(game, position, played)
    if not lines:
        raise BadRecord("a log has a line for each turn, and no turn was played yet")
    return "".join(f"{text}\n" for text in lines)


def _fault_lines(game: Game, position: Position, played: PlayedGame) -> Iterator[str]:
    """Yield the line that says by which fault a game ended; nothing where it did not."""
    loser = 1 - played.outcome
    resigned = played.outcome in (FIRST_WINS, SECOND_WINS) and not played.fault
    fault = "error" if resigned else played.fault
    if fault and played.outcome == ONGOING:
        yield line(message("KILLPROC"), game.to_move(position))
    elif fault == "time" and played.scores is None:
        yield line(SILENCE, loser)
    elif fault:
        meta = scores_text(game.score(position, loser), loser, fault, loser)
        yield line(end_message(meta, fault=fault), loser)


def hint(game: Game) -> str:
    """As `cc_env.core.game.Format.hint`."""
    rows, columns = (game.options[name] for name in ("rows", "columns"))
    return f"; read as a game by rows={rows}, columns={columns}: other boards want these options"


def _message(line: str) -> tuple[dict[str, str], int]:
    """Return the message of a line, and whose it is."""
    match = _LINE.fullmatch(line)
    if not match:
        raise BadRecord(
            f"'{line.strip()[:40]}': wanted a message, then Received from client 0 or 1"
        )
    client = int(match["client"])
    if match["message"] == SILENCE:
        return {"meta": "", "action": SILENCE, "data": ""}, client
    return parse_message(match["message"]), client


def parse_message(text: str) -> dict[str, str]:
    """Return the meta, action and data of a message; raise BadRecord if it is not a message."""
    parsed = files.parse_json(text)
    fields = ("meta", "action", "data")
    if not isinstance(parsed, dict) or not all(
        isinstance(parsed.get(name), str) for name in fields
    ):
        raise BadRecord(f"wanted texts for: {', '.join(fields)}")
    if parsed["action"] not in ACTIONS:
        raise BadRecord(f"action {parsed['action']!r}; it is one of: {', '.join(ACTIONS)}")
    return parsed


FORMAT = Format(read, count, export, hint=hint, is_single=True)
