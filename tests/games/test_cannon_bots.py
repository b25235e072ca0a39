"""Cannon's heuristic players: danger, preferred actions, first turns, results."""

import numpy as np
import pytest

from cc_env.core.grid import Grid
from cc_env.errors import BadOption
from cc_env.games.cannon.bots import BOTS, describe_actions
from cc_env.games.factory import make_game
from cc_env.match.match import Limits
from cc_env.match.referee import Clock, play_match
from cc_env.players.specs import make_player

CANNON = make_game("cannon")
ROWS = COLUMNS = 8


def place(side, **letters):
    cells = {
        (int(xy[1]), int(xy[0])): letter
        for letter, cells in letters.items()
        for xy in cells.split()
    }
    return CANNON.from_text(f"{Grid(ROWS, COLUMNS).board_text(cells)} {side}")


def texts(name, position, seeds=range(12)):
    """Return the texts of all actions that a bot plays in a position, by seed."""
    actions = set()
    for seed in seeds:
        player = make_player(name, CANNON)
        player._bot._turns = 9
        actions.add(player.choose(position, np.random.default_rng(seed), Clock()).action)
    return {CANNON.action_text(position, action) for action in actions}


def slow_danger(position, cell):
    """Return the danger of a cell (x, y) by an independent count of attacks."""
    x, y = cell
    pieces = {(c, r): letter for (r, c), letter in CANNON.pieces(position).items()}
    own, enemy = "bw" if position.player == 0 else "wb"
    # The change of y by a forward step of the enemy.
    forward = 1 if enemy == "w" else -1
    enemies = {xy for xy, letter in pieces.items() if letter == enemy}
    count = 0
    for ex, ey in enemies:
        adjacent = [(-1, 0), (1, 0), (-1, forward), (0, forward), (1, forward)]
        count += (x - ex, y - ey) in adjacent
        may_retreat = any(pieces.get((ex + dx, ey + dy)) == own for dx, dy in adjacent)
        retreats = [(dx, -2 * forward) for dx in (-2, 0, 2)]
        count += may_retreat and (x - ex, y - ey) in retreats
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                three = [(ex + k * dx, ey + k * dy) for k in range(3)]
                if (dx, dy) != (0, 0) and enemies.issuperset(three):
                    front = ex + 3 * dx, ey + 3 * dy
                    on_board = 0 <= front[0] < COLUMNS and 0 <= front[1] < ROWS
                    hits = [(ex + k * dx, ey + k * dy) for k in (4, 5)]
                    count += on_board and front not in pieces and cell in hits
    near_halls = y >= 7 if own == "b" else y <= 2
    return count * (1.5 if near_halls else 1.0)


def test_danger_counts_enemy_attacks():
    rng, compared = np.random.default_rng(5), 0
    for _ in range(5):
        position = CANNON.initial
        for _ in range(60):
            candidates = describe_actions(CANNON, position)
            for index, danger in candidates.soldiers.items():
                cell = CANNON.grid.convert_cell(divmod(index, COLUMNS), CANNON.to_move(position))
                assert danger == slow_danger(position, cell[::-1]), CANNON.to_text(position)
                compared += 1
            position = CANNON.apply(position, int(rng.choice(candidates.actions)))
            if not len(CANNON.legal_actions(position)):
                break
    assert compared > 1200


@pytest.mark.parametrize("name", BOTS)
def test_bots_capture_halls(name):
    position = place("b", b="11 44 63", w="54 33 20", W="00 40 60", B="17 37 57 77")
    assert texts(name, position) == {"S 1 1 M 0 0"}


@pytest.mark.parametrize("name", ["aggressive", "enhanced"])
def test_aggressive_captures_the_most_attacked_soldier(name):
    position = place("b", b="34 54 16", w="43 05", W="00 20 40 60", B="17 37 57 77")
    assert texts(name, position) == {"S 3 4 M 4 3", "S 5 4 M 4 3"}


def test_enhanced_prefers_safe_forward_moves():
    position = place("b", b="26 24 25", w="71", W="00 20 40 60", B="17 37 57 77")
    forward = texts("enhanced", position, range(40))
    assert {turn.split()[3] for turn in forward} == {"M"}
    assert all(int(turn.split()[5]) < int(turn.split()[2]) for turn in forward)
    assert any(" B " in turn for turn in texts("aggressive", position, range(60)))


def test_defensive_saves_the_soldier_in_danger():
    position = place("b", b="34 16", w="33", W="00 20 40 60", B="17 37 57 77")
    turns = texts("defensive", position)
    assert turns
    assert all(turn.startswith("S 3 4 M") for turn in turns)


def test_neutral_plays_the_first_action_after_20_quiet_turns():
    player = make_player("neutral", CANNON)
    position = place("b", b="26 56", w="51 31", W="00 20 40 60", B="17 37 57 77")
    player._bot._turns, player._bot._quiet_turns = 9, 20
    action = player.choose(position, np.random.default_rng(0), Clock()).action
    assert action == CANNON.legal_actions(position)[0]


@pytest.mark.parametrize("name", BOTS)
def test_first_two_turns_are_fixed(name):
    game = play_match(
        CANNON, [make_player(name, CANNON), make_player(name, CANNON)], limits=Limits(max_turns=4)
    )
    assert game.turns == ("S 2 7 M 1 6", "S 3 0 M 2 1", "S 4 7 M 5 6", "S 5 0 M 6 1")


@pytest.mark.parametrize("name", BOTS)
def test_bots_beat_random_play(name):
    pair = make_player(name, CANNON), make_player("random", CANNON)
    wins = 0
    for seed in range(10):
        seat = seed % 2
        game = play_match(
            CANNON, pair[::-1] if seat else pair, seed=seed, limits=Limits(max_turns=500)
        )
        assert game.reason not in ("illegal", "error")
        wins += game.result == ("0-1" if seat else "1-0")
    assert wins >= 8


@pytest.mark.parametrize("columns", [8, 10])
@pytest.mark.parametrize("rows", [8, 10])
def test_bots_play_on_boards_of_every_size(rows, columns):
    game = make_game("cannon", rows=rows, columns=columns)
    for first, other in (("aggressive", "defensive"), ("enhanced", "neutral")):
        pair = make_player(first, game), make_player(other, game)
        match_record = play_match(game, pair, limits=Limits(max_turns=120))
        assert match_record.reason not in ("illegal", "error"), match_record.detail


def test_bot_rejects_other_games():
    with pytest.raises(BadOption, match="aggressive does not play morris, only: cannon"):
        make_player("aggressive", make_game("morris"))
