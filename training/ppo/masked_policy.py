"""`agents.network.Network` as a policy of MaskablePPO.

Shapes: B positions, A actions; C planes, H rows and W columns of an observation.
"""

from typing import Any

import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import Tensor

from agents.evaluator import Evaluator
from agents.network import Network
from training.selfplay.learner import training_outputs

# Logit of illegal actions.
ILLEGAL_LOGIT = -1e8


class Policy(MaskableActorCriticPolicy):
    """A MaskablePPO policy that wraps a `Network`.

    Rollouts use `evaluator`, a copy of the network for inference; set it before each rollout.
    Gradient steps use `training_dtype` of the device; parameters and optimizer state are float32.
    Rollouts may be in int8 and gradient steps in bfloat16, so the ratios of new to old
    probabilities deviate by rounding, by about 3 % on average.
    """

    evaluator: Evaluator

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

        `deterministic` is ignored: rollouts are sampled. Raises TrainingDiverged if a logit or a
        value is not finite.
        """
        logits, values = map(torch.from_numpy, self.evaluator(obs.cpu().numpy()))
        logits = _mask(logits, action_masks)
        sums = logits.softmax(1).cumsum(1, dtype=torch.float64)
        bounds = torch.rand(len(sums), 1, dtype=sums.dtype) * sums[:, -1:]
        actions = torch.searchsorted(sums, bounds, right=True)
        return actions[:, 0], values[:, None], logits.log_softmax(1).gather(1, actions)[:, 0]

    def predict_values(self, obs: Any) -> Tensor:
        """Return values float32[B, 1]."""
        return torch.from_numpy(self.evaluator(obs.cpu().numpy())[1])[:, None]

    def evaluate_actions(
        self, obs: Tensor, actions: Tensor, action_masks: Any = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return values float32[B, 1], log-probabilities and entropies float32[B]; actions [B]."""
        logits, values = training_outputs(self.network, obs)
        logs = _mask(logits, action_masks).log_softmax(1)
        entropy = -(logs.exp() * logs).sum(1)
        return values[:, None], logs.gather(1, actions[:, None])[:, 0], entropy


def _mask(logits: Tensor, legal: Any) -> Tensor:
    """Return logits float32[B, A] with ILLEGAL_LOGIT where `legal`, bool[B, A], is false."""
    return logits.where(torch.as_tensor(legal, device=logits.device).bool(), ILLEGAL_LOGIT)
