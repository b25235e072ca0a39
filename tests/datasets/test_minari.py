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
from cc_env.match.match import Limits
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
        assert about["ending"] == dataset.endings[index]
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


def dataset_with_limits(*limits):
    """Return a data set with a game for each of the limits."""
    game = make_game("capture_conquer", size=4)
    matches = (
        match
        for seed, each in enumerate(limits)
        for match in play_matches(game, ["random"], games=1, seed=seed, limits=each)
    )
    return make_dataset(game, matches)


@pytest.mark.parametrize(
    ("max_turns", "repetitions"), [(30, 2), (30, None), (200, 3), (None, None)]
)
def test_recovered_environment_has_the_limits_of_the_games(max_turns, repetitions):
    limits = Limits(max_turns=max_turns, repetitions=repetitions)
    write_minari(dataset_with_limits(limits, limits), ID)
    env = minari.load_dataset(ID).recover_environment()
    assert env.spec.kwargs["max_turns"] == max_turns
    assert env.spec.kwargs["repetitions"] == repetitions
    assert env.unwrapped._boards.max_turns == (max_turns or 0)


@pytest.mark.parametrize(
    "limits",
    [(Limits(max_turns=30), Limits(max_turns=40)), (Limits(max_turns=None, repetitions=3),)],
)
def test_games_that_fit_no_environment_cannot_recover_one(limits):
    write_minari(dataset_with_limits(*limits), ID)
    loaded = minari.load_dataset(ID)
    assert loaded.total_steps > 0
    with pytest.raises(ValueError, match="cannot be recovered"):
        loaded.recover_environment()


def test_games_with_a_rule_of_repetition_are_recovered():
    game = make_game("cannon")
    limits = Limits(max_turns=20)
    write_minari(make_dataset(game, play_matches(game, ["random"], games=1, limits=limits)), ID)
    env = minari.load_dataset(ID).recover_environment()
    assert (env.spec.kwargs["max_turns"], env.spec.kwargs["repetitions"]) == (20, None)


def test_existing_data_set_is_kept(dataset, storage):
    write_minari(dataset, ID)
    before = {path: path.read_bytes() for path in storage.rglob("*") if path.is_file()}
    with pytest.raises(BadOption, match=ID):
        write_minari(dataset, ID)
    assert {path: path.read_bytes() for path in storage.rglob("*") if path.is_file()} == before


MALFORMED = (
    r"Minari: Malformed dataset ID: {0}\. \(IDs must be of the form .*; expected: letters, digits,"
    r" - and _, with a version and a namespace of at least 2 characters, such as"
    r" capture_conquer/minimax-v0$"
)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("no version", MALFORMED),
        ("", MALFORMED),
        ("../../outside-v0", MALFORMED),
        # Minari requires two characters.
        ("t/ck-v0", MALFORMED),
        ("greedy", "has no version; expected: letters, digits, - and _, with a version and"),
        (f"cc/{'a' * 300}-v0", "^data set 'cc/a*[^a]*: File name too long$"),
        (f"cc/{'a/' * 3000}a-v0", "^data set 'cc/[a/]*[^a]*: File name too long$"),
    ],
    ids=lambda value: value[:20],
)
def test_invalid_id_is_rejected(dataset, storage, wrong, reason):
    with pytest.raises(BadOption, match=reason.format(wrong)):
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
