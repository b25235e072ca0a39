"""Runs: what was saved comes back, whatever happens in between."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import wait_for
from tensorboard.summary.writer import event_file_writer

from agents.shipped_weights import NETWORK
from agents.weight_files import load, save
from cc_env.errors import BadCheckpoint, BadFolder, BadRecord, FolderInUse
from training.runs import checkpoints, curves, training_run

ROOT = Path(__file__).parents[2]
CONFIG = {
    "game": "capture_conquer",
    "options": {"size": 6},
    "minutes": 3,
    "seed": 0,
    "rates": (0.1, 0.2),
}


def arrays(number):
    rng = np.random.default_rng(number)
    return {
        "weights": rng.random((3, 4)).astype(np.float32),
        "turned": rng.random((3, 4)).T,
        "streams": rng.integers(0, 2**64, 5, np.uint64),
        "planes": rng.integers(0, 2, (2, 3), np.int8),
        "over": rng.random(4) < 0.5,
        "step": np.array(number),
        "nothing": np.zeros((0, 7)),
    }


def opened(path, resume=False, **change):
    return training_run.open_run(path, {**CONFIG, **change}, resume)


def same(saved, number):
    assert saved.number == number
    assert saved.about == {"number": number, "name": "ö", "seconds": saved.about["seconds"]}
    assert saved.arrays.keys() == arrays(number).keys()
    for name, array in arrays(number).items():
        np.testing.assert_array_equal(saved.arrays[name], array, strict=True)
    return True


def log(run, step, numbers):
    run.step = step
    run.log(numbers)


def save_as(run, number, arrays, about):
    run.step = number
    run.save(arrays, about)


def work(run, numbers):
    """Log two rows and write a checkpoint for each number, then log a row more."""
    for number in numbers:
        log(run, 10 * number, {"loss": 1 / number, "score": None})
        run.seconds = 60 * number
        log(run, 10 * number + 5, {"loss": 1 / number, "score": 0.5})
        save_as(run, number, arrays(number), {"number": number, "name": "ö"})
    log(run, 10 * number + 9, {"loss": float("nan")})


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The folder of a run that was stopped after its third checkpoint."""
    # TensorBoard reads files of one second and process by their numbers, as text: 10 before 9.
    monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(0))
    with opened(tmp_path / "run") as run:
        work(run, [1, 2, 3])
    return tmp_path / "run"


def checkpoint(path, number):
    return path / "checkpoints" / f"{number:06d}.safetensors"


def logged(path):
    return [json.loads(line)["step"] for line in (path / "log.jsonl").read_text().splitlines()]


def go_on(path, then=lambda run: None, **change):
    """Open the run, do something, and return the checkpoint and the rows that it went on from."""
    with opened(path, resume=True, **change) as run:
        state = run.latest(), run.rows
        then(run)
        return state


# What is kept


def test_a_new_run_has_nothing_to_go_on_from(tmp_path):
    with opened(tmp_path / "deep" / "run") as run:
        assert run.latest() is None
        assert run.rows == []
    assert json.loads((tmp_path / "deep/run/config.json").read_text()) == {
        **CONFIG,
        "rates": [0.1, 0.2],
    }


def test_a_checkpoint_comes_back_with_all_kinds_of_arrays(path):
    with opened(path, resume=True) as run:
        assert same(run.latest(), 3)
        work(run, [4])
        assert same(run.latest(), 4)


def test_the_newest_two_checkpoints_are_kept(path):
    assert sorted(checkpoint(path, 1).parent.iterdir()) == [
        checkpoint(path, 2),
        checkpoint(path, 3),
    ]


def test_the_newest_is_the_one_with_the_highest_number(tmp_path):
    with opened(tmp_path / "run") as run:
        for number in (999_999, 1_000_000):
            save_as(run, number, arrays(number), {"number": number, "name": "ö"})
    saved, _ = go_on(tmp_path / "run")
    assert same(saved, 1_000_000)


def test_the_log_has_what_was_logged_until_the_checkpoint(path):
    assert logged(path) == [10, 15, 20, 25, 30, 35, 39]
    with opened(path, resume=True) as run:
        assert run.rows[0] == {"step": 10, "loss": 1.0, "minutes": 0.0}
        assert run.rows[-1] == {"step": 35, "loss": 1 / 3, "score": 0.5, "minutes": 3.0}
        log(run, 40, {"loss": np.float32(0.5), "games": np.int64(3)})
    assert logged(path) == [10, 15, 20, 25, 30, 35, 40]
    assert json.loads((path / "log.jsonl").read_text().splitlines()[-1])["loss"] == 0.5


def test_a_row_that_was_half_written_is_dropped(path):
    whole = (path / "log.jsonl").read_bytes()
    with opened(path, resume=True) as run:
        save_as(run, 4, {}, {})
        log(run, 40, {"loss": 0.25})
    with (path / "log.jsonl").open("ab") as file:
        file.write(b'{"step": 50, "lo')
    with opened(path, resume=True) as run:
        assert run.rows[-1]["step"] == 35
    assert whole.startswith((path / "log.jsonl").read_bytes())


def test_a_run_killed_before_its_first_checkpoint_starts_again(tmp_path):
    with opened(tmp_path / "run") as run:
        log(run, 1, {"loss": 1})
    with (
        pytest.warns(UserWarning, match="stopped before its first checkpoint; it starts again"),
        opened(tmp_path / "run", resume=True) as run,
    ):
        assert (run.latest(), run.rows, logged(run.path)) == (None, [], [])


def test_tensorboard_forgets_what_was_lost(path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with opened(path, resume=True) as run:
        log(run, 38, {"loss": 0.5})
    events = EventAccumulator(str(path / "tensorboard")).Reload()
    assert [event.step for event in events.Scalars("loss")] == [10, 15, 20, 25, 30, 35, 38]
    assert events.Scalars("score")[-1].value == 0.5


def test_curves_are_drawn(path):
    with opened(path, resume=True) as run:
        run.draw({"Loss": ["loss"], "Score": ["score", "unheard of"], "Nothing": ["nothing"]})
        before = (path / "curves.png").read_bytes()
        run.draw({"Loss": ["loss"]})
    assert before.startswith(b"\x89PNG")
    assert (path / "curves.png").read_bytes() != before


def test_many_points_are_smoothed_and_few_are_not():
    few = np.random.default_rng(0).random(curves.MAX_MARKERS)
    np.testing.assert_allclose(curves._smooth(few), few)
    many = np.random.default_rng(0).random(20 * curves.MAX_MARKERS) + np.linspace(
        0, 5, 20 * curves.MAX_MARKERS
    )
    smooth = curves._smooth(many)
    np.testing.assert_allclose(smooth, np.linspace(0.5, 5.5, len(many)), atol=0.35)
    assert np.abs(np.diff(smooth)).max() < np.abs(np.diff(many)).max() / 10


# What is broken


def truncated(content):
    return content[: len(content) // 2]


def altered(content):
    return content[:-1] + bytes([content[-1] ^ 1])


def altered_header(content):
    assert b'\\"number\\": 3' in content
    return content.replace(b'\\"number\\": 3', b'\\"number\\": 4')


@pytest.mark.parametrize("broken", [truncated, altered, altered_header, lambda _: b""])
def test_a_broken_checkpoint_is_passed_over(path, broken):
    checkpoint(path, 3).write_bytes(broken(checkpoint(path, 3).read_bytes()))
    with pytest.warns(UserWarning, match=r"000003.* continuing from 000002"):
        saved, rows = go_on(path)
    assert same(saved, 2)
    assert [row["step"] for row in rows] == logged(path) == [10, 15, 20, 25]


def test_a_checkpoint_written_again_leaves_the_older_one(path):
    go_on(path, then=lambda run: [save_as(run, number, {}, {}) for number in (4, 5, 5)])
    assert sorted(checkpoint(path, 1).parent.iterdir()) == [
        checkpoint(path, 4),
        checkpoint(path, 5),
    ]


def test_a_checkpoint_of_another_game_is_refused(path, tmp_path):
    with opened(tmp_path / "other", options={"size": 4}) as run:
        work(run, [7])
    checkpoint(path, 7).write_bytes(checkpoint(tmp_path / "other", 7).read_bytes())
    with (
        opened(path, resume=True) as run,
        pytest.raises(BadCheckpoint, match="of another run: size is 4 there, 6 here"),
    ):
        run.latest()


@pytest.mark.parametrize(
    "change",
    [
        {"run": None},
        {"run": [1]},
        {"about": 7},
        {"number": "3"},
        {"number": -1},
        {"logged": 1.5},
        {"logged": None},
    ],
    ids=str,
)
def test_a_checkpoint_whose_header_cannot_be_is_passed_over(path, change):
    header, saved = load(checkpoint(path, 3), checkpoints.CHECKPOINT)
    save(checkpoint(path, 3), checkpoints.CHECKPOINT, saved, {**header, **change})
    with pytest.warns(UserWarning, match=r"000003.* expected .*continuing from 000002"):
        saved, _ = go_on(path)
    assert same(saved, 2)


def test_who_takes_a_checkpoint_and_cannot_says_which(path):
    def take(saved):
        raise BadCheckpoint(f"nothing in number {saved.number}")

    with (
        opened(path, resume=True) as run,
        pytest.raises(BadCheckpoint, match=r"000003\.safetensors: nothing in number 3"),
    ):
        run.restore(take)


def test_what_was_broken_is_kept_until_the_next_checkpoint_and_never_counts(path):
    checkpoint(path, 3).write_bytes(b"")
    with pytest.warns(UserWarning, match="continuing from"):
        go_on(path)
    assert checkpoint(path, 3).exists()
    with pytest.warns(UserWarning, match="continuing from"):
        go_on(path, then=lambda run: save_as(run, 2, {}, {}))
    assert sorted(checkpoint(path, 1).parent.iterdir()) == [checkpoint(path, 2)]


def test_where_no_checkpoint_is_whole_nothing_is_begun(path):
    for number in (2, 3):
        checkpoint(path, number).write_bytes(b"PK\3\4 something else")
    before = (path / "log.jsonl").read_bytes()
    with pytest.raises(BadCheckpoint, match=r"000003.*incomplete or altered.*no other"):
        go_on(path)
    assert (path / "log.jsonl").read_bytes() == before


def test_another_format_is_refused(path, monkeypatch):
    monkeypatch.setattr("agents.weight_files.FORMAT", 2)
    with pytest.raises(BadCheckpoint, match=r"format 1, written by .*; expected .* of format 2"):
        load(checkpoint(path, 3), checkpoints.CHECKPOINT)


def test_a_full_disk_leaves_what_was_there(path, monkeypatch):
    with opened(path, resume=True) as run:
        before = {file: file.read_bytes() for file in checkpoint(path, 1).parent.iterdir()}
        full = OSError("no space left")
        monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(full))
        with pytest.raises(OSError, match="no space left"):
            save_as(run, 4, arrays(4), {})
        assert {file: file.read_bytes() for file in checkpoint(path, 1).parent.iterdir()} == before
        assert same(run.latest(), 3)


SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from training.runs.training_run import open_run

with open_run(Path(sys.argv[1]), {}, resume=sys.argv[2] == "resume") as run:
    run.restore(lambda saved: None)
    while True:
        run.advance()
        run.log({"loss": 1 / run.step})
        run.save({"all": np.full(1_000_000, run.step)}, {})
        run.log({"lost": 1})
"""


@pytest.mark.slow
def test_killed_while_it_saves_a_run_goes_on(tmp_path):
    path, number = tmp_path / "run", 0
    for kill in range(4):
        command = [sys.executable, "-c", SCRIPT, path, "resume" if kill else "new"]
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)})
        half = checkpoint(path, 0).parent
        wait_for(lambda later=number + 3: checkpoint(path, later).exists(), process)
        while not any(half.glob("*.half")):  # which is not there for long
            assert process.poll() is None
        process.kill()
        assert process.wait() == -signal.SIGKILL
        with training_run.open_run(path, {}, resume=True) as run:
            saved = run.latest()
            assert saved.number > number
            number = saved.number
            assert (saved.arrays["all"] == number).all()
            assert [row["step"] for row in run.rows if "loss" in row] == [*range(1, number + 1)]
            last = {**run.rows[-1], "minutes": 0}
            assert last == {"step": number, "loss": 1 / number, "minutes": 0}
            assert not any(half.glob("*.half"))


# What is refused


def test_a_folder_that_is_there_is_only_resumed(path, tmp_path):
    with pytest.raises(BadFolder, match="exists: --resume continues it, another --name"):
        opened(path).__enter__()
    with pytest.raises(BadFolder, match=r"no run .*other to continue; without --resume"):
        go_on(tmp_path / "other")
    assert not (tmp_path / "other").exists()


class Killed(BaseException):
    """What stands for a kill: no code of ours may act upon it."""


def kill_at(monkeypatch, name):
    def die(*_, **__):
        raise Killed

    monkeypatch.setattr(name, die)


@pytest.mark.parametrize(
    "where", ["training.runs.training_run.locked", "training.runs.training_run.write_atomically"]
)
def test_killed_before_its_config_is_there_a_run_is_not_resumed_but_begun(
    tmp_path, monkeypatch, where
):
    kill_at(monkeypatch, where)
    with pytest.raises(Killed):
        opened(tmp_path / "run").__enter__()
    monkeypatch.undo()
    (tmp_path / "run/config.json.half").write_text('{"ga')  # as a real kill may leave it
    with pytest.raises(BadFolder, match=r"no run .*run to continue; without --resume it"):
        go_on(tmp_path / "run")
    with opened(tmp_path / "run") as run:
        work(run, [1])
    assert json.loads((tmp_path / "run/config.json").read_text())["minutes"] == 3


def test_killed_as_soon_as_its_config_is_there_a_run_is_what_it_was(tmp_path, monkeypatch):
    kill_at(monkeypatch, "training.runs.training_run.Run.__init__")
    with pytest.raises(Killed):
        opened(tmp_path / "run").__enter__()
    monkeypatch.undo()
    with pytest.raises(BadFolder, match="exists: --resume continues it"):
        opened(tmp_path / "run").__enter__()
    with pytest.raises(BadFolder, match="size is 6 there, 8 here"):
        go_on(tmp_path / "run", options={"size": 8})
    assert go_on(tmp_path / "run") == (None, [])


def test_another_config_is_refused_and_the_run_left_alone(path):
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    with pytest.raises(BadFolder, match="size is 6 there, 8 here; seed is 0 there, 4 here"):
        go_on(path, options={"size": 8}, seed=4)
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


def test_a_run_of_before_a_setting_was_there_goes_on(path):
    with opened(path, resume=True, later=3) as run:
        assert run.latest().number == 3
    assert json.loads((path / "config.json").read_text())["later"] == 3


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("config.json", '{"game": ', "config.json is not JSON"),
        ("config.json", "[1]", r"config.json: expected an object, got \[1\]"),
        ("log.jsonl", '{"step": 1}\nnothing\n', "log.jsonl, line 2: not a row of numbers"),
        ("log.jsonl", '{"loss": 1}\n', "log.jsonl, line 1: not a row of numbers"),
        ("log.jsonl", '{"step": "x"}\n', "log.jsonl, line 1: not a row of numbers"),
        ("log.jsonl", '{"step": Infinity}\n', "log.jsonl, line 1: not a row of numbers"),
        ("log.jsonl", '{"step": 1' + "0" * 400 + "}\n", "log.jsonl, line 1: not a row of numbers"),
        ("log.jsonl", "[" * 10**5 + "\n", "log.jsonl, line 1: not a row of numbers"),
        ("config.json", "[" * 10**5, "config.json is not JSON: maximum recursion depth"),
    ],
)
def test_a_broken_config_or_log_is_refused_and_left_alone(path, name, content, why):
    (path / name).write_text(content)
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    with pytest.raises(BadRecord, match=why):
        go_on(path)
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


def test_limits_may_change_when_a_run_is_resumed(path):
    with opened(path, resume=True, minutes=9):
        assert json.loads((path / "config.json").read_text())["minutes"] == 9


def test_checkpoints_without_a_config_are_not_a_run(path):
    (path / "config.json").unlink()
    for begin in (go_on, lambda path: opened(path).__enter__()):
        with pytest.raises(BadFolder, match=r"run has no config\.json: it is not a run"):
            begin(path)
    with pytest.raises(BadFolder, match=r"has no config\.json: it is not a run"):
        go_on(path)


def test_a_folder_in_use_is_refused(path):
    with opened(path, resume=True), pytest.raises(FolderInUse, match="is in use"):
        go_on(path)
    go_on(path)


# The loop


def noop(run):
    """Do nothing."""


def count(path, resume=False, every=2, by=1, work=noop, dawdle=noop, **limits):
    """Train what only counts: its state is the number of its steps; return those evaluated."""
    config, counted, evaluated = {"minutes": None, "rounds": None} | limits, [0], []

    def load(saved):
        counted[0] = int(saved.arrays["counted"])

    with training_run.open_run(path, config, resume) as run:
        run.restore(load)
        assert counted[0] == run.step
        for _ in run.steps(
            lambda: ({"counted": np.array(counted[0])}, {}),
            every,
            {"Loss": ["loss"]},
            lambda newest: f"{newest['step']} steps",
        ):
            work(run)
            counted[0] += by
            run.advance(by)
            dawdle(run)
            if run.evaluation_due:
                evaluated.append(run.step)
                (path / NETWORK).touch()
            run.log({"loss": counted[0]})
    return evaluated


def minutes(path):
    return [json.loads(line)["minutes"] for line in (path / "log.jsonl").read_text().splitlines()]


@pytest.mark.usefixtures("without_curves")
def test_evaluations_are_due_at_multiples_and_at_the_end(tmp_path):
    assert count(tmp_path / "ones", rounds=5) == [2, 4, 5]
    assert logged(tmp_path / "ones") == [1, 2, 3, 4, 5]
    assert count(tmp_path / "threes", every=4, by=3, rounds=13) == [6, 9, 12, 15]


@pytest.mark.usefixtures("without_curves")
def test_after_evaluations_it_is_saved_and_told(tmp_path, capsys):
    count(tmp_path, every=3, rounds=7)
    assert sorted(checkpoint(tmp_path, 1).parent.iterdir()) == [
        checkpoint(tmp_path, 6),
        checkpoint(tmp_path, 7),
    ]
    told = capsys.readouterr().out.splitlines()
    assert [line for line in told if line.startswith("0.0 minutes")] == [
        f"0.0 minutes: {steps} steps" for steps in (3, 6, 7)
    ]


def test_curves_are_drawn_whenever_it_is_saved(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        training_run.Run, "draw", lambda run, charts: drawn.append((run.step, charts))
    )
    monkeypatch.setattr(training_run, "SAVE_INTERVAL_SECONDS", 0)
    count(tmp_path, every=10, rounds=2)
    assert drawn == [(1, {"Loss": ["loss"]}), (2, {"Loss": ["loss"]})]


@pytest.mark.usefixtures("without_curves")
def test_it_is_limited_by_minutes_of_all_sessions(tmp_path, stopwatch):
    watch = stopwatch()

    def work(run):
        watch.now += 90

    count(tmp_path, every=100, work=work, minutes=4)
    assert minutes(tmp_path) == [1.5, 3, 4.5]
    watch.now += 10_000
    count(tmp_path, resume=True, every=100, work=work, minutes=7)
    assert minutes(tmp_path) == [1.5, 3, 4.5, 6, 7.5]


@pytest.mark.usefixtures("without_curves")
def test_a_run_never_ends_without_an_evaluation(tmp_path, stopwatch):
    """Time that goes by after `advance` has said that none is due is not counted."""
    watch = stopwatch()

    def dawdle(run):
        watch.now += 60

    assert count(tmp_path, every=3, dawdle=dawdle, minutes=1) == [3]


@pytest.mark.usefixtures("without_curves")
def test_a_complete_run_says_so_and_trains_a_step_only_for_want_of_a_network(tmp_path, capsys):
    count(tmp_path, rounds=3)
    capsys.readouterr()
    assert count(tmp_path, resume=True, rounds=3) == []
    assert "this run is complete; --resume with a higher limit" in capsys.readouterr().out
    (tmp_path / NETWORK).unlink()
    assert count(tmp_path, resume=True, rounds=2) == [4]
    assert logged(tmp_path) == [1, 2, 3, 4]
    assert count(tmp_path, resume=True, rounds=6) == [6]


@pytest.mark.usefixtures("without_curves")
def test_ctrl_c_finishes_the_step_and_saves(tmp_path):
    def press(run):
        if run.step == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        count(tmp_path, every=100, work=press, rounds=5)
    assert logged(tmp_path) == [1, 2, 3]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert count(tmp_path, resume=True, every=100, rounds=5) == [5]
    assert logged(tmp_path) == [1, 2, 3, 4, 5]


def test_a_second_ctrl_c_or_an_error_ends_it_at_once(tmp_path):
    def press_twice(run):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    def fail(run):
        raise Killed

    for name, body, error in (
        ("pressed", press_twice, KeyboardInterrupt),
        ("failed", fail, Killed),
    ):
        with pytest.raises(error):
            count(tmp_path / name, work=body, rounds=5)
        assert logged(tmp_path / name) == []
        assert not list((tmp_path / name / "checkpoints").iterdir())
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_step_that_counts_nothing_is_an_error(tmp_path):
    with pytest.raises(AssertionError, match="a step calls advance"):
        count(tmp_path, by=0, rounds=5)
