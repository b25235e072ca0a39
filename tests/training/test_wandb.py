"""Training with --wandb: rows of the log are in the files of Weights & Biases, in offline mode."""

import json
import struct
import sys

import pytest

from cc_env.errors import BadOption, MissingExtra
from training.runs import training_run, weights_and_biases
from training.runs.training_run import Config

RUN_CONFIG = {"minutes": None, "rounds": 9, "network": {"blocks": 1}, "wandb": True}


# Not at the head of the file: every process that collects tests would take a second to import it.
@pytest.fixture(autouse=True, scope="module")
def wandb():
    return pytest.importorskip("wandb")


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("WANDB_CACHE_DIR", str(tmp_path / "cache"))


def records(path):
    """Return the records in a file of an offline run.

    The format is that of LevelDB's logs: blocks of 32 KiB of fragments, each with a checksum, its
    length, and its kind, which is 2 or 3 if more fragments follow.
    """
    from wandb.proto.wandb_internal_pb2 import Record

    content, place, data, found = path.read_bytes(), 7, b"", []
    assert content.startswith(b":W&B")
    while place + 7 <= len(content):
        if 2**15 - place % 2**15 < 7:
            place += -place % 2**15
        _, length, kind = struct.unpack_from("<IHB", content, place)
        data += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            found.append(Record.FromString(data))
            data = b""
    return found


def rows(path):
    """Return the logged rows in a file of an offline run."""
    found = []
    for record in records(path):
        if record.HasField("history"):
            items = {(item.nested_key or [item.key])[0]: item for item in record.history.item}
            values = {name: json.loads(item.value_json) for name, item in items.items()}
            found.append({name: value for name, value in values.items() if name[0] != "_"})
    return found


def train(path, steps, resume=False):
    import wandb

    with training_run.open_run(path, RUN_CONFIG, resume) as run:
        for step in steps:
            run.step = step
            run.log({"loss": 1 / step, "missing": None})
        run.save({}, {})
    # The end of wandb's own process, which writes the file.
    wandb.teardown()
    return [json.loads(line) for line in (path / "log.jsonl").read_text().splitlines()]


def test_rows_config_and_id_are_in_the_files_of_an_offline_run(tmp_path):
    path = tmp_path / "first"
    logged = train(path, [1, 2])
    (file,) = path.glob("wandb/offline-run-*/*.wandb")
    assert rows(file) == logged
    (started,) = [record.run for record in records(file) if record.HasField("run")][:1]
    assert started.run_id == (path / "wandb_id").read_text()
    assert (started.project, started.display_name) == ("cc_env", "first")
    saved = {item.key: json.loads(item.value_json) for item in started.config.update}
    assert saved["network"] == {"blocks": 1}


def test_resumed_run_has_the_same_id(tmp_path):
    path = tmp_path / "first"
    train(path, [1, 2])
    first = (path / "wandb_id").read_text()
    for folder in path.glob("wandb/offline-run-*"):
        folder.rename(path / "wandb" / "earlier")
    logged = train(path, [3], resume=True)
    (file,) = path.glob("wandb/offline-run-*/*.wandb")
    assert file.name == f"run-{first}.wandb"
    assert rows(file) == logged[2:]


def test_invalid_id_in_the_folder_is_replaced(tmp_path):
    (tmp_path / "wandb_id").write_text("../../elsewhere")
    train(tmp_path, [1])
    assert (tmp_path / "wandb_id").read_text() != "../../elsewhere"


def test_run_without_wandb_option_writes_no_wandb_files(tmp_path):
    with training_run.open_run(tmp_path / "run", {"rounds": 1}, False):
        assert not list((tmp_path / "run").glob("wandb*"))


def test_failed_start_is_one_error_and_can_be_repeated(tmp_path, monkeypatch, wandb):
    def fail(**_):
        raise wandb.errors.UsageError("no API key")

    with monkeypatch.context() as patch:
        patch.setattr(wandb, "init", fail)
        with pytest.raises(BadOption, match=r"no API key.*WANDB_MODE=offline"):
            train(tmp_path / "run", [1])
    assert not (tmp_path / "run" / "config.json").exists()
    assert len(train(tmp_path / "run", [1])) == 1


def test_missing_package_and_wrong_value_are_rejected(monkeypatch):
    with pytest.raises(BadOption, match="wandb=3"):
        Config(wandb=3)
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(MissingExtra, match=r"wandb.*\[wandb\]"):
        Config(wandb=True)
    with pytest.raises(MissingExtra):
        weights_and_biases.WandbRun(None, {})
