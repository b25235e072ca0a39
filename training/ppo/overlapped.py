"""MaskablePPO that collects rollouts and learns at the same time, in two threads.

One thread learns from a rollout while the other plays the next one. So each rollout was played by
the network before the last update; PPO's probability ratios are relative to that network. The
threads use different generators (playing torch's, learning NumPy's), so runs are reproducible.
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

from agents.network import Network
from agents.weight_files import expect
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
NEVER = 1 << 30  # updates between log lines
BINARY = "observations", "action_masks"  # arrays of 0 and 1, saved as int8

Make = Callable[[type[MaskablePPO], Network], MaskablePPO]


class _Player(MaskablePPO):
    """Collects rollouts without learning from them."""

    def train(self) -> None:
        """Do nothing."""


class PlayAndLearn:
    """A learner, and a player with a copy of its network that collects the rollouts."""

    def __init__(self, make: Make, network: Network) -> None:
        """Train this network; `make` returns an instance of a MaskablePPO class for a network."""
        self.player, self.learner = (
            make(_Player, copy.deepcopy(network)),
            make(MaskablePPO, network),
        )
        for algorithm in (self.player, self.learner):
            algorithm.set_logger(Logger(None, []))
        self._network, self._played = network, False  # whether the learner has a rollout

    def improve(self) -> tuple[float, float]:
        """Play a rollout and learn from the last one; return the seconds that each took."""
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
        """Return what MaskablePPO logged of the last update, by its names; empty at first."""
        logged = self.learner.logger.name_to_value
        return {name.removeprefix("train/"): float(value) for name, value in logged.items()}

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the rollout to learn from next, as arrays rollout.NAME; empty at first.

        They have the shapes of the rollout buffer, [steps, boards, ...], those of zeros and ones as
        int8.
        """
        buffer = self.learner.rollout_buffer
        rollout = {name: np.asarray(getattr(buffer, name)) for name in LEARNED_FROM}
        rollout |= {name: rollout[name].astype(np.int8) for name in BINARY}
        return {f"rollout.{name}": array for name, array in rollout.items()} if self._played else {}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `state` returned after a rollout was played.

        Raises BadCheckpoint, and changes nothing, if the arrays are not such a rollout.
        """
        buffer: MaskableRolloutBuffer = self.learner.rollout_buffer
        buffer.reset()
        rollout = {}
        for name in LEARNED_FROM:
            like = getattr(buffer, name)
            kind = np.int8 if name in BINARY else like.dtype
            rollout[name] = expect(arrays, f"rollout.{name}", like.shape, kind).astype(like.dtype)
        _check(rollout)
        for name, array in rollout.items():
            setattr(buffer, name, array)
        buffer.full = self._played = True


def _check(rollout: Mapping[str, NDArray[Any]]) -> None:
    """Raise BadCheckpoint if a rollout has impossible values."""
    for name, array in rollout.items():
        if not np.isfinite(array).all() or (name in BINARY and not np.isin(array, (0, 1)).all()):
            raise BadCheckpoint(f"rollout.{name} has impossible values")
    actions, masks = rollout["actions"], rollout["action_masks"]
    places = np.clip(actions, 0, masks.shape[2] - 1).astype(np.int64)
    if not ((actions == places) & (np.take_along_axis(masks, places, 2) == 1)).all():
        raise BadCheckpoint("rollout.actions has illegal actions")
