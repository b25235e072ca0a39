"""The replay buffer: what self-play brought, as positions and sparse policies."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.arrays import expect
from cc_env import rules
from cc_env.borrow import borrow
from cc_env.compile import jit
from cc_env.errors import BadCheckpoint, BadPosition
from cc_env.game import Game
from cc_env.rules import Position

WIDTH = 64  # actions of a policy that are kept: those most probable
ROUNDING = 1e-3  # by which a probability or a value may be out of its range


class Samples(NamedTuple):
    """Decisions of self-play, in the order in which their games ended."""

    positions: NDArray[np.uint64]  # [N, fields]
    actions: NDArray[np.int16]  # [N, WIDTH]: legal ones, the rest -1
    policy: NDArray[np.float16]  # [N, WIDTH]: their probabilities by the search
    values: NDArray[np.float32]  # [N]: what came of it for the player to move, -1 to 1


class Batch(NamedTuple):
    """What a network learns from."""

    planes: NDArray[np.int8]  # [N, C, H, W]
    legal: NDArray[np.bool_]  # [N, num_actions]
    policy: NDArray[np.float32]  # [N, num_actions]
    values: NDArray[np.float32]  # [N]


class Replay:
    """The last `capacity` samples, drawn with the game's symmetries."""

    def __init__(self, game: Game, capacity: int) -> None:
        """Make an empty one."""
        self.game, self.capacity = game, capacity
        self.added = 0  # samples so far
        self.samples = Samples(
            np.zeros((capacity, len(game.initial)), np.uint64),
            np.zeros((capacity, WIDTH), np.int16),
            np.zeros((capacity, WIDTH), np.float16),
            np.zeros(capacity, np.float32),
        )
        identity = np.arange(game.num_actions, dtype=np.int32)
        cells = np.arange(np.prod(game.observation_shape[1:]))
        self._actions = np.array([identity, *(each.actions for each in game.symmetries)])
        self._cells = np.array([cells, *(each.cells for each in game.symmetries)])

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, samples: Samples) -> None:
        """Take samples in; the oldest go where there is no room."""
        places = (self.added + np.arange(len(samples.values))) % self.capacity
        for name, kept in self.samples._asdict().items():
            kept[places] = getattr(samples, name)
        self.added += len(samples.values)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the samples that are kept, each array called replay.NAME, in their own memory."""
        kept = self.samples._asdict().items()
        return {f"replay.{name}": each[: len(self)] for name, each in kept}

    def load(self, arrays: Mapping[str, NDArray[Any]], added: int) -> None:
        """Go on with what `state` returned after so many samples.

        Raises BadCheckpoint, and changes nothing, where they are not samples of this game.
        """
        count = min(added, self.capacity)
        found = Samples(
            *(
                expect(arrays, f"replay.{name}", (count, *kept.shape[1:]), kept.dtype)
                for name, kept in self.samples._asdict().items()
            )
        )
        _check(self.game, found)
        self.added = added
        for name, kept in self.samples._asdict().items():
            kept[:count] = getattr(found, name)

    def draw(self, rng: np.random.Generator, size: int, newest: int | None = None) -> Batch:
        """Return `size` of the `newest` samples at random; None: of all that are kept.

        Each is turned over by one of the symmetries at random.
        """
        window = min(newest or self.capacity, len(self))
        chosen = (self.added - 1 - rng.integers(window, size=size)) % self.capacity
        turned = rng.integers(len(self._actions), size=size)
        count = self.game.num_actions
        batch = Batch(
            np.zeros((size, *self.game.observation_shape), np.int8),
            np.zeros((size, count), np.bool_),
            np.zeros((size, count), np.float32),
            self.samples.values[chosen],
        )
        positions, actions, policy, _ = self.samples
        _fill(
            self.game.initial,
            positions[chosen],
            actions[chosen],
            policy[chosen].astype(np.float32),
            self._actions[turned],
            batch,
        )
        planes = batch.planes.reshape(size, batch.planes.shape[1], -1)
        planes[:] = np.take_along_axis(planes, self._cells[turned][:, np.newaxis], 2)
        return batch


def _check(game: Game, samples: Samples) -> None:
    """Raise BadCheckpoint where they cannot be of the game: compiled code checks nothing."""
    ranges = {"actions": (-1, game.num_actions - 1), "policy": (0, 1), "values": (-1, 1)}
    for name, (low, high) in ranges.items():
        found = getattr(samples, name)
        if not ((found >= low - ROUNDING) & (found <= high + ROUNDING)).all():
            raise BadCheckpoint(f"replay.{name} has numbers that are not {low} to {high}")
    try:
        game.check_words(samples.positions)
    except BadPosition as error:
        raise BadCheckpoint(f"replay.positions: {error}") from None


@jit(nogil=True)
def _fill(
    start: Position,
    positions: NDArray[np.uint64],
    actions: NDArray[np.int16],
    policy: NDArray[np.float32],
    images: NDArray[np.int32],
    batch: Batch,
) -> None:
    """Write planes (not turned over), legal actions and policy; images[i] are of the actions."""
    positions, actions, policy = borrow(positions), borrow(actions), borrow(policy)
    images, batch = borrow(images), borrow(batch)
    legal = np.empty(batch.legal.shape[1], np.int32)
    for row in range(len(images)):
        position = rules.load(positions[row], start)
        rules.observe(position, rules.to_move(position), batch.planes[row])
        for index in range(rules.legal_actions(position, legal)):
            batch.legal[row, images[row, legal[index]]] = True
        for place in range(actions.shape[1]):
            action = actions[row, place]
            if action < 0:
                break
            batch.policy[row, images[row, action]] = policy[row, place]


def sparse(
    actions: NDArray[np.int32], policy: NDArray[np.float32]
) -> tuple[NDArray[np.int16], NDArray[np.float16]]:
    """Return the most probable actions of each row, then -1, with probabilities that add to 1.

    Both arguments are [N, M], actions ending in -1.
    """
    policy = np.where(actions < 0, -1.0, policy)
    best = np.argsort(-policy, axis=1, kind="stable")[:, :WIDTH]
    kept = np.maximum(np.take_along_axis(policy, best, 1), 0.0)
    kept /= kept.sum(1, keepdims=True)
    short = np.full((len(actions), WIDTH), -1, np.int16)
    short[:, : best.shape[1]] = np.take_along_axis(actions, best, 1)
    wide = np.zeros((len(actions), WIDTH), np.float16)
    wide[:, : best.shape[1]] = kept
    return short, wide
