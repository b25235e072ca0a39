"""The replay buffer: samples of play, as positions and targets for the most promising actions.

Shapes: N samples, B samples of a batch, A actions, M actions of a search, S symmetries with the
identity, F fields of a position; C planes, H rows and W columns of an observation.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.weight_files import expect
from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import BadCheckpoint, BadPosition
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw

WIDTH = 64  # actions kept of each sample, those with the greatest targets
ROUNDING = 1e-3  # tolerance when probabilities and values are checked


class Samples(NamedTuple):
    """Decisions."""

    positions: NDArray[np.uint64]  # [N, F]
    actions: NDArray[np.int16]  # [N, WIDTH]: legal ones, padded with -1
    targets: NDArray[np.float16]  # [N, WIDTH]: their probabilities in the improved policy of a tree
    # search; in distillation what they are worth, the result to expect, 0 to 1
    values: NDArray[np.float32]  # [N]: value target for the player to move, -1 to 1


class Minibatch(NamedTuple):
    """The input and targets of a gradient step."""

    planes: NDArray[np.int8]  # [B, C, H, W]
    legal: NDArray[np.bool_]  # [B, A]
    targets: NDArray[np.float32]  # [B, A]: as in Samples; of illegal actions 0, of legal ones that
    # are not kept 0 or the least that is kept, see Replay
    values: NDArray[np.float32]  # [B]


class Replay:
    """A ring buffer of the last `capacity` samples; draws transform them by random symmetries."""

    def __init__(self, game: Game, capacity: int, *, fills: bool = False) -> None:
        """Make an empty buffer.

        Legal actions that a sample does not keep have the target 0 in batches, so that
        probabilities add up to 1; or, if it `fills`, the least target that is kept.
        """
        self.game, self.capacity, self.fills = game, capacity, fills
        self.added = 0  # samples added so far
        self.samples = Samples(
            np.zeros((capacity, len(game.initial)), np.uint64),
            np.zeros((capacity, WIDTH), np.int16),
            np.zeros((capacity, WIDTH), np.float16),
            np.zeros(capacity, np.float32),
        )
        identity = np.arange(game.num_actions, dtype=np.int32)
        cells = np.arange(np.prod(game.observation_shape[1:]))
        self._actions = np.array([identity, *(symmetry.actions for symmetry in game.symmetries)])
        self._cells = np.array([cells, *(symmetry.cells for symmetry in game.symmetries)])

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, samples: Samples) -> None:
        """Add samples; when the buffer is full, they replace the oldest."""
        places = (self.added + np.arange(len(samples.values))) % self.capacity
        for name, kept in self.samples._asdict().items():
            kept[places] = getattr(samples, name)
        self.added += len(samples.values)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return views of the fields of `Samples`, as arrays replay.NAME."""
        kept = self.samples._asdict().items()
        return {f"replay.{name}": array[: len(self)] for name, array in kept}

    def load(self, arrays: Mapping[str, NDArray[Any]], added: int) -> None:
        """Restore what `state` returned after `added` samples.

        Raises BadCheckpoint, and changes nothing, if they are not samples of this game.
        """
        count = min(added, self.capacity)
        loaded = Samples(
            *(
                expect(arrays, f"replay.{name}", (count, *kept.shape[1:]), kept.dtype)
                for name, kept in self.samples._asdict().items()
            )
        )
        _check(self.game, loaded)
        self.added = added
        for name, kept in self.samples._asdict().items():
            kept[:count] = getattr(loaded, name)

    def draw(self, rng: np.random.Generator, size: int, newest: int | None = None) -> Minibatch:
        """Return a batch of `size` of the `newest` samples, or of all if that is None; B is `size`.

        Samples are drawn with replacement, each transformed by a random symmetry.
        """
        window = min(newest or self.capacity, len(self))
        chosen = (self.added - 1 - rng.integers(window, size=size)) % self.capacity
        symmetries = rng.integers(len(self._actions), size=size)
        count = self.game.num_actions
        batch = Minibatch(
            np.zeros((size, *self.game.observation_shape), np.int8),
            np.zeros((size, count), np.bool_),
            np.zeros((size, count), np.float32),
            self.samples.values[chosen],
        )
        positions, actions, targets, _ = self.samples
        _fill(
            self.game.initial,
            positions[chosen],
            actions[chosen],
            targets[chosen].astype(np.float32),
            self._actions[symmetries],
            self.fills,
            batch,
        )
        planes = batch.planes.reshape(size, batch.planes.shape[1], -1)
        planes[:] = np.take_along_axis(planes, self._cells[symmetries][:, np.newaxis], 2)
        return batch


def _check(game: Game, samples: Samples) -> None:
    """Raise BadCheckpoint if samples are invalid in this game: compiled code checks nothing."""
    ranges = {"actions": (-1, game.num_actions - 1), "targets": (0, 1), "values": (-1, 1)}
    for name, (low, high) in ranges.items():
        array = getattr(samples, name)
        if not ((array >= low - ROUNDING) & (array <= high + ROUNDING)).all():
            raise BadCheckpoint(f"replay.{name} has values that are not {low} to {high}")
    try:
        game.check_words(samples.positions)
    except BadPosition as error:
        raise BadCheckpoint(f"replay.positions: {error}") from None


@jit(nogil=True)
def _fill(
    start: Position,
    positions: NDArray[np.uint64],
    actions: NDArray[np.int16],
    targets: NDArray[np.float32],
    images: NDArray[np.int32],
    fills: bool,
    batch: Minibatch,
) -> None:
    """Fill the batch, planes untransformed; images int32[B, A] map the actions of each row."""
    positions, actions, targets = as_raw(positions), as_raw(actions), as_raw(targets)
    images, batch = as_raw(images), as_raw(batch)
    legal = np.empty(batch.legal.shape[1], np.int32)
    for row in range(len(images)):
        position = rules.load(positions[row], start)
        rules.observe(position, rules.to_move(position), batch.planes[row])
        least = targets[row, -1] if fills and actions[row, -1] >= 0 else np.float32(0)
        for index in range(rules.legal_actions(position, legal)):
            batch.legal[row, images[row, legal[index]]] = True
            batch.targets[row, images[row, legal[index]]] = least
        for place in range(actions.shape[1]):
            action = actions[row, place]
            if action < 0:
                break
            batch.targets[row, images[row, action]] = targets[row, place]


def sparse(
    actions: NDArray[np.int32], policy: NDArray[np.float32]
) -> tuple[NDArray[np.int16], NDArray[np.float16]]:
    """Return the most probable actions int16[N, WIDTH] and their probabilities float16[N, WIDTH].

    As `greatest`, and normalised.
    """
    short, kept = _greatest(actions, policy)
    return short, (kept / kept.sum(1, keepdims=True)).astype(np.float16)


def greatest(
    actions: NDArray[np.int32], targets: NDArray[np.float32]
) -> tuple[NDArray[np.int16], NDArray[np.float16]]:
    """Return the actions with the greatest targets int16[N, WIDTH], and these, float16[N, WIDTH].

    Rows are padded with -1 and 0. Both arguments are [N, M], with -1 for no action.
    """
    short, kept = _greatest(actions, targets)
    return short, kept.astype(np.float16)


def _greatest(
    actions: NDArray[np.int32], targets: NDArray[np.float32]
) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    targets = np.where(actions < 0, -1.0, targets)
    best = np.argsort(-targets, axis=1, kind="stable")[:, :WIDTH]
    short = np.full((len(actions), WIDTH), -1, np.int16)
    short[:, : best.shape[1]] = np.take_along_axis(actions, best, 1)
    kept = np.zeros((len(actions), WIDTH), np.float32)
    kept[:, : best.shape[1]] = np.maximum(np.take_along_axis(targets, best, 1), 0.0)
    return short, kept
