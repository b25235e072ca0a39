"""The heuristic players of the reference program: aggressive, enhanced, defensive and neutral.

All share the danger of a cell: how many enemy soldiers could take there by a step, sideways or by
a retreat, and how many enemy cannons could hit it; half as much again near the own halls. Where
several actions are as good, one is drawn. They look at nothing that comes after their turn.

Shapes: K actions among which a bot chooses.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard128 import Bitboard128, is_empty, lowest_cell, without_lowest
from cc_env.core.game import Game
from cc_env.games.cannon.evaluation import turned_ground
from cc_env.games.cannon.rules import (
    STRIDE,
    Ground,
    Position,
    gone,
    ground,
    loaded,
    near_enemies,
)
from cc_env.jit.compiler import jit

FIRST_TURNS = (  # on 8×8, of black and of white
    ("S 2 7 M 1 6", "S 4 7 M 5 6"),
    ("S 3 0 M 2 1", "S 5 0 M 6 1"),
)
QUIET = 8  # turns without a capture that an aggressive player plays in a row, before any other
BLANK = 20  # that a neutral one does
NEAR_HALLS = 7, 2  # the row from which, or up to which, it is near the halls of black, of white


class Candidates(NamedTuple):
    """What a player looks at: the K legal actions, all arrays being [K], and its soldiers."""

    actions: NDArray[np.int32]
    starts: NDArray[np.int64]  # cells of an observation; of bombs the same as the ends
    ends: NDArray[np.int64]
    is_bomb: NDArray[np.bool_]
    takes_soldier: NDArray[np.bool_]
    takes_hall: NDArray[np.bool_]
    danger: NDArray[np.float64]  # where a move ends; 0 of bombs, which go nowhere
    attacked: NDArray[np.int64]  # how often the own side could take or hit where it ends
    soldiers: dict[int, float]  # own ones by cell: their danger

    @property
    def is_blank(self) -> NDArray[np.bool_]:
        """Which actions take nothing, bool[K]."""
        return ~(self.takes_soldier | self.takes_hall)


def look(game: Game, position: Position) -> Candidates:
    """Return the legal actions of a position as the player to move sees them."""
    planes, (_, rows, columns) = game.observe(position), game.observation_shape
    own, _, enemies, enemy_halls = planes[:4].reshape(4, -1).astype(bool)
    actions = game.legal_actions(position)
    starts, ends = game.action_cells[actions].T
    cells = (STRIDE * np.arange(rows)[:, None] + np.arange(columns)).ravel()
    counts = np.zeros((2, 128), np.int64)
    count_attacks(position, counts)
    danger = counts[1][cells][::-1] * np.repeat(_weights(game, position, rows), columns)
    is_bomb = starts == ends
    return Candidates(
        actions=actions,
        starts=starts,
        ends=ends,
        is_bomb=is_bomb,
        takes_soldier=enemies[ends],
        takes_hall=enemy_halls[ends],
        danger=np.where(is_bomb, 0.0, danger[ends]),
        attacked=counts[0][cells][ends],
        soldiers={int(cell): float(danger[cell]) for cell in np.flatnonzero(own)},
    )


def _weights(game: Game, position: Position, rows: int) -> NDArray[np.float64]:
    """Return how much danger weighs on each row of the player to move."""
    player = game.to_move(position)
    first_near = NEAR_HALLS[0] if player == 0 else rows - 1 - NEAR_HALLS[1]
    return np.where(np.arange(rows) >= first_near, 1.5, 1.0)


@jit
def count_attacks(position: Position, counts: NDArray[np.int64]) -> None:
    """Add how often each side could take or hit each cell, int64[2, 128], each in its frame."""
    at = ground(position)
    _count(at, position.options, counts[0])
    _count(turned_ground(at, position), position.options, counts[1])


@jit
def _count(at: Ground, options: np.uint64, counts: NDArray[np.int64]) -> None:
    """Add how often each cell could be taken or hit by the soldiers of this side."""
    near = near_enemies(at, options)
    for way in range(5):
        _add(gone(at.soldiers, way, at.board), counts)
    for way in range(5, 8):
        _add(gone(gone(near, way, at.board), way, at.board), counts)
    for way in range(8):
        second = gone(loaded(at, way), way, at.board)
        _add(second, counts)
        _add(gone(second, way, at.board), counts)


@jit
def _add(cells: Bitboard128, counts: NDArray[np.int64]) -> None:
    while not is_empty(cells):
        counts[lowest_cell(cells)] += 1
        cells = without_lowest(cells)


class Bot:
    """What the four share: known first turns, halls before all else, and turns that take nothing.

    Each plays one game.
    """

    def __init__(self, game: Game) -> None:
        look(game, game.initial)  # compiles
        self._game, self._turns = game, 0
        self._blank = 0  # turns in a row that took nothing

    def __call__(self, position: Position, rng: np.random.Generator) -> int:
        """Return an action."""
        candidates = look(self._game, position)
        place = self._known(position, candidates)
        if place is None:
            best = np.flatnonzero(candidates.takes_hall)
            place = int(rng.choice(best if len(best) else self.among(candidates)))
        self._turns += 1
        self._blank = self._blank + 1 if candidates.is_blank[place] else 0
        return int(candidates.actions[place])

    def among(self, candidates: Candidates) -> NDArray[np.int64]:
        """Return the best actions if no hall can be taken: int64[≥ 1] of indices into the K."""
        raise NotImplementedError

    def _known(self, position: Position, candidates: Candidates) -> int | None:
        turns = FIRST_TURNS[self._game.to_move(position)]
        if self._game.observation_shape[1:] != (8, 8) or self._turns >= len(turns):
            return None
        texts = [self._game.action_text(position, int(action)) for action in candidates.actions]
        text = turns[self._turns]
        return texts.index(text) if text in texts else None


class Aggressive(Bot):
    """Takes the soldier that its army attacks most; else waits safely; else moves least in danger.

    To wait is a shot at nothing, or a move to where nobody attacks.
    """

    def among(self, candidates: Candidates) -> NDArray[np.int64]:
        """As `Bot.among`."""
        if candidates.takes_soldier.any():
            return _where(candidates.takes_soldier, -candidates.attacked)
        if self._blank < QUIET:
            for safe in self.waits(candidates):
                if safe.any():
                    return np.flatnonzero(safe)
        self._blank = 0
        return _where(candidates.is_blank & ~candidates.is_bomb, candidates.danger)

    def waits(self, candidates: Candidates) -> tuple[NDArray[np.bool_], ...]:
        """Return which actions are ways to wait, bool[K] for each way, the better ways first."""
        return (candidates.is_blank & (candidates.danger == 0),)


class Enhanced(Aggressive):
    """As aggressive, but of safe actions those come first that go forward."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._columns = game.observation_shape[2]

    def waits(self, candidates: Candidates) -> tuple[NDArray[np.bool_], ...]:
        """As `Aggressive.waits`."""
        (safe,) = super().waits(candidates)
        forward = candidates.ends // self._columns < candidates.starts // self._columns
        return safe & forward, safe


class Defensive(Bot):
    """Moves the soldier that is most in danger to a safe cell, one with an enemy if it can.

    Where it has none, it shoots, at an enemy if it can; else it takes one; else it goes where the
    danger is least.
    """

    def among(self, candidates: Candidates) -> NDArray[np.int64]:
        """As `Bot.among`."""
        most = max(candidates.soldiers.values())
        threatened = [cell for cell, danger in candidates.soldiers.items() if danger == most]
        moves = ~candidates.is_bomb & np.isin(candidates.starts, threatened)
        safe = moves & (candidates.danger == 0)
        takes, is_bomb = candidates.takes_soldier, candidates.is_bomb
        for wanted in (safe & takes, safe, is_bomb & takes, is_bomb, takes):
            if wanted.any():
                return np.flatnonzero(wanted)
        return _where(moves if moves.any() else ~candidates.is_bomb, candidates.danger)


class Neutral(Defensive):
    """As defensive, but after some turns that take nothing it plays the first legal action."""

    def among(self, candidates: Candidates) -> NDArray[np.int64]:
        """As `Bot.among`."""
        if self._blank < BLANK:
            return super().among(candidates)
        self._blank = 0
        return np.zeros(1, np.int64)


def _where(wanted: NDArray[np.bool_], cost: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return the places of those wanted that cost least; of all, where none is wanted."""
    wanted = wanted if wanted.any() else np.ones_like(wanted)
    least = cost[wanted].min()
    return np.flatnonzero(wanted & (cost == least))


BOTS: dict[str, Callable[[Game], Bot]] = {
    "aggressive": Aggressive,
    "enhanced": Enhanced,
    "defensive": Defensive,
    "neutral": Neutral,
}
