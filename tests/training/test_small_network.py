"""The network in floating point and in integers: the same, within what rounding does."""

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


def bits_of(drawn):
    sets = np.array([rules.network_inputs(position) for position in drawn], np.uint64)
    return torch.from_numpy(np.unpackbits(sets.view(np.uint8), axis=1, bitorder="little"))


def network_of(game, scale=0.3):
    torch.manual_seed(0)
    network = SmallNetwork(len(rules.network_inputs(game.initial)), find_windows(game.grid))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0, scale)
        network.states.weight.mul_(0.3)
    return network


@pytest.mark.parametrize(("name", "windows"), GAMES.items())
def test_integers_say_what_torch_does(name, windows):
    game = make_game(name)
    network = network_of(game)
    assert len(network.windows) == windows
    drawn = [p for p in positions(game, 100) if not game.mid_turn(p)]
    evaluation = corrected_evaluation(game, quantize(network))
    with torch.no_grad():
        wanted = network(bits_of(drawn)).numpy() * SCALE / 2
    base = game.evaluation()
    points = [
        rules.evaluate(position, game.to_move(position), evaluation)
        - rules.evaluate(position, game.to_move(position), base)
        for position in drawn
    ]
    wanted = wanted.clip(-MAX_CORRECTION, MAX_CORRECTION)
    assert np.ptp(wanted) > 200
    assert np.abs(points - wanted).max() < 0.02 * np.ptp(wanted)


def test_all_that_it_computes_with_is_where_its_weights_are():
    game = make_game("capture_conquer")
    network = network_of(game).to("meta")  # as "cuda", but without a result
    bits = torch.zeros((3, 2 * CELLS), dtype=torch.uint8, device="meta")
    assert network(bits).device.type == "meta"


def test_a_new_network_adds_nothing():
    game = make_game("capture_conquer")
    network = SmallNetwork(2, find_windows(game.grid))
    evaluation = corrected_evaluation(game, quantize(network))
    for position in positions(game, 20):
        base = rules.evaluate(position, 0, game.evaluation())
        assert rules.evaluate(position, 0, evaluation) == base


@pytest.mark.parametrize(("size", "count"), [(4, 9), (6, 25), (8, 49)])
def test_boards_whose_cells_are_all_in_use_have_windows(size, count):
    windows = find_windows(make_game("capture_conquer", size=size).grid)
    assert len(windows) == count
    assert windows.max() == 9 * (size - 2)


@pytest.mark.parametrize("name", ["capture_conquer", "morris"])
def test_images_of_positions_have_permuted_bits(name):
    game = make_game(name)
    drawn = positions(game, 50)
    assert game.symmetries
    for symmetry in game.symmetries:
        images = [type(game.initial)(*symmetry.position(position)) for position in drawn]
        places = permutation(symmetry, game.grid, len(rules.network_inputs(game.initial)))
        assert torch.equal(bits_of(drawn)[:, places], bits_of(images))


@pytest.mark.parametrize("name", ["capture_conquer", "cannon"])
@pytest.mark.parametrize("scale", [0.1, 5, 1000])
def test_however_large_weights_become_they_are_kept_in_range(name, scale):
    network = network_of(make_game(name), scale)
    network.keep_in_range()
    assert check(quantize(network)) is None


def test_bits_that_are_forgotten_count_no_longer():
    game = make_game("morris")
    network = network_of(game)
    bits = torch.zeros(2 * CELLS, dtype=torch.bool)
    bits[[3, 70]] = True
    network.clear_inputs(bits)
    board = torch.zeros((1, 2 * CELLS), dtype=torch.uint8)
    empty = network(board)
    board[0, [3, 70]] = 1
    assert torch.equal(network(board), empty)
    board[0, 4] = 1
    assert not torch.equal(network(board), empty)
