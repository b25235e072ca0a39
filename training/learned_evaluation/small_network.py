"""The small network of a learned evaluation in floating point, for training, and its quantization.

`cc_env.learned_evaluation.network` describes the architecture. In training each cell of a window
also has weights of its own, which all states of the window share; the quantized weights are the
sums. Activations are those of the quantized network divided by FIRST_SCALE. The output is a logit
of the expected result, which is SCALE / 2 points.

Shapes: N positions, B positions of a batch, S sets, W windows, WIDTH and UNITS layer sizes.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from agents.weight_files import AnyArray, checked_array
from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.grid import Grid
from cc_env.core.rules import Position
from cc_env.core.symmetry import Symmetry
from cc_env.errors import BadCheckpoint, BadNetwork
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.learned_evaluation.network import (
    CELLS,
    FIRST_SCALE,
    MAX_ACTIVATION,
    SECOND_SHIFT,
    STATES,
    THIRD_SHIFT,
    UNITS,
    WIDTH,
    IntegerNetwork,
    align,
)
from cc_env.search.scores import SCALE
from training.selfplay.search_games import SearchGames, evaluate_positions

# Offsets of a window's cells from its first cell.
_WINDOW_OFFSETS = np.array([0, 1, 8, 9])
# Contribution of an own piece in each cell to the state of a window; an enemy counts twice.
_STATE_WEIGHTS = torch.tensor([1.0, 3, 9, 27])
_MAX_ACTIVATION = MAX_ACTIVATION / FIRST_SCALE
# Quantized weight of the third layer for 1.0.
_THIRD_UNIT = SCALE / 2 * (1 << THIRD_SHIFT) / FIRST_SCALE
# Maximum sum of the first layer and maximum weights of the others, just within `check`'s limits.
_MAX_FIRST_SUM = 0.98 * 2**15 / FIRST_SCALE
_MAX_SECOND_WEIGHT = 0.98 * min(2**15, 2**31 / MAX_ACTIVATION / (WIDTH + 1)) / (1 << SECOND_SHIFT)
_MAX_THIRD_WEIGHT = 0.98 * 2**31 / MAX_ACTIVATION / (UNITS + 1) / _THIRD_UNIT

Integer = TypeVar("Integer", bound=np.signedinteger[Any])


class Sample(NamedTuple):
    """Positions at the start of turns, game after game; all values are for the player to move.

    `base` is the game's default evaluation. `targets` are expected results and `results` those of
    the game, 0 to 1. `games` are numbers of games, from 0.
    """

    inputs: NDArray[np.uint64]  # [N, S]
    base: NDArray[np.int32]  # [N]
    targets: NDArray[np.float32]  # [N]
    results: NDArray[np.float32]  # [N]
    games: NDArray[np.int32]  # [N]


class SmallNetwork(nn.Module):
    """The network in floating point; untrained, its output is 0.

    `_first_states` has the row of each window's first state, `_state_weights` the contribution of
    each bit of the first two sets to a window's state.
    """

    _first_states: Tensor  # [W]
    _state_weights: Tensor  # [2 * CELLS, W]

    def __init__(self, sets: int, windows: NDArray[np.int64]) -> None:
        """Create a network for a number of sets, and windows with these first cells, int64[W]."""
        super().__init__()
        self.windows = windows
        weights = torch.zeros(2 * CELLS, len(windows))
        for window, cells in enumerate(windows[:, None] + _WINDOW_OFFSETS):
            weights[cells, window] = _STATE_WEIGHTS
            weights[CELLS + cells, window] = 2 * _STATE_WEIGHTS
        self.register_buffer("_first_states", torch.arange(len(windows)) * STATES, persistent=False)
        self.register_buffer("_state_weights", weights, persistent=False)
        self.cells = nn.Linear(sets * CELLS, WIDTH)
        self.states = nn.EmbeddingBag(max(1, len(windows)) * STATES, WIDTH, mode="sum")
        self.second = nn.Linear(WIDTH, UNITS)
        self.third = nn.Linear(UNITS, 1)
        nn.init.zeros_(self.states.weight)
        nn.init.zeros_(self.third.weight)
        nn.init.zeros_(self.third.bias)

    def forward(self, bits: Tensor) -> Tensor:
        """Return logits float32[B] for the bits of the sets, uint8[B, S * CELLS]."""
        numbers = bits.float()
        sums = self.cells(numbers)
        if len(self.windows):
            # Small integers are exact in floating point.
            states = (numbers[:, : 2 * CELLS] @ self._state_weights).long()  # [B, W]
            sums = sums + self.states(states + self._first_states)
        units = self.second(sums.clamp(0, _MAX_ACTIVATION)).clamp(0, _MAX_ACTIVATION)
        return self.third(units)[:, 0]  # type: ignore[no-any-return]

    @torch.no_grad()
    def clear_inputs(self, bits: Tensor) -> None:
        """Set the weights of these input bits, bool[S * CELLS], to 0."""
        self.cells.weight[:, bits] = 0

    @torch.no_grad()
    def keep_in_range(self) -> None:
        """Shrink weights so that no sum of the quantized network can overflow."""
        states = self.states.weight.view(-1, STATES, WIDTH)
        # The quantized bias will include the state of empty windows.
        empty = states[:, 0]
        bias = (self.cells.bias + empty.sum(0)).abs()
        worst = (states - empty[:, None]).abs().amax(1).sum(0) + bias  # [WIDTH]
        worst += self.cells.weight.abs().sum(1)
        factors = (_MAX_FIRST_SUM / worst).clamp(max=1)
        self.states.weight.mul_(factors)
        self.cells.weight.mul_(factors[:, None])
        self.cells.bias.mul_(factors)
        for layer, limit in ((self.second, _MAX_SECOND_WEIGHT), (self.third, _MAX_THIRD_WEIGHT)):
            layer.weight.clamp_(-limit, limit)
            layer.bias.clamp_(-limit, limit)


@torch.no_grad()
def dequantize(network: IntegerNetwork, sets: int) -> SmallNetwork:
    """Return the network in floating point, for S sets; `quantize` returns the same weights."""
    result = SmallNetwork(sets, network.windows.astype(np.int64))
    cells = np.zeros((sets * CELLS, WIDTH))
    known_cells = network.cells.reshape(-1, WIDTH) / FIRST_SCALE
    cells[: len(known_cells)] = known_cells
    pairs = network.second.reshape(WIDTH // 2, UNITS, 2).transpose(1, 0, 2)
    values = {
        "cells.weight": cells.T,
        "cells.bias": network.first_bias / FIRST_SCALE,
        "second.weight": pairs.reshape(UNITS, WIDTH) / (1 << SECOND_SHIFT),
        "second.bias": network.second_bias / (FIRST_SCALE << SECOND_SHIFT),
        "third.weight": network.third[None] / _THIRD_UNIT,
        "third.bias": np.array([network.third_bias / (_THIRD_UNIT * FIRST_SCALE)]),
    }
    # Without windows, the network has unused rows of states.
    if len(network.windows):
        values["states.weight"] = network.states.reshape(-1, WIDTH) / FIRST_SCALE
    weights = {name: torch.from_numpy(value.copy()) for name, value in values.items()}
    result.load_state_dict(weights, strict=False)
    return result


def find_windows(grid: Grid) -> NDArray[np.int64]:
    """Return the first cells of all windows, int64[W].

    A window is a square of four cells. Only boards that use all their cells, in rows of eight bits,
    have windows.
    """
    bits = grid.bits
    squares = {
        bit: [bits.get((row + down, column + right), -1) for down in (0, 1) for right in (0, 1)]
        for (row, column), bit in bits.items()
    }
    firsts = [bit for bit, square in squares.items() if square == (bit + _WINDOW_OFFSETS).tolist()]
    covered = {bit for first in firsts for bit in squares[first]}
    return np.array(sorted(firsts) if covered == set(bits.values()) else [], np.int64)


def permutation(symmetry: Symmetry, grid: Grid, sets: int) -> NDArray[np.int64]:
    """Return the source of each bit under a symmetry, int64[S * CELLS].

    The bits of the transformed position are `bits[:, permutation]`; unused bits stay in place.
    """
    bits = np.full(grid.rows * grid.columns, -1)
    for (row, column), bit in grid.bits.items():
        bits[row * grid.columns + column] = bit
    source = np.arange(CELLS)
    is_used = bits >= 0
    source[bits[is_used]] = bits[symmetry.cells][is_used]
    return (CELLS * np.arange(sets)[:, None] + source).ravel()


def quantize(network: SmallNetwork) -> IntegerNetwork:
    """Return the quantized network; raise BadNetwork for a weight beyond its integer type."""
    state = {name: value.cpu().double().numpy() for name, value in network.state_dict().items()}
    cells = state["cells.weight"].T.copy()  # [S * CELLS, WIDTH]
    states = state["states.weight"].reshape(-1, STATES, WIDTH)[: len(network.windows)]
    if len(network.windows):
        states = states + _distribute_over_states(network.windows, cells[: 2 * CELLS])
        cells[: 2 * CELLS] = 0
    states = _scale_and_round(states, FIRST_SCALE).reshape(-1, STATES, WIDTH)
    bias = _scale_and_round(state["cells.bias"], FIRST_SCALE) + states[:, 0].sum(0)
    # The bias includes the state of empty windows.
    states -= states[:, :1]
    if not cells.any():
        cells = cells[:0]
    pairs = state["second.weight"].T.reshape(WIDTH // 2, 2, UNITS).transpose(0, 2, 1)
    second_bias = _scale_and_round(state["second.bias"], FIRST_SCALE << SECOND_SHIFT)
    third_bias = _scale_and_round(state["third.bias"], _THIRD_UNIT * FIRST_SCALE)
    return align(
        IntegerNetwork(
            windows=network.windows.astype(np.uint64),
            cells=_as_integers(_scale_and_round(cells, FIRST_SCALE), np.int16),
            states=_as_integers(states.ravel(), np.int16),
            first_bias=_as_integers(bias, np.int16),
            second=_as_integers(_scale_and_round(pairs, 1 << SECOND_SHIFT), np.int16),
            second_bias=_as_integers(second_bias, np.int32),
            third=_as_integers(_scale_and_round(state["third.weight"], _THIRD_UNIT), np.int32),
            third_bias=_as_integers(third_bias, np.int64)[0],
        )
    )


def _distribute_over_states(
    windows: NDArray[np.int64], cells: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Distribute the weights of cells, float64[2 * CELLS, WIDTH], over the states of windows.

    Windows that contain a cell get equal shares of its weights. Returns float64[W, STATES, WIDTH].
    """
    window_cells = windows[:, None] + _WINDOW_OFFSETS  # [W, 4]
    windows_per_cell = np.bincount(window_cells.ravel(), minlength=CELLS)
    digits = np.arange(STATES)[:, None] // 3 ** np.arange(4) % 3  # [STATES, 4]
    divisors = windows_per_cell[window_cells][..., None]
    own = cells[window_cells] / divisors
    enemy = cells[CELLS + window_cells] / divisors
    shares = np.zeros((len(windows), STATES, WIDTH))
    for kind, share in ((1, own), (2, enemy)):
        shares += np.einsum("sc,wcl->wsl", digits == kind, share)
    return shares


def _scale_and_round(values: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return the scaled values rounded to integers, flattened."""
    return np.rint(values * scale).ravel()


def _as_integers(values: NDArray[np.float64], dtype: type[Integer]) -> NDArray[Integer]:
    """Return whole numbers as integers; raise BadNetwork if one is beyond their type."""
    worst, limit = float(np.abs(values).max(initial=0)), np.iinfo(dtype).max
    if worst > limit:
        raise BadNetwork(f"a quantized weight is {worst:.3g}; expected: at most {limit:,}")
    return values.astype(dtype)


def extract_sample(game: Game, games: SearchGames) -> Sample:
    """Return the positions at the start of turns, with network inputs and default evaluations."""
    rows = games.turn_starts
    positions = games.positions[rows]
    inputs = np.zeros((len(positions), len(rules.network_inputs(game.initial))), np.uint64)
    _write_inputs(game.initial, positions, inputs)
    base = evaluate_positions(game, game.evaluation(), positions).astype(np.int32)
    return Sample(inputs, base, games.targets[rows], games.results[rows], games.games[rows])


@jit(nogil=True)
def _write_inputs(
    like: Position, positions: NDArray[np.uint64], inputs: NDArray[np.uint64]
) -> None:
    """Write the network inputs of each position."""
    positions, inputs = as_raw(positions), as_raw(inputs)
    for row in range(len(positions)):
        position = rules.load(positions[row], like)
        sets = rules.network_inputs(position)
        for index in range(len(sets)):
            inputs[row, index] = sets[index]


def select_rows(sample: Sample, rows: slice | NDArray[np.int64]) -> Sample:
    """Return the positions in a slice or at an array of rows, int64[N]."""
    parts: list[Any] = [part[rows] for part in sample]
    return Sample(*parts)


def concatenate(samples: list[Sample]) -> Sample:
    """Concatenate samples and number their games consecutively."""
    offsets = np.cumsum([0, *(sample.games.max(initial=-1) + 1 for sample in samples[:-1])])
    numbered = [
        sample._replace(games=(sample.games + offset).astype(np.int32))
        for sample, offset in zip(samples, offsets, strict=True)
    ]
    return Sample(*map(np.concatenate, zip(*numbered, strict=True)))


def empty_sample(sets: int) -> Sample:
    """Return an empty sample for a number of sets."""
    return Sample(
        np.zeros((0, sets), np.uint64),
        np.zeros(0, np.int32),
        np.zeros(0, np.float32),
        np.zeros(0, np.float32),
        np.zeros(0, np.int32),
    )


def read_sample(arrays: Mapping[str, AnyArray], network: SmallNetwork) -> Sample:
    """Return the arrays sample.NAME of a checkpoint as the sample of a network.

    Raises BadCheckpoint if they are not, or do not belong together.
    """
    count = len(arrays.get("sample.base", ()))
    like = empty_sample(network.cells.in_features // CELLS)
    parts: dict[str, Any] = {
        name: checked_array(arrays, f"sample.{name}", (count, *part.shape[1:]), part.dtype)
        for name, part in like._asdict().items()
    }
    sample = Sample(**parts)
    if not ((sample.targets >= 0) & (sample.targets <= 1)).all():
        raise BadCheckpoint("sample.targets is not between 0 and 1")
    if not np.isin(sample.results, (0, 0.5, 1)).all():
        raise BadCheckpoint("sample.results has invalid values; expected: 0, 0.5 or 1")
    if len(network.windows) and (sample.inputs[:, 0] & sample.inputs[:, 1]).any():
        raise BadCheckpoint("sample.inputs has two pieces on a cell")
    is_draw, steps = sample.results == 0.5, np.diff(sample.games)
    if (sample.games < 0).any() or (steps < 0).any():
        raise BadCheckpoint("sample.games is not ascending from 0 or more")
    if (np.diff(is_draw) & (steps == 0)).any():
        raise BadCheckpoint("sample.results has different results of a game")
    return sample
