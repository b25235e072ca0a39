"""The state of networks and optimizers as flat NumPy arrays, for checkpoints, and back."""

from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from cc_env.errors import Diverged


def flat(**parts: nn.Module | Optimizer) -> dict[str, NDArray[Any]]:
    """Return the arrays of all parts, each called PART.NAME, in the memory of the parts."""
    return {
        f"{part}.{name}": tensor.detach().cpu().numpy()
        for part, holder in parts.items()
        for name, tensor in _tensors(holder).items()
    }


def load(arrays: Mapping[str, NDArray[Any]], **parts: nn.Module | Optimizer) -> None:
    """Give the parts what `flat` returned of them; raise RuntimeError where a network is another.

    Arrays that are of none of the parts are left out.
    """
    for part, holder in parts.items():
        own = {
            name.removeprefix(f"{part}."): torch.from_numpy(array)
            for name, array in arrays.items()
            if name.startswith(f"{part}.")
        }
        if isinstance(holder, nn.Module):
            holder.load_state_dict(own)
        else:
            holder.load_state_dict({**holder.state_dict(), "state": _by_number(own)})


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


def _by_number(tensors: Mapping[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    found: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        number, _, rest = name.partition(".")
        found.setdefault(int(number), {})[rest] = tensor
    return found
