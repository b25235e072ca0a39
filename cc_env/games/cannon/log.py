"""Commands of Cannon's player programs, and the log that its server writes of a game.

A command is one line of triples, S x y to select, M x y to move there or B x y to bomb it, read in
order: a second S replaces the first, but each selects a soldier that can do something. A log has a
line for each message of a client: a JSON object with `meta`, `action` and `data`, then the words
"Received from client 0" or 1.
"""

import json
import re
from collections.abc import Iterator

from cc_env.errors import BadRecord, CcEnvError, IllegalAction, listed
from cc_env.game import Format, Game, Played, Turn
from cc_env.rules import ONGOING

CLOSING = "FINISH", "KILLPROC", "STAGNANT"  # after these the server has closed the game
ACTIONS = "INIT", "NORMAL", *CLOSING
_LINE = re.compile(r"(?P<message>\{.*\})\s*Received from client (?P<client>[01])\s*")
_SCORES = re.compile(r"Player ([12]) SCORE : (\d+\.?\d*)")
FAULTS = {"TIMEOUT": "time", "INVALID MOVE": "illegal", "UNEXPECTED STOP": "error"}  # our words
_BY = "BY PLAYER"
_FAULT = re.compile(rf"({'|'.join(FAULTS)}) {_BY} ([12])( :|$)")


def parse_command(game: Game, position: tuple[int, ...], line: str) -> Turn:
    """Return the legal turn that a line of triples says; raise IllegalAction where it says none.

    Each soldier that is selected must be able to do something.
    """
    words = line.split()
    triples = [words[at : at + 3] for at in range(0, len(words), 3)]
    if not all(re.fullmatch("[SMB] [0-9] [0-9]", " ".join(triple)) for triple in triples):
        raise IllegalAction(f"'{line}' is no command; wanted: S x y, then M x y or B x y")
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
                f" these can: {listed(sorted(able))}"
            )
    return turn


def _able(game: Game, position: tuple[int, ...]) -> set[str]:
    """Return how the soldiers are selected that can do something: S x y."""
    texts = set[str]()
    for action in map(int, game.legal_actions(position)):
        texts |= {game.action_text(position, action), *game.other_texts(position, action)}
    return {text[: len("S x y")] for text in texts}


def read(text: str, game: Game) -> Iterator[Played]:
    """Yield the one game of a log; raise BadRecord, naming line and move, where it is broken."""
    position, turns = game.initial, list[Turn]()
    scores, fault, outcome, last = None, "", ONGOING, ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        move = len(turns) + 1
        try:
            message, client = _message(line)
            if scores or fault or last in CLOSING:
                raise BadRecord(f"a message after the game has ended, with {last}")
            last = message["action"]
            if last == "INIT":
                _check_board(game, message["data"])
            elif message["data"]:
                if client != game.to_move(position):
                    raise BadRecord(f"client {client} has a command; to move is {1 - client}")
                turns.append(parse_command(game, position, message["data"]))
                position = game.play_turn(position, turns[-1])
            scores = _scores(message["meta"])
            if _BY in message["meta"]:
                fault, outcome = _fault(message["meta"])
            elif last == "KILLPROC":
                fault = "error"  # whose, nobody knows
            if last == "FINISH" and not (scores or fault):
                raise BadRecord("FINISH without scores")
        except CcEnvError as error:
            more = hint(game) if isinstance(error, IllegalAction) else ""
            raise BadRecord(f"line {number}, move {move}: {error}{more}") from error
    if not last:
        raise BadRecord("the log is empty; wanted: a line for each message")
    yield Played(game.initial, tuple(turns), outcome=outcome, scores=scores, fault=fault)


def _scores(meta: str) -> tuple[float, float] | None:
    found = dict(_SCORES.findall(meta))
    if len(found) == 1:
        raise BadRecord(f"meta {meta!r}: the score of the other player is missing")
    return (float(found["1"]), float(found["2"])) if found else None


def _fault(meta: str) -> tuple[str, int]:
    """Return which fault it was, in our word, and who won by it."""
    found = _FAULT.match(meta)
    if not found:
        raise BadRecord(f"meta {meta!r}; wanted: {' or '.join(FAULTS)} {_BY} 1 or 2")
    return FAULTS[found[1]], 2 - int(found[2])


def _check_board(game: Game, data: str) -> None:
    """Raise BadRecord where the line that begins a game, id rows cols seconds, is of others."""
    _, *shape = game.observation_shape
    if not re.fullmatch(rf"[12] {shape[0]} {shape[1]} \d+(\.\d+)?", data):
        wanted = f"1 or 2, then {shape[0]} {shape[1]} and the seconds"
        raise BadRecord(f"INIT {data!r}; wanted: {wanted}{hint(game)}")


def hint(game: Game) -> str:
    """As `cc_env.game.Format.hint`."""
    rows, columns = (game.options[name] for name in ("rows", "columns"))
    return f"; read as a game by rows={rows}, columns={columns}: other boards want these options"


def _message(line: str) -> tuple[dict[str, str], int]:
    """Return the message of a line, and whose it is."""
    found = _LINE.fullmatch(line)
    if not found:
        raise BadRecord(
            f"'{line.strip()[:40]}': wanted a message, then Received from client 0 or 1"
        )
    try:
        message = json.loads(found["message"])
    except ValueError as error:
        raise BadRecord(f"not JSON: {error}") from None
    fields = ("meta", "action", "data")
    if not all(isinstance(message.get(field), str) for field in fields):
        raise BadRecord(f"wanted texts for: {', '.join(fields)}")
    if message["action"] not in ACTIONS:
        raise BadRecord(f"action {message['action']!r}; it is one of: {', '.join(ACTIONS)}")
    return message, int(found["client"])


FORMAT = Format(read, hint=hint)
