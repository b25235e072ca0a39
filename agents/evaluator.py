"""Inference with NumPy arrays: by compiled code on the CPU, by torch on a GPU.

Shapes: B positions, A actions; C planes, H rows and W columns of an observation.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from agents.inference import CompiledNetwork, all_finite
from agents.network_weights import NetworkWeights, load_weights
from cc_env.core.game import Game
from cc_env.errors import BadCheckpoint, TrainingDiverged
from cc_env.files import file_hash
from cc_env.search.puct import Evaluate


class TrainableNetwork(Protocol):
    """A network with weights that can be copied, such as `agents.network.Network`."""

    def to_weights(self) -> NetworkWeights:
        """Return a copy of its weights."""


class Evaluator:
    """A network for inference: in int8 by `agents.inference` on the CPU, by torch on a GPU.

    On the CPU, its outputs are the same on every processor, and torch is not imported.
    """

    def __init__(
        self,
        network: NetworkWeights | TrainableNetwork,
        device: str = "cpu",
        *,
        mirrored: bool = True,
        fingerprint: str = "",
    ) -> None:
        """Copy the weights to the device, "cpu", "cuda" or "cuda:1".

        `mirrored` states whether the network was trained on symmetric images of positions;
        `fingerprint` is the hash of the weights file. Raises UnknownOption if the machine lacks the
        device, TrainingDiverged if a weight is not finite.
        """
        self.mirrored, self.fingerprint = mirrored, fingerprint
        weights = network if isinstance(network, NetworkWeights) else network.to_weights()
        # The same function for callers that check the outputs themselves.
        self.unchecked: Evaluate = (
            CompiledNetwork(weights) if device == "cpu" else _load_on_gpu(weights, device)
        )

    def __call__(self, planes: NDArray[np.int8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return logits float32[B, A] and values float32[B] of planes int8[B, C, H, W].

        Raises TrainingDiverged if one is not finite.
        """
        logits, values = self.unchecked(planes)
        if not (all_finite(logits.ravel()) and all_finite(values)):
            advice = "if it is being trained, a lower learning rate may help"
            raise TrainingDiverged(f"the outputs of the network are not finite; {advice}")
        return logits, values


def _load_on_gpu(weights: NetworkWeights, device: str) -> Evaluate:
    from agents.network import TorchNetwork

    return TorchNetwork(weights, device)


# Cache of this process: the time of the file's last change, and its network.
_EVALUATORS: dict[tuple[object, ...], tuple[int | None, Evaluator]] = {}


def load_evaluator(path: Path, game: Game, device: str = "cpu") -> Evaluator:
    """Return the network in a file; the file is cached until it changes.

    Raises BadCheckpoint for a file of another kind or game, a damaged one or one whose outputs are
    not finite; UnknownOption if there is no such device.
    """
    modified_at = path.stat().st_mtime_ns if path.exists() else None
    key = path.absolute(), device, game.name, *game.options.items()
    cached_modified_at, cached = _EVALUATORS.get(key, (None, None))
    if cached is not None and cached_modified_at == modified_at:
        return cached
    weights, about = load_weights(path, game)
    evaluator = Evaluator(
        weights, device, mirrored=_is_mirrored(about), fingerprint=file_hash(path)
    )
    try:
        evaluator(game.observe(game.initial)[np.newaxis])
    except TrainingDiverged as error:
        raise BadCheckpoint(f"{path}: the outputs of the network are not finite") from error
    _EVALUATORS[key] = modified_at, evaluator
    return evaluator


def _is_mirrored(about: Mapping[str, Any]) -> bool:
    """Return whether a network was trained on symmetric images, by the description in its file."""
    is_mirrored = about.get("mirrored")
    if isinstance(is_mirrored, bool):
        return is_mirrored
    # Earlier versions did not write it. PPO and DQN trained on no images, but PPO could start from
    # weights that were trained on them.
    config = about.get("config")
    has_start = isinstance(config, Mapping) and config.get("start") is not None
    return has_start or about.get("trained") not in ("ppo", "dqn")
