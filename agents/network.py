"""The policy and value network of the learned players, and its file.

A residual tower of convolutions reads the planes of an observation. The value head reads global
features: the mean and the maximum of the tower's output over the board. The policy head works like
attention: the logit of an action is the dot product of a query at the cell where it starts and a
key at the cell where it ends (`Game.action_cells`), both with the global features added. So what is
learned for one cell holds for all others.

Shapes: B positions, A actions; C planes, H rows and W columns of an observation.
"""

import copy
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from agents import weight_files
from agents.inference import CompiledNetwork
from cc_env.core.game import Game
from cc_env.errors import BadCheckpoint, BadOption, UnknownOption, format_list, is_integer
from cc_env.registry.catalogue import GAMES
from cc_env.search.puct import Evaluate
from cc_env.version import __version__

BATCHES = 16  # torch's batches are padded to a multiple: few shapes, each optimised once
WAYS = "torch", "compiled"  # to run a network


@dataclass(frozen=True)
class Size:
    """The size of a network."""

    blocks: int = 4  # residual blocks of two convolutions
    channels: int = 64  # of each convolution
    keys: int = 32  # length of the queries and keys of the policy head
    reach: int = 2  # dilation of the second convolution in each block; 2 spans a jump

    def __post_init__(self) -> None:
        """Raise BadOption unless all are whole numbers from 1."""
        for name, value in asdict(self).items():
            if not is_integer(value, 1, 4096):
                raise BadOption(f"{name}={value!r}; it is a whole number from 1")


class Network(nn.Module):
    """Policy and value of one game's positions, from the view of the player to move."""

    def __init__(self, game: Game, size: Size | None = None) -> None:
        """Make an untrained network; its weights are drawn from torch's global generator."""
        super().__init__()
        self.size = size = size or Size()
        self.shape = planes, rows, columns = game.observation_shape
        self.stem = nn.Conv2d(planes, size.channels, 3, padding=1)
        blocks = (_Block(size.channels, size.reach) for _ in range(size.blocks))
        self.tower = nn.Sequential(*blocks)
        self.keys = nn.Linear(size.channels, 2 * size.keys)
        self.view = nn.Linear(2 * size.channels, 2 * size.keys)
        self.value = nn.Sequential(
            nn.Linear(2 * size.channels, size.channels), nn.ReLU(), nn.Linear(size.channels, 1)
        )
        starts, ends = torch.from_numpy(game.action_cells).T
        pairs = starts * (rows * columns + 1) + ends
        self.pairs: Tensor
        self.register_buffer("pairs", pairs, persistent=False)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits float32[B, A] and values float32[B], -1 to 1, of planes float[B, C, H, W].

        The logits of illegal actions mean nothing: mask them.
        """
        cells = self.tower(torch.relu(self.stem(planes))).flatten(2).transpose(1, 2)
        mean = cells.mean(
            1, keepdim=True
        )  # also the features of "nowhere", for actions without cells
        whole = torch.cat((mean[:, 0], cells.amax(1)), 1)
        keys = self.keys(torch.cat((cells, mean), 1)) + self.view(whole)[:, None]
        starts, ends = keys.chunk(2, -1)
        logits = torch.bmm(starts, ends.transpose(1, 2)).flatten(1)[:, self.pairs]
        value = torch.tanh(self.value(whole)[:, 0].float())
        return logits.float() * self.size.keys**-0.5, value


class _Block(nn.Module):
    def __init__(self, channels: int, reach: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=reach, dilation=reach)
        nn.init.zeros_(self.second.weight)  # a new block is the identity
        nn.init.zeros_(self.second.bias)  # type: ignore[arg-type]

    def forward(self, cells: Tensor) -> Tensor:
        return torch.relu(cells + self.second(torch.relu(self.first(cells))))


class Evaluator:
    """A network for inference: NumPy arrays in and out, by the machine's fastest way.

    That is torch in bfloat16 on GPUs that support it and on CPUs with AMX, torch in float32 on
    other GPUs, and compiled code in float32 (`agents.inference`) on other CPUs.
    """

    def __init__(
        self,
        network: Network,
        device: str = "cpu",
        *,
        mirrored: bool = True,
        by: str | None = None,
    ) -> None:
        """Copy the weights to the device.

        `mirrored` says whether the network was trained on symmetric images of its positions. `by`
        is "torch" or "compiled"; None: the faster. Raises UnknownOption as `device_of` or for
        another `by`, BadOption for compiled code on a GPU, TrainingDiverged as `CompiledNetwork`.
        """
        self.mirrored = mirrored
        self.fingerprint = ""  # hash of the file that the weights were loaded from
        where = device_of(device)
        self.by = _fastest(where) if by is None else by
        if self.by not in WAYS:
            raise UnknownOption(f"by={by!r}; it is one of: {format_list(WAYS)}")
        if self.by == "compiled" and where.type != "cpu":
            raise BadOption(f"by='compiled', device={device!r}; compiled code runs on the CPU")
        self._answer: Evaluate = (
            compiled(network) if self.by == "compiled" else _ByTorch(network, where)
        )

    def __call__(self, planes: NDArray[np.int8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return logits float32[B, A] and values float32[B] of planes int8[B, C, H, W]."""
        return self._answer(planes)


def compiled(network: Network) -> CompiledNetwork:
    """Return a network as compiled code; raise as `CompiledNetwork`."""
    weights = {name: tensor.float().cpu().numpy() for name, tensor in network.state_dict().items()}
    _, rows, columns = network.shape
    pairs = np.stack(np.divmod(network.pairs.cpu().numpy(), rows * columns + 1), 1)
    return CompiledNetwork(weights, network.shape, network.size.reach, pairs)


class _ByTorch:
    """The network as it was learned, in the device's fastest dtype."""

    def __init__(self, network: Network, device: torch.device) -> None:
        self._device, self._dtype = device, fast_dtype(device)
        copied = copy.deepcopy(network).requires_grad_(False)
        self._network = copied.to(self._device, self._dtype)
        self._network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def __call__(self, planes: NDArray[np.int8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        count = len(planes)
        batch = torch.zeros((-count % BATCHES + count, *planes.shape[1:]), dtype=torch.int8)
        batch[:count] = torch.from_numpy(planes)
        with torch.inference_mode():
            ready = batch.to(self._device, self._dtype).contiguous(
                memory_format=torch.channels_last
            )
            logits, values = self._network(ready)
        return logits[:count].cpu().numpy(), values[:count].cpu().numpy()


def _fastest(device: torch.device) -> str:
    quick = device.type != "cpu" or fast_dtype(device) == torch.bfloat16
    return "torch" if quick else "compiled"


def device_of(name: str) -> torch.device:
    """Return the device of this name; raise UnknownOption if the machine does not have it."""
    available = ["cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
    wanted = "cuda:0" if name == "cuda" else name
    if wanted not in available:
        raise UnknownOption(f"device={name!r}; this machine has: {', '.join(available)}")
    return torch.device(wanted)


def fast_dtype(device: torch.device) -> torch.dtype:
    """Return the dtype in which the device evaluates networks fastest."""
    if device.type == "cuda":
        has_bfloat16 = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        has_bfloat16 = bool(torch.cpu.get_capabilities().get("amx_bf16"))
    return torch.bfloat16 if has_bfloat16 else torch.float32


def save(path: Path, network: Network, game: Game, about: Mapping[str, Any]) -> None:
    """Write the weights atomically, with a description `about` them (a JSON object)."""
    weights = {name: tensor.float().cpu().numpy() for name, tensor in network.state_dict().items()}
    header = {**_kind(game), "size": asdict(network.size), "about": about}
    weight_files.save(path, "network", weights, header)


def load(path: Path, game: Game) -> tuple[Network, dict[str, Any]]:
    """Return the network of a file that `save` wrote, and its description.

    Raises BadCheckpoint if the file is of another kind, broken, altered, or of another game.
    """
    header, weights = weight_files.load(path, "network")
    for name, wanted in json.loads(json.dumps(_kind(game))).items():
        if header.get(name) != wanted:
            raise BadCheckpoint(f"{path}: {name} is {header.get(name)!r}; wanted: {wanted!r}")
    try:
        network = _filled(game, Size(**header["size"]), weights)
        return network, dict(header["about"])
    except (TypeError, ValueError, KeyError) as error:
        version = f"written by cc_env {header.get('version')}, read by {__version__}"
        raise BadCheckpoint(f"{path}: not a network for {game!r} ({version}): {error}") from error


def _filled(game: Game, size: Size, weights: weight_files.Arrays) -> Network:
    """Return a network of this size with these weights, without copying them.

    Raises BadCheckpoint if they do not fit. The size comes from a header that may be wrong, so no
    memory is allocated for it: the network takes over the arrays of the file.
    """
    if 4 * size.blocks > len(weights):
        raise BadCheckpoint(f"{len(weights)} arrays are too few for {size.blocks} blocks")
    with torch.device("meta"):  # shapes without numbers
        network = Network(game, size)
    wanted = network.state_dict()
    if unknown := weights.keys() - wanted.keys():
        raise BadCheckpoint(f"such a network has no array {format_list(sorted(unknown))}")
    checked = {
        name: weight_files.expect(weights, name, tensor.shape, np.float32)
        for name, tensor in wanted.items()
    }
    for name, array in checked.items():
        if not np.isfinite(array).all():
            raise BadCheckpoint(f"{name} has values that are not finite")
    ready = {name: torch.from_numpy(array) for name, array in checked.items()}
    network.load_state_dict(ready, assign=True)
    return network


def _kind(game: Game) -> dict[str, Any]:
    """Return the environment id and options that a network is for."""
    entry = GAMES.get(game.name)
    return {
        "environment": entry.environment if entry else game.name,
        "options": dict(game.options),
    }
