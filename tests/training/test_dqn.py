"""DQN with masked actions: learning, masks, resuming, and errors."""

import json
import shutil
from dataclasses import replace
from functools import partial

import heap
import numpy as np
import pytest
import torch
from checkpoints import alter, numbers
from conftest import command_line
from logs import log_of, timeless
from stable_baselines3.common.buffers import ReplayBuffer

import agents
from agents.evaluator import Evaluator, load_evaluator
from agents.network import Network, load
from agents.network_players import PolicyPlayer
from agents.network_weights import Size
from agents.shipped_weights import NETWORK
from cc_env.cli.application import run as run_command
from cc_env.errors import BadCheckpoint, BadOption
from cc_env.match.referee import Clock
from cc_env.registry.catalogue import GAMES, GameEntry
from training import dqn
from training.dqn import ILLEGAL_VALUE, Config, MaskedObservations, Training, main
from training.runs import training_run
from training.selfplay.training import EvaluationOpponents

pytestmark = pytest.mark.usefixtures("module_without_curves")

TINY = Config(
    options={"size": 4},
    minutes=None,
    steps=4 * 256,
    network=Size(blocks=1, channels=8, keys=4),
    opponents=("random", "greedy"),
    boards=32,
    n_steps=8,
    batch_size=64,
    replay=2_000,
    warm_up=128,
    target_interval=256,
    evaluate_every=512,
    evaluation_opponents=EvaluationOpponents(
        names=("random",), anchor="random", games=4, positions=60
    ),
)


@pytest.mark.slow
def test_learns_heap_from_scratch(tmp_path, monkeypatch):
    monkeypatch.setitem(GAMES, "heap", GameEntry("heap", "heap/Heap-v0"))
    config = replace(
        TINY,
        game="heap",
        options={},
        steps=24 * 2048,
        network=Size(blocks=1, channels=32, keys=8),
        boards=64,
        n_steps=32,
        batch_size=256,
        replay=20_000,
        warm_up=1_000,
        learning_rate=3e-3,
        target_interval=1024,
        opponents=("random",),
        max_opening_turns=3,
        evaluate_every=12 * 2048,
        evaluation_opponents=EvaluationOpponents(names=("random",), anchor="random", games=20),
    )
    game = heap.make()

    def skill(network):
        player = PolicyPlayer(game, Evaluator(network))
        rng = np.random.default_rng(0)
        return heap.share_of_best(lambda position: player.choose(position, rng, Clock()).action)

    for seed in range(5):
        torch.manual_seed(seed)
        assert skill(Network(game, config.network)) < 0.7
    last = main(config, tmp_path / "run")
    network, about = load(tmp_path / "run" / NETWORK, game)
    assert skill(network) >= 0.85
    assert last["random"] >= 0.75
    assert about["trained"] == "dqn"


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    """The folder of a tiny run."""
    path = tmp_path_factory.mktemp("runs") / "whole"
    main(TINY, path)
    return path


def test_run_writes_its_log_and_network(finished_run):
    rows = log_of(finished_run)
    assert [row["step"] for row in rows] == [256, 512, 768, 1024]
    assert [row["step"] for row in rows if "elo" in row] == [512, 1024]
    assert [row["exploration"] for row in rows] == pytest.approx(
        [0.5, 0.5 - 0.47 / 1.2, 0.03, 0.03]
    )
    assert all(row["loss"] > 0 for row in rows)
    assert rows[-1]["core_minutes"] > 0
    game = TINY.make_game()
    player = agents.make_player(f"policy:path={finished_run}", game)
    action = player.choose(game.initial, np.random.default_rng(0), Clock()).action
    assert action in game.legal_actions(game.initial)
    assert not load_evaluator(finished_run / NETWORK, game).mirrored


def test_same_seed_gives_the_same_run(finished_run, tmp_path):
    main(TINY, tmp_path / "again")
    assert timeless(log_of(tmp_path / "again")) == timeless(log_of(finished_run))


@pytest.fixture
def training(tmp_path):
    """A training with a few steps in its replay buffer."""
    with training_run.open_run(tmp_path / "run", {"steps": 512}, False) as run:
        training = Training(TINY, run)
        for _ in run.steps(training.state, 512, {}, lambda newest: ""):
            training.step()
            run.log({})
            break
        yield training


def test_actions_and_targets_are_legal(training):
    buffer = training.dqn.replay_buffer
    assert isinstance(buffer, ReplayBuffer)
    count, num_actions = buffer.pos, training.game.num_actions
    assert count == TINY.n_steps
    masks = buffer.observations[:count, :, -num_actions:]
    chosen = np.take_along_axis(masks, buffer.actions[:count].astype(np.int64), 2)
    assert chosen.all()
    samples = buffer.sample(200)
    values = training.dqn.q_net_target(samples.next_observations)
    legal = samples.next_observations[:, -num_actions:].bool()
    assert (values[~legal] == ILLEGAL_VALUE).all()
    assert values[legal].abs().max() < 10
    has_ended = samples.dones[:, 0].bool()
    assert has_ended.any()
    assert not legal[has_ended].any(), "no decision follows the end of a game"
    assert legal[~has_ended].any(1).all()


def test_q_values_are_those_of_a_dueling_network(training):
    observations = torch.as_tensor(training.env.reset())
    size, game = int(np.prod(training.network.observation_shape)), training.game
    planes, legal = observations[:, :size], observations[:, size:].bool()
    with torch.no_grad():
        q_values = training.dqn.q_net(observations)
        logits, values = training.network(planes.reshape(-1, *game.observation_shape).float())
    means = torch.stack([row[mask].mean() for row, mask in zip(q_values, legal, strict=True)])
    assert torch.allclose(means, values, atol=1e-5)
    for row, advantages, mask in zip(q_values, logits, legal, strict=True):
        assert torch.allclose(
            row[mask] - row[mask][0], (advantages - advantages[mask][0])[mask], atol=1e-5
        )


def test_resumed_run_has_the_networks_of_its_checkpoint(finished_run, tmp_path):
    config = replace(TINY, steps=5 * 256)
    copy = tmp_path / "copy"
    alter(finished_run, copy, "network.stem.weight", lambda array: array)
    main(config, copy, resume=True)
    assert [row["step"] for row in log_of(copy)] == [256, 512, 768, 1024, 1280]
    assert json.loads((copy / "config.json").read_text())["steps"] == 1280


def test_checkpoint_with_nan_weights_is_refused(finished_run, tmp_path):
    alter(finished_run, tmp_path / "copy", "target.stem.weight", numbers(np.nan))
    with pytest.raises(BadCheckpoint, match=r"target\.stem\.weight"):
        main(replace(TINY, steps=2048), tmp_path / "copy", resume=True)


def test_checkpoint_with_huge_weights_is_refused(finished_run, tmp_path):
    alter(finished_run, tmp_path / "copy", "target.stem.weight", lambda array: array + 3e38)
    with pytest.raises(BadCheckpoint, match=r"the outputs of target are not finite$"):
        main(replace(TINY, steps=2048), tmp_path / "copy", resume=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"opponents": ()}, r"opponents=\(\)"),
        ({"opponents": ("minmax",)}, "minmax"),
        ({"boards": 0}, "boards=0"),
        ({"replay": 31}, "replay=31; expected: an integer, 32"),
        ({"target_span": 0}, "target_span=0"),
        ({"exploration": 1.5}, "exploration=1.5; expected: 0 to 1"),
        ({"steps": None}, "set at least one"),
    ],
)
def test_invalid_settings_are_refused(change, message):
    with pytest.raises(BadOption, match=message):
        replace(TINY, **change)


def test_command_has_its_options():
    shown = command_line(partial(run_command, dqn.app), "--help")
    for option in ("--steps", "--blocks", "--core-minutes", "--resume"):
        assert option in shown


def test_targets_of_several_decisions_add_up_discounted_rewards(tmp_path):
    config = replace(TINY, target_span=3, gamma=0.9, n_steps=40)
    with training_run.open_run(tmp_path / "run", {"steps": 2048}, False) as run:
        training = Training(config, run)
        for _ in run.steps(training.state, 2048, {}, lambda newest: ""):
            training.step()
            run.log({})
            break
    samples = training.dqn.replay_buffer.sample(2000)
    has_ended = samples.dones[:, 0].bool()
    returns = samples.rewards[has_ended].numpy().ravel()
    assert {round(float(value), 3) for value in returns} - {0} == {1, 0.9, 0.81, -1, -0.9, -0.81}
    assert not samples.rewards[~has_ended].any()
    # The newest decisions have fewer successors.
    discounts = samples.discounts[~has_ended].numpy().ravel()
    assert {round(float(value), 3) for value in discounts} <= {0.9, 0.81, 0.729}
    assert np.median(discounts) == pytest.approx(0.9**3)


def test_resumed_run_continues_with_new_random_numbers(finished_run, tmp_path, monkeypatch):
    seeds = []
    monkeypatch.setattr(MaskedObservations, "seed", lambda env, seed: seeds.append(seed))
    main(TINY, tmp_path / "fresh")
    shutil.copytree(finished_run, tmp_path / "copy")
    main(replace(TINY, steps=5 * 256), tmp_path / "copy", resume=True)
    fresh, resumed = seeds
    assert fresh != resumed


def test_run_uses_no_more_threads_than_pytorch_was_given(tmp_path, monkeypatch):
    counts, step = [], Training.step

    def counted_step(training):
        counts.append(torch.get_num_threads())
        return step(training)

    monkeypatch.setattr(Training, "step", counted_step)
    assert torch.get_num_threads() == 1
    main(replace(TINY, steps=256), tmp_path / "run")
    assert counts == [1]
    assert torch.get_num_threads() == 1
