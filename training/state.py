"""The state of networks and optimizers as flat NumPy arrays, for checkpoints, and back.

What comes back is a stranger's: its hash says that it is whole, not that it is ours. So all of it
is compared with what it is to take the place of before anything is changed.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from agents.arrays import expect
from cc_env.errors import BadCheckpoint, Diverged, is_whole

LARGE = 10**15  # more than any step, sample or second is counted
MOMENTS = "exp_avg", "exp_avg_sq"  # what Adam keeps of each parameter, besides its steps


def flat(**parts: nn.Module | Optimizer) -> dict[str, NDArray[Any]]:
    """Return the arrays of all parts, each called PART.NAME, in the memory of the parts."""
    return {
        f"{part}.{name}": tensor.detach().cpu().numpy()
        for part, holder in parts.items()
        for name, tensor in _tensors(holder).items()
    }


def load(arrays: Mapping[str, NDArray[Any]], **parts: nn.Module | Optimizer) -> None:
    """Give the parts what `flat` returned of them.

    Raises BadCheckpoint, and changes nothing, where an array is missing or is not such a one; those
    that are of none of the parts are left out. Optimizers are Adam or AdamW.
    """
    found = {part: _checked(arrays, part, holder) for part, holder in parts.items()}
    for part, holder in parts.items():
        if isinstance(holder, nn.Module):
            holder.load_state_dict(found[part])
        else:
            holder.load_state_dict({**holder.state_dict(), "state": _by_number(found[part])})


def whole(about: Mapping[str, Any], name: str, least: int = 0) -> int:
    """Return a whole number of what is known about a checkpoint; raise BadCheckpoint."""
    value = about.get(name)
    if not is_whole(value, least, LARGE):
        raise BadCheckpoint(f"{name} is {value!r:.40}; wanted a whole number from {least}")
    return int(value)  # type: ignore[arg-type]


def number(about: Mapping[str, Any], name: str) -> float:
    """Return a number of what is known about a checkpoint; raise BadCheckpoint."""
    value = about.get(name)
    if not isinstance(value, int | float) or not -LARGE <= value <= LARGE:
        raise BadCheckpoint(f"{name} is {value!r:.40}; wanted a number")
    return float(value)


def check_finite(network: nn.Module) -> None:
    """Raise Diverged where a weight is no finite number."""
    if not all(bool(torch.isfinite(each).all()) for each in network.parameters()):
        raise Diverged(
            "the weights of the network are no longer finite: the learning rate is too high; "
            "what was saved before stays, another run begins with another --name"
        )


def _tensors(holder: nn.Module | Optimizer) -> dict[str, Tensor]:
    if isinstance(holder, nn.Module):
        return holder.state_dict()
    return {
        f"{number}.{name}": tensor
        for number, one in holder.state_dict()["state"].items()
        for name, tensor in one.items()
    }


def _checked(
    arrays: Mapping[str, NDArray[Any]], part: str, holder: nn.Module | Optimizer
) -> dict[str, Tensor]:
    """Return the arrays of a part, without its name; raise BadCheckpoint."""
    if isinstance(holder, nn.Module):
        wanted = holder.state_dict()
    else:
        wanted = _moments(holder) if any(name.startswith(f"{part}.") for name in arrays) else {}
    found = {}
    for name, like in wanted.items():
        array = expect(arrays, f"{part}.{name}", like.shape, str(like.dtype).split(".")[1])
        if not np.isfinite(array).all():
            raise BadCheckpoint(f"{part}.{name} has numbers that are not finite")
        found[name] = torch.from_numpy(array)
    return found


def _moments(optimizer: Optimizer) -> dict[str, Tensor]:
    """Return tensors like those of an optimizer that took steps, which before has none."""
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    found = {}
    for number, each in enumerate(parameters):
        found[f"{number}.step"] = torch.zeros(())
        found |= {f"{number}.{name}": each for name in MOMENTS}
    return found


def _by_number(tensors: Mapping[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    found: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        number, _, rest = name.partition(".")
        found.setdefault(int(number), {})[rest] = tensor
    return found
