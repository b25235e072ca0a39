"""python -m cc_env, as a user calls it."""

import gzip
import json
import os
import re
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
import typer
from conftest import ORACLE, command_line

from agents.reproductions.memory_player import Memory
from cc_env.__main__ import main
from cc_env.cli import application, commands
from cc_env.errors import BadGame, BadOption, MissingExtra
from cc_env.games.factory import game_option_defaults, make_game
from cc_env.match.record import append_record, read_records, replay
from cc_env.match.referee import play_match
from cc_env.players.builtin import RandomPlayer
from cc_env.registry.catalogue import GAMES, GameEntry
from cc_env.verification import conformance
from cc_env.version import __version__


def run(*arguments, status=0):
    return command_line(main, *arguments, status=status)


@pytest.fixture
def games_file(game, tmp_path):
    path = tmp_path / "games.jsonl"
    for seed in range(2):
        finished = play_match(game, (RandomPlayer(game),) * 2, names=("ann", "bob"), seed=seed)
        append_record(path, finished)
    return path


def test_games_are_listed_with_options_evaluations_levels_and_bots():
    out = run("games")
    assert "cc_env/CaptureConquer-v0" in out
    assert all(line == line.rstrip() for line in out.splitlines())
    blocks = {block.split()[0]: block for block in re.split(r"\n(?=\S)", out)}
    assert set(blocks) == set(GAMES)
    for name, block in blocks.items():
        game = make_game(name)
        options = (f"{key}={value}" for key, value in game_option_defaults(name).items())
        expected = {*options, *game.evaluations, *game.levels, *game.bots}
        assert expected <= set(re.split(r"[,\s]+", block))


# Columns for the summary of a command on a terminal of 80 columns.
MAX_SUMMARY = 65


@pytest.mark.parametrize("name", typer.main.get_command(commands.app).commands)
def test_command_summaries_fit_one_line(name):
    command = typer.main.get_command(commands.app).commands[name]
    assert not command.get_short_help_str(MAX_SUMMARY).endswith("...")


def test_cc_env_runs_as_a_module():
    command = [sys.executable, "-m", "cc_env", "perft", "-g", "chess"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: there is no game 'chess'")


def test_ctrl_c_during_imports_prints_no_traceback():
    code = (
        "import builtins, sys\n"
        "from cc_env.__main__ import main\n"
        "real = builtins.__import__\n"
        "def interrupted(name, *rest):\n"
        "    if name == 'numba': raise KeyboardInterrupt\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = interrupted\n"
        "sys.argv = ['cc_env', 'games']\n"
        "sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_memory_limit_is_checked_before_imports():
    code = (
        "import resource, sys\n"
        "from cc_env.__main__ import main\n"
        "resource.setrlimit(resource.RLIMIT_AS, (400_000 * 1024,) * 2)\n"
        "sys.argv = ['cc_env', 'games']\n"
        "sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: address space is limited to 391 MiB; at least 512 MiB are required (ulimit -v)\n"
    )


def test_perft_counts_turns_for_each_depth():
    out = run("perft", "--depth", 4)
    assert re.findall(r"depth (\d): ", out) == ["1", "2", "3", "4"]
    assert "depth 4: 98,494" in out
    assert "1 b b b" in out
    assert "depth 2: 83" in run("perft", "-d", 2, "-o", "size=4", "-o", "corner=2")
    out = run("perft", "-d", 1, "--position", "6/1bb3/1brrr1/1r1r2/6/6 b")
    assert "depth 1: 28" in out


def test_replay_prints_players_and_counts_of_a_file(games_file):
    out = run("replay", games_file)
    assert out.count("ann - bob") == 2
    assert "line 2: ann - bob" in out
    assert out.endswith("2 games read, 0 skipped, 0 rejected\n")
    output = run("replay", games_file, "--line", 2)
    assert "\n1. " in output
    assert "line 1" not in output
    assert "--line 7: no game of " in run("replay", games_file, "--line", 7, status=2)


def test_replay_converts_files_of_other_programs(tmp_path):
    game, path = make_game("checkers"), tmp_path / "games.jsonl"
    for seed in range(2):
        names = 'ann "a"', "bob"
        game_record = play_match(game, (RandomPlayer(game),) * 2, names=names, seed=seed)
        append_record(path, game_record)
    pdn = tmp_path / "games.pdn"
    assert "2 games written to" in run("replay", path, "--to", pdn)
    out = run("replay", pdn, "-g", "checkers")
    assert f'game 2: ann "a" - bob  {game_record.result} ({game_record.reason}), ' in out
    back = tmp_path / "back.jsonl"
    run("replay", pdn, "--to", back)
    assert [game_record.turns for _, game_record in read_records(back)] == [
        game_record.turns for _, game_record in read_records(path)
    ]
    run("replay", path, "--to", back)
    # Includes seeds and times.
    assert back.read_text() == path.read_text()
    output = run("replay", pdn, "-g", "checkers", "-l", 2)
    last = replay(game_record).history[-1]
    text = make_game("checkers").readable_turn_text(*last)
    assert f"\n{len(game_record.turns)}. {text}\n" in output
    assert "has this number; it contains 2 games" in run(
        "replay", pdn, "-g", "checkers", "-l", 3, status=2
    )

    log = tmp_path / "game.log"
    log.write_text(
        '{"meta": "", "action": "NORMAL", "data": "S 2 5 M 1 4"} Received from client 0\n'
    )
    assert "game 1: ? - ?  *, 1 turn" in run("replay", log, "-g", "cannon")
    run("replay", log, "-g", "cannon", "--to", back)
    ((_, game_record),) = read_records(back)
    assert (game_record.result, game_record.reason, game_record.turns) == (
        "*",
        "unfinished",
        ("S 2 5 M 1 4",),
    )
    fault = "UNEXPECTED STOP BY PLAYER 1 : Player 1 SCORE : 0.12 : Player 2 SCORE : 10.12"
    # The player that is not to move loses by a fault.
    with log.open("a") as file:
        message = json.dumps({"meta": fault, "action": "KILLPROC", "data": ""})
        file.write(f"{message} Received from client 0\n")
    out = run("replay", log, "--to", back)
    assert "game 1: ? - ?  0-1 (error), scores 0.12 - 10.12, 1 turn" in out
    assert "line 1: ? - ?  0-1 (error), scores 0.12 - 10.12, 1 turn" in run("replay", back)
    before = log.read_text()
    run("replay", log, "--to", log)
    assert log.read_text() == before
    run("replay", back, "--to", log)
    assert log.read_text() == before
    back.write_text(back.read_text() * 2)
    assert "holds one game; choose it by --line" in run("replay", back, "--to", log, status=2)
    assert log.read_text() == before
    run("replay", back, "--to", log, "--line", 2)
    assert log.read_text() == before
    log.write_text("oops")
    out = run("replay", log, "-g", "cannon", status=2)
    assert f"{log}, line 1: move 1: 'oops'" in out.replace("\n", "")
    assert "'.pdn'; it has: .log" in run("replay", pdn, "-g", "cannon", status=2)
    assert "records contain their options" in run("replay", path, "-o", "size=4", status=2)


def test_replay_preserves_file_contents(tmp_path):
    old, new = tmp_path / "OLD.PDN", tmp_path / "new.pdn"
    said = '[Event "Café"]\n[White "w"]\n[Black "b"]\n[Result "1-0"]\n1. 9-13 22-18 1-0\n'
    old.write_bytes(said.encode("latin-1") + b'\n[Event "two"]\n[Result "1/2-1/2"]\n1. 11-15')
    # The suffix determines the game and its rules.
    out = run("replay", old, "--to", new)
    assert "game 1: b - w  1-0, 2 turns\ngame 2: ? - ?  1/2-1/2, 1 turn\n" in out
    assert new.read_text("utf-8").split("\n\n") == [
        '[Event "Café"]\n[White "w"]\n[Black "b"]\n[GameType "21"]\n[Result "1-0"]',
        "1. 9-13 22-18 1-0",
        '[Event "two"]\n[Black "?"]\n[White "?"]\n[GameType "21"]\n[Result "1/2-1/2"]',
        "1. 11-15 1/2-1/2\n",
    ]
    again = tmp_path / "again.pdn"
    run("replay", new, "--to", again)
    assert again.read_text("utf-8") == new.read_text("utf-8")
    again.write_text("\ufeff" + again.read_text("utf-8"), "utf-8")
    assert "b - w  1-0" in run("replay", again)


def test_replay_continues_after_invalid_games(tmp_path, monkeypatch, capsys):
    path, to = tmp_path / "games.pdn", tmp_path / "good.pdn"
    path.write_text('9-13 *\n[Event "b"] 9-12 *\n[FEN "B:W9:B5"] 5x14 0-1\n11-15 22-18 *')

    def replay(*arguments):
        monkeypatch.setattr("sys.argv", ["cc_env", "replay", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_info:
            commands.app()
        return exit_info.value.code, capsys.readouterr().out.replace("\n", "")

    status, out = replay(path, "--keep-going", "--to", to)
    assert status == 1
    assert "game 1: ? - ?  *, 1 turngame 4: ? - ?  *, 2 turns2 games written" in out
    assert f"rejected: {path}, line 2: move 1: '9-12' is not legal" in out
    assert f"rejected: {path}, line 3: by the rules it is won by the first player" in out
    assert out.endswith("2 games read, 0 skipped, 2 rejected")
    assert replay(to, "--keep-going")[0] == 0
    status, out = replay(path, "-k", "-l", 4)
    assert (status, out.count("turns")) == (1, 1)
    assert out.endswith("1 game read, 1 skipped, 2 rejected")
    lines = tmp_path / "games.jsonl"
    lines.write_text("oops\n" * 2)
    status, out = replay(lines, "-k")
    assert status == 1
    assert out.endswith("0 games read, 0 skipped, 2 rejected")


@pytest.mark.parametrize("name", ["empty.pdn", "empty.jsonl", "empty.log"])
def test_replay_rejects_files_without_games(tmp_path, name):
    path, to = tmp_path / name, tmp_path / "kept.pdn"
    path.write_text("")
    to.write_text("precious")
    assert f"{name}" in run("replay", path, "--to", to, status=2)
    assert to.read_text() == "precious"


def test_replay_converts_the_dialect_of_py_draughts(tmp_path):
    file = Path(__file__).parents[1] / "games" / "pdn" / "py_draughts.pdn"
    pdn, again, back = (tmp_path / name for name in ("a.pdn", "b.pdn", "c.jsonl"))
    results = [
        "game 1: ? - ?  0-1 (no_moves), 39 turns",
        "game 2: ? - ?  1-0 (no_moves), 39 turns",
        "game 3: ? - ?  1/2-1/2, 31 turns",
        "game 4: ? - ?  *, 1 turn",
    ]
    for read, dialect, to, to_dialect in (
        (file, ("--dialect", "py-draughts"), pdn, ()),
        (pdn, (), again, ("--to-dialect", "py-draughts")),
        (again, ("--dialect", "py-draughts"), back, ()),
    ):
        output = run("replay", read, *dialect, "--to", to, *to_dialect).split("\n")
        assert output[:4] == results
    assert again.read_text().count('[Result "1-0"]\n\n1... 23-18 2. 11-16 ') == 1
    for arguments, message in (
        (
            [file, "--dialect", "lidraughts"],
            ".pdn has no dialect 'lidraughts'; it has: py-draughts",
        ),
        ([back, "--dialect", "py-draughts"], "--dialect is for files of other programs"),
        ([back, "--to-dialect", "py-draughts"], "--to-dialect needs --to, the file to write"),
        ([back, "--to", back, "--to-dialect", "py-draughts"], "checkers has no format '.jsonl'"),
    ):
        assert message in run("replay", *arguments, status=2).replace("\n", " ")


def test_replay_rejects_illegal_games(tmp_path):
    path = tmp_path / "game.pdn"
    ended = '[FEN "B:W9:B6,5"]\n1. 6x13 '
    path.write_text(f"9-13 1-0 {ended} 0-1")
    why = "line 1: by the rules it is won by the first player (no_pieces), by the file won by the"
    assert f"{path}, {why} second" in run("replay", path, status=2)
    hint = "second; PDN is English draughts: crowning=ends_move"
    assert hint in run("replay", path, "-o", "no_progress_limit=80", status=2)
    path.write_text("9-13 *")
    run("replay", path, "-o", "no_progress_limit=80", "--to", path)  # the other rule stays
    assert '[RuleOptions "crowning=ends_move, no_progress_limit=80"]' in path.read_text()
    path.write_text(f"9-13 1-0 {ended} 0-1")
    for result in ("1-0", "*"):
        path.write_text(f"{ended} {result}")
        assert "1-0 (no_pieces), 1 turn" in run("replay", path)


def test_replay_prints_scores_missing_from_a_log(tmp_path):
    with gzip.open(ORACLE / "cannon.jsonl.gz", "rt") as file:
        game = next(
            line for line in map(json.loads, file) if line["kind"] == "game" and line["end"]
        )
    path = tmp_path / "game.log"
    with path.open("w") as file:
        for number, command in enumerate(game["cmds"]):
            message = json.dumps({"meta": "", "action": "NORMAL", "data": command})
            file.write(f"{message} Received from client {number % 2}\n")
    scores = "{:g} - {:g}".format(*game["score"])
    assert f"({game['end']}), scores {scores}, " in run("replay", path)


@pytest.mark.parametrize("change", [{"bots": ("aggressive",)}, {"formats": (".pdn", ".log")}])
def test_catalogue_has_the_bots_and_formats_of_a_game(monkeypatch, change):
    monkeypatch.setitem(GAMES, "cannon", GAMES["cannon"]._replace(**change))
    with pytest.raises(
        BadGame, match=r"cannon: bots .*aggressive.*, formats .*\.log.*; its entry in the catalogue"
    ):
        make_game("cannon")


def test_replay_requires_the_game_for_an_ambiguous_suffix(monkeypatch, tmp_path):
    monkeypatch.setitem(GAMES, "draughts", GameEntry("elsewhere", "", formats=(".pdn",)))
    with pytest.raises(BadOption, match="have this suffix; add --game checkers or draughts"):
        commands.replay(tmp_path / "x.pdn")


def test_replay_reports_line_and_turn_of_an_error(games_file):
    first, second = games_file.read_text().splitlines()
    broken = json.loads(second)
    broken["turns"][3] = "0,0-0,0"
    games_file.write_text(f"{first}\n{json.dumps(broken)}\n")
    assert "line 2: turn 4: '0,0-0,0' is not legal" in run("replay", games_file, status=2)


def test_undecided_games_become_records(tmp_path):
    pdn, records = tmp_path / "games.pdn", tmp_path / "games.jsonl"
    moves = "1. 11-15 22-18"
    games = [f'[Event "{end}"]\n{moves} {end}\n' for end in ("*", "1-0", "0-1", "1/2-1/2", "1-0")]
    games[-1] = games[-1].replace("22-18", "22-32")
    pdn.write_text("\n".join(games))
    out = run("replay", pdn, "--keep-going", "--to", records, status=1)
    assert "4 games written" in out
    assert "4 games read, 0 skipped, 1 rejected" in out
    assert [
        (game_record.result, game_record.reason) for _, game_record in read_records(records)
    ] == [
        ("*", "unfinished"),
        ("1-0", "resigned"),
        ("0-1", "resigned"),
        ("1/2-1/2", "agreed"),
    ]
    assert "4 games written" in run("replay", records, "--to", tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == records.read_text()


def test_check_counts_positions_that_agree_and_lists_others(tmp_path):
    path = tmp_path / "capture_conquer.jsonl.gz"
    lines = gzip.decompress((ORACLE / path.name).read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(lines[::40])))
    assert "124 of 124 positions agree" in run("check", path)

    line = {"size": 4, "first": [[0, 0], [0, 1]], "second": [[3, 3], [3, 2]], "to_move": 1}
    path = tmp_path / "capture_conquer.jsonl"
    path.write_text(json.dumps(line | {"moves": [], "result": None}))
    out = run("check", path, status=1)
    assert "line 1: 'bb2/4/4/2rr b'" in out
    assert "0 of 1 positions agree" in out


def test_check_uses_random_games_without_a_file(monkeypatch):
    monkeypatch.setattr(conformance, "GAMES", 2)
    out = run("check", "--game", "elsewhere.tictactoe")
    assert "2 random games of elsewhere.tictactoe: no faults" in out
    fault = conformance.Fault("3/3/3 x", "00", "outcome 7; expected: another")
    monkeypatch.setattr(conformance, "check", lambda game: [fault])
    out = run("check", "--game", "elsewhere.tictactoe", status=1)
    assert "in '3/3/3 x', after 00: outcome 7; expected: another" in out
    assert "elsewhere.tictactoe: 1 fault" in out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["perft", "-g", "chess"], "no game 'chess'"),
        (["perft", "-o", "size=9"], "expected: an integer, 4 to 8"),
        (["perft", "-o", "size"], "expected: NAME=VALUE"),
        (["perft", "-p", "junk"], "cannot read position 'junk'"),
        (["perft", "-d", "0"], "'--depth' / '-d': Input should be greater than or equal to 1"),
        (["perft", "-o", "size=" + "-" * 9000], "expected: at most 4,096"),
        (["perft", "-o", "size=" + "-" * 4000], "expected: an integer, 4 to 8"),
        (["perft", "-o", "name=x"], "capture_conquer has no option name"),
        (["perft", "-g", "cc_env.players.specs"], "no game 'cc_env.players.specs'"),
        (
            ["check", "README.md", "-g", "cc_env.players.specs"],
            "'cc_env.players.specs' (the module has no function make)",
        ),
        (["check", "README.md", "-g", "json"], "no game 'json'"),
        (["check"], "nothing to check; expected: a file or --game NAME"),
        (
            ["check", "README.md", "-g", "checkers", "-o", "crowning=ends_move"],
            "omit --option",
        ),
        (
            ["analyze", "greedy:evaluation=5"],
            "evaluation=5 is not a name; capture_conquer has: ",
        ),
        (["analyze", "minimax:level=[]"], "no level '[]'; it has: easy"),
        (["analyze", "..x"], "'..x' cannot be imported"),
        (["analyze", "os.system"], "'os.system' cannot be created: TypeError"),
        (["analyze", "mcts:exploration=1e999"], "exploration=inf; expected: 0 or more"),
        (["replay", "", "--to", "x.pdn"], "FILE"),
        (["replay", "README.md", "--to", ""], "'--to': the path is empty"),
        (["replay", "README.md", "--to", "/"], "'/'; expected: the name of a file"),
        (
            ["solve", "checkers", "--pieces", "2", "--out", "README.md"],
            "README.md is a file",
        ),
        (["check", "nowhere.jsonl", "-g", "capture_conquer"], "nowhere.jsonl"),
        (["check", "notes.txt"], "notes.txt: no such file"),
        (["check", "README.md"], "add --game capture_conquer"),
        (["replay", "nowhere.jsonl"], "nowhere.jsonl"),
        (["conquer"], "conquer"),
    ],
)
def test_bad_input_is_reported_with_exit_status_2(arguments, expected):
    *usage, error = run(*arguments, status=2).splitlines()
    assert expected in error
    # Errors of the command line itself follow its usage.
    assert not usage or usage[0].startswith("Usage: ")


def test_analyze_prints_value_score_and_statistics():
    out = run("analyze", "minimax:depth=5", "--position", "5b/6/6/6/4b1/rr4 b")
    assert "blue to move" in out
    assert "e5-f6" in out
    assert "value             +1.000 for blue (1 a win, 0 a draw, -1 a loss)\n" in out
    assert "score             +999,999 for blue, proven to be won\n" in out
    assert re.search(
        r"\ncutoffs           [\d,]+ with blue to move, [\d,]+ with red to move\n", out
    )
    out = run("analyze", "mcts:simulations=50", "-o", "size=4")
    assert "visits" in out
    assert "nodes per second" in out
    assert "play" in run("analyze", "random")


@pytest.mark.parametrize(
    ("player", "position", "turn"),
    [
        ("greedy", "8/8/8/1b6/8/3b1b2/4r3/8 r", "7x14x21"),
        ("minimax:depth=3", "8/8/8/1b6/8/3b1b2/4r3/8 r", "7x14x21"),
        ("minimax:depth=3", "8/1b1b1b2/R7/8/8/8/8/8 r", "21x30x23x32"),
        ("mcts:simulations=500", "8/8/8/1b6/8/3b1b2/4r3/8 r", "7x14x21"),
    ],
)
def test_analyze_prints_complete_turns(player, position, turn):
    out = run("analyze", player, "--game", "checkers", "-p", position)
    assert re.search(rf"^ *play +{turn} *$", out, re.MULTILINE)
    assert re.search(rf"^ *line +1\. {turn}\b", out, re.MULTILINE)
    assert ("7x14…" in out) == ("mcts" in player)


@pytest.mark.parametrize(
    ("player", "game", "position"),
    [
        ("mcts:simulations=100", "morris", "bbw..bww...w.wbb.w..wbb. w 22"),
        ("minimax:depth=2", "capture_conquer", "2b3/1bb3/1bb3/5r/2rbrr/4r1 b"),
    ],
)
def test_analysis_line_starts_with_the_chosen_turn(player, game, position):
    out = run("analyze", player, "--game", game, "-p", position)
    (turn,) = re.findall(r"^ *play +(\S.*?) *$", out, re.MULTILINE)
    assert re.search(rf"^ *line +1\. {re.escape(turn)}\b", out, re.MULTILINE)


def test_turns_of_a_line_are_numbered():
    out = run("analyze", "minimax:depth=2", "-g", "cannon")
    assert re.search(r"^line +1\. [a-h]\d-[a-h]\d  2\. [a-h]\d-[a-h]\d$", out, re.MULTILINE)


def test_usage_of_training_commands_shows_the_typed_name():
    out = run("train-alphazero", "--no-such-option", status=2)
    assert out.startswith("Usage: cc_env train-alphazero [OPTIONS]\n")
    assert "Try 'cc_env train-alphazero --help' for help." in out


def test_version_is_printed():
    assert run("--version") == f"cc_env {__version__}\n"


def test_unencodable_names_are_escaped(games_file, monkeypatch):
    to = os.fsdecode(os.fsencode(games_file.parent) + b"/\xff.jsonl")
    output = TextIOWrapper(BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["cc_env", "replay", str(games_file), "--to", to])
    monkeypatch.setattr(sys, "stdout", output)
    with pytest.raises(SystemExit, match="0"):
        main()
    output.seek(0)
    text = output.read()
    assert "2 games written to " in text
    assert "\\udcff.jsonl\n" in text


def test_replay_escapes_control_characters_of_files(game, tmp_path):
    records, pdn = tmp_path / "games.jsonl", tmp_path / "games.pdn"
    names = "\x1b[2Jann", "bob\n\x9b1m\u202e"
    append_record(records, play_match(game, (RandomPlayer(game),) * 2, names=names))
    pdn.write_text('[Black "\x1b[2J"] [White "\u202e"] 9-13 *\n\n1. 9-14 \x1b]0;\x07')
    out = run("replay", records)
    assert r"line 1: \x1b[2Jann - bob\n\x9b1m\u202e" in out
    output = run("replay", pdn, "--keep-going", status=1)
    assert r"game 1: \x1b[2J - \u202e  *, 1 turn" in output
    assert r"cannot read '\x1b]0;\x07'" in output
    assert (out + output).replace("\n", "").isprintable()
    records.write_text(records.read_text().replace('"game":"', '"game":"\u202e'))
    assert run("replay", records, status=2).removesuffix("\n").isprintable()


def test_analyze_prints_all_statistics_of_a_player(tmp_path):
    player = f"agents.reproductions.memory_player.MemoryPlayer:path={tmp_path / 'memory.sqlite'}"
    assert "remembered  nothing" in run("analyze", player)
    Memory(tmp_path / "memory.sqlite", make_game("capture_conquer")).add({(6,): (3, 1)})
    assert re.search(r"remembered +\S+ 3:1", run("analyze", player))


def test_analyze_rejects_unknown_players_and_finished_games():
    message = "there is no player 'minmax'; did you mean minimax? there are: aggressive"
    assert message in run("analyze", "minmax", status=2)
    output = run("analyze", "random", "-p", "bb4/6/6/6/6/rr3b r", status=2)
    assert "the game is over (conquest)" in output


def test_text_options_of_games_are_texts():
    message = "crowning='1e3'; expected: continue or ends_move"
    assert message in run("perft", "-g", "checkers", "-o", "crowning=1e3", status=2)


def test_usage_of_a_script_in_a_folder_with_a_space_omits_the_folder(tmp_path):
    script = tmp_path / "my folder" / "cc_env"
    script.parent.mkdir()
    script.write_text("from cc_env.__main__ import main\nmain()\n")
    command = [sys.executable, script, "games", "--no-such-option"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr.startswith("Usage: cc_env games [OPTIONS]\n")


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        ("games", "typer", "cli"),
        ("serve", "limits", "play"),
        ("arena", "choix", "arena"),
        ("train-ppo", "torch", "train"),
        ("memory", "typer", "cli"),
        ("export-onnx", "torch", "onnx"),
    ],
)
def test_missing_package_names_the_extra_of_the_command(
    monkeypatch, capsys, command, package, extra
):
    def fail(module):
        raise ModuleNotFoundError(name=package)

    monkeypatch.setattr("cc_env.__main__.import_module", fail)
    monkeypatch.setattr("sys.argv", ["cc_env", command])
    assert main() == 2
    assert capsys.readouterr().err == (
        f"error: cc_env {command} needs {package}: pip install 'PATH[{extra}]', "
        "where PATH is the wheel file or the checkout of cc_env\n"
    )


def test_missing_extra_is_reported_in_one_line(capsys, monkeypatch):
    app = typer.Typer()

    @app.command()
    def command_with_missing_extra() -> None:
        raise MissingExtra("this", "that", "other")

    monkeypatch.setattr("sys.argv", ["command"])
    monkeypatch.setattr(app, "pretty_exceptions_enable", False)
    assert application.run(app) == 2
    assert capsys.readouterr().err == f"error: {MissingExtra('this', 'that', 'other')}\n"
