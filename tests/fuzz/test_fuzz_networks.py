"""Altered weights and checkpoints with a valid hash are rejected or usable."""

import functools
import json
import os

import numpy as np
import pytest
import torch
from fuzz.damage import JSON, array_damaged, bytes_damaged, json_damaged
from fuzz.harness import call_or_reject
from hypothesis import given
from hypothesis import strategies as st

from agents import weight_files
from agents.evaluator import Evaluator
from agents.network import Network, load, save
from agents.network_players import PolicyPlayer
from agents.network_weights import Size
from cc_env.envs.opponents import Opponent
from cc_env.games.factory import make_game
from cc_env.match.referee import Clock
from training.runs import checkpoints, state
from training.selfplay import selfplay_env
from training.selfplay.replay_buffer import ReplayBuffer, Samples, top_actions

GAME = make_game("capture_conquer", size=4)
SMALL = Size(blocks=1, channels=4, keys=2)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Let torch use one thread."""
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "altered.safetensors"


def survives(call, *arguments):
    """Return whether a child of this process does something to its end; a crash is its alone."""
    child = os.fork()
    if not child:
        try:
            call(*arguments)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


@st.composite
def altered(draw, header, content):
    """Draw a header and arrays with one alteration: a changed, missing or additional part."""
    header, content = json.loads(json.dumps(header)), dict(content)
    kind = draw(st.sampled_from(["header", "array", "array", "array", "gone", "more"]))
    if kind == "header":
        damaged = draw(json_damaged({**header}))
        return damaged if isinstance(damaged, dict) else {"kind": damaged}, content
    name = draw(st.sampled_from(sorted(content)))
    array = content.pop(name)
    if kind == "array":
        content[name] = draw(array_damaged(array))
    if kind == "more":
        content[draw(st.sampled_from([f"{name}.1", "tower.9.first.weight", "x"]))] = array
    return header, content


# Weights


@functools.cache
def weights():
    torch.manual_seed(0)
    network = Network(GAME, SMALL)
    content = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    header = {
        "environment": "cc_env/CaptureConquer-v0",
        "options": dict(GAME.options),
        "size": {"blocks": 1, "channels": 4, "keys": 2, "reach": 2},
        "about": {"trained": "nothing"},
    }
    return header, content


def plays(path):
    network, about = load(path, GAME)
    player = PolicyPlayer(GAME, Evaluator(network), mirrored=about.get("trained") != "ppo")
    action = player.choose(GAME.initial, np.random.default_rng(0), Clock()).action
    assert action in GAME.legal_actions(GAME.initial)


@given(st.data())
def test_altered_weights_raise_only_cc_env_errors(place, data):
    header, content = data.draw(altered(*weights()))
    weight_files.save(place, "network", content, header)
    call_or_reject(plays, place)


@given(st.data())
def test_damaged_weights_raise_only_cc_env_errors(place, data):
    save(place, Network(GAME, SMALL), GAME, {"trained": "nothing"})
    place.write_bytes(data.draw(bytes_damaged(place.read_bytes())))
    call_or_reject(plays, place)


@given(JSON.map(json.dumps) | st.text(), st.text(max_size=70), st.binary(max_size=20))
def test_random_weight_headers_raise_only_cc_env_errors(place, full, digest, content):
    about = {"cc_env": full, "sha256": digest}
    array = {"dtype": "U8", "shape": [len(content)], "data_offsets": [0, len(content)]}
    header = json.dumps({"__metadata__": about, "x": array}).encode()
    place.write_bytes(len(header).to_bytes(8, "little") + header + content)
    call_or_reject(plays, place)


# Checkpoints


def learner():
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
    optimizer = torch.optim.Adam(network.parameters())
    network(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return {"network": network, "optimizer": optimizer}


def samples():
    """Return the samples of a short random game, with uniform policies."""
    rng, positions, position = np.random.default_rng(0), [], GAME.initial
    for _ in range(9):
        positions.append(position)
        position = GAME.apply(position, int(rng.choice(GAME.legal_actions(position))))
    actions = np.full((9, GAME.num_actions), -1, np.int32)
    for row, before in zip(actions, positions, strict=True):
        legal = GAME.legal_actions(before)
        row[: len(legal)] = legal
    policy = top_actions(actions, np.ones(actions.shape, np.float32), is_policy=True)
    return Samples(np.array(positions), *policy, np.zeros(9, np.float32))


def environment():
    env = selfplay_env.SelfPlayEnv(
        GAME, 5, [Opponent("drawn", "random")], max_opening_turns=2, seed=1
    )
    env.reset()
    return env


@functools.cache
def checkpoint():
    replay = ReplayBuffer(GAME, 12)
    replay.add(samples())
    go_on(replay, environment())  # compiles here, not in every child
    content = state.to_arrays(**learner()) | replay.state() | selfplay_env.state(environment())
    about = {"added": 9, "steps": 1, "seconds": 2.5}
    header = {"run": {}, "number": 1, "logged": 0, "about": about}
    return header, {name: array.copy() for name, array in content.items()}


def goes_on(path):
    """Take a checkpoint as training does; whatever is taken has to be of use."""
    header, content = checkpoints.read(path)
    about = header["about"]
    parts, replay, env = learner(), ReplayBuffer(GAME, 12), environment()
    state.read_integer(about, "steps")
    state.read_number(about, "seconds")
    state.load(content, **parts)
    replay.load(content, state.read_integer(about, "added"))
    selfplay_env.load(env, content)
    return replay, env


def go_on(replay, env):
    if len(replay):
        replay.sample(np.random.default_rng(0), 64)
    rng = np.random.default_rng(0)
    for _ in range(9):
        masks = np.stack(env.action_masks())
        env.step((masks * (1 - rng.random(masks.shape))).argmax(1))


@given(st.data())
def test_altered_checkpoints_raise_only_cc_env_errors(place, data):
    header, content = data.draw(altered(*checkpoint()))
    weight_files.save(place, checkpoints.CHECKPOINT, content, header)
    resumed = call_or_reject(goes_on, place)
    assert resumed is None or survives(go_on, *resumed), "it crashes what goes on from it"


@given(st.data())
def test_damaged_checkpoints_raise_only_cc_env_errors(place, data):
    header, content = checkpoint()
    weight_files.save(place, checkpoints.CHECKPOINT, content, header)
    place.write_bytes(data.draw(bytes_damaged(place.read_bytes())))
    call_or_reject(goes_on, place)
