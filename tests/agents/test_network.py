"""The network and its file."""

import errno
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch

import agents.network
import cc_env
from agents import weight_files
from agents.evaluator import Evaluator
from agents.network import Network, load, load_network, save, select_device
from agents.network_weights import Size
from agents.shipped_weights import WEIGHTS
from cc_env.errors import BadCheckpoint, BadOption, UnknownOption
from cc_env.games.factory import make_game
from cc_env.match.openings import play_random_turns
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player

SMALL = Size(blocks=1, channels=8, keys=4)


@pytest.fixture
def network(game):
    torch.manual_seed(0)
    return Network(game, SMALL)


@pytest.fixture
def file(game, network, tmp_path):
    save(tmp_path / "weights.safetensors", network, game, {"trained": "not at all"})
    return tmp_path / "weights.safetensors"


def test_network_returns_logits_and_a_value(game, network):
    planes = torch.from_numpy(np.stack([game.observe(game.initial)] * 3)).float()
    logits, values = network(planes)
    assert logits.shape == (3, game.num_actions)
    assert values.shape == (3,)
    assert values.abs().max() < 1


def test_logit_depends_on_the_cells_of_its_action(game, network):
    # The logit of (start, end) is the only one that the keys of both cells decide.
    planes = torch.from_numpy(game.observe(game.initial)[np.newaxis]).float()
    cells = network.tower(torch.relu(network.stem(planes))).flatten(2).transpose(1, 2)
    view = network.view(torch.cat((cells.mean(1), cells.amax(1)), 1))
    starts, ends = (network.keys(cells) + view[:, None]).chunk(2, -1)
    logits = network(planes)[0][0]
    for action in game.legal_actions(game.initial):
        start, end = game.action_cells[action]
        expected = (starts[0, start] * ends[0, end]).sum() / 2
        assert logits[action].item() == pytest.approx(expected.item(), abs=1e-5)


def test_evaluator_matches_the_network(game, network):
    rng = np.random.default_rng(0)
    planes = rng.integers(0, 2, (21, *game.observation_shape), dtype=np.int8)
    logits, values = Evaluator(network)(planes)
    with torch.no_grad():
        expected_logits, expected_values = network(torch.from_numpy(planes).float())
    np.testing.assert_allclose(logits, expected_logits, atol=0.05)
    np.testing.assert_allclose(values, expected_values, atol=0.05)


def test_evaluator_copies_the_weights(game, network):
    planes = game.observe(game.initial)[np.newaxis]
    evaluator = Evaluator(network)
    before = evaluator(planes)[1]
    torch.nn.init.zeros_(network.value[2].weight)
    torch.nn.init.zeros_(network.value[2].bias)
    assert evaluator(planes)[1] == before != 0


def test_saved_network_is_loaded(game, network, file):
    loaded, about = load(file, game)
    assert about == {"trained": "not at all"}
    assert loaded.size == SMALL
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, loaded.state_dict()[name])


def test_weights_of_another_size_are_rejected(file):
    expected = "options is .*'size': 6.*; expected: .*'size': 8"
    with pytest.raises(BadCheckpoint, match=expected):
        load(file, make_game("capture_conquer", size=8))


def test_broken_files_are_rejected(game, file, tmp_path):
    whole = file.read_bytes()
    for content in (b"", whole[:100], whole[:-7], b"\0" * 50, b"PK\3\4 something else"):
        file.write_bytes(content)
        with pytest.raises(BadCheckpoint, match="incomplete or altered"):
            load(file, game)
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(BadCheckpoint, match="was altered after it was saved"):
        load(file, game)
    with pytest.raises(BadCheckpoint, match="no such file"):
        load(tmp_path / "none", game)


def test_every_altered_header_byte_is_rejected(game, file):
    whole = file.read_bytes()
    length = 8 + int.from_bytes(whole[:8], "little")
    for place in range(8, length, 7):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 2]) + whole[place + 1 :])
        with pytest.raises(BadCheckpoint):
            load(file, game)


@pytest.mark.parametrize("change", [{"size": {"heads": 2}}, {"size": None}, {"about": None}, {}])
def test_network_with_an_invalid_header_is_rejected(game, file, network, change):
    header, weights = weight_files.load(file, "network")
    header |= change
    if not change:
        del header["size"]
    weight_files.save(file, "network", weights, header)
    with pytest.raises(BadCheckpoint, match=r"not a network for .* \(written by cc_env "):
        load(file, game)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"blocks": 4096}, "14 arrays are too few for 4096 blocks"),
        (
            {"blocks": 4096, "channels": 4096},
            "blocks=4096, channels=4096: 1236950581248 weights; expected: at most 268435456",
        ),
        ({"blocks": 2}, r"there is no array tower\.1\.first\.weight"),
        ({"channels": 2048}, r"stem\.weight is float32\[8, 4, 3, 3\]; expected: float32\[2048, 4"),
        ({"keys": 4096}, r"keys\.weight is float32\[8, 8\]; expected: float32\[8192, 8\]"),
        ({"blocks": -1}, "blocks=-1; expected: an integer"),
    ],
)
def test_wrong_size_is_rejected_without_allocation(game, file, monkeypatch, change, message):
    header, weights = weight_files.load(file, "network")
    weights["stem.bias"] = weights["stem.bias"].copy()
    header["size"] |= change
    weight_files.save(file, "network", weights, header)
    # No network of the wrong size is created.
    monkeypatch.setattr(agents.network, "Network", None)
    with pytest.raises(BadCheckpoint, match=message):
        load(file, game)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("stem.bias", None, "there is no array stem.bias"),
        ("other", np.zeros(3, np.float32), "has no array other"),
        ("stem.bias", np.zeros(8), r"stem\.bias is float64\[8\]; expected: float32\[8\]"),
        ("stem.bias", np.full(8, np.nan, np.float32), "stem.bias has values that are not finite"),
    ],
)
def test_unfit_weights_are_rejected(game, file, name, array, message):
    header, weights = weight_files.load(file, "network")
    if array is None:
        del weights[name]
    else:
        weights[name] = array
    weight_files.save(file, "network", weights, header)
    with pytest.raises(BadCheckpoint, match=f"not a network for .*{message}"):
        load(file, game)


@pytest.mark.parametrize("kind", ["BF16", "F8_E4M3", "F8_E5M2", "F8_E8M0", "C64"])
def test_dtypes_that_numpy_lacks_are_rejected(game, file, kind):
    size = {"BF16": 2, "C64": 8}.get(kind, 1)
    entry = {"dtype": kind, "shape": [2], "data_offsets": [0, 2 * size]}
    about = {"cc_env": "{}", "sha256": ""}
    header = json.dumps({"__metadata__": about, "x": entry}).encode()
    file.write_bytes(len(header).to_bytes(8, "little") + header + bytes(2 * size))
    with pytest.raises(BadCheckpoint, match=f"x has the dtype {kind}, which"):
        load(file, game)


def test_deeply_nested_header_is_rejected(game, file):
    about = {"cc_env": "[" * 10**5, "sha256": ""}
    file.write_bytes(safetensors.numpy.save({"x": np.zeros(1)}, about))
    with pytest.raises(BadCheckpoint, match="incomplete or altered: RecursionError"):
        load(file, game)


def test_files_of_another_kind_or_format_are_rejected(game, network, file, monkeypatch):
    file.write_bytes(safetensors.torch.save(network.state_dict()))
    with pytest.raises(BadCheckpoint, match="incomplete or altered"):
        load(file, game)
    weight_files.save(file, "checkpoint", {}, {})
    with pytest.raises(BadCheckpoint, match=r"a checkpoint of format 1, .*; expected: a network"):
        load(file, game)
    save(file, network, game, {})
    monkeypatch.setattr(weight_files, "FORMAT", 2)
    with pytest.raises(BadCheckpoint, match=r"format 1, written by .*; expected: .* of format 2"):
        load(file, game)


def test_failed_save_keeps_the_old_file(game, network, file, monkeypatch):
    before = file.read_bytes()
    full = OSError(errno.ENOSPC, "no space left")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(full))
    with pytest.raises(OSError, match="no space left"):
        save(file, network, game, {})
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_unavailable_device_is_rejected():
    with pytest.raises(UnknownOption, match="device='cuda:9'; this machine has: cpu"):
        select_device("cuda:9")


def test_invalid_size_is_rejected():
    with pytest.raises(BadOption, match="blocks=0"):
        Size(blocks=0)


@pytest.mark.parametrize("kind", ["policy", "ppo"])
def test_shipped_network_predicts_what_its_player_plays(game, kind):
    network = cc_env.load_network(kind, game)
    player = make_player(kind, game)
    rng = np.random.default_rng(0)
    for _ in range(5):
        position = play_random_turns(game, 4, rng)
        images = [game.observe(position)]
        decision = player.for_new_game().choose(position, rng, Clock())
        if kind == "policy":
            images += [
                images[0].reshape(len(images[0]), -1)[:, image.cells].reshape(images[0].shape)
                for image in game.symmetries
            ]
        with torch.no_grad():
            logits, values = network(torch.from_numpy(np.stack(images)).float())
        assert not network.training
        assert (logits.dtype, logits.shape[1]) == (torch.float32, game.num_actions)
        assert decision.value == pytest.approx(values.mean().item(), abs=0.05)
        if kind == "ppo":
            legal = game.legal_actions(position)
            best = logits[0, legal].max() - 0.05
            assert logits[0, decision.action] >= best


def test_network_is_loaded_from_a_file_or_a_run_folder(game, network, file):
    run = file.with_name("run")
    run.mkdir()
    shutil.copy(file, run / "best.safetensors")
    for source in (file, str(file), run):
        loaded = load_network(source, game)
        assert torch.equal(loaded.stem.weight, network.stem.weight)


@pytest.mark.parametrize(
    ("source", "word"),
    [("alphzero", "alphazero"), ("missing.safetensors", "missing"), ("", "a weights file")],
)
def test_unknown_network_is_rejected(game, source, word):
    with pytest.raises(BadCheckpoint, match=word):
        load_network(source, game)


@pytest.mark.parametrize("wrong", ["checkers", None, 5])
def test_argument_that_is_not_a_game_is_rejected(wrong):
    for load_for in (load_network, make_player):
        with pytest.raises(
            BadOption, match=rf"game={wrong!r}; expected: a game, such as make_game"
        ):
            load_for("policy", wrong)


def test_half_precision_file_is_read_as_single_precision(game, network, tmp_path):
    path = tmp_path / "half.safetensors"
    save(path, network, game, {}, np.float16)
    for name, tensor in load_network(path, game).state_dict().items():
        expected = network.state_dict()[name].half().float()
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, expected)


def test_network_of_another_game_is_rejected(file):
    with pytest.raises(BadCheckpoint, match="environment"):
        load_network(file, make_game("checkers"))
    with pytest.raises(BadCheckpoint, match="flying"):
        load_network("ppo", make_game("morris", flying=True))


def test_weights_with_infinite_outputs_are_rejected(game, network, tmp_path):
    path = tmp_path / "huge.safetensors"
    for parameter in network.parameters():
        torch.nn.init.constant_(parameter, 1e30)
    save(path, network, game, {})
    message = r"huge\.safetensors: the outputs of the network are not finite"
    for spec in ("policy", "alphazero"):
        with pytest.raises(BadCheckpoint, match=message):
            make_player(f"{spec}:path={path}", game)


WITHOUT_TORCH = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, Blocker())
import numpy as np
import cc_env
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player

game = cc_env.make_game("capture_conquer")
for spec in ("policy", "ppo", "alphazero:simulations=8"):
    print(make_player(spec, game).choose(game.initial, np.random.default_rng(0), Clock()).action)
"""


def test_learned_players_need_no_torch(game):
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH],
        cwd=WEIGHTS.parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    players = [make_player(spec, game) for spec in ("policy", "ppo", "alphazero:simulations=8")]
    expected = [
        player.choose(game.initial, np.random.default_rng(0), Clock()).action for player in players
    ]
    assert list(map(int, result.stdout.split())) == expected
