"""The state of networks and optimizers as flat NumPy arrays, for checkpoints, and back.

Checkpoints are not trusted: their hash shows that they are complete, not who wrote them. So all
arrays are compared with those that they replace before anything changes.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from agents.weight_files import expect
from cc_env.errors import BadCheckpoint, TrainingDiverged, is_integer

LARGE = 10**15  # above any count of steps, samples or seconds
MOMENTS = "exp_avg", "exp_avg_sq"  # state of Adam for each parameter, besides its step


def flat(**parts: nn.Module | Optimizer) -> dict[str, NDArray[Any]]:
    """Return the parts' arrays of any shape, as PART.NAME; on CPUs they share the parts' memory."""
    return {
        f"{part}.{name}": tensor.detach().cpu().numpy()
        for part, holder in parts.items()
        for name, tensor in _tensors(holder).items()
    }


def load(arrays: Mapping[str, NDArray[Any]], **parts: nn.Module | Optimizer) -> None:
    """Load what `flat` returned into the parts; optimizers are Adam or AdamW.

    Arrays of other parts are ignored. Raises BadCheckpoint, and changes nothing, if an array is
    missing, of another shape or dtype, or not finite.
    """
    checked = {part: _checked(arrays, part, holder) for part, holder in parts.items()}
    for part, holder in parts.items():
        if isinstance(holder, nn.Module):
            holder.load_state_dict(checked[part])
        else:
            holder.load_state_dict({**holder.state_dict(), "state": _by_number(checked[part])})


def whole(about: Mapping[str, Any], name: str, least: int = 0) -> int:
    """Return a whole number from the description of a checkpoint; raise BadCheckpoint."""
    value = about.get(name)
    if not is_integer(value, least, LARGE):
        raise BadCheckpoint(f"{name} is {value!r:.40}; wanted a whole number from {least}")
    return int(value)  # type: ignore[arg-type]


def number(about: Mapping[str, Any], name: str) -> float:
    """Return a number from the description of a checkpoint; raise BadCheckpoint."""
    value = about.get(name)
    if not isinstance(value, int | float) or not -LARGE <= value <= LARGE:
        raise BadCheckpoint(f"{name} is {value!r:.40}; wanted a number")
    return float(value)


def check_finite(network: nn.Module) -> None:
    """Raise TrainingDiverged if a weight is not finite."""
    if not all(bool(torch.isfinite(tensor).all()) for tensor in network.parameters()):
        raise TrainingDiverged(
            "the weights of the network are no longer finite: the learning rate is too high; "
            "the last checkpoint is kept; begin another run with another --name"
        )


def _tensors(holder: nn.Module | Optimizer) -> dict[str, Tensor]:
    if isinstance(holder, nn.Module):
        return holder.state_dict()
    return {
        f"{number}.{name}": tensor
        for number, moments in holder.state_dict()["state"].items()
        for name, tensor in moments.items()
    }


def _checked(
    arrays: Mapping[str, NDArray[Any]], part: str, holder: nn.Module | Optimizer
) -> dict[str, Tensor]:
    """Return the arrays of a part by NAME; raise BadCheckpoint if they do not fit."""
    if isinstance(holder, nn.Module):
        wanted = holder.state_dict()
    else:
        wanted = _moments(holder) if any(name.startswith(f"{part}.") for name in arrays) else {}
    checked = {}
    for name, like in wanted.items():
        array = expect(arrays, f"{part}.{name}", like.shape, str(like.dtype).split(".")[1])
        if not np.isfinite(array).all():
            raise BadCheckpoint(f"{part}.{name} has values that are not finite")
        checked[name] = torch.from_numpy(array)
    return checked


def _moments(optimizer: Optimizer) -> dict[str, Tensor]:
    """Return tensors shaped like an optimizer's state; it has none before its first step."""
    parameters = [tensor for group in optimizer.param_groups for tensor in group["params"]]
    moments = {}
    for number, tensor in enumerate(parameters):
        moments[f"{number}.step"] = torch.zeros(())
        moments |= {f"{number}.{name}": tensor for name in MOMENTS}
    return moments


def _by_number(tensors: Mapping[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    nested: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        number, _, rest = name.partition(".")
        nested.setdefault(int(number), {})[rest] = tensor
    return nested
