"""A session as data for front ends that draw for themselves, such as the page: JSON's values alone.

A front end gets the `setting` of a game once and its `state` after every decision. It draws the
shapes that it is given and lets people point at the choices; it knows no rules.
"""

import math
from collections.abc import Iterable
from itertools import product
from typing import Any

from cc_env.core.game import Cell, Game, Turn
from cc_env.core.rules import Position
from cc_env.play.choices import list_choices, must_capture
from cc_env.play.descriptions import describe_ending, summarize_decision
from cc_env.play.session import GameSession
from cc_env.rendering import shapes
from cc_env.rendering.picture import Picture, describe_standing, draw
from cc_env.rendering.shapes import Disc, Polyline, Shape, Square

ORIGIN: Cell = (0, 0)  # where pieces and marks are drawn; front ends move them by whole cells


def static_state(game: Game) -> dict[str, Any]:
    """Return what stays the same: names, the empty board, and pieces and marks on `ORIGIN`."""
    picture = draw(game, game.initial)
    letters = sorted("".join(game.letters))
    return {
        "game": game.name,
        "options": dict(game.options),
        "players": list(game.players),
        "colors": [shapes.colours(picture, player) for player in game.players],
        "top": _top(picture),
        "rows": picture.rows,
        "columns": picture.columns,
        "cell": shapes.CELL,
        "margin": shapes.MARGIN,
        "board": _drawn(shapes.board(picture)),
        "labels": _drawn(shapes.labels(picture)),
        "figures": {letter: _drawn(shapes.figure(picture, letter, ORIGIN)) for letter in letters},
        "owners": {letter: game.owner(letter) for letter in letters},
        "piece_names": {letter: _called(game, letter) for letter in letters},
        "marks": {kind: _drawn(shapes.mark(kind, ORIGIN)) for kind in shapes.MARKS},
        "cells": [[*cell, name] for cell, name in _cells(picture).items()],
    }


def session_state(session: GameSession, turns_from: int = 0) -> dict[str, Any]:
    """Return what there is to draw, what can be chosen, and how the game stands.

    Of the turns come those from this index on, in place of all that a front end has from there on.
    """
    game, last = session.game, session.last_turn
    decided, is_person = _decided(game, last), session.is_person_to_move
    caption = describe_standing(game, session.position, session.result)
    picture = draw(game, session.position, last=last, caption=caption)
    moves = list_choices(game, session.position, session.match.legal_actions) if is_person else []
    return {
        "decisions": len(session.decisions),
        "position": game.to_text(session.position),
        **_to_draw(picture),
        "last_decision": _moved(game, decided, picture if last and len(last[1]) == 1 else None),
        "mover": session.mover,
        "is_person": is_person,
        "mid_turn": session.result is None and game.mid_turn(session.position),
        "caption": picture.caption,
        "choices": moves,
        "must_capture": must_capture(moves),
        "turns_from": turns_from,
        "turns": _turns(session, turns_from),
        "summary": _said(session, decided),
        "clocks": _clocks(session),
        "clocks_paused": session.is_paused,
        "result": _result(session),
        "draw_offered_by": session.draw_offered_by,
        "seats": [seat.name for seat in session.seats],
    }


def past_state(session: GameSession, turns: int) -> dict[str, Any]:
    """Return what there was to draw after this number of finished turns, with the last of them."""
    game, course = session.game, session.match.history
    last = course[turns - 1] if turns else None
    position = game.play_turn(*last) if last else session.match.start
    return _to_draw(draw(game, position, last=last))


def _to_draw(picture: Picture) -> dict[str, Any]:
    """Return the pieces, and the way and the captures of the last turn."""
    return {
        "pieces": [[*cell, letter] for cell, letter in picture.pieces.items()],
        "path": _drawn(shapes.path(picture)),
        "captured": list(picture.captured),
    }


def _called(game: Game, letter: str) -> str:
    """Return what a piece is called by those who cannot see it: its colour, and its kind if any."""
    colour = game.players[game.owner(letter)]
    return " ".join([colour, *filter(None, [game.piece_names.get(letter)])])


def _drawn(drawing: Iterable[Shape]) -> list[list[Any]]:
    """Return shapes with a letter for their kind in front."""
    kinds = {Square: "square", Disc: "disc", Polyline: "line"}
    return [[kinds.get(type(shape), "text"), *shape] for shape in drawing]


def _cells(picture: Picture) -> dict[Cell, str]:
    """Return the cells that there are, with their names."""
    if picture.names:
        return dict(picture.names)
    rows, columns = map(enumerate, picture.labels)
    return {(at, to): f"{row} {column}" for (at, row), (to, column) in product(rows, columns)}


def _top(picture: Picture) -> int:
    """Return whose pieces begin further up, the second's where nobody's do."""
    rows: tuple[list[int], list[int]] = ([], [])
    for (row, _), letter in picture.pieces.items():
        rows[picture.owner(letter) == picture.players[1]].append(row)
    first, second = (sum(numbers) / len(numbers) if numbers else 0.0 for numbers in rows)
    return int(second <= first)


def _decided(game: Game, last: tuple[Position, Turn] | None) -> tuple[Position, int] | None:
    """Return the last decision, with the position before it; None at the start."""
    if last is None:
        return None
    before, turn = last
    return game.play_turn(before, turn[:-1]), turn[-1]


def _moved(
    game: Game, decided: tuple[Position, int] | None, picture: Picture | None
) -> dict[str, Any] | None:
    """Return the way of the last decision alone, for those who show how it went.

    Where it is a whole turn the `picture` has its way.
    """
    if decided is None:
        return None
    before, action = decided
    track = picture or game.track(before, (action,))
    return {
        "path": list(track.path),
        "captured": list(track.captured),
        "is_shot": any(game.shooters(before, action)),
        "text": game.action_text(before, action),
        "player": game.to_move(before),
    }


def _turns(session: GameSession, first: int) -> list[list[Any]]:
    """Return each turn: who played it, its text, and what its player expected for the first.

    The last one may be unfinished.
    """
    turns: list[list[Any]] = []
    game, match = session.game, session.match
    course, unfinished = match.history[first:], match.partial_turn
    done = len(session.decisions) - len(unfinished[1] if unfinished else ())
    done -= sum(len(turn) for _, turn in course)
    for (before, turn), text in zip(course, match.turns[first:], strict=True):
        done += len(turn)
        value, mover = session.decisions[done - 1].value, game.to_move(before)
        turns.append([mover, text, _for_first(value, mover)])
    if unfinished:
        before, turn = unfinished
        turns.append([game.to_move(before), game.turn_text(before, turn) + "…", None])
    return turns


def _for_first(value: float | None, mover: int) -> float | None:
    return None if value is None else round(float(value) * (1 - 2 * mover), 3)


def _said(session: GameSession, decided: tuple[Position, int] | None) -> str:
    """Return what the last player to decide said of it; nothing where a person did."""
    return summarize_decision(session.game, decided[0], session.decisions[-1]) if decided else ""


def _clocks(session: GameSession) -> list[float] | None:
    left = [session.seconds_left(player) for player in (0, 1)]
    return None if math.isinf(left[0]) else [round(max(0.0, seconds), 2) for seconds in left]


def _result(session: GameSession) -> dict[str, Any] | None:
    if session.result is None:
        return None
    score = session.match.score if session.game.has_scores else None
    return {
        "outcome": session.result.outcome,
        "reason": session.result.reason,
        "text": describe_ending(session),
        "detail": session.detail,
        "scores": score and [float(points) for points in score],
    }
