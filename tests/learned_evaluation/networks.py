"""Networks with random weights, and a plain computation of their corrections."""

import numpy as np

from cc_env.core.rules import network_inputs
from cc_env.learned_evaluation.network import (
    CELLS,
    FIRST_SCALE,
    MAX_ACTIVATION,
    MAX_CORRECTION,
    SECOND_SHIFT,
    STATES,
    THIRD_SHIFT,
    UNITS,
    WIDTH,
    IntegerNetwork,
    align,
)


def random_network(rng, windows=(), sets=2):
    """Return weights of the usual size: units are often active, and sometimes clipped."""

    def sample(count, spread, kind):
        return rng.normal(0, spread, count).round().astype(kind)

    states = sample(len(windows) * STATES * WIDTH, FIRST_SCALE, np.int16)
    states.reshape(-1, STATES, WIDTH)[:, 0] = 0
    return align(
        IntegerNetwork(
            windows=np.array(windows, np.uint64),
            cells=sample(sets * CELLS * WIDTH, FIRST_SCALE, np.int16),
            states=states,
            first_bias=sample(WIDTH, FIRST_SCALE, np.int16),
            second=sample(WIDTH * UNITS, 1 << (SECOND_SHIFT - 2), np.int16),
            second_bias=sample(UNITS, FIRST_SCALE << SECOND_SHIFT, np.int32),
            third=sample(UNITS, 1000, np.int32),
            third_bias=np.int64(rng.integers(-(2**16), 2**16)),
        )
    )


def plain_correction(position, network):
    """Return the correction of a network, computed in 64-bit integers."""
    sets = [int(word) for word in network_inputs(position)]
    cells = network.cells.astype(np.int64).reshape(-1, CELLS, WIDTH)
    states = network.states.astype(np.int64).reshape(-1, STATES, WIDTH)
    first = network.first_bias.astype(np.int64)
    for number, rows in enumerate(cells):
        first = first + sum(rows[cell] for cell in range(CELLS) if sets[number] >> cell & 1)
    for window, rows in zip(network.windows.tolist(), states, strict=True):
        state = 0
        for digit, cell in zip((1, 3, 9, 27), (0, 1, 8, 9), strict=True):
            state += digit * (sets[0] >> window + cell & 1) if window + cell < CELLS else 0
            state += digit * 2 * (sets[1] >> window + cell & 1) if window + cell < CELLS else 0
        first = first + rows[state]
    active = np.clip(first, 0, MAX_ACTIVATION)
    # The weights of each pair of lanes for each unit, [WIDTH // 2, UNITS, 2].
    pairs = network.second.astype(np.int64).reshape(WIDTH // 2, UNITS, 2)
    second = np.einsum("pl,pul->u", active.reshape(WIDTH // 2, 2), pairs)
    second = np.clip((second + network.second_bias) >> SECOND_SHIFT, 0, MAX_ACTIVATION)
    total = int(second @ network.third.astype(np.int64)) + int(network.third_bias)
    return min(max(total >> THIRD_SHIFT, -MAX_CORRECTION), MAX_CORRECTION)
