"""Game sessions as JSON values, for front ends that draw boards themselves, such as the page.

A front end receives `static_state` once and `session_state` after every decision. It draws the
shapes and offers the choices; it contains no rules. Cells and turns have the readable notation.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import product
from statistics import fmean
from typing import Any

from cc_env.core.game import Cell, Game, Turn
from cc_env.core.rules import Position
from cc_env.ladder.rungs import has_ladder, rungs
from cc_env.play import board_shapes
from cc_env.play.choices import Choice, list_choices, must_capture
from cc_env.play.descriptions import describe_result, summarize_decision
from cc_env.play.session import GameSession
from cc_env.play.trays import trays
from cc_env.rendering import shapes
from cc_env.rendering.labels import runs_upward
from cc_env.rendering.picture import Picture, draw
from cc_env.rendering.shapes import Disc, Polyline, Shape, Square
from cc_env.text.board import describe_standing

# Cell of the shapes of pieces and marks; front ends translate them by whole cells.
ORIGIN: Cell = (0, 0)


def static_state(game: Game) -> dict[str, Any]:
    """Return the constant part: names, the empty board, shapes of pieces and marks on `ORIGIN`.

    `labels` are those of the board and of the flipped board, in screen coordinates. All other
    shapes are moved to their cells by the front end: with `runs_upward`, row 0 is the lowest one.
    `cells` are those of play, without the light squares of draughts. `top` is the player at the
    top of the screen unless the board is flipped.
    """
    picture = draw(game, game.initial)
    letters = sorted("".join(game.letters))
    names = game.cell_names or game.readable_cell_names
    cells = sorted(names) or product(range(game.grid.rows), range(game.grid.columns))
    return {
        "game": game.name,
        "rungs": rung_names(game),
        "options": dict(game.options),
        "players": list(game.players),
        "colors": [shapes.colors(picture, player) for player in game.players],
        "top": _top_player(picture),
        "rows": game.grid.rows,
        "columns": game.grid.columns,
        "cell": shapes.CELL,
        "margin": shapes.MARGIN,
        "runs_upward": runs_upward(game),
        "board": _shape_data(board_shapes.ground(picture)),
        "labels": [_shape_data(board_shapes.labels(game, flipped)) for flipped in (False, True)],
        "goals": [
            [*cell, _shape_data(board_shapes.goal(shapes.colors(picture, player)[0]))]
            for player, cell in zip(game.players, game.goal_cells, strict=False)
        ],
        "figures": {
            letter: _shape_data(shapes.figure(picture, letter, ORIGIN)) for letter in letters
        },
        "owners": {letter: game.owner(letter) for letter in letters},
        "piece_names": {letter: _piece_name(game, letter) for letter in letters},
        "marks": {kind: _shape_data(mark) for kind, mark in board_shapes.marks().items()},
        "cells": [[*cell, game.cell_text(cell, "readable")] for cell in cells],
    }


def start_state(game: Game) -> dict[str, Any]:
    """Return the pieces at the start of a game."""
    return _picture_data(draw(game, game.initial))


def session_state(session: GameSession, turns_from: int = 0) -> dict[str, Any]:
    """Return the board, the choices of the person to move, clocks, turns and result.

    `turns` starts at index `turns_from`; it replaces all turns from there on in the front end.
    """
    game, is_person = session.game, session.is_person_to_move
    caption = describe_standing(game, session.position, session.result)
    picture = draw(game, session.position, last=session.last_turn, caption=caption)
    choices = list_choices(game, session.position) if is_person else []
    return {
        "decisions": len(session.decisions),
        "position": game.to_text(session.position),
        **_picture_data(picture),
        "pieces": _pieces_data(picture, is_unfinished=game.mid_turn(session.position)),
        "trays": trays(game, session.match.start, session.position),
        **_last_decision(session, picture),
        "mover": session.mover,
        "is_person": is_person,
        "mid_turn": session.result is None and game.mid_turn(session.position),
        "caption": picture.caption,
        "remark": "" if session.result else game.remark(session.position),
        "choices": [_label_choice(game, choice) for choice in choices],
        "must_capture": must_capture(choices),
        "turns_from": turns_from,
        "turns": _turns(session, turns_from),
        "clocks": _clocks(session),
        "clocks_paused": session.is_paused,
        "result": _result(session),
        "draw_offered_by": session.draw_offered_by,
        "seats": [seat.name for seat in session.seats],
    }


def past_state(session: GameSession, turns: int) -> dict[str, Any]:
    """Return the pieces and trays after `turns` turns, with the path and captures of the last."""
    game, history = session.game, session.match.history
    last = history[turns - 1] if turns else None
    position = game.play_turn(*last) if last else session.match.start
    picture = _picture_data(draw(game, position, last=last))
    return {**picture, "trays": trays(game, session.match.start, position)}


@lru_cache(maxsize=32)
def rung_names(game: Game) -> list[str]:
    """Return the names of the rungs of a game's ladder, weakest first; none without one."""
    return [rung.name for rung in rungs(game)] if has_ladder(game) else []


def _picture_data(picture: Picture) -> dict[str, Any]:
    """Return the pieces, and the path and captures of the last turn."""
    return {
        "pieces": _pieces_data(picture),
        "path": _shape_data(board_shapes.last_turn(picture)),
        "captured": list(picture.captured),
    }


def _pieces_data(picture: Picture, *, is_unfinished: bool = False) -> list[list[Any]]:
    """Return row, column and letter of each piece.

    The piece of an unfinished turn is where it arrived, even if the position moves it later.
    """
    pieces = dict(picture.pieces)
    if is_unfinished and len(picture.path) > 1 and picture.path[-1] not in pieces:
        first, last = picture.path[0], picture.path[-1]
        pieces = {last if cell == first else cell: letter for cell, letter in pieces.items()}
    return [[*cell, letter] for cell, letter in pieces.items()]


def _label_choice(game: Game, choice: Choice) -> Choice:
    """Return a choice; the text of a button for one without a cell is in words."""
    if choice.cell is not None:
        return choice
    return choice._replace(text=game.button_labels.get(choice.text.strip(), choice.text))


def _piece_name(game: Game, letter: str) -> str:
    """Return the name of a piece for screen readers: its color, and its type if it has several."""
    color = game.players[game.owner(letter)]
    return f"{color} {game.piece_names.get(letter, '')}".strip()


def _shape_data(drawing: Iterable[Shape]) -> list[list[Any]]:
    """Return shapes as lists of their fields, each preceded by its kind."""
    kinds = {Square: "square", Disc: "disc", Polyline: "line"}
    return [[kinds.get(type(shape), "text"), *shape] for shape in drawing]


def _top_player(picture: Picture) -> int:
    """Return the player whose pieces start higher on the board; the second in a tie."""
    game = picture.game
    rows: dict[str, list[int]] = {player: [] for player in game.players}
    for cell, letter in picture.pieces.items():
        row, _ = board_shapes.screen_cell(game, cell, is_flipped=False)
        rows[picture.owner(letter)].append(row)
    first_mean, second_mean = (fmean(player_rows or [0]) for player_rows in rows.values())
    return int(second_mean <= first_mean)


def _last_decision(session: GameSession, picture: Picture) -> dict[str, Any]:
    """Return the last decision as the page draws it, and the statistics of its search.

    `picture` shows the last turn.
    """
    game, last = session.game, session.last_turn
    if last is None:
        return {"last_decision": None, "summary": ""}
    start, turn = last
    before, action = game.play_turn(start, turn[:-1]), turn[-1]
    # The picture contains the track of a turn of one decision.
    is_single = len(turn) == 1
    path, captured = (
        (picture.path, picture.captured) if is_single else game.track(before, (action,))
    )
    return {
        "last_decision": {
            "path": list(path),
            "captured": list(captured),
            "is_shot": any(game.shooters(before, action)),
            "text": game.readable_action_text(before, action),
            "player": game.to_move(before),
        },
        "summary": summarize_decision(game, before, session.decisions[-1]),
    }


def _turns(session: GameSession, first: int) -> list[list[Any]]:
    """Return the turns from index `first` on: player, text, and value expected for player 0.

    The last turn may be incomplete.
    """
    turns: list[list[Any]] = []
    game, match = session.game, session.match
    unfinished = match.partial_turn
    # Number of decisions in the turns before index `first`.
    count = len(session.decisions) - len(unfinished[1] if unfinished else ())
    count -= sum(len(turn) for _, turn in match.history[first:])
    for before, turn in match.history[first:]:
        count += len(turn)
        value, mover = session.decisions[count - 1].value, game.to_move(before)
        first_value = None if value is None else round(float(value) * (1 - 2 * mover), 3)
        turns.append([mover, _turn_text(game, before, turn), first_value])
    if unfinished:
        before, turn = unfinished
        turns.append([game.to_move(before), _turn_text(game, before, turn) + "…", None])
    return turns


def _turn_text(game: Game, before: Position, turn: Turn) -> str:
    """Return the readable notation of a turn that was played; most have one decision."""
    if len(turn) == 1:
        return game.readable_action_text(before, turn[0])
    return game.readable_turn_text(before, turn)


def _clocks(session: GameSession) -> list[float] | None:
    """Return each player's remaining seconds, at least 0; None without a time limit."""
    remaining = [session.seconds_left(player) for player in (0, 1)]
    if math.isinf(remaining[0]):
        return None
    return [round(max(0.0, seconds), 2) for seconds in remaining]


def _result(session: GameSession) -> dict[str, Any] | None:
    """Return the result as JSON, with scores if the game has them; None during the game."""
    if session.result is None:
        return None
    score = session.match.score if session.game.has_scores else None
    return {
        "outcome": session.result.outcome,
        "reason": session.result.reason,
        "text": describe_result(session.game, session.result),
        "detail": session.detail,
        "scores": score and [float(points) for points in score],
    }
