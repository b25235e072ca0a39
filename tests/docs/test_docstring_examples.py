"""The examples in docstrings of the classes and functions that users meet first."""

import doctest
from unittest import mock

import gymnasium
import pettingzoo
import pytest

import cc_env
from agents.network import load_network
from agents.network_players import AlphaZeroPlayer, PolicyPlayer
from agents.onnx_export import to_onnx
from cc_env.core.game import Game
from cc_env.datasets.dataset import load_dataset
from cc_env.envs import BoardGameAEC, BoardGameEnv, BoardGameVectorEnv, OpponentVecEnv, score
from cc_env.match.match import Match
from cc_env.match.record import Record, read_records
from cc_env.rendering.picture import draw
from cc_env.rendering.svg import to_svg
from cc_env.search import MCTS, PUCT, AlphaBeta
from cc_env.tablebase import Tablebase
from cc_env.verification.perft import perft

DOCUMENTED = [
    *(cc_env.make_game, cc_env.make_player, cc_env.play_match, cc_env.register),
    *(BoardGameEnv, BoardGameVectorEnv, BoardGameAEC, OpponentVecEnv, score),
    *(Game, Match, Record, read_records, draw, to_svg, perft, load_dataset),
    *(AlphaBeta.search, MCTS, PUCT, Tablebase.probe),
    *(PolicyPlayer, AlphaZeroPlayer, load_network, to_onnx, cc_env.ResidualExtractor),
]


@pytest.mark.parametrize("documented", DOCUMENTED, ids=lambda documented: documented.__qualname__)
def test_docstring_examples_run_without_failure(documented, tmp_path, monkeypatch):
    if documented is to_onnx:
        pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    (test,) = doctest.DocTestFinder(recurse=False).find(documented, globs={})
    with mock.patch.dict(gymnasium.registry), mock.patch.dict(pettingzoo.aec_registry):
        result = doctest.DocTestRunner().run(test)
    assert result.attempted > 0
    assert result.failed == 0
