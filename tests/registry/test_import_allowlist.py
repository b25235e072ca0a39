"""A file of unknown origin runs no code, whatever games and players it names."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import cc_env
from cc_env.cli.commands import app
from cc_env.errors import BadOption, BadPlayer, BadRecord, UnknownOption
from cc_env.games.factory import make_game
from cc_env.match.record import read_records
from cc_env.players.specs import check_spec
from cc_env.registry import import_allowlist
from cc_env.registry.import_allowlist import untrusted_names
from training import alphazero
from training.distillation import distillation
from training.ppo import ppo
from training.runs import command_line

TESTS = Path(__file__).parents[1]
ELSEWHERE = "elsewhere.tictactoe"
RECORD = {"options": {}, "players": ["a", "b"], "turns": [], "result": "1-0", "reason": "x"}
DRAWN_GAME = {
    "game": ELSEWHERE,
    "turns": ["20", "11", "02", "21", "01", "00", "22", "12", "10"],
    "result": "1/2-1/2",
    "reason": "draw",
}


@pytest.fixture(autouse=True)
def _nothing_is_allowed(monkeypatch):
    monkeypatch.setattr(import_allowlist, "_allowed_names", set())


@pytest.fixture
def hit(tmp_path, monkeypatch):
    """The file that the module runs.x.evil, in the working folder, writes when it is imported."""
    (tmp_path / "runs" / "x").mkdir(parents=True)
    (tmp_path / "runs" / "x" / "evil.py").write_text("open('hit', 'w')\ndef make(): ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "hit"
    for name in ("runs.x.evil", "runs.x", "runs"):
        sys.modules.pop(name, None)


def write_record(path, **change):
    path.write_text(json.dumps(RECORD | change) + "\n")
    return path


# Records


def test_record_cannot_import_a_module(hit, tmp_path):
    path = write_record(tmp_path / "games.jsonl", game="runs.x.evil")
    with pytest.raises(BadRecord, match=r"line 1: .*'runs\.x\.evil' \(a file names it, .*allow"):
        list(read_records(path))
    assert not hit.exists()
    assert "runs.x.evil" not in sys.modules


def test_replay_command_imports_nothing(hit, tmp_path):
    path = write_record(tmp_path / "runs" / "x" / "games.jsonl", game="runs.x.evil")
    command = [sys.executable, "-m", "cc_env", "replay", path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert not hit.exists()


@pytest.mark.parametrize(
    "name", ["os", "cc_env.search.workspace", "cc_env.players.specs", "no such", ""]
)
def test_imported_module_without_a_game_is_rejected(tmp_path, name):
    # make_player would import it.
    options = {"name": "runs.x.evil", "game": None}
    path = write_record(tmp_path / "games.jsonl", game=name, options=options)
    with pytest.raises(BadRecord, match=f"no game '{name}' .a file names it"):
        list(read_records(path))


def test_options_of_a_recorded_game_import_nothing(hit, tmp_path):
    source = "from cc_env.players import specs\ndef make(bot=''): specs.check_spec(bot)\n"
    (tmp_path / "with_a_bot.py").write_text(source)
    import_allowlist.allow("with_a_bot")
    options = {"bot": "runs.x.evil.make"}
    path = write_record(tmp_path / "games.jsonl", game="with_a_bot", options=options)
    with pytest.raises(BadRecord, match=r"'runs\.x\.evil\.make' cannot be imported: a file"):
        list(read_records(path))
    assert not hit.exists()


@pytest.mark.parametrize(
    "allow",
    [
        lambda: make_game(ELSEWHERE),
        lambda: import_allowlist.allow(ELSEWHERE),
        lambda: cc_env.register(ELSEWHERE, "elsewhere/Trusted-v0"),
    ],
    ids=["made", "allowed", "registered"],
)
def test_allowed_game_may_be_named_in_a_file(tmp_path, allow):
    path = write_record(tmp_path / "games.jsonl", **DRAWN_GAME)
    with pytest.raises(BadRecord, match="a file names"):
        list(read_records(path))
    allow()
    assert len(list(read_records(path))) == 1


def test_game_on_the_command_line_may_be_named_in_a_file(tmp_path, capsys):
    path = write_record(tmp_path / "games.jsonl", **DRAWN_GAME)
    with pytest.raises(BadRecord, match=f"no game '{ELSEWHERE}' .*on the command line"):
        app(["replay", str(path)], standalone_mode=False)
    app(["replay", str(path), "--game", ELSEWHERE], standalone_mode=False)
    assert "a - b  1/2-1/2" in capsys.readouterr().out
    with pytest.raises(UnknownOption, match=r"no game 'os\.path'"):
        app(["replay", str(path), "--game", "os.path"], standalone_mode=False)


# Players


def test_files_name_only_built_in_or_allowed_players(hit):
    with untrusted_names():
        check_spec("minimax:depth=3")
        for name in ("runs.x.evil.make", "os.system", "agents.policy"):
            with pytest.raises(BadPlayer, match=f"'{name}' cannot be imported: a file"):
                check_spec(name)
    assert not hit.exists()
    check_spec("agents.policy")
    with untrusted_names():
        check_spec("agents.policy")


@pytest.mark.parametrize("name", ["..x", ".", "a..b", "os.", "a b.c"])
def test_invalid_module_names_are_rejected(name):
    with pytest.raises(BadPlayer, match="cannot be imported"):
        check_spec(name)


# Configs of runs


EVIL = "runs.x.evil.make"
CONFIGS = [
    (alphazero, {"game": "runs.x.evil"}),
    (alphazero, {"evaluation_opponents": {"names": [EVIL, "minimax:depth=3"]}}),
    (alphazero, {"play": {"opponents": [EVIL]}}),
    (distillation, {"opponents": [EVIL]}),
    (ppo, {"game": "runs.x.evil"}),
    (ppo, {"pool": {"names": [EVIL]}}),
]


def resumed(algorithm, config, typed=None):
    """Return the config with which a run with this saved config is resumed."""
    path, messages = Path("runs") / "run", []
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text(json.dumps(config))

    def main(config, path, resume):
        messages.append(config)

    command_line.run_training("way", main, algorithm.Config, typed or {}, None, "run", resume=True)
    return messages[0]


@pytest.mark.parametrize(("algorithm", "config"), CONFIGS)
def test_config_of_a_run_cannot_import_a_module(hit, algorithm, config):
    with pytest.raises(BadOption, match=r"'runs\.x\.evil.*a file names it"):
        resumed(algorithm, config)
    assert not hit.exists()


def test_run_resumes_with_names_on_the_command_line(hit):
    config = resumed(alphazero, {"game": ELSEWHERE, "minutes": 7}, {"game": ELSEWHERE})
    assert (config.game, config.minutes) == (ELSEWHERE, 7)
    evaluation_opponents = {"evaluation_opponents.names": ["agents.policy", "minimax:depth=3"]}
    config = resumed(
        alphazero, {"evaluation_opponents": {"names": ["agents.policy"]}}, evaluation_opponents
    )
    assert config.evaluation_opponents.names == tuple(
        evaluation_opponents["evaluation_opponents.names"]
    )
