"""Altered data sets are rejected or usable, and those with a broken relation are rejected."""

import functools
import json

import numpy as np
import pytest
from fuzz.damage import array_damaged, bytes_damaged, json_damaged
from fuzz.harness import call_or_reject
from hypothesis import given
from hypothesis import strategies as st

from cc_env.core.rules import DRAW, ONGOING
from cc_env.datasets.dataset import load_dataset, make_dataset
from cc_env.datasets.generation import play_matches
from cc_env.errors import BadRecord
from cc_env.games.factory import make_game
from cc_env.match.match import Limits, Match
from cc_env.match.record import UNFINISHED


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


@functools.cache
def mixed():
    """Return a data set whose games end by the rules, by both limits, and not at all."""
    game = make_game("capture_conquer", size=4)
    settings = {"games": 2, "opening_turns": 0}
    matches = [
        *play_matches(game, ["random"], games=4),
        *play_matches(game, ["perfect"], limits=Limits(max_turns=5, repetitions=None), **settings),
        *play_matches(game, ["perfect"], limits=Limits(repetitions=2), **settings),
    ]
    unfinished = Match(game)
    unfinished.play(int(game.legal_actions(game.initial)[0]))
    dataset = make_dataset(game, [*matches, (unfinished, ("ann", "bob"))])
    assert {"max_turns", "repetition", UNFINISHED, "conquest"} <= set(dataset.endings.tolist())
    return dataset


LIMITS = {"max_turns", "repetition"}


def kind_of(ending):
    return ending if ending in (*LIMITS, UNFINISHED) else "rules"


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def end_missing(draw, arrays):
    name = draw(st.sampled_from(["terminations", "truncations"]))
    place = draw(st.sampled_from(np.flatnonzero(arrays[name]).tolist()))
    return {name: changed(arrays[name], place, False)}


def end_added(draw, arrays):
    name = draw(st.sampled_from(["terminations", "truncations"]))
    place = draw(st.sampled_from(np.flatnonzero(~arrays[name]).tolist()))
    return {name: changed(arrays[name], place, True)}


def ends_everywhere_or_nowhere(draw, arrays):
    value = draw(st.booleans())
    return {name: np.full_like(arrays[name], value) for name in ("terminations", "truncations")}


def end_of_the_other_kind(draw, arrays):
    ends = arrays["terminations"] | arrays["truncations"]
    place = draw(st.sampled_from(np.flatnonzero(ends).tolist()))
    names = "terminations", "truncations"
    return {name: changed(arrays[name], place, not arrays[name][place]) for name in names}


def end_of_the_other_seat(draw, arrays):
    # The only decision of a game may be in either seat.
    has_others = np.bincount(arrays["games"])[arrays["games"]] > 1
    ends = has_others & (arrays["terminations"] | arrays["truncations"])
    place = draw(st.sampled_from(np.flatnonzero(ends).tolist()))
    return {"seats": changed(arrays["seats"], place, 1 - arrays["seats"][place])}


def decision_of_the_next_game(draw, arrays):
    places = np.flatnonzero(np.diff(arrays["games"]))
    place = draw(st.sampled_from(places.tolist()))
    return {"games": changed(arrays["games"], place, arrays["games"][place] + 1)}


def other_result(draw, arrays):
    name = draw(st.sampled_from(["rewards", "returns"]))
    place = draw(st.integers(0, len(arrays[name]) - 1))
    values = [value for value in (-1, 0, 1) if value != arrays[name][place]]
    return {name: changed(arrays[name], place, draw(st.sampled_from(values)))}


def other_outcome(draw, arrays):
    place = draw(st.integers(0, len(arrays["outcomes"]) - 1))
    values = {0, 1, DRAW, ONGOING} - {int(arrays["outcomes"][place])}
    return {"outcomes": changed(arrays["outcomes"], place, draw(st.sampled_from(sorted(values))))}


def ending_of_another_kind(draw, arrays):
    endings = arrays["endings"].astype("U20")
    place = draw(st.integers(0, len(endings) - 1))
    kind = kind_of(endings[place])
    others = ["max_turns", "repetition", "conquest", UNFINISHED, ""]
    other = draw(st.sampled_from([each for each in others if not each or kind_of(each) != kind]))
    # A game of this length may end by either limit.
    limits = changed(arrays["limits"], place, 0) if {kind, other} <= LIMITS else arrays["limits"]
    return {"endings": changed(endings, place, other), "limits": limits}


def limit_without_effect(draw, arrays):
    is_limit = np.isin(arrays["endings"], sorted(LIMITS))
    place = draw(st.sampled_from(np.flatnonzero(is_limit).tolist()))
    value = draw(st.sampled_from([0, -1]))
    return {"limits": changed(arrays["limits"], place, value)}


def final_mask_of_another_end(draw, arrays):
    masks = arrays["final_masks"]
    place = draw(st.integers(0, len(masks) - 1))
    if not masks[place].all():
        return {"final_masks": changed(masks, place, False)}
    action = draw(st.integers(0, masks.shape[1] - 1))
    return {"final_masks": changed(masks, (place, action), False)}


def illegal_action(draw, arrays):
    place = draw(st.integers(0, len(arrays["actions"]) - 1))
    illegal = np.flatnonzero(~arrays["masks"][place]).tolist()
    return {"actions": changed(arrays["actions"], place, draw(st.sampled_from(illegal)))}


BREAKS = (
    end_missing,
    end_added,
    ends_everywhere_or_nowhere,
    end_of_the_other_kind,
    end_of_the_other_seat,
    decision_of_the_next_game,
    other_result,
    other_outcome,
    ending_of_another_kind,
    limit_without_effect,
    final_mask_of_another_end,
    illegal_action,
)


def test_mixed_data_set_is_valid(place):
    mixed().save(place)
    assert len(load_dataset(place)) == len(mixed())


@pytest.mark.parametrize("break_relation", BREAKS)
@given(st.data())
def test_broken_relation_is_rejected(place, break_relation, data):
    arrays = mixed().arrays()
    mixed().save(place)
    with np.load(place) as file:
        content = {key: file[key] for key in file}
    np.savez(place, **{**content, **break_relation(data.draw, arrays)})
    with pytest.raises(
        BadRecord, match=r"altered\.npz: cannot be read as a data set: .*; expected|agree with"
    ):
        load_dataset(place)
