"""Altered data sets are rejected or usable."""

import functools
import json

import numpy as np
import pytest
from fuzz.damage import array_damaged, bytes_damaged, json_damaged
from fuzz.harness import call_or_reject
from hypothesis import given
from hypothesis import strategies as st

from cc_env.datasets.dataset import load_dataset, make_dataset
from cc_env.datasets.generation import play_matches
from cc_env.games.factory import make_game


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "altered.npz"


@functools.cache
def good():
    """Return a data set."""
    game = make_game("capture_conquer", size=4)
    return make_dataset(game, play_matches(game, ["random"], games=2))


def read(path):
    """Read a data set and use what was read as a learner does."""
    dataset = load_dataset(path)
    dataset.masks[np.arange(len(dataset)), dataset.actions].all()
    dataset.players[dataset.games, dataset.seats].tolist()
    return dataset


@given(st.data())
def test_altered_bytes_raise_only_cc_env_errors(place, data):
    good().save(place)
    place.write_bytes(data.draw(bytes_damaged(place.read_bytes())))
    call_or_reject(read, place)


@given(st.data())
def test_altered_arrays_raise_only_cc_env_errors(place, data):
    arrays = good().arrays()
    name = data.draw(st.sampled_from(sorted(arrays)))
    good().save(place)
    with np.load(place) as file:
        content = {key: file[key] for key in file}
    if data.draw(st.booleans()) and content[name].dtype.kind != "U":
        content[name] = data.draw(array_damaged(content[name]))
    else:
        metadata = data.draw(json_damaged(json.loads(str(content["metadata"]))))
        content["metadata"] = np.array(json.dumps(metadata))
    np.savez_compressed(place, **content)
    call_or_reject(read, place)
