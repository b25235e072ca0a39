"""Texts of games and positions that people paste or upload."""

import json

import numpy as np
import pytest

from cc_env.errors import BadRecord
from cc_env.games.factory import make_game
from cc_env.match.match import RESIGNED, Match
from cc_env.match.record import Record
from cc_env.play import importing
from cc_env.registry.catalogue import GAMES


def random_record(name, **options):
    """Return the record of a game of ten random turns."""
    game, rng = make_game(name, **options), np.random.default_rng(6)
    match = Match(game)
    while len(match.turns) < 10:
        match.play(int(rng.choice(game.legal_actions(match.position))))
    match.forfeit(1, RESIGNED)
    return Record.from_match(match, players=("first", "second")), match


@pytest.mark.parametrize("name", GAMES)
def test_records_are_imported(name):
    game, match = random_record(name)
    broken = game.to_json().replace(game.turns[2], "nowhere")
    text = "\n".join([broken, game.to_json(), game.to_json()])
    imported = importing.read_games(text).games
    assert [game_read.game.name for game_read in imported] == [name, name]
    assert imported[0].turns == tuple(turn for _, turn in match.history)
    assert imported[0].players == ("first", "second")
    assert imported[0].result.endswith("resigned")
    with pytest.raises(BadRecord, match="line 1: turn 3: 'nowhere' is not legal"):
        importing.read_games(broken)


@pytest.mark.parametrize("is_game_selected", [None, "checkers"])
def test_pdn_is_imported(is_game_selected):
    game = make_game("checkers", crowning="ends_move", no_progress_limit=None)
    text = '[Black "A"] [White "B"] 1. 9-14 22-18 2. 5-9 25-22 1-0\n\n[Black "C"] 1. 9-99 *'
    read = importing.read_games(text, game if is_game_selected else None)
    (imported,) = read.games
    assert imported.players == ("A", "B")
    assert imported.result == "1-0 (the file has only the result)"
    assert len(imported.turns) == 4
    assert imported.game.options == game.options
    assert read.total == 2
    assert [(broken.line, broken.reason[:16]) for broken in read.refused] == [
        (3, "move 1: '9-99' i")
    ]
    with pytest.raises(BadRecord, match=r"as \.pdn: line 1: move 1"):
        importing.read_games("1. 9-99 *", game)


def test_pdn_without_moves_is_a_position():
    text = '[Event "study"]\n[SetUp "1"]\n[FEN "W:WK30:B21,22"]\n'
    (imported,) = importing.read_games(text).games
    assert (imported.turns, imported.result) == ((), "")
    assert imported.game.to_text(imported.start) == "2B5/8/r1r5/8/8/8/8/8 b"
    assert imported.players == ("", "")


def test_cannon_logs_are_imported():
    lines = [
        '{"meta": "", "action": "INIT", "data": "2 8 8 120"} Received from client 0',
        '{"meta": "", "action": "NORMAL", "data": "S 0 5 M 0 4"} Received from client 0',
    ]
    game = make_game("cannon")
    (imported,) = importing.read_games("\n".join(lines)).games
    assert imported.game.options == game.options
    assert game.turn_texts(game.initial, imported.turns[0]) == ["S 0 5 M 0 4"]


@pytest.mark.parametrize("selected", [None, make_game("checkers")])
def test_position_of_pdn_is_imported(selected):
    (imported,) = importing.read_games("W:W21,22,K3:B1,2", selected).games
    assert imported.game.name == "checkers"
    assert imported.game.to_text(imported.start) == "8/8/b1b5/8/8/8/8/1r1r1B2 b"


def test_missing_fields_of_a_record_are_named():
    with pytest.raises(BadRecord, match="line 1: the record has no options, players, turns,"):
        importing.read_games('{"game": "morris"}')


@pytest.mark.parametrize("name", GAMES)
def test_positions_are_imported(name):
    game = make_game(name)
    for selected in (game, None):
        imported = importing.read_games(f"  {game.to_text(game.initial)}\n", selected).games
        assert (name, game.initial) in [
            (candidate.game.name, candidate.start) for candidate in imported
        ]
        assert all(candidate.turns == () for candidate in imported)


def test_import_errors_of_a_named_game_are_all_reported():
    with pytest.raises(BadRecord, match=r"cannot read position 'hello'.*; checkers, as .pdn: "):
        importing.read_games("hello", make_game("checkers"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the text is empty"),
        ("hello", "neither a game in a known format"),
        ("hello\nyou", "select the game to get the exact errors"),
        ('{"game": "chess"}', "line 1: "),
        (
            '{"game": "os.system", "options": {}, "players": ["a", "b"], "turns": [], '
            '"result": "*", "reason": "unfinished"}',
            "line 1: ",
        ),
        ("{" * 100_000, "neither a game"),
        ("\ud800", "neither a game"),
    ],
)
def test_text_without_a_game_is_rejected_with_a_reason(text, reason):
    with pytest.raises(BadRecord, match=reason):
        importing.read_games(text)
    if "game" not in text:
        for name in GAMES:
            with pytest.raises(BadRecord):
                importing.read_games(text, make_game(name))


def test_games_after_the_first_fifty_are_only_counted():
    position = '[FEN "B:W30:B1"] *\n'
    read = importing.read_games(position * 51)
    assert (len(read.games), read.total, read.refused) == (50, 51, ())
    game, _ = random_record("morris")
    read = importing.read_games(f"{game.to_json()}\n\n" * 60)
    assert (len(read.games), read.total, read.refused) == (50, 60, ())


@pytest.mark.parametrize("name", [None, "checkers"])
def test_invalid_games_are_listed_by_line(name):
    game = make_game(name, crowning="ends_move", no_progress_limit=None) if name else None
    contradiction = '[FEN "B:W9:B5"] 1. 5x14 0-1'
    text = "\n\n".join(["1. 9-13 *", "1. 9-12 *", "1. 9-14 *", contradiction, "1. oops *", "9-13"])
    read = importing.read_games(text, game)
    assert (len(read.games), read.total) == (3, 6)
    assert [broken.line for broken in read.refused] == [3, 7, 9]
    assert "'9-12' is not legal" in read.refused[0].reason
    assert "by the rules it is won by the first player" in read.refused[1].reason
    assert "cannot read 'oops" in read.refused[2].reason


def test_record_line_may_contain_unicode_line_separators():
    game, _ = random_record("morris")
    names = ["a\u2028b", "c\x85d\x0ce"]
    line = json.dumps(json.loads(game.to_json()) | {"players": names}, ensure_ascii=False)
    for end in ("\n", "\r\n", "\r"):
        read = importing.read_games(end.join([line, line]))
        assert [list(game_read.players) for game_read in read.games] == [names, names]
