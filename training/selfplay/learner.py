"""Learning: gradient descent on samples, and the base of the algorithms that learn like this.

`NetworkTraining` fits a policy and value network to the samples of a replay buffer.
"""

import copy
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from agents.network import Network, fast_dtype, load, select_device
from agents.network_weights import Size
from agents.shipped_weights import resolve_weights
from cc_env.core.game import Game
from cc_env.errors import BadCheckpoint
from training.runs import checked, state
from training.runs.checkpoints import Checkpoint
from training.runs.state import MAX_ADAM_STEPS
from training.runs.training_run import Run, State
from training.selfplay.replay_buffer import Minibatch, ReplayBuffer
from training.selfplay.training import BEST, BaseConfig, BaseTraining

# Maps log-probabilities float[B, A], -inf for illegal actions, and targets float[B, A] to a scalar.
PolicyLoss = Callable[[Tensor, Tensor], Tensor]
# The larger it is, the longer the decay of the averaged weights stays below `ema_decay`.
_AVERAGE_WARMUP_STEPS = 10


@dataclass(frozen=True, kw_only=True)
class LearnerSettings:
    """The settings of learning."""

    # Samples per gradient step.
    batch_size: checked.BatchSize = 256
    # Cosine schedule.
    learning_rate: checked.Fraction = 2e-3
    last_learning_rate: checked.Fraction = 1e-4
    # Weight decay of AdamW.
    weight_decay: checked.Fraction = 1e-4
    # Decay of the moving average of the weights, which is the network that plays.
    ema_decay: checked.Fraction = 0.995
    # Weight of the value loss relative to the policy loss.
    value_weight: Annotated[float, checked.numbers(0, 100)] = 1.0

    def __post_init__(self) -> None:
        """Raise BadOption if a value is out of range."""
        checked.check_fields(self)


def initial_network(start: str | None, game: Game, size: Size) -> Network:
    """Return the network in a run folder or weights file, or a new one if `start` is None.

    If the network has fewer residual blocks than `size`, blocks are added that leave its outputs
    unchanged. Raises BadCheckpoint for a file of another kind or game, a damaged one, or a size
    that differs otherwise.
    """
    if start is None:
        return Network(game, size)
    path = resolve_weights(start)
    network, _ = load(path, game)
    if network.size == size:
        return network
    if network.size.blocks > size.blocks or replace(network.size, blocks=size.blocks) != size:
        raise BadCheckpoint(
            f"{path}: a network of {network.size}; expected: {size}, or fewer blocks"
        )
    # A new block is the identity (Chen, Goodfellow and Shlens, "Net2Net", 2016).
    deeper = Network(game, size)
    deeper.load_state_dict(network.state_dict(), strict=False)
    return deeper


def training_dtype(device: torch.device) -> torch.dtype:
    """Return the dtype in which gradient steps on the device are fastest.

    With AVX512-BF16 they take 0.7 of the time in bfloat16.
    """
    if device.type == "cpu" and torch.cpu.get_capabilities().get("avx512_bf16"):
        return torch.bfloat16
    return fast_dtype(device)


def training_outputs(network: Network, planes: Tensor) -> tuple[Tensor, Tensor]:
    """Return logits [B, A] and values [B] of planes [B, C, H, W], by `training_dtype`."""
    dtype = training_dtype(planes.device)
    planes = planes.float().contiguous(memory_format=torch.channels_last)
    with torch.autocast(planes.device.type, dtype, enabled=dtype != torch.float32):
        logits, values = network(planes)
    return logits, values


def cross_entropy(log_policy: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy of policies and target probabilities, both float[B, A]."""
    return -(targets * zero_illegal(log_policy)).sum(1).mean()


def zero_illegal(log_policy: Tensor) -> Tensor:
    """Return log-probabilities float[B, A] with 0 instead of -inf for illegal actions."""
    return log_policy.masked_fill(log_policy == -torch.inf, 0)


class Learner:
    """A network, the moving average of its weights, and the optimizer."""

    def __init__(
        self,
        network: Network,
        settings: LearnerSettings,
        device: torch.device,
        policy_loss: PolicyLoss = cross_entropy,
    ) -> None:
        """Train this network in place, on this device."""
        self.steps = 0
        self._policy_loss = policy_loss
        self._settings, self._device = settings, device
        self.average = copy.deepcopy(network).requires_grad_(False)
        self._network = network.to(device)
        self._network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._optimizer = torch.optim.AdamW(
            self._network.parameters(), settings.learning_rate, weight_decay=settings.weight_decay
        )

    def schedule_learning_rate(self, progress: float) -> None:
        """Set the learning rate of the cosine schedule at `progress`, 0 to 1."""
        first, last = self._settings.learning_rate, self._settings.last_learning_rate
        for group in self._optimizer.param_groups:
            group["lr"] = last + (first - last) * (1 + math.cos(math.pi * progress)) / 2

    def learn(self, batch: Minibatch) -> tuple[float, float]:
        """Take a gradient step; return the policy loss and the value loss (MSE)."""
        planes, legal, targets, values = (
            torch.from_numpy(array).to(self._device) for array in batch
        )
        logits, predicted = training_outputs(self._network, planes)
        log_policy = logits.masked_fill(~legal, -torch.inf).log_softmax(1)
        policy_loss = self._policy_loss(log_policy, targets)
        value_loss = (predicted - values).square().mean()
        self._optimizer.zero_grad()
        (policy_loss + self._settings.value_weight * value_loss).backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        self.steps += 1
        self._update_average()
        return policy_loss.item(), value_loss.item()

    def _update_average(self) -> None:
        """Move the averaged weights toward the current ones.

        The decay is at most steps / (steps + _AVERAGE_WARMUP_STEPS), so that early averages forget
        the initial weights.
        """
        early_decay = self.steps / (self.steps + _AVERAGE_WARMUP_STEPS)
        weight = 1 - min(self._settings.ema_decay, early_decay)
        with torch.no_grad():
            pairs = zip(self.average.parameters(), self._network.parameters(), strict=True)
            for average, current in pairs:
                average.lerp_(current.to(average.device), weight)

    @staticmethod
    def check_steps(steps: int, moments: Mapping[str, Tensor]) -> None:
        """Raise BadCheckpoint unless the saved state of the optimizer is that after `steps`.

        `moments` are as `training.runs.state.read` returns them, {} before the first step.
        """
        taken = int(moments.get("0.step", 0))
        if taken != min(steps, MAX_ADAM_STEPS):
            raise BadCheckpoint(f"steps={steps}; expected: {taken}, as in the optimizer")

    def parts(self) -> dict[str, nn.Module | Optimizer]:
        """Return networks and optimizer by name, for `training.runs.state`."""
        return {"network": self._network, "average": self.average, "optimizer": self._optimizer}


@dataclass(frozen=True, kw_only=True)
class NetworkConfig(BaseConfig):
    """The settings of algorithms with a replay buffer; steps are rounds."""

    # Maximum number of rounds; None: no limit.
    rounds: int | None = None
    network: Size = field(default_factory=Size)
    # Run folder or weights file of the initial network; None: random weights.
    start: str | None = None
    learn: LearnerSettings = field(default_factory=LearnerSettings)
    # Capacity of the replay buffer.
    replay: checked.Samples = 400_000
    # Mean number of gradient steps that use a sample.
    replay_ratio: Annotated[float, checked.numbers(0, 1000)] = 1

    def check(self, resume: bool) -> None:
        """Raise BadOption for an invalid player, BadCheckpoint for unsuitable initial weights."""
        super().check(resume)
        if not resume:
            initial_network(self.start, self.make_game(), self.network)


AnyNetworkConfig = TypeVar("AnyNetworkConfig", bound=NetworkConfig)


class NetworkTraining(BaseTraining[AnyNetworkConfig]):
    """A run that fits a network to samples; the moving average of its weights plays."""

    def __init__(
        self,
        config: AnyNetworkConfig,
        run: Run,
        policy_loss: PolicyLoss = cross_entropy,
        fill_missing: bool = False,
    ) -> None:
        """Create the network, the learner and the buffer.

        With `fill_missing`, legal actions that a sample does not store have the sample's smallest
        target instead of 0.
        """
        super().__init__(config, run)
        is_new = run.checkpoints.newest is None
        network = initial_network(config.start if is_new else None, self.game, config.network)
        device = select_device(config.device)
        self.learner = Learner(network, config.learn, device, policy_loss)
        self.replay = ReplayBuffer(self.game, config.replay, fill_missing=fill_missing)
        if is_new and config.start is not None:
            self.best = copy.deepcopy(self.learner.average)
            self.save_best(self.best, {})

    def fit(self, new_samples: float, newest: int | None = None) -> dict[str, float]:
        """Take the gradient steps of a round with `new_samples` samples; return the metrics.

        Batches come from the `newest` samples of the buffer, by default from all.
        """
        start = time.perf_counter()
        size = self.config.learn.batch_size
        rng = np.random.default_rng(self.run.seeds(1))
        self.learner.schedule_learning_rate(self.run.progress())
        losses = [
            self.learner.learn(self.replay.sample(rng, size, newest))
            for _ in range(max(1, round(self.config.replay_ratio * new_samples / size)))
        ]
        state.check_outputs(np.array(losses))
        state.check_finite(self.learner.average)
        policy, value = np.mean(losses, 0)
        elapsed = time.perf_counter() - start
        return {
            "policy_loss": float(policy),
            "value_loss": float(value),
            "learned_per_second": len(losses) * size / elapsed,
            "learn_seconds": elapsed,
        }

    def evaluate(self) -> dict[str, float]:
        """Evaluate the newest network and promote it if it is better; return the scores."""
        return self.promote_if_better(self.learner.average)

    def parts(self) -> Mapping[str, nn.Module | Optimizer]:
        """Return the networks and the optimizer by name."""
        best = {} if self.best is None else {BEST: self.best}
        return {**self.learner.parts(), **best}

    def state(self) -> State:
        """Return the content of a checkpoint."""
        arrays = state.to_arrays(**self.parts()) | self.replay.state()
        return arrays, {"steps": self.learner.steps, "added": self.replay.added}

    def load(self, checkpoint: Checkpoint) -> None:
        """Restore a checkpoint; raise BadCheckpoint if it does not fit this run."""
        arrays, about = checkpoint.arrays, checkpoint.about
        steps = state.read_integer(about, "steps")
        has_best = any(name.startswith(f"{BEST}.") for name in arrays)
        best = Network(self.game, self.config.network) if has_best else None
        parts = self.learner.parts() | ({} if best is None else {BEST: best})
        tensors = state.read(arrays, **parts)
        self.learner.check_steps(steps, tensors["optimizer"])
        self.replay.load(arrays, state.read_integer(about, "added"))
        state.assign(tensors, **parts)
        self.learner.steps, self.best = steps, best
