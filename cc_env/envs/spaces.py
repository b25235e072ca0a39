"""Action spaces whose samples are legal, so that the loop of every tutorial plays a whole game."""

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cc_env.compile import jit


class LegalActions(spaces.Discrete):
    """`Discrete(n)` that by default samples among the actions that are legal at the moment.

    Copies and pickles are a plain `Discrete`: they do not follow the environment.
    """

    def __init__(self, mask: NDArray[np.int8], opening: Callable[[], NDArray[np.int8]]) -> None:
        """Make the space over `mask` (int8[n]), which the environment goes on writing.

        `opening` returns int8[n], the actions that are legal when an episode begins. Once after
        `seed` it is one of these: who checks an environment seeds the space, samples, and only then
        resets. Those that are legal at the moment, too, are preferred.
        """
        super().__init__(len(mask))
        self._now, self._opening = mask, opening
        self._just_seeded = False

    def seed(self, seed: int | None = None) -> int:
        """Seed the generator of the samples; return the seed."""
        self._just_seeded = True
        return int(super().seed(seed))

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """Return a legal action, or one that `mask` or `probability` allows, as Gymnasium does.

        When the game is over no action is legal, and any may be returned.
        """
        if mask is None and probability is None:
            if self._np_random is None:  # nobody has seeded it; that is no checker
                super().seed()
            legal = self._now.nonzero()[0]
            if self._just_seeded:
                self._just_seeded = False
                opening = self._opening()
                both = (self._now & opening).nonzero()[0]
                legal = (both if len(both) else opening.nonzero()[0])[::-1]
            if len(legal):
                return np.int64(legal[int(self.np_random.random() * len(legal))])
        return super().sample(mask, probability)

    def __repr__(self) -> str:
        return f"Discrete({self.n})"

    def __reduce__(self) -> tuple[type, tuple[int]]:
        return spaces.Discrete, (int(self.n),)


class LegalActionBatch(spaces.MultiDiscrete):
    """`MultiDiscrete([n] * N)` that by default samples a legal action for each board."""

    def __init__(self, masks: NDArray[np.int8]) -> None:
        """Make the space over `masks` (int8[N, n]), which the environment goes on writing."""
        super().__init__(np.full(len(masks), masks.shape[1], np.int64))
        self._now = masks

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """Return a legal action for each board, 0 for a board whose game is over."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        chosen = np.zeros(len(self._now), np.int64)
        _choose(self._now, self.np_random.random(len(self._now)), chosen)
        return chosen

    def __reduce__(self) -> tuple[type, tuple[NDArray[np.int64]]]:
        return spaces.MultiDiscrete, (self.nvec,)


@jit
def _choose(masks: NDArray[np.int8], draws: NDArray[np.float64], chosen: NDArray[np.int64]) -> None:
    """Write, where row i of `masks` has ones, the column of the one that draws[i] (0..1) picks."""
    for row in range(len(masks)):
        mask = masks[row]
        left = np.int64(draws[row] * np.sum(mask))
        for action in range(len(mask)):
            if mask[action]:
                if left == 0:
                    chosen[row] = action
                    break
                left -= 1
