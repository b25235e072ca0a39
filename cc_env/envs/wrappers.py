"""Wrappers for environments that Gymnasium makes of ours."""

from typing import Any

import numpy as np
from gymnasium import spaces, utils
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from cc_env.envs.spaces import LegalActionBatch
from cc_env.errors import BadOption


class LegalSamples(VectorWrapper, utils.RecordConstructorArgs):
    """`SyncVectorEnv` and `AsyncVectorEnv` of our environments, with samples that are legal.

    Gymnasium gives these an action space that knows nothing of the boards, so its samples are
    illegal for the most part. That of the wrapper goes by `info["action_mask"]`:

        envs = gymnasium.make_vec(name, num_envs=4, vectorization_mode="async")
        envs = LegalSamples(envs)

    Our own vector environment, the default of `make_vec`, needs none of this.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Wrap N environments; raise BadOption where the actions are not Discrete(A)."""
        utils.RecordConstructorArgs.__init__(self)
        VectorWrapper.__init__(self, env)
        single = env.single_action_space
        if not isinstance(single, spaces.Discrete):
            raise BadOption(f"the action space is {single}; wanted: that of a game, Discrete")
        self.masks = np.zeros((env.num_envs, int(single.n)), np.int8)  # as last seen
        self.action_space = LegalActionBatch(self)

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        """Begin episodes, as the environment does."""
        observations, infos = self.env.reset(**arguments)
        self._look(infos)
        return observations, infos

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play actions, int[N]."""
        *seen, infos = self.env.step(actions)
        self._look(infos)
        return (*seen, infos)

    def _look(self, infos: dict[str, Any]) -> None:
        told = infos["_action_mask"]  # on which boards something happened
        self.masks[told] = infos["action_mask"][told]
