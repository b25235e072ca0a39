"""A game of somebody else's package has all that ours have, with no line of ours for it.

The suites over every game and every environment run over it too.
"""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import gymnasium
import numpy as np
import pytest

import cc_env
from agents.network import Size
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
from training.selfplay.promotion import EvaluationOpponents

NAME = "elsewhere.tictactoe"
COUNTS = (
    9,
    72,
    504,
    3024,
    15120,
    54720,
    148176,
    200448,
    127872,
)  # known: 127,872 games fill the board


@pytest.fixture(scope="module")
def tictactoe():
    return make_game(NAME)


def test_perft(tictactoe):
    counts = [perft(tictactoe, tictactoe.initial, depth) for depth in range(1, 10)]
    assert tuple(counts) == COUNTS


def test_positions_of_one_name_and_the_same_fields_are_told_apart(tictactoe):
    """numba goes by the name of the class, and would play the rules of the game that came first."""
    mini = make_game("mini_checkers")
    assert type(mini.initial)._fields == type(tictactoe.initial)._fields
    for game in (mini, tictactoe, mini):
        assert game.outcome(game.initial) == ONGOING
    assert len(mini.legal_actions(mini.initial)) == 5
    assert len(tictactoe.legal_actions(tictactoe.initial)) == 9


def test_alpha_beta_solves_it(tictactoe):
    decision = MinimaxPlayer(tictactoe, depth=9).choose(
        tictactoe.initial, np.random.default_rng(0), Clock()
    )
    assert decision.value == 0
    pair = [make_player("minimax:depth=9", tictactoe)] * 2
    assert play_match(tictactoe, pair).result == "1/2-1/2"


@pytest.mark.slow
def test_players_meet_in_processes_and_games_are_replayed(tmp_path):
    config = arena.Config(
        players=("minimax:depth=9", "mcts:simulations=50", "random"),
        game=NAME,
        games=6,
        opening_turns=1,
    )
    tournament = arena.run_tournament(config, tmp_path / "run", workers=1)
    assert not tournament.unplayed
    assert len(list(read_records(tmp_path / "run" / "games.jsonl"))) == 18
    best = tournament.standings.pair("minimax:depth=9", "random").line
    assert best.losses == 0
    assert best.wins > 0


def test_pictures_have_its_letters(tictactoe):
    picture = draw(tictactoe, tictactoe.from_text("x1o/3/2x o"))
    assert " x . o" in str(picture)
    assert picture._repr_svg_().count("<circle") >= 3


@pytest.mark.usefixtures("without_curves")
@pytest.mark.slow
def test_networks_are_trained_and_play_by_name(tictactoe, tmp_path):
    evaluation_opponents = EvaluationOpponents(names=("random",), anchor="random", games=4)
    config = Config(
        game=NAME,
        rounds=2,
        minutes=None,
        network=Size(blocks=1, channels=8, keys=4),
        play=worker.SelfPlaySettings(boards=8, simulations=4, opening_turns=2, opponents_share=0),
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


@pytest.mark.parametrize("way", ["module", "script"])
def test_the_commands_know_what_is_in_the_current_folder(way, tmp_path):
    script = tmp_path / "cc_env_script.py"  # as pip installs it: its own folder is in sys.path
    script.write_text("import sys\nfrom cc_env.__main__ import main\nsys.exit(main())\n")
    started = {"module": ["-m", "cc_env"], "script": [str(script)]}[way]
    command = [sys.executable, *started, "perft", "--game", NAME, "--depth", "3"]
    here = Path(__file__).parent
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    assert "depth 3: 504" in done.stdout


def test_its_environment_is_played_by_minimax():
    cc_env.register(NAME, "elsewhere/Played-v0")
    env = gymnasium.make("elsewhere/Played-v0", opponent="minimax:depth=9")
    env.action_space.seed(1)
    for seed in range(5):
        env.reset(seed=seed)
        over = False
        while not over:
            _, reward, over, *_ = env.step(env.action_space.sample())
        assert reward <= 0


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "elsewhere.nothing",
            "there is no game 'elsewhere.nothing' .No module named .*; there are: ",
        ),
        ("os.path", "there is no game 'os.path' .the module has no make.; there are: "),
        (
            "tic-tac-toe",
            "'tic-tac-toe' .* is not the name of a module.; there are: .*, and any module",
        ),
        ("Checkers", r"did you mean checkers\? there are: cannon, "),
        ("MiniCheckers", r"did you mean mini_checkers\? there are: "),
        ("cc_env/Checkers-v0", "is the id of an environment; its game is 'checkers'"),
    ],
)
def test_modules_without_a_game_are_refused(name, says):
    with pytest.raises(BadOption, match=says):
        make_game(name)


def test_a_game_has_to_be_called_as_it_is_found(monkeypatch):
    module = game_module(NAME)
    other = module.make().replace(name="tictactoe")
    monkeypatch.setattr(module, "make", lambda: other)
    with pytest.raises(BadGame, match="'tictactoe'"):
        make_game(NAME)


def test_a_game_whose_rules_are_not_registered_is_refused(monkeypatch):
    class Position(NamedTuple):
        own: np.uint64
        enemy: np.uint64
        player: np.uint64

    module = game_module(NAME)
    other = module.make().replace(initial=Position(*module.make().initial))
    monkeypatch.setattr(module, "make", lambda: other)
    says = r"tictactoe: no outcome is registered for Position; expected: rules.register\(Position"
    with pytest.raises(BadGame, match=says):
        make_game(NAME)
