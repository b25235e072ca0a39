"""The weights of a policy and value network as NumPy arrays, and their file.

`agents.network.Network` trains them with torch, `agents.inference.CompiledNetwork` evaluates them
without it.

Shapes: A actions; C planes, H rows and W columns of an observation; F channels of the tower.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents import weight_files
from agents.shipped_weights import KINDS, resolve_weights, shipped_weights
from cc_env.core.game import Game, check_game_object
from cc_env.errors import BadCheckpoint, BadOption, check_integer, format_list, suggest
from cc_env.registry.catalogue import rules_id
from cc_env.version import __version__

# 1 GiB in float32.
MAX_WEIGHTS = 2**28


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
        """Raise BadOption unless all are integers from 1 to 4096, with at most MAX_WEIGHTS."""
        for name, value in asdict(self).items():
            check_integer(name, value, 1, 4096)
        # Those of the tower, nearly all.
        count = 18 * self.blocks * self.channels**2
        if count > MAX_WEIGHTS:
            size = f"blocks={self.blocks}, channels={self.channels}"
            raise BadOption(f"{size}: {count} weights; expected: at most {MAX_WEIGHTS}")


class NetworkWeights(NamedTuple):
    """A network of one game: its size, and float32 arrays by the names of `array_shapes`."""

    size: Size
    observation_shape: tuple[int, int, int]  # C, H, W
    action_cells: NDArray[np.int64]  # [A, 2], start and end cells, as in `Game`
    arrays: dict[str, NDArray[np.float32]]


def array_shapes(size: Size, planes: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays by name, for observations of `planes` planes."""
    channels, keys = size.channels, 2 * size.keys
    layers = {
        "stem": (channels, planes, 3, 3),
        **{
            f"tower.{block}.{name}": (channels, channels, 3, 3)
            for block in range(size.blocks)
            for name in ("first", "second")
        },
        "keys": (keys, channels),
        "view": (keys, 2 * channels),
        "value.0": (channels, 2 * channels),
        "value.2": (1, channels),
    }
    weights = {f"{name}.weight": shape for name, shape in layers.items()}
    return weights | {f"{name}.bias": shape[:1] for name, shape in layers.items()}


def save_weights(
    path: Path,
    weights: NetworkWeights,
    game: Game,
    about: Mapping[str, Any],
    dtype: type[np.floating[Any]] = np.float32,
) -> None:
    """Write the weights atomically, as float32 or float16, with a JSON description `about` them."""
    header = {**_game_identity(game), "size": asdict(weights.size), "about": about}
    arrays = {name: array.astype(dtype) for name, array in weights.arrays.items()}
    weight_files.save(path, "network", arrays, header)


def load_weights(path: Path, game: Game) -> tuple[NetworkWeights, dict[str, Any]]:
    """Return the weights in a file of `save_weights`, and their description.

    Raises BadCheckpoint if the file is of another kind or game, damaged or altered.
    """
    header, arrays = weight_files.load(path, "network")
    for name, value in json.loads(json.dumps(_game_identity(game))).items():
        if header.get(name) != value:
            raise BadCheckpoint(f"{path}: {name} is {header.get(name)!r}; expected: {value!r}")
    try:
        size = Size(**header["size"])
        checked = _check_arrays(arrays, size, game)
        weights = NetworkWeights(size, game.observation_shape, game.action_cells, checked)
        return weights, dict(header["about"])
    except (TypeError, ValueError, KeyError) as error:
        version = f"written by cc_env {header.get('version')}, read by {__version__}"
        raise BadCheckpoint(f"{path}: not a network for {game!r} ({version}): {error}") from error


def _check_arrays(
    arrays: weight_files.Arrays, size: Size, game: Game
) -> dict[str, NDArray[np.float32]]:
    """Return the arrays, float32 or float16, of a network of this size in float32.

    Raises BadCheckpoint if they do not fit.
    """
    # The size is untrusted, and the time for the shapes grows with it.
    if 4 * size.blocks > len(arrays):
        raise BadCheckpoint(f"{len(arrays)} arrays are too few for {size.blocks} blocks")
    shapes = array_shapes(size, game.observation_shape[0])
    if unknown := arrays.keys() - shapes.keys():
        raise BadCheckpoint(f"a network of this size has no array {format_list(sorted(unknown))}")
    single = {
        name: array.astype(np.float32) if array.dtype == np.float16 else array
        for name, array in arrays.items()
    }
    checked = {
        name: weight_files.checked_array(single, name, shape, np.float32)
        for name, shape in shapes.items()
    }
    for name, array in checked.items():
        if not np.isfinite(array).all():
            raise BadCheckpoint(f"{name} has values that are not finite")
    return checked


def _game_identity(game: Game) -> dict[str, Any]:
    """Return the environment id and the options of a game, for headers."""
    return {"environment": rules_id(game.name), "options": dict(game.options)}


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
