"""Conformance of a game to `cc_env.core.rules` and `cc_env.core.game`, by seeded random games.

For authors: what does not hold is told with the position as text and the action. The rules are
called one by one, with room around what they write, so that a wrong one is told and not obeyed.

Shapes: A actions, C planes of an observation, H rows and W columns of the board.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import DRAW, ONGOING, Position
from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.errors import BadGame
from cc_env.jit.compiler import summarize_error

GAMES = 20  # random games that are played
LONGEST = 2000  # decisions; a game that goes on after them does not end
_TURNS = 200  # of a position, whose notation is read back
_ROOM = 4096  # elements around what rules write
_FIRST = {"legal actions", "turn"}  # what the other properties trust
_EMPTY = 99  # what is in that room, and in what they have not written
_WORDS = "words mixed with plain integers become floats, so wrap these in np.uint64"

Property = Callable[[Game, Position, NDArray[np.int32]], Iterator[str]]


class Fault(NamedTuple):
    """Something that does not hold: where, and what was expected."""

    position: str  # as text
    action: str  # what led there: its notation, or its id; empty at the start
    wrong: str  # what came, and what was wanted


def check(game: Game, *, games: int | None = None, seed: int = 0) -> Iterator[Fault]:
    """Yield the first fault of each property, along random games and in an environment.

    Rules that cannot be compiled are not played, and no environment is made of a game with faults.
    By default GAMES games are played.
    """
    faults = list(_compiled(game))
    if not faults:
        faults = list(_along(game, GAMES if games is None else games, seed))
    if not faults:
        faults = list(_environment(game, seed))
    yield from faults


def _compiled(game: Game) -> Iterator[Fault]:
    """Yield what is wrong with the types of the rules, each compiled by itself."""
    start = game.initial
    wanted = types.NamedUniTuple(types.uint64, len(start), type(start))
    legal = np.zeros(game.num_actions + _ROOM, np.int32)
    calls: dict[str, Callable[[], tuple[Any, ...]]] = {  # the first tells the others an action
        "legal_actions": lambda: (start, legal),
        "outcome": lambda: (start,),
        "apply": lambda: (start, int(legal[0])),
        "observe": lambda: (start, 0, _planes(game)[1]),
        "mid_turn": lambda: (start,),
        "key": lambda: (start,),
    }
    for name, arguments in calls.items():
        given = arguments()
        try:
            rule = getattr(rules, name).function_for(list(map(type, given)))
            rule(*given)
        except (BadGame, NumbaError, TypeError) as error:
            said = summarize_error(error.__cause__ or error)
            yield Fault(game.to_text(start), "", f"{name} cannot be compiled: {said}; {_WORDS}")
            continue
        for signature in getattr(rule, "nopython_signatures", ()) if name == "apply" else ():
            if signature.return_type != wanted:
                yield Fault(game.to_text(start), "", f"apply returns {_fields(game, signature)}")


def _fields(game: Game, signature: types.Type) -> str:
    """Return which fields are not unsigned words, of the position that a rule returns."""
    kinds = tuple(getattr(signature.return_type, "types", ()))
    named = zip(game.initial._fields, kinds, strict=False)
    wrong = ", ".join(f"{name} as {kind}" for name, kind in named if kind != types.uint64)
    return f"{wrong or signature.return_type}; wanted: all fields uint64, by np.uint64(…)"


def _along(game: Game, games: int, seed: int) -> Iterator[Fault]:
    """Yield the first fault of each property in the positions of random games."""
    rng, open_properties = np.random.default_rng(seed), dict(_properties())
    for number in range(games):
        position, action = game.initial, ""
        for _ in range(LONGEST):
            legal = _listed(game, position)
            for name, wrong in _first_faults(game, position, legal, open_properties):
                del open_properties[name]
                yield Fault(_text(game, position), action, wrong)
                if name in _FIRST:
                    return
            if not len(legal):
                break
            chosen = int(rng.choice(legal))
            action = _action_text(game, position, chosen)
            position = game.words(position, rules.apply(position, chosen))
        else:
            wanted = "wanted: an end, by the rules, of every random game"
            wrong = f"random game {number + 1} goes on after {LONGEST:,} decisions; {wanted}"
            if not game.repetition_limit:
                yield Fault(_text(game, position), action, wrong)
                return


def _first_faults(
    game: Game, position: Position, legal: NDArray[np.int32], still: dict[str, Property]
) -> list[tuple[str, str]]:
    """Return what is wrong here, by the names of properties; `legal` is int32[count]."""
    faults = []
    for name, of_position in still.items():
        try:
            wrong = next(of_position(game, position, legal), None)
        except Exception as error:  # whatever an author's own functions raise
            wrong = f"{name}: {type(error).__name__}: {error}"
        if wrong:
            faults.append((name, wrong))
            if name in _FIRST:
                break
    return faults


def _listed(game: Game, position: Position) -> NDArray[np.int32]:
    """Return what `legal_actions` writes and counts, int32[count]; it is not checked."""
    out = np.full(game.num_actions + _ROOM, -_EMPTY, np.int32)
    over = rules.outcome(position) != ONGOING
    return out[: 0 if over else max(0, int(rules.legal_actions(position, out)))]


def _are_ids(game: Game, legal: NDArray[np.int32]) -> bool:
    """Return whether these are action ids, int32[count]."""
    return bool(((legal >= 0) & (legal < game.num_actions)).all())


def _text(game: Game, position: Position) -> str:
    try:
        return game.to_text(position)
    except Exception:  # of a position that cannot be
        return str(tuple(map(int, position)))


def _action_text(game: Game, position: Position, action: int) -> str:
    try:
        return game.action_text(position, action)
    except Exception:  # of an action that the notation does not know
        return str(action)


def _properties() -> Iterator[tuple[str, Property]]:
    """Yield what has to hold in every position, by name; what the others trust first."""
    yield "legal actions", _legal_actions
    yield "turn", _turn
    yield "outcome", _outcome
    yield "sets", _sets
    yield "observation", _observation
    yield "text", _texts
    yield "notation", _notation
    yield "cells", _cells
    yield "symmetries", _symmetries
    seen: dict[int, tuple[Position, tuple[int, ...]]] = {}
    yield "key", lambda game, position, legal: _key(game, position, legal, seen)


def _legal_actions(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield what is wrong with the list of legal actions, int32[count]."""
    if not _are_ids(game, legal):
        yield f"legal actions {legal.tolist()}; wanted: ids from 0 to {game.num_actions - 1}"
    elif (np.diff(legal) <= 0).any():
        yield f"legal actions {legal.tolist()}; wanted: ascending, each id once"


def _outcome(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield what is wrong with the outcome; `legal` is int32[count]."""
    outcome = game.outcome(position)
    if outcome not in (0, 1, DRAW, ONGOING):
        yield f"outcome {outcome}; wanted: the player who has won (0 or 1), DRAW or ONGOING"
    elif outcome == ONGOING and not len(legal):
        yield "the outcome is ONGOING, but no action is legal; wanted: an end"
    elif outcome != ONGOING and not game.ending(position):
        yield "the ending is ''; wanted: a word such as won"


def _sets(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield what is wrong with the sets of cells, where the position has the usual fields."""
    if not {"own", "enemy"} <= set(position._fields):
        return
    own, enemy, cells = int(position.own), int(position.enemy), set(game.grid.bits.values())
    both = [bit for bit in range(64) if own & enemy & 1 << bit]
    if both:
        yield f"own and enemy both have bits {both}; wanted: a cell has one piece at most"
    outside = [bit for bit in range(64) if (own | enemy) >> bit & 1 and bit not in cells]
    if outside:
        yield f"pieces on bits {outside}; wanted: bits of cells on the board"


def _turn(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield what is wrong with who is to move, also after each of `legal`, int32[count]."""
    player = game.to_move(position)
    if player not in (0, 1):
        yield f"player {player} is to move; wanted: 0 or 1"
    for action in map(int, legal):
        after = game.words(position, rules.apply(position, action))
        if game.mid_turn(after) and (game.to_move(after), game.outcome(after)) != (player, ONGOING):
            text = _action_text(game, position, action)
            yield f"after {text} its turn goes on (mid_turn); wanted: the same player, no end"


def _planes(game: Game) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return an int8 array with room on both sides, and the planes in it, int8[C, H, W]."""
    room = np.full(int(np.prod(game.observation_shape)) + 2 * _ROOM, _EMPTY, np.int8)
    return room, room[_ROOM:-_ROOM].reshape(game.observation_shape)


def _observation(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield what is wrong with the planes that either player sees."""
    for player in (0, 1):
        room, planes = _planes(game)
        rules.observe(position, player, planes)
        if (room[:_ROOM] != _EMPTY).any() or (room[-_ROOM:] != _EMPTY).any():
            yield f"observe writes outside of planes, int8{list(planes.shape)}, for player {player}"
        for plane in range(len(planes)):
            values = set(np.unique(planes[plane]).tolist())
            if _EMPTY in values:
                yield f"observe leaves cells of plane {plane} as they were; wanted: 0 or 1 in all"
            elif values - {0, 1}:
                yield f"plane {plane} has the values {sorted(values)}; wanted: 0 and 1"


def _texts(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield where the text of the position is not read as it was written."""
    if game.outcome(position) != ONGOING:
        return
    text = game.to_text(position)
    back = game.from_text(text)
    if game.key(back) != game.key(position) or game.to_text(back) != text:
        yield f"'{text}' is read as '{game.to_text(back)}'; wanted: the same position"


def _notation(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield where two turns are written alike, or one is not read as it was written."""
    turns: dict[str, tuple[int, ...]] = {}
    for turn in islice(game.turns(position), _TURNS):
        text = game.turn_text(position, turn)
        if text in turns:
            yield f"actions {turns[text]} and {turn} are both written '{text}'; wanted: two texts"
        turns[text] = turn
    for text in list(turns)[:: max(1, len(turns) // 4)]:
        read = game.turn_text(position, game.parse_turn(position, text))
        if read != text:
            yield f"the turn '{text}' is read as '{read}'; wanted: the same turn"


def _cells(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield where pieces or tracks leave the board, or two of `legal`, int32[count], share one."""
    board = set(game.grid.bits)
    if outside := set(game.pieces(position)) - board:
        yield f"pieces on {sorted(outside)}; wanted: cells of the board"
    for action in map(int, legal):
        path, captured = game.track(position, (action,))
        if outside := {*path, *captured} - board:
            text = _action_text(game, position, action)
            yield f"the track of {text} leads to {sorted(outside)}; wanted: cells of the board"
    used, counts = np.unique(game.action_cells[legal], axis=0, return_counts=True)
    if (counts > 1).any():
        cells = used[counts.argmax()].tolist()
        yield f"two legal actions have the action_cells {cells}; wanted: one at most"


def _symmetries(game: Game, position: Position, legal: NDArray[np.int32]) -> Iterator[str]:
    """Yield where an image of the position has other rules; `legal` is int32[count]."""
    for symmetry in game.symmetries:
        image, name = symmetry.position(position), symmetry.name
        images, there = sorted(symmetry.actions[legal].tolist()), _listed(game, image).tolist()
        if images != there:
            yield f"{name}: legal in the image are {there}; wanted: {images}"
            return
        (_, planes), (_, seen) = _planes(game), _planes(game)
        rules.observe(position, game.to_move(position), planes)
        rules.observe(image, game.to_move(image), seen)
        turned = planes.reshape(len(planes), -1)[:, symmetry.cells].reshape(planes.shape)
        if not np.array_equal(turned, seen):
            yield f"{name}: the image is seen in another way than the planes' own image"
        for action in map(int, legal):
            after = symmetry.position(game.words(position, rules.apply(position, action)))
            if game.words(image, rules.apply(image, int(symmetry.actions[action]))) != after:
                text = _action_text(game, position, action)
                yield f"{name}: {text} leads elsewhere in the image; wanted: '{_text(game, after)}'"


def _key(
    game: Game,
    position: Position,
    legal: NDArray[np.int32],
    seen: dict[int, tuple[Position, tuple[int, ...]]],
) -> Iterator[str]:
    """Yield where keys tell positions apart wrongly; `seen` has `legal`, int32[count], by key."""
    key = int(game.key(position))
    again = int(game.key(game.words(position, tuple(map(int, position)))))
    if key != again:
        yield f"the key is {key}, then {again}; wanted: the same for the same position"
    moves = tuple(legal.tolist())
    other, known = seen.setdefault(key, (position, moves))
    if known != moves:
        yield f"the key is that of '{_text(game, other)}' too, where other actions are legal"


def _environment(game: Game, seed: int) -> Iterator[Fault]:
    """Yield where the masks of an environment are not the lists of legal actions."""
    envs = BoardGameVectorEnv(game.name, 4, opponent=None, **game.options)
    try:
        masks = envs.reset(seed=seed)[1]["action_mask"]
        envs.action_space.seed(seed)
        terminated = np.zeros(envs.num_envs, np.bool_)
        for _ in range(100):
            for board in np.flatnonzero(~terminated).tolist():  # the masks of the others are all 1
                position = envs.position(board)
                legal, allowed = _listed(game, position), masks[board].nonzero()[0]
                if legal.tolist() != allowed.tolist():
                    wrong = f"an environment allows {allowed.tolist()}; wanted: {legal.tolist()}"
                    yield Fault(_text(game, position), "", wrong)
                    return
            _, _, terminated, _, info = envs.step(envs.action_space.sample())
            masks = info["action_mask"]
    finally:
        envs.close()
