"""Recorded decisions, games and counts of nine men's morris."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np

from cc_env.core.bitboard import ONE
from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Position
from cc_env.errors import BadRecord
from cc_env.games.morris import LETTERS, STANDARD_RULES, make
from cc_env.verification.recordings import Recording


def read_recordings(line: Mapping[str, Any]) -> Iterator[Recording]:
    """Yield the recordings of a line: a decision, a game or perft counts.

    A board is 24 characters, 1 for white and 2 for black. A decision has board, turn, hand, free,
    pending, the legal moves, the move and the board after it; if the turn is over, the next turn,
    hand and free; if the game is over, end and winner. Without free, the standard rules apply. A
    game has moves (a removal as -A), end and winner. Counts are of decisions, for several rules.

    Raises KeyError or CcEnvError for a missing or wrong field.
    """
    if line["kind"] == "decision":
        yield from _read_decision(line)
    elif line["kind"] == "game":
        yield _read_game(line)
    elif line["kind"] == "perft":
        for field, options in _OPTIONS_BY_FIELD.items():
            if field in line:
                game = make(**options)
                # The position need not be reachable by these rules.
                default = _read_board(make(), line["board"], line, line["pending"])
                position = default._replace(options=game.initial.options)
                yield Recording(game, position, counts=tuple(line[field]), counts_decisions=True)


_OPTIONS_BY_FIELD: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "one_removal_per_turn": {"removals": "one"},
    "no_free_move": {"free_move": "never"},
    "standard": STANDARD_RULES,
}


def _read_board(game: Game, board: str, line: Mapping[str, Any], pending: int = 0) -> Position:
    letters = board.translate(str.maketrans("12", "".join(LETTERS)))
    free = "".join(LETTERS[side] for side, flag in enumerate(line.get("free", ())) if flag)
    words = [letters, LETTERS[_player(line["turn"])], "".join(map(str, line["hand"]))]
    words += ["f" + free] if free else []
    words += [f"x{pending}"] if pending else []
    return cast(Position, game.from_text(" ".join(words)))


def _read_decision(line: Mapping[str, Any]) -> Iterator[Recording]:
    """Yield the recording of the legal actions, and that of the move if its result is recorded.

    If the player to move is blocked, the only recording is that of the result.
    """
    game = make() if "free" in line else make(**STANDARD_RULES)
    removes = line["step"] == "remove"
    position = _read_board(game, line["board"], line, line.get("pending", 1) if removes else 0)
    # `free` is recorded at the start of the turn, before the mill that earns a free move.
    if removes and "free" in line:
        position = position._replace(own_free=ONE)
    if line.get("end") == "no_moves":
        yield Recording(game, position, outcome=_player(line["winner"]), ending="no_moves")
        return
    texts = frozenset(("-" if removes else "") + text for text in line["moves"].split())
    yield Recording(game, position, outcome=ONGOING, actions=texts)
    # The recording program misses some mills, and then the position after the move is wrong.
    if "next" not in line or line.get("ref_removals", 0) != line.get("mills", 0):
        return
    move = ("-" if removes else "") + line["move"]
    final = _read_board(game, line["after"], line["next"])
    recording = Recording(game, position, path=(move,), final=final)
    # A blocked player is recorded on a line of its own.
    if "end" in line:
        recording = recording._replace(outcome=_player(line["winner"]), ending=line["end"])
    yield recording


def _read_game(line: Mapping[str, Any]) -> Recording:
    """Return the recording of a game from the start, in which each turn has its removals."""
    game = make()
    start = game.initial._replace(player=np.uint64(_player(line["first"])))
    turns = re.sub(r"\s+-", "-", line["moves"]).split()
    winner = _player(line["winner"])
    return Recording(game, start, path=tuple(turns), outcome=winner, ending=line["end"])


def _player(number: int) -> int:
    """Return the player, 0 or 1, with a recorded number, 1 or 2; raise BadRecord for others."""
    if number not in (1, 2):
        raise BadRecord(f"player {number!r}; expected: 1 or 2")
    return number - 1
