"""Training of learned evaluations: learning, resuming, and players that use the result."""

import shutil
import sys
from dataclasses import replace
from types import SimpleNamespace

import heap
import numpy as np
import pytest
from checkpoints import alter, numbers
from learned_evaluation.networks import random_network
from logs import log_of, timeless

from cc_env.cli.application import run as run_command
from cc_env.errors import BadCheckpoint, BadFolder, BadNetwork, BadOption, BadPlayer, UnknownOption
from cc_env.games.factory import make_game
from cc_env.learned_evaluation import network_file
from cc_env.learned_evaluation.network import FIRST_SCALE
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player
from cc_env.registry.catalogue import GAMES, GameEntry
from training.learned_evaluation.fitting import FILE, Config, app, main
from training.selfplay.training import BEST, EvaluationOpponents

pytestmark = pytest.mark.usefixtures("module_without_curves")

TINY = Config(
    options={"size": 4},
    minutes=None,
    rounds=2,
    positions=1500,
    depth=2,
    epochs=2,
    batch_size=128,
    max_opening_turns=6,
    exploration=0.05,
    limit="nodes=300",
    evaluation_opponents=EvaluationOpponents(
        names=("minimax:depth=1",), anchor="minimax:depth=1", games=2, positions=0
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
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run"
    main(TINY, path)
    return path


def test_network_predicts_results_better(run):
    for row in log_of(run):
        assert row["loss"] < row["loss_uncorrected"]
        assert 0 <= row["drawn"] < 1
    assert row["positions"] > 2 * 0.9 * TINY.positions
    assert row["promotions"] >= 1


def test_minimax_plays_with_a_network_path(run):
    game = make_game("capture_conquer", size=4)
    for name in ("greedy:", "minimax:depth=2,", "mcts:simulations=20,"):
        player = make_player(f"{name}evaluation={run / FILE}", game)
        decision = player.choose(game.initial, np.random.default_rng(0), Clock())
        assert decision.action in game.legal_actions(game.initial)
    with pytest.raises(BadNetwork, match="capture_conquer"):
        make_player(f"minimax:evaluation={run / FILE}", make_game("capture_conquer", size=5))
    message = (
        "player 'minimax:evaluation=nowhere.network' cannot be created: nowhere.network: No such"
    )
    with pytest.raises(BadPlayer, match=message):
        make_player("minimax:evaluation=nowhere.network", game)


def test_killed_run_resumes_identically(run, tmp_path):
    path = tmp_path / "run"
    main(replace(TINY, rounds=1), path)
    main(TINY, path, resume=True)
    assert timeless(log_of(path)) == timeless(log_of(run))
    assert (path / FILE).read_bytes() == (run / FILE).read_bytes()


def test_first_network_must_beat_the_default_evaluation(tmp_path, monkeypatch):
    scores = iter([0.4, 0.5, 0.4])

    def score_next(game, newest, best, *arguments, **more):
        assert newest.fingerprint
        bests.append(best.fingerprint)
        return {BEST: next(scores)}

    bests = []
    monkeypatch.setattr("training.learned_evaluation.fitting.score_against", score_next)
    assert main(replace(TINY, rounds=3), tmp_path / "run")["promotions"] == 1
    assert [row["promotions"] for row in log_of(tmp_path / "run")] == [0, 1, 1]
    # The default evaluation has no fingerprint.
    assert bests[:2] == ["", ""]
    assert bests[2]


def test_complete_run_has_a_network_even_if_weak(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "training.learned_evaluation.fitting.score_against", lambda *arguments, **more: {BEST: 0.0}
    )
    main(TINY, tmp_path / "run")
    assert [row["promotions"] for row in log_of(tmp_path / "run")] == [0, 1]
    assert (tmp_path / "run" / FILE).is_file()


def test_run_whose_evaluation_reaches_the_time_limit_has_a_network(tmp_path, monkeypatch):
    seconds = 0.0

    def score_slowly(*arguments, **more):
        nonlocal seconds
        seconds += 3600
        return {BEST: 0.0}

    monkeypatch.setattr("training.learned_evaluation.fitting.score_against", score_slowly)
    clock = SimpleNamespace(perf_counter=lambda: seconds)
    monkeypatch.setattr("training.runs.training_run.time", clock)
    main(replace(TINY, rounds=None, minutes=30), tmp_path / "run")
    assert [row["promotions"] for row in log_of(tmp_path / "run")] == [0, 1]
    assert (tmp_path / "run" / FILE).is_file()


def test_missing_network_file_is_rewritten(run, tmp_path):
    path = tmp_path / "run"
    shutil.copytree(run, path)
    (path / FILE).unlink()
    main(TINY, path, resume=True)
    assert (path / FILE).read_bytes() == (run / FILE).read_bytes()


@pytest.mark.slow
def test_workers_do_not_change_the_run(run, tmp_path):
    main(replace(TINY, workers=2), tmp_path / "run")
    assert timeless(log_of(tmp_path / "run")) == timeless(log_of(run))


def test_remembered_positions_are_limited(tmp_path):
    row = main(replace(TINY, remembered=2000), tmp_path / "run")
    assert row["positions"] == 2000


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("sample.inputs", lambda array: None, "no array sample.inputs"),
        ("sample.games", lambda array: array[1:], "sample.games is int32"),
        ("sample.base", lambda array: array.astype(np.float64), "sample.base is float64"),
        ("sample.targets", numbers(2), "sample.targets is not between 0 and 1"),
        ("sample.results", numbers(np.nan), "sample.results has invalid values; expected: 0, 0.5"),
        ("sample.results", numbers(0.25), "sample.results has invalid values; expected: 0, 0.5"),
        (
            "sample.results",
            lambda array: np.arange(len(array), dtype=np.float32) % 3 / 2,
            "sample.results has different results of a game",
        ),
        ("sample.games", lambda array: array[::-1], r"sample.games\[\d+\] is \d+; expected: \d+"),
        ("sample.games", lambda array: array - 1, r"sample.games\[0\] is -1; expected: 0 or more"),
        ("best.cells.weight", numbers(1e30), "best: a quantized weight is 1"),
        (
            "best.cells.weight",
            numbers([6000 / FIRST_SCALE] * 12),
            "best: the sums of the first layer",
        ),
        ("best.second.weight", lambda array: None, "no array best.second.weight"),
        ("network.cells.bias", numbers(np.inf), "network.cells.bias has values that are not"),
        ("promotions", lambda _: "often", "promotions='often'"),
    ],
)
def test_altered_checkpoint_is_rejected(run, tmp_path, part, change, message):
    alter(run, tmp_path / "run", part, change)
    with pytest.raises(BadCheckpoint, match=message):
        main(replace(TINY, rounds=3), tmp_path / "run", resume=True)


def test_another_config_is_rejected(run):
    with pytest.raises(BadFolder, match="depth"):
        main(replace(TINY, depth=3, rounds=3), run, resume=True)


def test_game_without_network_inputs_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setitem(GAMES, "heap", GameEntry("heap", "heap/Heap-v0"))
    assert heap.HEAP
    evaluation_opponents = EvaluationOpponents(names=("random",), anchor="random")
    with pytest.raises(UnknownOption, match="heap has no evaluation"):
        main(Config(game="heap", evaluation_opponents=evaluation_opponents), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(UnknownOption, match="heap"):
        network_file.check_inputs(with_empty_evaluation(make_game("heap")))


def with_empty_evaluation(game):
    return game.replace(evaluations={"standard": ()})


@pytest.mark.parametrize(
    "change",
    [
        {"positions": 10},
        {"depth": 0},
        {"depth": 101},
        {"max_opening_turns": 201},
        {"weight": 2},
        {"engine": "threads"},
        {"workers": -1},
    ],
)
def test_invalid_settings_are_rejected(change):
    with pytest.raises((BadOption, UnknownOption), match=next(iter(change))):
        replace(TINY, **change)


def test_search_limits_are_checked_before_writing(tmp_path):
    for limit, message in (
        ("depth=0", "depth=0"),
        ("seconds=x", "seconds='x'"),
        ("hard", "NAME=VAL"),
        ("", "limit=''; expected: options of minimax, such as seconds"),
        ("foo=3", r"unknown option .foo."),
        ("evaluation=learned", "evaluation"),
    ):
        with pytest.raises(BadOption, match=message):
            main(replace(TINY, limit=limit), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    config = replace(TINY, limit="depth=2,nodes=300,table_megabytes=1", rounds=1, positions=1000)
    assert main(config, tmp_path / "run")["promotions"] == 1


def test_command_trains_and_prints_the_network_path(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    options = "--size 4 --rounds 1 --positions 1000 --depth 1 --workers 0 --name it --set epochs=1"
    changes = (
        "evaluation_opponents.names=['random']",
        "evaluation_opponents.anchor=random",
        "evaluation_opponents.games=2",
        "limit=depth=1",
    )
    changes = [word for change in changes for word in ("--set", change)]
    monkeypatch.setattr(sys, "argv", ["evaluation", *options.split(), *changes])
    with pytest.raises(SystemExit, match="0"):
        run_command(app)
    assert f"the best network: runs/it/{FILE}" in capsys.readouterr().out
    assert (tmp_path / "runs" / "it" / FILE).is_file()


@pytest.mark.parametrize("is_folder", [True, False])
def test_training_starts_from_a_network(run, tmp_path, is_folder):
    path = tmp_path / "run"
    config = replace(TINY, start=str(run if is_folder else run / FILE), rounds=1, learning_rate=0)
    assert main(config, path)["promotions"] >= 1
    # With a learning rate of 0, the best network remains the initial one.
    assert (path / FILE).read_bytes() == (run / FILE).read_bytes()


def test_initial_network_is_played_and_improved(run, tmp_path):
    path = tmp_path / "run"
    main(replace(TINY, start=str(run), rounds=1), path)
    [row] = log_of(path)
    # The opponent of the first evaluation.
    assert BEST in row
    main(replace(TINY, start=str(run), rounds=2), path, resume=True)
    assert len(log_of(path)) == 2


@pytest.mark.parametrize(
    ("start", "error", "message"),
    [
        ("learned", UnknownOption, "no network is shipped"),
        ("standard", BadOption, "expected: a run folder, a file .*network or 'learned'"),
        ("other", UnknownOption, "other"),
        ("missing.network", FileNotFoundError, "missing.network"),
    ],
)
def test_unusable_initial_network_is_refused(tmp_path, start, error, message):
    with pytest.raises(error, match=message):
        main(replace(TINY, start=start), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_initial_network_without_windows_is_rejected(tmp_path):
    game = TINY.make_game()
    path = tmp_path / f"none{network_file.SUFFIX}"
    network_file.write_network(path, game, random_network(np.random.default_rng(0)))
    with pytest.raises(BadNetwork, match="its windows do not cover the board"):
        main(replace(TINY, start=str(path)), tmp_path / "run")
