"""Data sets of games: their arrays, their file, and what is rejected."""

import io
import json
import zipfile

import numpy as np
import pytest

from cc_env.core.rules import reward
from cc_env.datasets.dataset import ARRAYS, load_dataset, make_dataset
from cc_env.datasets.generation import play_matches, read_matches
from cc_env.envs import BoardGameEnv
from cc_env.errors import BadOption, BadPlayer, BadRecord
from cc_env.games.factory import make_game
from cc_env.match.match import Limits, Match
from cc_env.match.record import append_record
from cc_env.match.referee import play_match
from cc_env.players.builtin import RandomPlayer
from cc_env.players.specs import PLAYERS
from cc_env.registry.catalogue import GAMES
from cc_env.tablebase.tablebase import Tablebase


def random_dataset(game, games=4, tables=None, **arguments):
    matches = play_matches(game, ["random"], games=games, **arguments)
    return make_dataset(game, matches, tables)


@pytest.fixture(scope="module")
def small_game():
    return make_game("capture_conquer", size=4)


@pytest.fixture(scope="module")
def solved_dataset(small_game):
    return random_dataset(small_game, 12, Tablebase(small_game))


@pytest.fixture
def file(solved_dataset, tmp_path):
    solved_dataset.save(tmp_path / "games.npz")
    return tmp_path / "games.npz"


@pytest.mark.parametrize("name", GAMES)
def test_decisions_replay_in_the_environment(name):
    """An environment with the recorded opponent gives the observations, masks and rewards."""
    game = make_game(name)
    dataset = random_dataset(game, games=2, opening_turns=0)
    for index in range(2):
        for seat in (0, 1):
            (other,) = np.nonzero((dataset.games == index) & (dataset.seats != seat))
            (own,) = np.nonzero((dataset.games == index) & (dataset.seats == seat))
            replies = iter(dataset.actions[other].tolist())
            env = BoardGameEnv(
                name, opponent=lambda *_, replies=replies: next(replies), seat=seat, max_turns=200
            )
            observation, info = env.reset(seed=0)
            for row in own.tolist():
                np.testing.assert_array_equal(dataset.observations[row], observation)
                np.testing.assert_array_equal(dataset.masks[row], info["action_mask"])
                step = env.step(dataset.actions[row])
                observation, obtained, terminated, truncated, info = step
                assert dataset.rewards[row] == obtained
                assert dataset.terminations[row] == terminated
                assert dataset.truncations[row] == truncated
            assert terminated or truncated
            np.testing.assert_array_equal(dataset.final_observations[index, seat], observation)
            np.testing.assert_array_equal(dataset.final_masks[index], info["action_mask"])


def test_returns_are_the_results_for_the_players(solved_dataset):
    assert {0, 1} <= set(solved_dataset.outcomes.tolist())
    for index, seat, value in zip(
        solved_dataset.games, solved_dataset.seats, solved_dataset.returns, strict=True
    ):
        assert value == reward(int(solved_dataset.outcomes[index]), int(seat))
    for index in range(len(solved_dataset.outcomes)):
        for seat in (0, 1):
            own = (solved_dataset.games == index) & (solved_dataset.seats == seat)
            assert solved_dataset.rewards[own].sum() == (
                solved_dataset.returns[own][0] if own.any() else 0
            )
            assert (solved_dataset.terminations | solved_dataset.truncations)[
                own
            ].sum() == own.any()


def test_exact_values_decide_games_of_perfect_players(small_game):
    matches = play_matches(small_game, ["perfect"], games=6, seed=3)
    dataset = make_dataset(small_game, matches, Tablebase(small_game))
    is_terminated = dataset.outcomes[dataset.games] != 2
    assert is_terminated.any()
    np.testing.assert_array_equal(dataset.values[is_terminated], dataset.returns[is_terminated])


def test_values_are_unknown_without_tables(game):
    assert np.isnan(random_dataset(game, 1).values).all()


def test_game_at_a_limit_is_truncated(game):
    dataset = random_dataset(game, 1, limits=Limits(max_turns=3), opening_turns=0)
    assert dataset.outcomes.tolist() == [2]
    assert dataset.truncations.tolist() == [False, True, True]
    assert not dataset.terminations.any()
    assert not dataset.returns.any()
    assert 1 < dataset.final_masks.sum() < game.num_actions
    assert dataset.endings.tolist() == ["max_turns"]
    assert dataset.limits.tolist() == [[3, 3]]


def test_endings_are_those_of_the_matches(small_game):
    limits = Limits(repetitions=2)
    matches = list(play_matches(small_game, ["perfect"], games=12, limits=limits))
    dataset = make_dataset(small_game, matches)
    assert dataset.endings.tolist() == [match.result.reason for match, _ in matches]
    assert {"repetition", "conquest"} <= set(dataset.endings.tolist())
    is_repetition = dataset.endings[dataset.games] == "repetition"
    assert (dataset.truncations.any(), dataset.terminations.any()) == (True, True)
    assert (dataset.truncations <= is_repetition).all()
    assert not (dataset.terminations & is_repetition).any()
    assert set(map(tuple, dataset.limits.tolist())) == {(200, 2)}


def test_games_with_a_rule_of_repetition_have_no_such_limit():
    dataset = random_dataset(make_game("cannon"), 1, limits=Limits(max_turns=30, repetitions=5))
    assert dataset.limits.tolist() == [[30, 0]]


def test_player_without_a_decision_has_no_row(small_game):
    """The first turn of a game may end it."""
    (won, _), *_ = play_matches(small_game, ["random"], games=1)
    match = Match(small_game, won.history[-1][0])
    for action in won.history[-1][1]:
        match.play(action)
    dataset = make_dataset(small_game, [(match, ("ann", "bob"))])
    assert len(set(dataset.seats.tolist())) == 1
    assert dataset.rewards.tolist() == [1.0]
    assert dataset.final_observations.shape[:2] == (1, 2)


def test_same_seed_gives_the_same_bytes(small_game, solved_dataset, tmp_path):
    again = random_dataset(small_game, 12, Tablebase(small_game))
    solved_dataset.save(tmp_path / "first.npz")
    again.save(tmp_path / "second.npz")
    assert (tmp_path / "first.npz").read_bytes() == (tmp_path / "second.npz").read_bytes()
    other = random_dataset(small_game, 12, seed=1)
    assert other.actions.tolist() != solved_dataset.actions.tolist()


def test_more_games_begin_with_the_same_games(small_game, solved_dataset):
    fewer = random_dataset(small_game, 5)
    assert fewer.actions.tolist() == solved_dataset.actions[: len(fewer)].tolist()


def test_two_players_play_each_opening_in_both_seats(game):
    matches = list(play_matches(game, ["greedy", "random"], games=4))
    assert [names for _, names in matches] == [("greedy", "random"), ("random", "greedy")] * 2
    starts = [match.start for match, _ in matches]
    assert starts[0] == starts[1] != starts[2] == starts[3]


def test_numpy_reads_the_file_without_pickle(solved_dataset, file):
    with np.load(file, allow_pickle=False) as arrays:
        assert set(arrays) == {*ARRAYS, "metadata"}
        metadata = json.loads(str(arrays["metadata"]))
        assert arrays["observations"].shape == (len(solved_dataset), 4, 4, 4)
        for name in ARRAYS:
            np.testing.assert_array_equal(arrays[name], getattr(solved_dataset, name), strict=True)
    assert metadata["game"] == "capture_conquer"
    assert metadata["environment"] == "cc_env/CaptureConquer-v0"
    assert metadata["options"] == {"size": 4, "corner": 2}
    assert tuple(metadata["planes"]) == solved_dataset.game.planes


def test_settings_of_the_games_are_stored(small_game, tmp_path):
    matches = play_matches(small_game, ["random"], games=1)
    make_dataset(small_game, matches, about={"seed": 0}).save(tmp_path / "games.npz")
    assert load_dataset(tmp_path / "games.npz").about == {"seed": 0}


def test_loaded_data_set_equals_the_saved_one(solved_dataset, file, small_game):
    loaded = load_dataset(file, small_game)
    assert loaded.game.options == small_game.options
    for name, array in solved_dataset.arrays().items():
        np.testing.assert_array_equal(getattr(loaded, name), array, strict=True)


def test_data_set_of_another_game_is_rejected(file):
    with pytest.raises(BadRecord, match=r"games\.npz.*size=4.*size=6"):
        load_dataset(file, make_game("capture_conquer"))
    with pytest.raises(BadRecord, match=r"size=4.*checkers"):
        load_dataset(file, make_game("checkers"))
    with pytest.raises(BadOption, match=r"make_game\('checkers'\)"):
        load_dataset(file, "checkers")


def rewrite(file, **change):
    """Replace arrays of a file; None removes one."""
    with np.load(file) as arrays:
        content = {name: arrays[name] for name in arrays}
    content = {name: array for name, array in {**content, **change}.items() if array is not None}
    np.savez_compressed(file, **content)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"masks": None}, "masks"),
        ({"metadata": None}, "metadata"),
        ({"metadata": np.array("{")}, "games.npz"),
        ({"metadata": np.array("[]")}, "format"),
        ({"metadata": np.array('{"format": 3, "game": "os", "options": {}}')}, "os"),
        ({"metadata": np.array('{"format": 3, "game": "checkers", "options": {}}')}, "rules"),
        ({"metadata": np.array('{"format": 3, "game": "checkers"}')}, "options"),
        ({"actions": np.zeros(3, np.int64)}, "expected"),
        ({"rewards": np.zeros(5)}, "rewards is float64"),
        ({"observations": np.array([{}], object)}, "pickle"),
    ],
)
def test_altered_file_is_rejected(file, change, word):
    rewrite(file, **change)
    with pytest.raises(BadRecord, match=word):
        load_dataset(file)


def test_indices_out_of_range_are_rejected(solved_dataset, file):
    for name, value in (("actions", 98), ("actions", -1), ("games", 12), ("seats", 2)):
        array = getattr(solved_dataset, name).copy()
        array[1] = value
        rewrite(file, **{name: array})
        with pytest.raises(BadRecord, match=name):
            load_dataset(file)
        rewrite(file, **{name: getattr(solved_dataset, name)})
    illegal = solved_dataset.masks[0].argmin()
    rewrite(file, actions=np.array([illegal, *solved_dataset.actions[1:]]))
    with pytest.raises(BadRecord, match=rf"actions\[0\]={illegal}; expected: a legal action"):
        load_dataset(file)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("observations", 77),
        ("final_observations", -1),
        ("rewards", np.nan),
        ("returns", 1e30),
        ("values", np.inf),
        ("outcomes", 3),
    ],
)
def test_impossible_values_are_rejected(solved_dataset, file, name, value):
    array = getattr(solved_dataset, name).copy()
    array.flat[0] = value
    rewrite(file, **{name: array})
    with pytest.raises(BadRecord, match=f"{name} contains"):
        load_dataset(file)


@pytest.mark.parametrize("name", ["outcomes", "seats", "returns", "rewards"])
def test_results_that_do_not_agree_are_rejected(solved_dataset, file, name):
    array = getattr(solved_dataset, name)
    # Outcomes and seats: the players are swapped, and draws become wins of the second player.
    # Returns and rewards: -1 becomes 0, and 0 becomes 1.
    swapped = np.where(array <= 1, 1 - array, array) if name in ("outcomes", "seats") else array + 1
    rewrite(file, **{name: np.clip(swapped, 0, 1).astype(array.dtype)})
    with pytest.raises(BadRecord, match=r"(rewards|returns)\[\d+\] is .* from the outcome"):
        load_dataset(file)


def test_file_of_another_format_is_rejected(solved_dataset, file):
    with np.load(file) as arrays:
        metadata = json.loads(str(arrays["metadata"]))
    rewrite(file, metadata=np.array(json.dumps({**metadata, "format": 1})))
    with pytest.raises(BadRecord, match=r"format 1; .* reads format 3"):
        load_dataset(file)


def test_games_out_of_order_and_other_planes_are_rejected(solved_dataset, file):
    rewrite(file, games=solved_dataset.games[::-1])
    with pytest.raises(BadRecord, match="games in ascending order"):
        load_dataset(file)
    with np.load(file) as arrays:
        metadata = json.loads(str(arrays["metadata"]))
    rewrite(
        file,
        games=solved_dataset.games,
        metadata=np.array(json.dumps({**metadata, "planes": ["x"]})),
    )
    with pytest.raises(BadRecord, match="planes are"):
        load_dataset(file)


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "text", "array", "missing"])
def test_damaged_file_is_rejected(file, damage):
    content = file.read_bytes()
    if damage == "missing":
        file.unlink()
    elif damage == "array":
        with file.open("wb") as opened:
            np.save(opened, np.zeros(3))
    else:
        # In the compressed data of an array.
        place = content.index(b"observations.npy") + 100
        changed = content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]
        contents = {"cut": content[:-30], "changed": changed, "empty": b"", "text": b"hello"}
        file.write_bytes(contents[damage])
    with pytest.raises(BadRecord, match=r"games\.npz"):
        load_dataset(file)


def test_array_that_claims_to_be_huge_is_rejected(file):
    header = io.BytesIO()
    claim = {"descr": "<f4", "fortran_order": False, "shape": (2**50,)}
    np.lib.format.write_array_header_2_0(header, claim)
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["values.npy"] = header.getvalue()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(BadRecord):
        load_dataset(file)


def test_arrays_above_the_limit_are_not_read(solved_dataset, file):
    with zipfile.ZipFile(file) as archive:
        size = sum(member.file_size for member in archive.infolist())
    assert len(load_dataset(file, max_bytes=size)) == len(solved_dataset)
    with pytest.raises(BadRecord, match=f"{size:,} bytes.*max_bytes={size - 1}"):
        load_dataset(file, max_bytes=size - 1)


def test_failed_write_leaves_no_file(solved_dataset, tmp_path, monkeypatch):
    def fail(file, **_):
        file.write(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="No space"):
        solved_dataset.save(tmp_path / "games.npz")
    assert not list(tmp_path.iterdir())


def write_records(path, game, count=2):
    for seed in range(count):
        players = (RandomPlayer(game),) * 2
        append_record(path, play_match(game, players, names=("ann", "bob"), seed=seed))


def test_records_of_one_game_are_read(game, tmp_path):
    write_records(tmp_path / "games.jsonl", game)
    dataset = make_dataset(game, read_matches([tmp_path / "games.jsonl"] * 2))
    assert dataset.players.tolist() == [["ann", "bob"]] * 4
    half = len(dataset) // 2
    assert dataset.actions[:half].tolist() == dataset.actions[half:].tolist()


def test_unfinished_record_has_no_result(game, tmp_path):
    path = tmp_path / "games.jsonl"
    write_records(path, game, 1)
    line = json.loads(path.read_text())
    line |= {"turns": line["turns"][:3], "result": "*", "reason": "unfinished", "seconds": []}
    path.write_text(json.dumps(line))
    dataset = make_dataset(game, read_matches([path]))
    assert dataset.outcomes.tolist() == [-1]
    assert np.isnan(dataset.returns).all()
    assert not dataset.rewards.any()
    assert dataset.truncations.any()
    assert not dataset.terminations.any()


def test_error_for_records_of_another_game_has_the_line_number(game, tmp_path):
    path = tmp_path / "games.jsonl"
    write_records(path, game, 1)
    write_records(path, make_game("checkers"), 1)
    with pytest.raises(BadRecord, match=r"games\.jsonl, line 2.*checkers"):
        read_matches([path])
    with pytest.raises(BadRecord, match=r"games\.jsonl, line 1.*capture_conquer"):
        read_matches([path], make_game("checkers"))


def test_illegal_move_names_the_line_and_the_turn(game, tmp_path):
    path = tmp_path / "games.jsonl"
    write_records(path, game)
    first, second = map(json.loads, path.read_text().splitlines())
    second["turns"][1] = "0,0-5,5"
    path.write_text(json.dumps(first) + "\n" + json.dumps(second) + "\n")
    with pytest.raises(BadRecord, match=r"games\.jsonl, line 2: turn 2"):
        read_matches([path])


def test_file_without_records_is_rejected(tmp_path):
    (tmp_path / "games.jsonl").touch()
    with pytest.raises(BadRecord, match="no games"):
        read_matches([tmp_path / "games.jsonl"])


class BrokenPlayer:
    def __init__(self, game):
        """Play games of any kind."""

    def choose(self, position, rng, clock):
        raise RuntimeError("out of order")


def test_player_that_forfeits_is_an_error(game, monkeypatch):
    monkeypatch.setitem(PLAYERS, "broken", lambda game: BrokenPlayer(game))
    with pytest.raises(BadPlayer, match=r"game 1: broken.*out of order"):
        list(play_matches(game, ["random", "broken"], games=2))


@pytest.mark.parametrize(
    ("players", "arguments", "word"),
    [
        ([], {}, "0 players"),
        (["random"] * 3, {}, "3 players"),
        (["randm"], {}, "randm"),
        (["random"], {"games": 0}, "games=0; expected: an integer, 1 or more"),
        (["random"], {"games": 10**20}, "expected: an integer, 1 to 2,147,483,647"),
        (["random"], {"seed": -1}, "seed=-1"),
        (["random"], {"opening_turns": 500}, "opening_turns=500"),
        (["random", "greedy"], {"games": 3}, "games=3; expected: an even number"),
    ],
)
def test_bad_arguments_are_rejected(small_game, players, arguments, word):
    with pytest.raises(BadOption, match=word):
        list(play_matches(small_game, players, **{"games": 1, **arguments}))
