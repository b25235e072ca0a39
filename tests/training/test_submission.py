"""Results of others: the file, and what its verification refuses."""

import json
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from conftest import command_line
from fuzz.damage import bytes_damaged, json_damaged
from fuzz.harness import call_or_reject
from hypothesis import given

from cc_env.cli import application
from cc_env.errors import BadOption, BadRecord
from cc_env.games.factory import make_game
from cc_env.match.referee import Decision
from cc_env.players.specs import PLAYERS
from training.baselines import submission, verify_result, write_result
from training.baselines.submission import (
    differences_from_baselines,
    read_submission,
    verify,
    write_submission,
)

FILE = Path(__file__).parent / "submissions/greedy.json"
GOOD = json.loads(FILE.read_text())
TURNS = GOOD["games"][0]["turns"]


def verified(path):
    return verify(read_submission(path))


def with_change(tmp_path, change):
    """Return a copy of the file whose content `change` has altered in place."""
    content = json.loads(FILE.read_text())
    change(content)
    path = tmp_path / "altered.json"
    path.write_text(json.dumps(content))
    return path


def test_result_of_the_repository_is_verified():
    assert verified(FILE) == 20
    points = {"1-0": 1, "1/2-1/2": 0.5, "0-1": 0}
    first = [points[game["result"]] for game in GOOD["games"][::2]]
    second = [1 - points[game["result"]] for game in GOOD["games"][1::2]]
    assert read_submission(FILE).claim.score == pytest.approx(sum(first + second) / 20)


class Highest:
    """Chooses the legal action with the highest number."""

    def __init__(self, game):
        self.game = game

    def choose(self, position, rng, clock):
        return Decision(int(self.game.legal_actions(position)[-1]))


@pytest.mark.parametrize("opponent", ["random", "greedy", "minimax:depth=1"])
@pytest.mark.parametrize("name", ["mini_checkers", "cannon"])
def test_written_result_is_verified(tmp_path, name, opponent):
    player = Highest(make_game(name))
    path = tmp_path / "result.json"
    written = write_submission(path, player, name, opponent=opponent, games=4, seed=3, name="ours")
    assert read_submission(path) == written
    assert verified(path) == 4
    assert written.player == "ours"


def set_value(*path, value):
    def change(content):
        *places, last = path
        for place in places:
            content = content[place]
        content[last] = value

    return change


def swap_openings(content):
    games = content["games"]
    games[0], games[2] = games[2], games[0]


def resign(content):
    """Make the opponent, which has the second seat, resign on its turn."""
    content["games"][0] |= {"turns": TURNS[:1], "result": "1-0", "reason": "resigned"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_value("games", 0, "turns", 0, value="0,0-0,0"), r"game 1: turn 1: .*0,0-0,0"),
        (set_value("games", 3, "result", value="1/2-1/2"), "game 4: after turn"),
        (set_value("games", 0, "turns", value=TURNS[:-1]), "game 1: "),
        (swap_openings, "game 1: start .*opening 1 of seed 0"),
        (set_value("seed", value=1), "game 1: start"),
        (resign, r"a fault \(resigned\) of the opponent"),
        (set_value("claim", "score", value=0.5), "claim: score=0.5; expected: 0.4"),
        (set_value("claim", "distinct_games", value=20), "distinct_games=20; expected: "),
        (set_value("opponent", value="minimax:depth=3"), r"minimax:depth=3 plays .*recorded"),
        (set_value("game", value="os.path"), "os.path"),
        (set_value("options", value={"size": 99}), "size"),
        (set_value("options", value={"colour": 1}), "colour"),
        (set_value("opening_turns", value=21), "field opening_turns is 21"),
        (set_value("games", value=[]), "field games is"),
        (set_value("games", 0, "turns", value="0"), "game 1: field turns"),
        (set_value("format", value=2), "field format is 2"),
        (set_value("player", value="ours\ncomparable: yes"), "field player is"),
        (set_value("version", value="\x1b[31m"), "field version is"),
        (set_value("opponent", value="a" * 201), "field opponent is"),
        (set_value("opponent", value="unknown"), "no player 'unknown'"),
        (set_value("opponent", value="minimax:dept=2"), "no option dept"),
        (set_value("more", value=2), "'more' is unknown"),
        (lambda content: content.pop("seed"), "'seed' is missing"),
    ],
)
def test_false_result_is_refused(tmp_path, change, message):
    with pytest.raises(BadRecord, match=message):
        verified(with_change(tmp_path, change))


def test_opponent_that_is_not_reproducible_is_not_repeated(tmp_path):
    path = with_change(tmp_path, set_value("opponent", value="package.Player"))
    assert not verified(path)


def test_lost_game_by_a_fault_of_the_player_counts(tmp_path):
    def forfeit(content):
        content["games"][0] |= {"turns": TURNS[:2], "result": "0-1", "reason": "error"}

    with pytest.raises(BadRecord, match=r"claim: score=0\.4; expected: 0\.35"):
        verified(with_change(tmp_path, forfeit))


class Broken:
    def __init__(self, game):
        """Play games of any kind."""

    def choose(self, position, rng, clock):
        raise RuntimeError("out of order")


class Illegal(Broken):
    def choose(self, position, rng, clock):
        return Decision(-1)


def write(path, player, opponent, status=0):
    """Run `cc_env write-result` with four games; return what it prints."""
    words = player, "--opponent", opponent, "--games", 4, "--size", 4, "--out", path
    return command_line(partial(application.run, write_result.app), *words, status=status)


def test_illegal_actions_count_as_losses(tmp_path, monkeypatch):
    monkeypatch.setitem(PLAYERS, "illegal", Illegal)
    path = tmp_path / "result.json"
    assert "illegal: 4 of 4 games" in write(path, "illegal", "greedy")
    assert "illegal: 4 games" in command_line(partial(application.run, verify_result.app), path)


@pytest.mark.parametrize("pair", [("greedy", "broken"), ("broken", "greedy")])
def test_other_faults_write_no_result(tmp_path, monkeypatch, pair):
    monkeypatch.setitem(PLAYERS, "broken", Broken)
    path = tmp_path / "result.json"
    message = write(path, *pair, status=2)
    assert "broken forfeits (error): " in message
    assert "out of order" in message
    assert not path.exists()


def test_names_in_a_file_import_nothing(tmp_path):
    (tmp_path / "evil.py").write_text("raise SystemExit")
    sys.path.insert(0, str(tmp_path))
    try:
        with pytest.raises(BadRecord, match="evil"):
            verified(with_change(tmp_path, set_value("game", value="evil")))
        assert not verified(with_change(tmp_path, set_value("opponent", value="evil.p")))
    finally:
        sys.path.remove(str(tmp_path))


def test_large_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(submission, "MAX_FILE_BYTES", 100)
    with pytest.raises(BadRecord, match=f"^{re.escape(str(FILE))}: more than 100 bytes$"):
        read_submission(FILE)


@given(json_damaged(GOOD).map(json.dumps) | bytes_damaged(FILE.read_bytes()))
def test_damaged_files_raise_only_cc_env_errors(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    call_or_reject(verified, path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"games": 3}, "games=3"),
        ({"games": 0}, "games=0"),
        ({"opponent": "minmax"}, "minmax"),
        ({"opponent": "greedy"}, "both 'greedy'"),
        # A file with these values would be refused.
        ({"opening_turns": 21}, "opening_turns=21"),
        ({"seed": 2**53 + 1}, "seed="),
        ({"name": "two\nlines"}, "name='two"),
    ],
)
def test_bad_match_writes_nothing(tmp_path, values, message):
    path = tmp_path / "result.json"
    with pytest.raises(BadOption, match=message):
        write_submission(path, "greedy", "checkers", **({"opponent": "random"} | values))
    assert not path.exists()


def test_file_that_cannot_be_written_is_refused_before_the_match(tmp_path, monkeypatch):
    def play(*_, **__):
        raise AssertionError("a match was played")

    monkeypatch.setattr(submission.arena, "play_tournament", play)
    (tmp_path / "result.json").write_text("kept")
    for name in ("result.json", "missing/result.json"):
        with pytest.raises(BadOption, match=r"result\.json"):
            write_submission(tmp_path / name, "greedy", "checkers", opponent="random")
    assert (tmp_path / "result.json").read_text() == "kept"


def test_differences_from_the_baselines_are_listed():
    written = replace(read_submission(FILE), options={"size": 6})
    assert differences_from_baselines(written) == ["games: 20, not 200"]
    other = replace(written, options={"size": 8}, opponent="mcts", seed=7, opening_turns=2)
    differences = " ".join(differences_from_baselines(other))
    assert all(text in differences for text in ("size=8", "mcts", "seed: 7", "opening turns: 2"))


def test_sample_repeats_the_decisions_of_random_games(tmp_path):
    counts = [verify(read_submission(FILE), sample=sample) for sample in (1, 20, 99)]
    assert counts == [1, 20, 20]
    for sample in (0, 1.5, True):
        with pytest.raises(BadOption, match=rf"^sample={sample}; expected: an integer, 1 or more$"):
            verify(read_submission(FILE), sample=sample)
    altered = with_change(tmp_path, set_value("opponent", value="minimax:depth=3"))
    with pytest.raises(BadRecord, match=r"minimax:depth=3 plays .*recorded"):
        verify(read_submission(altered), sample=1)


def test_expected_time_of_a_long_verification_is_printed_once(capsys, monkeypatch):
    clock = iter([0.0, 4.0, 6.0, 60.0])
    monkeypatch.setattr(verify_result.time, "monotonic", lambda: next(clock))
    estimate = verify_result._Estimate(lambda done, total: None)
    for done in (1, 3, 4):
        estimate(done, 10_000)
    (line,) = capsys.readouterr().out.splitlines()
    assert line == (
        "about 334 minutes for 10,000 games; "
        "--sample 100 repeats the decisions of the opponent in 100 of them"
    )


def test_commands_write_and_verify(tmp_path):
    path = tmp_path / "result.json"
    read = partial(command_line, partial(application.run, verify_result.app))
    assert "greedy against random: " in write(path, "greedy", "random")
    shown = read(path)
    assert "decisions of random: repeated in 4 of 4 games" in shown
    assert "decisions of random: repeated in 2 of 4 games" in read(path, "--sample", 2)
    assert "repeated in 4 of 4 games" in read(path, "--sample", 9)
    assert "minutes" not in shown
    assert "comparable with the baselines: no (" in shown
    assert "no such file" in read(tmp_path / "missing.json", status=2)
