"""Random player specs, options, command lines and arguments."""

import inspect
import io
import json
import socket
import sys

import pytest
import typer
from fuzz.harness import call_or_reject
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

import benchmarks.commands
from agents.reproductions.memory_command import app as memory_app
from cc_env.cli import application, commands, program_commands
from cc_env.envs.aec import BoardGameAEC
from cc_env.envs.single import BoardGameEnv
from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.errors import CcEnvError
from cc_env.games.factory import game_option_defaults, make_game
from cc_env.match.match import Limits
from cc_env.match.referee import play_match
from cc_env.players.builtin import RandomPlayer
from cc_env.players.specs import (
    PLAYERS,
    available_players,
    check_spec,
    make_player,
    temporary_players,
)
from cc_env.protocols import tcp
from cc_env.registry.catalogue import GAMES
from cc_env.registry.options import format_option, parse_options
from cc_env.server import app
from training import alphazero, evaluate
from training.experiments import accuracy, demo, hard_positions, tune
from training.ppo import ppo
from training.reproductions import published
from training.runs import command_line

WORDS = """ 0 1 -1 2 3 4 8 100 -0.5 0.5 1.5 1e999 -1e999 1e300 9999999999999999999 1_0 0x10 True
False None [] [1] {} {1:2} () (1,) '' 'x' b'x' 1j ... nan inf - -- . .. / * é × = : , size standard
published easy hard random evaluation black white result wins add ./x a.b ..x cpu cuda cuda:99 """
VALUES = WORDS.split()
VALUES += ["", " ", "-" * 9000, "9" * 9000, "[" * 300, "x" * 300, "\N{SNOWMAN}", "\x1b[31m", "a\nb"]
KINDS = [
    *PLAYERS,
    "os.system",
    "sys.exit",
    "json.loads",
    "numpy.array",
    "..x",
    "x.",
    "",
    "é",
]
GAME_NAMES = [
    *GAMES,
    "",
    "chess",
    "os",
    "cc_env",
    "cc_env.players.specs",
    "..",
    "cc_env.games",
    "é",
    "json",
]

texts = st.sampled_from(VALUES) | st.text(max_size=8)
NUMBERS = [-1, 0, 1, 2, 7, 99, 2**31 - 1, 2**31, 2**63, 2**64, 10**400, -(10**400), 1.5]
OTHER_VALUES = [None, True, "", "x", "6", b"x", [], [1], {}, {"size": 4}, (), (0, 1), object]
python_values = st.sampled_from([*NUMBERS, float("nan"), float("inf"), *OTHER_VALUES])


def known_options(kind):
    """Return the names of a player's options."""
    factory = PLAYERS.get(kind)
    return list(inspect.signature(factory).parameters)[1:] if factory else []


@st.composite
def player_names(draw):
    kind = draw(st.sampled_from(KINDS))
    names = st.sampled_from([*known_options(kind), "size", "", "game"])
    words = st.one_of(texts, st.tuples(names, texts).map("=".join))
    return ":".join([kind, *draw(st.lists(st.lists(words, max_size=3).map(",".join), max_size=1))])


@st.composite
def pairs(draw, game):
    names = st.sampled_from([*(game_option_defaults(game) if game in GAMES else ()), "name", "x"])
    return draw(st.lists(st.tuples(names, texts).map("=".join) | texts, max_size=2))


@given(name=player_names() | st.text(max_size=20))
def test_random_player_specs_raise_only_cc_env_errors(game, name):
    call_or_reject(check_spec, name)
    call_or_reject(make_player, name, game)


# Options of players: any text gives a player, or an error that names the option.

available_players(make_game("capture_conquer"))
PLAYER_OPTIONS = [(kind, option) for kind in PLAYERS for option in known_options(kind)]
# Errors about files name the file.
FILE_OPTIONS = "path", "tables"
option_texts = texts.filter(lambda text: len(text) < 1000) | st.sampled_from(
    ["a/b=c,d=e.f", "x.network", "/dev/null", "~", "'", '"', "'x", "None", "\0", "\ud800"]
)


@given(option=st.sampled_from(PLAYER_OPTIONS), text=option_texts | st.just("x" * 4000))
def test_random_option_of_a_player_is_accepted_or_named(game, tmp_path_factory, option, text):
    kind, name = option
    spec = f"{kind}:{format_option(name, text)}"
    if kind == "program" and name != "command":
        spec += ",command=sh"
    if kind == "llm" and name != "model":
        spec += ",model=x"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.getbasetemp())
        message = rejection(make_player, spec, game)
    assert message is None or name in message or name in FILE_OPTIONS


def rejection(call, *arguments):
    """Return the message of the CcEnvError that a call raises, None if it succeeds."""
    try:
        call(*arguments)
    except CcEnvError as error:
        return str(error)
    return None


@given(options=st.dictionaries(st.sampled_from(["label", "path", "size"]), option_texts))
def test_formatted_text_options_of_a_player_are_read_back(game, options):
    received = {}

    def make(game, *, label: str = "", path: str | None = None, size: object = 0):
        received.update(label=label, path=path, size=size)
        return RandomPlayer(game)

    with temporary_players(named=make):
        make_player("named:" + ",".join(map(format_option, options, options.values())), game)
    assert received == {"label": "", "path": None, "size": 0, **options}


@given(name=st.sampled_from(GAME_NAMES), data=st.data())
def test_random_game_options_raise_only_cc_env_errors(name, data):
    parsed = call_or_reject(parse_options, data.draw(pairs(name)))
    if parsed is not None:
        call_or_reject(lambda: make_game(name, **parsed))


@given(name=st.sampled_from(list(GAMES)), data=st.data())
def test_random_game_option_values_raise_only_cc_env_errors(name, data):
    names = st.sampled_from(list(game_option_defaults(name)))
    options = data.draw(st.dictionaries(names, python_values, max_size=2))
    call_or_reject(lambda: make_game(name, **options))


# Command lines. The commands parse and check their arguments; their long work is skipped.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Yield a folder with files to name on command lines; the commands run in it."""
    path = tmp_path_factory.mktemp("typed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        _write_files(path)
        _skip_long_work(patch)
        yield path


def _write_files(path):
    game = make_game("capture_conquer", size=4)
    line = play_match(game, (RandomPlayer(game),) * 2, limits=Limits(max_turns=6)).to_json()
    odd = json.loads(line) | {"players": ["\ud800", "\x1b[31m"]}
    (path / "games.jsonl").write_text(line + "\n")
    (path / "odd.jsonl").write_text(json.dumps(odd) + "\n")
    (path / "broken.jsonl").write_text(line[:80] + "\n")
    (path / "game.pdn").write_text('[Event "x"]\n1. 9-13 22-18 1-0\n')
    (path / "game.log").write_text("oops\n")
    (path / "bytes.jsonl").write_bytes(bytes(range(256)))
    (path / "empty.jsonl").write_text("")
    (path / "capture_conquer.jsonl").write_text('{"size": 4}\n[]\n')


def _skip_long_work(patch):
    """Replace the functions that do the long work of commands."""
    patch.setattr(program_commands, "serve", lambda *_: None)
    patch.setattr(program_commands, "_accept_clients", lambda *_: [])
    patch.setattr(tcp.socket, "create_connection", no_connection)
    patch.setattr(tcp.socket, "create_server", no_server)
    patch.setattr(app.uvicorn.Server, "run", serve_nothing)
    # absl closes stderr.
    patch.setattr(app.uvicorn.Config, "configure_logging", lambda _: None)
    patch.setattr(commands.typer, "launch", lambda _: 0)
    patch.setattr(commands, "count_sequences", lambda *_, **__: 1)
    patch.setattr(commands, "compile_games", lambda names: ())
    run_training = command_line.run_training

    def untrained(method, _, *arguments):
        run_training(method, lambda *_: None, *arguments)

    patch.setattr(command_line, "run_training", untrained)
    # The command demo calls it.
    patch.setattr(alphazero, "main", lambda *_: None)
    patch.setattr(evaluate, "run_and_report", lambda config, *_, **__: try_config(config))
    patch.setattr(tune, "tune", lambda *_: sys.exit())
    patch.setattr(accuracy, "measure_by_source", lambda *_, **__: ())
    patch.setattr(accuracy, "save", lambda *_: None)
    patch.setattr(hard_positions, "find_hard", lambda *_: ())
    patch.setattr(published, "play_experiments", lambda *_, **__: sys.exit())
    patch.setattr(benchmarks.commands, "measure_tasks", lambda *_: [])


def no_connection(address):
    """Raise OSError for any address; UnicodeError for an invalid host name."""
    address[0].encode("idna")
    raise OSError(f"no server at {address}")


def no_server(address, family):
    """Listen on a free local port; raise UnicodeError for an invalid host name."""
    address[0].encode("idna")
    server_socket = socket.socket()
    server_socket.bind(("127.0.0.1", 0))
    return server_socket


def serve_nothing(self, sockets):
    """Start the application of a server, and stop it at once."""
    with TestClient(self.config.app):
        pass


class FinishedTournament:
    """A tournament in which all games have been played."""

    unplayed = ()


def try_config(config):
    config.to_json()
    return FinishedTournament()


FILES = [
    "games.jsonl",
    "odd.jsonl",
    "broken.jsonl",
    "game.pdn",
    "game.log",
    "bytes.jsonl",
    "x.sqlite",
]
FILES += [
    "empty.jsonl",
    "capture_conquer.jsonl",
    "none.jsonl",
    ".",
    "",
    "x/y.pdn",
    "new.pdn",
    "é.log",
]
TYPED = st.one_of(
    texts.filter(lambda text: "\0" not in text),
    st.sampled_from(FILES),
    st.sampled_from(GAME_NAMES),
    st.sampled_from(["random", "greedy", "minimax:depth=1", "mcts:simulations=2", "policy"]),
    st.sampled_from(["bb4/6/6/6/6/rr4 r", "6/1bb3/1brrr1/1r1r2/6/6 b", "junk"]),
    st.sampled_from(
        ["size=4", "size=9", "name=x", "corner=2", "options.size=4", "a.b=1", "gate=x"]
    ),
)
APPS = {
    "cc_env": commands.app,
    "memory": memory_app,
    "evaluate": evaluate.app,
    "published": published.app,
    "alphazero": alphazero.app,
    "ppo": ppo.app,
    "tune": tune.app,
    "accuracy": accuracy.app,
    "hard-positions": hard_positions.app,
    "demo": demo.app,
    "benchmarks": benchmarks.commands.app,
}


def list_commands(app):
    """Return the commands of an application, each with the words that call it."""
    command = typer.main.get_command(app)
    subcommands = getattr(command, "commands", {})
    return [([name], subcommand) for name, subcommand in subcommands.items()] or [([], command)]


@st.composite
def lines(draw, app):
    words, command = draw(st.sampled_from(list_commands(app)))
    line = list(words)
    for parameter in command.params:
        if parameter.param_type_name == "argument" or draw(st.integers(0, 3)) == 0:
            flags = (
                []
                if parameter.param_type_name == "argument"
                else [draw(st.sampled_from(parameter.opts))]
            )
            line += [*flags, *([] if getattr(parameter, "is_flag", False) else [draw(TYPED)])]
    return line + draw(st.lists(TYPED, max_size=1))


def status(app, line):
    """Return the exit status and the output of a command line."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("argv", ["command", *line]), ("stdout", output), ("stderr", output)):
            patch.setattr(sys, name, value)
        try:
            code = application.run(app)
        except SystemExit as end:
            code = end.code or 0
    output.seek(0)
    return code, output.read()


@pytest.mark.parametrize("name", APPS)
@given(data=st.data())
def test_random_command_lines_give_clean_errors(folder, name, data):
    line = data.draw(lines(APPS[name]))
    code, output = call_or_reject(status, APPS[name], line)
    assert code in (0, 1, 2), line
    assert "Traceback" not in output, line
    assert code != 2 or output.strip(), line


# Arguments of environments and matches


@pytest.fixture(scope="module")
def environments():
    return {
        "single": BoardGameEnv("capture_conquer", size=4),
        "vector": BoardGameVectorEnv("capture_conquer", 3, size=4),
        "aec": BoardGameAEC("capture_conquer", size=4),
    }


RESET = st.one_of(
    python_values,
    st.dictionaries(st.sampled_from(["position", "reset_mask", 5]), python_values, max_size=2),
)


@pytest.mark.parametrize("index", ["single", "vector", "aec"])
@given(seed=python_values | st.lists(python_values, max_size=3), options=RESET)
def test_random_reset_arguments_raise_only_cc_env_errors(environments, index, seed, options):
    call_or_reject(lambda: environments[index].reset(seed=seed, options=options))


@given(board=python_values, actions=python_values | st.lists(python_values, min_size=3, max_size=3))
def test_random_actions_raise_only_cc_env_errors(environments, board, actions):
    vector, single = environments["vector"], environments["single"]
    vector.reset(seed=0)
    single.reset(seed=0)
    call_or_reject(vector.result, board)
    call_or_reject(vector.position, board)
    call_or_reject(vector.step, actions)
    call_or_reject(single.step, board)


KEYWORDS = ["opponent", "seat", "max_turns", "repetitions", "render_mode", "size", "corner"]
KEYWORDS += ["autoreset_mode", "num_envs", "oponent"]


@pytest.mark.parametrize("kind", ["single", "vector", "aec"])
@given(keywords=st.dictionaries(st.sampled_from(KEYWORDS), python_values, max_size=2))
def test_random_environment_keywords_raise_only_cc_env_errors(kind, keywords):
    make = {
        "single": lambda: BoardGameEnv("capture_conquer", **keywords),
        "vector": lambda: BoardGameVectorEnv("capture_conquer", **keywords),
        "aec": lambda: BoardGameAEC("capture_conquer", **keywords),
    }[kind]
    # A class is callable, and so taken for a policy function.
    if keywords.get("opponent") is not object:
        call_or_reject(make)


@given(seed=python_values, start=python_values, names=st.tuples(python_values, python_values))
def test_random_match_arguments_raise_only_cc_env_errors(game, seed, start, names):
    pair = (RandomPlayer(game),) * 2
    call_or_reject(lambda: play_match(game, pair, seed=seed))
    call_or_reject(lambda: play_match(game, pair, start=start))
    call_or_reject(lambda: play_match(game, pair, names=names))
    call_or_reject(lambda: play_match(game, names))


@given(
    limits=st.dictionaries(
        st.sampled_from(["max_turns", "repetitions", "seconds_per_turn", "seconds_per_game"]),
        python_values,
    )
)
def test_random_limits_raise_only_cc_env_errors(game, limits):
    checked = call_or_reject(lambda: Limits(**limits))
    if checked is not None:
        call_or_reject(lambda: play_match(game, (RandomPlayer(game),) * 2, limits=checked))
