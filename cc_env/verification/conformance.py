"""Conformance checks of a game by seeded random games, for authors of games.

The checks compare a game with `cc_env.core.rules` and `cc_env.core.game`. A fault is reported with
the position as text and the action that led to it. Each rule is called by itself and writes into
arrays with margins, so that a write out of bounds is reported and does no damage.

Shapes: A actions, C planes of an observation, H rows and W columns of the board.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.game import Game, Turn
from cc_env.core.rules import DRAW, ONGOING, Position
from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.errors import BadGame
from cc_env.jit.compiler import summarize_error
from cc_env.jit.numba_internals import errors

# The default number of random games.
GAMES = 20
# A random game of more decisions is a fault.
MAX_DECISIONS = 2000
# The notation of at most this many turns of a position is parsed again.
_MAX_TURNS = 200
# The number of elements before and after an array that rules write.
_MARGIN = 4096
# The fill value of margins and of arrays that rules write.
_UNWRITTEN = 99
# The properties on which the others depend.
_PREREQUISITES = {"legal actions", "turn"}
_WORDS = "words mixed with plain integers become floats, so wrap these in np.uint64"

Property = Callable[[Game, Position, NDArray[np.int32]], Iterator[str]]


class Fault(NamedTuple):
    """A property that does not hold in a position.

    `action` is the notation or id of the action that led to the position, "" at the start.
    `message` describes the actual and the expected behavior.
    """

    position: str
    action: str
    message: str


def check(game: Game, *, games: int | None = None, seed: int = 0) -> Iterator[Fault]:
    """Yield the first fault of each property in random games (by default GAMES) and environments.

    If rules do not compile, no games are played. If games have faults, no environment is created.
    """
    yield from (
        list(_check_compilation(game))
        or list(_check_random_games(game, GAMES if games is None else games, seed))
        or list(_check_environment(game, seed))
    )


def _check_compilation(game: Game) -> Iterator[Fault]:
    """Yield the faults of the types of the rules, each compiled by itself."""
    start = game.initial
    expected = types.NamedUniTuple(types.uint64, len(start), type(start))
    legal = np.zeros(game.num_actions + _MARGIN, np.int32)
    # The call of `legal_actions` finds the action of the later calls.
    calls: dict[str, Callable[[], tuple[Any, ...]]] = {
        "legal_actions": lambda: (start, legal),
        "outcome": lambda: (start,),
        "apply": lambda: (start, int(legal[0])),
        "observe": lambda: (start, 0, _guarded_planes(game)[1]),
        "mid_turn": lambda: (start,),
        "key": lambda: (start,),
    }
    for name, make_arguments in calls.items():
        arguments = make_arguments()
        try:
            rule = getattr(rules, name).function_for(list(map(type, arguments)))
            rule(*arguments)
        except (BadGame, errors.NumbaError, TypeError) as error:
            summary = summarize_error(error.__cause__ or error)
            yield Fault(game.to_text(start), "", f"{name} cannot be compiled: {summary}; {_WORDS}")
            continue
        for signature in getattr(rule, "nopython_signatures", ()) if name == "apply" else ():
            if signature.return_type != expected:
                yield Fault(
                    game.to_text(start), "", f"apply returns {_wrong_fields(game, signature)}"
                )


def _wrong_fields(game: Game, signature: types.Type) -> str:
    """Describe the fields of a returned position that are not uint64."""
    field_types = tuple(getattr(signature.return_type, "types", ()))
    pairs = zip(game.initial._fields, field_types, strict=False)
    wrong = ", ".join(f"{name} as {kind}" for name, kind in pairs if kind != types.uint64)
    return f"{wrong or signature.return_type}; expected: all fields uint64, by np.uint64(…)"


def _check_random_games(game: Game, num_games: int, seed: int) -> Iterator[Fault]:
    """Yield the first fault of each property along random games.

    The check ends after a fault of a prerequisite. It also ends after a game of more than
    MAX_DECISIONS decisions, which is a fault unless the rules end games by repetition.
    """
    rng, faultless_properties = np.random.default_rng(seed), _properties()
    for number in range(1, num_games + 1):
        for position, action, legal in _play_random_game(game, rng):
            for name, fault_text in _first_faults(game, position, legal, faultless_properties):
                del faultless_properties[name]
                yield Fault(_text(game, position), action, fault_text)
            if not faultless_properties.keys() >= _PREREQUISITES:
                return
        if len(legal) and not game.repetition_limit:
            expected = "expected: every random game to end by the rules"
            fault_text = f"random game {number} exceeds {MAX_DECISIONS:,} decisions; {expected}"
            yield Fault(_text(game, position), action, fault_text)
            return


def _play_random_game(
    game: Game, rng: np.random.Generator
) -> Iterator[tuple[Position, str, NDArray[np.int32]]]:
    """Yield the positions up to the end of a random game, or to MAX_DECISIONS decisions.

    With each position, yield the action that led to it and its legal actions, int32[count].
    """
    position, action = game.initial, ""
    for _ in range(MAX_DECISIONS + 1):
        legal = _list_actions(game, position)
        yield position, action, legal
        if not len(legal):
            break
        choice = int(rng.choice(legal))
        action = _action_text(game, position, choice)
        position = game.make_position(rules.apply(position, choice))


def _first_faults(
    game: Game, position: Position, legal: NDArray[np.int32], properties: Mapping[str, Property]
) -> list[tuple[str, str]]:
    """Return the first fault of each property in a position, with the property's name.

    The properties after a prerequisite with a fault are not checked.
    """
    faults = []
    for name, find_faults in properties.items():
        # The functions of an author may raise anything.
        try:
            fault_text = next(find_faults(game, position, legal), None)
        except Exception as error:
            fault_text = f"{name}: {type(error).__name__}: {error}"
        if fault_text:
            faults.append((name, fault_text))
            if name in _PREREQUISITES:
                break
    return faults


def _list_actions(game: Game, position: Position) -> NDArray[np.int32]:
    """Return the unchecked output of `legal_actions`, int32[count]; empty after the end."""
    out = np.full(game.num_actions + _MARGIN, -_UNWRITTEN, np.int32)
    if rules.outcome(position) != ONGOING:
        return out[:0]
    return out[: max(0, int(rules.legal_actions(position, out)))]


def _text(game: Game, position: Position) -> str:
    # The position may be impossible.
    try:
        return game.to_text(position)
    except Exception:
        return str(tuple(map(int, position)))


def _action_text(game: Game, position: Position, action: int) -> str:
    # The notation may lack the action.
    try:
        return game.action_text(position, action)
    except Exception:
        return str(action)


def _properties() -> dict[str, Property]:
    """Return the properties of every position by name, prerequisites first."""
    return {
        "legal actions": _legal_action_faults,
        "turn": _turn_faults,
        "outcome": _outcome_faults,
        "sets": _set_faults,
        "observation": _observation_faults,
        "text": _text_faults,
        "notation": _notation_faults,
        "cells": _cell_faults,
        "symmetries": _symmetry_faults,
        "key": partial(_key_faults, {}),
    }


def _legal_action_faults(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield the faults of the list of legal actions, int32[count]."""
    if ((legal < 0) | (legal >= game.num_actions)).any():
        yield f"legal actions {legal.tolist()}; expected: ids from 0 to {game.num_actions - 1}"
    elif (np.diff(legal) <= 0).any():
        yield f"legal actions {legal.tolist()}; expected: ascending, each id once"


def _outcome_faults(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield the faults of the outcome of a position with these legal actions, int32[count]."""
    outcome = game.outcome(position)
    if outcome not in (0, 1, DRAW, ONGOING):
        yield f"outcome {outcome}; expected: the winner (0 or 1), DRAW or ONGOING"
    elif outcome == ONGOING and not len(legal):
        yield "the outcome is ONGOING, but no action is legal; expected: an end"
    elif outcome != ONGOING and not game.ending(position):
        yield "the ending is ''; expected: a word such as won"


def _set_faults(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield the faults of the sets `own` and `enemy`, if the position has them."""
    if not {"own", "enemy"} <= set(position._fields):
        return
    own, enemy = int(position.own), int(position.enemy)
    cells = set(game.grid.bits.values())
    both = [bit for bit in range(64) if own & enemy & 1 << bit]
    if both:
        yield f"own and enemy both have bits {both}; expected: at most one piece on a cell"
    outside = [bit for bit in range(64) if (own | enemy) >> bit & 1 and bit not in cells]
    if outside:
        yield f"pieces on bits {outside}; expected: bits of cells on the board"


def _turn_faults(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield the faults of `to_move`, and of turns left unfinished by `legal`, int32[count]."""
    player = game.to_move(position)
    if player not in (0, 1):
        yield f"player {player} is to move; expected: 0 or 1"
    for action in map(int, legal):
        after = game.make_position(rules.apply(position, action))
        if game.mid_turn(after) and (game.to_move(after), game.outcome(after)) != (player, ONGOING):
            text = _action_text(game, position, action)
            expected = "expected: the same player to move, and no end"
            yield f"after {text} the turn is unfinished (mid_turn); {expected}"


def _guarded_planes(game: Game) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return an array whose margins show writes out of bounds, and its planes, int8[C, H, W]."""
    array = np.full(int(np.prod(game.observation_shape)) + 2 * _MARGIN, _UNWRITTEN, np.int8)
    return array, array[_MARGIN:-_MARGIN].reshape(game.observation_shape)


def _observation_faults(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield the faults of the observations of both players."""
    for player in (0, 1):
        array, planes = _guarded_planes(game)
        rules.observe(position, player, planes)
        if (array[:_MARGIN] != _UNWRITTEN).any() or (array[-_MARGIN:] != _UNWRITTEN).any():
            yield f"observe writes outside of planes, int8{list(planes.shape)}, for player {player}"
        for plane in range(len(planes)):
            values = set(np.unique(planes[plane]).tolist())
            if _UNWRITTEN in values:
                yield f"observe does not write all cells of plane {plane}; expected: 0 or 1"
            elif values - {0, 1}:
                yield f"plane {plane} has the values {sorted(values)}; expected: 0 and 1"


def _text_faults(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield the faults of the text of a position, which must be parsed to the same position."""
    if game.outcome(position) != ONGOING:
        return
    text = game.to_text(position)
    parsed = game.from_text(text)
    if game.key(parsed) != game.key(position) or game.to_text(parsed) != text:
        yield f"'{text}' is read as '{game.to_text(parsed)}'; expected: the same position"


def _notation_faults(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield faults of both notations: turns with the same text, and texts parsed to another turn.

    About four of the texts are parsed. Within a turn, the readable text of its rest may be
    ambiguous.
    """
    faults = list(_turn_text_faults(game, position, game.turn_text))
    if not game.mid_turn(position):
        faults += _turn_text_faults(game, position, game.readable_turn_text)
    # By default, the readable notation is the notation.
    yield from dict.fromkeys(faults)


def _turn_text_faults(
    game: Game, position: Position, turn_text: Callable[[Position, Turn], str]
) -> Iterator[str]:
    """Yield the faults of one notation."""
    turns: dict[str, tuple[int, ...]] = {}
    for turn in islice(game.turns(position), _MAX_TURNS):
        text = turn_text(position, turn)
        if text in turns:
            yield f"actions {turns[text]} and {turn} are both written '{text}'; expected: two texts"
        turns[text] = turn
    for text in list(turns)[:: max(1, len(turns) // 4)]:
        parsed = turn_text(position, game.parse_turn(position, text))
        if parsed != text:
            yield f"the turn '{text}' is read as '{parsed}'; expected: the same turn"


def _cell_faults(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield the pieces, tracks and `action_cells` of `legal` (int32[count]) that are invalid."""
    board = set(game.grid.bits)
    if outside := set(game.pieces(position)) - board:
        yield f"pieces on {sorted(outside)}; expected: cells of the board"
    for action in map(int, legal):
        path, captured = game.track(position, (action,))
        if outside := {*path, *captured} - board:
            text = _action_text(game, position, action)
            yield f"the track of {text} leads to {sorted(outside)}; expected: cells of the board"
        # A game may override the method that derives the ends from the track.
        if (ends := game.track_ends(position, action)) != Game.track_ends(game, position, action):
            text = _action_text(game, position, action)
            yield f"track_ends of {text} is {tuple(ends)}; expected: the ends of its track"
    distinct_cells, counts = np.unique(game.action_cells[legal], axis=0, return_counts=True)
    if (counts > 1).any():
        cells = distinct_cells[counts.argmax()].tolist()
        yield f"two legal actions have the action_cells {cells}; expected: at most one"


def _symmetry_faults(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield the symmetries that do not preserve the rules; `legal` is int32[count]."""
    for symmetry in game.symmetries:
        image, name = symmetry.position(position), symmetry.name
        expected = sorted(symmetry.actions[legal].tolist())
        actions = _list_actions(game, image).tolist()
        if actions != expected:
            yield f"{name}: legal in the image are {actions}; expected: {expected}"
            return
        (_, planes), (_, image_planes) = _guarded_planes(game), _guarded_planes(game)
        rules.observe(position, game.to_move(position), planes)
        rules.observe(image, game.to_move(image), image_planes)
        mapped = planes.reshape(len(planes), -1)[:, symmetry.cells].reshape(planes.shape)
        if not np.array_equal(mapped, image_planes):
            yield f"{name}: the observation of the image is not the image of the observation"
        for action in map(int, legal):
            after = symmetry.position(game.make_position(rules.apply(position, action)))
            if game.make_position(rules.apply(image, int(symmetry.actions[action]))) != after:
                text = _action_text(game, position, action)
                expected_text = _text(game, after)
                yield f"{name}: {text} leads elsewhere in the image; expected: '{expected_text}'"


def _key_faults(
    by_key: dict[int, tuple[Position, list[int]]],
    game: Game,
    position: Position,
    legal: NDArray[np.int32],
) -> Iterator[str]:
    """Yield the faults of the key; add the position and its legal actions to `by_key` if new."""
    key = int(game.key(position))
    again = int(game.key(game.make_position(position)))
    if key != again:
        yield f"the key is {key}, then {again}; expected: the same for the same position"
    actions = legal.tolist()
    other, other_actions = by_key.setdefault(key, (position, actions))
    if other_actions != actions:
        yield f"the key equals that of '{_text(game, other)}', which has other legal actions"


def _check_environment(game: Game, seed: int) -> Iterator[Fault]:
    """Yield the first action mask of an environment that differs from the legal actions."""
    envs = BoardGameVectorEnv(game.name, 4, opponent=None, **game.options)
    try:
        masks = envs.reset(seed=seed)[1]["action_mask"]
        envs.action_space.seed(seed)
        terminated = np.zeros(envs.num_envs, np.bool_)
        for _ in range(100):
            # Masks of terminated boards are all ones.
            for board in np.flatnonzero(~terminated).tolist():
                position = envs.position(board)
                legal, masked = _list_actions(game, position), masks[board].nonzero()[0]
                if legal.tolist() != masked.tolist():
                    message = f"an environment allows {masked.tolist()}; expected: {legal.tolist()}"
                    yield Fault(_text(game, position), "", message)
                    return
            _, _, terminated, _, info = envs.step(envs.action_space.sample())
            masks = info["action_mask"]
    finally:
        envs.close()
