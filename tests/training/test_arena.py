"""Tournaments: the same however they are played, and none of their games is lost."""

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from arena_players import Lowest
from conftest import wait_for

import agents
from agents.memory_player import Memory, MemoryPlayer
from agents.network import Network, Size, save
from cc_env.errors import BadFolder, BadOption, BadPlayer, BadRecord, FolderInUse
from cc_env.games.factory import make_game
from cc_env.match.match import Limits
from cc_env.match.record import read_records
from cc_env.players.builtin import RandomPlayer
from training import arena
from training.arena import report

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LOWEST, HIGHEST = "arena_players.Lowest", "arena_players.Lowest:highest=True"
PLAYERS = "random", LOWEST, HIGHEST


def config(**change):
    return arena.Config(**{"players": PLAYERS, "games": 10, "seed": 3, **change})


def altered(line, **change):
    """Return a line of games.jsonl that says something else."""
    return json.dumps(json.loads(line) | change) + "\n"


def unfinished(line):
    turns = json.loads(line)["turns"][:1]
    return altered(line, turns=turns, seconds=[], result="*", reason="unfinished")


def turned(line):
    """Return a line of games.jsonl with the result turned round."""
    return altered(line, result={"1-0": "0-1", "0-1": "1-0"}[json.loads(line)["result"]])


def results(path):
    return (path / "results.json").read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a tournament that was played at once, here."""
    path = tmp_path_factory.mktemp("whole")
    arena.run_tournament(config(), path, workers=0)
    return path


@pytest.fixture
def half(whole, tmp_path):
    """The folder of the same tournament, stopped after 11 games."""
    path = tmp_path / "half"
    path.mkdir()
    shutil.copy(whole / "config.json", path)
    lines = (whole / "games.jsonl").read_text().splitlines(keepends=True)
    (path / "games.jsonl").write_text("".join(lines[:11]))
    return path


# The same games


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_the_results_are_the_same_bytes_with_any_number_of_workers(whole, tmp_path, workers):
    arena.run_tournament(config(), tmp_path, workers=workers)
    assert results(tmp_path) == results(whole)


def test_results_hold_tables_and_games_but_no_times(whole):
    tables = json.loads(results(whole))
    assert tables["config"]["options"] == {"size": 6, "corner": 3}
    assert [game["game"] for game in tables["games"]] == list(range(30))
    assert tables["players"][0]["name"] == HIGHEST
    assert {"value", "low", "high"} == set(tables["players"][0]["elo"])
    assert sum(tables["endings"].values()) == 30
    assert tables["unplayed"] == []
    assert b"seconds_per_turn" in results(whole)
    assert b'"seconds"' not in results(whole)


def test_all_games_replay(whole):
    games = [game for _, game in read_records(whole / "games.jsonl")]
    assert len(games) == 30
    assert {game.limits["max_turns"] for game in games} == {200}


def test_deterministic_players_play_different_games():
    standings = arena.play_tournament((LOWEST, HIGHEST), games=10).standings
    assert len(set(standings.turns)) > 2


def test_another_seed_is_another_tournament(whole, tmp_path):
    arena.run_tournament(config(seed=4), tmp_path, workers=0)
    assert json.loads(results(tmp_path))["games"] != json.loads(results(whole))["games"]


# Without files


def test_a_match_is_held_in_this_process_by_players_that_are_named_here(monkeypatch):
    monkeypatch.setattr("cc_env.players.specs.PLAYERS", dict(agents.PLAYERS))
    monkeypatch.setattr("agents.PLAYERS", {})
    made = []

    def candidate(game):
        made.append(game)
        return RandomPlayer(game)

    agents.register_player("candidate", candidate)
    tournament = arena.play_tournament(("candidate", HIGHEST), options={"size": 4}, games=4)
    assert tournament.standings.pair(HIGHEST, "candidate").line.games == 4
    assert len(made) == 1 + 4, "one to try, then a fresh one for each game"


def test_players_are_entrants_beside_names():
    game = make_game("capture_conquer", size=4)
    lowest, how = Lowest(game), {"options": {"size": 4}, "games": 4}
    wanted = arena.play_tournament((LOWEST, "random"), **how).standings.pair(LOWEST, "random").line
    assert (
        arena.play_tournament((lowest, "random"), **how).standings.pair("Lowest", "random").line
        == wanted
    )
    alias = {"mine": lowest, "theirs": LOWEST, "random": "random"}
    standings = arena.play_tournament(alias, **how).standings
    assert {player.name for player in standings.players} == set(alias)
    assert standings.pair("mine", "theirs").line.score.value == 0.5
    assert not {"Lowest", "mine", "theirs"} & set(agents.PLAYERS)


@pytest.mark.slow
def test_players_go_to_processes_as_copies():
    lowest, how = Lowest(make_game("capture_conquer", size=4)), {"options": {"size": 4}}
    here = arena.play_tournament((lowest, "random"), games=4, **how).records
    there = arena.play_tournament((lowest, "random"), games=4, workers=2, **how).records
    assert [game.turns for game in here.values()] == [game.turns for game in there.values()]


def test_players_that_cannot_be_entrants_are_refused():
    lowest = Lowest(make_game("capture_conquer"))
    with pytest.raises(BadPlayer, match="Lowest twice"):
        arena.play_tournament((lowest, lowest))
    with pytest.raises(BadPlayer, match=r"5 is not a player"):
        arena.play_tournament((5, "random"))
    lowest.lock = threading.Lock()
    with pytest.raises(BadPlayer, match=r"Lowest cannot be pickled"):
        arena.play_tournament((lowest, "random"), workers=1)


@pytest.mark.slow
def test_a_match_in_processes_that_die_is_an_error():
    with pytest.raises(ChildProcessError, match=r"game \d could not be played: its process died"):
        arena.play_tournament(("random", "arena_players.Crash"), games=2, workers=1)


# Stopped and continued


def test_a_stopped_tournament_is_continued(whole, half):
    told = []
    before = (half / "games.jsonl").read_text()
    arena.run_tournament(config(), half, workers=0, on_progress=lambda *state: told.append(state))
    assert told == [(done, 30) for done in range(11, 31)]
    assert (half / "games.jsonl").read_text().startswith(before)
    assert results(half) == results(whole)


def test_a_half_written_line_is_played_again(whole, half):
    with (half / "games.jsonl").open("a") as file:
        file.write('{"game":"capture_conquer","opt')
    arena.run_tournament(config(), half, workers=0)
    assert results(half) == results(whole)
    assert len(list(read_records(half / "games.jsonl"))) == 30


def test_a_finished_tournament_is_not_played_again(whole):
    before = (whole / "games.jsonl").read_bytes()
    again = arena.run_tournament(config(anchor="random"), whole, workers=0)
    assert (whole / "games.jsonl").read_bytes() == before
    assert (
        next(player.elo.value for player in again.standings.players if player.name == "random") == 0
    )
    arena.run_tournament(config(), whole, workers=0)


@pytest.mark.slow
def test_killed_at_any_moment_no_finished_game_is_lost_or_played_twice(tmp_path):
    wanted = arena.Config(players=("random", "arena_players.Stopping"), games=24, seed=5)
    script = (
        "from pathlib import Path; from training import arena\n"
        "if __name__ == '__main__':\n"
        f"    arena.run_tournament(arena.Config(players={wanted.players}, games=24, seed=5),"
        f" Path({str(tmp_path / 'killed')!r}), workers=2)"
    )
    (tmp_path / "script.py").write_text(script)
    killed = tmp_path / "killed" / "games.jsonl"
    there = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, HERE)))}

    def finished():
        lines = killed.read_text().splitlines(keepends=True) if killed.exists() else []
        return [line for line in lines if line.endswith("\n")]

    for count in (3, 9):
        stop = {"STOP_FILE": str(killed), "STOP_LINES": str(count + 8)}  # killed before, mostly
        process = subprocess.Popen([sys.executable, tmp_path / "script.py"], env=there | stop)
        wait_for(lambda count=count: len(finished()) >= count, process)
        process.kill()
        process.wait()
        before = finished()
        assert count <= len(before) < 24, "killed in the middle"
    arena.run_tournament(wanted, tmp_path / "killed", workers=0)
    assert finished()[: len(before)] == before
    seeds = [game.seed for _, game in read_records(killed)]
    assert len(seeds) == len(set(seeds)) == 24
    arena.run_tournament(wanted, tmp_path / "whole", workers=0)
    assert results(tmp_path / "killed") == results(tmp_path / "whole")


class Killed(BaseException):
    """Nothing runs after it, as after a kill."""


def killed(*_):
    raise Killed


@pytest.mark.parametrize("where", ["write_atomically", "read_games"])
def test_a_tournament_killed_before_its_first_game_goes_on(whole, tmp_path, monkeypatch, where):
    with monkeypatch.context() as patch:
        patch.setattr(f"training.arena.folder.{where}", killed)
        with pytest.raises(Killed):
            arena.run_tournament(config(), tmp_path, workers=0)
    assert (tmp_path / "config.json").exists() == (where == "read_games")
    arena.run_tournament(config(), tmp_path, workers=0)
    assert results(tmp_path) == results(whole)


def test_an_empty_file_of_games_is_not_another_tournament(tmp_path):
    """0.1.0 left it when it was killed before config.json was there."""
    (tmp_path / "games.jsonl").touch()
    assert len(arena.run_tournament(config(), tmp_path, workers=0).records) == 30


@pytest.mark.slow
def test_killed_with_the_folder_locked_a_tournament_goes_on(whole, tmp_path):
    script = (
        "import os; from pathlib import Path; from training import arena\n"
        "arena.folder.write_atomically = lambda *_: os.kill(os.getpid(), 9)\n"
        f"config = arena.Config(players={PLAYERS}, games=10, seed=3)\n"
        f"arena.run_tournament(config, Path({str(tmp_path)!r}))"
    )
    paths = os.pathsep.join(map(str, (ROOT, HERE)))
    dead = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": paths})
    assert dead.returncode == -9
    assert not (tmp_path / "config.json").exists()
    arena.run_tournament(config(), tmp_path, workers=0)
    assert results(tmp_path) == results(whole)


# A full disk


@contextmanager
def room(size):
    """Let this process write no file beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", [300, 5000, 9000, 9001])
def test_where_the_disk_is_full_nothing_is_half_written_and_the_tournament_goes_on(
    whole, tmp_path, size
):
    with room(size), pytest.raises(OSError, match=r"File too large: '.*\.json") as full:
        arena.run_tournament(config(), tmp_path, workers=0)
    assert full.value.errno == errno.EFBIG
    kept = [path.name for path in tmp_path.iterdir() if path.stat().st_size]
    assert set(kept) <= {"config.json", "games.jsonl"}
    if size > 300:
        games = (tmp_path / "games.jsonl").read_bytes()
        assert games.endswith(b"}\n")
        assert (whole / "games.jsonl").read_bytes()[:20] == games[:20]
    arena.run_tournament(config(), tmp_path, workers=0)
    assert results(tmp_path) == results(whole)


# What is refused


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"games": 12}, "games is 10 there, 12 here"),
        ({"seed": 4}, "seed is 3 there, 4 here"),
        ({"options": {"size": 5}}, "size is 6 there, 5 here"),
        ({"limits": Limits(max_turns=50)}, "max_turns is 200 there, 50 here"),
        ({"players": (LOWEST, HIGHEST)}, "players is .* there"),
    ],
)
def test_the_folder_of_another_tournament_is_refused_and_left_alone(half, change, why):
    before = {path: path.read_bytes() for path in half.iterdir()}
    with pytest.raises(BadFolder, match=f"holds another tournament: .*{why}"):
        arena.run_tournament(config(**change), half, workers=0)
    assert {path: path.read_bytes() for path in half.iterdir()} == before


def test_a_folder_with_other_games_is_refused(half):
    (half / "config.json").unlink()
    with pytest.raises(BadFolder, match=r"has games\.jsonl but no config\.json"):
        arena.run_tournament(config(), half, workers=0)


def test_a_folder_in_use_is_refused(half):
    def again(done, total):
        with pytest.raises(FolderInUse, match="is in use"):
            arena.run_tournament(config(), half, workers=0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        arena.run_tournament(config(), half, workers=0, on_progress=again)
    assert arena.run_tournament(config(), half, workers=0).unplayed == {}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda line: line[: len(line) // 2] + "\n", "3: not JSON"),
        (lambda line: line.replace('"seed":', '"seed":1'), "3: not a game of .* has the seed 1"),
        (lambda line: line.replace("random", "greedy"), "3: not a game of .*: players is .*greedy"),
        (lambda line: altered(line, result="1/2-1/2"), "3: .* the game is .*, recorded 1/2-1/2"),
        (turned, "3: .* the game is .*, recorded"),
        (lambda line: altered(line, reason="time"), "3: .* the game is .*time"),
        (lambda line: altered(line, turns=json.loads(line)["turns"][:-1]), "3: .*unfinished"),
        (unfinished, "3: the game is unfinished, after 1 turns"),
        (lambda line: altered(line, turns=["1,1-6,6"]), "3: turn 1: '1,1-6,6' is not legal"),
        (lambda line: altered(line, start=None), "3: not a game of .*: start is None there"),
        (lambda line: altered(line, options={"size": 7, "corner": 3}), "3: .*: size is 7 there"),
        (lambda line: altered(line, game="checkers", options={}), "3: .*: game is 'checkers'"),
        (lambda line: altered(line, limits={"max_turns": 4}), "3: .*: max_turns is 4 there"),
        (lambda line: altered(line, players=json.loads(line)["players"][::-1]), "3: .*players is"),
        (lambda line: 2 * line, "4: game 2 of the tournament is duplicated"),
    ],
)
def test_games_that_are_broken_altered_or_from_elsewhere_are_refused(half, change, why):
    lines = (half / "games.jsonl").read_text().splitlines(keepends=True)
    lines[2] = change(lines[2])
    (half / "games.jsonl").write_text("".join(lines))
    with pytest.raises(BadRecord, match=rf"games\.jsonl, line {why}"):
        arena.run_tournament(config(), half, workers=0)
    assert (half / "games.jsonl").read_text() == "".join(lines)
    assert not (half / "results.json").exists()


def test_a_fault_is_that_of_the_player_to_move(tmp_path):
    faulty = config(players=("random", "arena_players.Raiser"), games=2)
    arena.run_tournament(faulty, tmp_path, workers=0)
    assert len(arena.run_tournament(faulty, tmp_path, workers=0).records) == 2
    lines = (tmp_path / "games.jsonl").read_text().splitlines(keepends=True)
    lines[0] = turned(lines[0])
    (tmp_path / "games.jsonl").write_text("".join(lines))
    with pytest.raises(BadRecord, match=r"line 1: a fault \(error\) of the player that was not to"):
        arena.run_tournament(faulty, tmp_path, workers=0)


def test_a_player_that_cannot_be_made_is_refused_before_anything_is_written(tmp_path):
    wrong = config(players=("random", "arena_players.unmakable:depth=3"))
    with pytest.raises(BadPlayer, match=r"RuntimeError: no depth 3 today"):
        arena.run_tournament(wrong, tmp_path / "new", workers=0)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("workers", [-1, 1.5])
def test_a_wrong_number_of_workers_is_refused(tmp_path, workers):
    with pytest.raises(BadOption, match=f"workers={workers}"):
        arena.run_tournament(config(), tmp_path / "new", workers=workers)
    assert not (tmp_path / "new").exists()


# Players that fail


@pytest.mark.parametrize(
    ("name", "reason", "detail"),
    [
        ("arena_players.Raiser", "error", "RuntimeError: lost my head"),
        ("arena_players.Cheat", "illegal", "is not legal"),
        ("arena_players.Forever", "time", "had 0.500 s"),
        ("arena_players.Leaver", "error", "SystemExit: bye"),
    ],
)
def test_who_fails_loses_for_that_reason_and_the_tournament_goes_on(tmp_path, name, reason, detail):
    faulty = config(players=("random", name, LOWEST), games=2, limits=Limits(seconds_per_turn=0.5))
    tournament = arena.run_tournament(faulty, tmp_path, workers=0)
    assert len(tournament.records) == 6
    lost = [game for game in tournament.records.values() if name in game.players]
    assert len(lost) == 4
    for game in lost:
        assert game.reason == reason
        assert detail in game.detail
        assert game.players[game.result == "1-0"] == name
    others = [game.reason for game in tournament.records.values() if name not in game.players]
    assert reason not in others
    worst = tournament.standings.players[-1]
    assert (worst.name, worst.faults) == (name, {reason: 4})


@pytest.mark.slow
def test_a_game_whose_process_dies_is_left_out_and_named_and_tried_again(tmp_path):
    crashing = config(players=("random", "arena_players.Crash"), games=4)
    for _ in range(2):
        tournament = arena.run_tournament(crashing, tmp_path, workers=2)
        plan = tournament.schedule
        crashed = [
            pairing.index
            for pairing in plan
            if pairing.players == ("random", "arena_players.Crash")
        ]
        assert sorted(tournament.unplayed) == crashed
        assert set(tournament.unplayed.values()) == {"its process died (SIGKILL)"}
        assert len(tournament.records) == 2
    assert [failure["game"] for failure in json.loads(results(tmp_path))["unplayed"]] == crashed


@pytest.mark.slow
def test_who_never_finishes_a_game_leaves_the_others_their_tables(tmp_path):
    config = arena.Config(
        players=("random", HIGHEST, "arena_players.Dead"), options={"size": 4}, games=2
    )
    tournament = arena.run_tournament(config, tmp_path, workers=1)
    assert len(tournament.records) == 2
    assert len(tournament.unplayed) == 4
    by_name = {player.name: player for player in tournament.standings.players}
    assert by_name["arena_players.Dead"].line.games == 0
    assert by_name["arena_players.Dead"].elo.high > by_name["random"].elo.high
    assert (tmp_path / "results.json").exists()
    assert "arena_players.Dead" in report.to_html(tournament, "command")


def test_games_from_one_position_are_one_opening():
    tournament = arena.play_tournament(
        ("minimax:depth=1", "minimax:depth=2"), games=20, opening_turns=0
    )
    assert {pairing.opening for pairing in tournament.schedule} == {0}
    interval = tournament.standings.pair("minimax:depth=1", "minimax:depth=2").line.score
    assert interval.high - interval.low > 0.5


# Networks


def test_a_tournament_of_other_weights_is_another_one(tmp_path):
    game, names = make_game("capture_conquer", size=4), (f"policy:path={tmp_path}", "random")
    settled, hashes = {"players": names, "options": {"size": 4}, "games": 2}, []
    for seed in range(2):
        torch.manual_seed(seed)
        network = Network(game, Size(blocks=1, channels=8))
        save(tmp_path / "best.safetensors", network, game, {})
        hashes.append(config(**settled).to_json()["weights"][names[0]])
        if seed == 0:
            arena.run_tournament(config(**settled), tmp_path / "run", workers=0)
    assert hashes[0] != hashes[1]
    with pytest.raises(BadFolder, match=r"holds another tournament: policy.* is .* there"):
        arena.run_tournament(config(**settled), tmp_path / "run")


# Players that learn


def learning(tmp_path, games=40, **change):
    memory = f"memory:path={tmp_path / 'memory.sqlite'}"
    return config(
        players=(memory, "minimax:depth=1"),
        options={"size": 4},
        games=games,
        opening_turns=0,
        learn=True,
        **change,
    )


def test_a_player_that_remembers_gets_better_and_the_same_each_time(tmp_path):
    scores = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        settled = learning(tmp_path / name)
        standings = arena.run_tournament(settled, tmp_path / name / "run").standings
        scores.append(list(standings.learning.values()))
    assert scores[0] == scores[1]
    mine, other = scores[0]
    assert len(mine) == 10
    assert mine == pytest.approx([1 - score for score in other])
    assert sum(mine[-3:]) > sum(mine[:3]) + 0.3


def test_a_learning_tournament_goes_on_where_it_stopped(tmp_path):
    settled, path = learning(tmp_path, games=8), tmp_path / "run"
    arena.run_tournament(settled, path)
    content = (path / "games.jsonl").read_text().splitlines(keepends=True)
    (path / "games.jsonl").write_text("".join(content[:5]))
    assert len(arena.run_tournament(settled, path).records) == 8
    assert (path / "games.jsonl").read_text().splitlines(keepends=True)[:5] == content[:5]


def remembered(path, game):
    return np.sum([choice.wins for choice in Memory(path, game).choices()], 0).tolist()


@pytest.mark.parametrize("both", [False, True], ids=["one", "two of one file"])
def test_each_game_is_remembered_once_whatever_was_killed(tmp_path, monkeypatch, both):
    path, game = tmp_path / "memory.sqlite", make_game("mini_checkers")
    names = (f"memory:path={path}", f"memory:path={tmp_path}/./memory.sqlite" if both else "random")
    settled = config(
        players=names, game="mini_checkers", options={}, games=6, opening_turns=0, learn=True
    )
    remember, told = MemoryPlayer.remember, []

    def killed(self, record):
        told.append(record)
        if len(told) == 3:
            raise KeyboardInterrupt
        remember(self, record)

    with monkeypatch.context() as patch:
        patch.setattr(MemoryPlayer, "remember", killed)
        with pytest.raises(KeyboardInterrupt):
            arena.run_tournament(settled, tmp_path / "run")
    results = [
        game.result for game in arena.run_tournament(settled, tmp_path / "run").records.values()
    ]
    assert remembered(path, game) == [results.count("1-0"), results.count("0-1")]


def test_the_same_players_do_not_learn_unless_asked(tmp_path):
    memory = tmp_path / "memory.sqlite"
    arena.play_tournament((f"memory:path={memory}", "random"), options={"size": 4}, games=2)
    assert not memory.exists()
    tournament = arena.play_tournament(
        (f"memory:path={memory}", "random"),
        options={"size": 4},
        games=2,
        opening_turns=0,
        learn=True,
    )
    assert memory.exists()
    assert set(tournament.standings.learning) == set(tournament.config.players)


def test_learning_in_a_way_that_cannot_be_is_refused(tmp_path):
    with pytest.raises(BadOption, match="opening_turns=4; expected 0"):
        config(learn=True)
    with pytest.raises(BadOption, match=r"memory:path="):
        arena.run_tournament(config(learn=True, opening_turns=0), tmp_path / "run")
    for how in ({"workers": 2}, {"engine": "ray"}):
        with pytest.raises(BadOption, match="expected workers=0"):
            arena.run_tournament(learning(tmp_path), tmp_path / "run", **how)
    assert not (tmp_path / "run").exists()
