"""Player specs: the players they create, and errors for invalid names and options."""

import re
import subprocess
import sys
from functools import partial

import gymnasium
import numpy as np
import pytest

from cc_env.core.rules import ONGOING
from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.errors import BadOption, BadPlayer, IllegalAction, MissingExtra, UnknownOption
from cc_env.games.factory import make_game
from cc_env.match.openings import play_random_turns
from cc_env.match.referee import Clock, Decision, play_match
from cc_env.players import specs
from cc_env.players.specs import (
    PLAYERS,
    as_player,
    available_players,
    check_spec,
    make_player,
    register_player,
    temporary_players,
)
from cc_env.registry.options import parse_options
from cc_env.search import alphabeta, forest, greedy, gumbel, simulations
from cc_env.search.mcts import run_simulations
from cc_env.search.scores import WIN


class Lowest:
    """A player of another package: plays the lowest or the highest legal action."""

    def __init__(self, game, *, highest=False, level=None):
        self.game, self.highest, self.level = game, highest, level

    def choose(self, position, rng, clock):
        return Decision(int(self.game.legal_actions(position)[-1 if self.highest else 0]))


def highest_action(observation, info):
    """A policy function of another package."""
    return np.flatnonzero(info["action_mask"])[-1]


class Policies:
    """A policy function as a method, and as a callable object."""

    def decide(self, observation, info, deterministic=True):
        return highest_action(observation, info)

    __call__ = decide


policies = Policies()
decide = policies.decide


def make_highest(game, level):
    """A factory with a required option."""
    return Lowest(game, highest=level == "strong")


def first_action(player, game):
    return player.choose(game.initial, np.random.default_rng(0), Clock()).action


def test_dotted_spec_names_a_class_of_another_module(game):
    lowest, *_, highest = game.legal_actions(game.initial)
    assert first_action(make_player("test_specs.Lowest", game), game) == lowest
    assert first_action(make_player("test_specs.Lowest:highest=True", game), game) == highest
    assert make_player("test_specs.Lowest:strong,highest=1", game).level == "strong"


@pytest.mark.parametrize("name", ["highest_action", "policies", "decide"])
def test_dotted_spec_names_a_policy_function(game, name):
    *_, highest = game.legal_actions(game.initial)
    assert first_action(make_player(f"test_specs.{name}", game), game) == highest
    with pytest.raises(BadOption, match=rf"^player test_specs.{name} has no option depth; it has:"):
        make_player(f"test_specs.{name}:depth=3", game)


def test_factory_with_a_required_option_is_no_policy_function(game):
    lowest, *_, highest = game.legal_actions(game.initial)
    assert first_action(make_player("test_specs.make_highest:strong", game), game) == highest
    assert first_action(make_player("test_specs.make_highest:weak", game), game) == lowest
    with pytest.raises(BadPlayer, match="missing 1 required positional argument: 'level'"):
        make_player("test_specs.make_highest", game)


def test_registered_player_has_a_spec(game, monkeypatch):
    # Restored after the test.
    monkeypatch.setitem(PLAYERS, "lowest", None)
    register_player("lowest", Lowest)
    assert isinstance(make_player("lowest:highest=True", game), Lowest)
    with pytest.raises(BadPlayer, match="'my-player'"):
        register_player("my-player", Lowest)


def test_temporary_players_are_unregistered_after_the_block(game, monkeypatch):
    monkeypatch.setitem(PLAYERS, "nowhere", None)
    monkeypatch.setitem(specs._SUPPORTS, "nowhere", None)
    register_player("nowhere", Lowest, lambda game: False)
    before = dict(PLAYERS)
    with temporary_players(nowhere=Lowest, lowest=Lowest, random=Lowest):
        assert {"nowhere", "lowest"} <= set(available_players(game))
        assert isinstance(make_player("random", game), Lowest)
    assert "nowhere" not in available_players(game)
    with pytest.raises(BadPlayer, match="a-b"), temporary_players(**{"a-b": Lowest}):
        pass
    assert {name: PLAYERS.get(name) for name in (*before, "lowest", "a-b")} == {
        **before,
        "lowest": None,
        "a-b": None,
    }


def test_other_players_registered_in_the_block_stay(game, monkeypatch):
    monkeypatch.setitem(PLAYERS, "stays", None)
    with temporary_players(lowest=Lowest):
        register_player("stays", Lowest)
    assert isinstance(make_player("stays", game), Lowest)


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("randm", r"no player 'randm'; did you mean random\? there are: .*random"),
        ("Minimax", r"no player 'Minimax'; did you mean minimax\? there are: "),
        ("gambler", r"no player 'gambler'; there are: "),
        ("minimax:3", r"minimax has no level '3'; did you mean minimax:depth=3\?"),
        ("mcts:100", r"mcts has no level '100'; did you mean mcts:simulations=100\?"),
        ("minimax:deph=3", r"no option deph; did you mean depth\? it has: level, depth, nodes,"),
        ("", r"no player ''; there are: .*random"),
        ("random:depth=3", r"player random has no option depth; it has: none"),
        ("test_specs.Lowest:depth=3", r"no option depth; it has: highest=False, level$"),
        ("test_specs.Lowest:highest=1,highest=2", r"highest is given twice"),
        ("nowhere.Player", r"'nowhere.Player' cannot be imported: No module"),
        ("test_specs.Nobody", r"cannot be imported: .* no attribute 'Nobody'"),
        ("os.getcwd", "player 'os.getcwd' cannot be created: it takes no arguments"),
        ("random:easy", r"player random has no levels, such as 'easy'"),
        (None, "None is not a player spec"),
        ("numpy.pi", r"'numpy.pi' is not a class or a function: 3.14"),
    ],
)
def test_invalid_spec_lists_the_valid_names(game, spec, error):
    with pytest.raises(BadOption, match=error):
        make_player(spec, game)
    with pytest.raises(BadOption, match=error):
        check_spec(spec)


# The folder of shipped weights.
FOLDER = "capture_conquer-corner=3,size=6"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            f"policy:path={FOLDER}",
            "player policy has no option size; if it is part of path, quote the value: "
            f"path='{FOLDER}'; it has: contempt=0.0, path, device=cpu",
        ),
        (
            "policy:path=a,b,contempt=0.5",
            "player policy has no levels, such as 'b'; if it is part of path, quote the value: "
            "path='a,b'",
        ),
        (
            "minimax:depth=1,tables=a,b=c,d=e,nodes=2,f=1",
            "player minimax has no option b, d, f; if it is part of tables, quote the value: "
            "tables='a,b=c,d=e'; it has: level, depth, nodes, seconds, evaluation, "
            "table_megabytes, tables, selective=False, temperature=0",
        ),
        (
            "policy:path=a,contempt=0,x=1",
            "player policy has no option x; it has: contempt=0.0, path, device=cpu",
        ),
    ],
)
def test_unknown_options_after_a_text_suggest_quotes(spec, message):
    with pytest.raises(UnknownOption, match=f"^{re.escape(message)}$"):
        check_spec(spec)


class Named:
    """A player with an option of each kind."""

    def __init__(self, game, *, label: str = "x", path: str | None = None, size: int = 1):
        self.options = label, path, size

    def choose(self, position, rng, clock):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("label=1e3,path=0x10,size=0x10", ("1e3", "0x10", 16)),
        ("label=None,path=None,size=2", ("None", None, 2)),
        ("path='a,size=3',size=4", ("x", "a,size=3", 4)),
        ('label="2",path=', ("2", "", 1)),
    ],
)
def test_text_options_are_texts(game, words, expected):
    with temporary_players(named=Named):
        assert make_player(f"named:{words}", game).options == expected
    assert make_player(f"test_specs.Named:{words}", game).options == expected


def lacks_a_package(package):
    """Return a factory of players that fails because a package is missing."""

    def make_failing(game):
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    return make_failing


def test_player_without_its_package_names_the_extra(game):
    with temporary_players(deep=lacks_a_package("torch"), deeper=lacks_a_package("torch.nn")):
        for name, package in (("deep", "torch"), ("deeper", "torch.nn")):
            message = f"player '{name}' needs {package}: pip install 'PATH[train]', where PATH is"
            message += " the wheel file or the checkout of cc_env"
            with pytest.raises(MissingExtra, match=f"^{re.escape(message)}$"):
                make_player(name, game)


def test_player_without_an_unknown_package_names_it(game):
    message = "player 'mine' cannot be created: ModuleNotFoundError: No module named 'mine.nets'"
    with (
        temporary_players(mine=lacks_a_package("mine.nets")),
        pytest.raises(BadPlayer, match=f"^{re.escape(message)}$"),
    ):
        make_player("mine", game)


def test_object_without_choose_is_not_a_player(game):
    with pytest.raises(BadPlayer, match=r"'builtins.repr' is .* which has no method choose"):
        make_player("builtins.repr", game)


def test_policy_function_is_a_player(game):
    def last_legal(observation, info):
        assert observation.shape == game.observation_shape
        seats.add(info["seat"])
        # Policies of SB3 return arrays, too.
        return np.array(np.flatnonzero(info["action_mask"])[-1])

    seats = set()
    pair = as_player(last_legal, game), Lowest(game, highest=True)
    record = play_match(game, pair)
    expected = play_match(game, (Lowest(game, highest=True),) * 2)
    assert record.turns == expected.turns
    assert record.reason not in ("error", "illegal")
    play_match(game, pair[::-1])
    assert seats == {0, 1}


def test_class_is_not_a_player(game):
    with pytest.raises(BadPlayer, match=r"Lowest is a class, .* such as Lowest\(game\)"):
        as_player(Lowest, game)
    with pytest.raises(BadPlayer, match="Lowest is a class"):
        gymnasium.make("cc_env/CaptureConquer-v0", opponent=Lowest)


def test_option_values_are_python_literals_or_words():
    assert parse_options(["a=1", "b=2.5", "c=None", "d=word", "e='x=y'", " f = 1 "]) == {
        "a": 1, "b": 2.5, "c": None, "d": "word", "e": "x=y", "f": 1,
    }  # fmt: skip
    with pytest.raises(BadOption, match=r"'size'; expected: NAME=VALUE"):
        parse_options(["size"])


def rng():
    return np.random.default_rng(0)


def test_searching_players_report_statistics(game):
    decision = make_player("minimax:depth=4", game).choose(game.initial, rng(), Clock())
    assert decision.action == decision.details["principal_variation"][0]
    assert set(decision.details) == {
        "depth", "nodes", "nodes_per_second", "principal_variation", "score", "cuts_max", "cuts_min"
    }  # fmt: skip
    assert decision.details["depth"] == 4
    assert -1 < decision.value < 1
    decision = make_player("mcts:simulations=50", game).choose(game.initial, rng(), Clock())
    assert (
        decision.details["nodes"] == 50 == sum(number for _, number in decision.details["visits"])
    )


@pytest.mark.parametrize(("name", "depth"), [("easy", 1), ("normal", 3), ("hard", 6)])
def test_level_is_a_name_for_limits(game, name, depth):
    def depth_of(player):
        return make_player(player, game).choose(game.initial, rng(), Clock()).details["depth"]

    assert depth_of(f"minimax:{name}") == depth_of(f"minimax:level={name}") == depth
    assert depth_of(f"minimax:{name},depth=2") == 2
    assert depth_of("minimax") == 3


@pytest.mark.parametrize(
    ("name", "clock", "seconds"),
    [
        ("minimax:extreme", Clock(), 2),
        ("minimax:extreme", Clock(turn=20, game=100), 2),
        # Most of the turn's time.
        ("minimax:extreme", Clock(turn=0.4), 0.28),
        # An equal share for each of 25 turns.
        ("minimax:extreme", Clock(turn=9, game=5), 0.2),
        ("minimax:depth=50", Clock(turn=0.4), 0.28),
        ("mcts:seconds=5", Clock(turn=0.4), 0.28),
    ],
)
def test_clock_shortens_the_thinking_time(game, monkeypatch, name, clock, seconds):
    player, time_limits = make_player(name, game), []
    search = player._search.search

    def search_briefly(*position, **limits):
        time_limits.append(limits["seconds"])
        return search(*position, **limits | {"seconds": 0})

    monkeypatch.setattr(player._search, "search", search_briefly)
    player.choose(game.initial, rng(), clock)
    assert time_limits == [pytest.approx(seconds)]


@pytest.mark.parametrize("name", ["minimax:seconds=0", "mcts:seconds=0"])
def test_zero_seconds_is_a_limit(game, name):
    player = make_player(name, game)
    assert player.choose(game.initial, rng(), Clock(turn=20)).details["depth"] < 5


def turn_value(game, position, turn, evaluation):
    """Return the value of a turn to the mover by the evaluation after it."""
    from cc_env.core import rules

    after, player = game.play_turn(position, turn), game.to_move(position)
    outcome = game.outcome(after)
    if outcome != ONGOING:
        return {player: WIN - 1, 1 - player: 1 - WIN}.get(outcome, 0)
    return int(rules.evaluate(after, player, game.evaluations[evaluation]))


@pytest.mark.parametrize("evaluation", ["standard", "published"])
def test_greedy_begins_one_of_the_best_turns(game, evaluation):
    player, generator = make_player(f"greedy:evaluation={evaluation}", game), rng()
    position, mid_turns, ties = game.from_text("6/1bb3/1brrr1/1r1r2/6/6 b"), 0, 0
    for _ in range(60):
        if game.outcome(position) != ONGOING:
            position = game.initial
        values = {
            turn: turn_value(game, position, turn, evaluation) for turn in game.turns(position)
        }
        best = {turn[0] for turn, value in values.items() if value == max(values.values())}
        decision = player.choose(position, generator, Clock())
        assert decision.action in best
        assert decision.details["score"] == max(values.values())
        ties += len(best) > 1
        mid_turns += game.mid_turn(position)
        position = game.apply(position, int(generator.choice(game.legal_actions(position))))
    assert ties > 0
    assert mid_turns > 0


def test_greedy_breaks_ties_randomly(game):
    player, generator = make_player("greedy", game), rng()
    actions = {player.choose(game.initial, generator, Clock()).action for _ in range(60)}
    mirror = game.symmetries[0].actions
    assert len(actions) == 2
    assert {int(mirror[action]) for action in actions} == actions


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("minimax:godlike", "no level 'godlike'; it has: easy, normal, hard, extreme"),
        ("minimax:Hard", r"no level 'Hard'; did you mean hard\? it has: easy, normal"),
        ("minimax:depth=0", "depth=0; expected: an integer, 1 to 100"),
        ("minimax:nodes=many", "nodes='many'; expected: an integer, 1 or more"),
        ("minimax:seconds=-1", "seconds=-1; expected: 0 or more"),
        ("minimax:plies=3", "no option plies; it has: level, depth, nodes"),
        ("minimax:evaluation=best", "no evaluation 'best'; it has: standard, published"),
        ("greedy:evaluation=best", "no evaluation 'best'; it has: standard, published"),
        ("mcts:simulations=0", "simulations=0; expected: an integer, 1 or more"),
        ("mcts:playout=long", "playout='long'; expected: random, evaluation"),
    ],
)
def test_invalid_options_are_rejected(game, spec, error):
    with pytest.raises(BadOption, match=error):
        make_player(spec, game)


def score_against(game, spec, opponent_spec, count):
    """Return the points of a player in `count` games, both seats from every opening."""
    player, opponent = make_player(spec, game), make_player(opponent_spec, game)
    points = 0.0
    for seed in range(count):
        pair = (player, opponent) if seed % 2 == 0 else (opponent, player)
        start = play_random_turns(game, 4, np.random.default_rng(seed // 2))
        result = play_match(game, pair, start=start, seed=seed).result
        points += {"1-0": pair[0] is player, "0-1": pair[1] is player}.get(result, 0.5)
    return points


@pytest.mark.parametrize(
    "size", [4, 6, *(pytest.param(n, marks=pytest.mark.slow) for n in (5, 7, 8))]
)
def test_search_players_beat_random(size):
    game = make_game("capture_conquer", size=size)
    assert score_against(game, "minimax:depth=3", "random", 40) >= 38
    assert score_against(game, "greedy", "random", 40) >= 32
    assert score_against(game, "mcts:simulations=200", "random", 20) >= 18


def test_standard_evaluation_beats_the_published_one(game):
    for kind in ("greedy:{}", "minimax:depth=3,{}"):
        new, other = (kind.format(f"evaluation={name}") for name in ("standard", "published"))
        # 110 Elo.
        assert score_against(game, new, other, 60) >= 39


class Diarist:
    """Records the positions of its game and asserts that they are of one game."""

    def __init__(self, game, diaries):
        self.game, self.diaries, self.expected, self.positions = game, diaries, None, []
        diaries.append(self.positions)

    def for_new_game(self):
        return Diarist(self.game, self.diaries)

    def choose(self, position, rng, clock):
        is_first = self.expected in (None, position)
        assert is_first or any(self.game.turns_between(self.expected, position)), "another game"
        action = int(rng.choice(self.game.legal_actions(position)))
        self.expected = self.game.apply(position, action)
        self.positions.append(position)
        return Decision(action)


def play_alone(game, diaries):
    env = gymnasium.make("cc_env/Morris-v0", opponent=Diarist(game, diaries))
    for seed in range(3):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            *_, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
            over = terminated or truncated


def play_boards(game, diaries, mode):
    envs = BoardGameVectorEnv(
        "morris", 3, opponent=Diarist(game, diaries), max_turns=12, autoreset_mode=mode
    )
    envs.reset(seed=1)
    for _ in range(40):
        envs.step(envs.action_space.sample())


def play_matches(game, diaries):
    pair = Diarist(game, diaries), Diarist(game, diaries)
    for seed in range(3):
        assert play_match(game, pair, seed=seed).reason != "error"


@pytest.mark.parametrize(
    "play",
    [
        play_alone,
        partial(play_boards, mode="NextStep"),
        partial(play_boards, mode="SameStep"),
        play_matches,
    ],
)
def test_stateful_player_is_created_anew_for_each_game(play):
    diaries = []
    play(make_game("morris"), diaries)
    assert sum(map(bool, diaries)) >= 3


@pytest.mark.parametrize(
    "name",
    ["random", "greedy", "minimax:depth=1", "mcts:simulations=2", "neutral", "policy", "memory"],
)
def test_players_reject_finished_positions(game, name):
    if name == "neutral":
        game = make_game("cannon")
        final = final_position(game)
    else:
        final = game.from_text("bb4/6/6/6/6/rr3b r")
    player = make_player(name, game)
    with pytest.raises(
        IllegalAction, match=r"there is no action to choose in '.*'; the game is over"
    ):
        player.choose(final, rng(), Clock())


def final_position(game):
    """Return the last position of a random game."""
    position, generator = game.initial, rng()
    while len(legal := game.legal_actions(position)):
        position = game.apply(position, int(generator.choice(legal)))
    return position


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("minimax:level=[]", r"no level '\[\]'; it has: easy"),
        ("greedy:evaluation=5", "evaluation=5 is not a name; capture_conquer has: standard"),
        ("mcts:evaluation=()", r"evaluation=\(\) is not a name"),
        ("mcts:exploration=1e999", "exploration=inf; expected: 0 or more"),
        ("mcts:exploration=True", "exploration=True; expected: 0 or more"),
        ("minimax:seconds=" + "9" * 400, "expected: 0 or more"),
        ("minimax:table_megabytes=1e9", "table_megabytes=1000000000.0; expected: 1/1024 to 65536"),
        ("os.system", "player 'os.system' cannot be created: TypeError: expected str"),
        ("sys.exit", "player 'sys.exit' cannot be created: SystemExit"),
    ],
)
def test_values_of_wrong_types_or_sizes_are_rejected(game, spec, error):
    with pytest.raises(BadOption, match=error):
        make_player(spec, game)


def test_searches_release_the_gil():
    searches = [alphabeta.deepen, run_simulations, greedy.write_scores]
    searches += [forest.restart, simulations.select, simulations.expand, gumbel.write_results]
    assert all(function.targetoptions["nogil"] for function in searches)


def test_learned_players_are_imported_on_first_use():
    code = """
import sys
from cc_env.players import specs
from cc_env.games.factory import make_game
specs.check_spec("minimax:depth=1")
assert "agents" not in sys.modules
specs.check_spec("alphazero:simulations=8")
assert {"policy", "ppo"} <= set(specs.available_players(make_game("capture_conquer")))
"""
    subprocess.run([sys.executable, "-c", code], check=True)
