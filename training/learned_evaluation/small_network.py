"""The small network of a learned evaluation, as torch trains it, and as integers.

`cc_env.learned_evaluation.network` says what it is. In training each cell of a window has weights
of its own, too, so that what is learned of a cell in one state of a window counts in the others;
the integers have the sums. Units here are those of the integers by FIRST_UNIT, and what comes of
the network is in SCALE / 2 points: as a logit of the expected result.

Shapes: N positions, B of a batch, S sets, W windows; WIDTH and UNITS the units of the layers.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.grid import Grid
from cc_env.core.rules import Position
from cc_env.core.symmetry import Symmetry
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.learned_evaluation.network import (
    CELLS,
    FIRST_UNIT,
    MOST_ACTIVE,
    SECOND_SHIFT,
    STATES,
    THIRD_SHIFT,
    UNITS,
    WIDTH,
    IntegerNetwork,
    aligned,
)
from cc_env.search.scores import SCALE
from training.selfplay.search_games import Played

_CORNERS = np.array([0, 1, 8, 9])  # of a window, from its first cell
# What an own piece in each corner adds to the state of a window; an enemy adds twice as much.
_OWN = torch.tensor([1.0, 3, 9, 27])
_ACTIVE = MOST_ACTIVE / FIRST_UNIT
_POINTS = SCALE / 2 * (1 << THIRD_SHIFT) / FIRST_UNIT  # integers of the third layer for 1
# Bounds of the first layer's sums, and of weights of the others; a little less than `check` admits.
_FIRST = 0.98 * 2**15 / FIRST_UNIT
_SECOND = 0.98 * min(2**15, 2**31 / MOST_ACTIVE / (WIDTH + 1)) / (1 << SECOND_SHIFT)
_THIRD = 0.98 * 2**31 / MOST_ACTIVE / (UNITS + 1) / _POINTS


class Sample(NamedTuple):
    """Positions in which a turn began, game after game. Numbers are the player to move's."""

    inputs: NDArray[np.uint64]  # [N, S]
    base: NDArray[np.int32]  # [N]: what the game's first evaluation says
    targets: NDArray[np.float32]  # [N]: the result to expect, 0 to 1
    results: NDArray[np.float32]  # [N]: of the game: 0 a loss, 0.5 a draw, 1 a win
    games: NDArray[np.int32]  # [N]: the number of the game, from 0


class SmallNetwork(nn.Module):
    """The network in floating point; it adds nothing before it is trained."""

    _begins: Tensor  # [W]: the row of a window's first state
    _adds: Tensor  # [2 * CELLS, W]: what a bit of the first two sets adds to the state

    def __init__(self, sets: int, windows: NDArray[np.int64]) -> None:
        """Make a network of so many sets, and of windows with these first cells, int64[W]."""
        super().__init__()
        self.windows = windows
        adds = torch.zeros(2 * CELLS, len(windows))
        for window, corners in enumerate(windows[:, None] + _CORNERS):
            adds[corners, window] = _OWN
            adds[CELLS + corners, window] = 2 * _OWN
        self.register_buffer("_begins", torch.arange(len(windows)) * STATES, persistent=False)
        self.register_buffer("_adds", adds, persistent=False)
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
            states = (numbers[:, : 2 * CELLS] @ self._adds).long()  # [B, W]; small, so exact
            sums = sums + self.states(states + self._begins)
        units = self.second(sums.clamp(0, _ACTIVE)).clamp(0, _ACTIVE)
        return self.third(units)[:, 0]  # type: ignore[no-any-return]

    @torch.no_grad()
    def forget(self, bits: Tensor) -> None:
        """Set the weights of these bits to 0: bool[S * CELLS], those that never were set."""
        self.cells.weight[:, bits] = 0

    @torch.no_grad()
    def keep_in_range(self) -> None:
        """Make weights smaller where a sum of the integers could overflow."""
        states = self.states.weight.view(-1, STATES, WIDTH)
        empty = states[:, 0]  # goes into the bias, see `integers`
        bias = (self.cells.bias + empty.sum(0)).abs()
        worst = (states - empty[:, None]).abs().amax(1).sum(0) + bias  # [WIDTH]
        worst += self.cells.weight.abs().sum(1)
        factors = (_FIRST / worst).clamp(max=1)
        self.states.weight.mul_(factors)
        self.cells.weight.mul_(factors[:, None])
        self.cells.bias.mul_(factors)
        for layer, most in ((self.second, _SECOND), (self.third, _THIRD)):
            layer.weight.clamp_(-most, most)
            layer.bias.clamp_(-most, most)


def windows_of(grid: Grid) -> NDArray[np.int64]:
    """Return the first cells of all windows, int64[W].

    A window is four cells in a square, with bits as in the network. Only boards whose cells are all
    in use, in rows of eight bits, have windows.
    """
    bits = grid.bits
    squares = {
        bit: [bits.get((row + down, column + right), -1) for down in (0, 1) for right in (0, 1)]
        for (row, column), bit in bits.items()
    }
    firsts = [bit for bit, square in squares.items() if square == (bit + _CORNERS).tolist()]
    covered = {bit for first in firsts for bit in squares[first]}
    return np.array(sorted(firsts) if covered == set(bits.values()) else [], np.int64)


def permutation(symmetry: Symmetry, grid: Grid, sets: int) -> NDArray[np.int64]:
    """Return where a symmetry takes the bits of sets from, int64[S * CELLS].

    The sets of a position's image are `bits[:, permutation]`; other bits stay where they are.
    """
    places = np.full(grid.rows * grid.columns, -1)
    for (row, column), bit in grid.bits.items():
        places[row * grid.columns + column] = bit
    comes_from = np.arange(CELLS)
    in_use = places >= 0
    comes_from[places[in_use]] = places[symmetry.cells][in_use]
    return (CELLS * np.arange(sets)[:, None] + comes_from).ravel()


def integers(network: SmallNetwork) -> IntegerNetwork:
    """Return the network in integers."""
    state = {name: value.cpu().double().numpy() for name, value in network.state_dict().items()}
    cells = state["cells.weight"].T.copy()  # [S * CELLS, WIDTH]
    states = state["states.weight"].reshape(-1, STATES, WIDTH)[: len(network.windows)]
    if len(network.windows):
        states = states + _of_cells(network.windows, cells[: 2 * CELLS])
        cells[: 2 * CELLS] = 0
    states = _rounded(states, FIRST_UNIT).reshape(-1, STATES, WIDTH)
    bias = _rounded(state["cells.bias"], FIRST_UNIT) + states[:, 0].sum(0)
    states -= states[:, :1]  # what empty windows add is in the bias
    if not cells.any():
        cells = cells[:0]
    pairs = state["second.weight"].T.reshape(WIDTH // 2, 2, UNITS).transpose(0, 2, 1)
    return aligned(
        IntegerNetwork(
            windows=network.windows.astype(np.uint64),
            cells=_rounded(cells, FIRST_UNIT).astype(np.int16),
            states=states.ravel().astype(np.int16),
            first_bias=bias.astype(np.int16),
            second=_rounded(pairs, 1 << SECOND_SHIFT).astype(np.int16),
            second_bias=_rounded(state["second.bias"], FIRST_UNIT << SECOND_SHIFT).astype(np.int32),
            third=_rounded(state["third.weight"], _POINTS).astype(np.int32),
            third_bias=np.int64(_rounded(state["third.bias"], _POINTS * FIRST_UNIT)[0]),
        )
    )


def _of_cells(windows: NDArray[np.int64], cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the weights of cells, float64[2 * CELLS, WIDTH], add to states of windows.

    Each cell is shared equally by the windows that it is in. Returns float64[W, STATES, WIDTH].
    """
    corners = windows[:, None] + _CORNERS  # [W, 4]
    often = np.bincount(corners.ravel(), minlength=CELLS)
    digits = np.arange(STATES)[:, None] // 3 ** np.arange(4) % 3  # [STATES, 4]
    own, enemy = (cells[part * CELLS :][corners] / often[corners][..., None] for part in (0, 1))
    shares = np.zeros((len(windows), STATES, WIDTH))
    for kind, share in ((1, own), (2, enemy)):
        shares += np.einsum("sc,wcl->wsl", digits == kind, share)
    return shares


def _rounded(values: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
    return np.rint(values * unit).ravel()


def sample_of(game: Game, played: Played) -> Sample:
    """Return what a network learns from these games."""
    rows = played.begins
    positions = played.positions[rows]
    inputs = np.zeros((len(positions), len(rules.network_inputs(game.initial))), np.uint64)
    base = np.zeros(len(positions), np.int32)
    _look(game.initial, positions, game.evaluation(), inputs, base)
    return Sample(inputs, base, played.targets[rows], played.results[rows], played.games[rows])


@jit(nogil=True)
def _look(
    like: Position,
    positions: NDArray[np.uint64],
    evaluation: Any,
    inputs: NDArray[np.uint64],
    base: NDArray[np.int32],
) -> None:
    positions, inputs, base = as_raw(positions), as_raw(inputs), as_raw(base)
    for row in range(len(positions)):
        position = rules.load(positions[row], like)
        sets = rules.network_inputs(position)
        for place in range(len(sets)):
            inputs[row, place] = sets[place]
        base[row] = rules.evaluate(position, rules.to_move(position), evaluation)


def picked(sample: Sample, rows: Any) -> Sample:
    """Return some positions: a slice, or an array of their rows."""
    return Sample(*(part[rows] for part in sample))


def joined(samples: list[Sample]) -> Sample:
    """Return the positions of several samples, one after the other, with games numbered through."""
    begins = np.cumsum([0, *(sample.games.max(initial=-1) + 1 for sample in samples[:-1])])
    numbered = [
        sample._replace(games=(sample.games + begin).astype(np.int32))
        for sample, begin in zip(samples, begins, strict=True)
    ]
    return Sample(*map(np.concatenate, zip(*numbered, strict=True)))


def empty(sets: int) -> Sample:
    """Return a sample without positions, of so many sets."""
    numbers = np.zeros(0, np.float32), np.zeros(0, np.float32)
    return Sample(
        np.zeros((0, sets), np.uint64), np.zeros(0, np.int32), *numbers, np.zeros(0, np.int32)
    )
