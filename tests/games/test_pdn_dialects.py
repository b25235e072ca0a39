"""PDN files of many dialects, one for each file in tests/games/pdn.

PDN 2.0 is the draft of 2003 by Murray Cash; PDN 3.0 is published at pdn.fmjd.org, whose "reading
grammar" and "issues" list the variants that readers should accept.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from cc_env.core.game import BrokenGame
from cc_env.errors import UnknownOption
from cc_env.games.checkers import pdn
from cc_env.games.checkers.pdn_tokens import is_tag_name
from cc_env.games.factory import make_game
from cc_env.match import record
from cc_env.match.record import RESULTS

FOLDER = Path(__file__).parent / "pdn"
START = f"B:W{','.join(map(str, range(21, 33)))}:B{','.join(map(str, range(1, 13)))}"


class Game(NamedTuple):
    """A game of a file; `start` is a FEN."""

    turns: int = 4
    result: str = "1-0"
    players: tuple[str, str] = ("Ann", "Bea")
    tags: dict[str, str] = {}
    start: str = START


UNKNOWN = "?", "?"
GOOD = Game()
EVENT = {"Event": "Club evening"}

# The games of each file, and the lines of rejected games.
FILES: dict[str, tuple[list[Game], list[int]]] = {
    # Encodings and white space. PDN 3.0 is UTF-8, and readers "accept other encodings too".
    "plain": ([Game(tags=EVENT)], []),
    "windows_newlines": ([Game(tags=EVENT)], []),
    "carriage_returns": ([Game(tags=EVENT)], []),
    "utf8_mark": ([Game(tags=EVENT)], []),
    "utf16_little_endian": ([Game(players=("Łucja", "Bea"))], []),
    "utf16_big_endian": ([Game(players=("Łucja", "Bea"))], []),
    "windows_1252": ([Game(players=("Ann", "José “Pepe”"))], []),
    "latin_1": ([Game(players=("Ann", "André Müller"))], []),
    "control_z": ([GOOD], []),
    "no_newline_at_end": ([GOOD], []),
    "all_on_one_line": ([Game(tags=EVENT)], []),
    "non_breaking_blanks": ([GOOD], []),
    "tabs": ([Game(tags=EVENT)], []),
    "one_move_a_line": ([GOOD], []),
    "percent_lines": ([Game(tags=EVENT)], []),
    # Tags. PDN 3.0: "?" and "" are unknown values.
    "lower_case_tags": ([Game(tags=EVENT | {"Black": "Ann", "White": "Bea"})], []),
    "red_for_black": ([Game(tags={"Black": "Ann"})], []),
    "red_and_black": ([Game(tags={"Black": "Ann"})], []),
    "red_is_not_black": ([GOOD], [7]),
    "escaped_quotes": ([Game(tags={"Event": r'The "Open" of C:\temp'})], []),
    "unescaped_backslash": ([Game(tags={"Event": "C:\\draughts\\"})], []),
    "blanks_in_tags": ([Game(tags=EVENT)], []),
    "no_blank_in_tags": ([Game(tags=EVENT)], []),
    "tag_over_two_lines": ([Game(tags=EVENT)], []),
    "empty_line_in_header": ([Game(tags=EVENT)], []),
    "repeated_tag": ([Game(tags={"Event": "Final"})], []),
    "empty_values": ([GOOD], []),
    "unknown_names": ([Game(players=UNKNOWN)], []),
    "user_tags": ([Game(tags={"White-Rating": "2400", "PDN3_Board": "7", "Ansager": "Ü"})], []),
    "broken_tag": ([GOOD, Game(tags=EVENT)], []),
    "broken_needed_tags": ([], [1, 5, 8, 12]),
    "tag_names": ([Game(tags={"Black Type": "x", "BlackType": "program"}), GOOD], []),
    # Results. PDN 3.0: "accept arbitrary strings"; games end with a result or `*`.
    "result_in_words": ([Game(tags={"Result": "White resigned"})], []),
    "result_with_blanks": ([GOOD], []),
    "result_format_plus": ([Game(result="*", tags={"Result": "1+ - 1-"})], []),
    "international_results": ([GOOD, Game(result="0-1"), Game(result="1/2-1/2")], []),
    "fractions": ([Game(result="1/2-1/2")] * 2, []),
    "both_lose": ([Game(result="*", tags={"Result": "0-0"})], []),
    "result_twice": ([GOOD, Game(result="0-1")], []),
    "result_in_the_tag_alone": ([GOOD, Game(result="0-1")], []),
    "contradictory_results": ([GOOD], [6]),
    "result_amid_the_moves": ([GOOD], [6]),
    "stars_for_forced_moves": ([Game(result="*"), Game(2, "*")], []),
    # Moves. PDN 3.0's reading grammar: blanks, zeros, ":" and three dots; no separators.
    "number_for_each_move": ([GOOD], []),
    "number_for_each_move_left_out": ([GOOD], [6]),
    "number_left_out": ([GOOD], [6]),
    # pydraughts and py-draughts number White's moves.
    "numbers_of_white": (
        [
            GOOD,
            Game(result="*", players=UNKNOWN),
            Game(2, "*", UNKNOWN, start="W:W30:B1,2"),
            *[Game(4, "*", UNKNOWN)] * 2,
        ],
        [],
    ),
    "numbers_contradict": ([], [1, 3, 5, 7, 9, 11]),
    "numbers_with_three_dots": ([GOOD], []),
    "numbers_with_an_ellipsis": ([GOOD], []),
    "numbers_without_dots": ([GOOD], []),
    "no_numbers": ([GOOD], []),
    "numbers_from_another": ([GOOD], []),
    "no_blank_after_numbers": ([GOOD], []),
    "moves_without_a_separator": ([GOOD], []),
    "blanks_in_moves": ([GOOD], []),
    "leading_zeros": ([GOOD], []),
    "unicode_dashes": ([GOOD], []),
    "capture_signs": ([Game(8)], []),
    "dash_for_captures": ([GOOD], []),
    "whole_capture_sequences": (
        [Game(2, "*", UNKNOWN, start="B:W14,15,22,23,K32:B1,10")],
        [],
    ),
    "capture_by_ends": ([Game(2, "*", UNKNOWN, start="B:W14,15,22,23,K32:B1,10")], [7]),
    "strengths": ([GOOD], []),
    "annotation_glyphs": ([GOOD], []),
    "comments": ([GOOD], []),
    "variations": ([GOOD], []),
    "unclosed_comment": ([GOOD], [6]),
    "letters_for_cells": ([GOOD], [6]),
    "setup_command": ([GOOD], [6]),
    "unknown_moves": ([GOOD], [6]),
    # Positions and rules. PDN 3.0: FEN has ranges; 21,B,8,8,N1,0 is English draughts.
    "fen_counters": ([Game(1, "*", UNKNOWN, start="B:W30,K31:BK1,5")], []),
    "fen_ranges": ([Game(1, "*", UNKNOWN)], []),
    "fen_blanks_and_case": ([Game(1, "*", UNKNOWN, start="W:W30,K31:BK1,5")], []),
    "fen_unseparated": ([Game(1, "*", UNKNOWN, start="B:W30:B1,2")], [1]),
    "positions_alone": (
        [
            Game(0, "*", UNKNOWN, start=start)
            for start in ("W:WK10:BK3,K4", "B:W30:BK1", "W:W30:B1")
        ],
        [],
    ),
    "positions_without_empty_lines": ([Game(0, "*", start="B:W30:B1")], [2]),
    "headers_without_moves": ([Game(0, "*"), Game(2, "0-1", UNKNOWN, {"Event": "b"})], []),
    "white_begins": ([Game(2, "1-0", UNKNOWN, start="W:W30:B21,22")], []),
    "game_type_in_full": ([Game(tags={"GameType": "21,B,8,8,N1,0"})], []),
    "game_type_with_blanks": ([GOOD], []),
    "game_types_of_others": ([], [5, 13, 21, 29, 37, 45]),
    "rules_of_ours": ([GOOD], []),
    # Random games, written by pydraughts 0.6.7 (english) and py-draughts 1.10.1 (AmericanBoard).
    "pydraughts": (
        [
            Game(36, "0-1", UNKNOWN),
            Game(8, "1-0", UNKNOWN, start="W:WK6,18,19,25:B2,7,12,K30"),
            Game(2, "*", UNKNOWN),
        ],
        [],
    ),
    "py_draughts": ([], [1, 6, 12, 18]),
    # Several games, or none.
    "games_without_headers": (
        [
            Game(players=UNKNOWN),
            Game(4, "*", UNKNOWN),
            Game(3, "*", UNKNOWN),
            Game(1, "0-1", UNKNOWN),
        ],
        [],
    ),
    "no_games_at_all": ([], []),
    "not_pdn": ([], [1]),
}


@pytest.fixture(scope="module")
def english():
    return make_game("checkers", **pdn.ENGLISH)


def test_every_file_in_the_folder_is_tested():
    assert {path.stem for path in FOLDER.iterdir()} == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_dialect_is_read(english, name):
    entries = list(record.read_foreign(path_of(name), english))
    expected, rejected_lines = FILES[name]
    assert [entry.line for entry in entries if isinstance(entry, BrokenGame)] == rejected_lines
    games = [entry[0] for entry in entries if not isinstance(entry, BrokenGame)]
    assert [(len(entry.turns), RESULTS[entry.outcome], entry.players) for entry in games] == [
        (game.turns, game.result, game.players) for game in expected
    ]
    for entry, game in zip(games, expected, strict=True):
        assert pdn.position_text(entry.start) == game.start
        assert game.tags.items() <= entry.tags.items()


@pytest.mark.parametrize("name", FILES)
def test_games_of_all_dialects_round_trip(english, name):
    for result in record.read_foreign(path_of(name), english):
        if isinstance(result, BrokenGame):
            continue
        entry, _ = result
        text = pdn.export(entry.game, entry)
        assert all(len(line) <= 79 for line in text.splitlines() if not line.startswith("["))
        (again,) = pdn.read(text, english)
        assert facts_of(again) == facts_of(entry)
        # Results are normalized: 1-0 for 2-0.
        same = set(filter(is_tag_name, entry.tags)) - {"FEN", "Result"}
        assert {name: again.tags[name] for name in same} == {
            name: entry.tags[name] for name in same
        }
        assert pdn.export(again.game, again) == text


def test_dialect_of_py_draughts_is_read_and_written(english):
    """White begins without a FEN, and 1-0 is won by White."""
    games = list(record.read_foreign(path_of("py_draughts"), english, "py-draughts"))
    assert [(len(game.turns), RESULTS[game.outcome]) for game, _ in games] == [
        (39, "0-1"),
        (39, "1-0"),
        (31, "1/2-1/2"),
        (1, "*"),
    ]
    starts = [f"W{START[1:]}", START, "B:WK18,19,25,28:B2,7,12,K30", f"W{START[1:]}"]
    assert [pdn.position_text(game.start) for game, _ in games] == starts
    ends = [
        "B:W6,K10,17,20,22,23,29,31:B13",
        "W:W12:B3,4,6,8,9,10,K14,16,20,K30",
        "W:WK5,20,K29:BK31",
        "B:W17,22,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,10,11,12",
    ]
    assert [pdn.position_text(match.position) for _, match in games] == ends
    dialect = english.formats[".pdn"].dialects["py-draughts"]
    for (game, _), start in zip(games, starts, strict=True):
        text = dialect.write(english, game)
        result = {"0-1": "1-0", "1-0": "0-1"}.get(RESULTS[game.outcome], RESULTS[game.outcome])
        assert '[GameType "23"]' in text
        assert f'[FEN "{start}"]' in text
        assert f'[Result "{result}"]' in text
        assert text.split()[-1] == result
        (again,) = dialect.read(text, english)
        assert facts_of(again) == facts_of(game)
        (same,) = pdn.read(pdn.export(english, game), english)
        assert facts_of(same) == facts_of(game)
        assert same.tags["GameType"] == "21"


def test_error_of_a_contradicted_result_names_the_dialect(english, tmp_path):
    path = tmp_path / "game.pdn"
    path.write_text('[FEN "W:W18:B14"]\n1. 18x9 1-0')
    (broken,) = record.read_foreign(path, english)
    assert str(broken) == (
        "line 1: by the rules it is won by the second (no_pieces), by the file won by the first "
        "player; 1-0 is won by Black in PDN, by White in the dialect py-draughts"
    )
    ((game, match),) = record.read_foreign(path, english, "py-draughts")
    assert RESULTS[game.outcome] == RESULTS[match.result.outcome] == "0-1"


def test_error_of_another_game_type_names_the_dialect(english):
    (broken,) = pdn.read('[GameType "23"] *', english)
    assert str(broken) == (
        "line 1: move 1: GameType '23', number '23'; English draughts is '21,B,8,8,N1,0'; "
        "the dialect py-draughts has it"
    )


def test_unknown_dialect_is_rejected(english):
    with pytest.raises(UnknownOption) as caught:
        record.find_format(english, Path("x.pdn"), "checkerboard")
    assert str(caught.value) == ("x.pdn: .pdn has no dialect 'checkerboard'; it has: py-draughts")
    with pytest.raises(UnknownOption) as caught:
        record.find_format(make_game("cannon"), Path("x.log"), "py-draughts")
    assert str(caught.value) == "x.log: .log has no dialect 'py-draughts'; it has: none"


def facts_of(entry):
    """Return the fields of a game except its tags and line."""
    return entry.start, entry.turns, entry.players, entry.outcome, entry.game.options


def path_of(name):
    return FOLDER / f"{name}.pdn"
