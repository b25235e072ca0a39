"""The game of the tutorial is correct, by independent counts."""

import numpy as np
import pytest

from cc_env.games.factory import make_game
from cc_env.verification.perft import perft


@pytest.fixture(scope="module")
def game(tutorials):
    return make_game("breakthrough")


def test_perft_agrees_with_openspiel(game, tutorials):
    spiel = pytest.importorskip("pyspiel").load_game("breakthrough(rows=6,columns=6)")

    def count(state, depth):
        if depth == 0 or state.is_terminal():
            return int(depth == 0)
        return sum(count(state.child(action), depth - 1) for action in state.legal_actions())

    page = (tutorials / "your_game.md").read_text()
    for depth in range(1, 5):
        ours = perft(game, game.initial, depth)
        assert ours == count(spiel.new_initial_state(), depth)
        assert f"{ours:,}" in page


def test_random_games_agree_with_openspiel(game):
    spiel = pytest.importorskip("pyspiel").load_game("breakthrough(rows=6,columns=6)")
    for seed in range(30):
        rng, position, state = np.random.default_rng(seed), game.initial, spiel.new_initial_state()
        while game.outcome(position) == -1:
            legal = {}
            for action in map(int, game.legal_actions(position)):
                legal[game.action_text(position, action)] = action
            names = {_text(state, action): action for action in state.legal_actions()}
            assert legal.keys() == names.keys()
            action = sorted(legal)[rng.integers(len(legal))]
            position = game.apply(position, legal[action])
            state.apply_action(names[action])
        assert state.is_terminal()
        assert state.returns()[game.outcome(position)] == 1


def _text(state, action):
    """Return a move of OpenSpiel's, a2b3 or a2b3*, as ours; there the first player goes down."""
    text = state.action_to_string(state.current_player(), action)
    cells = [(6 - int(text[at + 1]), "abcdef".index(text[at])) for at in (0, 2)]
    return "-".join(f"{5 - row}{5 - column}" for row, column in cells)
