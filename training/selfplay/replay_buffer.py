"""The replay buffer: samples with positions and sparse targets of the best actions.

Shapes: N samples, B samples of a batch, A actions, M actions of a search, S symmetries including
the identity, F fields of a position; C planes, H rows and W columns of an observation.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.weight_files import AnyArray, checked_array
from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Int, Position
from cc_env.errors import BadCheckpoint, BadPosition
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw

# Each sample stores this number of actions with the greatest targets.
MAX_ACTIONS = 64
# Tolerance in checks of probabilities and values.
TOLERANCE = 1e-3


class Samples(NamedTuple):
    """Decisions, as positions, legal actions (padded with -1) and targets.

    `targets` are the actions' probabilities in the improved policy of a tree search or, in
    distillation, their expected results, 0 to 1. `values` are value targets for the player to move,
    -1 to 1.
    """

    positions: NDArray[np.uint64]  # [N, F]
    actions: NDArray[np.int16]  # [N, MAX_ACTIONS]
    targets: NDArray[np.float16]  # [N, MAX_ACTIONS]
    values: NDArray[np.float32]  # [N]


def zero_samples(game: Game, count: int) -> Samples:
    """Return samples whose values are all 0."""
    return Samples(
        np.zeros((count, len(game.initial)), np.uint64),
        np.zeros((count, MAX_ACTIONS), np.int16),
        np.zeros((count, MAX_ACTIONS), np.float16),
        np.zeros(count, np.float32),
    )


class Minibatch(NamedTuple):
    """The inputs and targets of a gradient step.

    `targets` are those of Samples for stored actions, 0 for illegal ones; the constructor of
    ReplayBuffer selects those of other legal actions. `values` are -1 to 1, for the player to move.
    """

    planes: NDArray[np.int8]  # [B, C, H, W]
    legal: NDArray[np.bool_]  # [B, A]
    targets: NDArray[np.float32]  # [B, A]
    values: NDArray[np.float32]  # [B]


class ReplayBuffer:
    """A ring buffer of the last `capacity` samples, which are augmented by random symmetries."""

    def __init__(self, game: Game, capacity: int, *, fill_missing: bool = False) -> None:
        """Create an empty buffer.

        Legal actions that a sample does not store have the target 0 in batches, so that
        probabilities add up to 1. With `fill_missing`, they have the sample's smallest target.
        """
        self.game, self.capacity, self.fill_missing = game, capacity, fill_missing
        # Total number of samples added.
        self.added = 0
        self.samples = zero_samples(game, capacity)
        identity = np.arange(game.num_actions, dtype=np.int32)
        cells = np.arange(np.prod(game.observation_shape[1:]))
        # Permutations by each symmetry: int32[S, A] of actions, int64[S, H * W] of cells.
        self._action_maps = np.array(
            [identity, *(symmetry.actions for symmetry in game.symmetries)]
        )
        self._cell_maps = np.array([cells, *(symmetry.cells for symmetry in game.symmetries)])

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, samples: Samples) -> None:
        """Add samples; if the buffer is full, they replace the oldest ones."""
        rows = (self.added + np.arange(len(samples.values))) % self.capacity
        for name, column in self.samples._asdict().items():
            column[rows] = getattr(samples, name)
        self.added += len(samples.values)

    def state(self) -> dict[str, AnyArray]:
        """Return views of the fields of `Samples`, as arrays replay.NAME."""
        columns = self.samples._asdict().items()
        return {f"replay.{name}": column[: len(self)] for name, column in columns}

    def load(self, arrays: Mapping[str, AnyArray], added: int) -> None:
        """Restore the arrays of `state` after `added` samples.

        Raises BadCheckpoint, and changes nothing, if they are not samples of this game, or if a
        sample's actions, targets and value do not belong together.
        """
        count = min(added, self.capacity)
        loaded = Samples(
            *(
                checked_array(arrays, f"replay.{name}", (count, *column.shape[1:]), column.dtype)
                for name, column in self.samples._asdict().items()
            )
        )
        _check_values(self.game, loaded)
        _check_relations(self.game, loaded, self.fill_missing)
        self.added = added
        for name, column in self.samples._asdict().items():
            column[:count] = getattr(loaded, name)

    def sample(self, rng: np.random.Generator, size: int, newest: int | None = None) -> Minibatch:
        """Return `size` samples from the `newest` ones, by default from all.

        Samples are drawn with replacement, each transformed by a random symmetry.
        """
        window = min(newest or self.capacity, len(self))
        rows = (self.added - 1 - rng.integers(window, size=size)) % self.capacity
        symmetries = rng.integers(len(self._action_maps), size=size)
        count = self.game.num_actions
        batch = Minibatch(
            np.zeros((size, *self.game.observation_shape), np.int8),
            np.zeros((size, count), np.bool_),
            np.zeros((size, count), np.float32),
            self.samples.values[rows],
        )
        positions, actions, targets, _ = self.samples
        _fill(
            self.game.initial,
            positions[rows],
            actions[rows],
            targets[rows].astype(np.float32),
            self._action_maps[symmetries],
            self.fill_missing,
            batch,
        )
        planes = batch.planes.reshape(size, batch.planes.shape[1], -1)
        planes[:] = np.take_along_axis(planes, self._cell_maps[symmetries][:, np.newaxis], 2)
        return batch


def _check_values(game: Game, samples: Samples) -> None:
    """Raise BadCheckpoint if samples are invalid in this game; compiled code has no checks."""
    ranges = {"actions": (-1, game.num_actions - 1), "targets": (0, 1), "values": (-1, 1)}
    for name, (low, high) in ranges.items():
        array = getattr(samples, name)
        if not ((array >= low - TOLERANCE) & (array <= high + TOLERANCE)).all():
            raise BadCheckpoint(f"replay.{name} has invalid values; expected: {low} to {high}")
    try:
        game.check_positions(samples.positions)
    except BadPosition as error:
        raise BadCheckpoint(f"replay.positions: {error}") from None


def _check_relations(game: Game, samples: Samples, are_results: bool) -> None:
    """Raise BadCheckpoint if the parts of a valid sample do not belong together.

    A sample has the legal actions of its position with the greatest targets. Targets are the
    probabilities of a policy or, with `are_results`, expected results; then the sample's value is
    that of the best action.
    """
    targets, best = samples.targets, samples.targets[:, 0].astype(np.float32)
    are_ordered = (np.diff(targets, axis=1) <= 0) & ((samples.actions >= 0) | (targets == 0))[:, 1:]
    are_valid = {
        "actions": _have_legal_actions(
            game.initial, samples.positions, samples.actions, game.num_actions
        ),
        "targets": are_ordered.all(1),
        "values": np.abs(2 * best - 1 - samples.values) <= TOLERANCE,
    }
    if not are_results:
        are_valid["targets"] &= np.abs(targets.sum(1, dtype=np.float32) - 1) <= TOLERANCE
        del are_valid["values"]
    for name, is_valid in are_valid.items():
        if not is_valid.all():
            row = int(is_valid.argmin())
            position = game.to_text(game.make_position(samples.positions[row]))
            raise BadCheckpoint(
                f"replay.{name} does not fit the position {position!r} in row {row}"
            )


@jit(nogil=True)
def _have_legal_actions(
    start: Position,
    positions: NDArray[np.uint64],
    actions: NDArray[np.int16],
    num_actions: Int,
) -> NDArray[np.bool_]:
    """Return which samples have an unfinished game and store its legal actions, bool[N].

    They store each legal action once, or MAX_ACTIONS of them if there are more; then -1.
    """
    positions, actions = as_raw(positions), as_raw(actions)
    are_valid = np.zeros(len(positions), np.bool_)
    legal = np.empty(num_actions, np.int32)
    # The last row in which an action was legal and not yet found, from 1.
    marks = np.zeros(num_actions, np.int64)
    for row in range(len(positions)):
        position = rules.load(positions[row], start)
        if rules.outcome(position) != ONGOING:
            continue
        count = rules.legal_actions(position, legal)
        for index in range(count):
            marks[legal[index]] = row + 1
        stored = min(count, actions.shape[1])
        is_valid = stored > 0
        for index in range(actions.shape[1]):
            action = actions[row, index]
            if index >= stored:
                is_valid &= action == -1
            elif action >= 0 and marks[action] == row + 1:
                marks[action] = 0
            else:
                is_valid = False
        are_valid[row] = is_valid
    return are_valid


@jit(nogil=True)
def _fill(
    start: Position,
    positions: NDArray[np.uint64],
    actions: NDArray[np.int16],
    targets: NDArray[np.float32],
    images: NDArray[np.int32],
    fill_missing: bool,
    batch: Minibatch,
) -> None:
    """Fill the batch; `images` int32[B, A] map the actions, but planes stay untransformed."""
    positions, actions, targets = as_raw(positions), as_raw(actions), as_raw(targets)
    images, batch = as_raw(images), as_raw(batch)
    legal = np.empty(batch.legal.shape[1], np.int32)
    for row in range(len(images)):
        position = rules.load(positions[row], start)
        rules.observe(position, rules.to_move(position), batch.planes[row])
        is_truncated = actions[row, -1] >= 0
        default = targets[row, -1] if fill_missing and is_truncated else np.float32(0)
        for index in range(rules.legal_actions(position, legal)):
            batch.legal[row, images[row, legal[index]]] = True
            batch.targets[row, images[row, legal[index]]] = default
        for index in range(actions.shape[1]):
            action = actions[row, index]
            if action < 0:
                break
            batch.targets[row, images[row, action]] = targets[row, index]


def top_actions(
    actions: NDArray[np.int32], targets: NDArray[np.float32], *, is_policy: bool = False
) -> tuple[NDArray[np.int16], NDArray[np.float16]]:
    """Return the actions with the greatest targets, and these targets, both [N, MAX_ACTIONS].

    Rows are padded with -1 and 0. Both arguments are [N, M], with -1 for no action. The targets of
    a policy, which are probabilities, are normalized.
    """
    targets = np.where(actions < 0, -1.0, targets)
    order = np.argsort(-targets, axis=1, kind="stable")[:, :MAX_ACTIONS]
    best = np.full((len(actions), MAX_ACTIONS), -1, np.int16)
    best[:, : order.shape[1]] = np.take_along_axis(actions, order, 1)
    best_targets = np.zeros((len(actions), MAX_ACTIONS), np.float32)
    best_targets[:, : order.shape[1]] = np.maximum(np.take_along_axis(targets, order, 1), 0.0)
    if is_policy:
        best_targets /= best_targets.sum(1, keepdims=True)
    return best, best_targets.astype(np.float16)
