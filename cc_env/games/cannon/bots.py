"""The heuristic players of the reference program: aggressive, enhanced, defensive and neutral.

All use the danger of a cell: the number of enemy soldiers that could capture there by a step,
sideways or by a retreat, and of enemy cannons that could bomb it; times 1.5 near the own halls.
Ties are broken at random. The players do not search: they score the actions of one turn.

Shapes: K legal actions.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard128 import Bitboard128, is_empty, lowest_cell, without_lowest
from cc_env.core.game import Game
from cc_env.games.cannon.evaluation import opponent_board
from cc_env.games.cannon.rules import (
    STRIDE,
    Board,
    Position,
    ahead,
    loaded_muzzles,
    make_board,
    soldiers_near_enemies,
)
from cc_env.jit.compiler import jit

# The first turns of black and of white on 8×8.
FIRST_TURNS = (
    ("S 2 7 M 1 6", "S 4 7 M 5 6"),
    ("S 3 0 M 2 1", "S 5 0 M 6 1"),
)
# Quiet turns in a row after which the aggressive and the neutral player act differently.
MAX_AGGRESSIVE_QUIET_TURNS = 8
MAX_NEUTRAL_QUIET_TURNS = 20
# Bits of a `Bitboard128`, one for each cell.
BITS = 128
# The first row near the halls of black, and the last row near the halls of white.
NEAR_HALLS = 7, 2


class Candidates(NamedTuple):
    """The legal actions of a position with the features that players use; all arrays are [K].

    `starts` and `ends` are cells of an observation, for bombs both the target. `danger` is that of
    the end cell, 0 for bombs; `attacks` is the number of own soldiers and cannons that attack the
    end cell. `soldiers` maps the cells of own soldiers to their danger.
    """

    actions: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    is_bomb: NDArray[np.bool_]
    takes_soldier: NDArray[np.bool_]
    takes_hall: NDArray[np.bool_]
    danger: NDArray[np.float64]
    attacks: NDArray[np.int64]
    soldiers: dict[int, float]

    @property
    def is_quiet(self) -> NDArray[np.bool_]:
        """The actions without a capture, bool[K]."""
        return ~(self.takes_soldier | self.takes_hall)


def describe_actions(game: Game, position: Position) -> Candidates:
    """Return the legal actions of a position with their features."""
    planes, (_, rows, columns) = game.observe(position), game.observation_shape
    own, _, enemies, enemy_halls = planes[:4].reshape(4, -1).astype(bool)
    actions = game.legal_actions(position)
    starts, ends = game.action_cells[actions].T
    cells = (STRIDE * np.arange(rows)[:, None] + np.arange(columns)).ravel()
    counts = np.zeros((2, BITS), np.int64)
    count_attacks(position, counts)
    # The enemy's frame is the board turned by 180 degrees.
    danger = counts[1][cells][::-1] * np.repeat(_danger_weights(game, position, rows), columns)
    is_bomb = starts == ends
    return Candidates(
        actions=actions,
        starts=starts,
        ends=ends,
        is_bomb=is_bomb,
        takes_soldier=enemies[ends],
        takes_hall=enemy_halls[ends],
        danger=np.where(is_bomb, 0.0, danger[ends]),
        attacks=counts[0][cells][ends],
        soldiers={int(cell): float(danger[cell]) for cell in np.flatnonzero(own)},
    )


def _danger_weights(game: Game, position: Position, rows: int) -> NDArray[np.float64]:
    """Return the weight of danger on each row, in the frame of the player to move."""
    player = game.to_move(position)
    first_near = NEAR_HALLS[0] if player == 0 else rows - 1 - NEAR_HALLS[1]
    return np.where(np.arange(rows) >= first_near, 1.5, 1.0)


@jit
def count_attacks(position: Position, counts: NDArray[np.int64]) -> None:
    """Count the attacks of each side on each cell (int64[2, BITS]), each side in its own frame."""
    board = make_board(position)
    _count_side(board, position.options, counts[0])
    _count_side(opponent_board(board, position), position.options, counts[1])


@jit
def _count_side(board: Board, options: np.uint64, counts: NDArray[np.int64]) -> None:
    """Add one side's attacks on each cell to `counts` (int64[BITS])."""
    near = soldiers_near_enemies(board, options)
    for direction in range(5):
        _add(ahead(board.soldiers, direction, board.cells), counts)
    for direction in range(5, 8):
        _add(ahead(ahead(near, direction, board.cells), direction, board.cells), counts)
    for direction in range(8):
        second = ahead(loaded_muzzles(board, direction), direction, board.cells)
        _add(second, counts)
        _add(ahead(second, direction, board.cells), counts)


@jit
def _add(cells: Bitboard128, counts: NDArray[np.int64]) -> None:
    while not is_empty(cells):
        counts[lowest_cell(cells)] += 1
        cells = without_lowest(cells)


class Bot:
    """A heuristic player of one game: it plays fixed first turns and captures halls if it can."""

    def __init__(self, game: Game) -> None:
        # Compiles the rules before the first turn.
        describe_actions(game, game.initial)
        self._game, self._turns = game, 0
        # Turns since the last capture, or since the last turn that ended such a run.
        self._quiet_turns = 0

    def __call__(self, position: Position, rng: np.random.Generator) -> int:
        """Return a legal action."""
        candidates = describe_actions(self._game, position)
        index = self._opening_action(position, candidates)
        if index is None:
            index = int(rng.choice(self._best_actions(candidates)))
        self._turns += 1
        self._quiet_turns = self._quiet_turns + 1 if candidates.is_quiet[index] else 0
        return int(candidates.actions[index])

    def _best_actions(self, candidates: Candidates) -> NDArray[np.int64]:
        """Return the indices of the best actions, int64[≥ 1]; reset a quiet run that they end."""
        if candidates.takes_hall.any():
            return np.flatnonzero(candidates.takes_hall)
        preferred = self.preferred_actions(candidates, self._quiet_turns)
        if preferred is None:
            self._quiet_turns = 0
            return self.actions_after_waiting(candidates)
        return preferred

    def preferred_actions(
        self, candidates: Candidates, quiet_turns: int
    ) -> NDArray[np.int64] | None:
        """Return the indices of the best actions if no hall can be captured, int64[≥ 1].

        None if the run of `quiet_turns` is so long that `actions_after_waiting` are to end it.
        """
        raise NotImplementedError

    def actions_after_waiting(self, candidates: Candidates) -> NDArray[np.int64]:
        """Return the indices of the actions that end a run of quiet turns, int64[≥ 1]."""
        raise NotImplementedError

    def _opening_action(self, position: Position, candidates: Candidates) -> int | None:
        turns = FIRST_TURNS[self._game.to_move(position)]
        if self._game.observation_shape[1:] != (8, 8) or self._turns >= len(turns):
            return None
        texts = [self._game.action_text(position, int(action)) for action in candidates.actions]
        text = turns[self._turns]
        return texts.index(text) if text in texts else None


class Aggressive(Bot):
    """Captures the soldier that it attacks most often; else waits; else moves to the safest cell.

    Waiting is a bomb on an empty cell or a move to a cell without danger.
    """

    def preferred_actions(
        self, candidates: Candidates, quiet_turns: int
    ) -> NDArray[np.int64] | None:
        """Return the indices of captures, else of waiting actions, else None."""
        if candidates.takes_soldier.any():
            return _cheapest(candidates.takes_soldier, -candidates.attacks)
        if quiet_turns < MAX_AGGRESSIVE_QUIET_TURNS:
            for actions in self.waiting_actions(candidates):
                if actions.any():
                    return np.flatnonzero(actions)
        return None

    def actions_after_waiting(self, candidates: Candidates) -> NDArray[np.int64]:
        """Return the indices of the safest quiet moves, int64[≥ 1]."""
        return _cheapest(candidates.is_quiet & ~candidates.is_bomb, candidates.danger)

    def waiting_actions(self, candidates: Candidates) -> tuple[NDArray[np.bool_], ...]:
        """Return sets of waiting actions (bool[K]), the preferred set first."""
        return (candidates.is_quiet & (candidates.danger == 0),)


class Enhanced(Aggressive):
    """An aggressive player that prefers forward moves when it waits."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._columns = game.observation_shape[2]

    def waiting_actions(self, candidates: Candidates) -> tuple[NDArray[np.bool_], ...]:
        """Return sets of waiting actions (bool[K]), forward moves first."""
        (safe,) = super().waiting_actions(candidates)
        forward = candidates.ends // self._columns < candidates.starts // self._columns
        return safe & forward, safe


class Defensive(Bot):
    """Moves the soldier in most danger to a cell without danger, by a capture if it can.

    Otherwise it bombs, an enemy if it can; else it captures; else it moves to the cell with the
    least danger.
    """

    def preferred_actions(
        self, candidates: Candidates, quiet_turns: int
    ) -> NDArray[np.int64] | None:
        """Return the indices of the best actions if no hall can be captured, int64[≥ 1]."""
        greatest = max(candidates.soldiers.values())
        threatened = [cell for cell, danger in candidates.soldiers.items() if danger == greatest]
        moves = ~candidates.is_bomb & np.isin(candidates.starts, threatened)
        safe = moves & (candidates.danger == 0)
        takes, is_bomb = candidates.takes_soldier, candidates.is_bomb
        for preferred in (safe & takes, safe, is_bomb & takes, is_bomb, takes):
            if preferred.any():
                return np.flatnonzero(preferred)
        return _cheapest(moves if moves.any() else ~candidates.is_bomb, candidates.danger)


class Neutral(Defensive):
    """A defensive player that plays the first legal action after a run of quiet turns."""

    def preferred_actions(
        self, candidates: Candidates, quiet_turns: int
    ) -> NDArray[np.int64] | None:
        """Return the indices of a defensive player's actions; None after a run of quiet turns."""
        if quiet_turns < MAX_NEUTRAL_QUIET_TURNS:
            return super().preferred_actions(candidates, quiet_turns)
        return None

    def actions_after_waiting(self, candidates: Candidates) -> NDArray[np.int64]:
        """Return the index of the first action."""
        return np.zeros(1, np.int64)


def _cheapest(mask: NDArray[np.bool_], cost: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return the indices of the least cost within a mask, or overall if the mask is empty."""
    mask = mask if mask.any() else np.ones_like(mask)
    return np.flatnonzero(mask & (cost == cost[mask].min()))


BOTS: dict[str, Callable[[Game], Bot]] = {
    "aggressive": Aggressive,
    "enhanced": Enhanced,
    "defensive": Defensive,
    "neutral": Neutral,
}
