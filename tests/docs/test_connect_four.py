"""The game of the tutorial is Connect Four, by independent counts.

Sequences of moves: from the tests of the Rust crate kudchuet
(https://github.com/ultrasuperpingu/kudchuet). Positions after n moves: J. Tromp, OEIS A212693.
"""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import cc_env
from cc_env.core.rules import DRAW, ONGOING
from cc_env.envs import aec
from cc_env.games.factory import make_game
from cc_env.rendering.picture import draw
from cc_env.verification.perft import perft

# PettingZoo's tests import deprecated environments of its own.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pettingzoo.test import api_test

SEQUENCES = 7, 49, 343, 2401, 16807, 117649, 823536, 5673234
POSITIONS = 1, 7, 49, 238, 1120, 4263


@pytest.fixture(scope="module")
def game(tutorials):
    return make_game("connect_four")


@pytest.fixture(scope="module")
def registered(game):
    yield cc_env.register("connect_four", "tutorial/ConnectFour-v0")
    gymnasium.registry.pop("tutorial/ConnectFour-v0")


def play_columns(game, columns):
    """Return the position after discs in these columns."""
    position = game.initial
    for column in columns:
        position = game.play_turn(position, game.parse_turn(position, column))
    return position


def test_perft_agrees_with_published_counts(game, tutorials):
    page = (tutorials / "connect_four.md").read_text()
    for depth, count in enumerate(SEQUENCES, 1):
        assert perft(game, game.initial, depth) == count
        assert f"{count:,}" in page


def test_position_counts_agree_with_published_ones(game):
    level = {game.initial}
    for count in POSITIONS:
        assert len(level) == count
        level = {game.apply(p, action) for p in level for action in game.legal_actions(p)}


@pytest.mark.parametrize(
    "rows",
    [
        "7/7/7/7/7/yyyy3",  # across, in both corners
        "7/7/7/7/7/3yyyy",
        "yyyy3/7/7/7/7/7",
        "7/7/y6/y6/y6/y6",  # down
        "6y/6y/6y/6y/7/7",
        "y6/1y5/2y4/3y3/7/7",  # down to the right
        "7/7/3y3/4y2/5y1/6y",
        "6y/5y1/4y2/3y3/7/7",  # down to the left
        "7/7/3y3/2y4/1y5/y6",
    ],
)
def test_four_in_a_line_wins_for_the_last_mover(game, rows):
    assert game.outcome(game.from_text(f"{rows} r")) == 0
    assert game.outcome(game.from_text(rows.replace("y", "r") + " y")) == 1


@pytest.mark.parametrize(
    "rows",
    [
        # From the end of a row to the beginning of the next.
        "7/7/7/7/4yyy/y6",
        "7/7/7/7/y6/4yyy",
        "7/7/7/5yy/yy5/7",
        # In steps of six, around the edge.
        "7/2y4/1y5/y6/6y/7",
        # In steps of eight, around the edge.
        "5y1/6y/y6/1y5/7/7",
        "7/7/7/7/7/yyy1yyy",
        "y6/y6/y6/7/y6/y6",
    ],
)
def test_lines_end_at_the_edge_and_have_no_gaps(game, rows):
    assert game.outcome(game.from_text(f"{rows} r")) == ONGOING


def test_full_board_is_a_draw_and_full_column_is_illegal(game):
    rows = "yyryrrr/ryyryyy/yrryryr/ryyrryr/yryyyry/rryrryr"
    assert game.outcome(game.from_text(f"{rows} y")) == DRAW
    almost = game.from_text("yyryrr1" + rows[7:] + " r")
    assert list(game.turns(almost)) == [(6,)]
    assert game.ending(game.apply(almost, 6)) == "draw"


def test_disc_falls_to_the_lowest_empty_cell(game):
    position = play_columns(game, "dd")
    assert game.to_text(position) == "7/7/7/7/3r3/3y3 y"
    assert game.track(position, (3,)) == (((3, 3),), ())
    assert game.track(position, (0,)) == (((5, 0),), ())


def test_games_agree_with_openspiel(game):
    spiel = pytest.importorskip("pyspiel").load_game("connect_four")
    for seed in range(50):
        rng, position, state = np.random.default_rng(seed), game.initial, spiel.new_initial_state()
        while game.outcome(position) == ONGOING:
            legal = game.legal_actions(position).tolist()
            assert legal == state.legal_actions()
            action = int(rng.choice(legal))
            position = game.apply(position, action)
            state.apply_action(action)
        assert state.is_terminal()
        won = [0.0, 0.0] if game.outcome(position) == DRAW else list(game.score(position))
        assert state.returns() == won


def test_environments_pass_gymnasium_and_pettingzoo_checks(registered, capsys):
    env = gymnasium.make("tutorial/ConnectFour-v0")
    check_env(env.unwrapped, skip_render_check=True)
    assert env.action_space.n == 7
    api_test(aec.env("connect_four"), num_cycles=200)
    assert capsys.readouterr().out.endswith("Passed API test\n")


def test_vector_environment_ends_by_four_in_a_line(registered):
    envs = gymnasium.make_vec("tutorial/ConnectFour-v0", num_envs=32, opponent=None)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    ends = set[int]()
    for _ in range(60):
        *_, over, _, infos = envs.step(envs.action_space.sample())
        ends.update(infos["outcome"][over].tolist())
    assert ends >= {0, 1}


def test_column_labels_agree_with_the_notation(game):
    assert str(draw(game, game.initial)).startswith("   a b c d e f g\n 0 .")
    assert game.turn_text(game.initial, (3,)) == "d"
