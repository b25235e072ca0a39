"""Recorded positions, games and counts of Cannon."""

from collections.abc import Iterator, Mapping
from typing import Any

from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Position
from cc_env.games.cannon import make
from cc_env.verification.recordings import Recording


def read_recordings(line: Mapping[str, Any]) -> Iterator[Recording]:
    """Yield the recordings of a line: a position, a game or perft counts.

    Fields by the `kind` of the line, besides `rows` and `cols`:
    position: `board`, `turn`, `moves` (`25b22`: from, kind, to), `succ` (the boards and endings
        after some of the moves) and, if the game is over, `end`
    game: `cmds`, `final` (board), `next` (player to move), `end`
    perft: `nodes` (counts by depth) of turns with different effects if `count` is "effects"; lines
        that count commands yield nothing, as do lines of other kinds

    Raises KeyError or CcEnvError for a missing or wrong field.
    """
    if line["kind"] not in ("position", "game", "perft"):
        return
    game = make(line["rows"], line["cols"])
    if line["kind"] == "perft":
        if line["count"] == "effects":
            yield Recording(game, game.initial, counts=tuple(line["nodes"]))
    elif line["kind"] == "game":
        yield _read_game(game, line)
    else:
        yield from _read_position(game, line)


def _read_game(game: Game, line: Mapping[str, Any]) -> Recording:
    final = _read_board(game, line["final"], line["next"])
    recording = Recording(game, game.initial, path=tuple(line["cmds"]), final=final)
    # A position does not contain the repetitions that end a stagnant game.
    if line["end"] == "stagnant":
        return recording._replace(outcome=ONGOING)
    return recording._replace(ending=line["end"]) if line["end"] else recording


def _read_position(game: Game, line: Mapping[str, Any]) -> Iterator[Recording]:
    position = _read_board(game, line["board"], line["turn"])
    if line.get("end"):
        yield Recording(game, position, ending=line["end"])
        return
    commands = {_command(move) for move in line["moves"].split()}
    yield Recording(game, position, outcome=ONGOING, actions=frozenset(commands))
    opponent = "w" if line["turn"] == "b" else "b"
    for move, board, *reason in line["succ"]:
        final = _read_board(game, board, opponent)
        after = Recording(game, position, path=(_command(move),), final=final)
        yield after._replace(ending=reason[0]) if reason else after._replace(outcome=ONGOING)


def _read_board(game: Game, board: str, turn: str) -> Position:
    return game.from_text(f"{board} {turn}")


def _command(move: str) -> str:
    """Return S x y M x y, or B for a bomb, of a recorded move such as 25b22."""
    kind = "B" if move[2] == "b" else "M"
    return f"S {move[0]} {move[1]} {kind} {move[3]} {move[4]}"
