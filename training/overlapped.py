"""MaskablePPO that plays and learns at the same time, in two threads.

While one thread learns from a rollout, the other plays the next one, so what is learned from was
played by the network of one update before; the ratios of PPO are to that network's probabilities.
The threads draw from different generators, torch's and NumPy's, so that they are no matter of luck.
"""

import copy
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from stable_baselines3.common.logger import Logger

from agents.arrays import expect
from agents.network import Network
from cc_env.errors import BadCheckpoint

LEARNED_FROM = (  # arrays of a rollout
    "observations",
    "actions",
    "values",
    "log_probs",
    "advantages",
    "returns",
    "action_masks",
)
NEVER = 1 << 30
SMALL = "observations", "action_masks"  # those that hold 0 and 1

Make = Callable[[type[MaskablePPO], Network], MaskablePPO]


class _Player(MaskablePPO):
    """Plays rollouts, and does not learn from them."""

    def train(self) -> None:
        """Do nothing."""


class PlayAndLearn:
    """A network that learns from rollouts, and a copy of it that plays them."""

    def __init__(self, make: Make, network: Network) -> None:
        """Begin with a network; `make` makes a MaskablePPO of a class for one."""
        self.player, self.learner = (
            make(_Player, copy.deepcopy(network)),
            make(MaskablePPO, network),
        )
        for each in (self.player, self.learner):
            each.set_logger(Logger(None, []))
        self._network, self._played = network, False  # whether there is a rollout to learn from

    def improve(self) -> tuple[float, float]:
        """Play a rollout, and learn from the one before; return the seconds that each took."""
        self.player.policy.load_state_dict(self.learner.policy.state_dict())
        with ThreadPoolExecutor(1) as other:
            learning = other.submit(self._learn)
            began = time.perf_counter()
            count = self.player.n_steps * self.player.n_envs
            self.player.learn(count, log_interval=NEVER, reset_num_timesteps=False)
            played = time.perf_counter() - began
            learned = learning.result()
        buffers = self.learner.rollout_buffer, self.player.rollout_buffer
        self.player.rollout_buffer, self.learner.rollout_buffer = buffers
        self._played = True
        return played, learned

    def _learn(self) -> float:
        began = time.perf_counter()
        if self._played:
            self.learner.train()
        return time.perf_counter() - began

    def numbers(self) -> dict[str, float]:
        """Return what MaskablePPO says of the last learning, by its names; nothing at first."""
        found = self.learner.logger.name_to_value
        return {name.removeprefix("train/"): float(value) for name, value in found.items()}

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the rollout that is to be learned from; nothing at first."""
        buffer = self.learner.rollout_buffer
        found = {name: np.asarray(getattr(buffer, name)) for name in LEARNED_FROM}
        found |= {name: found[name].astype(np.int8) for name in SMALL}
        return {f"rollout.{name}": each for name, each in found.items()} if self._played else {}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on with what `state` returned after a rollout was played.

        Raises BadCheckpoint, and changes nothing, where it is not such a rollout.
        """
        buffer: MaskableRolloutBuffer = self.learner.rollout_buffer
        buffer.reset()
        found = {}
        for name in LEARNED_FROM:
            like = getattr(buffer, name)
            kind = np.int8 if name in SMALL else like.dtype
            found[name] = expect(arrays, f"rollout.{name}", like.shape, kind).astype(like.dtype)
        _check(found)
        for name, each in found.items():
            setattr(buffer, name, each)
        buffer.full = self._played = True


def _check(rollout: Mapping[str, NDArray[Any]]) -> None:
    """Raise BadCheckpoint where a rollout cannot have been played."""
    for name, each in rollout.items():
        if not np.isfinite(each).all() or (name in SMALL and not np.isin(each, (0, 1)).all()):
            raise BadCheckpoint(f"rollout.{name} has numbers that cannot be")
    actions, masks = rollout["actions"], rollout["action_masks"]
    places = np.clip(actions, 0, masks.shape[2] - 1).astype(np.int64)
    if not ((actions == places) & (np.take_along_axis(masks, places, 2) == 1)).all():
        raise BadCheckpoint("rollout.actions has some that are not legal")
