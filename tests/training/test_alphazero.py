"""AlphaZero: learning, resuming, and errors."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import heap
import numpy as np
import pytest
import torch
from checkpoints import alter, numbers
from conftest import command_line, wait_for
from logs import log_of

from agents.evaluator import Evaluator
from agents.network import Network, load
from agents.network_players import PolicyPlayer
from agents.network_weights import Size
from agents.shipped_weights import NETWORK
from cc_env.cli.application import run as run_command
from cc_env.errors import (
    BadCheckpoint,
    BadFolder,
    BadOption,
    BadPlayer,
    TrainingDiverged,
    UnknownOption,
)
from cc_env.games.factory import make_game
from cc_env.match.referee import Clock
from cc_env.registry.catalogue import GAMES, GameEntry
from training.alphazero import Config, Training, app, main
from training.runs import state, training_run
from training.selfplay import learner, worker
from training.selfplay.training import EvaluationOpponents

pytestmark = pytest.mark.usefixtures("module_without_curves")

ROOT = Path(__file__).parents[2]
TINY = Config(
    options={"size": 4},
    minutes=None,
    rounds=4,
    network=Size(blocks=1, channels=8, keys=4),
    play=worker.SelfPlaySettings(boards=16, simulations=4, last_simulations=8, considered=4),
    learn=learner.LearnerSettings(batch_size=64),
    decisions=8,
    warm_up=50,
    replay=1000,
    evaluate_every=2,
    evaluation_opponents=EvaluationOpponents(
        names=("random",), anchor="random", games=4, positions=60
    ),
)


def test_learns_heap_from_scratch(tmp_path, monkeypatch):
    monkeypatch.setitem(GAMES, "heap", GameEntry("heap", "heap/Heap-v0"))
    config = replace(
        TINY,
        game="heap",
        options={},
        rounds=16,
        network=Size(blocks=1, channels=32, keys=8),
        play=worker.SelfPlaySettings(boards=32, simulations=8, considered=3, opponents_share=0),
        learn=learner.LearnerSettings(learning_rate=3e-3, ema_decay=0.95),
        decisions=16,
        replay=4000,
        evaluate_every=8,
    )
    game = heap.make()

    def skill(network):
        player = PolicyPlayer(game, Evaluator(network))
        rng = np.random.default_rng(0)
        return heap.share_of_best(lambda position: player.choose(position, rng, Clock()).action)

    for seed in range(5):
        torch.manual_seed(seed)
        assert skill(Network(game, config.network)) < 0.7
    numbers = main(config, tmp_path / "run")
    network, about = load(tmp_path / "run" / NETWORK, game)
    assert skill(network) >= 0.9
    assert numbers["random"] >= 0.75
    assert about["trained"] == "alphazero"
    _, values = Evaluator(network)(
        np.array([game.observe(heap.Position(np.uint64(size), np.uint64(0))) for size in (4, 8, 5)])
    )
    assert values[0] < -0.5 < 0.5 < values[2]
    losses = [row["policy_loss"] for row in log_of(tmp_path / "run") if "policy_loss" in row]
    assert losses[-1] < losses[0] - 0.2


def test_opponents_share_needs_an_evaluation(tmp_path, monkeypatch):
    monkeypatch.setitem(GAMES, "heap", GameEntry("heap", "heap/Heap-v0"))
    play = worker.SelfPlaySettings(opponents_share=0.5)
    config = replace(TINY, game="heap", options={}, play=play)
    with pytest.raises(BadPlayer, match=r"minimax.*no evaluation.*opponents_share=0 needs none"):
        main(config, tmp_path / "run")


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    """The folder of a tiny run."""
    path = tmp_path_factory.mktemp("runs") / "whole"
    main(TINY, path)
    return path


def test_run_writes_its_folder(finished_run):
    names = {file.name for file in finished_run.iterdir()}
    assert {"config.json", "log.jsonl", "checkpoints", "curves.png", NETWORK} <= names
    rows = log_of(finished_run)
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    assert [row["step"] for row in rows if "elo" in row] == [2, 4]
    assert [row["step"] for row in rows if 0 < row.get("accuracy", 0) < 1] == [2, 4]
    for row in rows:
        assert row["decisions_per_second"] > 0
        assert 0 < row["network_share"] + row["search_share"] < 1
    assert rows[-1]["samples"] > 100
    assert [row["simulations"] for row in rows] == [4, 5, 6, 7]


def test_same_seed_repeats_the_run(finished_run, tmp_path):
    main(TINY, tmp_path / "again")
    main(replace(TINY, rounds=2, seed=1), tmp_path / "other")
    first, again, other = map(log_of, (finished_run, tmp_path / "again", tmp_path / "other"))
    assert [row.get("policy_loss") for row in first] == [row.get("policy_loss") for row in again]
    assert first[1]["policy_loss"] != other[1]["policy_loss"]
    game = TINY.make_game()
    nets = [
        load(path / NETWORK, game)[0].state_dict() for path in (finished_run, tmp_path / "again")
    ]
    assert all(torch.equal(nets[0][name], nets[1][name]) for name in nets[0])


def test_resumed_run_restores_its_state(tmp_path):
    path = tmp_path / "run"
    main(replace(TINY, rounds=2), path)
    with training_run.open_run(path, json.loads((path / "config.json").read_text()), True) as run:
        saved = run.checkpoints.latest()
        resumed = Training(TINY, run)
        parts = state.to_arrays(**resumed.learner.parts())
        resumed.close()
    assert len(parts) > 20
    for name, array in parts.items():
        np.testing.assert_array_equal(array, saved.arrays[name])
    assert resumed.learner.steps == saved.about["steps"] > 0
    assert resumed.replay.added == saved.about["added"] > 0
    count = len(resumed.replay)
    np.testing.assert_array_equal(
        resumed.replay.samples.targets[:count], saved.arrays["replay.targets"]
    )
    main(TINY, path, resume=True)
    rows = log_of(path)
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    assert rows[3]["minutes"] > rows[2]["minutes"] > rows[1]["minutes"]
    assert rows[2]["samples"] >= rows[1]["samples"]


def test_resume_with_another_config_is_rejected(finished_run):
    with pytest.raises(BadFolder, match=r"blocks: saved 1, requested 2"):
        main(replace(TINY, network=Size(2, 8, 4)), finished_run, resume=True)
    with pytest.raises(BadFolder, match=r"the run .* exists"):
        main(TINY, finished_run)


def test_broken_checkpoints_are_rejected(finished_run, tmp_path):
    shutil.copytree(finished_run, tmp_path / "run")
    for file in (tmp_path / "run" / "checkpoints").iterdir():
        file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(BadCheckpoint, match="incomplete or altered"):
        main(replace(TINY, rounds=6), tmp_path / "run", resume=True)


def test_run_starts_from_weights_of_another_run(finished_run, tmp_path):
    network, _ = load(finished_run / NETWORK, TINY.make_game())
    with (
        training_run.open_run(tmp_path / "run", {}, False) as run,
        closing(Training(replace(TINY, start=str(finished_run)), run)) as training,
    ):
        weights = training.learner.average.state_dict()
    assert all(torch.equal(weights[name], own) for name, own in network.state_dict().items())


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """The folder of a run of two rounds."""
    torch.set_num_threads(1)
    path = tmp_path_factory.mktemp("runs") / "short"
    main(replace(TINY, rounds=2), path)
    return path


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("replay.actions", numbers(32000), "replay.actions has invalid values; expected: -1 to"),
        ("replay.positions", numbers(2**64 - 1), "replay.positions: .* are not a position"),
        ("replay.values", lambda array: array[:-1], r"replay.values is float32\[\d+\]; expected"),
        ("replay.targets", lambda array: None, "there is no array replay.targets"),
        ("average.stem.bias", lambda array: array[:4], r"average.stem.bias is float32\[4\]"),
        ("network.stem.bias", lambda array: None, "there is no array network.stem.bias"),
        ("best.stem.bias", numbers(np.inf), "best.stem.bias has values that are not finite"),
        ("optimizer.0.exp_avg", lambda array: array[:0], r"optimizer.0.exp_avg is float32\[0, "),
        ("optimizer.3.step", lambda array: None, r"there is no array optimizer.3.step"),
        (
            "added",
            lambda _: 10**9,
            r"replay.positions is uint64\[\d+, 5\]; expected",
        ),
        (
            "network.tower.0.first.weight",
            lambda array: array + 1e38,
            "the outputs of network are not finite",
        ),
        (
            "average.stem.weight",
            lambda array: array + 3e38,
            "the outputs of average are not finite",
        ),
        (
            "replay.targets",
            lambda array: 0 * array,
            "replay.targets does not fit the position '.*' in row 0",
        ),
        ("replay.actions", lambda array: array[::-1], "replay.actions does not fit the position"),
        ("steps", lambda steps: steps + 1, "steps=[0-9]+; expected: [0-9]+, as in the optimizer"),
        ("added", lambda _: "many", "added='many'; expected: an integer"),
        ("steps", lambda _: -1, "steps=-1; expected: an integer"),
        ("seconds", lambda _: None, "seconds=None; expected: a number"),
    ],
)
def test_altered_checkpoint_is_rejected(short, other, tmp_path, part, change, message):
    """The hash is valid, and compiled code would not check the values."""
    alter(short, tmp_path / "run", part, change)
    with (
        training_run.open_run(tmp_path / "run", asdict(replace(TINY, rounds=2)), True) as run,
        pytest.raises(BadCheckpoint, match=rf"000002\.safetensors: {message}"),
    ):
        run.restore(other.load)


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A run without steps."""
    with (
        training_run.open_run(tmp_path_factory.mktemp("runs") / "other", {}, False) as run,
        closing(Training(TINY, run)) as training,
    ):
        yield training


def test_losing_network_is_not_promoted(tmp_path, monkeypatch):
    scores = iter([{"elo": 0.0}, {"elo": 0.0, "best": 0.49}, {"elo": 0.0, "best": 0.5}])
    monkeypatch.setattr("training.selfplay.training.score_against", lambda *_: next(scores))
    config, promoted_steps = replace(TINY, rounds=6), []
    with (
        training_run.open_run(tmp_path / "run", asdict(config), False) as run,
        closing(Training(config, run)) as training,
    ):
        evaluate = training.evaluate

        def evaluate_and_record():
            numbers = evaluate()
            promoted_steps.append(load(tmp_path / "run" / NETWORK, training.game)[1]["step"])
            return numbers

        monkeypatch.setattr(training, "evaluate", evaluate_and_record)
        training.train()
    assert promoted_steps == [2, 2, 6]


def test_diverged_run_raises_and_saves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(training_run, "SAVE_INTERVAL_SECONDS", 0)
    with (
        training_run.open_run(tmp_path / "run", asdict(TINY), False) as run,
        closing(Training(TINY, run)) as training,
    ):
        learn, metrics = training.learn, []

        def learn_and_break():
            if metrics:
                next(training.learner.average.parameters()).data[0] = float("nan")
            metrics.extend(learn())
            return {}

        monkeypatch.setattr(training, "learn", learn_and_break)
        with pytest.raises(TrainingDiverged, match="no longer finite"):
            training.train()
        assert "policy_loss" in metrics
        assert run.checkpoints.latest().number == run.step > 0
        arrays = run.checkpoints.latest().arrays.values()
        assert all(np.isfinite(array).all() for array in arrays if array.dtype.kind == "f")


def test_bad_settings_are_rejected():
    with pytest.raises(BadOption, match="minutes=None, rounds=None; set at least one"):
        Config(minutes=None)
    with pytest.raises(UnknownOption, match="device='cuda'; this machine has: cpu"):
        Config(device="cuda")
    with pytest.raises(UnknownOption, match="there is no game 'chess'"):
        Config(game="chess")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--minutes", "0"], "minutes=0.0; expected: more than 0"),
        (["--rounds", "-1"], "rounds=-1; expected: more than 0"),
        (["--workers", "0"], "workers=0; expected: an integer, 1"),
        (["--seed", "-1"], "seed=-1; expected: an integer, 0"),
        (["--simulations", "0"], "simulations=0; expected: an integer, 1"),
        (["--blocks", "0"], "blocks=0; expected: an integer, 1"),
        (["--device", "tpu"], "device='tpu'; this machine has: cpu"),
        (["--engine", "spark"], "unknown engine 'spark'"),
        (["--game", "chess"], "there is no game 'chess'"),
        (["--set", "learn.learning_rate=fast"], "learn.learning_rate='fast'; expected: a number"),
        (["--set", "learn.speed=1"], "unknown option learn.speed; expected: batch_size, learning"),
        (["--set", "play.opponents=max"], "there is no player 'max'"),
        (["-g", "mini_checkers", "--set", "play.opponents=aggressive"], "aggressive does not play"),
        (["--set", "play.opponents=5"], "play.opponents=5; expected: a string, or a list"),
        (["--rounds", "2", "--set", "options=5"], "options=5; expected: options.PART=VALUE"),
        (["--set", "learn"], "'learn'; expected: NAME=VALUE"),
        (["--set", "evaluation_opponents.names=['max']"], "there is no player 'max'"),
        (
            ["--name", "it", "--resume"],
            "there is no run runs/it; omit --resume to start",
        ),
    ],
)
def test_bad_input_prints_one_line_and_writes_nothing(
    tmp_path, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["alphazero", *arguments])
    assert run_command(app) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert not list(tmp_path.iterdir())


def test_resume_needs_no_repeated_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = "--size 4 --blocks 1 --channels 8 --simulations 2 --name it"
    small += " --set evaluation_opponents.games=2"
    options = f"{small} --set play.boards=4 --set warm_up=20 --rounds 2".split()
    for arguments in (options, ["--name", "it", "--resume", "--rounds", "3"]):
        monkeypatch.setattr(sys, "argv", ["alphazero", *arguments])
        with pytest.raises(SystemExit, match="0"):
            run_command(app)
    config = json.loads((tmp_path / "runs/it/config.json").read_text())
    assert (config["options"]["size"], config["play"]["boards"]) == (4, 4)
    assert (config["rounds"], config["minutes"]) == (3, None)
    assert [row["step"] for row in log_of(tmp_path / "runs/it")] == [1, 2, 3]


def start(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "training.alphazero", "--size", "4", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


SMALL = (
    *("--blocks", 1, "--channels", 8, "--simulations", 2, "--name", "run"),
    *("--set", "play.boards=4", "--set", "warm_up=20", "--set", "evaluation_opponents.games=2"),
)


def finish(process, status=0):
    out, _ = process.communicate()
    assert process.returncode == status, out
    assert "Traceback" not in out
    return out


@pytest.mark.slow
def test_command_resumes_after_ctrl_c(tmp_path, monkeypatch):
    process = start(tmp_path, *SMALL, "--minutes", 10)
    log = tmp_path / "runs" / "run" / "log.jsonl"
    wait_for(lambda: log.exists() and len(log.read_bytes().splitlines()) > 3, process)
    process.send_signal(signal.SIGINT)
    out = finish(process, status=130)
    assert "--resume continues it" in out
    rows = len(log_of(log.parent))
    monkeypatch.chdir(tmp_path)
    out = command_line(partial(run_command, app), "--size", 4, *SMALL, status=2)
    assert "exists; --resume continues" in out
    out = finish(start(tmp_path, *SMALL, "--minutes", 0.001, "--resume"))
    assert "the best network: runs/run/best.safetensors" in out
    assert len(log_of(log.parent)) >= rows
    load(log.parent / NETWORK, make_game("capture_conquer", size=4))
