"""The perfect player and searches with tables: they keep the exact value."""

import numpy as np
import pytest

from cc_env.accuracy.decisions import sample_uniform
from cc_env.core.rules import ONGOING
from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.errors import BadOption, IllegalAction, MissingTable, UnknownOption
from cc_env.games.factory import make_game
from cc_env.match.openings import random_opening
from cc_env.match.referee import Clock, Decision, play_match
from cc_env.players.specs import available_players, make_player
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.mcts import MCTS
from cc_env.search.policies import decide
from cc_env.search.puct import PUCT
from cc_env.search.scores import PROVEN
from cc_env.tablebase.tablebase import Tablebase

GAME = make_game("capture_conquer", size=4)
# A position of C&C 5×5, four pieces each, that neither the shipped tables nor the book have.
UNCOVERED = "b3b/5/2b1r/rb3/1rr2 b"
TABLES = Tablebase(GAME)


class CheckedPlayer:
    """A player whose actions must keep the exact value."""

    def __init__(self, player):
        self.player, self.decisions = player, 0

    def choose(self, position, rng, clock):
        decision = self.player.choose(position, rng, clock)
        assert decision.action in TABLES.probe(position).value_keeping
        self.decisions += 1
        return decision


def starts(count, seed=0):
    """Yield `count` unfinished positions after random turns."""
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


def test_starts_of_4x4_and_5x5_are_draws():
    assert TABLES.probe(GAME.initial).value == 0
    larger = make_game("capture_conquer", size=5, corner=2)
    solved = Tablebase(larger).probe(larger.initial)
    assert (solved.value, len(solved.value_keeping), len(solved.actions)) == (0, 6, 9)


@pytest.mark.parametrize("name", ["perfect", "perfect:delay"])
@pytest.mark.parametrize("opponent", ["random", "greedy", "minimax:depth=2", "perfect"])
def test_perfect_player_never_loses_value(name, opponent):
    perfect, other = CheckedPlayer(make_player(name, GAME)), make_player(opponent, GAME)
    for seed, start in enumerate(starts(8)):
        seat = seed % 2
        value = TABLES.probe(start).value * (1 if GAME.to_move(start) == seat else -1)
        pair = [perfect, other] if seat == 0 else [other, perfect]
        record = play_match(GAME, pair, start=start, seed=seed)
        result = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}[record.result] * (1 if seat == 0 else -1)
        assert record.reason != "error", record.detail
        assert result >= value
        assert result == value or opponent != "perfect"
    assert perfect.decisions > 10


def test_delaying_player_loses_late_and_sets_traps():
    player, rng = make_player("perfect:delay", GAME), np.random.default_rng(0)
    losses = draws = 0
    for start in starts(40, seed=1):
        solved = TABLES.probe(start)
        decision = player.choose(start, rng, Clock())
        assert decision.action in solved.best
        assert decision.value == solved.value
        losses += solved.value < 0
        if solved.value == 0 and not GAME.mid_turn(start):
            draws += 1
            traps = {action: mistakes(GAME.apply(start, action)) for action in solved.value_keeping}
            assert traps[decision.action] == max(traps.values())
    assert losses > 3
    assert draws > 3


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"size": 4}, {-1, 0, 1}),
        ({"size": 5, "corner": 2}, {-1, 0, 1}),
        ({"size": 5}, {None, 0, 1}),
    ],
)
def test_compiled_policy_samples_the_actions_of_the_player(options, expected):
    game = make_game("capture_conquer", **options)
    player, rng = make_player("perfect:depth=1", game), np.random.default_rng(0)
    policy = player.make_policy()
    values = set()
    for position in (random_opening(game, 14, rng) for _ in range(30)):
        chosen = {player.choose(position, rng, Clock()).action for _ in range(150)}
        decided = {int(decide(policy, position, np.uint64(state))) for state in range(150)}
        solved = Tablebase(game).get(position)
        values.add(None if solved is None else solved.value)
        if solved is None or len(solved.actions) < 8:
            assert decided == chosen
        if solved is not None:
            assert decided <= set(solved.best if solved.value > 0 else solved.value_keeping)
    assert values == expected


def test_only_players_with_compiled_searches_and_without_delay_have_policies():
    for spec in ("perfect:delay", "perfect:seconds=1"):
        assert make_player(spec, GAME).make_policy() is None


def test_perfect_opponent_keeps_the_value_on_every_board():
    envs = BoardGameVectorEnv("capture_conquer", 32, size=4, opponent="perfect", seat=1)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    checked = 0
    for _ in range(30):
        before, was_running = [envs.position(board) for board in range(32)], ~envs.done
        actions = envs.action_space.sample()
        envs.step(actions)
        for board in np.flatnonzero(was_running & ~envs.done).tolist():
            position = GAME.apply(before[board], int(actions[board]))
            if GAME.to_move(position) == 0:
                assert TABLES.probe(envs.position(board)).value == -TABLES.probe(position).value
                checked += 1
    assert checked > 100


def mistakes(position):
    """Return the share of the actions that lose value."""
    solved = TABLES.probe(position)
    if not solved.actions or GAME.mid_turn(position):
        return 0
    return 1 - len(solved.value_keeping) / len(solved.actions)


def test_perfect_player_searches_in_uncovered_positions():
    game = make_game("capture_conquer", size=5)
    position = game.from_text(UNCOVERED)
    player, search = (make_player(f"{name}:depth=1", game) for name in ("perfect", "minimax"))
    first, expected = (
        each.choose(position, np.random.default_rng(0), Clock()) for each in (player, search)
    )
    assert first.action == expected.action
    player.stop()


def test_invalid_options_of_exact_players_are_rejected(tmp_path):
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
    with pytest.raises(BadOption, match="belong to another game"):
        AlphaBeta(make_game("capture_conquer", size=5), tables=TABLES)


def test_alpha_beta_with_tables_is_exact_at_depth_1():
    search = AlphaBeta(GAME, table_megabytes=1, tables=TABLES)
    for start in starts(20, seed=2):
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


def uniform_network(planes):
    count = len(planes)
    return np.zeros((count, GAME.num_actions), np.float32), np.zeros(count, np.float32)


@pytest.mark.parametrize("kind", ["mcts", "puct"])
def test_tree_searches_take_values_from_tables(kind):
    rng = np.random.default_rng(0)
    search = {
        "mcts": lambda start: mcts.search(start, rng, simulations=200),
        "puct": lambda start: puct.search(start, simulations=200),
    }[kind]
    mcts = MCTS(GAME, capacity=4096, tables=TABLES)
    puct = PUCT(GAME, uniform_network, tables=TABLES)
    for start in starts(20, seed=3):
        assert search(start).action in TABLES.probe(start).value_keeping


def test_tree_search_with_tables_wins_in_the_fewest_turns():
    game = make_game("capture_conquer", size=5, corner=2)
    tables = Tablebase(game)
    search, rng = MCTS(game, capacity=4096, tables=tables), np.random.default_rng(0)
    opponent, games = make_player("perfect:delay", game), 0
    for position in sample_uniform(tables, 300, seed=2):
        solved = tables.probe(position)
        if solved.value < 1 or solved.turns < 9:
            continue
        seat, remaining = game.to_move(position), solved.turns
        while game.outcome(position) == ONGOING:
            if game.to_move(position) == seat:
                action = search.search(position, rng, simulations=30).action
            else:
                action = opponent.choose(position, rng, Clock()).action
            position = game.apply(position, action)
            remaining -= not game.mid_turn(position)
        assert (game.outcome(position), remaining) == (seat, 0)
        games += 1
    assert games > 5


def test_player_specs_accept_a_folder_of_tables(tmp_path):
    folder = str(Tablebase(GAME).paths[(1, 1)].parent)
    rng = np.random.default_rng(0)
    for name in ("minimax:depth=1", "mcts:simulations=300"):
        player = make_player(f'{name},tables="{folder}"', GAME)
        decision = player.choose(GAME.initial, rng, Clock())
        assert decision.action in TABLES.probe(GAME.initial).value_keeping
    assert isinstance(decision, Decision)


def test_turns_are_compared_by_their_exact_values():
    player = make_player("perfect", GAME)
    for position in starts(20):
        solved = TABLES.probe(position)
        choices = [(action,) for action in solved.actions]
        comparison = player.compare(position, choices, lambda: 0.0)
        for variation, value in zip(comparison.variations, solved.values, strict=True):
            assert variation.is_exact
            assert variation.value == value
            end = GAME.play_turn(position, variation.actions)
            if value:
                assert abs(variation.score) >= PROVEN
                winner = GAME.to_move(position) if value > 0 else 1 - GAME.to_move(position)
                assert GAME.outcome(end) == winner
        best = max(comparison.variations, key=lambda variation: variation.score)
        assert best.actions[0] in solved.best


def test_positions_without_tables_are_compared_by_the_search():
    game = make_game("capture_conquer", size=6)
    player = make_player("perfect:depth=2", game)
    choices = [(int(action),) for action in game.choices(game.initial)[:3]]
    comparison = player.compare(game.initial, choices, lambda: 60.0)
    assert comparison.depth == 2
    assert len(comparison.variations) == 3
    assert not any(variation.is_exact for variation in comparison.variations)
