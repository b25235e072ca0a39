"""The network as compiled code, beside torch's."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import torch

from agents import network
from agents.inference import CompiledNetwork
from agents.network import Evaluator, Network, Size, compile_network, load
from agents.shipped_weights import NETWORK, WEIGHTS
from cc_env.cli.warmup import warmup_tasks
from cc_env.errors import BadCheckpoint, BadOption, TrainingDiverged, UnknownOption
from cc_env.games.factory import make_game
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


def seen(game, count):
    """Return the planes of positions of random games, int8[count, C, H, W]."""
    rng, position, planes = np.random.default_rng(0), game.initial, []
    while len(planes) < count:
        planes.append(game.observe(position))
        actions = game.legal_actions(position)
        position = game.apply(position, rng.choice(actions)) if len(actions) else game.initial
    return np.array(planes)


def drawn(game, size):
    """Return a network all of whose weights are drawn, with those that begin as 0."""
    torch.manual_seed(0)
    made = Network(game, size)
    with torch.no_grad():
        for block in made.tower:
            block.second.weight.normal_(0, 0.2 / size.channels**0.5)
            block.second.bias.normal_(0, 0.2)
    return made


def check_like_torch(made, planes):
    """Assert that all logits and values are those of torch's float32, but for its rounding."""
    with torch.no_grad():
        wanted_logits, wanted_values = made(torch.from_numpy(planes).float())
    logits, values = compile_network(made)(planes)
    assert (logits.dtype, values.dtype) == (np.float32, np.float32)
    largest = max(1.0, float(wanted_logits.abs().max()))
    np.testing.assert_allclose(logits, wanted_logits, rtol=0, atol=2e-5 * largest)
    np.testing.assert_allclose(values, wanted_values, rtol=0, atol=1e-4)


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_shipped_networks_say_what_they_say_by_torch(folder):
    name = folder.name.partition("-")[0]
    size = {"size": int(folder.name.split("-")[1])} if name == "capture_conquer" else {}
    game = make_game(name, **size)
    check_like_torch(load(folder / NETWORK, game)[0], seen(game, 50))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.channels}-channels")
@pytest.mark.parametrize(("name", "options"), BOARDS)
def test_networks_of_any_size_and_board_say_what_they_say_by_torch(name, options, size):
    game = make_game(name, **options)
    check_like_torch(drawn(game, size), seen(game, 21))


@pytest.fixture(scope="module")
def answer(game):
    return compile_network(drawn(game, SIZES[2]))


def test_the_batch_changes_nothing(game, answer):
    planes = seen(game, 70)
    logits, values = answer(planes)
    for begin, end in ((0, 1), (3, 5), (7, 22), (7, 23), (7, 24), (20, 70), (5, 5)):
        part = answer(planes[begin:end])
        assert np.array_equal(part[0], logits[begin:end])
        assert np.array_equal(part[1], values[begin:end])
    order = np.random.default_rng(1).permutation(70)
    assert np.array_equal(answer(planes[order])[0], logits[order])


def test_threads_change_nothing(game, answer):
    planes = seen(game, 40)
    logits, values = answer(planes)
    together = Barrier(4)

    def ask(_):
        together.wait()
        return [answer(planes) for _ in range(5)]

    with ThreadPoolExecutor(4) as pool:
        for answers in pool.map(ask, range(4)):
            for other_logits, other_values in answers:
                assert np.array_equal(other_logits, logits)
                assert np.array_equal(other_values, values)


def test_networks_answer_in_turn_without_mixing(game, answer):
    planes, other = seen(game, 20), compile_network(drawn(game, SIZES[1]))
    before = answer(planes)[0], other(planes)[0]
    for _ in range(3):
        assert np.array_equal(answer(planes)[0], before[0])
        assert np.array_equal(other(planes)[0], before[1])


def test_planes_of_another_shape_are_refused(game, answer):
    with pytest.raises(ValueError, match=r"planes\(2, 4, 6, 7\); expected \(any number, 4, 6, 6\)"):
        answer(np.zeros((2, 4, 6, 7), np.int8))
    with pytest.raises(ValueError, match=r"planes\(4, 6, 6\); expected"):
        answer(np.zeros((4, 6, 6), np.int8))


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["stem.weight", "tower.1.second.bias", "value.2.weight"])
def test_weights_that_are_not_finite_are_refused(game, name, number):
    made = drawn(game, SIZES[1])
    made.state_dict()[name].view(-1)[0] = number
    with pytest.raises(
        TrainingDiverged, match=f"{name} of the network has values that are not finite"
    ):
        Evaluator(made, backend="compiled")


@pytest.mark.parametrize("name", ["stem.weight", "tower.0.first.bias", "view.weight", "keys.bias"])
def test_weights_that_do_not_fit_are_refused(game, name):
    made = drawn(game, SIZES[1])
    pairs = game.action_cells
    weights = {key: tensor.numpy() for key, tensor in made.state_dict().items()}
    with pytest.raises(BadCheckpoint, match=f"there is no array {name}"):
        CompiledNetwork(
            {key: array for key, array in weights.items() if key != name},
            game.observation_shape,
            1,
            pairs,
        )
    with pytest.raises(BadCheckpoint, match=r"expected float32\["):
        CompiledNetwork(
            {**weights, name: weights[name][..., :-1]}, game.observation_shape, 1, pairs
        )


ELSEWHERE = """
import sys, numpy
from pathlib import Path
from cc_env.jit.simd import FLOAT_LANES, WIDE_FLOAT_LANES
from agents.network import compile_network, load
from cc_env.games.factory import make_game

assert WIDE_FLOAT_LANES == FLOAT_LANES
game = make_game("capture_conquer")
answer = compile_network(load(Path(sys.argv[1]), game)[0])(numpy.load(sys.argv[2]))
numpy.savez(sys.argv[3], *answer)
"""


@pytest.mark.slow
def test_processors_with_short_vectors_say_the_same(game, tmp_path):
    planes, answer = seen(game, 20), tmp_path / "answer.npz"
    np.save(tmp_path / "planes.npy", planes)
    made = drawn(game, SIZES[2])
    network.save(tmp_path / "network", made, game, {})
    files = tmp_path / "network", tmp_path / "planes.npy", answer
    any_processor = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    subprocess.run(
        [sys.executable, "-c", ELSEWHERE, *map(str, files)],
        cwd=WEIGHTS.parents[1],
        env=os.environ | any_processor,
        check=True,
    )
    with np.load(answer) as told:
        for wanted, given in zip(compile_network(made)(planes), told.values(), strict=True):
            np.testing.assert_allclose(given, wanted, atol=1e-4)


@pytest.mark.parametrize(("has_amx", "way"), [(True, "torch"), (False, "compiled")])
def test_processors_with_matrix_units_run_torch(game, monkeypatch, has_amx, way):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": has_amx})
    assert Evaluator(drawn(game, SIZES[1])).backend == way


def test_the_way_can_be_chosen(game, monkeypatch):
    made, planes = drawn(game, SIZES[1]), seen(game, 3)
    answers = [Evaluator(made, backend=way)(planes) for way in network.BACKENDS]
    np.testing.assert_allclose(answers[0][0], answers[1][0], atol=0.05)
    with pytest.raises(UnknownOption, match="backend='hand'; it is one of: torch, compiled"):
        Evaluator(made, backend="hand")
    monkeypatch.setattr(network, "select_device", torch.device)
    with pytest.raises(BadOption, match="cuda:0"):
        Evaluator(made, "cuda:0", backend="compiled")


def test_warming_compiles_the_network_of_games_that_have_one():
    assert "policy" in {use.label for use in warmup_tasks("checkers")}
    assert "policy" not in {use.label for use in warmup_tasks("mini_checkers")}
