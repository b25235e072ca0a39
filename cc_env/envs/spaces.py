"""Observation spaces, and action spaces whose samples are legal actions.

Shapes: N boards, A actions; C planes, H rows and W columns of an observation.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cc_env.envs.arguments import as_seed
from cc_env.envs.boards import Boards
from cc_env.errors import BadOption, check_bool
from cc_env.jit.compiler import jit


def make_observation_space(boards: Boards) -> spaces.Box:
    """Return the observation space: int8[C, H, W], zeros and ones except for counters."""
    shape = boards.observation_shape
    bounds = np.broadcast_to(boards.plane_bounds[:, np.newaxis, np.newaxis], shape)
    return spaces.Box(np.zeros(shape, np.int8), bounds.copy(), shape, np.int8)


class MaskLayout:
    """The layout of observations that contain planes and a mask, for `MaskInObservation`."""

    def __init__(self, key: str, flat: bool) -> None:
        """Put the planes under `key`, as float32[C * H * W] if `flat`.

        Raises BadOption for a key that is no text or action_mask, and for a flag that is no bool.
        """
        if not isinstance(key, str) or key == "action_mask":
            raise BadOption(f"key={key!r}; expected: a name for the planes, other than action_mask")
        check_bool("flat", flat)
        self._key, self._flat = key, flat

    def space(self, planes: spaces.Box, num_actions: int) -> spaces.Dict:
        """Return the space of planes, from a space int8[C, H, W], and a mask int8[num_actions]."""
        if self._flat:
            low, high = planes.low.ravel(), planes.high.ravel()
            planes = spaces.Box(low.astype(np.float32), high.astype(np.float32))
        mask = spaces.Box(0, 1, (num_actions,), np.int8)
        return spaces.Dict({self._key: planes, "action_mask": mask})

    def combine(
        self, planes: NDArray[np.int8], mask: NDArray[np.int8]
    ) -> dict[str, NDArray[np.generic]]:
        """Return planes, int8[C, H, W], and a mask, int8[A], in a dict."""
        if self._flat:
            return {self._key: planes.ravel().astype(np.float32), "action_mask": mask}
        return {self._key: planes, "action_mask": mask}


class LegalActionSpace(spaces.Discrete):
    """`Discrete(n)` whose samples are legal in the current position.

    Copies and pickles of it are a plain `Discrete`; copies of its environment have a
    `LegalActionSpace` of their own.
    """

    def __init__(self, boards: Boards) -> None:
        """Create the action space of a batch of one board."""
        super().__init__(boards.game.num_actions)
        self._boards = boards
        self._just_seeded = False

    def seed(self, seed: int | None = None) -> int:
        """Seed the generator of the samples; return the seed.

        Environment checkers seed the space, sample, and reset afterwards. So the next sample is
        legal at the start of an episode and, if possible, in the current position. Raises BadOption
        if `seed` is not a seed.
        """
        self._just_seeded = True
        return int(super().seed(as_seed(seed)))

    def sample(
        self,
        mask: NDArray[np.int8] | None = None,
        probability: NDArray[np.int8] | None = None,
    ) -> np.int64:
        """Return a random legal action, or one that `mask` or `probability`, [A], allows.

        Before the first reset it is legal in an opening; after the end it is any action. `mask` and
        `probability` have the types and effects that Gymnasium's `Discrete.sample` documents.
        """
        if probability is not None:
            return super().sample(mask, probability)
        if self._np_random is None:
            # Not `self.seed`, which prepares the sample that environment checkers expect.
            super().seed()
        if mask is not None:
            legal = _ones(mask, int(self.n))
        elif self._just_seeded:
            legal = self._sampled_after_seed()
        else:
            legal = self._boards.masks[0].view(np.bool_).nonzero()[0]
        if legal is None or not len(legal):
            return super().sample(mask)
        action: np.int64 = legal[int(self._np_random.random() * len(legal))]
        return action

    def _sampled_after_seed(self) -> NDArray[np.int64]:
        """Return the actions from which the first sample after `seed` is taken."""
        self._just_seeded = False
        opening = self._boards.game.opening_mask()
        shared = (self._boards.masks[0] & opening).nonzero()[0]
        return (shared if len(shared) else opening.nonzero()[0])[::-1]

    def __repr__(self) -> str:
        return f"Discrete({self.n})"

    def __reduce__(self) -> tuple[type, tuple[int]]:
        return spaces.Discrete, (int(self.n),)


def _ones(mask: object, length: int) -> NDArray[np.int64] | None:
    """Return the indices of the ones of a mask; None unless it is int8[length], zeros and ones."""
    if type(mask) is not np.ndarray or mask.dtype != np.int8 or mask.shape != (length,):
        return None
    ones = mask.astype(np.bool_).nonzero()[0]
    return ones if mask.tobytes().count(1) == len(ones) else None


class HasMasks(Protocol):
    """Provides the masks of legal actions of N boards, with A actions."""

    @property
    def masks(self) -> NDArray[np.int8]:
        """The masks, int8[N, A]: 1 for each action that may be chosen."""


class LegalActionBatchSpace(spaces.MultiDiscrete):
    """`MultiDiscrete([n] * N)` whose samples are legal on each board.

    Copies and pickles of it are a plain `MultiDiscrete`; copies of its environment have a
    `LegalActionBatchSpace` of their own.
    """

    def __init__(self, boards: HasMasks) -> None:
        """Create the action space of all boards."""
        count, num_actions = boards.masks.shape
        super().__init__(np.full(count, num_actions, np.int64))
        self._boards = boards

    def seed(self, seed: int | None = None) -> int | tuple[int, ...]:
        """Seed the generator of the samples; return the seeds, or raise BadOption."""
        return super().seed(as_seed(seed))

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """Return int64[N]: a legal action for each board, any action if its game is over.

        Before the first reset, they are legal in some opening. `mask`, int8[N, A], or `probability`
        replaces the masks of legal actions.
        """
        masks = self._boards.masks
        if isinstance(mask, np.ndarray) and mask.shape == masks.shape and probability is None:
            masks = np.ascontiguousarray(mask, np.int8)
        elif mask is not None or probability is not None:
            return super().sample(mask, probability)
        actions = np.zeros(len(masks), np.int64)
        _sample_actions(masks, self.np_random.random(len(masks)), actions)
        return actions

    def __reduce__(self) -> tuple[type, tuple[NDArray[np.int64]]]:
        return spaces.MultiDiscrete, (self.nvec,)


class _DetachedSpace(NamedTuple):
    """The state of an action space, without its boards."""

    kind: type[LegalActionSpace | LegalActionBatchSpace]
    state: dict[str, object]


class CopyableEnv:
    """An environment with `_boards`; in its copies the action spaces use the copied boards."""

    @property
    def planes(self) -> tuple[str, ...]:
        """The names of the planes of an observation, C strings."""
        planes: tuple[str, ...] = self._boards.planes  # type: ignore[attr-defined]
        return planes

    def __getstate__(self) -> dict[str, object]:
        return {name: _detach(value) for name, value in vars(self).items()}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        for name, value in state.items():
            if isinstance(value, _DetachedSpace):
                space = value.kind(self._boards)  # type: ignore[attr-defined]
                vars(space).update(value.state)
                setattr(self, name, space)


def _detach(value: object) -> object:
    if not isinstance(value, LegalActionSpace | LegalActionBatchSpace):
        return value
    state = {name: attribute for name, attribute in vars(value).items() if name != "_boards"}
    return _DetachedSpace(type(value), state)


@jit
def _sample_actions(
    masks: NDArray[np.int8], draws: NDArray[np.float64], actions: NDArray[np.int64]
) -> None:
    """Write into actions[i] the column of the one in masks[i] that draws[i] (0..1) selects."""
    for row in range(len(masks)):
        mask = masks[row]
        remaining = np.int64(draws[row] * np.sum(mask))
        for action in range(len(mask)):
            if mask[action]:
                if remaining == 0:
                    actions[row] = action
                    break
                remaining -= 1
