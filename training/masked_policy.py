"""The network of the learned players as MaskablePPO wants it."""

from typing import Any

import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import Tensor
from torch.func import functional_call

from agents.network import Network, fast_dtype

ILLEGAL = -1e8  # the logit of illegal actions


class Policy(MaskableActorCriticPolicy):
    """`agents.network.Network` as MaskablePPO wants it.

    It computes in the fastest numbers of the machine, and learns in float32.
    """

    def __init__(self, *args: Any, network: Network, **named: Any) -> None:
        """Learn with this network."""
        self._given = [network]  # not as a module, of which there can be none yet
        super().__init__(*args, **named)

    def _build(self, lr_schedule: Any) -> None:
        self.network = self._given.pop()
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr_schedule(1), eps=1e-5)

    def forward(
        self, obs: Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return drawn actions, values and log-probabilities."""
        logits, values = self._look(obs, action_masks)
        sums = logits.softmax(1).cumsum(1, dtype=torch.float64)
        bounds = torch.rand(len(sums), 1, dtype=sums.dtype, device=sums.device) * sums[:, -1:]
        actions = torch.searchsorted(sums, bounds, right=True)
        return actions[:, 0], values, logits.log_softmax(1).gather(1, actions)[:, 0]

    def evaluate_actions(
        self, obs: Tensor, actions: Tensor, action_masks: Any = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return values, log-probabilities of the actions, and entropies."""
        logits, values = self._look(obs, action_masks)
        logs = logits.log_softmax(1)
        entropy = -(logits.softmax(1) * logs).sum(1)
        return values, logs.gather(1, actions[:, None])[:, 0], entropy

    def predict_values(self, obs: Any) -> Tensor:
        """Return values."""
        return self._look(obs, True)[1]

    def _look(self, planes: Tensor, masks: Any) -> tuple[Tensor, Tensor]:
        """Return logits float32[N, num_actions], masked, and values float32[N, 1]."""
        dtype = fast_dtype(planes.device)
        weights = {name: each.to(dtype) for name, each in self.network.named_parameters()}
        ready = planes.to(dtype).contiguous(memory_format=torch.channels_last)
        logits, values = functional_call(self.network, weights, (ready,))
        legal = torch.as_tensor(masks, device=logits.device).bool()
        return logits.where(legal, ILLEGAL), values[:, None]
