"""The replay buffer."""

import numpy as np
import pytest

from cc_env.core.rules import ONGOING
from cc_env.errors import BadCheckpoint
from cc_env.games.factory import make_game
from training.selfplay.replay_buffer import MAX_ACTIONS, ReplayBuffer, Samples, top_actions


def samples_of(game, positions, value=0.5):
    """Return samples in which each action's probability grows with its id."""
    actions = np.full((len(positions), game.num_actions), -1, np.int32)
    policy = np.zeros((len(positions), game.num_actions), np.float32)
    for row, position in enumerate(positions):
        legal = game.legal_actions(position)
        actions[row, : len(legal)] = legal
        policy[row, : len(legal)] = np.arange(1, len(legal) + 1)
    values = np.full(len(positions), value, np.float32)
    return Samples(
        np.array(positions, np.uint64), *top_actions(actions, policy, is_policy=True), values
    )


def test_policy_targets_are_the_most_probable_actions():
    actions = np.arange(100, dtype=np.int32)[np.newaxis].repeat(2, 0)
    policy = np.tile(np.linspace(1, 2, 100, dtype=np.float32), (2, 1))
    actions[1, 3:], policy[1, 3:] = -1, 0
    actions_out, top = top_actions(actions, policy, is_policy=True)
    assert actions_out[0].tolist() == list(range(99, 99 - MAX_ACTIONS, -1))
    assert sorted(actions_out[1].tolist(), reverse=True)[:3] == [2, 1, 0]
    assert (actions_out[1, 3:] == -1).all()
    assert top.sum(1) == pytest.approx(1, abs=0.01)


def test_batches_contain_samples_or_their_images(game):
    position = game.apply(game.initial, int(game.legal_actions(game.initial)[1]))
    replay = ReplayBuffer(game, 10)
    replay.add(samples_of(game, [position]))
    (mirror,) = game.symmetries
    batch = replay.sample(np.random.default_rng(0), 64)
    orientations = set()
    for row in range(64):
        is_unchanged = np.array_equal(batch.planes[row], game.observe(position))
        image = position if is_unchanged else game.make_position(mirror.position(position))
        orientations.add(is_unchanged)
        np.testing.assert_array_equal(batch.planes[row], game.observe(image))
        np.testing.assert_array_equal(batch.legal[row], game.action_mask(image))
        legal = game.legal_actions(position)
        images = legal if is_unchanged else mirror.actions[legal]
        expected = np.arange(1, len(legal) + 1) / sum(range(1, len(legal) + 1))
        np.testing.assert_allclose(batch.targets[row, images], expected, atol=1e-3)
        assert batch.targets[row].sum() == pytest.approx(1, abs=1e-2)
        assert batch.values[row] == 0.5
    assert orientations == {True, False}


@pytest.fixture(scope="module")
def crowded():
    """A game, and a position with more legal actions than a sample stores."""
    # Free moves make nearly every action legal.
    game = make_game("morris")
    position = game.from_text("wwwbbbw.wwwww........... w 00 fw")
    assert len(game.legal_actions(position)) > MAX_ACTIONS
    return game, position


def test_truncated_policy_sums_to_one(crowded):
    game, position = crowded
    legal = game.legal_actions(position)[np.newaxis]
    policy = np.full(legal.shape, 1 / legal.size, np.float32)
    top = top_actions(legal, policy, is_policy=True)
    replay = ReplayBuffer(game, 1)
    replay.add(Samples(np.array([position], np.uint64), *top, np.zeros(1, np.float32)))
    (targets,) = replay.sample(np.random.default_rng(0), 1).targets
    assert targets.sum() == pytest.approx(1, abs=1e-3)
    assert (targets > 0).sum() == MAX_ACTIONS


def test_fill_missing_uses_the_smallest_target(crowded):
    game, position = crowded
    legal = game.legal_actions(position)
    replay = ReplayBuffer(game, 1, fill_missing=True)
    values = np.linspace(0.25, 0.75, len(legal), dtype=np.float32)[np.newaxis]
    top = top_actions(legal[np.newaxis], values)
    assert top[1][0, -1] > 0.25
    replay.add(Samples(np.array([position], np.uint64), *top, np.zeros(1, np.float32)))
    batch = replay.sample(np.random.default_rng(0), 1)
    targets, mask = batch.targets[0], batch.legal[0]
    assert sorted(targets[mask])[0] == top[1][0, -1]
    assert (targets[~mask] == 0).all()
    assert mask.sum() == len(legal)


def test_oldest_samples_are_replaced(game):
    replay = ReplayBuffer(game, 5)
    for value in range(8):
        replay.add(samples_of(game, [game.initial], value))
    assert (len(replay), replay.added) == (5, 8)
    sampled = replay.sample(np.random.default_rng(0), 200).values
    assert set(sampled) == {3, 4, 5, 6, 7}
    assert set(replay.sample(np.random.default_rng(0), 200, newest=2).values) == {6, 7}
    assert set(replay.sample(np.random.default_rng(0), 200, newest=20).values) == {3, 4, 5, 6, 7}
    replay.add(samples_of(game, [game.initial] * 13, 9))
    assert set(replay.sample(np.random.default_rng(0), 50).values) == {9}


def test_restored_buffer_samples_identically(game):
    saved, other = ReplayBuffer(game, 5), ReplayBuffer(game, 5)
    for value in range(7):
        saved.add(samples_of(game, [game.initial], value / 7))
    other.load({name: array.copy() for name, array in saved.state().items()}, saved.added)
    for replay in (saved, other):
        replay.add(samples_of(game, [game.initial], 1))
    sampled = (replay.sample(np.random.default_rng(0), 50) for replay in (saved, other))
    np.testing.assert_equal(*sampled)


def zero_all(samples):
    samples.targets[1] = 0


def leave_out_the_last_action(samples):
    stored = (samples.actions[1] >= 0).sum()
    samples.actions[1, stored - 1] = -1


def repeat_the_first_action(samples):
    samples.actions[1, 1] = samples.actions[1, 0]


def store_an_illegal_action(samples):
    samples.actions[1, 0] = min({*range(100)} - {*samples.actions[1].tolist()})


def store_no_action(samples):
    samples.actions[1], samples.targets[1] = -1, 0


def swap_positions(samples):
    samples.positions[[0, 1]] = samples.positions[[1, 0]]


def swap_targets(samples):
    samples.targets[1, [0, 1]] = samples.targets[1, [1, 0]]


def give_padding_a_target(samples):
    samples.targets[1, -1] = 2.0**-20


def double_the_last_target(samples):
    samples.targets[1, (samples.actions[1] >= 0).sum() - 1] *= 2


def change_the_value(samples):
    samples.values[1] += 0.01


def load_changed(replay, samples, change):
    """Load the state of a buffer with changed samples."""
    saved = ReplayBuffer(replay.game, replay.capacity)
    saved.add(samples)
    change(saved.samples)
    replay.load(saved.state(), saved.added)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (store_an_illegal_action, "actions"),
        (leave_out_the_last_action, "actions"),
        (repeat_the_first_action, "actions"),
        (store_no_action, "actions"),
        (swap_positions, "actions"),
        (zero_all, "targets"),
        (swap_targets, "targets"),
        (give_padding_a_target, "targets"),
    ],
)
@pytest.mark.parametrize("fill_missing", [False, True])
def test_samples_whose_parts_disagree_are_rejected(game, change, name, fill_missing):
    if (change, fill_missing) == (zero_all, True):
        name = "values"
    after = game.initial
    for _ in range(6):
        after = game.apply(after, int(game.legal_actions(after)[1]))
    samples = samples_of(game, [game.initial, after, after])
    if fill_missing:
        samples = samples._replace(values=2 * samples.targets[:, 0].astype(np.float32) - 1)
    replay = ReplayBuffer(game, 5, fill_missing=fill_missing)
    load_changed(replay, samples, lambda samples: None)
    with pytest.raises(BadCheckpoint) as caught:
        load_changed(replay, samples, change)
    row = 0 if change is swap_positions else 1
    text = game.to_text(after)
    assert str(caught.value) == f"replay.{name} does not fit the position {text!r} in row {row}"


@pytest.mark.parametrize(
    ("change", "fill_missing", "name"),
    [(double_the_last_target, False, "targets"), (change_the_value, True, "values")],
)
def test_samples_with_impossible_targets_are_rejected(game, change, fill_missing, name):
    samples = samples_of(game, [game.initial] * 3)
    samples = samples._replace(values=2 * samples.targets[:, 0].astype(np.float32) - 1)
    replay = ReplayBuffer(game, 5, fill_missing=fill_missing)
    text = game.to_text(game.initial)
    with pytest.raises(BadCheckpoint) as caught:
        load_changed(replay, samples, change)
    assert str(caught.value) == f"replay.{name} does not fit the position {text!r} in row 1"


def test_sample_of_a_finished_game_is_rejected(game):
    position = game.initial
    rng = np.random.default_rng(0)
    while game.outcome(position) == ONGOING:
        position = game.apply(position, int(rng.choice(game.legal_actions(position))))
    saved = ReplayBuffer(game, 5)
    saved.add(samples_of(game, [game.initial]))
    saved.samples.positions[0] = position
    with pytest.raises(BadCheckpoint) as caught:
        ReplayBuffer(game, 5).load(saved.state(), 1)
    text = game.to_text(position)
    assert str(caught.value) == f"replay.actions does not fit the position {text!r} in row 0"


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("actions", 32000, "replay.actions has invalid values; expected: -1 to"),
        ("actions", -2, "replay.actions has invalid values; expected: -1 to"),
        ("targets", np.nan, "replay.targets has invalid values; expected: 0 to 1"),
        ("targets", -0.5, "replay.targets has invalid values; expected: 0 to 1"),
        ("values", np.inf, "replay.values has invalid values; expected: -1 to 1"),
        ("positions", 2**63, r"replay.positions: capture_conquer: the words \[9223372036854775808"),
        (
            "actions",
            np.zeros((3, 64), np.int32),
            r"replay.actions is int32\[3, 64\]; expected: int16",
        ),
        ("actions", np.zeros((3, 65), np.int16), r"expected: int16\[3, 64\]"),
        ("positions", np.zeros((3, 3), np.uint64), r"replay.positions is uint64\[3, 3\]"),
        (
            "values",
            np.zeros(4, np.float32),
            r"replay.values is float32\[4\]",
        ),
        ("values", None, "there is no array replay.values"),
    ],
)
def test_invalid_samples_are_rejected_unchanged(game, name, change, message):
    saved = ReplayBuffer(game, 5)
    saved.add(samples_of(game, [game.initial] * 3))
    arrays = {name: array.copy() for name, array in saved.state().items()}
    if change is None:
        del arrays[f"replay.{name}"]
    elif isinstance(change, np.ndarray):
        arrays[f"replay.{name}"] = change
    else:
        arrays[f"replay.{name}"][1] = change
    replay = ReplayBuffer(game, 5)
    replay.add(samples_of(game, [game.initial], 0.25))
    before = {name: array.copy() for name, array in replay.state().items()}
    with pytest.raises(BadCheckpoint, match=message):
        replay.load(arrays, 3)
    np.testing.assert_equal(replay.state(), before)
    assert replay.added == 1
