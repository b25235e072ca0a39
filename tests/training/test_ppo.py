"""PPO: learning, opponents, resuming, and errors."""

import errno
import json
import os
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import asdict, replace
from pathlib import Path

import heap
import numpy as np
import pytest
import torch
from checkpoints import alter, numbers
from conftest import wait_for
from logs import log_of, timeless

import agents
from agents import weight_files
from agents.evaluator import Evaluator, load_evaluator
from agents.network import Network, load, save
from agents.network_players import PolicyPlayer
from agents.network_weights import Size
from agents.shipped_weights import NETWORK
from cc_env.cli.application import run as run_command
from cc_env.errors import BadCheckpoint, BadFolder, BadOption, UnknownOption
from cc_env.match.referee import Clock
from cc_env.registry.catalogue import GAMES, GameEntry
from training.ppo.opponents import PoolSettings
from training.ppo.ppo import Config, Training, app, divide_logits, main
from training.runs import checkpoints, training_run
from training.selfplay.training import EvaluationOpponents

pytestmark = pytest.mark.usefixtures("module_without_curves")

ROOT = Path(__file__).parents[2]
TINY = Config(
    options={"size": 4},
    minutes=None,
    steps=4 * 256,
    network=Size(blocks=1, channels=8, keys=4),
    boards=32,
    n_steps=8,
    batch_size=64,
    pool=PoolSettings(names=("random", "greedy"), snapshots=2),
    evaluate_every=512,
    evaluation_opponents=EvaluationOpponents(
        names=("random",), anchor="random", games=4, positions=60
    ),
    contempt=0.1,
    shaping=0.6,
    last_shaping=0.2,
)
# Suffixes of columns that depend on time.
TIMES = "minutes", "_per_second", "_share"


def checkpoint_of(path):
    return weight_files.load(max((path / "checkpoints").iterdir()), checkpoints.CHECKPOINT)[1]


# Learning


@pytest.mark.slow
def test_learns_heap_from_scratch(tmp_path, monkeypatch):
    monkeypatch.setitem(GAMES, "heap", GameEntry("heap", "heap/Heap-v0"))
    config = replace(
        TINY,
        game="heap",
        options={},
        steps=28 * 2048,
        network=Size(blocks=1, channels=32, keys=8),
        boards=128,
        n_steps=16,
        batch_size=512,
        learning_rate=3e-3,
        contempt=0,
        shaping=0,
        last_shaping=0,
        pool=PoolSettings(names=("random",)),
        max_opening_turns=3,
        evaluate_every=14 * 2048,
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
    assert about["trained"] == "ppo"
    positions = [heap.Position(np.uint64(size), np.uint64(0)) for size in (4, 8, 5)]
    _, values = Evaluator(network)(np.array([game.observe(position) for position in positions]))
    assert values[0] < -0.5 < 0.5 < values[2]


# A run


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    """The folder of a tiny run."""
    path = tmp_path_factory.mktemp("runs") / "whole"
    main(TINY, path)
    return path


def test_run_writes_its_folder(finished_run):
    names = {file.name for file in finished_run.iterdir()}
    assert {"config.json", "log.jsonl", "checkpoints", "curves.png", "tensorboard"} <= names
    rows = log_of(finished_run)
    assert [row["step"] for row in rows] == [256, 512, 768, 1024]
    assert [row["step"] for row in rows if "elo" in row] == [512, 1024]
    assert "policy_loss" not in rows[0], "there is nothing to learn from yet"
    rates = [row["learning_rate"] for row in rows[1:]]
    assert rates == pytest.approx([2.25e-3 + 0.25e-4, 1.5e-3 + 0.5e-4, 0.75e-3 + 0.75e-4])
    for row in rows:
        playing = [row[f"{name}_share"] for name in ("acting", "opponents", "boards")]
        assert min(playing) > 0
        assert sum(playing) < 1
        assert 0 <= row["learning_share"] < 1


def test_log_has_a_score_against_every_opponent(finished_run):
    opponents = {
        name for row in log_of(finished_run) for name in row if name.startswith("learning against")
    }
    pool = "itself", "snapshots", "random", "greedy"
    assert opponents == {f"learning against {name}" for name in pool}
    first = log_of(finished_run)[0]
    assert "learning against snapshots" not in first


def test_best_policy_plays_by_its_spec(finished_run):
    game = TINY.make_game()
    network, about = load(finished_run / NETWORK, game)
    assert network.size == TINY.network
    assert about["config"]["boards"] == TINY.boards
    assert about["step"] in (512, 1024)
    player = agents.make_player(f"ppo:path={finished_run / NETWORK}", game)
    action = player.choose(game.initial, np.random.default_rng(0), Clock()).action
    assert action in game.legal_actions(game.initial)


def test_same_seed_repeats_the_run(finished_run, tmp_path):
    main(TINY, tmp_path / "again")
    main(replace(TINY, seed=1, steps=256), tmp_path / "other")
    assert timeless(log_of(tmp_path / "again"), TIMES) == timeless(log_of(finished_run), TIMES)
    np.testing.assert_equal(checkpoint_of(tmp_path / "again"), checkpoint_of(finished_run))
    (other,) = timeless(log_of(tmp_path / "other"), TIMES)
    first = timeless(log_of(finished_run), TIMES)[0]
    assert {name: other[name] for name in first} != first


@pytest.mark.slow
@pytest.mark.parametrize("step", [256, 768])
def test_interrupted_run_resumes_identically(finished_run, tmp_path, monkeypatch, step):
    log = training_run.Run.log

    def log_and_press(run, numbers):
        log(run, numbers)
        if run.step == step:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(training_run.Run, "log", log_and_press)
    with pytest.raises(KeyboardInterrupt):
        main(TINY, tmp_path / "run")
    monkeypatch.undo()
    assert [row["step"] for row in log_of(tmp_path / "run")][-1] == step
    main(TINY, tmp_path / "run", resume=True)
    assert same(tmp_path / "run", finished_run)


class Killed(BaseException):
    """Stands for a kill: no handler catches it."""


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("training.runs.checkpoints.save", 2),
        *(
            pytest.param(*place, marks=pytest.mark.slow)
            for place in (
                (
                    "training.ppo.ppo.OverlappedPPO.update",
                    2,
                ),
                (
                    "training.selfplay.training.save",
                    1,
                ),
                ("training.runs.checkpoints.save", 1),
                ("training.runs.training_run.Run.draw", 1),
                ("training.runs.training_run.Run.log", 4),
            )
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.*it starts again")
def test_killed_run_resumes_identically(finished_run, tmp_path, monkeypatch, name, call):
    original, calls = pkgutil.resolve_name(name.replace(".OverlappedPPO", ":OverlappedPPO")), []

    def die(*arguments, **named):
        calls.append(name)
        if len(calls) == call:
            raise Killed
        return original(*arguments, **named)

    monkeypatch.setattr(name, die)
    with pytest.raises(Killed):
        main(TINY, tmp_path / "run")
    monkeypatch.undo()
    main(TINY, tmp_path / "run", resume=True)
    assert same(tmp_path / "run", finished_run)


def same(run, new_training):
    """Compare two runs: their logs without times, newest checkpoints and best networks."""
    assert timeless(log_of(run), TIMES) == timeless(log_of(new_training), TIMES)
    np.testing.assert_equal(checkpoint_of(run), checkpoint_of(new_training))
    np.testing.assert_equal(
        *(weight_files.load(folder / NETWORK, "network")[1] for folder in (run, new_training))
    )
    return True


@pytest.mark.slow
def test_run_resumes_after_a_full_disk(finished_run, tmp_path, monkeypatch, capsys):
    """The disk is full at a checkpoint, at a row of the log, and at a chart."""
    monkeypatch.chdir(tmp_path)
    main(replace(TINY, steps=512), tmp_path / "runs/run")
    before = {file: file.read_bytes() for file in (tmp_path / "runs/run/checkpoints").iterdir()}
    threads = set(threading.enumerate())

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in (
        "os.fsync",
        "training.runs.training_run.Run.log",
        "training.runs.training_run.write_atomically",
    ):
        monkeypatch.setattr(name, full)
        monkeypatch.setattr(sys, "argv", ["ppo", "--name", "run", "--resume", "--steps", "1024"])
        assert run_command(app) == 2
        monkeypatch.undo()
        monkeypatch.chdir(tmp_path)
        (line,) = capsys.readouterr().err.splitlines()
        assert re.fullmatch(r"error: (runs/run/\S+: )?No space left on device; --resume .*", line)
        assert line.endswith("; --resume continues runs/run from its last checkpoint")
        after = {file: file.read_bytes() for file in (tmp_path / "runs/run/checkpoints").iterdir()}
        assert after == before
        # The thread of the progress bar ends by itself; TensorBoard's would not.
        new_threads = set(threading.enumerate()) - threads
        for thread in new_threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in new_threads)
    main(TINY, tmp_path / "runs/run", resume=True)
    assert timeless(log_of(tmp_path / "runs/run"), TIMES)[-1]["step"] == 1024


SCRIPT = """
import json
import os
import signal
import sys
import threading
from pathlib import Path

from training.ppo import ppo
from training.runs import curves
from training.runs.config import build_config

path, config, resume, last = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3], sys.argv[4]
fsync, calls = os.fsync, []


def fsync_or_wait(file):
    calls.append(file)
    if len(calls) == int(last):
        print("waiting for the kill", flush=True)
        signal.pause()
    fsync(file)


os.fsync = fsync_or_wait
curves.to_png = lambda rows, charts: b""
ppo.main(build_config(ppo.Config, config), path, resume == "resume")
"""


@pytest.mark.slow
def test_sigkilled_run_resumes_identically(finished_run, tmp_path):
    """The process is killed during writes of a checkpoint, the log and a later checkpoint."""
    path, config = tmp_path / "run", json.dumps(asdict(TINY))
    for kill, (call, half) in enumerate([(4, True), (3, False), (6, None)]):
        command = [sys.executable, "-c", SCRIPT, path, config, "resume" if kill else "new"]
        with subprocess.Popen(
            [*command, str(call)],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"},
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert any("waiting for the kill" in line for line in process.stdout)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        if half is not None:
            assert any((path / "checkpoints").glob("*.half")) == half
    assert [file.name for file in (path / "checkpoints").glob("*.safetensors")]
    main(TINY, path, resume=True)
    assert same(path, finished_run)


def test_finished_run_is_extended(finished_run, tmp_path):
    shutil.copytree(finished_run, tmp_path / "run")
    last = main(replace(TINY, steps=6 * 256, threads=2), tmp_path / "run", resume=True)
    assert last["step"] == 6 * 256
    with pytest.raises(BadFolder, match="boards: saved 32, requested 64"):
        main(replace(TINY, boards=64), tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("rollout.actions", numbers(-1), "rollout.actions has illegal actions"),
        ("rollout.actions", numbers(10**6), "rollout.actions has illegal actions"),
        ("rollout.action_masks", numbers(7), "rollout.action_masks has invalid values"),
        ("rollout.returns", numbers(np.nan), "rollout.returns has invalid values"),
        (
            "rollout.returns",
            numbers(0.75),
            r"rollout.returns differs from rollout.advantages \+ roll",
        ),
        (
            "rollout.advantages",
            lambda array: array[::-1],
            "rollout.returns differs from rollout.adv",
        ),
        ("rollout.log_probs", numbers(0.1), "rollout.log_probs has numbers above 0"),
        ("rollout.values", numbers(-1.5), "rollout.values has numbers outside -1 to 1"),
        ("rollout.values", lambda array: array.T, r"rollout.values is float32\[32, 8\]"),
        ("rollout.values", lambda array: None, "there is no array rollout.values"),
        ("boards.positions", numbers(2**64 - 1), "boards: .* are not a position"),
        ("boards.episode_status", numbers(1), "boards: seats, masks or"),
        ("boards.episode_seat", lambda array: 1 - array, "boards: seats, masks or"),
        ("boards.episode_turns", lambda array: 500 - array, "boards: seats, masks or"),
        ("boards.observations", lambda array: 1 - array, "boards: seats, masks or"),
        ("boards.masks", lambda array: 1 - array, "boards: seats, masks or"),
        ("boards.keys", lambda array: array[:, :0], r"boards.keys is uint64\[32, 0\]"),
        ("boards.keys", lambda array: None, "there is no array boards.keys"),
        ("boards.episode_opponent", numbers(100), "boards: opponents .*; expected: -1 to "),
        ("boards.episode_opponent", numbers(-1), "boards: opponents .*; expected: -1 to "),
        (
            "boards.keys",
            lambda array: array[::-1],
            "boards: the keys that count repetitions do not contain",
        ),
        ("lengths", lambda array: 0 * array, "lengths: 0 in a game with decisions, or more in one"),
        ("lengths", lambda array: array[:3], r"lengths is int64\[3\]; expected: int64\[32\]"),
        ("snapshot 1.stem.bias", numbers(np.nan), "snapshot 1.stem.bias has values that are not"),
        ("optimizer.0.exp_avg", lambda array: None, "there is no array optimizer.0.exp_avg"),
        ("pool.scores", numbers(1.1), r"pool.scores is \[1.1, .*; expected: numbers from 0 to 1"),
        ("pool.scores", numbers(np.nan), r"pool.scores is \[nan, .*; expected: numbers"),
        ("snapshots_taken", lambda _: "1", "snapshots_taken='1'; expected: an integer"),
        ("mirrored", lambda _: None, "mirrored=None; expected: an integer"),
        ("mirrored", lambda _: 2, "mirrored=2; expected: an integer, 0 to 1"),
        ("snapshot 0.stem.weight", lambda array: array + 3e38, "the outputs of snapshot 0 are not"),
        (
            "optimizer.0.step",
            lambda array: array + 1,
            "optimizer.1.step is .*; expected: the same int",
        ),
        ("seconds", lambda _: float("nan"), "seconds=nan; expected: a number"),
    ],
)
def test_altered_checkpoint_is_rejected(
    finished_run, new_training, tmp_path, part, change, message
):
    alter(finished_run, tmp_path / "run", part, change)
    with (
        training_run.open_run(tmp_path / "run", asdict(TINY), True) as run,
        pytest.raises(BadCheckpoint, match=rf"001024\.safetensors: {message}"),
    ):
        run.restore(new_training.load)


@pytest.fixture(scope="module")
def new_training(tmp_path_factory):
    """A run without steps."""
    with training_run.open_run(tmp_path_factory.mktemp("runs") / "other", {}, False) as run:
        yield Training(TINY, run)


# Checkpoints and promotion


@pytest.fixture
def training(tmp_path):
    with training_run.open_run(tmp_path / "run", {}, False) as run:
        yield Training(TINY, run)


def test_run_saves_between_evaluations(tmp_path, monkeypatch):
    monkeypatch.setattr(training_run, "SAVE_INTERVAL_SECONDS", 0)
    main(replace(TINY, steps=512, evaluate_every=10**6), tmp_path / "run")
    saved = {int(file.stem) for file in (tmp_path / "run/checkpoints").iterdir()}
    assert saved == {256, 512}


def test_promoted_network_joins_the_pool(training, monkeypatch):
    scores = [None, 0.44, 0.45, 0.2, 0.8]

    def score_against(game, newest, best, evaluation_opponents, seed):
        for player in filter(None, (newest, best)):
            assert (player._mirrored, player._contempt) == (False, 0)
        score = scores.pop(0)
        assert (best is None) == (score is None)
        return {"random": 0.75, "elo": 10.0} | ({} if best is None else {"best": score})

    monkeypatch.setattr("training.selfplay.training.score_against", score_against)
    best = []
    for number, count in enumerate([1, 1, 2, 2, 3]):
        torch.nn.init.constant_(training.network.value[2].bias, number)
        assert training.evaluate()["snapshots_taken"] == count
        network, about = load(training.run.path / NETWORK, training.game)
        best.append(network.value[2].bias.item())
    assert best == [0, 0, 2, 2, 4]
    assert (about["best"], about["elo"]) == (0.8, 10.0)


# The policy


def test_policy_samples_legal_actions_by_probability(training):
    policy, env = training.ppo.learner.policy, training.env
    policy.evaluator = Evaluator(training.network)
    planes = torch.from_numpy(np.repeat(env.reset()[:1], 3000, 0)).float()
    masks = np.repeat(env.action_masks()[0][np.newaxis], 3000, 0)
    with torch.no_grad():
        actions, values, logs = policy(planes, action_masks=masks)
        logits, expected_value = training.network(planes[:1])
        again, same_logs, entropy = policy.evaluate_actions(planes, actions, masks)
    legal = np.flatnonzero(masks[0])
    probabilities = torch.softmax(logits[0, legal], 0).numpy()
    counts = np.bincount(actions.numpy(), minlength=len(masks[0]))
    assert counts[legal].sum() == 3000
    np.testing.assert_allclose(counts[legal] / 3000, probabilities, atol=0.04)
    np.testing.assert_allclose(
        logs.exp(), probabilities[np.searchsorted(legal, actions.numpy())], atol=0.02
    )
    # Gradient steps may be in bfloat16.
    torch.testing.assert_close(logs, same_logs, atol=0.02, rtol=0.02)
    torch.testing.assert_close(values, again, atol=0.02, rtol=0.02)
    torch.testing.assert_close(policy.predict_values(planes), values)
    assert values.shape == (3000, 1)
    assert values[0].item() == pytest.approx(expected_value.item(), abs=0.02)
    assert entropy[0].item() == pytest.approx(
        -(probabilities * np.log(probabilities)).sum(), abs=0.02
    )


# Invalid input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": None}, "minutes=None, steps=None; set at least one"),
        ({"boards": 0}, "boards=0; expected: an integer, 1"),
        ({"shaping": 1.5}, r"shaping=1\.5; expected: 0 to 1"),
        ({"contempt": -2}, "contempt=-2; expected: -1 to 1"),
        ({"threads": 0}, "threads=0; expected: an integer, 1"),
        ({"threads": 5000}, "threads=5000; expected: an integer, 1 to 1,024"),
        ({"n_epochs": 1.5}, r"n_epochs=1\.5; expected: an integer"),
        ({"device": "cuda:9"}, "device='cuda:9'; this machine has: cpu"),
        ({"options": {"size": 9}}, "expected: an integer, 4 to 8"),
    ],
)
def test_invalid_settings_are_rejected(change, message):
    with pytest.raises(BadOption, match=message):
        replace(TINY, **change)


def test_run_starts_from_weights_of_another_run(finished_run, tmp_path):
    config = replace(TINY, steps=256, learning_rate=0, last_learning_rate=0)
    main(replace(config, start=str(finished_run)), tmp_path / "run")
    best, started = (
        load(path / NETWORK, TINY.make_game())[0].state_dict()
        for path in (finished_run, tmp_path / "run")
    )
    assert all(torch.equal(started[name], tensor) for name, tensor in best.items())
    assert not load_evaluator(tmp_path / "run" / NETWORK, TINY.make_game()).mirrored


def test_missing_initial_weights_leave_no_folder(tmp_path):
    with pytest.raises(BadCheckpoint, match="nowhere"):
        main(replace(TINY, start="nowhere"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_initial_weights_are_the_first_snapshot_and_the_best_network(finished_run, tmp_path):
    config = replace(TINY, steps=512, gate=1, start=str(finished_run))
    main(config, tmp_path / "run")
    assert log_of(tmp_path / "run")[-1]["snapshots_taken"] == 1
    best, started = (
        load(path / NETWORK, TINY.make_game())[0].state_dict()
        for path in (finished_run, tmp_path / "run")
    )
    assert all(torch.equal(started[name], tensor) for name, tensor in best.items())


def test_network_that_learned_from_images_is_mirrored_after_ppo(finished_run, tmp_path):
    game, start = TINY.make_game(), tmp_path / "start.safetensors"
    save(start, load(finished_run / NETWORK, game)[0], game, {"trained": "alphazero"})
    config = replace(TINY, start=str(start), steps=256)
    main(config, tmp_path / "run")
    assert load_evaluator(tmp_path / "run" / NETWORK, game).mirrored
    # A resumed run does not read the file again.
    start.unlink()
    main(replace(config, steps=1024), tmp_path / "run", resume=True)
    assert load_evaluator(tmp_path / "run" / NETWORK, game).mirrored


def test_temperature_divides_the_logits():
    game = TINY.make_game()
    network = Network(game, TINY.network)
    planes = torch.from_numpy(game.observe(game.initial)[np.newaxis]).float()
    logits, value = network(planes)
    divide_logits(network, 0.5)
    torch.testing.assert_close(network(planes), (2 * logits, value))


def test_shaping_without_an_evaluation_creates_no_run(tmp_path, monkeypatch):
    monkeypatch.setitem(GAMES, "heap", GameEntry("heap", "heap/Heap-v0"))
    pool = PoolSettings(names=("random",))
    with pytest.raises(UnknownOption, match="heap has no evaluation"):
        main(replace(TINY, game="heap", options={}, pool=pool, shaping=0.5), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_weight_of_shaping_follows_its_schedule(tmp_path, monkeypatch):
    weights = []

    def step(self):
        metrics = original(self)
        weights.append(self.env.shaping)
        return metrics

    original = Training.step
    monkeypatch.setattr(Training, "step", step)
    main(TINY, tmp_path / "run")
    assert weights == pytest.approx([0.6, 0.5, 0.4, 0.3])


def test_draws_are_rewarded_with_minus_contempt(tmp_path):
    game = {"game": "checkers", "options": {"no_progress_limit": 6}}
    config = replace(TINY, **game, contempt=0.7, shaping=0, last_shaping=0, steps=16 * 256)
    rewards = set()
    with training_run.open_run(tmp_path / "run", {}, False) as run:
        training = Training(config, run)
        for _ in range(16):
            training.step()
            rewards |= set(training.ppo.learner.rollout_buffer.rewards.flat)
    assert rewards == {np.float32(reward) for reward in (-1, -0.7, 0, 1)}


@pytest.mark.parametrize("change", [{"shaping": 0.3}, {"gamma": 0.8}])
def test_rewards_of_a_rollout_follow_the_settings(training, tmp_path, change):
    training.step()
    with training_run.open_run(tmp_path / "other", {}, False) as run:
        other = Training(replace(TINY, **change), run)
        other.step()
        rollouts = [each.ppo.learner.rollout_buffer for each in (training, other)]
        np.testing.assert_array_equal(*[rollout.actions for rollout in rollouts])
        assert not np.array_equal(*[rollout.rewards for rollout in rollouts])


def test_invalid_opponent_creates_no_run(tmp_path):
    with pytest.raises(BadOption, match="depth=0"):
        main(replace(TINY, pool=PoolSettings(names=("minimax:depth=0",))), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "cuda:7"], "this machine has: cpu"),
        (["--game", "chess"], "no game 'chess'"),
        (["--size", "9"], "expected: an integer, 4 to 8"),
        (["--blocks", "0"], "blocks=0"),
        (["--name", "none", "--resume"], "there is no run runs/none; omit --resume"),
    ],
)
def test_bad_input_prints_one_line_and_writes_nothing(
    tmp_path, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["ppo", *arguments])
    assert run_command(app) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_interrupted_command_saves_and_suggests_resume(tmp_path):
    small = "--size", "4", "--blocks", "1", "--channels", "8"
    process = subprocess.Popen(
        [sys.executable, "-m", "training.ppo", *small, "--name", "it"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    path = tmp_path / "runs" / "it"
    wait_for(lambda: (path / "log.jsonl").exists() and log_of(path), process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode == 130, out
    assert "Traceback" not in out
    assert "stopped; the same command with --resume continues it, in runs/it" in out
    steps = log_of(path)[-1]["step"]
    assert (path / "checkpoints" / f"{steps:06d}.safetensors").exists()
