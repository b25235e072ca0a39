"""Quantized convolutions are compared with sums in NumPy."""

import numpy as np
import pytest

from agents import convolutions
from agents.convolutions import MAX_BLOCK, sum_products
from cc_env.jit.compiler import jit
from cc_env.jit.matrix_units import request_matrix_units
from cc_env.jit.simd import FLOAT_LANES

ROWS, COLUMNS, REACH = 3, 4, 2
CELLS = ROWS * COLUMNS


@jit
def sum_all_products(layers, quantized, sums, result):
    """Write the sums of products of all blocks and cells to result [L, B, S, MAX_BLOCK, lanes]."""
    convolutions.begin_products(layers)
    for index in range(result.shape[0]):
        for block in range(result.shape[1]):
            for cell in range(result.shape[2]):
                sum_products(layers, index, block, cell, quantized, sums)
                result[index, block, cell] = sums
    convolutions.end_products(layers)


def sum_tile_products_in_numpy(layers, quantized, result):
    """Write what matrix units compute, for processors without them."""
    weights = layers.weights.view(np.int8).astype(np.int64)
    features = quantized.view(np.uint8).astype(np.int64).reshape(CELLS, -1, 16, FLOAT_LANES, 4)
    size = weights.shape[4]
    weights = weights.reshape(*weights.shape[:4], size, 16, 4)
    for cell in range(CELLS):
        for index, source in layers.taps[layers.begins[cell] : layers.begins[cell + 1]]:
            result[:, :, cell, :size] += np.einsum(
                "lbprgk,pgnk->lbrn", weights[:, :, index], features[source], dtype=np.int64
            ).astype(np.int32)


def make_layers(inputs, outputs, has_tiles):
    """Return levels int8[2, O, I, 9], scales and biases [2, O], and layers that have them."""
    rng = np.random.default_rng(0)
    levels = rng.integers(-127, 128, (2, outputs, inputs, 9), np.int8)
    # The largest weight of each output channel is that of the largest level.
    levels[:, :, 0, 0] = 127
    scales = rng.uniform(0.1, 2, (2, outputs)).astype(np.float32)
    weights = levels * scales[:, :, None, None]
    biases = rng.normal(size=(2, outputs)).astype(np.float32)
    taps = convolutions.square_taps(ROWS, COLUMNS, REACH)
    pairs = list(zip(weights, biases, strict=True))
    layers = convolutions.quantize(pairs, taps, has_tiles)
    return levels, scales, biases, layers


def sample_features(layers, inputs):
    """Return features uint8[CELLS, I, lanes] and the same in groups; padding has features, too."""
    groups = convolutions.input_groups(layers)
    rng = np.random.default_rng(1)
    padded = rng.integers(0, 128, (CELLS, groups, FLOAT_LANES, 4), np.uint8)
    features = padded.transpose(0, 1, 3, 2).reshape(CELLS, 4 * groups, FLOAT_LANES)
    return features[:, :inputs], padded.view(np.int32)[..., 0]


def expected_sums(levels, features):
    """Return the sums of a convolution with dilation, int64[2, O, S, lanes]."""
    board = features.astype(np.int64).reshape(ROWS, COLUMNS, -1, FLOAT_LANES)
    padded = np.pad(board, ((REACH, REACH), (REACH, REACH), (0, 0), (0, 0)))
    kernel = levels.astype(np.int64).reshape(*levels.shape[:3], 3, 3)
    sums = 0
    for down in range(3):
        for right in range(3):
            rows = slice(REACH * down, REACH * down + ROWS)
            columns = slice(REACH * right, REACH * right + COLUMNS)
            part = padded[rows, columns].reshape(CELLS, -1, FLOAT_LANES)
            sums = sums + np.einsum("xoi,sip->xosp", kernel[..., down, right], part)
    return sums


# The last two have several blocks with matrix units: 3 of 32 channels and 2 of 64.
SIZES = [(1, 1), (8, 24), (64, 64), (66, 40), (5, 70), (66, 128)]


@pytest.mark.parametrize("has_tiles", [False, True])
@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
def test_sums_of_products_match_numpy(inputs, outputs, has_tiles):
    levels, scales, biases, layers = make_layers(inputs, outputs, has_tiles)
    features, quantized = sample_features(layers, inputs)
    blocks = layers.weights.shape[1]
    size = layers.bias.shape[1] // blocks
    sums = np.zeros((MAX_BLOCK, FLOAT_LANES), np.int32)
    result = np.zeros((2, blocks, CELLS, MAX_BLOCK, FLOAT_LANES), np.int32)
    if has_tiles and not request_matrix_units():
        sum_tile_products_in_numpy(layers, quantized, result)
    else:
        sum_all_products(layers, quantized, sums, result)
    channels = result[:, :, :, :size].transpose(0, 1, 3, 2, 4).reshape(2, -1, CELLS, FLOAT_LANES)
    assert np.array_equal(channels[:, :outputs], expected_sums(levels, features))
    assert not channels[:, outputs:].any()
    np.testing.assert_allclose(layers.weight_scales[:, :outputs], scales, rtol=1e-6)
    assert np.array_equal(layers.bias[:, :outputs], biases)
