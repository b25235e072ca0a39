"""The state of networks and optimizers as flat NumPy arrays, for checkpoints, and back.

Checkpoints are untrusted: the hash proves that a file is complete, not its author. All arrays are
compared with those that they replace before anything changes.

If a network has an attribute `observation_shape`, the shape of one input, its outputs for an input
of ones must be finite, too.
"""

import copy
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from agents.inference import all_finite
from agents.weight_files import AnyArray, checked_array
from cc_env.errors import BadCheckpoint, TrainingDiverged, is_integer, is_number

# Exceeds every number of steps, samples or seconds.
MAX_NUMBER = 10**15
# State of Adam for each parameter, besides its step.
MOMENTS = "exp_avg", "exp_avg_sq"
# The number of steps at which Adam, which counts in float32, stops to count.
MAX_ADAM_STEPS = 2**24


def to_arrays(**parts: nn.Module | Optimizer) -> dict[str, AnyArray]:
    """Return the arrays of the parts by PART.NAME; on CPUs they share the memory of the parts."""
    return {
        f"{part}.{name}": tensor.detach().cpu().numpy()
        for part, module in parts.items()
        for name, tensor in _tensors(module).items()
    }


def load(arrays: Mapping[str, AnyArray], **parts: nn.Module | Optimizer) -> None:
    """Load the arrays of `to_arrays` into the parts; optimizers are Adam or AdamW.

    Arrays of other parts are ignored. Raises BadCheckpoint, and changes nothing, as `read`.
    """
    assign(read(arrays, **parts), **parts)


def read(
    arrays: Mapping[str, AnyArray], **parts: nn.Module | Optimizer
) -> dict[str, dict[str, Tensor]]:
    """Return the tensors of the parts, by part and name and as `to_arrays` has them, for `assign`.

    Raises BadCheckpoint if an array is missing, of another shape or dtype, or not finite, if the
    outputs of a network are not finite, or if the state of an optimizer is impossible.
    """
    tensors = {part: _checked_tensors(arrays, part, module) for part, module in parts.items()}
    for part, module in parts.items():
        if isinstance(module, nn.Module):
            _check_outputs_of(part, module, tensors[part])
        else:
            _check_moments(part, tensors[part])
    return tensors


def assign(tensors: Mapping[str, Mapping[str, Tensor]], **parts: nn.Module | Optimizer) -> None:
    """Replace the state of the parts by tensors as `read` returns them."""
    for part, module in parts.items():
        if isinstance(module, nn.Module):
            module.load_state_dict(tensors[part])
        else:
            module.load_state_dict({**module.state_dict(), "state": _by_number(tensors[part])})


def read_integer(about: Mapping[str, object], name: str, maximum: int = MAX_NUMBER) -> int:
    """Return an integer from the description of a checkpoint.

    Raises BadCheckpoint if it is missing, or not an integer from 0 to `maximum`.
    """
    value = about.get(name)
    if not is_integer(value, 0, maximum):
        raise BadCheckpoint(f"{name}={value!r:.40}; expected: an integer, 0 to {maximum}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def read_number(about: Mapping[str, object], name: str) -> float:
    """Return a number from the description of a checkpoint.

    Raises BadCheckpoint if it is missing, or not a number from 0 to MAX_NUMBER.
    """
    value = about.get(name)
    if not is_number(value, 0, MAX_NUMBER):
        raise BadCheckpoint(f"{name}={value!r:.40}; expected: a number, 0 to {MAX_NUMBER}")
    return float(value)  # type: ignore[arg-type]


def check_finite(network: nn.Module) -> None:
    """Raise TrainingDiverged if a weight or an output of a network is not finite."""
    if not all(bool(torch.isfinite(tensor).all()) for tensor in network.parameters()):
        raise _divergence_error("weights")
    check_outputs(*_outputs_for_ones(network))


def check_outputs(*outputs: AnyArray) -> None:
    """Raise TrainingDiverged if outputs or losses of a network, of any shape, are not finite."""
    if not all(all_finite(output.ravel()) for output in outputs):
        raise _divergence_error("outputs")


def _divergence_error(quantity: str) -> TrainingDiverged:
    return TrainingDiverged(
        f"the {quantity} of the network are no longer finite, probably because the learning rate "
        "is too high; the last checkpoint is kept; start a new run with a lower rate"
    )


@torch.no_grad()
def _outputs_for_ones(network: nn.Module) -> list[AnyArray]:
    """Return the outputs of a network for an input of ones; [] if it has no `observation_shape`."""
    shape = getattr(network, "observation_shape", None)
    if shape is None:
        return []
    outputs = network(torch.ones(1, *shape, device=next(network.parameters()).device))
    tensors = outputs if isinstance(outputs, tuple) else (outputs,)
    return [tensor.cpu().numpy() for tensor in tensors]


def _check_outputs_of(part: str, network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Raise BadCheckpoint if a network with these tensors has outputs that are not finite."""
    loaded = copy.deepcopy(network).cpu()
    loaded.load_state_dict(tensors)
    try:
        check_outputs(*_outputs_for_ones(loaded))
    except TrainingDiverged:
        raise BadCheckpoint(f"the outputs of {part} are not finite") from None


def _check_moments(part: str, tensors: Mapping[str, Tensor]) -> None:
    """Raise BadCheckpoint if Adam cannot have this state, NUMBER.NAME, after a step."""
    steps = {name: float(tensor) for name, tensor in tensors.items() if name.endswith(".step")}
    for name, count in steps.items():
        first = next(iter(steps.values()))
        if count != first or not count.is_integer() or not 1 <= count <= MAX_ADAM_STEPS:
            raise BadCheckpoint(
                f"{part}.{name} is {count:g}; expected: the same integer for all parameters, "
                f"1 to {MAX_ADAM_STEPS}"
            )
    for name, tensor in tensors.items():
        if name.endswith(".exp_avg_sq") and bool((tensor < 0).any()):
            raise BadCheckpoint(f"{part}.{name} has negative values")


def _tensors(module: nn.Module | Optimizer) -> dict[str, Tensor]:
    """Return the state of a network by name, that of an optimizer by NUMBER.NAME."""
    if isinstance(module, nn.Module):
        return module.state_dict()
    return {
        f"{number}.{name}": tensor
        for number, moments in module.state_dict()["state"].items()
        for name, tensor in moments.items()
    }


def _checked_tensors(
    arrays: Mapping[str, AnyArray], part: str, module: nn.Module | Optimizer
) -> dict[str, Tensor]:
    """Return the arrays of a part by NAME, as tensors; raise BadCheckpoint if they do not fit."""
    if isinstance(module, nn.Module):
        templates = module.state_dict()
    else:
        has_state = any(name.startswith(f"{part}.") for name in arrays)
        templates = _empty_moments(module) if has_state else {}
    checked = {}
    for name, template in templates.items():
        dtype = str(template.dtype).removeprefix("torch.")
        array = checked_array(arrays, f"{part}.{name}", template.shape, dtype)
        if not np.isfinite(array).all():
            raise BadCheckpoint(f"{part}.{name} has values that are not finite")
        checked[name] = torch.from_numpy(array)
    return checked


def _empty_moments(optimizer: Optimizer) -> dict[str, Tensor]:
    """Return tensors with the names and shapes of an optimizer's state after its first step."""
    parameters = [tensor for group in optimizer.param_groups for tensor in group["params"]]
    moments = {}
    for number, tensor in enumerate(parameters):
        moments[f"{number}.step"] = torch.zeros(())
        moments |= {f"{number}.{name}": tensor for name in MOMENTS}
    return moments


def _by_number(tensors: Mapping[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    """Return the tensors NUMBER.NAME as {NUMBER: {NAME: tensor}}, the state of an optimizer."""
    nested: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        number, _, rest = name.partition(".")
        nested.setdefault(int(number), {})[rest] = tensor
    return nested
