"""Properties of every game in random games: texts, symmetries, keys, tracks, records."""

from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest

from cc_env.core import rules
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS
from cc_env.errors import BadOption, BadPosition, IllegalAction
from cc_env.games.factory import game_option_defaults, game_option_values, make_game
from cc_env.match import record
from cc_env.match.record import read_records
from cc_env.match.referee import play_match
from cc_env.players.builtin import RandomPlayer
from cc_env.registry.catalogue import GAMES

GOLDEN = Path(__file__).parent / "golden"


def other_options(name):
    """Return options with non-default values."""
    defaults = game_option_defaults(name)
    switched = {option: not value for option, value in defaults.items() if type(value) is bool}
    valid_values = game_option_values(name).items()
    choices = {o: next(v for v in values[::-1] if v != defaults[o]) for o, values in valid_values}
    return switched | choices


PARAMETERS = [(name, {}) for name in (*GAMES, "elsewhere.tictactoe")]
PARAMETERS += [(name, other_options(name)) for name in GAMES if other_options(name)]


@pytest.fixture(params=PARAMETERS, ids=str, scope="module")
def any_game(request):
    name, options = request.param
    return make_game(name, **options)


@pytest.fixture(scope="module")
def steps(any_game):
    """Return the positions of random games with the action played there, None at the end."""
    rng, steps = np.random.default_rng(7), []
    for _ in range(3):
        position = any_game.initial
        for _ in range(2000):
            legal = any_game.legal_actions(position)
            action = int(rng.choice(legal)) if len(legal) else None
            steps.append((position, action))
            if action is None:
                break
            position = any_game.apply(position, action, legal)
        assert action is None
    return steps


@pytest.mark.parametrize("name", GAMES)
def test_golden_games_have_recorded_endings(name):
    """The records contain the results; the final positions are in a file next to them."""
    ends = []
    for _, golden in read_records(GOLDEN / f"{name}.jsonl"):
        match = record.replay(golden)
        ends.append(match.game.to_text(match.position))
    assert ends
    assert ends == (GOLDEN / f"{name}.txt").read_text().splitlines()


def test_positions_with_an_invalid_word_are_rejected(any_game, steps):
    """Compiled rules could read out of bounds."""
    rows = np.array([position for position, _ in steps][:200], np.uint64)
    any_game.check_positions(rows)
    any_game.check_positions(rows[:0])
    rng = np.random.default_rng(0)
    for field in range(rows.shape[1]):
        wrong = rows[rng.integers(len(rows))].copy()
        wrong[field] = rng.integers(2**60, 2**64, dtype=np.uint64)
        with pytest.raises(BadPosition, match=r"the words .* are not a position"):
            any_game.check_positions(np.concatenate((rows[:9], [wrong], rows[9:])))
        is_valid = any_game.is_valid(type(any_game.initial)(*np.array([wrong, rows[0]]).T))
        assert is_valid.tolist() == [False, True]


@pytest.mark.parametrize("name", GAMES)
def test_only_valid_option_values_are_accepted(name):
    for option, values in game_option_values(name).items():
        assert game_option_defaults(name)[option] in values
        for value in values:
            assert make_game(name, **{option: value}).options[option] == value
        with pytest.raises(BadOption, match=option):
            make_game(name, **{option: "none"})


def test_positions_round_trip_as_text(any_game, steps):
    for position, action in steps:
        if action is not None:
            back = any_game.from_text(any_game.to_text(position))
            assert any_game.key(back) == any_game.key(position)
            assert any_game.to_text(back) == any_game.to_text(position)


def test_legal_actions_are_ascending_and_empty_at_the_end(any_game, steps):
    for position, action in steps:
        legal = any_game.legal_actions(position)
        assert (np.diff(legal) > 0).all()
        assert (any_game.outcome(position) == ONGOING) == (action is not None)
        assert np.array_equal(any_game.action_mask(position).nonzero()[0], legal)
        if action is None:
            assert any_game.outcome(position) in (FIRST_WINS, SECOND_WINS, DRAW)
            assert any_game.ending(position).isidentifier()


def test_player_to_move_is_constant_within_a_turn(any_game, steps):
    for (position, _), (after, _) in pairwise(steps):
        if any_game.mid_turn(after):
            assert any_game.to_move(after) == any_game.to_move(position)
            assert any_game.outcome(after) == ONGOING


def test_observations_are_binary_and_distinguish_positions(any_game, steps):
    legal_by_planes = {}
    for position, action in steps:
        if action is not None:
            planes = any_game.observe(position)
            assert planes.dtype == np.int8
            assert planes.shape == (len(any_game.planes), *any_game.observation_shape[1:])
            assert set(np.unique(planes)) <= {0, 1}
            legal = tuple(any_game.legal_actions(position).tolist())
            assert legal_by_planes.setdefault(planes.tobytes(), legal) == legal


def test_symmetries_preserve_the_rules(any_game, steps):
    for symmetry in any_game.symmetries:
        for position, action in steps[::5]:
            image = symmetry.position(position)
            legal = any_game.legal_actions(position)
            assert sorted(symmetry.actions[legal]) == any_game.legal_actions(image).tolist()
            planes = any_game.observe(position)
            turned = planes.reshape(len(planes), -1)[:, symmetry.cells].reshape(planes.shape)
            assert np.array_equal(turned, any_game.observe(image))
            if action is not None:
                after = any_game.apply(image, int(symmetry.actions[action]))
                assert symmetry.position(any_game.apply(position, action)) == after


def test_action_cells_and_tracks_are_on_the_board(any_game, steps):
    _, rows, columns = any_game.observation_shape
    cells = {(row, column) for row in range(rows) for column in range(columns)}
    assert any_game.action_cells.shape == (any_game.num_actions, 2)
    assert any_game.action_cells.min() >= 0
    assert any_game.action_cells.max() <= rows * columns
    for position, action in steps:
        assert set(any_game.pieces(position)) <= cells
        if action is not None:
            path, captured = any_game.track(position, (action,))
            assert {*path, *captured} <= cells
            ends = (*path[:1], *path[1:][-1:])
            assert any_game.track_ends(position, action) == (ends, captured)
            assert any_game.action_text(position, action)


def test_legal_actions_have_distinct_cells(any_game, steps):
    for position, _ in steps:
        used = any_game.action_cells[any_game.legal_actions(position)]
        assert len(np.unique(used, axis=0)) == len(used)


def test_turn_notation_round_trips(any_game, steps):
    for position, action in steps[::10]:
        if action is not None:
            texts = [any_game.turn_text(position, turn) for turn in any_game.turns(position)]
            assert len(set(texts)) == len(texts)
            for text in texts:
                turn = any_game.parse_turn(position, text)
                assert any_game.turn_text(position, turn) == text


def test_error_of_an_illegal_turn_lists_whole_turns(any_game, steps):
    for position, action in steps[::5]:
        turns = list(islice(any_game.turns(position), 13))
        with pytest.raises(IllegalAction) as caught:
            any_game.parse_turn(position, "nonsense")
        texts = [any_game.readable_turn_text(position, turn) for turn in turns[:12]]
        listed = ", ".join([*texts, *["…"] * (len(turns) > 12)])
        hint = f"legal: {listed}" if action is not None else "the game is over"
        where = any_game.to_text(position)
        assert str(caught.value) == f"'nonsense' is not legal in '{where}'; {hint}"
        assert [any_game.parse_turn(position, text) for text in texts] == turns[:12]


def test_error_of_a_long_turn_quotes_its_beginning(any_game):
    with pytest.raises(IllegalAction) as caught:
        any_game.parse_turn(any_game.initial, "é" + "x" * 100_000)
    assert str(caught.value).startswith(rf"'\xe9{'x' * 39}' is not legal in ")
    assert len(str(caught.value)) < 1000


def test_games_are_recorded_and_replayed(any_game):
    players = RandomPlayer(any_game), RandomPlayer(any_game)
    for seed in range(3):
        match_record = play_match(any_game, players, seed=seed)
        again = record.Record.from_json(match_record.to_json())
        assert record.replay(again).turns == list(match_record.turns)


def test_standard_evaluation_is_antisymmetric(any_game, steps):
    assert next(iter(any_game.evaluations)) == "standard"
    values = set()
    for position, action in steps:
        if action is not None:
            value = rules.evaluate(position, 0, any_game.evaluation())
            assert value == -rules.evaluate(position, 1, any_game.evaluation())
            values.add(value)
    assert len(values) > 10
