import pytest

from cc_env.errors import BadOption
from cc_env.games.factory import make_game
from cc_env.players.specs import make_player
from training.selfplay.promotion import Rivals, charts, meet

SOLVED = make_game("capture_conquer", size=4)
FEW = Rivals(names=("random",), anchor="random", games=2, positions=60)


def met(name, game=SOLVED, rivals=FEW):
    return meet(game, make_player(name, game), None, rivals, 0)


def test_on_a_solved_board_the_log_tells_how_many_decisions_are_right():
    perfect, chance = met("perfect"), met("random")
    assert perfect["accuracy"] == perfect["accuracy_where_free"] == 1
    assert chance["accuracy_where_free"] < chance["accuracy"] < 0.9


def test_the_positions_are_the_same_at_each_evaluation():
    accuracies = [met("minimax:depth=1")["accuracy"] for _ in range(2)]
    assert accuracies[0] == accuracies[1] < 1


@pytest.mark.parametrize(
    ("game", "rivals"),
    [
        (SOLVED, Rivals(names=("random",), anchor="random", games=2, positions=0)),
        (make_game("capture_conquer", size=6), FEW),  # it has numbers, but no table of its start
        (make_game("cannon"), FEW),
    ],
    ids=["not wanted", "not solved", "without numbers"],
)
def test_elsewhere_it_tells_nothing_of_it(game, rivals):
    assert "accuracy" not in met("random", game, rivals)
    assert len(charts(game, rivals)) == 2


def test_tables_of_another_folder_are_used_and_a_folder_that_is_not_there_is_refused(tmp_path):
    empty = Rivals(names=("random",), anchor="random", games=2, tables=str(tmp_path))
    assert "accuracy" not in met("random", SOLVED, empty)
    wrong = Rivals(names=("random",), anchor="random", games=2, tables=str(tmp_path / "none"))
    with pytest.raises(BadOption, match="none"):
        met("random", SOLVED, wrong)
    with pytest.raises(BadOption, match="positions=-1; it is a whole number"):
        Rivals(positions=-1)
