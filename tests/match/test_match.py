"""Matches, the referee and records."""

import contextlib
import itertools
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from cc_env.core.game import BrokenGame
from cc_env.core.rules import DRAW, FIRST_WINS, SECOND_WINS
from cc_env.errors import BadOption, BadPosition, BadRecord, IllegalAction
from cc_env.files import append_atomically
from cc_env.games.factory import make_game
from cc_env.match import record
from cc_env.match.match import RESIGNED, Limits, Match, Result
from cc_env.match.record import Record, append_record, read_records, replay_records
from cc_env.match.referee import Decision, play_match
from cc_env.players.builtin import RandomPlayer
from cc_env.registry.catalogue import GAMES

SHUFFLE = "b5/b5/6/6/5r/5r b"
CYCLE = ["0,0-2,0", "5,5-3,5", "2,0-0,0", "3,5-5,5"]


class Script:
    """Plays the given turns, then raises StopIteration."""

    def __init__(self, game, turns):
        self.game, self.turns, self.actions = game, iter(turns), []

    def choose(self, position, rng, clock):
        if not self.actions:
            self.actions = list(self.game.parse_turn(position, next(self.turns)))
        return Decision(self.actions.pop(0))


class Stubborn:
    """Chooses the same action in every position."""

    def __init__(self, action):
        self.action = action

    def choose(self, position, rng, clock):
        return Decision(self.action)


class Thinker(RandomPlayer):
    """Takes 20 seconds of the stopwatch for each decision."""

    def __init__(self, game, stopwatch):
        super().__init__(game)
        self.stopwatch = stopwatch

    def choose(self, position, rng, clock):
        self.stopwatch.now += 20
        return super().choose(position, rng, clock)


@pytest.mark.parametrize("name", GAMES)
def test_match_has_the_mover_and_the_legal_actions(name):
    game, rng = make_game(name), np.random.default_rng(3)
    match = Match(game)
    while match.result is None:
        assert match.mover == game.to_move(match.position)
        assert list(match.legal_actions) == game.legal_actions(match.position).tolist()
        match.play(int(rng.choice(match.legal_actions)))


def test_failed_append_leaves_the_file_unchanged(tmp_path, monkeypatch):
    path, write = tmp_path / "lines", os.write
    append_atomically(path, "whole\n")

    def half(file, content):
        if content == b"f\n":
            raise OSError(28, "No space left on device")
        return write(file, content[:3])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space left") as caught:
        append_atomically(path, "half\n")
    assert caught.value.filename == str(path)
    monkeypatch.undo()
    assert path.read_text() == "whole\n"
    append_atomically(path, "again\n")
    assert path.read_text() == "whole\nagain\n"


def play_turns(game, turns, start=None, **limits):
    match = Match(game, start, Limits(**limits))
    for turn in turns:
        for action in game.parse_turn(match.position, turn):
            match.play(action)
    return match


# Matches


def test_third_occurrence_of_a_position_is_a_draw(game):
    start = game.from_text(SHUFFLE)
    assert play_turns(game, CYCLE * 2, start).result == Result(DRAW, "repetition")
    assert play_turns(game, (CYCLE * 2)[:-1], start).result is None
    assert play_turns(game, CYCLE, start, repetitions=2).result == Result(DRAW, "repetition")
    assert play_turns(game, CYCLE * 4, start, repetitions=None).result is None


def test_max_turns_is_a_draw(game):
    start = game.from_text(SHUFFLE)
    assert play_turns(game, CYCLE, start, max_turns=4).result == Result(DRAW, "max_turns")
    assert play_turns(game, CYCLE[:3], start, max_turns=4).result is None


def test_rules_take_precedence_over_limits(game):
    start = game.from_text("6/6/6/6/3r1b/rr1b2 b")
    assert play_turns(game, ["4,5-5,5"], start, max_turns=1).result == Result(
        FIRST_WINS, "conquest"
    )


def test_turn_of_two_decisions_counts_once(game):
    match = play_turns(game, [], game.from_text("6/1bb3/1brrr1/1r1r2/6/6 b"))
    first, second = game.parse_turn(match.position, "1,2-3,2x2,3")
    match.play(first)
    assert match.turns == []
    match.play(second)
    assert match.turns == ["1,2-3,2x2,3"]
    assert match.history == [(match.start, (first, second))]


def test_illegal_action_changes_nothing(game):
    match = Match(game)
    with pytest.raises(IllegalAction, match="not legal"):
        match.play(5)
    assert match.position == game.initial
    start = game.from_text("rb4/6/6/6/6/4bb b")
    with pytest.raises(IllegalAction, match="over"):
        Match(game, start).play(0)


@pytest.mark.parametrize(
    "limits",
    [{"max_turns": 0}, {"repetitions": 1}, {"seconds_per_turn": 0}, {"seconds_per_game": -1}],
)
def test_invalid_limits_are_rejected(limits):
    with pytest.raises(BadOption, match=next(iter(limits))):
        Limits(**limits)


# The referee


def test_same_seed_plays_the_same_game(game):
    players = RandomPlayer(game), RandomPlayer(game)
    first, again, other = (play_match(game, players, seed=seed) for seed in (1, np.int64(1), 2))
    assert first.turns == again.turns != other.turns
    assert len(first.seconds) == len(first.turns)
    assert Record.from_json(again.to_json()) == again
    assert first.result in ("1-0", "0-1")


@pytest.mark.parametrize("seat", [0, 1])
def test_illegal_action_loses_and_is_recorded(game, seat):
    players = [RandomPlayer(game), RandomPlayer(game)]
    players[seat] = Stubborn(5)
    finished = play_match(game, players)
    assert (finished.result, finished.reason) == (("0-1", "1-0")[seat], "illegal")
    assert "action 5" in finished.detail
    assert record.replay(finished).result.outcome == 1 - seat


@pytest.mark.parametrize("action", [[1, 2], 6.0, "6", None])
def test_invalid_action_loses(game, action):
    finished = play_match(game, [Stubborn(action), RandomPlayer(game)])
    assert (finished.result, finished.reason) == ("0-1", "illegal")


def test_match_needs_two_players_and_two_names(game):
    with pytest.raises(BadOption, match="1 players and 2 names"):
        play_match(game, [RandomPlayer(game)])
    with pytest.raises(BadOption, match="2 players and 1 names"):
        play_match(game, [RandomPlayer(game)] * 2, names=["a"])


def test_player_that_raises_an_exception_loses(game):
    finished = play_match(game, [Script(game, ["0,0-2,2"]), RandomPlayer(game)])
    assert (finished.result, finished.reason) == ("0-1", "error")
    assert finished.detail.startswith("StopIteration")
    assert len(finished.turns) == 2
    assert record.replay(finished).result == Result(SECOND_WINS, "error")


def test_invalid_decision_loses(game):
    class Nothing:
        def choose(self, position, rng, clock):
            return None

    assert play_match(game, [Nothing(), RandomPlayer(game)]).reason == "error"


@pytest.mark.parametrize(
    ("limits", "turns", "detail"),
    [
        ({"seconds_per_turn": 19}, 2, "20.000 s, had 19.000 s"),
        ({"seconds_per_game": 50}, 6, "20.000 s, had 10.000 s"),
    ],
)
def test_player_over_its_time_limit_loses(game, stopwatch, limits, turns, detail):
    players = [RandomPlayer(game), Thinker(game, stopwatch())]
    finished = play_match(game, players, limits=Limits(**limits))
    assert (finished.result, finished.reason, finished.detail) == ("1-0", "time", detail)
    assert finished.seconds == (0, 20) * (turns // 2)


@pytest.mark.parametrize("kind", ["loop", "sleep", "suppressing"])
def test_overlong_decision_is_interrupted(game, kind):
    class Endless(RandomPlayer):
        def choose(self, position, rng, clock):
            while True:
                if kind == "sleep":
                    time.sleep(60)
                if kind == "suppressing":
                    with contextlib.suppress(Exception):
                        time.sleep(60)

    players = [Endless(game), RandomPlayer(game)]
    finished = play_match(game, players, limits=Limits(seconds_per_turn=0.05))
    assert (finished.result, finished.reason) == ("0-1", "time")
    assert "had 0.050 s" in finished.detail
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_time_limits_hold_in_other_threads(game, stopwatch):
    records = []
    players = [RandomPlayer(game), Thinker(game, stopwatch())]
    limits = Limits(seconds_per_turn=19)
    thread = threading.Thread(
        target=lambda: records.append(play_match(game, players, limits=limits))
    )
    thread.start()
    thread.join()
    assert (records[0].result, records[0].reason) == ("1-0", "time")


def test_unprintable_errors_are_recorded(game, tmp_path):
    class Unspeakable(Exception):
        def __str__(self):
            raise ValueError

    class Speaker(RandomPlayer):
        def choose(self, position, rng, clock):
            raise self.error

    speaker = Speaker(game)
    for error, text in ((ValueError("\ud800…"), r"\ud800…"), (Unspeakable(), "Unspeakable: ?")):
        object.__setattr__(speaker, "error", error)
        finished = play_match(game, [RandomPlayer(game), speaker])
        assert text in finished.detail
        append_record(tmp_path / "games.jsonl", finished)
    assert [entry.reason for _, entry in read_records(tmp_path / "games.jsonl")] == [
        "error",
        "error",
    ]


def test_player_that_exits_loses(game):
    class Leaver(RandomPlayer):
        def choose(self, position, rng, clock):
            sys.exit("enough")

    finished = play_match(game, [RandomPlayer(game), Leaver(game)])
    assert (finished.result, finished.reason, finished.detail) == (
        "1-0",
        "error",
        "SystemExit: enough",
    )


def test_players_receive_the_remaining_time(game, stopwatch):
    # A second for each decision.
    stopwatch(tick=1)
    clocks = []

    class Watcher(RandomPlayer):
        def choose(self, position, rng, clock):
            clocks.append(clock)
            return super().choose(position, rng, clock)

    limits = Limits(seconds_per_turn=5, seconds_per_game=600)
    play_match(game, [Watcher(game), RandomPlayer(game)], limits=limits)
    # 4 for the second decision of a turn.
    assert {clock.turn for clock in clocks} <= {5, 4}
    assert [clock.game for clock in clocks] == list(range(600, 600 - len(clocks), -1))


# Records


@pytest.mark.parametrize("size", [4, 8])
def test_record_round_trips_through_json_and_replays(size):
    game = make_game("capture_conquer", size=size)
    for seed in range(5):
        finished = play_match(game, (RandomPlayer(game), RandomPlayer(game)), seed=seed)
        again = Record.from_json(finished.to_json())
        assert again == finished
        match = record.replay(again)
        assert match.turns == list(finished.turns)
        assert record.RESULTS[match.result.outcome] == finished.result


def test_record_of_another_start_and_a_limit_replays(game):
    match = play_turns(game, CYCLE * 2, game.from_text(SHUFFLE))
    finished = Record.from_match(match, players=("a", "b"))
    assert finished.start == SHUFFLE
    assert record.replay(finished).result.reason == "repetition"


def test_files_of_records_replay(game, tmp_path):
    path = tmp_path / "games.jsonl"
    players = RandomPlayer(game), RandomPlayer(game)
    for seed in range(3):
        append_record(path, play_match(game, players, seed=seed))
    assert [number for number, _ in read_records(path)] == [1, 2, 3]


def golden(game):
    return json.loads(
        Record.from_match(
            play_turns(game, CYCLE * 2, game.from_text(SHUFFLE)), players="ab"
        ).to_json()
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"turns": ["0,0-2,0", "5,5-4,4"]}, "turn 2: '5,5-4,4' is not legal|after turn 2"),
        ({"turns": ["0,0-9,9"]}, "turn 1: '0,0-9,9' is not legal"),
        ({"turns": [*CYCLE, *CYCLE, CYCLE[0]]}, "turn 9: the game was already over"),
        ({"turns": CYCLE}, r"after turn 4 the game is \* \(unfinished\), recorded"),
        ({"result": "1-0"}, r"is 1/2-1/2 \(repetition\), recorded 1-0"),
        ({"reason": "max_turns"}, "recorded 1/2-1/2"),
        ({"reason": "time"}, "recorded"),
        ({"game": "chess"}, "no game 'chess'"),
        ({"options": {"size": 77}}, "expected: an integer, 4 to 8"),
        ({"start": "junk"}, "cannot read position"),
        ({"limits": {"days": 3}}, "days"),
        ({"colour": "red"}, "unknown field colour"),
        ({"turns": [1, 2]}, "field turns is "),
        ({"turns": None}, "field turns is None; expected: an array of texts"),
        ({"start": 5}, "field start is "),
        ({"players": ["a"]}, "field players is "),
        ({"players": 5}, "field players is "),
        ({"seconds": 5}, "field seconds is "),
        ({"seed": "x"}, "field seed is "),
        ({"seed": True}, "field seed is "),
        ({"seed": -1}, "field seed is -1; expected: an integer, 0 or more, or null"),
        ({"seconds": [float("nan")]}, "field seconds is "),
        ({"seconds": [-1]}, "field seconds is "),
        ({"players": ["a", "\ud800"]}, r"field players is .*\\ud800.*; expected: two texts"),
        ({"detail": "\udcff"}, "field detail is "),
        ({"options": {"size": "\ud800"}}, "field options is "),
        ({"options": {"size": float("nan")}}, "field options is "),
        ({"game": "cc_env.search.workspace"}, "no game 'cc_env.search.workspace'"),
        ({"game": "cc_env.match.match"}, "no game 'cc_env.match.match'"),
        ({"version": 1}, "field version is "),
        ({"result": "win"}, r"field result is 'win'; expected: 1-0 or 0-1 or 1/2-1/2 or \*"),
        ({"limits": {"seconds_per_turn": "a"}}, "seconds_per_turn"),
    ],
)
def test_invalid_record_is_rejected(game, tmp_path, change, why):
    path = tmp_path / "games.jsonl"
    good = golden(game)
    path.write_text(json.dumps(good) + "\n" + json.dumps(good | change) + "\n")
    with pytest.raises(BadRecord, match=rf"games\.jsonl, line 2: .*({why})"):
        list(read_records(path))


@pytest.mark.parametrize(
    "line", ["{", "[1, 2]", "[" * 100000, "9" * 5000, '{"game": "capture_conquer"}', "nonsense"]
)
def test_line_that_is_not_a_record_is_rejected(tmp_path, line):
    path = tmp_path / "games.jsonl"
    path.write_text(line)
    with pytest.raises(BadRecord, match="line 1: "):
        list(read_records(path))


def test_reading_continues_after_broken_records(game, tmp_path):
    path, good = tmp_path / "games.jsonl", json.dumps(golden(game))
    path.write_text(f"{good}\noops\n{good}\n[]\n")
    entries = list(replay_records(path))
    assert [entry[0] for entry in entries] == [1, 2, 3, 4]
    assert [isinstance(entry, BrokenGame) for entry in entries] == [False, True, False, True]
    assert all(entry.reason for entry in entries[1::2])
    with pytest.raises(BadRecord, match=r"games.jsonl, line 2: "):
        list(read_records(path))


def test_record_with_invalid_text_is_rejected(game):
    with pytest.raises(BadRecord, match=r"field players is .*udcff"):
        Record.from_match(
            play_turns(game, CYCLE * 2, game.from_text(SHUFFLE)), players=("\udcff", "b")
        )


def test_unfinished_match_continues_from_its_record(game):
    match = play_turns(game, CYCLE[:3], game.from_text(SHUFFLE))
    unfinished = Record.from_json(Record.from_match(match, players=("a", "b")).to_json())
    assert (unfinished.result, unfinished.reason) == ("*", "unfinished")
    again = record.replay(unfinished)
    assert again.result is None
    assert again.position == match.position
    for text in (CYCLE * 2)[3:]:
        for action in game.parse_turn(again.position, text):
            again.play(action)
    assert again.result == (DRAW, "repetition")


def test_players_can_resign_or_agree_on_a_draw(game):
    resigned, agreed = (play_turns(game, CYCLE[:3], game.from_text(SHUFFLE)) for _ in range(2))
    resigned.forfeit(1, RESIGNED)
    agreed.agree_on_draw()
    records = [Record.from_match(match, players=("a", "b")) for match in (resigned, agreed)]
    assert [entry.result for entry in records] == ["1-0", "1/2-1/2"]
    assert [record.replay(entry).result for entry in records] == [resigned.result, agreed.result]
    assert agreed.score is None


def test_agreed_draw_recorded_as_a_win_is_rejected(game):
    match = play_turns(game, CYCLE[:3], game.from_text(SHUFFLE))
    match.agree_on_draw()
    agreed = Record.from_match(match, players=("a", "b"))
    with pytest.raises(BadRecord, match="recorded 1-0"):
        record.replay(replace(agreed, result="1-0"))


def test_missing_file_is_named_in_the_error(tmp_path):
    with pytest.raises(BadRecord, match=r"none\.jsonl"):
        list(read_records(tmp_path / "none.jsonl"))


@pytest.mark.parametrize("seconds", [-1, "1", True, float("nan"), 10**400])
def test_invalid_increment_is_rejected(seconds):
    with pytest.raises(BadOption, match="increment="):
        Limits(increment=seconds)


def test_limits_without_an_increment_are_stored_without_it():
    """Records without increments are those of earlier versions."""
    assert "increment" not in Limits(seconds_per_game=60).to_dict()
    assert Limits(increment=2).to_dict()["increment"] == 2


@pytest.mark.parametrize("seconds", [-1, 0, "1", True, float("nan"), 10**400])
def test_invalid_time_limits_are_rejected(seconds):
    for name in ("seconds_per_turn", "seconds_per_game"):
        with pytest.raises(BadOption, match=f"{name}=.* expected: more than 0"):
            Limits(**{name: seconds})


def test_match_start_must_be_a_position(game):
    with pytest.raises(BadPosition, match="start='x'"):
        Match(game, "x")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"seed": -1}, "seed=-1; expected: an integer"),
        ({"seed": "x"}, "seed='x'"),
        ({"names": (1, "b")}, "name 1; expected: a string"),
        (
            {"players": ("random", "random")},
            "'random' is not a player",
        ),
    ],
)
def test_invalid_match_arguments_are_rejected(game, arguments, error):
    arguments = {"players": (RandomPlayer(game),) * 2, **arguments}
    with pytest.raises(BadOption, match=error):
        play_match(game, **arguments)


@pytest.mark.parametrize("name", ["capture_conquer", "checkers", "morris"])
def test_take_back_restores_the_earlier_match(name):
    game, rng = make_game(name), np.random.default_rng(0)
    match = Match(game, limits=Limits(max_turns=40))
    while match.result is None:
        match.play(int(rng.choice(match.legal_actions)))
    turns = [turn for _, turn in match.history]
    for keep in (len(turns) - 1, 20, 19, 3, 0):
        match.take_back(keep)
        again = Match(game, limits=match.limits)
        for action in itertools.chain(*turns[:keep]):
            again.play(action)
        assert +match._occurrences == +again._occurrences
        for state in (match, again):
            state._occurrences = Counter()
        assert vars(match) == vars(again) | {"_legal": None}
        match._occurrences = Counter(match._keys)
