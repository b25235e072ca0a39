"""The perfect player and searches with tables: they keep the value against anybody."""

import numpy as np
import pytest

from cc_env.accuracy.decisions import sample_uniform
from cc_env.core.rules import ONGOING
from cc_env.errors import BadOption, IllegalAction, MissingTable, UnknownOption
from cc_env.games.factory import make_game
from cc_env.match.referee import Clock, Decision, play_match
from cc_env.players.specs import available_players, make_player
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.mcts import MCTS
from cc_env.search.puct import PUCT
from cc_env.search.scores import PROVEN
from cc_env.tablebase.tablebase import Tablebase

GAME = make_game("capture_conquer", size=4)
TABLES = Tablebase(GAME)


class Judged:
    """A player whose actions are looked up: it must not give away value."""

    def __init__(self, player):
        self.player, self.decisions = player, 0

    def choose(self, position, rng, clock):
        decision = self.player.choose(position, rng, clock)
        assert decision.action in TABLES.probe(position).value_keeping
        self.decisions += 1
        return decision


def starts(count, seed=0):
    """Yield positions some random turns from the start."""
    rng = np.random.default_rng(seed)
    while count:
        position = GAME.initial
        for _ in range(rng.integers(1, 8)):
            turns = list(GAME.turns(position))
            if turns:
                position = GAME.play_turn(position, turns[rng.integers(len(turns))])
        if len(GAME.legal_actions(position)):
            yield position
            count -= 1


def test_the_starts_are_draws():
    assert TABLES.probe(GAME.initial).value == 0
    larger = make_game("capture_conquer", size=5, corner=2)
    solved = Tablebase(larger).probe(larger.initial)
    assert (solved.value, len(solved.value_keeping), len(solved.actions)) == (0, 6, 9)


@pytest.mark.parametrize("name", ["perfect", "perfect:delay"])
@pytest.mark.parametrize("opponent", ["random", "greedy", "minimax:depth=2", "perfect"])
def test_it_gives_nothing_away(name, opponent):
    perfect, other = Judged(make_player(name, GAME)), make_player(opponent, GAME)
    for seed, start in enumerate(starts(12)):
        seat = seed % 2
        value = TABLES.probe(start).value * (1 if GAME.to_move(start) == seat else -1)
        pair = [perfect, other] if seat == 0 else [other, perfect]
        played = play_match(GAME, pair, start=start, seed=seed)
        won = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}[played.result] * (1 if seat == 0 else -1)
        assert played.reason != "error", played.detail
        assert won >= value
        assert won == value or opponent != "perfect"
    assert perfect.decisions > 20


def test_delay_loses_as_late_as_it_can_and_sets_traps():
    player, rng = make_player("perfect:delay", GAME), np.random.default_rng(0)
    lost = drawn = 0
    for start in starts(60, seed=1):
        solved = TABLES.probe(start)
        chosen = player.choose(start, rng, Clock())
        assert chosen.action in solved.best
        assert chosen.value == solved.value
        lost += solved.value < 0
        if solved.value == 0 and not GAME.mid_turn(start):
            drawn += 1
            traps = {action: mistakes(GAME.apply(start, action)) for action in solved.value_keeping}
            assert traps[chosen.action] == max(traps.values())
    assert lost > 5
    assert drawn > 5


def mistakes(position):
    solved = TABLES.probe(position)
    if not solved.actions or GAME.mid_turn(position):
        return 0
    return 1 - len(solved.value_keeping) / len(solved.actions)


def test_it_searches_where_no_table_is(monkeypatch):
    game = make_game("capture_conquer", size=5)  # six pieces each
    player = make_player("perfect:depth=1", game)
    chosen = player.choose(game.initial, np.random.default_rng(0), Clock())
    assert (
        chosen.action
        == make_player("minimax:depth=1", game)
        .choose(game.initial, np.random.default_rng(0), Clock())
        .action
    )
    player.stop()


def test_what_it_cannot_be_is_refused(tmp_path):
    with pytest.raises(UnknownOption, match="perfect has no level 'early'; it has: delay"):
        make_player("perfect:early", GAME)
    with pytest.raises(BadOption, match="there is no such folder of tables"):
        make_player(f"minimax:tables={tmp_path / 'none'}", GAME)
    for name in ("minimax", "mcts"):
        with pytest.raises(MissingTable, match="no tables of"):
            make_player(f"{name}:tables={tmp_path}", GAME)
    with pytest.raises(BadOption, match="cannon: there are no exact values"):
        make_player("perfect", make_game("cannon"))
    with pytest.raises(IllegalAction):
        make_player("perfect", GAME).choose(
            GAME.from_text("4/4/4/2rb r"), np.random.default_rng(0), Clock()
        )
    assert "perfect" in available_players(GAME)
    assert "perfect" not in available_players(make_game("cannon"))
    with pytest.raises(BadOption, match="are not of"):
        AlphaBeta(make_game("capture_conquer", size=5), tables=TABLES)


def test_alpha_beta_with_tables_is_exact_at_depth_1():
    search = AlphaBeta(GAME, table_megabytes=1, tables=TABLES)
    for start in starts(30, seed=2):
        solved = TABLES.probe(start)
        result = search.search(start, depth=4)
        if len(solved.actions) == 1:
            continue
        assert result.is_exact or abs(result.score) >= PROVEN
        assert result.action in solved.value_keeping
        assert result.value == solved.value
        assert result.depth <= 1
        if solved.value:
            assert result.action in solved.best


def indifferent(planes):
    count = len(planes)
    return np.zeros((count, GAME.num_actions), np.float32), np.zeros(count, np.float32)


@pytest.mark.parametrize("kind", ["mcts", "puct"])
def test_tree_searches_take_values_from_tables(kind):
    rng = np.random.default_rng(0)
    with_tables = {
        "mcts": lambda: MCTS(GAME, capacity=4096, tables=TABLES),
        "puct": lambda: PUCT(GAME, indifferent, tables=TABLES),
    }[kind]()
    for start in starts(30, seed=3):
        solved = TABLES.probe(start)
        limit = {"simulations": 200}
        result = (
            with_tables.search(start, rng, **limit)
            if kind == "mcts"
            else with_tables.search(start, **limit)
        )
        assert result.action in solved.value_keeping


def test_won_games_are_won_by_a_tree_search_with_tables():
    """As soon as can be, against who delays as long as can be."""
    game = make_game("capture_conquer", size=5, corner=2)
    tables = Tablebase(game)
    search, rng = MCTS(game, capacity=4096, tables=tables), np.random.default_rng(0)
    other, played = make_player("perfect:delay", game), 0
    for position in sample_uniform(tables, 300, seed=2):
        solved = tables.probe(position)
        if solved.value < 1 or solved.turns < 9:
            continue
        seat, left = game.to_move(position), solved.turns
        while game.outcome(position) == ONGOING:
            if game.to_move(position) == seat:
                action = search.search(position, rng, simulations=30).action
            else:
                action = other.choose(position, rng, Clock()).action
            position = game.apply(position, action)
            left -= not game.mid_turn(position)
        assert (game.outcome(position), left) == (seat, 0)
        played += 1
    assert played > 5


def test_players_with_tables_are_made_by_name(tmp_path):
    folder = str(Tablebase(GAME).paths[(1, 1)].parent)
    rng = np.random.default_rng(0)
    for name in ("minimax:depth=1", "mcts:simulations=300"):
        player = make_player(f'{name},tables="{folder}"', GAME)
        decision = player.choose(GAME.initial, rng, Clock())
        assert decision.action in TABLES.probe(GAME.initial).value_keeping
    assert isinstance(decision, Decision)
