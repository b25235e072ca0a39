"""The small network in floating point and in integers, which agree up to rounding."""

import numpy as np
import pytest
import torch
from learned_evaluation.test_learned_network import positions

from cc_env.core import rules
from cc_env.games.factory import make_game
from cc_env.learned_evaluation.network import CELLS, MAX_CORRECTION, check
from cc_env.learned_evaluation.network_file import corrected_evaluation
from cc_env.search.scores import SCALE
from training.learned_evaluation.small_network import (
    SmallNetwork,
    dequantize,
    find_windows,
    permutation,
    quantize,
)

GAMES = {
    "capture_conquer": 25,
    "checkers": 0,
    "mini_checkers": 0,
    "morris": 0,
    "cannon": 0,
}


def network_bits(sampled):
    sets = np.array([rules.network_inputs(position) for position in sampled], np.uint64)
    return torch.from_numpy(np.unpackbits(sets.view(np.uint8), axis=1, bitorder="little"))


def random_network(game, scale=0.3):
    torch.manual_seed(0)
    network = SmallNetwork(len(rules.network_inputs(game.initial)), find_windows(game.grid))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0, scale)
        network.states.weight.mul_(0.3)
    return network


@pytest.mark.parametrize(("name", "windows"), GAMES.items())
def test_quantized_network_matches_torch(name, windows):
    game = make_game(name)
    network = random_network(game)
    assert len(network.windows) == windows
    sampled = [p for p in positions(game, 100) if not game.mid_turn(p)]
    evaluation = corrected_evaluation(game, quantize(network))
    with torch.no_grad():
        expected = network(network_bits(sampled)).numpy() * SCALE / 2
    base = game.evaluation()
    points = [
        rules.evaluate(position, game.to_move(position), evaluation)
        - rules.evaluate(position, game.to_move(position), base)
        for position in sampled
    ]
    expected = expected.clip(-MAX_CORRECTION, MAX_CORRECTION)
    assert np.ptp(expected) > 200
    assert np.abs(points - expected).max() < 0.02 * np.ptp(expected)


def test_buffers_are_on_the_device_of_the_weights():
    game = make_game("capture_conquer")
    network = random_network(game).to("meta")
    bits = torch.zeros((3, 2 * CELLS), dtype=torch.uint8, device="meta")
    assert network(bits).device.type == "meta"


@pytest.mark.parametrize("name", GAMES)
def test_quantize_inverts_dequantize(name):
    game = make_game(name)
    network = game.evaluation("learned").network
    again = quantize(dequantize(network, len(rules.network_inputs(game.initial))))
    for field, array in network._asdict().items():
        assert np.array_equal(getattr(again, field), array), field


def test_untrained_network_returns_zero():
    game = make_game("capture_conquer")
    network = SmallNetwork(2, find_windows(game.grid))
    evaluation = corrected_evaluation(game, quantize(network))
    for position in positions(game, 20):
        base = rules.evaluate(position, 0, game.evaluation())
        assert rules.evaluate(position, 0, evaluation) == base


@pytest.mark.parametrize(("size", "count"), [(4, 9), (6, 25), (8, 49)])
def test_fully_used_boards_have_all_windows(size, count):
    windows = find_windows(make_game("capture_conquer", size=size).grid)
    assert len(windows) == count
    assert windows.max() == 9 * (size - 2)


@pytest.mark.parametrize("name", ["checkers", "morris"])
def test_boards_with_unused_cells_have_no_windows(name):
    assert not len(find_windows(make_game(name).grid))


@pytest.mark.parametrize("name", ["capture_conquer", "morris"])
def test_symmetric_positions_have_permuted_bits(name):
    game = make_game(name)
    sampled = positions(game, 50)
    assert game.symmetries
    for symmetry in game.symmetries:
        images = [type(game.initial)(*symmetry.position(position)) for position in sampled]
        places = permutation(symmetry, game.grid, len(rules.network_inputs(game.initial)))
        assert torch.equal(network_bits(sampled)[:, places], network_bits(images))


@pytest.mark.parametrize("name", ["capture_conquer", "cannon"])
@pytest.mark.parametrize("scale", [0.1, 5, 1000])
def test_large_weights_are_kept_in_range(name, scale):
    network = random_network(make_game(name), scale)
    network.keep_in_range()
    assert check(quantize(network)) is None


def test_cleared_inputs_have_no_effect():
    game = make_game("morris")
    network = random_network(game)
    bits = torch.zeros(2 * CELLS, dtype=torch.bool)
    bits[[3, 70]] = True
    network.clear_inputs(bits)
    board = torch.zeros((1, 2 * CELLS), dtype=torch.uint8)
    empty = network(board)
    board[0, [3, 70]] = 1
    assert torch.equal(network(board), empty)
    board[0, 4] = 1
    assert not torch.equal(network(board), empty)
