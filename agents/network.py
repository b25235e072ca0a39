"""The policy and value network of the learned players as a torch module, for training.

A residual tower of convolutions processes the planes of an observation. The input of the value head
is global: the mean and the maximum of the tower's output over the board. The policy head is a form
of attention: the logit of an action is the dot product of the query of its start cell and the key
of its end cell (`Game.action_cells`), both with projected global features added. All cells share
the weights.

Shapes: B positions, A actions; C planes, H rows and W columns of an observation; F channels of
the tower.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from agents.network_weights import NetworkWeights, Size, find_weights, load_weights, save_weights
from cc_env.core.game import Game
from cc_env.errors import UnknownOption

# torch's batches are padded to a multiple: few shapes, each optimized once.
BATCH_MULTIPLE = 16


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

    def __init__(self, game: Game | NetworkWeights, size: Size | None = None) -> None:
        """Create an untrained network with random weights from torch's global generator.

        Observations and actions are those of `game`.
        """
        size = size or Size()
        planes, rows, columns = game.observation_shape
        super().__init__(planes, size)
        self.size, self.observation_shape = size, game.observation_shape
        self.action_cells = game.action_cells
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

    def to_weights(self) -> NetworkWeights:
        """Return a copy of the weights as NumPy arrays."""
        tensors = self.state_dict()
        arrays = {name: tensor.float().cpu().numpy().copy() for name, tensor in tensors.items()}
        return NetworkWeights(self.size, self.observation_shape, self.action_cells, arrays)


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


class TorchNetwork:
    """A network for inference with NumPy arrays by torch, in the device's fastest dtype."""

    def __init__(self, weights: NetworkWeights, device: str) -> None:
        """Copy the weights to the device; raise UnknownOption as `select_device`."""
        self._device = select_device(device)
        self._dtype = fast_dtype(self._device)
        self._network = _to_network(weights).requires_grad_(False).to(self._device, self._dtype)
        self._network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def __call__(self, planes: NDArray[np.int8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return logits float32[B, A] and values float32[B] of planes int8[B, C, H, W]."""
        count = len(planes)
        batch = torch.zeros((-count % BATCH_MULTIPLE + count, *planes.shape[1:]), dtype=torch.int8)
        batch[:count] = torch.from_numpy(planes)
        with torch.inference_mode():
            inputs = batch.to(self._device, self._dtype).contiguous(
                memory_format=torch.channels_last
            )
            logits, values = self._network(inputs)
        return logits[:count].cpu().numpy(), values[:count].cpu().numpy()


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
    """Write the weights of a network as `save_weights` does."""
    save_weights(path, network.to_weights(), game, about, dtype)


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


def load(path: Path, game: Game) -> tuple[Network, dict[str, Any]]:
    """Return the network in a file of `save`, and its description.

    Raises BadCheckpoint if the file is of another kind or game, damaged or altered.
    """
    weights, about = load_weights(path, game)
    return _to_network(weights), about


def _to_network(weights: NetworkWeights) -> Network:
    """Return a network with copies of the weights, in float32 on the CPU."""
    # Tensors on the device "meta" have shapes but no data.
    with torch.device("meta"):
        network = Network(weights, weights.size)
    tensors = {name: torch.tensor(array) for name, array in weights.arrays.items()}
    network.load_state_dict(tensors, assign=True)
    return network
