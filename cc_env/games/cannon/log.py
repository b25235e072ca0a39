"""Commands of Cannon player programs, and the game log of the tournament server.

A command is one line of triples: S x y selects a soldier, M x y moves it, B x y bombs a cell. A
later S replaces an earlier one, but each must select a soldier that can act. A log has a line for
each message of a client: a JSON object with `meta`, `action` and `data`, then "Received from client
0" or 1. For a client that exceeded its time the message is None. A log contains one game from the
start, without names.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from cc_env import files
from cc_env.core.game import BrokenGame, Format, Game, PlayedGame, Turn, normalize_newlines
from cc_env.core.rules import FIRST_WINS, ONGOING, SECOND_WINS, Position
from cc_env.errors import BadRecord, CcEnvError, IllegalAction, format_list

# The server closes the game after these actions.
CLOSING = "FINISH", "KILLPROC", "STAGNANT"
ACTIONS = "INIT", "NORMAL", *CLOSING
# Stands for the message of a client that exceeded its time.
SILENCE = "None"
_LINE = re.compile(rf"(?P<message>\{{.*\}}|{SILENCE})\s*Received from client (?P<client>[01])\s*")
_SCORES = re.compile(r"Player ([12]) SCORE : ([0-9]{1,9}(?:\.[0-9]{0,9})?)")
# The faults of `cc_env.match.match` by their names in a log.
FAULTS = {"TIMEOUT": "time", "INVALID MOVE": "illegal", "UNEXPECTED STOP": "error"}
_OPENING = re.compile(r"([12]) (\d{1,2}) (\d{1,2}) (\d{1,9}(?:\.\d{1,9})?)", re.ASCII)
_BY = "BY PLAYER"
_FAULT = re.compile(rf"({'|'.join(FAULTS)}) {_BY} ([12])( :|$)")


def parse_command(game: Game, position: tuple[int, ...], line: str) -> Turn:
    """Return the legal turn of a command; raise IllegalAction if it is not legal.

    Each selected soldier must be able to act.
    """
    words = line.split()
    triples = [words[at : at + 3] for at in range(0, len(words), 3)]
    if not all(re.fullmatch("[SMB] [0-9] [0-9]", " ".join(triple)) for triple in triples):
        raise IllegalAction(f"'{line}' is not a command; expected: S x y, then M x y or B x y")
    kinds = [kind for kind, _, _ in triples]
    if len(kinds) < 2 or kinds[-1] == "S" or set(kinds[:-1]) != {"S"}:
        raise IllegalAction(f"'{line}'; expected: one M or B, at the end")
    turn = game.parse_turn(position, " ".join(triples[-2] + triples[-1]))
    replaced = [" ".join(triple) for triple in triples[:-2]]
    movable = _movable_soldiers(game, position) if replaced else set()
    for selected in replaced:
        if selected not in movable:
            where = game.to_text(position)
            raise IllegalAction(
                f"'{line}': {selected} selects no soldier that can do anything in '{where}';"
                f" these can: {format_list(sorted(movable))}"
            )
    return turn


def _movable_soldiers(game: Game, position: tuple[int, ...]) -> set[str]:
    """Return the selections, S x y, of the soldiers that can act."""
    texts = set[str]()
    for action in map(int, game.legal_actions(position)):
        texts |= {game.action_text(position, action), *game.alternative_texts(position, action)}
    return {text[: len("S x y")] for text in texts}


def opening(game: Game, player: int, seconds: float) -> str:
    """Return the first line sent to a player program: id rows cols seconds."""
    return f"{player + 1} {game.options['rows']} {game.options['columns']} {seconds:g}"


def parse_opening(line: str) -> tuple[int, int, int, float]:
    """Return the player, rows, columns and seconds of the line of `opening`; raise BadRecord.

    Any run of whitespace separates the words.
    """
    match = _OPENING.fullmatch(" ".join(line.split()))
    if not match:
        raise BadRecord(f"{line[:40]!r}; expected: id rows cols seconds, such as 1 8 8 120")
    player, rows, columns, seconds = match.groups()
    return int(player) - 1, int(rows), int(columns), float(seconds)


def message(action: str, data: str = "", meta: str = "") -> str:
    """Return a message of a client or of the server as JSON."""
    return json.dumps({"meta": meta, "action": action, "data": data})


def end_message(meta: str, command: str = "", fault: str = "") -> str:
    """Return the message that ends a game, by a command or by a fault."""
    action = "KILLPROC" if fault in ("illegal", "error") else "FINISH"
    return message(action, command, meta)


def line(message: str, client: int) -> str:
    """Return the log line of a client's message."""
    return f"{message} Received from client {client}"


def scores_text(
    scores: tuple[float, float], sender: int, fault: str = "", offender: int = 0
) -> str:
    """Return the `meta` of a message that ends a game: the scores, that of the sender first.

    If a fault of player `offender` ended the game, it precedes the scores.
    """
    seats = sender, 1 - sender
    parts = [f"Player {seat + 1} SCORE : {round(scores[seat], 2)}" for seat in seats]
    if fault:
        log_names = {name: log_name for log_name, name in FAULTS.items()}
        parts.insert(0, f"{log_names[fault]} {_BY} {offender + 1}")
    return " : ".join(parts)


def fault_of(meta: str) -> tuple[str, int] | None:
    """Return the name of the fault in a `meta` field and the losing player, or None."""
    match = _FAULT.match(meta)
    return (FAULTS[match[1]], int(match[2]) - 1) if match else None


def read(text: str, game: Game) -> Iterator[PlayedGame | BrokenGame]:
    """Yield the game of a log, or a BrokenGame if it is broken."""
    parser = _LogParser(game)
    number = 1
    try:
        for number, line in enumerate(normalize_newlines(text).split("\n"), 1):  # noqa: B007 (used below)
            if line.strip():
                parser.add(*_parse_line(line))
        entry: PlayedGame | BrokenGame = parser.finish()
    except CcEnvError as error:
        advice = hint(game) if isinstance(error, IllegalAction) else ""
        entry = BrokenGame(number, f"move {parser.move_number}: {error}{advice}")
    yield entry


class _LogParser:
    """The game of a log, read message by message.

    `move` is the number of the move in the last message; `last` is the last action, or SILENCE.
    """

    def __init__(self, game: Game) -> None:
        self.game, self.position = game, game.initial
        self.turns: list[Turn] = []
        self.move_number, self.last = 1, ""
        self.scores: tuple[float, float] | None = None
        self.fault, self.outcome = "", ONGOING

    def add(self, message: dict[str, str], client: int) -> None:
        """Add the message of a client; raise BadRecord or IllegalAction if it is invalid."""
        self.move_number = len(self.turns) + 1
        if self.scores or self.fault or self.last in CLOSING:
            raise BadRecord(f"a message after the game has ended, with {self.last}")
        self.last = message["action"]
        if self.last == SILENCE:
            self.fault, self.outcome = FAULTS["TIMEOUT"], 1 - client
        elif self.last == "INIT":
            _check_board(self.game, message["data"])
        elif message["data"]:
            self._play_command(message["data"], client)
        self._read_meta(message["meta"])

    def _play_command(self, command: str, client: int) -> None:
        to_move = self.game.to_move(self.position)
        if client != to_move:
            raise BadRecord(
                f"a command from client {client}; expected: client {to_move}, which is to move"
            )
        turn = parse_command(self.game, self.position, command)
        self.position = self.game.play_turn(self.position, turn)
        self.turns.append(turn)

    def _read_meta(self, meta: str) -> None:
        """Read the scores and the fault of a message."""
        self.scores = _parse_scores(meta)
        if fault := fault_of(meta):
            self.fault, self.outcome = fault[0], 1 - fault[1]
        elif _BY in meta:
            raise BadRecord(f"meta {meta!r}; expected: {' or '.join(FAULTS)} {_BY} 1 or 2")
        elif self.last == "KILLPROC":
            # The log does not contain the losing player.
            self.fault = "error"
        if self.last == "FINISH" and not (self.scores or self.fault):
            raise BadRecord(
                f"FINISH without scores: meta {meta!r:.80}; expected: scores or a fault"
            )

    def finish(self) -> PlayedGame:
        """Return the game; raise BadRecord for an empty log."""
        if not self.last:
            raise BadRecord("the log is empty; expected: a line for each message")
        return PlayedGame(
            self.game.initial,
            tuple(self.turns),
            outcome=self.outcome,
            scores=self.scores,
            fault=self.fault,
        )


def _parse_scores(meta: str) -> tuple[float, float] | None:
    scores = dict(_SCORES.findall(meta))
    if len(scores) == 1:
        raise BadRecord(f"meta {meta!r}: the score of the other player is missing")
    return (float(scores["1"]), float(scores["2"])) if scores else None


def _check_board(game: Game, data: str) -> None:
    """Raise BadRecord unless the opening line has the board size of the game."""
    _, *shape = game.observation_shape
    if not re.fullmatch(rf"[12] {shape[0]} {shape[1]} \d+(\.\d+)?", data):
        expected = f"1 or 2, then {shape[0]} {shape[1]} and the seconds"
        raise BadRecord(f"INIT {data!r}; expected: {expected}{hint(game)}")


def export(game: Game, played_game: PlayedGame) -> str:
    """Return the log of a game.

    A resignation is logged as an unexpected stop. The log of a draw by agreement or by a limit ends
    like that of an unfinished game. Raises BadRecord for a game from another position or without
    turns.
    """
    if played_game.start != game.initial:
        start = game.to_text(played_game.start)
        expected = "a game from the initial position"
        raise BadRecord(f"a game that begins in '{start}' has no log; expected: {expected}")
    lines = list[str]()
    position = played_game.start
    is_over = False
    visits = Counter[np.uint64]()
    for turn in played_game.turns:
        mover, text = game.to_move(position), game.turn_text(position, turn)
        position = game.play_turn(position, turn)
        visits[key := game.key(position)] += 1
        is_over = game.outcome(position) != ONGOING or visits[key] >= game.repetition_limit
        meta = scores_text(game.score(position), mover) if is_over else ""
        reply = end_message(meta, text) if is_over else message("NORMAL", text)
        lines.append(line(reply, mover))
    if not is_over:
        lines += _fault_lines(game, position, played_game)
    if not lines:
        raise BadRecord("a game without turns cannot be logged")
    return "".join(f"{text}\n" for text in lines)


def _fault_lines(game: Game, position: Position, played_game: PlayedGame) -> Iterator[str]:
    """Yield the line of the fault that ended a game, if any."""
    loser = 1 - played_game.outcome
    has_resigned = played_game.outcome in (FIRST_WINS, SECOND_WINS) and not played_game.fault
    fault = "error" if has_resigned else played_game.fault
    if fault and played_game.outcome == ONGOING:
        yield line(message("KILLPROC"), game.to_move(position))
    elif fault == "time" and played_game.scores is None:
        yield line(SILENCE, loser)
    elif fault:
        meta = scores_text(game.score(position, loser), loser, fault, loser)
        yield line(end_message(meta, fault=fault), loser)


def hint(game: Game) -> str:
    """Return advice for the error message of a log that violates the rules."""
    rows, columns = game.options["rows"], game.options["columns"]
    return f"; read with rows={rows}, columns={columns}; set these options for other boards"


def _parse_line(line: str) -> tuple[dict[str, str], int]:
    """Return the message and the client of a log line; raise BadRecord."""
    match = _LINE.fullmatch(line)
    if not match:
        raise BadRecord(
            f"'{line.strip()[:40]}'; expected: a message, then Received from client 0 or 1"
        )
    client = int(match["client"])
    if match["message"] == SILENCE:
        return {"meta": "", "action": SILENCE, "data": ""}, client
    return parse_message(match["message"]), client


def parse_message(text: str) -> dict[str, str]:
    """Return the `meta`, `action` and `data` of a message; raise BadRecord if it is invalid."""
    parsed = files.parse_json(text)
    fields = ("meta", "action", "data")
    if not isinstance(parsed, dict) or not all(
        isinstance(parsed.get(name), str) for name in fields
    ):
        raise BadRecord(f"expected strings for: {', '.join(fields)}")
    if parsed["action"] not in ACTIONS:
        raise BadRecord(f"action {parsed['action']!r}; expected: one of: {', '.join(ACTIONS)}")
    return parsed


FORMAT = Format(read, lambda text: 1, export, hint=hint, is_single=True)
