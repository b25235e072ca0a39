"""Distillation: losses, samples, learning and resuming."""

import sys
from dataclasses import replace
from functools import partial

import heap
import numpy as np
import pytest
import torch
from checkpoints import alter, numbers
from logs import log_of, timeless

from agents.evaluator import Evaluator
from agents.network import Network, load
from agents.network_players import PolicyPlayer
from agents.network_weights import Size
from agents.shipped_weights import NETWORK
from cc_env.accuracy.decisions import measure, sample_uniform
from cc_env.cli.application import run as run_command
from cc_env.core import rules
from cc_env.errors import BadCheckpoint, BadOption, TrainingDiverged, UnknownOption
from cc_env.games.factory import make_game
from cc_env.learned_evaluation.network_file import write_network
from cc_env.match.referee import Decision
from cc_env.players.specs import temporary_players
from cc_env.registry.catalogue import GAMES, GameEntry
from cc_env.search.alphabeta import AlphaBeta
from cc_env.tablebase.tablebase import Tablebase
from training.distillation import distillation
from training.distillation.distillation import Config, Training, app, main
from training.learned_evaluation.small_network import SmallNetwork, find_windows, quantize
from training.selfplay.learner import LearnerSettings
from training.selfplay.training import EvaluationOpponents

pytestmark = pytest.mark.usefixtures("module_without_curves")

TINY = Config(
    options={"size": 4},
    minutes=None,
    rounds=4,
    network=Size(blocks=1, channels=8, keys=4),
    learn=LearnerSettings(batch_size=128, learning_rate=5e-3, value_weight=0.05),
    depth=2,
    max_opening_turns=6,
    opponents=("random",),
    decisions=1500,
    evaluate_every=2,
    evaluation_opponents=EvaluationOpponents(
        names=("random",), anchor="random", games=2, positions=0
    ),
    workers=0,
)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Small networks train several times faster with one thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("training.selfplay.training.available_cores", lambda: 1)
        yield


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run"
    main(TINY, path)
    return path


def accuracy(player, game):
    """Return the fraction of a player's non-trivial decisions that keep the exact value."""
    tables = Tablebase(game)
    return measure(player, tables, sample_uniform(tables, 300)).kept_with_choice.value


@pytest.mark.slow
def test_policy_learns_exact_values(tmp_path):
    config = replace(TINY, rounds=8, decisions=3000, network=Size(blocks=2, channels=16, keys=8))
    main(config, tmp_path / "run")
    game = config.make_game()
    network, _ = load(tmp_path / "run" / NETWORK, game)
    assert accuracy("random", game) < 0.4
    assert accuracy(PolicyPlayer(game, Evaluator(network), mirrored=False), game) > 0.7


def test_regret_and_losses_decrease(finished_run):
    first, *_, last = log_of(finished_run)
    assert last["regret"] < 0.8 * first["regret"]
    assert last["policy_loss"] < first["policy_loss"]
    assert last["value_loss"] < first["value_loss"]


def test_loss_is_regret_minus_entropy():
    policy = torch.tensor([[0.5, 0.25, 0.25, 0.0], [0.0, 1.0, 0.0, 0.0]])
    values = torch.tensor([[0.5, 1.0, 0.0, 0.0], [0.0, 0.25, 0.0, 0.0]])
    # The second position has a single legal action, so no regret.
    regret = (1 - 0.5) / 2
    nats = (0.5 * np.log(2) + 0.5 * np.log(4)) / 2
    loss = float(distillation.regret_loss(policy.log(), values, entropy_weight=0.1))
    assert loss == pytest.approx(regret - 0.1 * nats)


def test_softmax_targets_cover_legal_actions():
    log_policy = torch.tensor([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]]).log()
    values = torch.tensor([[0.5, 0.6, 0.0], [0.0, 0.5, 0.5]])
    targets = distillation.softmax_targets(log_policy, values, 0.1)
    # The values differ by 0.1 and by 0.5.
    odds = np.exp([1.0, 5.0])
    expected = [[1 / (1 + odds[0]), odds[0] / (1 + odds[0]), 0.0]]
    expected += [[1 / (1 + 2 * odds[1]), odds[1] / (1 + 2 * odds[1]), odds[1] / (1 + 2 * odds[1])]]
    np.testing.assert_allclose(targets.numpy(), expected, rtol=1e-5)


def test_loss_adds_the_weighted_cross_entropy_to_the_regret():
    log_policy = torch.tensor([[0.25, 0.75, 0.0]]).log()
    values = torch.tensor([[1.0, 0.5, 0.0]])
    config = replace(TINY, entropy=0.0, cross_entropy_weight=0.2, target_temperature=0.5)
    best = np.exp(1) / (1 + np.exp(1))
    cross_entropy = -best * np.log(0.25) - (1 - best) * np.log(0.75)
    loss = float(distillation.policy_loss(log_policy, values, config=config))
    assert loss == pytest.approx(0.75 * 0.5 + 0.2 * cross_entropy)


def test_improbable_best_action_gains_probability_by_cross_entropy():
    """The expected regret alone has almost no gradient there."""
    values = torch.tensor([[1.0, 0.5]])
    probability = {}
    for weight in (0.0, 0.1):
        config = replace(TINY, entropy=0.0, cross_entropy_weight=weight)
        logits = torch.tensor([[-8.0, 0.0]], requires_grad=True)
        for _ in range(100):
            loss = distillation.policy_loss(logits.log_softmax(1), values, config=config)
            (gradient,) = torch.autograd.grad(loss, logits)
            logits = (logits - gradient).detach().requires_grad_()
        probability[weight] = float(logits.detach().softmax(1)[0, 0])
    assert probability[0.0] < 0.01
    assert probability[0.1] > 0.9


def test_policy_prefers_an_action_that_is_never_a_mistake():
    """The two other actions are each best in one position and lose in the other."""
    logits = torch.zeros(3, requires_grad=True)
    values = torch.tensor([[1.0, 0.0, 0.9], [0.0, 1.0, 0.9]])
    for _ in range(100):
        loss = distillation.regret_loss(
            logits.expand(2, 3).log_softmax(1), values, entropy_weight=0.01
        )
        (gradient,) = torch.autograd.grad(loss, logits)
        logits = (logits - 10 * gradient).detach().requires_grad_()
    assert logits.softmax(0)[2] > 0.9


def test_samples_are_policy_decisions_with_search_values():
    opponent_positions = []

    class First:
        def __init__(self, game):
            self.game = game

        def choose(self, position, rng, clock):
            opponent_positions.append(position)
            return Decision(int(self.game.legal_actions(position)[0]))

    torch.manual_seed(0)
    game = TINY.make_game()
    with temporary_players(first=First):
        config = replace(TINY, opponents=("first",), opponents_share=1.0)
    network = Network(game, config.network)
    with temporary_players(first=First):
        samples, regrets = distillation.collect_decisions(game, config, None, network, 500, seed=5)
    positions = [type(game.initial)(*row) for row in samples.positions]
    assert len(positions) >= 500
    assert len(opponent_positions) > 100
    # Each of the 64 boards has one decision per step.
    assert (len(positions) + len(opponent_positions)) % 64 == 0

    logits, _ = Evaluator(network)(np.stack([game.observe(position) for position in positions]))
    expected = []
    for row, position in enumerate(positions):
        legal = game.legal_actions(position)
        most_probable = int(legal[logits[row, legal].argmax()])
        (values,) = samples.targets[row, samples.actions[row] == most_probable]
        expected += [samples.targets[row, 0] - values] if len(legal) > 1 else []
    np.testing.assert_allclose(regrets, expected, atol=2e-3)

    search = AlphaBeta(game)
    for row in range(0, 500, 25):
        position = positions[row]
        legal = game.legal_actions(position).tolist()
        assert sorted(samples.actions[row, : len(legal)].tolist()) == legal
        assert (np.diff(samples.targets[row]) <= 0).all()
        best = game.apply(position, int(samples.actions[row, 0]))
        if game.outcome(best) == rules.ONGOING:
            is_same_turn = game.to_move(best) == game.to_move(position)
            value = search.search(best, depth=config.depth - 1 + is_same_turn).value
            value = value if is_same_turn else -value
            # The teacher adjusts large leads and proven results.
            tolerance = 0.1 if abs(value) > 0.8 else 1e-3
            assert samples.targets[row, 0] == pytest.approx((1 + value) / 2, abs=tolerance)
        else:
            assert samples.targets[row, 0] == 1
        assert samples.values[row] == pytest.approx(2 * samples.targets[row, 0] - 1, abs=2e-3)


def test_policy_that_is_not_finite_ends_training():
    game = TINY.make_game()
    network = Network(game, TINY.network)
    with torch.no_grad():
        network.keys.bias.fill_(3e38)
    with pytest.raises(TrainingDiverged, match="the outputs of the network are not finite"):
        distillation.collect_decisions(game, TINY, None, network, 100, seed=5)


def test_positions_are_sampled_from_the_tables():
    game = TINY.make_game()
    network = Network(game, TINY.network)
    config = replace(TINY, tables="shipped", table_share=0.75)
    samples, regrets = distillation.collect_decisions(game, config, None, network, 400, seed=5)
    tables = Tablebase(game)
    # Only these positions are hardly ever reached in games.
    again, _ = distillation.collect_decisions(game, config, None, network, 400, seed=5)
    np.testing.assert_array_equal(samples.positions, again.positions)
    other, _ = distillation.collect_decisions(game, config, None, network, 400, seed=6)
    rows = {tuple(row) for row in other.positions[:300].tolist()}
    assert len(rows & {tuple(row) for row in samples.positions[:300].tolist()}) < 30
    assert 0 < len(regrets) <= len(samples.positions) - 300
    for row in range(300):
        position = type(game.initial)(*samples.positions[row])
        exact = tables.probe(position)
        # Fast wins are worth up to 0.1 more than slow ones.
        assert samples.values[row] == pytest.approx(exact.value, abs=0.11)
        assert samples.actions[row, 0] in exact.value_keeping
        assert samples.values[row] == pytest.approx(2 * samples.targets[row, 0] - 1, abs=2e-3)


def weights(path):
    network, _ = load(path / NETWORK, TINY.make_game())
    return {name: tensor.numpy() for name, tensor in network.state_dict().items()}


def test_run_starts_from_weights_of_another_run(finished_run, tmp_path):
    frozen = LearnerSettings(learning_rate=0, last_learning_rate=0)
    config = replace(TINY, rounds=1, decisions=1000, learn=frozen, start=str(finished_run))
    main(config, tmp_path / "run")
    for name, array in weights(finished_run).items():
        assert np.allclose(weights(tmp_path / "run")[name], array, rtol=1e-6), name
    (finished_run / NETWORK).rename(finished_run / "elsewhere")
    # A resumed run does not need the initial weights.
    try:
        main(replace(config, rounds=2), tmp_path / "run", resume=True)
    finally:
        (finished_run / "elsewhere").rename(finished_run / NETWORK)


def test_initial_weights_are_the_best_until_a_network_beats_them(finished_run, tmp_path):
    config = replace(TINY, rounds=1, decisions=1000, gate=1, start=str(finished_run))
    main(config, tmp_path / "run")
    assert "best" in log_of(tmp_path / "run")[0]
    for name, array in weights(finished_run).items():
        np.testing.assert_array_equal(weights(tmp_path / "run")[name], array)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": "nowhere"}, "nowhere"),
        ({"options": {"size": 5}}, "expected"),
        ({"network": Size(blocks=1, channels=9, keys=4)}, "channels=8.*expected: .*channels=9"),
    ],
)
def test_unfit_initial_weights_write_nothing(finished_run, tmp_path, change, message):
    with pytest.raises(BadCheckpoint, match=message):
        main(replace(TINY, **{"start": str(finished_run), **change}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_killed_run_resumes_identically(finished_run, tmp_path, monkeypatch):
    path, fit = tmp_path / "run", Training.fit

    def killed_in_round_4(self, new_samples):
        if self.run.step == 3:
            raise ChildProcessError
        return fit(self, new_samples)

    monkeypatch.setattr(Training, "fit", killed_in_round_4)
    with pytest.raises(ChildProcessError):
        main(TINY, path)
    monkeypatch.undo()
    main(TINY, path, resume=True)
    assert timeless(log_of(path)) == timeless(log_of(finished_run))


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("replay.positions", lambda array: None, "no array replay.positions"),
        ("replay.positions", numbers(2**63), "replay.positions"),
        ("replay.values", numbers(3), "replay.values has invalid values; expected: -1 to 1"),
        ("replay.values", lambda array: array[::-1], "replay.values does not fit the position"),
        (
            "replay.targets",
            lambda array: array[:, ::-1],
            "replay.targets does not fit the position",
        ),
        ("average.stem.weight", lambda array: None, "no array average.stem.weight"),
        ("added", lambda added: -1, "added=-1"),
    ],
)
def test_altered_checkpoint_is_rejected(finished_run, tmp_path, part, change, message):
    alter(finished_run, tmp_path / "run", part, change)
    with pytest.raises(BadCheckpoint, match=message):
        main(replace(TINY, rounds=6), tmp_path / "run", resume=True)


@pytest.mark.slow
def test_replaced_teacher_file_is_rejected(tmp_path):
    path, teacher = tmp_path / "run", tmp_path / "teacher.network"
    game = make_game("capture_conquer", size=4)
    make = partial(SmallNetwork, 2, find_windows(game.grid))
    write_network(teacher, game, quantize(make()))
    config = replace(TINY, evaluation=str(teacher), rounds=1)
    main(config, path)
    network = make()
    torch.nn.init.ones_(network.third.bias)
    write_network(teacher, game, quantize(network))
    with pytest.raises(BadCheckpoint, match="was replaced since this run started"):
        main(replace(config, rounds=2), path, resume=True)


def test_teacher_is_checked_before_writing(tmp_path, monkeypatch):
    with pytest.raises(UnknownOption, match="no evaluation 'best'"):
        main(replace(TINY, evaluation="best"), tmp_path / "run")
    with pytest.raises(FileNotFoundError):
        main(replace(TINY, evaluation="nowhere.network"), tmp_path / "run")
    with pytest.raises(BadOption, match="nowhere"):
        main(replace(TINY, tables="nowhere"), tmp_path / "run")
    with pytest.raises(BadOption, match=r"table_share=0\.5, tables=None; expected: tables"):
        replace(TINY, table_share=0.5)
    with pytest.raises(BadOption, match=r"table_share=1\.5; expected: 0 to 1"):
        replace(TINY, tables="shipped", table_share=1.5)
    with pytest.raises(BadOption, match="cannon"):
        main(replace(TINY, game="cannon", options={}, tables="shipped"), tmp_path / "run")
    monkeypatch.setitem(GAMES, "heap", GameEntry("heap", "heap/Heap-v0"))
    assert heap.HEAP
    with pytest.raises(UnknownOption, match="heap has no evaluation"):
        main(replace(TINY, game="heap", options={}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_error_without_checkpoint_does_not_suggest_resume(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["distillation", "--set", "evaluation=missing.network"])
    assert run_command(app) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "missing.network" in line
    assert "--resume" not in line
    assert not list(tmp_path.iterdir())


def test_command_trains(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    options = "--size 4 --rounds 1 --depth 2 --workers 0 --blocks 1 --channels 8 --name it"
    changes = (
        "decisions=1000",
        "evaluation_opponents.names=['random']",
        "evaluation_opponents.anchor=random",
        "evaluation_opponents.games=2",
    )
    changes = [word for change in changes for word in ("--set", change)]
    monkeypatch.setattr(sys, "argv", ["distillation", *options.split(), *changes])
    with pytest.raises(SystemExit, match="0"):
        run_command(app)
    assert f"the best network: runs/it/{NETWORK}" in capsys.readouterr().out
    assert (tmp_path / "runs" / "it" / NETWORK).is_file()
