"""Data sets in Minari's storage, read by Minari itself."""

import sys

import gymnasium
import numpy as np
import pytest

from cc_env.datasets import minari_format
from cc_env.datasets.dataset import make_dataset
from cc_env.datasets.generation import play_matches
from cc_env.datasets.minari_format import write_minari
from cc_env.errors import BadOption, MissingExtra
from cc_env.games.factory import make_game
from cc_env.tablebase.tablebase import Tablebase

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")
ID = "cc/greedy-v0"


@pytest.fixture(autouse=True)
def storage(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path / "minari"


@pytest.fixture(scope="module")
def dataset():
    game = make_game("capture_conquer", size=4)
    matches = play_matches(game, ["greedy", "random"], games=6, opening_turns=1)
    return make_dataset(game, matches, Tablebase(game))


def test_minari_loads_an_episode_for_each_player_of_a_game(dataset):
    write_minari(dataset, ID)
    loaded = minari.load_dataset(ID)
    assert list(minari.list_local_datasets()) == [ID]
    assert loaded.total_steps == len(dataset)
    episodes = list(loaded.iterate_episodes())
    metadata = list(loaded.storage.get_episode_metadata(range(len(episodes))))
    expected = [
        (index, seat)
        for index in range(len(dataset.outcomes))
        for seat in (0, 1)
        if ((dataset.games == index) & (dataset.seats == seat)).any()
    ]
    assert len(episodes) == len(expected) > 6
    for episode, about, (index, seat) in zip(episodes, metadata, expected, strict=True):
        rows = (dataset.games == index) & (dataset.seats == seat)
        np.testing.assert_array_equal(episode.observations[:-1], dataset.observations[rows])
        np.testing.assert_array_equal(
            episode.observations[-1], dataset.final_observations[index, seat]
        )
        np.testing.assert_array_equal(episode.actions, dataset.actions[rows])
        np.testing.assert_array_equal(episode.rewards, dataset.rewards[rows])
        np.testing.assert_array_equal(episode.terminations, dataset.terminations[rows])
        np.testing.assert_array_equal(episode.truncations, dataset.truncations[rows])
        infos = episode.infos
        np.testing.assert_array_equal(infos["action_mask"][:-1], dataset.masks[rows])
        np.testing.assert_array_equal(infos["action_mask"][-1], dataset.final_masks[index])
        np.testing.assert_array_equal(infos["exact_value"][:-1], dataset.values[rows])
        assert set(infos["seat"].tolist()) == {seat}
        names = about["player"], about["opponent"]
        assert names == (dataset.players[index, seat], dataset.players[index, 1 - seat])


def test_environment_of_the_data_set_is_recovered(dataset):
    write_minari(dataset, ID)
    loaded = minari.load_dataset(ID)
    env = loaded.recover_environment()
    assert env.unwrapped.game.options == dataset.game.options
    assert env.observation_space == loaded.observation_space
    assert env.action_space.n == loaded.action_space.n
    observation, _ = env.reset(seed=0)
    assert observation.dtype == loaded[0].observations.dtype
    # The registered environment keeps its defaults.
    registered = gymnasium.make("cc_env/CaptureConquer-v0")
    assert registered.unwrapped.game.options == make_game("capture_conquer").options


def test_existing_data_set_is_kept(dataset, storage):
    write_minari(dataset, ID)
    before = {path: path.read_bytes() for path in storage.rglob("*") if path.is_file()}
    with pytest.raises(BadOption, match=ID):
        write_minari(dataset, ID)
    assert {path: path.read_bytes() for path in storage.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("wrong", ["no version", "", "../../outside-v0", "greedy"])
def test_invalid_id_is_rejected(dataset, storage, wrong):
    with pytest.raises(BadOption, match=r"-v0"):
        write_minari(dataset, wrong)
    assert not [path for path in storage.rglob("*") if path.is_file()]


def test_failed_write_leaves_nothing(dataset, storage, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(minari_format, "_environment", fail)
    with pytest.raises(OSError, match="No space"):
        write_minari(dataset, ID)
    assert not list(storage.rglob("*.hdf5"))
    assert not list(minari.list_local_datasets())


def test_missing_package_is_named(dataset, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtra, match=r"h5py.*\[datasets\]"):
        write_minari(dataset, ID)
