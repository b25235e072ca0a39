"""Every algorithm trains on every game, and its result is a player."""

from dataclasses import replace

import pytest
import test_alphazero
import test_distillation
import test_dqn
import test_evaluation
import test_ppo

from agents.shipped_weights import NETWORK
from cc_env.games.factory import make_game
from cc_env.match.match import FAULTS, Limits
from cc_env.match.referee import play_match
from cc_env.players.specs import make_player
from cc_env.registry.catalogue import GAMES
from training import alphazero, dqn
from training.distillation import distillation
from training.learned_evaluation import fitting
from training.ppo import ppo
from training.selfplay import worker

pytestmark = pytest.mark.usefixtures("module_without_curves")

OPTIONS = {"mini_checkers": {"first": "white"}, "morris": {"flying": True}}
PLAY = worker.SelfPlaySettings(
    boards=8, simulations=4, considered=4, max_opening_turns=2, max_turns=6, opponents=("greedy",)
)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in GAMES if name != "capture_conquer"])
def test_algorithm_trains_on_any_game(tmp_path, name):
    options = OPTIONS.get(name, {})
    game = make_game(name, **options)
    tiny = {"game": name, "options": options}
    metrics = alphazero.main(
        replace(test_alphazero.TINY, **tiny, rounds=2, play=PLAY, warm_up=20), tmp_path / "zero"
    )
    assert metrics["policy_loss"] > 0
    metrics = ppo.main(replace(test_ppo.TINY, **tiny, steps=512), tmp_path / "ppo")
    assert metrics["random"] >= 0
    metrics = dqn.main(replace(test_dqn.TINY, **tiny, steps=512), tmp_path / "dqn")
    assert metrics["loss"] > 0
    config = replace(test_distillation.TINY, **tiny, rounds=1, evaluate_every=1, decisions=1000)
    metrics = distillation.main(config, tmp_path / "taught")
    assert 0 < metrics["regret"] < 1
    metrics = fitting.main(replace(test_evaluation.TINY, **tiny), tmp_path / "evaluation")
    assert metrics["promotions"] >= 1
    assert 0 < metrics["loss"] < 2
    for player in (
        f"agents.policy:path={tmp_path / 'taught'}",
        f"agents.policy:path={tmp_path / 'zero' / NETWORK}",
        f"agents.alphazero:simulations=4,path={tmp_path / 'zero'}",
        f"agents.ppo:path={tmp_path / 'ppo'}",
        f"agents.policy:path={tmp_path / 'dqn'}",
        f"minimax:depth=2,evaluation={tmp_path / 'evaluation' / fitting.FILE}",
    ):
        pair = make_player(player, game), make_player("random", game)
        record = play_match(game, pair, limits=Limits(max_turns=20))
        assert record.reason not in FAULTS, record.detail
