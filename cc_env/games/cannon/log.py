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

CLOSING = "FINISH", "KILLPROC", "STAGNANT"  # after these the server has closed the game
ACTIONS = "INIT", "NORMAL", *CLOSING
_LINE = re.compile(r"(?P<message>\{.*\})\s*Received from client (?P<client>[01])\s*")
_SCORES = re.compile(r"Player ([12]) SCORE : (\d+\.?\d*)")


class Logged(Played):
    """A game of a log."""

    @property
    def told(self) -> str:
        """The scores, and a fault."""
        scores = "" if self.scores is None else "scores {:g} - {:g}".format(*self.scores)
        return " ".join(filter(None, (scores, self.fault))) or "without scores"


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


def read(text: str, game: Game) -> Iterator[Logged]:
    """Yield the one game of a log; raise BadRecord, naming line and move, where it is broken."""
    position, turns = game.initial, list[Turn]()
    scores, fault, last = None, "", ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            message, client = _message(line)
            if scores or fault or last in CLOSING:
                raise BadRecord(f"a message after the game has ended, with {last}")
            last = message["action"]
            if message["data"] and message["action"] != "INIT":
                if client != game.to_move(position):
                    raise BadRecord(f"client {client} has a command; to move is {1 - client}")
                turns.append(parse_command(game, position, message["data"]))
                position = game.play_turn(position, turns[-1])
            found = dict(_SCORES.findall(message["meta"]))
            if len(found) == 2:
                scores = float(found["1"]), float(found["2"])
            if message["action"] == "KILLPROC" or "BY PLAYER" in message["meta"]:
                fault = message["meta"].split(" : ")[0] or message["action"]
        except CcEnvError as error:
            raise BadRecord(f"line {number}, move {len(turns) + 1}: {error}") from error
    if not last:
        raise BadRecord("the log is empty; wanted: a line for each message")
    yield Logged(game.initial, tuple(turns), scores=scores, fault=fault)


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


FORMAT = Format(read)
