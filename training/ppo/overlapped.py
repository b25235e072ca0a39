"""MaskablePPO that collects rollouts and learns at the same time, in two threads.

One thread learns from a rollout while the other one collects the next. Each rollout therefore comes
from the network before the last update, and PPO's probability ratios are relative to that network.
The threads use different generators (acting torch's, learning NumPy's), so runs are reproducible.

Shapes: N boards; C planes, H rows and W columns of an observation.
"""

import copy
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from stable_baselines3.common.logger import Logger

from agents.evaluator import Evaluator
from agents.network import Network
from agents.weight_files import AnyArray, checked_array
from cc_env.errors import BadCheckpoint

# Arrays of a rollout; those of 0 and 1 are saved as int8.
BINARY_ARRAYS = "observations", "action_masks"
NUMBER_ARRAYS = "actions", "values", "log_probs", "advantages", "returns"
ROLLOUT_ARRAYS = *BINARY_ARRAYS, *NUMBER_ARRAYS
# Updates between log lines of MaskablePPO.
LOG_INTERVAL = 1 << 30

# Creates an instance of a MaskablePPO class for a network.
AlgorithmFactory = Callable[[type[MaskablePPO], Network], MaskablePPO]


class _RolloutCollector(MaskablePPO):
    """Collects rollouts without learning from them."""

    def train(self) -> None:
        """Do nothing."""


class OverlappedPPO:
    """A learner of a network, and a collector of rollouts that acts by an `Evaluator` of it."""

    def __init__(self, make_algorithm: AlgorithmFactory, network: Network) -> None:
        """Train this network in place."""
        self.collector = make_algorithm(_RolloutCollector, network)
        self.learner = make_algorithm(MaskablePPO, network)
        for algorithm in (self.collector, self.learner):
            algorithm.set_logger(Logger(None, []))
        self._has_rollout = False

    def update(self, evaluator: Evaluator) -> tuple[float, float]:
        """Collect a rollout and learn from the previous one; return the seconds of each.

        The collector acts by `evaluator`, a copy of the network's current weights.
        """
        self.collector.policy.evaluator = evaluator  # type: ignore[assignment]
        with ThreadPoolExecutor(1) as executor:
            learning = executor.submit(self._learn)
            start = time.perf_counter()
            count = self.collector.n_steps * self.collector.n_envs
            self.collector.learn(count, log_interval=LOG_INTERVAL, reset_num_timesteps=False)
            play_seconds = time.perf_counter() - start
            learn_seconds = learning.result()
        buffers = self.learner.rollout_buffer, self.collector.rollout_buffer
        self.collector.rollout_buffer, self.learner.rollout_buffer = buffers
        self._has_rollout = True
        return play_seconds, learn_seconds

    def _learn(self) -> float:
        """Learn from the rollout, if there is one; return the seconds."""
        start = time.perf_counter()
        if self._has_rollout:
            self.learner.train()
        return time.perf_counter() - start

    def metrics(self) -> dict[str, float]:
        """Return MaskablePPO's metrics of the last update; {} before the first."""
        logged = self.learner.logger.name_to_value
        return {name.removeprefix("train/"): float(value) for name, value in logged.items()}

    def state(self) -> dict[str, AnyArray]:
        """Return the next rollout to learn from, as arrays rollout.NAME; {} before the first.

        They have the shapes of the rollout buffer, [steps, boards, ...]; binary arrays are int8.
        """
        if not self._has_rollout:
            return {}
        buffer = self.learner.rollout_buffer
        rollout = {name: np.asarray(getattr(buffer, name)) for name in ROLLOUT_ARRAYS}
        rollout |= {name: rollout[name].astype(np.int8) for name in BINARY_ARRAYS}
        return {f"rollout.{name}": array for name, array in rollout.items()}

    def read_rollout(self, arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
        """Return the arrays of `state` by NAME, for `restore`.

        Raises BadCheckpoint if they are not a valid rollout.
        """
        # A reset replaces the arrays of a buffer; the copy shares none of them afterwards.
        empty_buffer = copy.copy(self._rollout_buffer)
        empty_buffer.reset()
        rollout = {}
        for name in ROLLOUT_ARRAYS:
            template = getattr(empty_buffer, name)
            dtype = np.int8 if name in BINARY_ARRAYS else template.dtype
            array = checked_array(arrays, f"rollout.{name}", template.shape, dtype)
            rollout[name] = array.astype(template.dtype)
        _check(rollout)
        return rollout

    def restore(
        self,
        rollout: Mapping[str, AnyArray],
        observations: NDArray[np.int8],
        episode_starts: NDArray[np.bool_],
    ) -> None:
        """Restore a rollout of `read_rollout`, and the state of N boards after it.

        The next rollout begins with `observations`, int8[N, C, H, W]; `episode_starts`, bool[N],
        are the boards without a decision so far.
        """
        buffer = self._rollout_buffer
        buffer.reset()
        for name, array in rollout.items():
            setattr(buffer, name, array)
        buffer.full = True
        self._has_rollout = True
        # Without these private attributes, the collector would reset the environment.
        self.collector._last_obs = observations
        self.collector._last_episode_starts = episode_starts

    @property
    def _rollout_buffer(self) -> MaskableRolloutBuffer:
        """The buffer of the next rollout to learn from."""
        return self.learner.rollout_buffer


def _check(rollout: Mapping[str, AnyArray]) -> None:
    """Raise BadCheckpoint if a rollout has invalid values."""
    for name, array in rollout.items():
        is_binary = np.isin(array, (0, 1)).all()
        if not np.isfinite(array).all() or (name in BINARY_ARRAYS and not is_binary):
            raise BadCheckpoint(f"rollout.{name} has invalid values")
    actions, masks = rollout["actions"], rollout["action_masks"]
    indices = np.clip(actions, 0, masks.shape[2] - 1).astype(np.int64)
    if not ((actions == indices) & (np.take_along_axis(masks, indices, 2) == 1)).all():
        raise BadCheckpoint("rollout.actions has illegal actions")
    if (rollout["log_probs"] > 0).any():
        raise BadCheckpoint("rollout.log_probs has numbers above 0")
    values = rollout["values"]
    if (np.abs(values) > 1).any():
        raise BadCheckpoint("rollout.values has numbers outside -1 to 1")
    if not np.array_equal(rollout["returns"], rollout["advantages"] + values):
        raise BadCheckpoint("rollout.returns differs from rollout.advantages + rollout.values")
