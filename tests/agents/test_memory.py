import json
import sqlite3
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from conftest import command_line

import agents
from agents.memory import START, Memory, MemoryPlayer, credits, main
from cc_env import files, games, players
from cc_env.errors import BadRecord, UnknownOption
from cc_env.games.morris import tree
from cc_env.match import Limits
from cc_env.referee import Clock, play
from cc_env.rules import DRAW, FIRST_WINS, SECOND_WINS

MORRIS = games.make("morris")
SMALL = games.make("capture_conquer", size=4)


def recorded(kind):
    path = Path(__file__).parents[1] / "oracle" / "morris.jsonl.gz"
    found = (json.loads(text) for _, text in files.lines(path))
    return [line for line in found if line["kind"] == kind]


def played(choices):
    """Return the actions of recorded choices; fewer where one is not legal."""
    line, position = [], MORRIS.initial
    for _, phase, name in choices:
        wanted = f"-{name}" if phase == 3 else name
        legal = MORRIS.legal_actions(position)
        found = [each for each in legal if MORRIS.action_text(position, int(each)) == wanted]
        if not found:
            break
        line.append(int(found[0]))
        position = MORRIS.apply(position, line[-1])
    return tuple(line)


def won(line, seat):
    return credits(SMALL, line, seat)


def ask(player, position, seed=0):
    return player.choose(position, np.random.default_rng(seed), Clock())


def test_the_counts_of_recorded_games_are_found_again():
    compared = 0
    for line in recorded("memory"):
        for game, counts in (("game1", "counts1"), ("game2", "counts2")):
            actions = played(line[game])
            end = MORRIS.play_turn(MORRIS.initial, actions)
            if len(actions) < len(line[game]) or MORRIS.mid_turn(end):
                continue  # the original did not see a mill
            first_is_person = line[game][0][0] == 1
            found = list(credits(MORRIS, actions, DRAW, "mills").values())
            expected = [tuple(each) for each in line[counts]]
            assert [each[::-1] if first_is_person else each for each in found] == expected
            compared += 1
    assert compared > 16


def test_two_recorded_games_merge_to_the_recorded_tree(tmp_path):
    compared = 0
    for number, line in enumerate(recorded("memory")):
        counts, illegal = tree.read(MORRIS, json.dumps(line["merged"]))
        if illegal:
            continue
        memory = Memory(tmp_path / f"{number}.sqlite", MORRIS)
        for game in ("game1", "game2"):
            memory.add(credits(MORRIS, played(line[game]), DRAW, "mills"), "replace")
        assert memory.counts() == counts
        first = line["game1"][0][0]
        written = tree.write(MORRIS, memory.counts(), first=first)
        assert json.loads(written) == line["merged"]
        assert list(json.loads(written)) == list(line["merged"])
        compared += 1
    assert compared > 8


def test_what_is_not_legal_in_a_tree_is_left_out_with_what_follows():
    found = [tree.read(MORRIS, json.dumps(line["merged"])) for line in recorded("memory")]
    cut = [(counts, illegal) for counts, illegal in found if illegal]
    assert cut
    assert all(counts and "in '" in illegal[0] for counts, illegal in cut)


def test_choices_are_those_recorded(tmp_path):
    """The recorded continuations of a place are put at the start, all of them to be placed."""
    compared = 0
    for number, line in enumerate(recorded("recall")):
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
        chosen = {ask(player, MORRIS.initial, seed).action for seed in range(25)}
        if line["choice"]:
            assert chosen == {names[line["choice"]]}
        else:
            assert len(chosen) > 1
            assert not chosen & {names[each] for each in line["avoid"]}
        compared += 1
    assert compared > 20


def test_each_choice_of_a_game_gets_the_win():
    assert credits(SMALL, (3, 5), FIRST_WINS) == {(3,): (1, 0), (3, 5): (1, 0)}
    assert credits(SMALL, (3, 5), SECOND_WINS) == {(3,): (0, 1), (3, 5): (0, 1)}
    assert credits(SMALL, (3, 5), DRAW) == {(3,): (0, 0), (3, 5): (0, 0)}


def test_wins_of_games_are_added_or_replaced(tmp_path):
    for merge, expected in (("add", (2, 1)), ("replace", (0, 1))):
        memory = Memory(tmp_path / merge, SMALL)
        for seat in (0, 0, 1):
            memory.add(won((1, 2), seat), merge)
        assert memory.counts() == {(1,): expected, (1, 2): expected}


def test_games_and_options_do_not_mix(tmp_path):
    path = tmp_path / "memory.sqlite"
    Memory(path, SMALL).add(won((1, 2), 0))
    Memory(path, MORRIS).add({(7,): (0, 1)})
    assert Memory(path, SMALL).counts() == {(1,): (1, 0), (1, 2): (1, 0)}
    assert Memory(path, MORRIS).counts() == {(7,): (0, 1)}
    assert Memory(path, games.make("capture_conquer", size=6)).counts() == {}


def test_it_follows_a_line_that_won_against_the_same_answers(tmp_path):
    """A lost game is stored, then a won one; then the player follows the won one to its end."""
    path = str(tmp_path / "memory.sqlite")
    rounds = [
        play(SMALL, [MemoryPlayer(SMALL, path=path), Scripted(SMALL)], seed=seed)
        for seed in range(40)
    ]
    won = next(each for each in rounds if each.result == "1-0")
    lost = next(each for each in rounds if each.result == "0-1")
    learner = MemoryPlayer(SMALL, path=path)
    learner.remember(lost)
    learner.remember(won)
    for seed in range(3):
        again = play(SMALL, [MemoryPlayer(SMALL, path=path), Scripted(SMALL)], seed=100 + seed)
        assert again.turns == won.turns


def test_it_plays_the_second_seat_and_several_games(tmp_path):
    path = str(tmp_path / "memory.sqlite")
    learner = MemoryPlayer(SMALL, path=path)
    won = next(
        each
        for each in (play(SMALL, [Scripted(SMALL), learner], seed=seed) for seed in range(40))
        if each.result == "0-1"
    )
    learner.remember(won)
    for seed in range(2):
        assert play(SMALL, [Scripted(SMALL), learner], seed=seed).turns == won.turns


class Scripted:
    """Plays the same answer to the same position."""

    def __init__(self, game):
        self.game = game

    def choose(self, position, rng, clock):
        legal = self.game.legal_actions(position)
        return players.Decision(int(legal[int(self.game.key(position)) % len(legal)]))


def test_where_nothing_won_it_tries_something_new(tmp_path):
    path = tmp_path / "memory.sqlite"
    legal = SMALL.legal_actions(SMALL.initial)
    Memory(path, SMALL).add({(int(each),): (0, 1) for each in legal[:-1]})
    player = MemoryPlayer(SMALL, path=str(path))
    assert {ask(player, SMALL.initial, seed).action for seed in range(20)} == {legal[-1]}
    Memory(path, SMALL).add({(int(legal[-1]),): (0, 0)})
    assert len({ask(player, SMALL.initial, seed).action for seed in range(50)}) == len(legal)


def test_by_balance_losses_count_as_well(tmp_path):
    path = tmp_path / "memory.sqlite"
    often, well, *others = map(int, SMALL.legal_actions(SMALL.initial))
    Memory(path, SMALL).add({(often,): (10, 90), (well,): (9, 0)})
    by_wins, by_balance = (
        MemoryPlayer(SMALL, path=path),
        MemoryPlayer(SMALL, path=path, by="balance"),
    )
    assert ask(by_wins, SMALL.initial).action == often
    assert ask(by_balance, SMALL.initial).action == well
    Memory(path, SMALL).add({(well,): (0, 9)})
    assert ask(by_balance, SMALL.initial).action in others


def test_what_is_not_legal_is_never_played(tmp_path):
    path = tmp_path / "memory.sqlite"
    Memory(path, SMALL).add({(SMALL.num_actions - 1,): (9, 9)})
    player = MemoryPlayer(SMALL, path=str(path))
    assert ask(player, SMALL.initial).action in SMALL.legal_actions(SMALL.initial)


def test_it_says_what_it_remembers(tmp_path):
    path = tmp_path / "memory.sqlite"
    first, second = map(int, SMALL.legal_actions(SMALL.initial)[:2])
    Memory(path, SMALL).add({(first,): (1, 3), (second,): (2, 6)})
    found = ask(MemoryPlayer(SMALL, path=str(path)), SMALL.initial)
    assert (found.action, found.value) == (second, -0.5)
    texts = [SMALL.action_text(SMALL.initial, each) for each in (first, second)]
    assert found.details["remembered"] == {texts[0]: (1, 3), texts[1]: (2, 6)}


def test_unfinished_faulty_and_foreign_games_are_not_remembered(tmp_path):
    player = MemoryPlayer(SMALL, path=str(tmp_path / "memory.sqlite"))
    two = [players.make("random", SMALL)] * 2
    opened = SMALL.play_turn(SMALL.initial, next(SMALL.turns(SMALL.initial)))
    player.remember(play(SMALL, two, start=opened, limits=Limits(max_turns=4)))
    player.remember(play(SMALL, [two[0], Illegal()]))
    assert not player._memory.path.exists()
    other = games.make("capture_conquer", size=6)
    with pytest.raises(BadRecord, match=r"wanted: games\.make"):
        player.remember(play(other, [players.make("random", other)] * 2))


class Illegal:
    def choose(self, position, rng, clock):
        return players.Decision(-1)


def test_without_a_file_it_plays_at_random_and_makes_none(tmp_path):
    path = tmp_path / "none" / "memory.sqlite"
    player = agents.make(f"memory:path={path}", SMALL)
    assert len({ask(player, SMALL.initial, seed).action for seed in range(30)}) > 3
    assert not path.parent.exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"no database at all, but long enough to be one" * 9, "is no memory of games"),
        (None, "some other SQLite file"),
        (b"SQLite format 3\0" + b"\0" * 9, "is no memory of games"),
    ],
)
def test_another_file_is_refused_and_left_as_it_is(tmp_path, content, says):
    path = tmp_path / "memory.sqlite"
    if content is None:
        with sqlite3.connect(path) as base:
            base.execute("CREATE TABLE something (id INTEGER)")
        base.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(BadRecord, match=says):
        agents.make(f"memory:path={path}", SMALL)
    assert path.read_bytes() == before


def test_a_later_version_is_refused(tmp_path):
    path = tmp_path / "memory.sqlite"
    Memory(path, SMALL).add(won((1,), 0))
    with sqlite3.connect(path) as base:
        base.execute("PRAGMA user_version = 9")
    base.close()
    with pytest.raises(BadRecord, match="is of version 9; this reads version 2"):
        Memory(path, SMALL)


@pytest.mark.parametrize("option", ["credit=luck", "merge=mix", "by=heart"])
def test_options_that_are_none_are_refused(option):
    with pytest.raises(UnknownOption, match="it is one of: "):
        agents.make(f"memory:{option}", SMALL)


def _add_many(path, times):
    memory = Memory(path, SMALL)
    for _ in range(times):
        memory.add(won((1, 2, 3), 0))


def test_several_processes_add_to_one_file(tmp_path):
    path = tmp_path / "memory.sqlite"
    context = get_context("spawn")
    workers = [context.Process(target=_add_many, args=(path, 25)) for _ in range(3)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert [each.exitcode for each in workers] == [0, 0, 0]
    assert Memory(path, SMALL).counts()[1, 2, 3] == (75, 0)


def test_a_kill_leaves_whole_games_only(tmp_path):
    path = tmp_path / "memory.sqlite"
    long = tuple(range(400))
    for _ in range(3):
        code = (
            "from agents.memory import Memory; from cc_env import games; import sys\n"
            "memory = Memory(sys.argv[1], games.make('capture_conquer', size=4))\n"
            "line = tuple(range(400))\n"
            "while True:\n"
            "    memory.add({line[: n + 1]: (1, 0) for n in line})\n"
            "    print('.', flush=True)\n"
        )
        worker = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
        worker.stdout.readline()
        time.sleep(0.05)
        worker.kill()
        worker.wait()
        worker.stdout.close()
        counts = Memory(path, SMALL).counts()
        assert len(counts) == len(long)
        assert len(set(counts.values())) == 1


def test_a_tree_goes_through_the_commands(tmp_path):
    text = json.dumps(recorded("memory")[0]["merged"])
    source, back, memory = (tmp_path / name for name in ("nine_mens.json", "back.json", "m.sqlite"))
    source.write_text(text, encoding="utf-8")
    for command in (["import", source], ["export", back, "--first", "2"]):
        assert "42 choices" in command_line(main, *command, "-m", memory)
    assert json.loads(back.read_text(encoding="utf-8")) == json.loads(text)


def test_a_game_is_remembered_once_by_each_credit(tmp_path):
    path = tmp_path / "memory.sqlite"
    played = play(MORRIS, (players.RandomPlayer(MORRIS),) * 2, names=("a", "b"), seed=1)
    counts = []
    for credit in ("result", "mills", "mills", "result"):
        MemoryPlayer(MORRIS, path=str(path), credit=credit).remember(played)
        counts.append(Memory(path, MORRIS).counts())
    assert counts[0] != counts[1]
    assert counts[1] == counts[2] == counts[3]


def test_an_empty_memory_is_not_exported_over_a_file(tmp_path):
    file, memory = tmp_path / "back.json", tmp_path / "misspelt.sqlite"
    file.write_text("precious", encoding="utf-8")
    out = command_line(main, "export", file, "-m", memory, status=2)
    assert "misspelt.sqlite has no games of" in out
    assert file.read_text(encoding="utf-8") == "precious"
    assert not memory.exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[" * 5000, "not JSON"),
        ("[]", "the tree: wanted an object"),
        ('{"A": 3}', "A: wanted an object"),
        ('{"A": {"wins": -1, "looses": 0, "phase": 1, "player": 1, "move": {}}}', "A: cannot be"),
        ('{"A": {"wins": 0, "looses": 0, "phase": 1, "player": 1}}', "A: wanted an object"),
    ],
)
def test_a_broken_tree_is_refused(tmp_path, text, says):
    with pytest.raises(BadRecord, match=says):
        tree.read(MORRIS, text)


def test_who_began_is_the_person_or_the_machine():
    with pytest.raises(UnknownOption, match="first=3; it is 1, the person, or 2"):
        tree.write(MORRIS, {}, first=3)


def test_the_start_has_no_choice_before_it(tmp_path):
    memory = Memory(tmp_path / "memory.sqlite", SMALL)
    memory.add(won((1, 2), 0))
    assert memory.follow(START, ()) == START
    assert memory.follow(START, (1, 2)) is not None
    assert memory.follow(START, (2, 1)) is None
