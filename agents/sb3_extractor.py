"""A features extractor of Stable-Baselines3 for small boards.

Shapes: B positions; C planes, H rows and W columns of an observation; F features.
"""

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from agents.network import ResidualTrunk
from agents.network_weights import Size
from cc_env.errors import BadOption, check_integer

MAX_FEATURES = 2**16


class ResidualExtractor(BaseFeaturesExtractor):
    """Residual convolutions over the whole board, as in `agents.network.Network`.

    SB3's own convolutions (NatureCNN) need images of at least 36×36 pixels. This class is
    `cc_env.ResidualExtractor`, which saved models refer to. It works with PPO, DQN and other
    algorithms of SB3 and sb3-contrib:

        policy_kwargs = dict(
            features_extractor_class=cc_env.ResidualExtractor,
            features_extractor_kwargs=dict(features_dim=128, blocks=2, channels=32),
            net_arch=[],
        )
        model = MaskablePPO("MlpPolicy", env, policy_kwargs=policy_kwargs)

    Examples:

        >>> import cc_env, gymnasium, torch
        >>> env = gymnasium.make("cc_env/CaptureConquer-v0")
        >>> extractor = cc_env.ResidualExtractor(env.observation_space, features_dim=128)
        >>> observation, info = env.reset(seed=0)
        >>> extractor(torch.from_numpy(observation[None]).float()).shape
        torch.Size([1, 128])
    """

    def __init__(
        self,
        observation_space: spaces.Box,
        features_dim: int = 256,
        *,
        blocks: int = 2,
        channels: int = 32,
        reach: int = 2,
    ) -> None:
        """Create an extractor of `features_dim` features.

        `blocks`, `channels` and `reach` are those of `agents.network.Size`. Raises BadOption for a
        space other than Box with the shape [C, H, W], and for numbers out of range.
        """
        is_box = isinstance(observation_space, spaces.Box)
        shape: tuple[int, ...] = observation_space.shape if is_box else ()
        if len(shape) != 3:
            expected = "a Box of planes, rows and columns"
            raise BadOption(f"observation_space={observation_space}; expected: {expected}")
        check_integer("features_dim", features_dim, 1, MAX_FEATURES)
        super().__init__(observation_space, features_dim)
        planes, rows, columns = shape
        self.trunk = ResidualTrunk(planes, Size(blocks=blocks, channels=channels, reach=reach))
        self.linear = nn.Linear(channels * rows * columns, features_dim)

    def forward(self, observations: Tensor) -> Tensor:
        """Return features float32[B, F] of observations float32[B, C, H, W]."""
        return torch.relu(self.linear(self.trunk.features(observations).flatten(1)))


# Models that were saved find the class in any installation, see `cc_env.registry.plugins`.
ResidualExtractor.__module__ = "cc_env"
