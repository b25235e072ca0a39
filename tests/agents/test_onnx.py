"""Networks as ONNX models: ONNX Runtime computes what torch computes."""

import json
import sys

import numpy as np
import pytest
import torch
from conftest import command_line

from agents import export_command
from agents.network import Network, load_network, save
from agents.network_weights import Size
from agents.onnx_export import to_onnx
from cc_env.cli.application import run as run_app
from cc_env.errors import BadOption, MissingExtra
from cc_env.files import file_hash
from cc_env.games.factory import make_game
from cc_env.match.openings import play_random_turns


# Not at the head of the file: every process that collects tests would import them.
@pytest.fixture(autouse=True, scope="module")
def onnx_packages():
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package)


def run(*arguments, status=0):
    return command_line(lambda: run_app(export_command.app), *arguments, status=status)


def outputs(model, observations):
    import onnxruntime

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run(["logits", "values"], {"observations": observations})


def test_model_predicts_what_the_network_predicts_for_random_positions(game):
    network = load_network("alphazero", game)
    model = to_onnx(network, game)
    rng = np.random.default_rng(0)
    positions = [play_random_turns(game, turns, rng) for turns in range(40)]
    observations = np.stack([game.observe(position) for position in positions])
    with torch.no_grad():
        logits, values = network(torch.from_numpy(observations).float())
    assert values.std() > 0.1
    for count in (1, 40):
        predicted = outputs(model, observations[:count])
        np.testing.assert_allclose(predicted[0], logits[:count], atol=1e-3)
        np.testing.assert_allclose(predicted[1], values[:count], atol=1e-4)


def test_model_is_valid_and_describes_itself():
    import onnx

    game = make_game("mini_checkers", first="white")
    torch.manual_seed(0)
    content = to_onnx(Network(game, Size(blocks=1, channels=8, keys=4)), game, "0123")
    model = onnx.load_model_from_string(content)
    onnx.checker.check_model(model, full_check=True)
    (observations,) = model.graph.input
    shape = [size.dim_param or size.dim_value for size in observations.type.tensor_type.shape.dim]
    assert shape == ["batch", *game.observation_shape]
    assert observations.type.tensor_type.elem_type == onnx.TensorProto.INT8
    assert [output.name for output in model.graph.output] == ["logits", "values"]
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    assert metadata["game"] == "mini_checkers"
    assert metadata["environment"] == "cc_env/MiniCheckers-v0"
    assert json.loads(metadata["options"]) == {"first": "white"}
    assert tuple(json.loads(metadata["planes"])) == game.planes
    assert metadata["fingerprint"] == "0123"
    # torch adds the paths and lines of sources.
    assert b".py" not in content


def test_command_exports_a_weights_file(tmp_path):
    game = make_game("morris")
    torch.manual_seed(0)
    network = Network(game, Size(blocks=1, channels=8, keys=4))
    weights, target = tmp_path / "best.safetensors", tmp_path / "morris.onnx"
    save(weights, network, game, {})
    out = run(target, "--game", "morris", "--network", tmp_path)
    assert file_hash(weights) in out
    import onnxruntime

    metadata = onnxruntime.InferenceSession(target.read_bytes()).get_modelmeta()
    assert metadata.custom_metadata_map["fingerprint"] == file_hash(weights)
    observations = game.observe(game.initial)[np.newaxis]
    with torch.no_grad():
        logits, _ = network(torch.from_numpy(observations).float())
    np.testing.assert_allclose(outputs(target.read_bytes(), observations)[0], logits, atol=1e-5)


def test_existing_file_is_kept(tmp_path):
    target = tmp_path / "network.onnx"
    target.write_text("mine")
    assert "network.onnx exists" in run(target, status=2)
    assert target.read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["network.onnx", "--size", "7"], ["capture_conquer size=7", "train-alphazero"]),
        (["network.onnx", "--game", "chess"], ["chess"]),
        (["network.onnx", "--network", "alphazeros"], ["alphazeros", "did you mean alphazero"]),
        (["missing/network.onnx"], ["missing"]),
    ],
)
def test_bad_request_is_one_error_and_no_file(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = run(*arguments, status=2)
    assert len(out.strip().splitlines()) == 1
    assert all(word in out for word in words)
    assert not list(tmp_path.iterdir())


def test_unwritable_folder_is_an_error(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", str(tmp_path / "network.onnx.half"))

    monkeypatch.setattr(export_command, "write_atomically", full)
    monkeypatch.setattr(export_command, "to_onnx", lambda *_: b"")
    assert "No space left on device" in run(tmp_path / "network.onnx", status=2)


@pytest.mark.parametrize("other", [("checkers", {}), ("capture_conquer", {"size": 8})])
def test_network_of_another_game_is_refused(game, other):
    name, options = other
    network = load_network("alphazero", game)
    with pytest.raises(BadOption, match=r"\(4, 6, 6\) and 410 actions"):
        to_onnx(network, make_game(name, **options))


def test_missing_package_is_named(game, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(MissingExtra, match=r"onnxscript.*\[onnx\]"):
        to_onnx(Network(game, Size(blocks=1, channels=8, keys=4)), game)
