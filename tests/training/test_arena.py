"""Tournaments: results are reproducible, and finished games survive interruptions."""

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
from agents.network import Network, save
from agents.network_weights import Size
from agents.reproductions.memory_player import Memory, MemoryPlayer
from cc_env.errors import BadFolder, BadOption, BadPlayer, BadRecord, FolderInUse
from cc_env.games.factory import make_game
from cc_env.match.match import Limits
from cc_env.match.record import read_records
from cc_env.match.referee import Decision
from cc_env.players.builtin import RandomPlayer
from training import arena
from training.arena import report

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
LOWEST, HIGHEST = "arena_players.Lowest", "arena_players.Lowest:highest=True"
PLAYERS = "random", LOWEST, HIGHEST


def config(**change):
    return arena.Config(**{"players": PLAYERS, "games": 10, "seed": 3, **change})


def altered_line(line, **change):
    """Return a line of games.jsonl with changed fields."""
    return json.dumps(json.loads(line) | change) + "\n"


def as_unfinished_line(line):
    turns = json.loads(line)["turns"][:1]
    return altered_line(line, turns=turns, seconds=[], result="*", reason="unfinished")


def with_swapped_result(line):
    """Return a line of games.jsonl with the opposite result."""
    return altered_line(line, result={"1-0": "0-1", "0-1": "1-0"}[json.loads(line)["result"]])


def results(path):
    return (path / "results.json").read_bytes()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a tournament played without interruption in this process."""
    path = tmp_path_factory.mktemp("whole")
    arena.run_tournament(config(), path, workers=0)
    return path


@pytest.fixture
def interrupted(finished, tmp_path):
    """The folder of the same tournament, interrupted after 11 games."""
    path = tmp_path / "half"
    path.mkdir()
    shutil.copy(finished / "config.json", path)
    lines = (finished / "games.jsonl").read_text().splitlines(keepends=True)
    (path / "games.jsonl").write_text("".join(lines[:11]))
    return path


# Reproducible games


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_results_do_not_depend_on_workers(finished, tmp_path, workers):
    arena.run_tournament(config(), tmp_path, workers=workers)
    assert results(tmp_path) == results(finished)


def test_results_contain_tables_and_games(finished):
    tables = json.loads(results(finished))
    assert tables["config"]["options"] == {"size": 6, "corner": 3}
    assert [game["game"] for game in tables["games"]] == list(range(30))
    assert tables["players"][0]["name"] == HIGHEST
    assert {"value", "low", "high"} == set(tables["players"][0]["elo"])
    assert sum(tables["endings"].values()) == 30
    assert tables["unplayed"] == []


def test_results_omit_measured_times(finished):
    assert b"seconds_per_turn" in results(finished)
    assert b'"seconds"' not in results(finished)


def test_all_games_replay(finished):
    games = [game for _, game in read_records(finished / "games.jsonl")]
    assert len(games) == 30
    assert {game.limits["max_turns"] for game in games} == {200}


def test_deterministic_players_play_different_games():
    standings = arena.play_tournament((LOWEST, HIGHEST), games=10).standings
    assert len(set(standings.turns)) > 2


def test_another_seed_gives_other_games(finished, tmp_path):
    arena.run_tournament(config(seed=4), tmp_path, workers=0)
    assert json.loads(results(tmp_path))["games"] != json.loads(results(finished))["games"]


# Without files


def test_match_accepts_players_registered_in_this_process(monkeypatch):
    monkeypatch.setattr("cc_env.players.specs.PLAYERS", dict(agents.PLAYERS))
    monkeypatch.setattr("agents.PLAYERS", {})
    created = []

    def candidate(game):
        created.append(game)
        return RandomPlayer(game)

    agents.register_player("candidate", candidate)
    tournament = arena.play_tournament(("candidate", HIGHEST), options={"size": 4}, games=4)
    assert tournament.standings.pair(HIGHEST, "candidate").tally.games == 4
    # The first player only checks the spec.
    assert len(created) == 1 + 4


def test_player_objects_and_specs_can_enter():
    game = make_game("capture_conquer", size=4)
    lowest, options = Lowest(game), {"options": {"size": 4}, "games": 4}
    by_spec = arena.play_tournament((LOWEST, "random"), **options).standings
    by_object = arena.play_tournament((lowest, "random"), **options).standings
    expected = by_spec.pair(LOWEST, "random").tally
    assert by_object.pair("Lowest", "random").tally == expected
    alias = {"mine": lowest, "theirs": LOWEST, "random": "random"}
    standings = arena.play_tournament(alias, **options).standings
    assert {player.name for player in standings.players} == set(alias)
    assert standings.pair("mine", "theirs").tally.score.value == 0.5
    assert not {"Lowest", "mine", "theirs"} & set(agents.PLAYERS)


@pytest.mark.slow
def test_worker_processes_use_copies_of_players():
    lowest, options = Lowest(make_game("capture_conquer", size=4)), {"options": {"size": 4}}
    turns = []
    for workers in (0, 2):
        tournament = arena.play_tournament((lowest, "random"), games=4, workers=workers, **options)
        turns.append([game.turns for game in tournament.records.values()])
    assert turns[0] == turns[1]


def test_invalid_entrants_are_rejected():
    lowest = Lowest(make_game("capture_conquer"))
    with pytest.raises(BadPlayer, match="Lowest twice"):
        arena.play_tournament((lowest, lowest))
    with pytest.raises(BadPlayer, match=r"5 is not a player"):
        arena.play_tournament((5, "random"))
    lowest.lock = threading.Lock()
    with pytest.raises(BadPlayer, match=r"Lowest cannot be pickled"):
        arena.play_tournament((lowest, "random"), workers=1)


@pytest.mark.slow
def test_dying_process_fails_a_match():
    with pytest.raises(ChildProcessError, match=r"game \d could not be played: the process died"):
        arena.play_tournament(("random", "arena_players.Crash"), games=2, workers=1)


# Resuming


def test_stopped_tournament_resumes(finished, interrupted):
    progress = []
    before = (interrupted / "games.jsonl").read_text()
    arena.run_tournament(
        config(), interrupted, workers=0, on_progress=lambda *counts: progress.append(counts)
    )
    assert progress == [(count, 30) for count in range(11, 31)]
    assert (interrupted / "games.jsonl").read_text().startswith(before)
    assert results(interrupted) == results(finished)


def test_game_of_a_partial_line_is_played_again(finished, interrupted):
    with (interrupted / "games.jsonl").open("a") as file:
        file.write('{"game":"capture_conquer","opt')
    arena.run_tournament(config(), interrupted, workers=0)
    assert results(interrupted) == results(finished)
    assert len(list(read_records(interrupted / "games.jsonl"))) == 30


def test_finished_tournament_is_not_played_again(finished):
    before = (finished / "games.jsonl").read_bytes()
    again = arena.run_tournament(config(anchor="random"), finished, workers=0)
    assert (finished / "games.jsonl").read_bytes() == before
    assert (
        next(player.elo.value for player in again.standings.players if player.name == "random") == 0
    )
    arena.run_tournament(config(), finished, workers=0)


@pytest.mark.slow
def test_kill_neither_loses_nor_repeats_finished_games(tmp_path):
    config = arena.Config(players=("random", "arena_players.Stopping"), games=24, seed=5)
    script = (
        "from pathlib import Path; from training import arena\n"
        "if __name__ == '__main__':\n"
        f"    arena.run_tournament(arena.Config(players={config.players}, games=24, seed=5),"
        f" Path({str(tmp_path / 'killed')!r}), workers=2)"
    )
    (tmp_path / "script.py").write_text(script)
    killed = tmp_path / "killed" / "games.jsonl"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, FOLDER)))}

    def finished():
        lines = killed.read_text().splitlines(keepends=True) if killed.exists() else []
        return [line for line in lines if line.endswith("\n")]

    for count in (3, 9):
        # The kill mostly comes before the limit of lines.
        stop = {"STOP_FILE": str(killed), "STOP_LINES": str(count + 8)}
        process = subprocess.Popen([sys.executable, tmp_path / "script.py"], env=environment | stop)
        wait_for(lambda count=count: len(finished()) >= count, process)
        process.kill()
        process.wait()
        before = finished()
        assert count <= len(before) < 24, "killed during the tournament"
    arena.run_tournament(config, tmp_path / "killed", workers=0)
    assert finished()[: len(before)] == before
    seeds = [game.seed for _, game in read_records(killed)]
    assert len(seeds) == len(set(seeds)) == 24
    arena.run_tournament(config, tmp_path / "whole", workers=0)
    assert results(tmp_path / "killed") == results(tmp_path / "whole")


class Killed(BaseException):
    """Stands for a kill: no handler catches it."""


def killed(*_):
    raise Killed


@pytest.mark.parametrize("where", ["write_atomically", "read_games"])
def test_tournament_killed_before_its_first_game_resumes(finished, tmp_path, monkeypatch, where):
    with monkeypatch.context() as patch:
        patch.setattr(f"training.arena.folder.{where}", killed)
        with pytest.raises(Killed):
            arena.run_tournament(config(), tmp_path, workers=0)
    assert (tmp_path / "config.json").exists() == (where == "read_games")
    arena.run_tournament(config(), tmp_path, workers=0)
    assert results(tmp_path) == results(finished)


def test_empty_games_file_is_accepted(tmp_path):
    """Version 0.1.0 left an empty file if it was killed before it wrote config.json."""
    (tmp_path / "games.jsonl").touch()
    assert len(arena.run_tournament(config(), tmp_path, workers=0).records) == 30


@pytest.mark.slow
def test_tournament_killed_with_a_locked_folder_resumes(finished, tmp_path):
    script = (
        "import os; from pathlib import Path; from training import arena\n"
        "arena.folder.write_atomically = lambda *_: os.kill(os.getpid(), 9)\n"
        f"config = arena.Config(players={PLAYERS}, games=10, seed=3)\n"
        f"arena.run_tournament(config, Path({str(tmp_path)!r}))"
    )
    paths = os.pathsep.join(map(str, (ROOT, FOLDER)))
    dead = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": paths})
    assert dead.returncode == -9
    assert not (tmp_path / "config.json").exists()
    arena.run_tournament(config(), tmp_path, workers=0)
    assert results(tmp_path) == results(finished)


# A full disk


@contextmanager
def room(size):
    """Limit the size of files that this process writes, in bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", [300, 5000, 9000, 9001])
def test_tournament_resumes_after_a_full_disk(finished, tmp_path, size):
    with room(size), pytest.raises(OSError, match=r"File too large: '.*\.json") as full:
        arena.run_tournament(config(), tmp_path, workers=0)
    assert full.value.errno == errno.EFBIG
    file_names = [path.name for path in tmp_path.iterdir() if path.stat().st_size]
    assert set(file_names) <= {"config.json", "games.jsonl"}
    if size > 300:
        games = (tmp_path / "games.jsonl").read_bytes()
        assert games.endswith(b"}\n")
        assert (finished / "games.jsonl").read_bytes()[:20] == games[:20]
    arena.run_tournament(config(), tmp_path, workers=0)
    assert results(tmp_path) == results(finished)


# Invalid folders and records


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"games": 12}, "games: saved 10, requested 12"),
        ({"seed": 4}, "seed: saved 3, requested 4"),
        ({"options": {"size": 5}}, "size: saved 6, requested 5"),
        ({"limits": Limits(max_turns=50)}, "max_turns: saved 200, requested 50"),
        ({"players": (LOWEST, HIGHEST)}, "players: saved .*, requested"),
    ],
)
def test_folder_of_another_tournament_is_rejected_unchanged(interrupted, change, message):
    before = {path: path.read_bytes() for path in interrupted.iterdir()}
    with pytest.raises(BadFolder, match=f"holds another tournament: .*{message}"):
        arena.run_tournament(config(**change), interrupted, workers=0)
    assert {path: path.read_bytes() for path in interrupted.iterdir()} == before


def test_folder_with_games_but_no_config_is_rejected(interrupted):
    (interrupted / "config.json").unlink()
    with pytest.raises(BadFolder, match=r"has games\.jsonl but no config\.json"):
        arena.run_tournament(config(), interrupted, workers=0)


def test_folder_in_use_is_rejected(interrupted):
    def again(done, total):
        with pytest.raises(FolderInUse, match="is in use"):
            arena.run_tournament(config(), interrupted, workers=0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        arena.run_tournament(config(), interrupted, workers=0, on_progress=again)
    assert arena.run_tournament(config(), interrupted, workers=0).unplayed == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda line: line[: len(line) // 2] + "\n", "3: not JSON"),
        (lambda line: line.replace('"seed":', '"seed":1'), "3: not a game of .* has the seed 1"),
        (
            lambda line: line.replace("random", "greedy"),
            "3: not a game of .*: players: saved .*greedy",
        ),
        (
            lambda line: altered_line(line, result="1/2-1/2"),
            "3: .* the game is .*, recorded 1/2-1/2",
        ),
        (with_swapped_result, "3: .* the game is .*, recorded"),
        (lambda line: altered_line(line, reason="time"), "3: .* the game is .*time"),
        (lambda line: altered_line(line, turns=json.loads(line)["turns"][:-1]), "3: .*unfinished"),
        (as_unfinished_line, "3: the game is unfinished, after 1 turns"),
        (lambda line: altered_line(line, turns=["1,1-6,6"]), "3: turn 1: '1,1-6,6' is not legal"),
        (lambda line: altered_line(line, start=None), "3: not a game of .*: start: saved None"),
        (
            lambda line: altered_line(line, options={"size": 7, "corner": 3}),
            "3: .*: size: saved 7",
        ),
        (
            lambda line: altered_line(line, game="checkers", options={}),
            "3: .*: game: saved 'checkers'",
        ),
        (lambda line: altered_line(line, limits={"max_turns": 4}), "3: .*: max_turns: saved 4"),
        (
            lambda line: altered_line(line, players=json.loads(line)["players"][::-1]),
            "3: .*players: saved",
        ),
        (lambda line: 2 * line, "4: game 2 of the tournament is duplicated"),
    ],
)
def test_invalid_or_foreign_games_are_rejected(interrupted, change, message):
    lines = (interrupted / "games.jsonl").read_text().splitlines(keepends=True)
    lines[2] = change(lines[2])
    (interrupted / "games.jsonl").write_text("".join(lines))
    with pytest.raises(BadRecord, match=rf"games\.jsonl, line {message}"):
        arena.run_tournament(config(), interrupted, workers=0)
    assert (interrupted / "games.jsonl").read_text() == "".join(lines)
    assert not (interrupted / "results.json").exists()


def test_fault_of_the_waiting_player_is_rejected(tmp_path):
    faulty = config(players=("random", "arena_players.Raiser"), games=2)
    for _ in range(2):
        with pytest.warns(arena.ForfeitWarning):
            tournament = arena.run_tournament(faulty, tmp_path, workers=0)
    assert len(tournament.records) == 2
    lines = (tmp_path / "games.jsonl").read_text().splitlines(keepends=True)
    lines[0] = with_swapped_result(lines[0])
    (tmp_path / "games.jsonl").write_text("".join(lines))
    with pytest.raises(BadRecord, match=r"line 1: a fault \(error\) of the player that was not to"):
        arena.run_tournament(faulty, tmp_path, workers=0)


def test_failing_player_creation_writes_nothing(tmp_path):
    wrong = config(players=("random", "arena_players.unmakable:depth=3"))
    with pytest.raises(BadPlayer, match=r"RuntimeError: no depth 3 today"):
        arena.run_tournament(wrong, tmp_path / "new", workers=0)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("workers", [-1, 1.5])
def test_invalid_number_of_workers_is_rejected(tmp_path, workers):
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
def test_failing_player_loses_and_the_tournament_continues(tmp_path, name, reason, detail):
    faulty = config(players=("random", name, LOWEST), games=2, limits=Limits(seconds_per_turn=0.5))
    with pytest.warns(
        arena.ForfeitWarning, match=f"^{name} forfeits 4 of its 4 games; the first by {reason}: "
    ) as caught:
        tournament = arena.run_tournament(faulty, tmp_path, workers=0)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert tournament.has_player_without_finished_game
    assert len(tournament.records) == 6
    lost = [game for game in tournament.records.values() if name in game.players]
    assert len(lost) == 4
    for game in lost:
        assert game.reason == reason
        assert detail in game.detail
        assert game.players[game.result == "1-0"] == name
    games = tournament.records.values()
    assert all(game.reason != reason for game in games if name not in game.players)
    worst = tournament.standings.players[-1]
    assert (worst.name, worst.faults) == (name, {reason: 4})


class Late:
    """Returns an integer instead of a decision from its second game on."""

    def __init__(self, game):
        self.game, self.games = game, 0

    def for_new_game(self):
        self.games += 1
        return self

    def choose(self, position, rng, clock):
        action = int(rng.choice(self.game.choices(position)))
        return Decision(action) if self.games < 2 else action


def test_warning_has_the_first_reason_of_each_player(game):
    message = (
        r"^Late forfeits 3 of its 4 games; the first by error: BadPlayer: choose returned \d+; "
        r"expected: a Decision, such as cc_env\.match\.referee\.Decision\(action\)$"
    )
    with pytest.warns(arena.ForfeitWarning, match=message) as caught:
        tournament = arena.play_tournament((Late(game), "random"), games=4)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert not tournament.has_player_without_finished_game
    assert tournament.forfeit_messages == [str(caught[0].message)]


def test_tournament_without_faults_has_no_warning():
    tournament = arena.play_tournament(("random", "greedy"), games=2)
    assert (tournament.forfeit_messages, tournament.has_player_without_finished_game) == ([], False)


@pytest.mark.slow
def test_game_of_a_dead_process_is_reported_and_retried(tmp_path):
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
        assert set(tournament.unplayed.values()) == {"the process died (SIGKILL)"}
        assert len(tournament.records) == 2
    assert [failure["game"] for failure in json.loads(results(tmp_path))["unplayed"]] == crashed


@pytest.mark.slow
def test_tables_cover_players_without_finished_games(tmp_path):
    config = arena.Config(
        players=("random", HIGHEST, "arena_players.Dead"), options={"size": 4}, games=2
    )
    tournament = arena.run_tournament(config, tmp_path, workers=1)
    assert len(tournament.records) == 2
    assert len(tournament.unplayed) == 4
    by_name = {player.name: player for player in tournament.standings.players}
    assert by_name["arena_players.Dead"].tally.games == 0
    assert by_name["arena_players.Dead"].elo.high > by_name["random"].elo.high
    assert (tmp_path / "results.json").exists()
    assert "arena_players.Dead" in report.to_html(tournament, "command")


def test_equal_starting_positions_count_as_one_opening():
    tournament = arena.play_tournament(
        ("minimax:depth=1", "minimax:depth=2"), games=20, opening_turns=0
    )
    assert {pairing.opening for pairing in tournament.schedule} == {0}
    interval = tournament.standings.pair("minimax:depth=1", "minimax:depth=2").tally.score
    assert interval.high - interval.low > 0.5


# Networks


def test_changed_weights_make_another_tournament(tmp_path):
    game, names = make_game("capture_conquer", size=4), (f"policy:path={tmp_path}", "random")
    settings, hashes = {"players": names, "options": {"size": 4}, "games": 2}, []
    for seed in range(2):
        torch.manual_seed(seed)
        network = Network(game, Size(blocks=1, channels=8))
        save(tmp_path / "best.safetensors", network, game, {})
        hashes.append(config(**settings).to_json()["weights"][names[0]])
        if seed == 0:
            arena.run_tournament(config(**settings), tmp_path / "run", workers=0)
    assert hashes[0] != hashes[1]
    with pytest.raises(BadFolder, match=r"holds another tournament: policy.*: saved .*, requested"):
        arena.run_tournament(config(**settings), tmp_path / "run")


# Versions of searches and processors


def processors(folder):
    return json.loads((folder / "results.json").read_text())["processors"]


def test_results_name_the_processors_that_played(tmp_path, monkeypatch):
    settings = config(players=("greedy", "random"), games=2)
    monkeypatch.setattr(arena, "describe_processor", lambda: "first")
    arena.run_tournament(settings, tmp_path, workers=0)
    assert processors(tmp_path) == ["first"]
    monkeypatch.setattr(arena, "describe_processor", lambda: "second")
    arena.run_tournament(settings, tmp_path, workers=0)
    assert processors(tmp_path) == ["first"]
    games = (tmp_path / "games.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "games.jsonl").write_text(games[0])
    arena.run_tournament(settings, tmp_path, workers=0)
    assert processors(tmp_path) == ["first", "second"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"processors": 5}', "\udcff"])
def test_invalid_results_are_replaced(tmp_path, monkeypatch, text):
    settings = config(players=("greedy", "random"), games=2)
    arena.run_tournament(settings, tmp_path, workers=0)
    (tmp_path / "results.json").write_bytes(text.encode(errors="surrogateescape"))
    arena.run_tournament(settings, tmp_path, workers=0)
    assert processors(tmp_path) == []


def decisions(*players):
    return config(players=players).to_json().get("decisions", {})


def test_decisions_of_searches_are_recorded():
    limited = "minimax:depth=2", "minimax:depth=5", "minimax:seconds=0.1", "minimax"
    hashes = decisions("random", *limited, "greedy", "minimax:depth=2,selective=True")
    assert list(hashes) == [*limited, "greedy", "minimax:depth=2,selective=True"]
    # Limits belong to the player spec, not to the version of the search.
    assert len({hashes[name] for name in limited}) == 1
    assert len(set(hashes.values())) == 3
    assert decisions("random", LOWEST) == {}


def test_decisions_of_networks_are_recorded():
    searches = "alphazero:simulations=8", "alphazero:seconds=0.1", "alphazero:exploration=3"
    hashes = decisions("policy", "ppo", *searches)
    assert list(hashes) == ["policy", "ppo", *searches]
    assert hashes[searches[0]] == hashes[searches[1]]
    assert len(set(hashes.values())) == 4


def test_changed_evaluation_makes_another_tournament(tmp_path, monkeypatch):
    settings = {"players": ("greedy", "random"), "games": 2}
    arena.run_tournament(config(**settings), tmp_path / "run", workers=0)
    evaluation = make_game("capture_conquer").evaluation("published")
    monkeypatch.setattr("cc_env.players.builtin.find_evaluation", lambda game, name: evaluation)
    with pytest.raises(BadFolder, match=r"holds another tournament: greedy: saved .*, requested"):
        arena.run_tournament(config(**settings), tmp_path / "run")


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


def test_memory_player_improves_reproducibly(tmp_path):
    turns = []
    for name, games in (("one", 8), ("other", 40)):
        (tmp_path / name).mkdir()
        settings = learning(tmp_path / name, games)
        tournament = arena.run_tournament(settings, tmp_path / name / "run")
        turns.append([tournament.records[index].turns for index in range(8)])
    # The first games do not depend on the number of games.
    assert turns[0] == turns[1]
    memory_scores, minimax_scores = tournament.standings.learning.values()
    assert len(memory_scores) == 10
    assert memory_scores == pytest.approx([1 - score for score in minimax_scores])
    assert sum(memory_scores[-3:]) > sum(memory_scores[:3]) + 0.3


def test_learning_tournament_resumes(tmp_path):
    settings, path = learning(tmp_path, games=8), tmp_path / "run"
    arena.run_tournament(settings, path)
    content = (path / "games.jsonl").read_text().splitlines(keepends=True)
    (path / "games.jsonl").write_text("".join(content[:5]))
    assert len(arena.run_tournament(settings, path).records) == 8
    assert (path / "games.jsonl").read_text().splitlines(keepends=True)[:5] == content[:5]


def total_wins(path, game):
    return np.sum([choice.wins for choice in Memory(path, game).choices()], 0).tolist()


@pytest.mark.parametrize("both", [False, True], ids=["one", "two of one file"])
def test_resumed_tournament_remembers_each_game_once(tmp_path, monkeypatch, both):
    path, game = tmp_path / "memory.sqlite", make_game("mini_checkers")
    names = (f"memory:path={path}", f"memory:path={tmp_path}/./memory.sqlite" if both else "random")
    settings = config(
        players=names, game="mini_checkers", options={}, games=6, opening_turns=0, learn=True
    )
    remember, records = MemoryPlayer.remember, []

    def interrupt_third_game(self, record):
        records.append(record)
        if len(records) == 3:
            raise KeyboardInterrupt
        remember(self, record)

    with monkeypatch.context() as patch:
        patch.setattr(MemoryPlayer, "remember", interrupt_third_game)
        with pytest.raises(KeyboardInterrupt):
            arena.run_tournament(settings, tmp_path / "run")
    results = [
        game.result for game in arena.run_tournament(settings, tmp_path / "run").records.values()
    ]
    assert total_wins(path, game) == [results.count("1-0"), results.count("0-1")]


def test_players_do_not_learn_by_default(tmp_path):
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


def test_invalid_learning_configs_are_rejected(tmp_path):
    with pytest.raises(BadOption, match="opening_turns=4 with learn=True; expected: 0"):
        config(learn=True)
    with pytest.raises(BadOption, match=r"memory:path="):
        arena.run_tournament(config(learn=True, opening_turns=0), tmp_path / "run")
    for options in ({"workers": 2}, {"engine": "ray"}):
        with pytest.raises(BadOption, match="expected: workers=0"):
            arena.run_tournament(learning(tmp_path), tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()
