"""The policy and value network of the learned players, and its file.

A residual tower of convolutions processes the planes of an observation. The input of the value head
is global: the mean and the maximum of the tower's output over the board. The policy head is a form
of attention: the logit of an action is the dot product of the query of its start cell and the key
of its end cell (`Game.action_cells`), both with projected global features added. All cells share
the weights.

Shapes: B positions, A actions; C planes, H rows and W columns of an observation; F channels of
the tower.
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
from agents.shipped_weights import KINDS, resolve_weights, shipped_weights
from cc_env.core.game import Game, check_game_object
from cc_env.errors import (
    BadCheckpoint,
    BadOption,
    UnknownOption,
    check_integer,
    format_list,
    suggest,
)
from cc_env.jit.simd import HAS_BYTE_PRODUCTS
from cc_env.registry.catalogue import rules_id
from cc_env.search.puct import Evaluate
from cc_env.version import __version__

# torch's batches are padded to a multiple: few shapes, each optimized once.
BATCH_MULTIPLE = 16
BACKENDS = "torch", "compiled"


@dataclass(frozen=True)
class Size:
    """The size of a network: residual blocks, channels, length of keys and queries, dilation.

    `reach` is the dilation of the second convolution in each block; 2 covers a jump.
    """

    blocks: int = 4
    channels: int = 64
    keys: int = 32
    reach: int = 2

    def __post_init__(self) -> None:
        """Raise BadOption unless all are integers from 1 to 4096."""
        for name, value in asdict(self).items():
            check_integer(name, value, 1, 4096)


class ResidualTrunk(nn.Module):
    """A convolution and a tower of residual blocks: features of every cell of a board."""

    def __init__(self, planes: int, size: Size) -> None:
        """Create a trunk for observations of `planes` planes, with random weights."""
        super().__init__()
        self.stem = nn.Conv2d(planes, size.channels, 3, padding=1)
        blocks = (_Block(size.channels, size.reach) for _ in range(size.blocks))
        self.tower = nn.Sequential(*blocks)

    def features(self, planes: Tensor) -> Tensor:
        """Return the features float[B, F, H, W], F = `size.channels`, of float[B, C, H, W]."""
        features: Tensor = self.tower(torch.relu(self.stem(planes)))
        return features


class Network(ResidualTrunk):
    """Policy and value of one game's positions, from the point of view of the player to move."""

    def __init__(self, game: Game, size: Size | None = None) -> None:
        """Create an untrained network with random weights from torch's global generator."""
        size = size or Size()
        planes, rows, columns = game.observation_shape
        super().__init__(planes, size)
        self.size, self.shape = size, game.observation_shape
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

        The logits of illegal actions are meaningless and need masking.
        """
        cells = self.features(planes).flatten(2).transpose(1, 2)
        # The mean also represents "nowhere", for actions without cells.
        mean = cells.mean(1, keepdim=True)
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
        # A new block is the identity.
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)  # type: ignore[arg-type]

    def forward(self, cells: Tensor) -> Tensor:
        return torch.relu(cells + self.second(torch.relu(self.first(cells))))


class Evaluator:
    """A network for inference with NumPy arrays, by the fastest backend of the machine.

    That is compiled code in int8 (`agents.inference`) on CPUs with instructions for products of
    bytes, otherwise torch, in bfloat16 if the device has fast instructions for it.
    """

    def __init__(
        self,
        network: Network,
        device: str = "cpu",
        *,
        mirrored: bool = True,
        backend: str | None = None,
    ) -> None:
        """Copy the weights to the device.

        `mirrored` states whether the network was trained on symmetric images of positions.
        `backend` is "torch" or "compiled", None for the faster one. Raises UnknownOption as
        `select_device` or for another backend, BadOption for compiled code on a GPU, and
        TrainingDiverged if a weight is not finite.
        """
        self.mirrored = mirrored
        # Hash of the weights file.
        self.fingerprint = ""
        target = select_device(device)
        self.backend = _fastest_backend(target) if backend is None else backend
        if self.backend not in BACKENDS:
            raise UnknownOption(f"backend={backend!r}; expected: {format_list(BACKENDS)}")
        if self.backend == "compiled" and target.type != "cpu":
            raise BadOption(f"backend='compiled', device={device!r}; expected: 'cpu'")
        is_compiled = self.backend == "compiled"
        self._evaluate: Evaluate = (
            compile_network(network) if is_compiled else _TorchNetwork(network, target)
        )

    def __call__(self, planes: NDArray[np.int8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return logits float32[B, A] and values float32[B] of planes int8[B, C, H, W]."""
        return self._evaluate(planes)


def compile_network(network: Network) -> CompiledNetwork:
    """Return a network as compiled code; raise TrainingDiverged if a weight is not finite."""
    _, rows, columns = network.shape
    pairs = np.stack(np.divmod(network.pairs.cpu().numpy(), rows * columns + 1), 1)
    return CompiledNetwork(_weights(network), network.shape, network.size.reach, pairs)


def _weights(network: Network) -> dict[str, NDArray[np.float32]]:
    return {name: tensor.float().cpu().numpy() for name, tensor in network.state_dict().items()}


class _TorchNetwork:
    """The network in torch, in the device's fastest dtype."""

    def __init__(self, network: Network, device: torch.device) -> None:
        self._device, self._dtype = device, fast_dtype(device)
        frozen = copy.deepcopy(network).requires_grad_(False)
        self._network = frozen.to(self._device, self._dtype)
        self._network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def __call__(self, planes: NDArray[np.int8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        count = len(planes)
        batch = torch.zeros((-count % BATCH_MULTIPLE + count, *planes.shape[1:]), dtype=torch.int8)
        batch[:count] = torch.from_numpy(planes)
        with torch.inference_mode():
            inputs = batch.to(self._device, self._dtype).contiguous(
                memory_format=torch.channels_last
            )
            logits, values = self._network(inputs)
        return logits[:count].cpu().numpy(), values[:count].cpu().numpy()


def _fastest_backend(device: torch.device) -> str:
    return "compiled" if device.type == "cpu" and HAS_BYTE_PRODUCTS else "torch"


def select_device(name: str) -> torch.device:
    """Return the device with this name; raise UnknownOption if the machine lacks it."""
    available = ["cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
    full_name = "cuda:0" if name == "cuda" else name
    if full_name not in available:
        raise UnknownOption(f"device={name!r}; this machine has: {', '.join(available)}")
    return torch.device(full_name)


def fast_dtype(device: torch.device) -> torch.dtype:
    """Return the dtype in which torch evaluates networks fastest on the device."""
    if device.type == "cuda":
        has_bfloat16 = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        has_bfloat16 = bool(torch.cpu.get_capabilities().get("amx_bf16"))
    return torch.bfloat16 if has_bfloat16 else torch.float32


def save(
    path: Path,
    network: Network,
    game: Game,
    about: Mapping[str, Any],
    dtype: type[np.floating[Any]] = np.float32,
) -> None:
    """Write the weights atomically, as float32 or float16, with a JSON description `about` them."""
    header = {**_game_identity(game), "size": asdict(network.size), "about": about}
    weights = {name: array.astype(dtype) for name, array in _weights(network).items()}
    weight_files.save(path, "network", weights, header)


def load_network(source: str | Path, game: Game) -> Network:
    """Return a trained network for inference: a torch module in float32 on the CPU.

    `source` is "alphazero", "policy" or "ppo" for the weights that ship for the player with this
    name, or a weights file or run folder. Files are checked, and reading one executes no code.

    The network maps observations float32[B, C, H, W], which are those of `game.observe(position)`
    or of an environment, to logits float32[B, A] and values float32[B]. Everything is in the frame
    of the player to move. Logit `a` belongs to the action with the id `a`; logits of illegal
    actions are meaningless. A value, -1 to 1, is the expected result for the player to move; values
    of networks trained by PPO are discounted: "ppo", and most of "policy". In "ppo" of C&C 8×8, a
    draw counts as -0.3. Raises BadCheckpoint without such weights, or for a file that is damaged or
    of another game; BadOption if `game` is not a game.

    Examples:

        >>> import cc_env, torch
        >>> game = cc_env.make_game("capture_conquer")
        >>> network = cc_env.load_network("alphazero", game)
        >>> planes = torch.from_numpy(game.observe(game.initial)).float()
        >>> with torch.no_grad():
        ...     logits, values = network(planes[None])
        >>> logits.shape == (1, game.num_actions), values.shape
        (True, torch.Size([1]))
        >>> legal = game.legal_actions(game.initial)
        >>> action = legal[logits[0, legal].argmax()]
        >>> game.action_text(game.initial, action)
        '2,0-2,1'
    """
    network, _ = load(find_weights(source, game), game)
    return network.eval()


def find_weights(source: str | Path, game: Game) -> Path:
    """Return the weights file of a kind that ships for a game, or the one at a path.

    Raises BadCheckpoint if there is none, BadOption if `game` is not a game.
    """
    check_game_object(game)
    if source in KINDS:
        return shipped_weights(game, str(source))
    path = resolve_weights(str(source))
    if not path.is_file():
        expected = f"{format_list(KINDS)}, a weights file or the folder of a run"
        raise BadCheckpoint(
            f"no network {str(source)!r}; {suggest(source, KINDS)}expected: {expected}"
        )
    return path


def load(path: Path, game: Game) -> tuple[Network, dict[str, Any]]:
    """Return the network in a file of `save`, and its description.

    Raises BadCheckpoint if the file is of another kind or game, damaged or altered.
    """
    header, weights = weight_files.load(path, "network")
    for name, value in json.loads(json.dumps(_game_identity(game))).items():
        if header.get(name) != value:
            raise BadCheckpoint(f"{path}: {name} is {header.get(name)!r}; expected: {value!r}")
    try:
        network = _build_network(game, Size(**header["size"]), weights)
        return network, dict(header["about"])
    except (TypeError, ValueError, KeyError) as error:
        version = f"written by cc_env {header.get('version')}, read by {__version__}"
        raise BadCheckpoint(f"{path}: not a network for {game!r} ({version}): {error}") from error


def _build_network(game: Game, size: Size, weights: weight_files.Arrays) -> Network:
    """Return a network of this size with these arrays, float32 or float16, as its weights.

    Raises BadCheckpoint if they do not fit. The size is untrusted, so no memory is allocated for
    it.
    """
    if 4 * size.blocks > len(weights):
        raise BadCheckpoint(f"{len(weights)} arrays are too few for {size.blocks} blocks")
    # Tensors on the device "meta" have shapes but no data.
    with torch.device("meta"):
        network = Network(game, size)
    templates = network.state_dict()
    if unknown := weights.keys() - templates.keys():
        raise BadCheckpoint(f"a network of this size has no array {format_list(sorted(unknown))}")
    single = {
        name: array.astype(np.float32) if array.dtype == np.float16 else array
        for name, array in weights.items()
    }
    checked = {
        name: weight_files.checked_array(single, name, tensor.shape, np.float32)
        for name, tensor in templates.items()
    }
    for name, array in checked.items():
        if not np.isfinite(array).all():
            raise BadCheckpoint(f"{name} has values that are not finite")
    tensors = {name: torch.from_numpy(array) for name, array in checked.items()}
    network.load_state_dict(tensors, assign=True)
    return network


def _game_identity(game: Game) -> dict[str, Any]:
    """Return the environment id and the options of a game, for headers."""
    return {"environment": rules_id(game.name), "options": dict(game.options)}
