"""The games of cc_env in OpenSpiel: OpenSpiel's own tests, algorithms and bots run on them."""

import collections
import functools
import pickle
import random
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy, rl_environment
from open_spiel.python.algorithms import (
    best_response,
    evaluate_bots,
    exploitability,
    mcts,
    minimax,
)
from open_spiel.python.bots import uniform_random
from open_spiel.python.observation import INFO_STATE_OBS_TYPE, make_observation

from cc_env import openspiel
from cc_env.core.rules import DRAW, FIRST_WINS, SECOND_WINS
from cc_env.errors import BadOption, BadPosition, IllegalAction
from cc_env.games import factory
from cc_env.games.factory import game_option_defaults, make_game
from cc_env.match.match import Limits, Match
from cc_env.match.referee import Decision
from cc_env.openspiel import PlayerBot
from cc_env.registry.catalogue import GAMES

DEFAULT_GAMES = [f"python_cc_env_{name}" for name in GAMES]
GAMES_WITH_OPTIONS = [
    "python_cc_env_capture_conquer(size=4,corner=3,repetitions=2)",
    "python_cc_env_checkers(crowning=ends_move,no_progress_limit=0,max_game_length=60)",
    "python_cc_env_mini_checkers(first=white,utility_margin=True)",
    "python_cc_env_morris(flying=True,removals=one)",
    "python_cc_env_cannon(rows=10,utility_margin=True)",
    "python_cc_env_capture_conquer(position=6/1bb3/1brrr1/1r1r2/6/6 b)",
]
TICTACTOE = "python_elsewhere_tictactoe"


@pytest.fixture(scope="module")
def tictactoe():
    assert openspiel.register("elsewhere.tictactoe") == TICTACTOE
    return pyspiel.load_game(TICTACTOE)


def walks(game, count, last=1000):
    """Yield the states of `count` random games of the `last` legal actions in each state."""
    rng = random.Random(0)
    for _ in range(count):
        state = game.new_initial_state()
        yield state
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()[-last:]))
            yield state


def test_games_are_registered_with_their_default_options():
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    for short, name in zip(DEFAULT_GAMES, GAMES, strict=True):
        parameters = kinds[short].parameter_specification
        for option, default in game_option_defaults(name).items():
            expected = 0 if default is None else default
            assert parameters[option] == expected
            assert type(parameters[option]) is type(expected)
        game = pyspiel.load_game(short)
        assert game.game.options == make_game(name).options
        assert game.num_distinct_actions() == game.game.num_actions
        assert str(game) == f"{short}()"


@pytest.mark.parametrize("game_text", [*DEFAULT_GAMES, *GAMES_WITH_OPTIONS])
def test_random_simulation_of_openspiel_passes(game_text, capfd):
    game = pyspiel.load_game(game_text)
    pyspiel.random_sim_test(game, num_sims=1, serialize=True, verbose=True, mask_test=True)
    assert capfd.readouterr().out.count("Reached a terminal state!") == 1


@pytest.mark.slow
@pytest.mark.parametrize("game_text", [*DEFAULT_GAMES, *GAMES_WITH_OPTIONS])
def test_python_simulation_of_openspiel_passes(game_text, capsys):
    from open_spiel.python.tests.games_sim_test import GamesSimTest

    game = pyspiel.load_game(game_text)
    GamesSimTest().sim_game(game)
    assert f"Sim of game {game} terminated with" in capsys.readouterr().out


def perft(state, turns):
    """Count the sequences of `turns` turns; two moves in a row by one player are one turn."""
    if state.is_terminal():
        return 0
    total = 0
    for action in state.legal_actions():
        after = state.child(action)
        is_turn = after.is_terminal() or after.current_player() != state.current_player()
        total += 1 if is_turn and turns == 1 else perft(after, turns - is_turn)
    return total


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("capture_conquer", [16, 257, 4945]),
        ("checkers", [7, 49, 302, 1469, 7361]),
        ("mini_checkers", [5, 25, 106, 369, 1271, 4104]),
        ("morris", [24, 552, 12144]),
        ("cannon", [37, 1369]),
    ],
)
def test_perft_of_states_matches_other_programs(name, counts):
    state = pyspiel.load_game(f"python_cc_env_{name}").new_initial_state()
    assert [perft(state, turns) for turns in range(1, len(counts) + 1)] == counts


@pytest.mark.parametrize("game_text", [*DEFAULT_GAMES, *GAMES_WITH_OPTIONS])
def test_states_agree_with_the_game(game_text):
    game = pyspiel.load_game(game_text)
    ours, mid_turns = game.game, 0
    for state in walks(game, 1):
        position = state.position
        if state.is_initial_state():
            replayed = position
        else:
            replayed = ours.apply(replayed, state.history()[-1])
        assert replayed == position
        mid_turns += ours.mid_turn(position)
        if not state.is_terminal():
            assert state.current_player() == ours.to_move(position)
            assert state.legal_actions() == ours.legal_actions(position).tolist()
            mover = state.current_player()
            assert pyspiel.State.legal_actions(state) == state.legal_actions(mover)
            assert state.legal_actions(1 - mover) == []
            for action in state.legal_actions():
                text = ours.action_text(position, action)
                assert state.action_to_string(mover, action) == text
                assert state.string_to_action(text) == action
        for player in (0, 1):
            tensor = np.array(state.observation_tensor(player)).reshape(*planes_of(game))
            assert (tensor[:-2] == ours.observe(position, player)).all()
            assert (tensor[-2] == (player == 0)).all()
            assert (tensor[-1] == (player == state.current_player())).all()
            assert state.information_state_tensor(player) == tensor.ravel().tolist()
            assert state.observation_string(player) == ours.to_text(position)
            assert state.information_state_string(player) == state.history_str()
    assert mid_turns or "cannon" in game_text or "mini" in game_text


def planes_of(game):
    planes, rows, columns = game.game.observation_shape
    assert game.observation_tensor_shape() == [planes + 2, rows, columns]
    assert game.information_state_tensor_shape() == [planes + 2, rows, columns]
    return planes + 2, rows, columns


def test_python_observers_agree_with_state_tensors():
    game = pyspiel.load_game(DEFAULT_GAMES[0])
    for kind, string in ((None, "observation"), (INFO_STATE_OBS_TYPE, "information_state")):
        observation = make_observation(game, kind)
        for state in walks(game, 1):
            observation.set_from(state, 1)
            assert observation.tensor.tolist() == state.observation_tensor(1)
            assert observation.dict["observation"].shape == planes_of(game)
            assert observation.string_from(state, 0) == getattr(state, f"{string}_string")(0)
    nothing = pyspiel.IIGObservationType(public_info=False, perfect_recall=False)
    assert make_observation(game, nothing).string_from(state, 0) == ""


@pytest.mark.parametrize(
    ("game_text", "repetitions", "last"),
    [
        ("python_cc_env_checkers(position=8/8/8/8/8/8/8/1R5B r 0,repetitions=2)", 2, 99),
        ("python_cc_env_checkers(position=8/8/8/8/8/8/8/1R5B r 0,repetitions=3)", 3, 99),
        # The last actions are bombs on empty cells, which change nothing.
        ("python_cc_env_cannon", None, 2),
    ],
)
def test_repetition_ends_games_as_in_a_match(game_text, repetitions, last):
    game = pyspiel.load_game(game_text)
    endings, limits = collections.Counter(), Limits(max_turns=None, repetitions=repetitions)
    for state in walks(game, 20, last):
        if state.is_initial_state():
            match = Match(game.game, state.position, limits)
        else:
            match.play(state.history()[-1])
        assert (match.result is not None) == state.is_terminal()
        if match.result:
            wins = {FIRST_WINS: [1, -1], SECOND_WINS: [-1, 1], DRAW: [0, 0]}
            assert state.returns() == wins[match.result.outcome]
            endings[match.result.reason] += 1
    assert endings["repetition" if repetitions else "stagnant"] > 4


def test_game_of_maximal_length_is_a_draw():
    game = pyspiel.load_game("python_cc_env_morris(max_game_length=7)")
    *_, state = walks(game, 1)
    assert state.move_number() == len(state.history()) == game.max_game_length() == 7
    assert state.returns() == [0, 0]


def test_returns_are_margins_with_utility_margin():
    first_returns = set()
    for name in ("mini_checkers", "cannon"):
        game = pyspiel.load_game(f"python_cc_env_{name}(utility_margin=True)")
        plain = pyspiel.load_game(f"python_cc_env_{name}")
        assert game.max_utility() == -game.min_utility() == game.game.max_margin
        for state in walks(game, 20):
            if not state.is_terminal() or state.move_number() == 400:
                continue
            first, second = state.returns()
            assert first == -second
            position, outcome = state.position, game.game.outcome(state.position)
            if outcome in (FIRST_WINS, SECOND_WINS):
                margin = game.game.margin(position)
                assert first == (margin if outcome == FIRST_WINS else -margin)
            same = plain.new_initial_state()
            for action in state.history():
                same.apply_action(action)
            assert same.returns()[0] == np.sign(first)
            first_returns.add(first)
    assert len(first_returns) > 6


def test_game_starts_in_the_position_of_a_text():
    text = "6/1bb3/1brrr1/1r1r2/6/6 b"
    game = pyspiel.load_game("python_cc_env_capture_conquer", {"position": text})
    for state in (
        game.new_initial_state(),
        pyspiel.load_game("python_cc_env_capture_conquer").new_initial_state(text),
        pyspiel.deserialize_game_and_state(
            pyspiel.serialize_game_and_state(game, game.new_initial_state())
        )[1],
    ):
        assert game.game.to_text(state.position) == text
        assert "1,2-3,2" in {state.action_to_string(action) for action in state.legal_actions()}


@pytest.mark.parametrize("game_text", [*DEFAULT_GAMES, GAMES_WITH_OPTIONS[0]])
def test_states_and_games_are_pickled_and_serialized(game_text):
    game = pyspiel.load_game(game_text)
    assert pickle.loads(pickle.dumps(game)) == game
    for state in walks(game, 1):
        copies = (
            pickle.loads(pickle.dumps(state)),
            game.deserialize_state(state.serialize()),
            state.clone(),
        )
        for copied in copies:
            assert str(copied) == str(state)
            assert copied.history() == state.history()
            assert copied.legal_actions() == state.legal_actions()
            assert copied.returns() == state.returns()


def test_copies_of_states_are_independent():
    state = pyspiel.load_game(DEFAULT_GAMES[0]).new_initial_state()
    before, copied = str(state), state.clone()
    state.apply_action(state.legal_actions()[0])
    assert str(copied) == before != str(state)
    state.legal_actions().clear()
    assert state.legal_actions()


def test_pickled_states_load_in_another_process(tictactoe, tmp_path):
    states = [pyspiel.load_game(DEFAULT_GAMES[0]).new_initial_state(), tictactoe]
    path = tmp_path / "pickled"
    path.write_bytes(pickle.dumps(states))
    code = f"import pickle; print(*pickle.load(open({str(path)!r}, 'rb')), sep='\\n')"
    run = [sys.executable, "-c", code]
    process = subprocess.run(
        run, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1]
    )
    assert process.stdout.splitlines() == list(map(str, states))


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ("capture_conquer(size=12)", BadOption, "size=12; expected: an integer, 4 to 8"),
        ("capture_conquer(sise=4)", pyspiel.SpielError, "Unknown parameter 'sise'"),
        ("capture_conquer(size=big)", pyspiel.SpielError, "Wrong type for parameter size"),
        ("capture_conquer(position=6/6)", BadPosition, "'6/6'"),
        (
            "morris(max_game_length=0)",
            BadOption,
            "max_game_length=0; expected: an integer, 1 to 1,048,576",
        ),
        (
            "morris(repetitions=1)",
            BadOption,
            "repetitions=1; expected: an integer, 2 or more, or 0",
        ),
        ("cannon(repetitions=3)", BadOption, "expected: 0 for cannon, whose own rules"),
    ],
)
def test_invalid_parameters_are_rejected(parameters, error, message):
    with pytest.raises(error, match=message):
        pyspiel.load_game(f"python_cc_env_{parameters}")


def test_invalid_arguments_change_nothing():
    game = pyspiel.load_game("python_cc_env_checkers(max_game_length=1)")
    state = game.new_initial_state()
    before = str(state)
    for action in (0, 170, -2):
        with pytest.raises(
            IllegalAction, match=r"action .* is not legal in .*legal: 112 \(51-40\)"
        ):
            state.apply_action(action)
    with pytest.raises(BadOption, match="action=170; expected: an integer, 0 to 169"):
        state.action_to_string(0, 170)
    with pytest.raises(BadOption, match="player=2"):
        make_observation(game).set_from(state, 2)
    with pytest.raises(BadOption, match="planes"):
        make_observation(game, params={"planes": 2})
    assert (str(state), state.history()) == (before, [])
    state.apply_action(112)
    with pytest.raises(IllegalAction, match=r"action 112 is not legal in .*; the game is over"):
        state.apply_action(112)


def test_openspiel_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    monkeypatch.delitem(sys.modules, "cc_env.openspiel")
    with pytest.raises(
        ImportError, match=r"needs open_spiel: pip install 'PATH\[openspiel\]', where"
    ):
        import cc_env.openspiel  # noqa: F401


def test_options_of_unsupported_types_are_rejected(monkeypatch):
    for hint in (list[int], bool | None, int | str):
        module = types.SimpleNamespace(make=lambda option=None: None)
        module.make.__annotations__["option"] = hint
        monkeypatch.setattr(factory, "game_module", lambda name, module=module: module)
        with pytest.raises(BadOption, match=r"mine: the option option is .*; OpenSpiel has int"):
            openspiel.register("mine")
    module.make = lambda position="": None
    with pytest.raises(BadOption, match="the option position has the name"):
        openspiel.register("mine")


@pytest.fixture
def value_iteration(monkeypatch):
    """OpenSpiel's value iteration, without the package that only simultaneous games need."""
    name = "open_spiel.python.algorithms.lp_solver"
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    from open_spiel.python.algorithms import value_iteration

    return lambda game: value_iteration.value_iteration(game, -1, 0.01, cyclic_game=True)


def values_by_marks(values):
    """Return the values of tic-tac-toe states by their marks, as OpenSpiel writes them."""
    return {marks(text): value for text, value in values.items()}


def marks(text):
    if "decisions" not in text:
        return text.replace("\n", "")
    rows = text.split(" ")[0].replace("/", "")
    return "".join("." * int(letter) if letter.isdigit() else letter for letter in rows)


def test_value_iteration_agrees_on_tic_tac_toe(tictactoe, value_iteration):
    theirs = pyspiel.load_game("tic_tac_toe")
    ours, expected = (values_by_marks(value_iteration(game)) for game in (tictactoe, theirs))
    assert len(ours) == 5478
    assert ours == expected


def test_value_iteration_solves_a_small_board(value_iteration):
    game = pyspiel.load_game("python_cc_env_capture_conquer(size=4,max_game_length=3)")
    values = value_iteration(game)
    ours = game.game

    @functools.cache
    def minimax_value(position, decisions):
        outcome = ours.outcome(position)
        if outcome in (FIRST_WINS, SECOND_WINS, DRAW) or not decisions:
            return {FIRST_WINS: 1, SECOND_WINS: -1}.get(outcome, 0)
        children = [
            minimax_value(ours.apply(position, int(action)), decisions - 1)
            for action in ours.legal_actions(position)
        ]
        return min(children) if ours.to_move(position) else max(children)

    for text, value in values.items():
        position, _, decisions = text.partition(", decisions: ")
        assert value == minimax_value(ours.from_text(position), 3 - int(decisions)), text
    assert len(set(values.values())) > 1
    best, _ = minimax.alpha_beta_search(game)
    assert best == minimax_value(ours.initial, 3)


def test_exploitability_of_uniform_play_equals_plain_recursion():
    game = pyspiel.load_game("python_cc_env_capture_conquer(size=4,max_game_length=3)")
    ours = game.game

    @functools.cache
    def value(position, decisions, best):
        """Return the first player's value if only the player `best` (0, 1 or None) plays best."""
        outcome = ours.outcome(position)
        if outcome in (FIRST_WINS, SECOND_WINS, DRAW) or not decisions:
            return {FIRST_WINS: 1, SECOND_WINS: -1}.get(outcome, 0)
        children = [
            value(ours.apply(position, int(action)), decisions - 1, best)
            for action in ours.legal_actions(position)
        ]
        if ours.to_move(position) != best:
            return sum(children) / len(children)
        return min(children) if best else max(children)

    start, uniform = ours.initial, policy.UniformRandomPolicy(game)
    first, second, mean = (value(start, 3, best) for best in (0, 1, None))
    responses = [best_response.BestResponsePolicy(game, player, uniform) for player in (0, 1)]
    initial = game.new_initial_state()
    assert responses[0].value(initial) == pytest.approx(first)
    assert responses[1].value(initial) == pytest.approx(-second)
    assert exploitability.exploitability(game, uniform) == pytest.approx((first - second) / 2)
    assert pyspiel.exploitability(game, pyspiel.UniformRandomPolicy(game)) == pytest.approx(
        (first - second) / 2
    )
    assert first > mean > second


@pytest.mark.parametrize(("name", "count"), [("capture_conquer(size=4)", 6), ("mini_checkers", 3)])
def test_mcts_of_openspiel_beats_random(name, count):
    game, scores = pyspiel.load_game(f"python_cc_env_{name}"), []
    evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
    search = pyspiel.MCTSBot(game, evaluator, 1.4, 50, 10, True, 1, False)
    for seat in (0, 1):
        bots = [pyspiel.make_uniform_random_bot(1 - seat, 1)] * 2
        bots[seat] = search
        for seed in range(count):
            scores.append(pyspiel.evaluate_bots(game.new_initial_state(), bots, seed)[seat])
    assert sum(scores) / len(scores) > 0.7


def test_python_mcts_of_openspiel_beats_random():
    game = pyspiel.load_game("python_cc_env_capture_conquer(size=4)")
    rng = np.random.RandomState(1)
    evaluator = mcts.RandomRolloutEvaluator(1, rng)
    search = mcts.MCTSBot(game, 2, 40, evaluator, solve=True, random_state=rng)
    assert score_against_random(game, search, seats=(0,), count=6) > 0.8


def score_against_random(game, bot, seats, count):
    """Return the mean score of a bot, 0 to 1, in `count` games in each of these seats."""
    scores = []
    for seat in seats:
        rng = np.random.RandomState(seat)
        bots = [uniform_random.UniformRandomBot(1 - seat, rng)] * 2
        bots[seat] = bot
        for _ in range(count):
            returns = evaluate_bots.evaluate_bots(game.new_initial_state(), bots, rng)
            scores.append((returns[seat] + 1) / 2)
    return sum(scores) / len(scores)


@pytest.mark.parametrize("name", list(GAMES))
def test_players_of_cc_env_are_bots(name):
    game = pyspiel.load_game(f"python_cc_env_{name}")
    bot = PlayerBot(game, "minimax:depth=2", seed=1)
    assert score_against_random(game, bot, (0, 1), 2) > 0.8
    bots = [PlayerBot(game, "random", seed=seed) for seed in (1, 2)]
    state = game.new_initial_state()
    assert sum(pyspiel.evaluate_bots(state, bots, 0)) == 0
    assert state.is_terminal()


def test_bot_has_no_state_after_restart():
    class Counter:
        """Plays the first legal action, then the second, and so on."""

        def __init__(self):
            self.decisions = 0

        def for_new_game(self):
            return Counter()

        def choose(self, position, rng, clock):
            self.decisions += 1
            return Decision(int(game.game.legal_actions(position)[self.decisions - 1]))

    game = pyspiel.load_game(DEFAULT_GAMES[0])
    state = game.new_initial_state()
    bot = PlayerBot(game, Counter())
    first, second = state.legal_actions()[:2]
    assert [bot.step(state), bot.step(state)] == [first, second]
    bot.restart()
    assert bot.step(state) == first
    bot.restart_at(state)
    assert bot.step(state) == first


def test_action_that_is_no_integer_is_rejected():
    game = pyspiel.load_game(DEFAULT_GAMES[0])
    with pytest.raises(IllegalAction, match=r"^action 3\.7 is not an integer; valid: 0 to \d+$"):
        PlayerBot(game, lambda observation, info: 3.7).step(game.new_initial_state())


def test_seed_determines_the_choices_of_a_bot():
    game = pyspiel.load_game(DEFAULT_GAMES[0])
    state = game.new_initial_state()
    choices = [
        [PlayerBot(game, "random", seed=seed).step(state) for _ in "ab"] for seed in range(9)
    ]
    assert all(first == other for first, other in choices)
    assert len({first for first, _ in choices}) > 1


def test_invalid_bots_are_rejected():
    game, theirs = pyspiel.load_game(DEFAULT_GAMES[0]), pyspiel.load_game("checkers")
    with pytest.raises(BadOption, match="there is no player 'nobody'"):
        PlayerBot(game, "nobody")
    with pytest.raises(BadOption, match=r"checkers\(\)"):
        PlayerBot(theirs, "random")
    with pytest.raises(BadOption, match=r"of checkers\(\); expected: a state of python_cc"):
        PlayerBot(game, "random").step(theirs.new_initial_state())
    with pytest.raises(BadOption, match="seed=-1"):
        PlayerBot(game, "random", seed=-1)
    *_, final = walks(game, 1)
    with pytest.raises(IllegalAction, match="the game is over"):
        PlayerBot(game, "random").step(final)


def test_rl_environment_of_openspiel_plays_a_game():
    env = rl_environment.Environment(pyspiel.load_game(DEFAULT_GAMES[0]))
    rng, step, size = random.Random(0), env.reset(), env.observation_spec()["info_state"][0]
    while not step.last():
        player = step.observations["current_player"]
        assert len(step.observations["info_state"][player]) == size
        step = env.step([rng.choice(step.observations["legal_actions"][player])])
    assert sorted(step.rewards) == [-1, 1]


def test_example_of_the_module_docstring_runs(capsys):
    lines = openspiel.__doc__.splitlines()
    code = "\n".join(line[4:] for line in lines[1:] if line.startswith("    ") or not line)
    code = code.partition("position          where")[0].rpartition("evaluate_bots")[0]
    exec(code + "evaluate_bots(game.new_initial_state(), bots, 0))", {})
    state, winner = capsys.readouterr().out.splitlines()
    assert state.endswith(("[1.0, -1.0]", "[-1.0, 1.0]", "[0.0, 0.0]"))
    assert winner in ("[1.0, -1.0]", "[-1.0, 1.0]", "[0.0, 0.0]")
