import contextlib
import json
import sqlite3
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from conftest import command_line

import agents
from agents.reproductions import memory_tree
from agents.reproductions.memory_command import app
from agents.reproductions.memory_player import START, Memory, MemoryPlayer, credits
from cc_env.cli.application import run
from cc_env.core.rules import DRAW, FIRST_WINS, SECOND_WINS
from cc_env.errors import BadOption, BadRecord, UnknownOption
from cc_env.files import read_lines
from cc_env.games.factory import make_game
from cc_env.match.match import Limits
from cc_env.match.referee import Clock, Decision, play_match
from cc_env.players.builtin import RandomPlayer
from cc_env.players.specs import make_player

MORRIS = make_game("morris")
SMALL = make_game("capture_conquer", size=4)


def read_recordings(kind):
    path = Path(__file__).parents[1] / "oracle" / "morris.jsonl.gz"
    recordings = (json.loads(text) for _, text in read_lines(path))
    return [line for line in recordings if line["kind"] == kind]


def parse_choices(choices):
    """Return the actions of recorded choices up to the first illegal one."""
    line, position = [], MORRIS.initial
    for _, phase, name in choices:
        expected = f"-{name}" if phase == 3 else name
        legal = map(int, MORRIS.legal_actions(position))
        action = next((a for a in legal if MORRIS.action_text(position, a) == expected), None)
        if action is None:
            break
        line.append(action)
        position = MORRIS.apply(position, line[-1])
    return tuple(line)


def credits_of(line, seat):
    return credits(SMALL, line, seat)


def ask(player, position, seed=0):
    return player.choose(position, np.random.default_rng(seed), Clock())


def test_credits_match_recorded_games():
    """morris: move memory with wins/looses: `memory` lines."""
    compared = 0
    for line in read_recordings("memory"):
        for game, counts in (("game1", "counts1"), ("game2", "counts2")):
            actions = parse_choices(line[game])
            end = MORRIS.play_turn(MORRIS.initial, actions)
            if len(actions) < len(line[game]) or MORRIS.mid_turn(end):
                # The original program overlooked a mill.
                continue
            first_is_person = line[game][0][0] == 1
            credited = list(credits(MORRIS, actions, DRAW, "mills").values())
            expected = [tuple(wins) for wins in line[counts]]
            assert [wins[::-1] if first_is_person else wins for wins in credited] == expected
            compared += 1
    assert compared > 16


def test_merged_games_match_the_recorded_tree(tmp_path):
    """morris: move memory, kept in a file between games: `memory` lines."""
    compared = 0
    for number, line in enumerate(read_recordings("memory")):
        counts, illegal = memory_tree.read(MORRIS, json.dumps(line["merged"]))
        if illegal:
            continue
        memory = Memory(tmp_path / f"{number}.sqlite", MORRIS)
        for game in ("game1", "game2"):
            memory.add(credits(MORRIS, parse_choices(line[game]), DRAW, "mills"), "replace")
        assert memory.counts() == counts
        first = line["game1"][0][0]
        exported = memory_tree.write(MORRIS, memory.counts(), first=first)
        assert json.loads(exported) == line["merged"]
        assert list(json.loads(exported)) == list(line["merged"])
        compared += 1
    assert compared > 8


def test_illegal_choices_are_skipped_with_their_subtrees():
    trees = [
        memory_tree.read(MORRIS, json.dumps(line["merged"])) for line in read_recordings("memory")
    ]
    cut = [(counts, illegal) for counts, illegal in trees if illegal]
    assert cut
    assert all(counts and "in '" in illegal[0] for counts, illegal in cut)


def test_choices_match_the_original_program(tmp_path):
    """The continuation with the most wins, or a random new one (oracle lines of kind `recall`).

    The recorded continuations become first moves; only placements are compared.
    """
    compared = 0
    for number, line in enumerate(read_recordings("recall")):
        if any(len(name) != 1 for name, *_ in line["children"]):
            continue
        names = {name: ord(name) - ord("A") for name, *_ in line["children"]}
        memory = Memory(tmp_path / f"{number}.sqlite", MORRIS)
        memory.add(
            {
                (names[name],): (wins, losses) if player == 2 else (losses, wins)
                for name, player, wins, losses in line["children"]
            }
        )
        player = MemoryPlayer(MORRIS, path=str(memory.path))
        actions = {ask(player, MORRIS.initial, seed).action for seed in range(10)}
        if line["choice"]:
            assert actions == {names[line["choice"]]}
        else:
            assert len(actions) > 1
            assert not actions & {names[choice] for choice in line["avoid"]}
        compared += 1
    assert compared > 20


def test_every_choice_is_credited_to_the_winner():
    assert credits(SMALL, (3, 5), FIRST_WINS) == {(3,): (1, 0), (3, 5): (1, 0)}
    assert credits(SMALL, (3, 5), SECOND_WINS) == {(3,): (0, 1), (3, 5): (0, 1)}
    assert credits(SMALL, (3, 5), DRAW) == {(3,): (0, 0), (3, 5): (0, 0)}


def test_wins_of_games_are_added_or_replaced(tmp_path):
    for merge, expected in (("add", (2, 1)), ("replace", (0, 1))):
        memory = Memory(tmp_path / merge, SMALL)
        for seat in (0, 0, 1):
            memory.add(credits_of((1, 2), seat), merge)
        assert memory.counts() == {(1,): expected, (1, 2): expected}


def test_memories_of_games_and_options_are_separate(tmp_path):
    path = tmp_path / "memory.sqlite"
    Memory(path, SMALL).add(credits_of((1, 2), 0))
    Memory(path, MORRIS).add({(7,): (0, 1)})
    assert Memory(path, SMALL).counts() == {(1,): (1, 0), (1, 2): (1, 0)}
    assert Memory(path, MORRIS).counts() == {(7,): (0, 1)}
    assert Memory(path, make_game("capture_conquer", size=6)).counts() == {}


def test_player_follows_a_won_line(tmp_path):
    """After a lost and a won game, the player repeats the won one to its end."""
    path = str(tmp_path / "memory.sqlite")
    rounds = [
        play_match(SMALL, [MemoryPlayer(SMALL, path=path), Scripted(SMALL)], seed=seed)
        for seed in range(40)
    ]
    won_game = next(record for record in rounds if record.result == "1-0")
    lost_game = next(record for record in rounds if record.result == "0-1")
    learner = MemoryPlayer(SMALL, path=path)
    learner.remember(lost_game)
    learner.remember(won_game)
    for seed in range(3):
        again = play_match(
            SMALL, [MemoryPlayer(SMALL, path=path), Scripted(SMALL)], seed=100 + seed
        )
        assert again.turns == won_game.turns


def test_player_follows_a_won_line_in_the_second_seat(tmp_path):
    path = str(tmp_path / "memory.sqlite")
    learner = MemoryPlayer(SMALL, path=path)
    won_game = next(
        record
        for record in (
            play_match(SMALL, [Scripted(SMALL), learner], seed=seed) for seed in range(40)
        )
        if record.result == "0-1"
    )
    learner.remember(won_game)
    for seed in range(2):
        assert play_match(SMALL, [Scripted(SMALL), learner], seed=seed).turns == won_game.turns


class Scripted:
    """Plays the same action in the same position."""

    def __init__(self, game):
        self.game = game

    def choose(self, position, rng, clock):
        legal = self.game.legal_actions(position)
        return Decision(int(legal[int(self.game.key(position)) % len(legal)]))


def test_player_tries_new_actions_without_wins(tmp_path):
    path = tmp_path / "memory.sqlite"
    legal = SMALL.legal_actions(SMALL.initial)
    Memory(path, SMALL).add({(int(action),): (0, 1) for action in legal[:-1]})
    player = MemoryPlayer(SMALL, path=str(path))
    assert {ask(player, SMALL.initial, seed).action for seed in range(20)} == {legal[-1]}
    Memory(path, SMALL).add({(int(legal[-1]),): (0, 0)})
    assert len({ask(player, SMALL.initial, seed).action for seed in range(50)}) == len(legal)


def test_illegal_remembered_action_is_not_played(tmp_path):
    path = tmp_path / "memory.sqlite"
    Memory(path, SMALL).add({(SMALL.num_actions - 1,): (9, 9)})
    player = MemoryPlayer(SMALL, path=str(path))
    assert ask(player, SMALL.initial).action in SMALL.legal_actions(SMALL.initial)


def test_decision_lists_remembered_wins(tmp_path):
    path = tmp_path / "memory.sqlite"
    first, second = map(int, SMALL.legal_actions(SMALL.initial)[:2])
    Memory(path, SMALL).add({(first,): (1, 3), (second,): (2, 6)})
    decision = ask(MemoryPlayer(SMALL, path=str(path)), SMALL.initial)
    assert (decision.action, decision.value) == (second, -0.5)
    texts = [SMALL.action_text(SMALL.initial, action) for action in (first, second)]
    assert decision.details["remembered"] == {texts[0]: (1, 3), texts[1]: (2, 6)}


def test_unfinished_and_faulty_games_are_not_remembered(tmp_path):
    player = MemoryPlayer(SMALL, path=str(tmp_path / "memory.sqlite"))
    two = [make_player("random", SMALL)] * 2
    position = SMALL.play_turn(SMALL.initial, next(SMALL.turns(SMALL.initial)))
    player.remember(play_match(SMALL, two, start=position, limits=Limits(max_turns=4)))
    player.remember(play_match(SMALL, [two[0], Illegal()]))
    assert not player._memory.path.exists()
    other = make_game("capture_conquer", size=6)
    with pytest.raises(BadRecord, match=r"expected: "):
        player.remember(play_match(other, [make_player("random", other)] * 2))


class Illegal:
    def choose(self, position, rng, clock):
        return Decision(-1)


def test_missing_file_gives_random_play_and_is_not_created(tmp_path):
    path = tmp_path / "none" / "memory.sqlite"
    player = agents.make_player(f"memory:path={path}", SMALL)
    assert len({ask(player, SMALL.initial, seed).action for seed in range(30)}) > 3
    assert not path.parent.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no database at all, but long enough to be one" * 9, "is not a memory of games"),
        (None, "some other SQLite file"),
        (b"SQLite format 3\0" + b"\0" * 9, "is not a memory of games"),
    ],
)
def test_file_of_another_kind_is_rejected_unchanged(tmp_path, content, message):
    path = tmp_path / "memory.sqlite"
    if content is None:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE something (id INTEGER)")
        connection.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(BadRecord, match=message):
        agents.make_player(f"memory:path={path}", SMALL)
    assert path.read_bytes() == before


def test_later_version_is_rejected(tmp_path):
    path = tmp_path / "memory.sqlite"
    Memory(path, SMALL).add(credits_of((1,), 0))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(BadRecord, match=": version 9; expected: 2"):
        Memory(path, SMALL)


@pytest.mark.parametrize("option", ["credit=luck", "merge=mix"])
def test_unknown_option_values_are_rejected(option):
    with pytest.raises(UnknownOption, match="; expected: "):
        agents.make_player(f"memory:{option}", SMALL)


@pytest.fixture
def memory_file(tmp_path):
    """The file of a memory of one line of three choices, with ids 1 to 3."""
    memory = Memory(tmp_path / "memory.sqlite", SMALL)
    memory.add(credits_of((1, 2, 3), 0))
    return memory.path


def execute(path, *commands):
    with sqlite3.connect(path) as connection:
        for command in commands:
            connection.execute(command)
    connection.close()


BAD_CHOICE = r"memory.sqlite: choice -?\d+, after \d+, is invalid: action .*, wins "
ROW = "UPDATE choices SET {} WHERE id = 2"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (ROW.format("first_wins = -1"), BAD_CHOICE),
        (ROW.format("second_wins = 'many'"), BAD_CHOICE),
        (ROW.format("first_wins = 1.5"), BAD_CHOICE),
        (ROW.format("first_wins = 9223372036854775807"), BAD_CHOICE),
        (ROW.format("second_wins = x'00'"), BAD_CHOICE),
        (ROW.format("action = -5"), BAD_CHOICE),
        (ROW.format("action = 'up'"), BAD_CHOICE),
        (
            ROW.format("action = CAST(x'ff41' AS TEXT)"),
            "is not a memory of games: Could not decode",
        ),
        (
            ROW.format("first_wins = CAST(x'ff' AS TEXT)"),
            "is not a memory of games: Could not decode",
        ),
        ("UPDATE choices SET id = -7 WHERE id = 1", BAD_CHOICE),
        (
            "CREATE TRIGGER t AFTER INSERT ON choices BEGIN DELETE FROM choices; END",
            "the tables of",
        ),
        ("CREATE VIEW v AS SELECT * FROM choices", "does not have the tables"),
        ("DROP TABLE remembered", "does not have the tables"),
    ],
)
def test_altered_memory_is_rejected(memory_file, command, message):
    execute(memory_file, command)
    with pytest.raises(BadRecord, match=message):
        Memory(memory_file, SMALL).counts()


@pytest.mark.parametrize("value", ["-1", "'many'", "1.5", "x'00'", "CAST(x'ff' AS TEXT)"])
def test_altered_memory_is_not_extended(memory_file, value):
    execute(memory_file, ROW.format(f"first_wins = {value}"))
    before = memory_file.read_bytes()
    with pytest.raises(BadRecord, match=r"is invalid|not a memory"):
        Memory(memory_file, SMALL).add(credits_of((1, 2, 3), 0))
    assert memory_file.read_bytes() == before


@pytest.mark.parametrize(
    "commands",
    [
        [f"UPDATE choices SET parent = {3 - 3 * n} WHERE id = {1 + 2 * n}" for n in range(2)],
        ["INSERT INTO choices VALUES (0, 1, 0, 9, 0, 0)"],
    ],
    ids=["a circle", "its own parent"],
)
def test_cyclic_choices_are_rejected(memory_file, commands):
    execute(memory_file, *commands)
    with pytest.raises(BadRecord, match="is invalid: action"):
        Memory(memory_file, SMALL).counts()


def test_unrelated_undecodable_rows_are_ignored(memory_file):
    execute(memory_file, "INSERT INTO games VALUES (9, CAST(x'ff' AS TEXT))")
    execute(memory_file, "INSERT INTO remembered VALUES (CAST(x'fe' AS TEXT))")
    assert len(Memory(memory_file, SMALL).counts()) == 3


def test_full_disk_raises_and_keeps_the_memory(memory_file, monkeypatch):
    """A page limit makes SQLite report a full disk."""
    connect, pages = sqlite3.connect, memory_file.stat().st_size // 4096

    def small(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(sqlite3, "connect", small)
    line = tuple(range(2000))
    with pytest.raises(OSError, match=r"memory\.sqlite: database or disk is full"):
        Memory(memory_file, SMALL).add(credits_of(line, 0))
    monkeypatch.undo()
    assert len(Memory(memory_file, SMALL).counts()) == 3


def _add_many(path, times):
    memory = Memory(path, SMALL)
    for _ in range(times):
        memory.add(credits_of((1, 2, 3), 0))


def test_several_processes_add_to_one_file(tmp_path):
    path = tmp_path / "memory.sqlite"
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        # The process has started when it has added a first game.
        pool.submit(_add_many, path, 1).result()
        other = pool.submit(_add_many, path, 50)
        _add_many(path, 50)
        other.result()
    assert Memory(path, SMALL).counts()[1, 2, 3] == (101, 0)


def test_file_under_construction_reads_as_empty(tmp_path):
    path = tmp_path / "memory.sqlite"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert Memory(path, SMALL).choices() == []
        other.execute("ROLLBACK")
    memory = Memory(path, SMALL)
    memory.add(credits_of((1, 2, 3), 0))
    assert memory.counts()[1, 2, 3] == (1, 0)


SCRIPT = """
import sys
from agents.reproductions.memory_player import Memory
from cc_env.games.factory import make_game

memory = Memory(sys.argv[1], make_game("capture_conquer", size=4))
line = tuple(range(400))
for game in range(10**6):
    memory.add({line[: n + 1]: (1, 0) for n in line}, source=f"game {game}")
    print(game, flush=True)
"""


def test_killed_writer_leaves_complete_games(tmp_path):
    """The process is killed inside a transaction, which SQLite's journal shows, or after one."""
    path, reported = tmp_path / "memory.sqlite", -1
    journal = Path(f"{path}-journal")
    for kill in range(2):
        command = [sys.executable, "-c", SCRIPT, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            reported = max(reported, *(int(process.stdout.readline()) for _ in range(kill + 2)))
            while not kill % 2 and not journal.exists():
                pass
            process.kill()
            reported = max([reported, *map(int, process.stdout.read().split())])
        counts = Memory(path, SMALL).counts()
        assert len(counts) == 400
        (wins,) = set(counts.values())
        # The last game may be stored but not yet reported.
        assert wins in ((reported + 1, 0), (reported + 2, 0))
        reported = wins[0] - 1
        with sqlite3.connect(path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("SELECT count(*) FROM remembered").fetchone() == (wins[0],)
        connection.close()


def test_import_and_export_round_trip(tmp_path):
    """morris: move memory with wins/looses/phase/player, kept in a file between games."""
    text = json.dumps(read_recordings("memory")[0]["merged"])
    source, back, memory = (tmp_path / name for name in ("nine_mens.json", "back.json", "m.sqlite"))
    source.write_text(text, encoding="utf-8")
    for command in (["import", source], ["export", back, "--first", "2"]):
        assert "42 choices" in command_line(partial(run, app), *command, "-m", memory)
    assert json.loads(back.read_text(encoding="utf-8")) == json.loads(text)


def test_game_is_counted_once_per_credit_scheme(tmp_path):
    path = tmp_path / "memory.sqlite"
    record = play_match(MORRIS, (RandomPlayer(MORRIS),) * 2, names=("a", "b"), seed=1)
    counts = []
    for credit in ("result", "mills", "mills", "result"):
        MemoryPlayer(MORRIS, path=str(path), credit=credit).remember(record)
        counts.append(Memory(path, MORRIS).counts())
    assert counts[0] != counts[1]
    assert counts[1] == counts[2] == counts[3]


def test_empty_memory_is_not_exported_over_a_file(tmp_path):
    file, memory = tmp_path / "back.json", tmp_path / "misspelt.sqlite"
    file.write_text("precious", encoding="utf-8")
    out = command_line(partial(run, app), "export", file, "-m", memory, status=2)
    assert "misspelt.sqlite has no games of" in out
    assert file.read_text(encoding="utf-8") == "precious"
    assert not memory.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[" * 5000, "not JSON"),
        ("[]", "the tree: "),
        ('{"A": 3}', "A: "),
        ('{"A": {"wins": -1, "looses": 0, "phase": 1, "player": 1, "move": {}}}', "A: .*wins -1"),
        ('{"A": {"wins": 0, "looses": 0, "phase": 1, "player": 1}}', "A: "),
    ],
)
def test_broken_tree_is_rejected(tmp_path, text, message):
    with pytest.raises(BadRecord, match=message):
        memory_tree.read(MORRIS, text)


def test_invalid_first_player_is_rejected():
    with pytest.raises(BadOption, match="first=3"):
        memory_tree.write(MORRIS, {}, first=3)


def test_follow_finds_known_sequences_of_choices(tmp_path):
    memory = Memory(tmp_path / "memory.sqlite", SMALL)
    memory.add(credits_of((1, 2), 0))
    assert memory.follow(START, ()) == START
    assert memory.follow(START, (1, 2)) is not None
    assert memory.follow(START, (2, 1)) is None
