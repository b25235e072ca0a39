"""Runs: saved state is restored after any interruption."""

import json
import os
import re
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
        "transposed": rng.random((3, 4)).T,
        "streams": rng.integers(0, 2**64, 5, np.uint64),
        "planes": rng.integers(0, 2, (2, 3), np.int8),
        "flags": rng.random(4) < 0.5,
        "step": np.array(number),
        "empty": np.zeros((0, 7)),
    }


def open_test_run(path, resume=False, **change):
    return training_run.open_run(path, {**CONFIG, **change}, resume)


def step_of(number):
    """Return the step of a checkpoint, which is that of the last row before it."""
    return 10 * number + 5


def is_saved_state(saved, number):
    assert saved.number == step_of(number)
    times = {name: saved.about[name] for name in ("seconds", "core_seconds")}
    assert saved.about == {"number": number, "name": "ö", **times}
    assert saved.arrays.keys() == arrays(number).keys()
    for name, array in arrays(number).items():
        np.testing.assert_array_equal(saved.arrays[name], array, strict=True)
    return True


def log(run, step, numbers):
    run.step = step
    run.log(numbers)


def save_as(run, number, arrays, about):
    """Log a row and save a checkpoint."""
    log(run, step_of(number), {"loss": 1 / number, "score": 0.5})
    run.save(arrays, about)


def train(run, numbers):
    """Log two rows and save a checkpoint for each number, then log another row."""
    for number in numbers:
        log(run, 10 * number, {"loss": 1 / number, "score": None})
        run.seconds = 60 * number
        save_as(run, number, arrays(number), {"number": number, "name": "ö"})
    log(run, 10 * number + 9, {"loss": float("nan")})


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The folder of a run stopped after its third checkpoint."""
    # TensorBoard reads files of one second and process by their numbers, as text: 10 before 9.
    monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(0))
    with open_test_run(tmp_path / "run") as run:
        train(run, [1, 2, 3])
    return tmp_path / "run"


def checkpoint(path, number):
    return checkpoint_at(path, step_of(number))


def checkpoint_at(path, step):
    return path / "checkpoints" / f"{step:06d}.safetensors"


def logged_steps(path):
    return [json.loads(line)["step"] for line in (path / "log.jsonl").read_text().splitlines()]


def resume(path, then=lambda run: None, **change):
    """Resume a run and call `then`; return the checkpoint and the rows at the start."""
    with open_test_run(path, resume=True, **change) as run:
        state = run.checkpoints.latest(), run.rows
        then(run)
        return state


# Saved state


def test_new_run_has_no_checkpoint(tmp_path):
    with open_test_run(tmp_path / "deep" / "run") as run:
        assert run.checkpoints.latest() is None
        assert run.rows == []
    assert json.loads((tmp_path / "deep/run/config.json").read_text()) == {
        **CONFIG,
        "rates": [0.1, 0.2],
    }


def test_checkpoint_restores_all_dtypes_and_shapes(path):
    with open_test_run(path, resume=True) as run:
        assert is_saved_state(run.checkpoints.latest(), 3)
        train(run, [4])
        assert is_saved_state(run.checkpoints.latest(), 4)


def test_newest_two_checkpoints_are_kept(path):
    assert sorted(checkpoint(path, 1).parent.iterdir()) == [
        checkpoint(path, 2),
        checkpoint(path, 3),
    ]


def test_newest_checkpoint_has_the_highest_number(tmp_path):
    with open_test_run(tmp_path / "run") as run:
        for number in (99_999, 100_000):
            save_as(run, number, arrays(number), {"number": number, "name": "ö"})
    saved, _ = resume(tmp_path / "run")
    assert is_saved_state(saved, 100_000)


def test_log_ends_at_the_checkpoint(path):
    assert logged_steps(path) == [10, 15, 20, 25, 30, 35, 39]
    with open_test_run(path, resume=True) as run:
        first, last = ({**run.rows[index], "core_minutes": 0} for index in (0, -1))
        assert first == {"step": 10, "loss": 1.0, "minutes": 0.0, "core_minutes": 0}
        assert last == {"step": 35, "loss": 1 / 3, "score": 0.5, "minutes": 3.0, "core_minutes": 0}
        log(run, 40, {"loss": np.float32(0.5), "games": np.int64(3)})
    assert logged_steps(path) == [10, 15, 20, 25, 30, 35, 40]
    assert json.loads((path / "log.jsonl").read_text().splitlines()[-1])["loss"] == 0.5


def test_partial_row_is_dropped(path):
    with open_test_run(path, resume=True) as run:
        save_as(run, 4, {}, {})
        saved = (path / "log.jsonl").read_bytes()
        log(run, 50, {"loss": 0.25})
    with (path / "log.jsonl").open("ab") as file:
        file.write(b'{"step": 60, "lo')
    with open_test_run(path, resume=True) as run:
        assert run.rows[-1]["step"] == 45
    assert (path / "log.jsonl").read_bytes() == saved


def test_run_killed_before_its_first_checkpoint_restarts(tmp_path):
    with open_test_run(tmp_path / "run") as run:
        log(run, 1, {"loss": 1})
    with (
        pytest.warns(UserWarning, match="stopped before its first checkpoint; it starts again"),
        open_test_run(tmp_path / "run", resume=True) as run,
    ):
        assert (run.checkpoints.latest(), run.rows, logged_steps(run.path)) == (None, [], [])


def test_tensorboard_drops_lost_rows(path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with open_test_run(path, resume=True) as run:
        log(run, 38, {"loss": 0.5})
    events = EventAccumulator(str(path / "tensorboard")).Reload()
    assert [event.step for event in events.Scalars("loss")] == [10, 15, 20, 25, 30, 35, 38]
    assert events.Scalars("score")[-1].value == 0.5


def test_curves_are_drawn(path):
    with open_test_run(path, resume=True) as run:
        run.draw({"Loss": ["loss"], "Score": ["score", "unheard of"], "Nothing": ["nothing"]})
        before = (path / "curves.png").read_bytes()
        run.draw({"Loss": ["loss"]})
    assert before.startswith(b"\x89PNG")
    assert (path / "curves.png").read_bytes() != before


def test_only_long_curves_are_smoothed():
    few = np.random.default_rng(0).random(curves.MAX_MARKERS)
    np.testing.assert_allclose(curves._smooth(few), few)
    many = np.random.default_rng(0).random(20 * curves.MAX_MARKERS) + np.linspace(
        0, 5, 20 * curves.MAX_MARKERS
    )
    smooth = curves._smooth(many)
    np.testing.assert_allclose(smooth, np.linspace(0.5, 5.5, len(many)), atol=0.35)
    assert np.abs(np.diff(smooth)).max() < np.abs(np.diff(many)).max() / 10


# Broken files


def truncate(content):
    return content[: len(content) // 2]


def alter_last_byte(content):
    return content[:-1] + bytes([content[-1] ^ 1])


def alter_header(content):
    assert b'\\"number\\": 3' in content
    return content.replace(b'\\"number\\": 3', b'\\"number\\": 4')


@pytest.mark.parametrize("broken", [truncate, alter_last_byte, alter_header, lambda _: b""])
def test_broken_checkpoint_is_skipped(path, broken):
    checkpoint(path, 3).write_bytes(broken(checkpoint(path, 3).read_bytes()))
    with pytest.warns(UserWarning, match=r"000035.* continuing from 000025"):
        saved, rows = resume(path)
    assert is_saved_state(saved, 2)
    assert [row["step"] for row in rows] == logged_steps(path) == [10, 15, 20, 25]


def test_rewritten_checkpoint_keeps_the_previous_one(path):
    resume(path, then=lambda run: [save_as(run, number, {}, {}) for number in (4, 5, 5)])
    assert sorted(checkpoint(path, 1).parent.iterdir()) == [
        checkpoint(path, 4),
        checkpoint(path, 5),
    ]


def test_checkpoint_of_another_game_is_rejected(path, tmp_path):
    with open_test_run(tmp_path / "other", options={"size": 4}) as run:
        train(run, [1, 2, 3])
    checkpoint(path, 3).write_bytes(checkpoint(tmp_path / "other", 3).read_bytes())
    with (
        open_test_run(path, resume=True) as run,
        pytest.raises(BadCheckpoint, match="belongs to another run: size: saved 4, requested 6"),
    ):
        run.checkpoints.latest()


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
def test_checkpoint_with_an_invalid_header_is_skipped(path, change):
    header, saved = load(checkpoint(path, 3), checkpoints.CHECKPOINT)
    save(checkpoint(path, 3), checkpoints.CHECKPOINT, saved, {**header, **change})
    with pytest.warns(UserWarning, match=r"000035.* expected: .*continuing from 000025"):
        saved, _ = resume(path)
    assert is_saved_state(saved, 2)


def test_load_errors_name_the_checkpoint(path):
    def fail(saved):
        raise BadCheckpoint(f"nothing at step {saved.number}")

    with (
        open_test_run(path, resume=True) as run,
        pytest.raises(BadCheckpoint, match=r"000035\.safetensors: nothing at step 35"),
    ):
        run.restore(fail)


def test_broken_checkpoint_is_kept_until_the_next_save(path):
    checkpoint(path, 3).write_bytes(b"")
    with pytest.warns(UserWarning, match="continuing from"):
        resume(path)
    assert checkpoint(path, 3).exists()
    with pytest.warns(UserWarning, match="continuing from"):
        resume(path, then=lambda run: save_as(run, 2, {}, {}))
    assert sorted(checkpoint(path, 1).parent.iterdir()) == [checkpoint(path, 2)]


def test_run_without_intact_checkpoint_is_rejected(path):
    for number in (2, 3):
        checkpoint(path, number).write_bytes(b"PK\3\4 something else")
    before = (path / "log.jsonl").read_bytes()
    with pytest.raises(BadCheckpoint, match=r"000035.*incomplete or altered.*no other"):
        resume(path)
    assert (path / "log.jsonl").read_bytes() == before


def test_checkpoint_of_another_format_is_rejected(path, monkeypatch):
    monkeypatch.setattr("agents.weight_files.FORMAT", 2)
    with pytest.raises(BadCheckpoint, match=r"format 1, written by .*; expected: .* of format 2"):
        load(checkpoint(path, 3), checkpoints.CHECKPOINT)


def test_full_disk_keeps_the_earlier_checkpoints(path, monkeypatch):
    with open_test_run(path, resume=True) as run:
        before = {file: file.read_bytes() for file in checkpoint(path, 1).parent.iterdir()}
        full = OSError("no space left")
        monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(full))
        with pytest.raises(OSError, match="no space left"):
            save_as(run, 4, arrays(4), {})
        assert {file: file.read_bytes() for file in checkpoint(path, 1).parent.iterdir()} == before
        assert is_saved_state(run.checkpoints.latest(), 3)


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
def test_run_killed_during_a_save_resumes(tmp_path):
    path, number = tmp_path / "run", 0
    for kill in range(4):
        command = [sys.executable, "-c", SCRIPT, path, "resume" if kill else "new"]
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)})
        folder = path / "checkpoints"
        wait_for(lambda later=number + 3: checkpoint_at(path, later).exists(), process)
        # The file exists only for a short time.
        while not any(folder.glob("*.half")):
            assert process.poll() is None
        process.kill()
        assert process.wait() == -signal.SIGKILL
        with training_run.open_run(path, {}, resume=True) as run:
            saved = run.checkpoints.latest()
            assert saved.number > number
            number = saved.number
            assert (saved.arrays["all"] == number).all()
            assert [row["step"] for row in run.rows if "loss" in row] == [*range(1, number + 1)]
            last = {**run.rows[-1], "minutes": 0, "core_minutes": 0}
            assert last == {"step": number, "loss": 1 / number, "minutes": 0, "core_minutes": 0}
            assert not any(folder.glob("*.half"))


# Refused folders


def test_existing_run_can_only_be_resumed(path, tmp_path):
    with pytest.raises(BadFolder, match=r"the run .*run exists$"):
        open_test_run(path).__enter__()
    with pytest.raises(BadFolder, match=r"there is no run .*other$"):
        resume(tmp_path / "other")
    assert not (tmp_path / "other").exists()


class Killed(BaseException):
    """Stands for a kill: no handler catches it."""


def raise_killed_at(monkeypatch, name):
    def die(*_, **__):
        raise Killed

    monkeypatch.setattr(name, die)


@pytest.mark.parametrize(
    "where", ["training.runs.training_run.locked", "training.runs.training_run.write_atomically"]
)
def test_run_killed_before_its_config_restarts(tmp_path, monkeypatch, where):
    raise_killed_at(monkeypatch, where)
    with pytest.raises(Killed):
        open_test_run(tmp_path / "run").__enter__()
    monkeypatch.undo()
    # A real kill may leave a partial file.
    (tmp_path / "run/config.json.half").write_text('{"ga')
    with pytest.raises(BadFolder, match=r"there is no run .*run$"):
        resume(tmp_path / "run")
    with open_test_run(tmp_path / "run") as run:
        train(run, [1])
    assert json.loads((tmp_path / "run/config.json").read_text())["minutes"] == 3


def test_run_killed_after_its_config_resumes(tmp_path, monkeypatch):
    raise_killed_at(monkeypatch, "training.runs.training_run.Run.__init__")
    with pytest.raises(Killed):
        open_test_run(tmp_path / "run").__enter__()
    monkeypatch.undo()
    with pytest.raises(BadFolder, match=r"the run .*run exists$"):
        open_test_run(tmp_path / "run").__enter__()
    with pytest.raises(BadFolder, match="size: saved 6, requested 8"):
        resume(tmp_path / "run", options={"size": 8})
    assert resume(tmp_path / "run") == (None, [])


def test_another_config_is_rejected_and_the_run_unchanged(path):
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    with pytest.raises(BadFolder, match="size: saved 6, requested 8; seed: saved 0, requested 4"):
        resume(path, options={"size": 8}, seed=4)
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


def test_run_saved_without_a_newer_field_resumes(path):
    with open_test_run(path, resume=True, later=3) as run:
        assert run.checkpoints.latest().number == step_of(3)
    assert json.loads((path / "config.json").read_text())["later"] == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", '{"game": ', "config.json is not JSON"),
        ("config.json", "[1]", r"config.json: \[1\]; expected: an object"),
        ("log.jsonl", '{"step": 1}\nnothing\n', "log.jsonl, line 2: not a row of numbers"),
        ("log.jsonl", '{"loss": 1}\n', "log.jsonl, line 1: not a row of numbers"),
        ("log.jsonl", '{"step": "x"}\n', "log.jsonl, line 1: not a row of numbers"),
        ("log.jsonl", '{"step": Infinity}\n', "log.jsonl, line 1: not a row of numbers"),
        ("log.jsonl", '{"step": 1' + "0" * 400 + "}\n", "log.jsonl, line 1: not a row of numbers"),
        ("log.jsonl", "[" * 10**5 + "\n", "log.jsonl, line 1: not a row of numbers"),
        ("config.json", "[" * 10**5, "config.json is not JSON: maximum recursion depth"),
    ],
)
def test_broken_config_or_log_is_rejected_unchanged(path, name, content, message):
    (path / name).write_text(content)
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    with pytest.raises(BadRecord, match=message):
        resume(path)
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


def without(*numbers):
    """Return a function that deletes lines, by number from 0."""
    return lambda lines: [line for n, line in enumerate(lines) if n not in numbers]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda lines: [], "0 rows up to step 0"),
        (without(2, 3, 4, 5, 6), "2 rows up to step 15"),
        (without(1), "6 rows up to step 39"),
        (without(0, 6), "5 rows up to step 35"),
        (lambda lines: [lines[0], *lines], "6 rows up to step 30"),
    ],
)
def test_run_without_all_rows_is_rejected_unchanged(path, change, found):
    lines = (path / "log.jsonl").read_text().splitlines(keepends=True)
    (path / "log.jsonl").write_text("".join(change(lines)))
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    message = (
        f"{path}/log.jsonl: {found}; expected: 6 rows up to step 35, as at the newest checkpoint; "
        "restore the missing rows to resume this run"
    )
    with pytest.raises(BadRecord, match=f"^{re.escape(message)}$"):
        resume(path)
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


def test_run_without_its_log_is_rejected(path):
    (path / "log.jsonl").unlink()
    with pytest.raises(BadRecord, match="0 rows up to step 0; expected: 6 rows up to step 35"):
        resume(path)


@pytest.mark.parametrize("change", [{"logged": 10**9}, {"logged": 0}, {"number": 36}])
def test_checkpoint_that_disagrees_with_the_log_is_rejected(path, change):
    header, saved = load(checkpoint(path, 3), checkpoints.CHECKPOINT)
    save(checkpoint(path, 3), checkpoints.CHECKPOINT, saved, {**header, **change})
    with pytest.raises(BadRecord, match=r"rows up to step \d+; expected: \d+ rows up to step"):
        resume(path)


def test_limits_may_change_when_a_run_is_resumed(path):
    with open_test_run(path, resume=True, minutes=9):
        assert json.loads((path / "config.json").read_text())["minutes"] == 9


def test_checkpoints_without_config_are_no_run(path):
    (path / "config.json").unlink()
    for begin in (resume, lambda path: open_test_run(path).__enter__()):
        with pytest.raises(BadFolder, match=r"run has no config\.json: it is not a run"):
            begin(path)
    with pytest.raises(BadFolder, match=r"has no config\.json: it is not a run"):
        resume(path)


def test_folder_in_use_is_rejected(path):
    with open_test_run(path, resume=True):
        for _ in range(2):
            with pytest.raises(FolderInUse, match="is in use"):
                resume(path)
            # The folder itself is locked, too.
            (path / ".lock").unlink()
    resume(path)


# The loop


@pytest.mark.parametrize(
    ("limits", "fraction"),
    [
        ({"minutes": 12, "rounds": 8}, 0.5),
        ({"minutes": None, "rounds": 8}, 0.5),
        ({"minutes": 2, "rounds": 8}, 1),
        ({"minutes": None}, 0),
    ],
)
def test_progress_is_the_largest_fraction_of_all_limits(tmp_path, limits, fraction):
    with open_test_run(tmp_path / "run", **limits) as run:
        run.seconds, run.step = 180, 4
        assert run.progress() == fraction


def do_nothing(run):
    """Do nothing."""


def run_counter(path, resume=False, every=2, by=1, train=do_nothing, wait=do_nothing, **limits):
    """Run an algorithm that counts its steps; return the evaluated steps."""
    config, counter, evaluated = {"minutes": None, "rounds": None} | limits, [0], []

    def load(saved):
        counter[0] = int(saved.arrays["counted"])

    with training_run.open_run(path, config, resume) as run:
        run.restore(load)
        assert counter[0] == run.step
        for _ in run.steps(
            lambda: ({"counted": np.array(counter[0])}, {}),
            every,
            {"Loss": ["loss"]},
            lambda newest: f"{newest['step']} steps",
        ):
            train(run)
            counter[0] += by
            run.advance(by)
            wait(run)
            if run.evaluation_due:
                evaluated.append(run.step)
                (path / NETWORK).touch()
            run.log({"loss": counter[0]})
    return evaluated


def logged_minutes(path):
    return [json.loads(line)["minutes"] for line in (path / "log.jsonl").read_text().splitlines()]


@pytest.mark.usefixtures("without_curves")
def test_evaluations_are_due_at_multiples_and_at_the_end(tmp_path):
    assert run_counter(tmp_path / "ones", rounds=5) == [2, 4, 5]
    assert logged_steps(tmp_path / "ones") == [1, 2, 3, 4, 5]
    assert run_counter(tmp_path / "threes", every=4, by=3, rounds=13) == [6, 9, 12, 15]


@pytest.mark.usefixtures("without_curves")
def test_run_saves_and_prints_after_evaluations(tmp_path, capsys):
    run_counter(tmp_path, every=3, rounds=7)
    assert sorted(checkpoint(tmp_path, 1).parent.iterdir()) == [
        checkpoint_at(tmp_path, 6),
        checkpoint_at(tmp_path, 7),
    ]
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("0.0 minutes")] == [
        f"0.0 minutes: {steps} steps" for steps in (3, 6, 7)
    ]


def test_curves_are_drawn_at_every_save(tmp_path, monkeypatch):
    charts_by_step = []
    monkeypatch.setattr(
        training_run.Run, "draw", lambda run, charts: charts_by_step.append((run.step, charts))
    )
    monkeypatch.setattr(training_run, "SAVE_INTERVAL_SECONDS", 0)
    run_counter(tmp_path, every=10, rounds=2)
    assert charts_by_step == [(1, {"Loss": ["loss"]}), (2, {"Loss": ["loss"]})]


@pytest.mark.usefixtures("without_curves")
def test_minutes_limit_covers_all_sessions(tmp_path, stopwatch):
    watch = stopwatch()

    def train(run):
        watch.now += 90

    run_counter(tmp_path, every=100, train=train, minutes=4)
    assert logged_minutes(tmp_path) == [1.5, 3, 4.5]
    watch.now += 10_000
    run_counter(tmp_path, resume=True, every=100, train=train, minutes=7)
    assert logged_minutes(tmp_path) == [1.5, 3, 4.5, 6, 7.5]


@pytest.mark.usefixtures("without_curves")
def test_core_minutes_limit_covers_all_sessions(tmp_path, monkeypatch):
    core_time = [0.0]
    monkeypatch.setattr(training_run, "core_seconds", lambda: core_time[0])

    def train(run):
        core_time[0] += 90

    run_counter(tmp_path, every=100, train=train, core_minutes=4)
    core_time[0] += 10_000
    run_counter(tmp_path, resume=True, every=100, train=train, core_minutes=5)
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["core_minutes"] for line in lines] == [1.5, 3, 4.5, 6]


@pytest.mark.usefixtures("without_curves")
def test_run_ends_with_an_evaluation(tmp_path, stopwatch):
    """Time after `advance` does not count, so the limit cannot pass without an evaluation."""
    watch = stopwatch()

    def wait(run):
        watch.now += 60

    assert run_counter(tmp_path, every=3, wait=wait, minutes=1) == [3]


@pytest.mark.usefixtures("without_curves")
def test_complete_run_trains_only_without_a_network(tmp_path, capsys):
    run_counter(tmp_path, rounds=3)
    capsys.readouterr()
    assert run_counter(tmp_path, resume=True, rounds=3) == []
    assert "this run is complete; resume it with a higher limit" in capsys.readouterr().out
    (tmp_path / NETWORK).unlink()
    assert run_counter(tmp_path, resume=True, rounds=2) == [4]
    assert logged_steps(tmp_path) == [1, 2, 3, 4]
    assert run_counter(tmp_path, resume=True, rounds=6) == [6]


@pytest.mark.usefixtures("without_curves")
def test_ctrl_c_finishes_the_step_and_saves(tmp_path):
    def press(run):
        if run.step == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_counter(tmp_path, every=100, train=press, rounds=5)
    assert logged_steps(tmp_path) == [1, 2, 3]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert run_counter(tmp_path, resume=True, every=100, rounds=5) == [5]
    assert logged_steps(tmp_path) == [1, 2, 3, 4, 5]


def test_second_ctrl_c_or_an_error_stops_at_once(tmp_path):
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
            run_counter(tmp_path / name, train=body, rounds=5)
        assert logged_steps(tmp_path / name) == []
        assert not list((tmp_path / name / "checkpoints").iterdir())
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_step_without_advance_is_an_error(tmp_path):
    with pytest.raises(AssertionError, match="a step calls advance"):
        run_counter(tmp_path, by=0, rounds=5)
