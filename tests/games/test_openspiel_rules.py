"""Random games are the same in OpenSpiel, if the options match its rules.

checkers           crowning="ends_move"; its draw after 40 moves without a capture is not one of our
                   rules, as a man's step is progress here
nine_mens_morris   STANDARD_RULES; its draw after 200 turns is a limit here, not a rule
"""

import numpy as np
import pyspiel
import pytest

from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS
from cc_env.games.factory import make_game
from cc_env.games.morris import STANDARD_RULES

RETURNS = {FIRST_WINS: [1, -1], SECOND_WINS: [-1, 1], DRAW: [0, 0]}
COUNTS = pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.slow)])


def after(state, action):
    """Return a copy of the state after an action; `undo_action` of OpenSpiel's checkers fails."""
    child = state.clone()
    child.apply_action(action)
    return child


def checkers_move(game, position, action):
    """Return an action in OpenSpiel's notation, such as a2b3, whose board is mirrored."""
    start, end = (divmod(int(cell), 8) for cell in game.action_cells[action])
    if game.to_move(position):
        start, end = ((7 - row, 7 - column) for row, column in (start, end))
    return "".join("hgfedcba"[column] + str(8 - row) for row, column in (start, end))


@COUNTS
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


@COUNTS
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
