"""The search for a forced goal, compared with alpha-beta and with plain recursion."""

import numpy as np
import pytest

from cc_env.core.rules import ONGOING
from cc_env.errors import BadOption, SearchLimit
from cc_env.games.factory import make_game
from cc_env.match.openings import play_random_turns
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.forced import CaptureGoal, ForcedSearch
from cc_env.search.scores import PROVEN

# Games, and random turns after which wins are frequent.
TURNS = {
    "capture_conquer": (10, 25),
    "checkers": (50, 90),
    "mini_checkers": (16, 40),
    "morris": (30, 60),
    "cannon": (20, 50),
}


def random_positions(game, count, turns, seed=2):
    rng, found = np.random.default_rng(seed), []
    while len(found) < count:
        position = play_random_turns(game, int(rng.integers(*turns)), rng)
        if game.outcome(position) == ONGOING and len(game.legal_actions(position)) > 1:
            found.append(position)
    return found


@pytest.mark.parametrize("name", TURNS)
def test_forced_wins_are_those_that_alpha_beta_proves(name):
    game, counts = make_game(name), {True: 0, False: 0}
    forced, search = ForcedSearch(game), AlphaBeta(game, table_megabytes=1)
    for position in random_positions(game, 150, TURNS[name]):
        for turns in (1, 2):
            can_win = forced.can_force(position, game.to_move(position), turns)
            assert can_win == (search.search(position, depth=2 * turns - 1).score >= PROVEN)
            counts[can_win] += 1
    assert min(counts.values()) > 2


def wins_bead(game, position, mover, turns, start):
    """Return whether a player can capture a bead before it loses one, by plain recursion."""

    def beads(after):
        owners = [game.owner(letter) for letter in game.pieces(after).values()]
        return owners.count(mover), owners.count(1 - mover)

    if game.outcome(position) != ONGOING:
        return game.outcome(position) == mover
    own, enemy = beads(position)
    if game.to_move(position) != mover and enemy < start[1] and own >= start[0]:
        return True
    if not turns:
        return False
    is_attack = game.to_move(position) == mover
    results = (
        wins_bead(game, game.play_turn(position, turn), mover, turns - is_attack, start)
        for turn in game.turns(position)
    )
    return any(results) if is_attack else all(results)


def test_forced_captures_are_those_of_plain_recursion():
    game, counts = make_game("morris"), {True: 0, False: 0}
    for position in random_positions(game, 12, (40, 60)):
        mover = game.to_move(position)
        owners = [game.owner(letter) for letter in game.pieces(position).values()]
        start = owners.count(mover), owners.count(1 - mover)
        forced = ForcedSearch(game, CaptureGoal(*map(np.int64, start)))
        for turns in (1, 2):
            expected = wins_bead(game, position, mover, turns, start)
            assert forced.can_force(position, mover, turns) == expected
            counts[expected] += 1
    assert min(counts.values()) > 2


def test_least_number_of_turns_is_found():
    game = make_game("capture_conquer")
    forced = ForcedSearch(game)
    for position in random_positions(game, 60, (10, 25)):
        attacker = game.to_move(position)
        found = forced.turns_to_goal(position, attacker, 3)
        expected = [n for n in (1, 2, 3) if forced.can_force(position, attacker, n)]
        assert found == (expected[0] if expected else None)


def test_either_player_can_be_the_attacker():
    game = make_game("capture_conquer")
    forced = ForcedSearch(game)
    lost = 0
    for position in random_positions(game, 200, (10, 25)):
        attacker = 1 - game.to_move(position)
        after = [game.play_turn(position, turn) for turn in game.turns(position)]
        expected = all(
            game.outcome(p) == attacker
            if game.outcome(p) != ONGOING
            else forced.can_force(p, attacker, 1)
            for p in after
        )
        assert forced.can_force(position, attacker, 1) == expected
        lost += expected
    assert lost


def test_search_that_takes_too_long_is_an_error():
    game = make_game("capture_conquer")
    forced = ForcedSearch(game, nodes=100)
    with pytest.raises(SearchLimit, match="more than 100 positions"):
        forced.can_force(game.initial, 0, 4)
    assert forced.nodes > 100
    assert not forced.can_force(game.initial, 0, 1)


def test_numbers_out_of_range_are_rejected():
    game = make_game("capture_conquer")
    with pytest.raises(BadOption, match="turns=51"):
        ForcedSearch(game).can_force(game.initial, 0, 51)
    with pytest.raises(BadOption, match="nodes=0"):
        ForcedSearch(game, nodes=0)
