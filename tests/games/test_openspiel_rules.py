"""Random games walked in step with OpenSpiel, where its rules are the same as some of ours.

checkers           crowning="ends_move"; its draw after 40 moves without a capture is not a rule of
                   ours (a man's step is progress here), so there the walk ends
nine_mens_morris   STANDARD_RULES; it ends games after 200 turns, which with us is a limit
"""

import numpy as np
import pyspiel
import pytest

from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS
from cc_env.games.factory import make_game
from cc_env.games.morris import STANDARD_RULES

RETURNS = {FIRST_WINS: [1, -1], SECOND_WINS: [-1, 1], DRAW: [0, 0]}
GAMES = pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.slow)])


def after(state, action):
    """Return the state after an action, as a copy: undoing a move of checkers is broken there."""
    child = state.clone()
    child.apply_action(action)
    return child


def checkers_move(game, position, action):
    """Return a decision as a2b3: its board is the mirror image of ours, its rows from below."""
    start, end = (divmod(int(cell), 8) for cell in game.action_cells[action])
    if game.to_move(position):
        start, end = ((7 - row, 7 - column) for row, column in (start, end))
    return "".join("hgfedcba"[column] + str(8 - row) for row, column in (start, end))


@GAMES
def test_checkers_agrees_with_openspiel(count):
    game = make_game("checkers", crowning="ends_move", no_progress_limit=None)
    theirs, rng = pyspiel.load_game("checkers"), np.random.default_rng(1)
    crowned = jumps = 0
    for _ in range(count):
        position, state, quiet = game.initial, theirs.new_initial_state(), 0
        while not state.is_terminal():
            assert game.to_move(position) == state.current_player()
            actions = game.legal_actions(position)
            ours = {checkers_move(game, position, action): int(action) for action in actions}
            named = {state.action_to_string(action): action for action in state.legal_actions()}
            assert set(ours) == set(named), game.to_text(position)
            move = str(rng.choice(sorted(ours)))
            quiet = 0 if abs(ord(move[2]) - ord(move[0])) == 2 else quiet + 1
            position, state = game.apply(position, ours[move]), after(state, named[move])
            jumps += game.mid_turn(position)
        crowned += bool(position.kings)
        if quiet < 40:
            assert RETURNS[game.outcome(position)] == state.returns()
        else:
            assert state.returns() == [0, 0]
    assert crowned > count / 2
    assert jumps > count / 2


@GAMES
def test_morris_agrees_with_openspiel(count):
    game = make_game("morris", **STANDARD_RULES)
    theirs, rng = pyspiel.load_game("nine_mens_morris"), np.random.default_rng(1)
    endings = set()
    for _ in range(count):
        position, state, turns = game.initial, theirs.new_initial_state(), 0
        while not state.is_terminal():
            assert game.to_move(position) == state.current_player()
            actions = game.legal_actions(position).tolist()
            assert actions == state.legal_actions(), game.to_text(position)
            action = int(rng.choice(actions))
            position, state = game.apply(position, action), after(state, action)
            turns += not game.mid_turn(position)
        if game.outcome(position) == ONGOING:
            assert turns >= 200
            assert state.returns() == [0, 0]
        else:
            assert RETURNS[game.outcome(position)] == state.returns()
            endings.add(game.ending(position))
    assert endings == ({"two_left", "no_moves"} if count == 1000 else {"two_left"})
