"""The features extractor for Stable-Baselines3: it learns, and models are saved and loaded."""

import pickle

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN, PPO

import cc_env
from agents.network import Network
from agents.network_weights import Size
from cc_env.envs import OpponentVecEnv
from cc_env.errors import BadOption

KWARGS = {
    "features_extractor_class": cc_env.ResidualExtractor,
    "features_extractor_kwargs": {"features_dim": 16, "blocks": 1, "channels": 8},
    "net_arch": [],
}


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def make_model(algorithm):
    if algorithm is DQN:
        env = gymnasium.make("cc_env/CaptureConquer-v0", size=4, illegal="lose")
        settings = {"learning_starts": 32, "batch_size": 16, "buffer_size": 200}
    else:
        env = OpponentVecEnv("capture_conquer", 4, size=4, illegal="lose")
        settings = {"n_steps": 16, "batch_size": 32, "n_epochs": 1}
    return algorithm("MlpPolicy", env, policy_kwargs=KWARGS, seed=0, device="cpu", **settings)


def extractor_of(model):
    network = model.q_net if isinstance(model, DQN) else model.policy
    return network.features_extractor


@pytest.mark.parametrize("algorithm", [MaskablePPO, PPO, DQN])
def test_algorithm_trains_the_extractor_and_loads_it(algorithm, tmp_path):
    model = make_model(algorithm)
    before = {name: tensor.clone() for name, tensor in extractor_of(model).state_dict().items()}
    model.learn(64)
    after = extractor_of(model).state_dict()
    assert all(not torch.equal(before[name], after[name]) for name in before)
    assert all(tensor.isfinite().all() for tensor in after.values())
    model.save(tmp_path / "model")
    loaded = algorithm.load(tmp_path / "model", device="cpu")
    assert type(extractor_of(loaded)) is cc_env.ResidualExtractor
    observations = np.random.default_rng(0).integers(0, 2, (5, 4, 4, 4), dtype=np.int8)
    expected, _ = model.predict(observations, deterministic=True)
    actual, _ = loaded.predict(observations, deterministic=True)
    np.testing.assert_array_equal(actual, expected)


def test_trunk_has_the_arrays_of_the_network(game):
    space = spaces.Box(0, 1, game.observation_shape, np.int8)
    extractor = cc_env.ResidualExtractor(space, blocks=4, channels=64)
    network = Network(game, Size(blocks=4, channels=64))
    arrays = {
        name: tensor
        for name, tensor in network.state_dict().items()
        if name.startswith(("stem.", "tower."))
    }
    extractor.trunk.load_state_dict(arrays)
    planes = torch.from_numpy(game.observe(game.initial)[np.newaxis]).float()
    cells = network.tower(torch.relu(network.stem(planes)))
    torch.testing.assert_close(extractor.trunk.features(planes), cells)


def test_saved_models_refer_to_the_package():
    content = pickle.dumps(cc_env.ResidualExtractor)
    assert b"cc_env" in content
    assert b"agents" not in content


@pytest.mark.parametrize(
    ("space", "arguments", "word"),
    [
        (spaces.Discrete(4), {}, "Discrete"),
        (spaces.Box(0, 1, (4,)), {}, "Box"),
        (spaces.Box(0, 1, (4, 6, 6)), {"features_dim": 0}, "features_dim=0"),
        (spaces.Box(0, 1, (4, 6, 6)), {"blocks": 0}, "blocks=0"),
    ],
)
def test_bad_arguments_are_rejected(space, arguments, word):
    with pytest.raises(BadOption, match=word):
        cc_env.ResidualExtractor(space, **arguments)
