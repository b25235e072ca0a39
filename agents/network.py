"""The network of the learned players, and its file.

A residual tower of convolutions reads the planes of an observation. The value comes from its mean
and maximum over the board, the view of the whole; the logit of an action is the product of what the
cell where it starts asks for and what the cell where it ends offers (`Game.action_cells`), each in
view of the whole, so that what is learned in one place serves in all others.
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

from agents import arrays
from cc_env import __version__
from cc_env.catalogue import GAMES
from cc_env.errors import BadCheckpoint, UnknownOption, is_whole, listed
from cc_env.game import Game

BATCHES = 16  # positions are evaluated in multiples of so many: few shapes, each optimised once


@dataclass(frozen=True)
class Size:
    """How big a network is."""

    blocks: int = 4  # residual ones, of two convolutions each
    channels: int = 64
    keys: int = 32  # numbers by which the start and the end of an action find each other
    reach: int = 2  # cells from neighbour to neighbour in each block's second convolution: a jump

    def __post_init__(self) -> None:
        """Raise UnknownOption where a number is none."""
        for name, value in asdict(self).items():
            if not is_whole(value, 1, 4096):
                raise UnknownOption(f"{name}={value!r}; it is a whole number from 1")


class Network(nn.Module):
    """Policy and value of one game's positions, as the player to move sees them."""

    def __init__(self, game: Game, size: Size | None = None) -> None:
        """Make an untrained network, drawn from torch's generator."""
        super().__init__()
        self.size = size = size or Size()
        planes, rows, columns = game.observation_shape
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
        """Return logits float[N, num_actions] and values float[N], -1 to 1, of float[N, C, H, W].

        Logits of illegal actions have no meaning.
        """
        cells = self.tower(torch.relu(self.stem(planes))).flatten(2).transpose(1, 2)
        mean = cells.mean(1, keepdim=True)  # stands for "nowhere" too
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
        nn.init.zeros_(self.second.weight)  # a new block changes nothing
        nn.init.zeros_(self.second.bias)  # type: ignore[arg-type]

    def forward(self, cells: Tensor) -> Tensor:
        return torch.relu(cells + self.second(torch.relu(self.first(cells))))


class Evaluator:
    """A network as it plays: NumPy in and out, in the fastest arithmetic of the machine.

    That is bfloat16 on GPUs that have it and on CPUs with AMX, else float32.
    """

    def __init__(self, network: Network, device: str = "cpu", *, mirrored: bool = True) -> None:
        """Take a copy of the weights; raise UnknownOption as `device_of` does.

        `mirrored` says whether it has learned from mirror images, and so can be asked about them.
        """
        self.mirrored = mirrored
        self.fingerprint = ""  # of the file that it is from
        self._device = device_of(device)
        self._dtype = fast_dtype(self._device)
        copied = copy.deepcopy(network).requires_grad_(False)
        self._network = copied.to(self._device, self._dtype)
        self._network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def __call__(self, planes: NDArray[np.int8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return logits float32[N, num_actions] and values float32[N] of int8[N, C, H, W]."""
        count = len(planes)
        batch = torch.zeros((-count % BATCHES + count, *planes.shape[1:]), dtype=torch.int8)
        batch[:count] = torch.from_numpy(planes)
        with torch.inference_mode():
            ready = batch.to(self._device, self._dtype).contiguous(
                memory_format=torch.channels_last
            )
            logits, values = self._network(ready)
        return logits[:count].cpu().numpy(), values[:count].cpu().numpy()


def device_of(name: str) -> torch.device:
    """Return a device that is there; raise UnknownOption, naming what there is."""
    there = ["cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
    wanted = "cuda:0" if name == "cuda" else name
    if wanted not in there:
        raise UnknownOption(f"device={name!r}; this machine has: {', '.join(there)}")
    return torch.device(wanted)


def fast_dtype(device: torch.device) -> torch.dtype:
    """Return the kind of number that the device multiplies fastest."""
    if device.type == "cuda":
        has_bfloat16 = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        has_bfloat16 = bool(torch.cpu.get_capabilities().get("amx_bf16"))
    return torch.bfloat16 if has_bfloat16 else torch.float32


def save(path: Path, network: Network, game: Game, about: Mapping[str, Any]) -> None:
    """Write the weights, all of them or nothing, with what is to be known `about` them (JSON)."""
    found = {name: each.float().cpu().numpy() for name, each in network.state_dict().items()}
    header = {**_kind(game), "size": asdict(network.size), "about": about}
    arrays.save(path, "network", found, header)


def load(path: Path, game: Game) -> tuple[Network, dict[str, Any]]:
    """Return the network of a file, and what is known about it.

    Raises BadCheckpoint, saying what was wanted and what was found, where the file is not one of
    `save`, is broken or altered, or is another game's.
    """
    header, found = arrays.load(path, "network")
    for name, wanted in json.loads(json.dumps(_kind(game))).items():
        if header.get(name) != wanted:
            raise BadCheckpoint(f"{path}: {name} is {header.get(name)!r}; wanted: {wanted!r}")
    try:
        network = _filled(game, Size(**header["size"]), found)
        return network, dict(header["about"])
    except (TypeError, ValueError, KeyError) as error:
        version = f"written by cc_env {header.get('version')}, here is {__version__}"
        raise BadCheckpoint(
            f"{path}: no network that is known here ({version}): {error}"
        ) from error


def _filled(game: Game, size: Size, weights: arrays.Arrays) -> Network:
    """Return the network of this size that has these weights, in their memory.

    Raises BadCheckpoint where they are not those of such a network. What a header says of the size
    is not believed: memory is taken for what the file holds alone.
    """
    if 4 * size.blocks > len(weights):
        raise BadCheckpoint(f"{len(weights)} arrays are too few for {size.blocks} blocks")
    with torch.device("meta"):  # shapes without numbers
        network = Network(game, size)
    wanted = network.state_dict()
    if unknown := weights.keys() - wanted.keys():
        raise BadCheckpoint(f"there is no {listed(sorted(unknown))} in such a network")
    found = {
        name: arrays.expect(weights, name, each.shape, np.float32) for name, each in wanted.items()
    }
    for name, each in found.items():
        if not np.isfinite(each).all():
            raise BadCheckpoint(f"{name} has numbers that are not finite")
    ready = {name: torch.from_numpy(each) for name, each in found.items()}
    network.load_state_dict(ready, assign=True)
    return network


def _kind(game: Game) -> dict[str, Any]:
    """Return what decides which positions and actions a network knows."""
    entry = GAMES.get(game.name)
    return {
        "environment": entry.environment if entry else game.name,
        "options": dict(game.options),
    }
