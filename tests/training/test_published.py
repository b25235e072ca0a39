"""The published experiments, and the advantage of moving first."""

import re
import sys
from dataclasses import replace
from functools import partial

import pytest
from conftest import command_line, readable_turns
from rich.console import Console

from cc_env.cli.application import run
from cc_env.errors import BadOption
from cc_env.match import record
from cc_env.rendering.picture import frames
from training.reproductions import published
from training.reproductions.published import (
    SMART,
    Experiment,
    experiments,
    play_experiments,
    seat_advantage,
)

LOWEST = "arena_players.Lowest"
HIGHEST = "arena_players.Lowest:highest=True"


@pytest.fixture(scope="module")
def rows():
    return play_experiments(experiments(40))


def as_text(table):
    console = Console(width=120, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def games_of(rows):
    return [[(game.players, game.turns, game.result) for game in row.records] for row in rows]


def test_every_game_is_played_and_counted_once(rows):
    assert [len(row.records) for row in rows] == [40, 8, 8, 1]
    for row in rows:
        results = [game.result for game in row.records]
        counted = row.tally.wins, row.tally.losses, row.tally.draws
        assert counted == tuple(map(results.count, ("1-0", "0-1", "1/2-1/2")))
        assert row.turns == sum(len(game.turns) for game in row.records) / len(results)


def test_table_compares_with_published_results(rows):
    lines = [line.split() for line in as_text(published.published_table(rows)).splitlines()]
    names = [" ".join(line[:3]) for line in lines[1::2]]
    assert names == ["random – random", "smart – random", "random – smart", "smart – smart"]
    figures = [" ".join(line[1:7]) for line in lines[2::2]]
    assert figures == [
        "1000 510 : 490 : 0",
        "50 33 : 17 : 0",
        "50 19 : 30 : 1",
        "50 0 : 50 : 0",
    ]
    assert [line[-1] for line in lines[2::2]] == ["0.1", "155", "178", "20"]
    assert ["(always)" in line for line in lines[1:]] == [False] * 6 + [True] * 2


def test_smart_beats_random_from_both_seats(rows):
    _, first, second, _ = rows
    assert {game.players for game in first.records} == {(SMART, "random")}
    assert {game.players for game in second.records} == {("random", SMART)}
    assert first.tally.score.value > 0.8
    assert second.tally.score.value < 0.2


def test_seed_determines_the_games(rows):
    again, other = play_experiments(experiments(40)), play_experiments(experiments(40, seed=1))
    assert games_of(again) == games_of(rows)
    # The last experiment is deterministic.
    assert games_of(other)[3] == games_of(rows)[3]
    assert all(a != b for a, b in zip(games_of(other)[:3], games_of(rows), strict=False))


def test_published_games_start_at_the_initial_position(rows):
    assert {game.start for row in rows for game in row.records} == {None}
    assert rows[0].openings == list(range(40))


def test_frames_show_every_turn_of_a_game(rows):
    (game,) = rows[3].records
    replayed = record.replay(game)
    start, *pictures = frames(replayed)
    assert start.caption == "blue to move"
    texts = readable_turns(replayed.game, replayed.start, game.turns)
    assert [picture.caption.split("last ")[1] for picture in pictures] == texts
    winner = "blue" if game.result == "1-0" else "red"
    assert pictures[-1].caption.startswith(f"{winner} wins ({game.reason})")
    assert published.numbered_turns(game)[1] == f"2. {game.turns[1]}"


def test_seat_matches_share_distinct_openings():
    matches = seat_advantage(6, 12, names=(LOWEST, HIGHEST))
    assert [(match.first, match.second) for match in matches] == [(LOWEST,) * 2, (HIGHEST,) * 2]
    lowest, highest = ([match.start for match in match.plan()] for match in matches)
    assert lowest == highest
    assert len(set(lowest)) == 12
    game = matches[0].make_game()
    assert {game.to_move(game.from_text(start)) for start in lowest} == {0}


@pytest.mark.parametrize("size", [6, 8])
def test_strong_players_exist_for_each_size(size):
    matches = seat_advantage(size, 2)
    assert len(matches) > 5
    assert {match.size for match in matches} == {size}


def test_repeated_games_do_not_narrow_the_interval():
    row, twin = play_experiments(seat_advantage(6, 12, names=(LOWEST, LOWEST)))
    combined = published.combine([row, twin])
    assert combined.wins == 2 * row.tally.wins
    assert combined.score == row.tally.score


def test_repeated_openings_do_not_narrow_the_interval():
    repeated = Experiment(first=LOWEST, second=LOWEST, games=100, size=4, opening_turns=2)
    (row,) = play_experiments([repeated])
    distinct = {game.start for game in row.records}
    assert len(set(row.openings)) == len(distinct) < 100
    independent = replace(row, experiment=replace(repeated, opening_turns=0)).tally.score
    assert row.tally.score.value == independent.value
    assert row.tally.score.low < independent.low < independent.high < row.tally.score.high


def test_draws_are_listed_by_reason():
    (row,) = play_experiments(seat_advantage(6, 12, names=(LOWEST,)))
    assert sum(row.draw_reasons.values()) == row.tally.draws > 0
    assert set(row.draw_reasons) <= {"repetition", "max_turns", "blocked"}
    text = as_text(published.seats_table([row]))
    assert all(f"{count} {reason}" in text for reason, count in row.draw_reasons.items())


def test_progress_is_reported():
    progress = []
    matches = seat_advantage(4, 2, names=(LOWEST, HIGHEST))
    play_experiments(matches, on_progress=lambda *counts: progress.append(counts))
    assert progress == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.slow
def test_workers_do_not_change_the_games(rows):
    assert games_of(play_experiments(experiments(40)[:1], workers=2)) == games_of(rows[:1])


def test_failing_player_is_an_error():
    with pytest.raises(ChildProcessError, match=r"game 1 of arena_players.Raiser .*lost my head"):
        play_experiments(seat_advantage(6, 2, names=("arena_players.Raiser",)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first": "gambler"}, "no player 'gambler'; there are: "),
        ({"second": "minimax:depth=0"}, "depth=0"),
        ({"second": "arena_players.unmakable"}, "RuntimeError: no depth 1"),
        ({"size": 9}, "expected: an integer, 4 to 8"),
        ({"games": 0}, "games=0; expected: an integer, 1"),
        ({"opening_turns": 3}, "opening_turns=3"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_invalid_values_are_rejected(change, message):
    with pytest.raises(BadOption, match=message):
        Experiment(**{"first": "random", "second": "random", "games": 2, **change})


def test_command_prints_both_tables():
    command = f"{LOWEST} {HIGHEST} --games 10 --seat-games 4 --workers 0".split()
    out = command_line(partial(run, published.app), *command, columns=130)
    assert re.search(r"smart – random +2 +2 : 0 : 0 +100.0 %", out)
    assert re.search(r"published +50 +33 : 17 : 0 +66.0 % .* 155", out)
    assert re.search(r"^1\. \d,\d-\d,\d +2\. ", out, re.MULTILINE)
    assert re.search(r"(blue|red) wins \(\w+\) · last", out)
    assert "Moving first, in 4 games after 4 random turns" in out
    for name in ("6×6 " + LOWEST, "8×8 " + HIGHEST, "6×6 total", "8×8 total"):
        assert re.search(rf"{re.escape(name)} +\d+ : \d+ : \d+ +\d+.\d %", out)


def test_bad_input_prints_one_line_with_status_2(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["published", "gambler"])
    assert run(published.app) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: there is no player 'gambler'")
