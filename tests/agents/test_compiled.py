"""Compiled networks are compared with torch."""

import copy
import json
import os
import pickle
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import torch
from torch.nn.functional import conv2d

from agents import inference, network
from agents.convolutions import VectorConvolutions
from agents.evaluator import Evaluator
from agents.inference import CompiledNetwork
from agents.network import Network, TorchNetwork, load
from agents.network_weights import Size, array_shapes
from agents.shipped_weights import CONFIG, NETWORK, WEIGHTS
from cc_env.cli.warmup import warmup_tasks
from cc_env.errors import TrainingDiverged
from cc_env.games.factory import make_game
from cc_env.jit.matrix_units import request_matrix_units
from cc_env.registry.catalogue import GAMES

SHIPPED = sorted(path.parent for path in WEIGHTS.glob(f"*/*/{NETWORK}"))
BOARDS = [
    *((name, {}) for name in GAMES),
    ("capture_conquer", {"size": 4}),
    ("capture_conquer", {"size": 5}),
    ("capture_conquer", {"size": 8}),
    ("cannon", {"rows": 10, "columns": 10}),
]
SIZES = [
    Size(blocks=1, channels=1, keys=1, reach=3),
    Size(blocks=2, channels=5, keys=3, reach=1),
    Size(blocks=1, channels=19, keys=7, reach=2),
    Size(blocks=3, channels=66, keys=32, reach=4),
]


def sample_planes(game, count):
    """Return the planes of positions of random games, int8[count, C, H, W]."""
    rng, position, planes = np.random.default_rng(0), game.initial, []
    while len(planes) < count:
        planes.append(game.observe(position))
        actions = game.legal_actions(position)
        position = game.apply(position, rng.choice(actions)) if len(actions) else game.initial
    return np.array(planes)


def random_network(game, size):
    """Return a network with random weights, including those that are initially 0."""
    torch.manual_seed(0)
    model = Network(game, size)
    with torch.no_grad():
        for block in model.tower:
            block.second.weight.normal_(0, 0.2 / size.channels**0.5)
            block.second.bias.normal_(0, 0.2)
    return model


def compile_network(model):
    """Return a network as compiled code."""
    return CompiledNetwork(model.to_weights())


def rounded_weights(layer):
    """Return the weights of a layer, rounded to 8 bits for each output channel."""
    weights = layer.weight.double().flatten(1)
    steps = weights.abs().amax(1, keepdim=True).clamp(min=1e-30) / 127
    return ((weights / steps).round() * steps).view_as(layer.weight)


def rounded_features(cells):
    """Return the features of each position, rounded to 127ths of their maximum."""
    steps = cells.flatten(1).amax(1).clamp(min=1e-30)[:, None, None, None] / 127
    return torch.floor(cells / steps + 0.5) * steps


def outputs_with_rounding(model, planes):
    """Return logits and values of a network in float64 with rounded weights and features."""

    def convolve(layer, cells):
        positive, negative = rounded_features(torch.cat((cells, -cells), 1).relu()).chunk(2, 1)
        options = {"padding": layer.padding, "dilation": layer.dilation}
        bias = layer.bias.double()
        return conv2d(positive - negative, rounded_weights(layer), bias, **options)

    cells = convolve(model.stem, torch.from_numpy(planes).double()).relu()
    for block in model.tower:
        inner = convolve(block.first, cells).relu()
        cells = (cells + convolve(block.second, inner)).relu()
    cells = cells.flatten(2).transpose(1, 2)
    mean = cells.mean(1, keepdim=True)
    whole = torch.cat((mean[:, 0], cells.amax(1)), 1)
    every = rounded_features(torch.cat((cells, mean), 1)[:, None])[:, 0]
    view, value = model.view.double(), model.value.double()
    keys = every @ rounded_weights(model.keys).T + model.keys.bias + view(whole)[:, None]
    starts, ends = keys.chunk(2, -1)
    logits = torch.bmm(starts, ends.transpose(1, 2)).flatten(1)[:, model.pairs]
    return logits * model.size.keys**-0.5, torch.tanh(value(whole)[:, 0])


def check_rounded_outputs(model, planes):
    """Check logits and values against the same rounding in float64."""
    logits, values = compile_network(model)(planes)
    assert (logits.dtype, values.dtype) == (np.float32, np.float32)
    with torch.no_grad():
        expected_logits, expected_values = outputs_with_rounding(copy.deepcopy(model), planes)
    check_close(logits, expected_logits.numpy())
    check_close(values, expected_values.numpy())


def check_close(actual, expected):
    """Check that outputs [B, ...] are nearly equal.

    A feature halfway between two levels may be rounded up by one and down by the other, so a few
    features differ by a level.
    """
    differences = np.abs(actual - expected).reshape(len(actual), -1).max(1)
    differences /= max(1, np.abs(expected).max())
    assert np.median(differences) < 1e-3
    assert differences.max() < 0.02


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_shipped_networks_match_torch(folder):
    config = json.loads((folder / CONFIG).read_text())
    game = make_game(config["game"], **config["options"])
    model, planes = load(folder / NETWORK, game)[0], sample_planes(game, 50)
    logits, values = compile_network(model)(planes)
    with torch.no_grad():
        expected_logits, expected_values = model(torch.from_numpy(planes).float())
    assert np.abs(values - expected_values.numpy()).mean() < 0.015
    errors = np.abs(logits - expected_logits.numpy())
    assert errors.mean() < 0.03 * float(expected_logits.std())


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.channels}-channels")
@pytest.mark.parametrize(("name", "options"), BOARDS)
def test_networks_of_all_sizes_match_the_rounded_computation(name, options, size):
    game = make_game(name, **options)
    check_rounded_outputs(random_network(game, size), sample_planes(game, 21))


def test_untrained_network_matches_torch(game):
    torch.manual_seed(0)
    model, planes = Network(game, Size(blocks=2, channels=8, keys=4)), sample_planes(game, 20)
    check_rounded_outputs(model, planes)
    check_rounded_outputs(model, np.zeros_like(planes[:1]))


@pytest.mark.parametrize("name", ["capture_conquer", "checkers"])
def test_features_of_earlier_positions_have_no_influence(name):
    game = make_game(name)
    compiled = compile_network(random_network(game, SIZES[1]))
    planes = sample_planes(game, 20)
    expected_logits, expected_values = compiled(planes)
    # Positions in the same vectors, and in vectors before, with features 127 times as large.
    large = np.minimum(planes.astype(np.int64) * 127, 127).astype(np.int8)
    logits, values = compiled(np.concatenate((large, planes)))
    assert np.array_equal(logits[20:], expected_logits)
    assert np.array_equal(values[20:], expected_values)


def test_outputs_that_are_not_finite_are_rejected(game):
    model = random_network(game, SIZES[1])
    with torch.no_grad():
        for block in model.tower:
            block.first.weight.fill_(1e30)
            block.second.weight.fill_(1e30)
    with pytest.raises(TrainingDiverged, match="the outputs of the network are not finite"):
        Evaluator(model)(sample_planes(game, 3))


def test_planes_may_be_any_int8(game):
    planes = np.random.default_rng(0).integers(-128, 128, (20, 4, 6, 6), np.int8)
    check_rounded_outputs(random_network(game, SIZES[2]), planes)
    planes[:] = -1
    check_rounded_outputs(random_network(game, SIZES[2]), planes[:1])


@pytest.fixture(scope="module")
def compiled(game):
    return compile_network(random_network(game, SIZES[2]))


def test_output_is_independent_of_the_batch(game, compiled):
    planes = sample_planes(game, 70)
    logits, values = compiled(planes)
    for begin, end in ((0, 1), (3, 5), (7, 22), (7, 23), (7, 24), (20, 70), (5, 5)):
        part = compiled(planes[begin:end])
        assert np.array_equal(part[0], logits[begin:end])
        assert np.array_equal(part[1], values[begin:end])
    order = np.random.default_rng(1).permutation(70)
    assert np.array_equal(compiled(planes[order])[0], logits[order])


def test_concurrent_calls_give_the_same_output(game, compiled):
    planes = sample_planes(game, 40)
    logits, values = compiled(planes)
    barrier = Barrier(4)

    def evaluate_repeatedly(_):
        barrier.wait()
        return [compiled(planes) for _ in range(5)]

    with ThreadPoolExecutor(4) as pool:
        for outputs in pool.map(evaluate_repeatedly, range(4)):
            for other_logits, other_values in outputs:
                assert np.array_equal(other_logits, logits)
                assert np.array_equal(other_values, values)


def test_two_networks_do_not_share_buffers(game, compiled):
    planes, other = sample_planes(game, 20), compile_network(random_network(game, SIZES[1]))
    before = compiled(planes)[0], other(planes)[0]
    for _ in range(3):
        assert np.array_equal(compiled(planes)[0], before[0])
        assert np.array_equal(other(planes)[0], before[1])


def test_planes_of_another_shape_are_rejected(game, compiled):
    with pytest.raises(
        ValueError, match=r"planes\(2, 4, 6, 7\); expected: \(any number, 4, 6, 6\)"
    ):
        compiled(np.zeros((2, 4, 6, 7), np.int8))
    with pytest.raises(ValueError, match=r"planes\(4, 6, 6\); expected"):
        compiled(np.zeros((4, 6, 6), np.int8))


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["stem.weight", "tower.1.second.bias", "value.2.weight"])
def test_non_finite_weights_are_rejected(game, name, number):
    model = random_network(game, SIZES[1])
    model.state_dict()[name].view(-1)[0] = number
    with pytest.raises(
        TrainingDiverged, match=f"{name} of the network has values that are not finite"
    ):
        Evaluator(model)


SCRIPT = """
import sys, numpy
from pathlib import Path
from cc_env.jit.simd import ACCUMULATORS
from agents.inference import CompiledNetwork
from agents.network_weights import load_weights
from cc_env.games.factory import make_game

assert ACCUMULATORS == 4 and "torch" not in sys.modules
game = make_game("capture_conquer")
compiled = CompiledNetwork(load_weights(Path(sys.argv[1]), game)[0])(numpy.load(sys.argv[2]))
numpy.savez(sys.argv[3], *compiled)
"""
GENERIC = {"NUMBA_CPU_NAME": "generic"}
# Settings of numba for processors with fewer instructions.
OTHER_PROCESSORS = [
    GENERIC | {"NUMBA_CPU_FEATURES": "+avx,+avx2,+fma"},
    GENERIC | {"NUMBA_CPU_FEATURES": "+avx,+avx2,+fma,+avxvnni"},
    GENERIC | {"NUMBA_CPU_FEATURES": "+avx,+avx2"},
    GENERIC | {"NUMBA_CPU_FEATURES": ""},
    {"NUMBA_ENABLE_AVX": "0"},
]


@pytest.mark.slow
@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the features are those of x86 processors"
)
@pytest.mark.parametrize("settings", OTHER_PROCESSORS)
def test_other_processors_give_the_same_output(game, tmp_path, settings):
    has_avxvnni = torch.cpu.get_capabilities().get("avx_vnni")
    if "avxvnni" in settings.get("NUMBA_CPU_FEATURES", "") and not has_avxvnni:
        pytest.skip("the processor lacks AVX-VNNI")
    planes, output = sample_planes(game, 20), tmp_path / "output.npz"
    np.save(tmp_path / "planes.npy", planes)
    model = random_network(game, SIZES[2])
    network.save(tmp_path / "network", model, game, {})
    files = tmp_path / "network", tmp_path / "planes.npy", output
    subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, files)],
        cwd=WEIGHTS.parents[1],
        env=os.environ | settings,
        check=True,
    )
    with np.load(output) as outputs:
        for expected, actual in zip(compile_network(model)(planes), outputs.values(), strict=True):
            assert np.array_equal(actual, expected)


@pytest.mark.skipif(not request_matrix_units(), reason="the processor lacks matrix units")
def test_matrix_units_give_the_same_output(game, monkeypatch):
    models = [random_network(game, size) for size in SIZES]
    planes = sample_planes(game, 20)
    expected = [compile_network(model)(planes) for model in models]
    monkeypatch.setattr(inference, "request_matrix_units", lambda: False)
    for model, (expected_logits, expected_values) in zip(models, expected, strict=True):
        logits, values = compile_network(model)(planes)
        assert np.array_equal(logits, expected_logits)
        assert np.array_equal(values, expected_values)


def test_unpickled_network_uses_the_instructions_of_its_process(game, monkeypatch):
    planes, compiled = sample_planes(game, 5), compile_network(random_network(game, SIZES[1]))
    data = pickle.dumps(compiled)
    monkeypatch.setattr(inference, "request_matrix_units", lambda: False)
    again = pickle.loads(data)
    assert isinstance(again._weights.stem, VectorConvolutions)
    for outputs in zip(compiled(planes), again(planes), strict=True):
        assert np.array_equal(*outputs)


def test_torch_evaluates_the_same_network(game):
    model, planes = random_network(game, SIZES[1]), sample_planes(game, 3)
    logits, values = TorchNetwork(model.to_weights(), "cpu")(planes)
    with torch.no_grad():
        expected_logits, expected_values = model(torch.from_numpy(planes).float())
    np.testing.assert_allclose(logits, expected_logits, atol=0.05)
    np.testing.assert_allclose(values, expected_values, atol=0.05)


def test_names_and_shapes_of_arrays_are_those_of_torch(game):
    for size in SIZES:
        weights = Network(game, size).to_weights()
        shapes = {name: array.shape for name, array in weights.arrays.items()}
        assert shapes == array_shapes(size, game.observation_shape[0])


def test_warmup_compiles_shipped_networks():
    assert "policy" in {use.label for use in warmup_tasks("checkers")}
    assert "policy" not in {use.label for use in warmup_tasks("elsewhere.tictactoe")}
