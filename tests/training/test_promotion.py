"""Evaluation during training: scores and accuracy."""

import pytest

from cc_env.errors import BadOption
from cc_env.games.factory import make_game
from cc_env.players.specs import make_player
from training.selfplay.training import EvaluationOpponents, evaluation_charts, score_against

SOLVED = make_game("capture_conquer", size=4)
FEW = EvaluationOpponents(names=("random",), anchor="random", games=2, positions=60)


def scores_of(name, game=SOLVED, evaluation_opponents=FEW):
    return score_against(game, make_player(name, game), None, evaluation_opponents, 0)


def test_scores_on_a_solved_board_include_accuracy():
    perfect, chance = scores_of("perfect"), scores_of("random")
    assert perfect["accuracy"] == perfect["accuracy_with_choice"] == 1
    assert chance["accuracy_with_choice"] < chance["accuracy"] < 0.9


def test_accuracy_positions_are_fixed():
    accuracies = [scores_of("minimax:depth=1")["accuracy"] for _ in range(2)]
    assert accuracies[0] == accuracies[1] < 1


@pytest.mark.parametrize(
    ("game", "evaluation_opponents"),
    [
        (SOLVED, EvaluationOpponents(names=("random",), anchor="random", games=2, positions=0)),
        (make_game("capture_conquer", size=6), FEW),  # it has numbers, but no table of its start
        (make_game("cannon"), FEW),
    ],
    ids=["no positions", "unsolved start", "no tables"],
)
def test_scores_without_a_tablebase_have_no_accuracy(game, evaluation_opponents):
    assert "accuracy" not in scores_of("random", game, evaluation_opponents)
    assert len(evaluation_charts(game, evaluation_opponents)) == 2


def test_accuracy_uses_the_given_tables_folder(tmp_path):
    empty = EvaluationOpponents(names=("random",), anchor="random", games=2, tables=str(tmp_path))
    assert "accuracy" not in scores_of("random", SOLVED, empty)
    wrong = EvaluationOpponents(
        names=("random",), anchor="random", games=2, tables=str(tmp_path / "none")
    )
    with pytest.raises(BadOption, match="none"):
        scores_of("random", SOLVED, wrong)
    with pytest.raises(BadOption, match="positions=-1; expected: an integer"):
        EvaluationOpponents(positions=-1)
