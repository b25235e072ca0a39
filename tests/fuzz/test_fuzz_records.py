"""Untrusted files of games: records, PDN, logs."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from fuzz import pdn_grammar
from fuzz.damage import bytes_damaged
from fuzz.harness import call_or_reject
from fuzz.mutations import SEEDS, lines, mutate, texts
from fuzz.pdn_programs import PROGRAMS, whole_games
from hypothesis import given
from hypothesis import strategies as st

from cc_env.core.game import BrokenGame
from cc_env.games.cannon import log
from cc_env.games.checkers import pdn
from cc_env.games.checkers.pdn_tokens import is_tag_name
from cc_env.games.factory import make_game
from cc_env.match import record
from cc_env.match.match import Limits
from cc_env.match.record import (
    find_format,
    read_records,
    replay_foreign,
    replay_records,
    replay_text,
    valid_games,
)
from cc_env.match.referee import play_match
from cc_env.play import importing
from cc_env.play.exporting import export_game
from cc_env.play.session import HUMAN, GameSession
from cc_env.players.builtin import RandomPlayer
from cc_env.registry.catalogue import GAMES

PDN = [
    '[Event "a \\"b\\" \\\\"]\n[Black "One"]\n[White "Two"]\n[Result "1-0"]\n'
    '[GameType "21,B,8,8,N1,0"]\n\n1. 9-13 {edge} 22-18 2. 10-14 ; aside\n18x9 (18-15? 11x18)'
    " 3. 5x14 $1 23-18! 1-0\n",
    '[SetUp "1"]\n[FEN "B:W14,15,22,23,K32:B1,10"]\n1. 10x26 15-11 2. 1-5 *\n\n',
    '[FEN "W:W30:B21,22"]\r\n1... 30-25* 2. 22x29 1-0\r\n% line\r\n[Event "x"] 1/2-1/2',
    '[RuleOptions "crowning=continue, no_progress_limit=80"]\n1. 11-15 23-19 2. 8-11 22-17*\n',
    '\ufeff[Result "0-0"] 1115 2319 2. 8 - 11(?) ½-½',
]
LOG = [
    '{"meta": "", "action": "INIT", "data": "1 8 8 120"} Received from client 0\n'
    '{"meta": "", "action": "NORMAL", "data": "S 2 5 M 1 4"} Received from client 0\n',
    '{"meta": "", "action": "NORMAL", "data": "S 2 5 M 1 4"} Received from client 0\n'
    "None Received from client 1\n",
    '{"meta": "TIMEOUT BY PLAYER 1 : Player 1 SCORE : 0.12 : Player 2 SCORE : 10.12",'
    ' "action": "FINISH", "data": ""} Received from client 0\n',
    '{"meta": "", "action": "KILLPROC", "data": ""} Received from client 1\n',
]


def write(path, text):
    """Write a text in an encoding that depends on its length."""
    encoding = ("utf-8", "utf-8", "utf-8", "latin-1", "utf-16")[len(text) % 5]
    errors = "surrogatepass" if encoding != "latin-1" else "replace"
    path.write_bytes(text.encode(encoding, errors))


@pytest.mark.parametrize("name", GAMES)
def test_altered_records_raise_only_cc_env_errors(name, tmp_path):
    path, good = tmp_path / "games.jsonl", []
    for seed in range(2):
        game = make_game(name)
        limits = Limits(max_turns=(6, 150)[seed])
        players = (RandomPlayer(game),) * 2
        good.append(play_match(game, players, seed=seed, limits=limits).to_json())
    empty_record = json.loads(good[0]) | {
        "start": game.to_text(game.initial),
        "seed": None,
        "turns": [],
    }
    good.append(json.dumps(empty_record | {"reason": "time", "result": "0-1"}))

    @given(lines(good))
    def fuzz(line):
        path.write_text(line + "\n" + good[0], "utf-8", "surrogatepass")
        for entry in call_or_reject(lambda: list(read_records(path))) or ():
            assert record.Record.from_json(entry[1].to_json()) == entry[1]
            entry[1].to_json().encode()

    fuzz()


@pytest.mark.parametrize(
    "part",
    [
        *(
            "[",
            "[a ",
            '[a "',
            '[a "\\',
            '[a "\\"',
            "[a\n",
            "[a]",
            "[a: ",
            '[a"]b',
            '[a.b "x"',
            "[a \n",
            "[a[b] ",
            "[ \n",
            '[a "x"] {',
            '\n[a "x"] (',
            "\\",
        ),
        *(
            "{",
            "(",
            "({",
            "{(",
            "(\n[",
            "{\n[",
            "\n{",
            ")",
            "}",
            ";",
            "\n%",
            "1",
            "1 ",
            "1.",
            "1-",
            "1-1",
        ),
        *(
            "11x",
            "* ",
            "9-13*",
            "$",
            "0-0 ",
            "1/2",
            "…",
            "'",
            "\0",
            "\n[FEN ",
            '[FEN "B:W1-32:B1-32"] ',
        ),
    ],
)
def test_repetitive_pdn_is_read_quickly(part):
    english = make_game("checkers", **pdn.ENGLISH)
    for text in (part * 5000, '[a "' + part * 5000, '[a "b"] 9-13 ' + part * 5000 + "x"):
        call_or_reject(lambda text=text: list(pdn.read(text, english)))


@pytest.mark.parametrize("part", ['[a{} "x"]\n\n', '[a{} "x"]', "{}. 9-13* ", "9-13* ", "{}. * "])
def test_long_pdn_is_read_quickly(part):
    english = make_game("checkers", **pdn.ENGLISH)
    text = "".join(part.format(number) for number in range(9000))
    call_or_reject(lambda: list(pdn.read(text, english)))


def test_random_pdn_files_raise_only_cc_env_errors():
    english = make_game("checkers", **pdn.ENGLISH)

    @given(texts([*PDN, "\n".join(PDN)], max_length=4000))
    def fuzz(text):
        for entry in call_or_reject(lambda: list(pdn.read(text, english))):
            if not isinstance(entry, BrokenGame):
                assert_survives(entry)

    fuzz()


def test_every_pdn_dialect_is_read_correctly():
    english = make_game("checkers", **pdn.ENGLISH)

    @given(pdn_grammar.files(english))
    def fuzz(file):
        read = call_or_reject(lambda: list(pdn.read(file.text, english)))
        assert [game_facts[:-1] for game_facts in map(facts_of, read)] == [
            (game.start, game.turns, game.outcome, game.players) for game in file.games
        ]
        assert pdn.FORMAT.count(file.text) == len(read)
        for game_facts, game in zip(read, file.games, strict=True):
            assert game.tags.items() <= game_facts.tags.items()
            assert_survives(game_facts)

    fuzz()


@pytest.mark.parametrize("name", PROGRAMS)
def test_whole_games_of_a_program_are_read_and_written(name):
    english, program = make_game("checkers", **pdn.ENGLISH), PROGRAMS[name]
    form = find_format(english, Path("x.pdn"), program.dialect)

    @given(whole_games(english, program))
    def fuzz(games):
        text = "\n\n".join(program.write(english, game) for game in games)
        read = [game for game, _ in valid_games("text", replay_text(text, english, form))]
        assert [(game.start, game.turns, game.outcome) for game in read] == games
        for game in read:
            (again,) = form.read(form.write(english, game), english)
            assert facts_of(again) == facts_of(game)

    fuzz()


def test_damaged_pdn_raises_only_cc_env_errors():
    english = make_game("checkers", **pdn.ENGLISH)

    @given(pdn_grammar.files(english), SEEDS)
    def fuzz(file, seed):
        text = mutate(file.text, seed, max_length=4000)
        entries = call_or_reject(lambda: list(pdn.read(text, english)))
        assert pdn.FORMAT.count(text) == len(entries)
        for entry in entries:
            if not isinstance(entry, BrokenGame):
                assert_survives(entry)

    fuzz()


def facts_of(exported):
    """Return the facts of a game, except its tags and its line."""
    return exported.start, exported.turns, exported.outcome, exported.players, exported.game.options


def assert_survives(exported):
    """Assert that a game is unchanged after writing and reading it."""
    text = pdn.export(exported.game, exported)
    (again,) = pdn.read(text, make_game("checkers", **pdn.ENGLISH))
    assert facts_of(again) == facts_of(exported)
    same = set(filter(is_tag_name, exported.tags))
    same -= {"FEN", "SetUp", "Result", "RuleOptions", "GameType"}
    assert {name: again.tags[name] for name in same} == {name: exported.tags[name] for name in same}
    assert pdn.export(again.game, again) == text


def test_altered_pictures_raise_only_cc_env_errors():
    session = GameSession(make_game("mini_checkers"), (HUMAN, HUMAN))
    session.play(int(session.game.legal_actions(session.position)[0]))
    head, metadata, rest = export_game(session, ".svg").split("\n", 2)
    short = "\n".join([head, metadata, rest[-200:]])

    @given(texts([short, metadata], max_length=4000))
    def fuzz(text):
        call_or_reject(importing.read_games, text, session.game)

    fuzz()


def test_altered_logs_of_cannon_raise_only_cc_env_errors():
    cannon, counts = make_game("cannon"), np.zeros(2, int)

    @given(texts(["".join(LOG), *LOG], max_length=4000))
    def fuzz(text):
        (game,) = call_or_reject(lambda: list(log.read(text, cannon)))
        is_broken = isinstance(game, BrokenGame)
        counts[int(is_broken)] += 1
        if is_broken or call_or_reject(replay_foreign, cannon, game) is None:
            return
        again = call_or_reject(log.FORMAT.write, cannon, game)
        assert (again is None) == (not game.turns and not game.fault)
        if again is None:
            return
        (same,) = log.read(again, cannon)
        assert (same.turns, same.outcome, same.fault) == (game.turns, game.outcome, game.fault)
        assert log.FORMAT.write(cannon, same) == again

    fuzz()
    assert counts.all()


@pytest.mark.parametrize(("ending", "good"), [(".pdn", PDN), (".log", LOG)])
def test_altered_foreign_files_raise_only_cc_env_errors(ending, good, tmp_path):
    game = make_game(*{".pdn": ["checkers"], ".log": ["cannon"]}[ending])
    path = tmp_path / f"games{ending}"
    counts = np.zeros(2, int)

    @given(texts(["".join(good), *good], max_length=4000))
    def fuzz(text):
        write(path, text)
        for entry in call_or_reject(lambda: list(record.read_foreign(path, game))):
            counts[int(isinstance(entry, BrokenGame))] += 1

    fuzz()
    assert counts.all()


@pytest.mark.parametrize("ending", [".pdn", ".log", ".jsonl", ".jsonl.gz"])
def test_damaged_game_files_raise_only_cc_env_errors(ending, tmp_path):
    path, game = (
        tmp_path / f"games{ending}",
        make_game("cannon" if ending == ".log" else "checkers"),
    )
    line = play_match(game, (RandomPlayer(game),) * 2, limits=Limits(max_turns=8)).to_json()
    text = {".pdn": "\n".join(PDN), ".log": "".join(LOG[:2])}.get(ending, f"{line}\n{line}\n")
    content = gzip.compress(text.encode(), mtime=0) if ending.endswith("gz") else text.encode()
    counts = np.zeros(2, int)

    def read():
        if ending in game.formats:
            return list(record.read_foreign(path, game))
        return list(replay_records(path))

    @given(st.data())
    def fuzz(data):
        path.write_bytes(data.draw(bytes_damaged(content)))
        entries = call_or_reject(read)
        is_broken = entries is None or any(isinstance(entry, BrokenGame) for entry in entries)
        counts[int(is_broken)] += 1

    fuzz()
    assert counts[1]
