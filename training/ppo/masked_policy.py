"""`agents.network.Network` as a policy of MaskablePPO.

Shapes: B positions, A actions; C planes, H rows and W columns of an observation.
"""

from typing import Any

import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import Tensor
from torch.func import functional_call

from agents.network import Network, fast_dtype

# Logit of illegal actions.
ILLEGAL_LOGIT = -1e8


class Policy(MaskableActorCriticPolicy):
    """A MaskablePPO policy that wraps a `Network`.

    It computes in the fastest dtype of the device; parameters and optimizer are float32.
    """

    def __init__(self, *args: Any, network: Network, **kwargs: Any) -> None:
        """Use this network; `args` and `kwargs` are those of the base class."""
        # torch forbids module attributes before super().__init__, which calls `_build`.
        self._pending_network = [network]
        super().__init__(*args, **kwargs)

    def _build(self, lr_schedule: Any) -> None:
        self.network = self._pending_network.pop()
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr_schedule(1), eps=1e-5)

    def forward(
        self, obs: Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return sampled actions int64[B], values float32[B, 1], log-probabilities float32[B].

        `deterministic` is ignored: rollouts are sampled.
        """
        logits, values = self._evaluate(obs, action_masks)
        sums = logits.softmax(1).cumsum(1, dtype=torch.float64)
        bounds = torch.rand(len(sums), 1, dtype=sums.dtype, device=sums.device) * sums[:, -1:]
        actions = torch.searchsorted(sums, bounds, right=True)
        return actions[:, 0], values, logits.log_softmax(1).gather(1, actions)[:, 0]

    def evaluate_actions(
        self, obs: Tensor, actions: Tensor, action_masks: Any = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return values float32[B, 1], log-probabilities and entropies float32[B]; actions [B]."""
        logits, values = self._evaluate(obs, action_masks)
        logs = logits.log_softmax(1)
        entropy = -(logits.softmax(1) * logs).sum(1)
        return values, logs.gather(1, actions[:, None])[:, 0], entropy

    def predict_values(self, obs: Any) -> Tensor:
        """Return values float32[B, 1]."""
        return self._evaluate(obs, True)[1]

    def _evaluate(self, planes: Tensor, masks: Any) -> tuple[Tensor, Tensor]:
        """Return masked logits float32[B, A] and values float32[B, 1] of planes [B, C, H, W].

        `masks`, bool[B, A] or True for all actions, are the legal actions.
        """
        dtype = fast_dtype(planes.device)
        weights = {name: tensor.to(dtype) for name, tensor in self.network.named_parameters()}
        inputs = planes.to(dtype).contiguous(memory_format=torch.channels_last)
        logits, values = functional_call(self.network, weights, (inputs,))
        legal = torch.as_tensor(masks, device=logits.device).bool()
        return logits.where(legal, ILLEGAL_LOGIT), values[:, None]
