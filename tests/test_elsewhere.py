"""A game of another package: rules, search, training, pictures, environments, commands.

The tests over every game and every environment include it.
"""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import gymnasium
import numpy as np
import pytest

import cc_env
from agents.network_weights import Size
from cc_env.core.rules import ONGOING
from cc_env.errors import BadGame, BadOption
from cc_env.games.factory import game_module, make_game
from cc_env.match.record import read_records
from cc_env.match.referee import Clock, play_match
from cc_env.players.builtin import MinimaxPlayer
from cc_env.players.specs import make_player
from cc_env.rendering.picture import draw
from cc_env.verification.perft import perft
from training import arena
from training.alphazero import Config, main
from training.selfplay import worker
from training.selfplay.training import EvaluationOpponents

NAME = "elsewhere.tictactoe"
# Published perft counts.
COUNTS = [9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872]


@pytest.fixture(scope="module")
def tictactoe():
    return make_game(NAME)


def test_perft_equals_known_counts(tictactoe):
    counts = [perft(tictactoe, tictactoe.initial, depth) for depth in range(1, 10)]
    assert counts == COUNTS


def test_position_classes_with_equal_names_and_fields_are_distinct(tictactoe):
    """numba identifies classes by name and fields."""
    mini = make_game("mini_checkers")
    assert type(mini.initial)._fields == type(tictactoe.initial)._fields
    for game in (mini, tictactoe, mini):
        assert game.outcome(game.initial) == ONGOING
    assert len(mini.legal_actions(mini.initial)) == 5
    assert len(tictactoe.legal_actions(tictactoe.initial)) == 9


def test_alpha_beta_solves_the_game(tictactoe):
    decision = MinimaxPlayer(tictactoe, depth=9).choose(
        tictactoe.initial, np.random.default_rng(0), Clock()
    )
    assert decision.value == 0
    pair = [make_player("minimax:depth=9", tictactoe)] * 2
    assert play_match(tictactoe, pair).result == "1/2-1/2"


@pytest.mark.slow
def test_tournament_runs_in_worker_processes(tmp_path):
    config = arena.Config(
        players=("minimax:depth=9", "mcts:simulations=50", "random"),
        game=NAME,
        games=6,
        opening_turns=1,
    )
    tournament = arena.run_tournament(config, tmp_path / "run", workers=1)
    assert not tournament.unplayed
    assert len(list(read_records(tmp_path / "run" / "games.jsonl"))) == 18
    best = tournament.standings.pair("minimax:depth=9", "random").tally
    assert best.losses == 0
    assert best.wins > 0


def test_pictures_have_the_letters_of_the_players(tictactoe):
    picture = draw(tictactoe, tictactoe.from_text("x1o/3/2x o"))
    assert " x . o" in str(picture)
    assert picture._repr_svg_().count("<circle") >= 3


@pytest.mark.usefixtures("without_curves")
@pytest.mark.slow
def test_trained_networks_play_by_player_spec(tictactoe, tmp_path):
    evaluation_opponents = EvaluationOpponents(names=("random",), anchor="random", games=4)
    config = Config(
        game=NAME,
        rounds=2,
        minutes=None,
        network=Size(blocks=1, channels=8, keys=4),
        play=worker.SelfPlaySettings(
            boards=8, simulations=4, max_opening_turns=2, opponents_share=0
        ),
        workers=1,
        decisions=8,
        warm_up=64,
        evaluation_opponents=evaluation_opponents,
        evaluate_every=1,
    )
    main(config, tmp_path / "run")
    names = [f"{kind}:path={tmp_path / 'run'}" for kind in ("policy", "alphazero")]
    tournament = arena.play_tournament((*names, "random"), NAME, games=2, opening_turns=1)
    assert not any(player.faults for player in tournament.standings.players)


@pytest.mark.parametrize("program", [pytest.param("module", marks=pytest.mark.slow), "script"])
def test_commands_find_games_in_the_current_folder(program, tmp_path):
    """Python adds the current folder to `sys.path` for `-m`, but not for an installed script."""
    script = tmp_path / "cc_env_script.py"
    script.write_text("import sys\nfrom cc_env.__main__ import main\nsys.exit(main())\n")
    arguments = {"module": ["-m", "cc_env"], "script": [str(script)]}[program]
    command = [sys.executable, *arguments, "perft", "--game", NAME, "--depth", "3"]
    folder = Path(__file__).parent
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert "depth 3: 504" in process.stdout


def test_minimax_is_an_opponent_in_its_environment():
    cc_env.register(NAME, "elsewhere/Played-v0")
    env = gymnasium.make("elsewhere/Played-v0", opponent="minimax:depth=9")
    env.action_space.seed(1)
    for seed in range(5):
        env.reset(seed=seed)
        terminated = False
        while not terminated:
            _, reward, terminated, *_ = env.step(env.action_space.sample())
        assert reward <= 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "elsewhere.nothing",
            "there is no game 'elsewhere.nothing' .No module named .*; there are: ",
        ),
        ("os.path", "there is no game 'os.path' .the module has no function make.; there are: "),
        (
            "tic-tac-toe",
            "'tic-tac-toe' is not the name of a module; .*; there are: .*, and any module",
        ),
        ("Checkers", r"did you mean checkers\? there are: cannon, "),
        ("MiniCheckers", r"did you mean mini_checkers\? there are: "),
        ("cc_env/Checkers-v0", "is the id of an environment; its game is 'checkers'"),
    ],
)
def test_module_without_a_game_is_rejected(name, message):
    with pytest.raises(BadOption, match=message):
        make_game(name)


def test_module_whose_make_needs_arguments_is_no_game(monkeypatch):
    monkeypatch.setattr(game_module(NAME), "make", lambda size: None)
    with pytest.raises(BadOption, match=r"no game 'elsewhere.tictactoe' .*must have defaults"):
        make_game(NAME)


def test_game_name_must_be_that_of_its_module(monkeypatch):
    module = game_module(NAME)
    other = module.make().replace(name="tictactoe")
    monkeypatch.setattr(module, "make", lambda: other)
    with pytest.raises(BadGame, match="'tictactoe'"):
        make_game(NAME)


def test_game_without_registered_rules_is_rejected(monkeypatch):
    class Position(NamedTuple):
        own: np.uint64
        enemy: np.uint64
        player: np.uint64

    module = game_module(NAME)
    other = module.make().replace(initial=Position(*module.make().initial))
    monkeypatch.setattr(module, "make", lambda: other)
    message = r"tictactoe: no outcome is registered for Position; .* rules.register\(Position"
    with pytest.raises(BadGame, match=message):
        make_game(NAME)
