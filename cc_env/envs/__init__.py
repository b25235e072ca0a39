"""The environments: a learner against an opponent, both players in turn, many boards at once."""

from typing import TYPE_CHECKING

from cc_env.registry.lazy import lazy_attributes

if TYPE_CHECKING:
    from cc_env.envs.aec import BoardGameAEC
    from cc_env.envs.sb3 import OpponentVecEnv
    from cc_env.envs.scoring import score
    from cc_env.envs.single import BoardGameEnv
    from cc_env.envs.vector import BoardGameVectorEnv

__all__ = ["BoardGameAEC", "BoardGameEnv", "BoardGameVectorEnv", "OpponentVecEnv", "score"]
__getattr__ = lazy_attributes(
    __name__,
    {
        "BoardGameAEC": "cc_env.envs.aec",
        "OpponentVecEnv": "cc_env.envs.sb3",
        "score": "cc_env.envs.scoring",
        "BoardGameEnv": "cc_env.envs.single",
        "BoardGameVectorEnv": "cc_env.envs.vector",
    },
)
