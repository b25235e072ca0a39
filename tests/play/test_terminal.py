"""Play in the terminal, typed line by line."""

import io
import re
import subprocess
import sys

import pytest
from conftest import command_line

from cc_env.__main__ import main
from cc_env.core.rules import DRAW, FIRST_WINS
from cc_env.errors import IllegalAction
from cc_env.games.factory import make_game
from cc_env.ladder import rungs
from cc_env.match.match import Result
from cc_env.match.record import read_records
from cc_env.output import Terminal
from cc_env.play.choices import list_choices
from cc_env.play.descriptions import describe_result
from cc_env.play.move_input import parse_move
from cc_env.play.session import HUMAN, GameSession
from cc_env.play.terminal import Console
from cc_env.rendering.picture import draw
from cc_env.rendering.text import to_ansi, to_text
from cc_env.text.rules import rules_text


def play_output(monkeypatch, *arguments, lines=(), status=0):
    """Return the output of `play` for these lines of input, which it echoes."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    return command_line(main, "play", *arguments, status=status)


GOLDEN = """\
Mini checkers: you (black) against minimax:depth=1; you begin
Two players, black and white, capture each other's men. You win by capturing all
men of your opponent, or by having more men when neither player can move.
type help for the commands, rules for the rules
    18w     17w     16w
15w     14w     13w
    12.     11.     10.
 9.      8.      7.
     6b      5b      4b
 3b      2b      1b
black to move
pieces: black 6, white 6
5 moves
  6    1) 6-9  2) 6-8
  5    3) 5-8  4) 5-7
  4    5) 4-7
black> 6 9
    18w     17w     16w
15w     14w     13w
    12.     11.     10.
 9b      8.      7.
     6+      5b      4b
 3b      2b      1b
white to move · last 6-9
pieces: black 6, white 6

white, minimax:depth=1: """


def test_scripted_game_has_the_expected_transcript(monkeypatch):
    """The transcript has the numbered moves, both counts of pieces, and the search statistics."""
    arguments = "-g", "mini_checkers", "--second", "minimax:depth=1"
    out = play_output(monkeypatch, *arguments, lines=["6 9"])
    assert out.startswith(GOLDEN)
    assert out.endswith("black> \nunfinished, after 2 turns\n")
    assert re.search(r"depth 1 · value .\d\.\d+ for white · cutoffs 0 max, 0 min · \d+ nodes", out)


WON = """\
black> 6x11
    18.     17.     16.
15.     14.     13.
    12.     11b     10.
 9.      8x      7.
     6+      5.      4.
 3.      2.      1.
black wins (no_pieces) · last 6x11
pieces: black 1, white 0
{end}; you win
over> quit
"""
DRAW_TRANSCRIPT = """\
black> 14-18
    18b     17.     16.
15.     14+     13.
    12.     11.     10.
 9.      8.      7.
     6.      5.      4.
 3w      2.      1.
draw (both_stuck) · last 14-18
pieces: black 1, white 1
{end}
over> quit
"""


@pytest.mark.parametrize(
    ("start", "golden", "result"),
    [
        ("6/6/6/2w3/1b4/6 b", WON, Result(FIRST_WINS, "no_pieces")),
        ("6/2b3/6/6/6/w5 b", DRAW_TRANSCRIPT, Result(DRAW, "both_stuck")),
    ],
)
def test_end_of_a_game_has_the_expected_transcript(monkeypatch, start, golden, result):
    move = golden.split("\n", 1)[0].removeprefix("black> ")
    arguments = "-g", "mini_checkers", "-p", start, "--second", "random"
    out = play_output(monkeypatch, *arguments, lines=[move, "quit"])
    assert out.endswith(golden.format(end=describe_result(make_game("mini_checkers"), result)))


@pytest.mark.parametrize("seat", [0, 1])
def test_first_player_can_be_chosen(monkeypatch, seat):
    """The seats follow --first and --second; the game option `first` decides which color begins."""
    names = ["human", "random"]
    first, second = names if seat == 0 else names[::-1]
    arguments = "-g", "mini_checkers", "--first", first, "--second", second
    out = play_output(monkeypatch, *arguments, lines=["1"])
    own, begins = ("black", "you begin") if seat == 0 else ("white", "black begins")
    assert out.startswith(f"Mini checkers: you ({own}) against random; {begins}\n")
    movers = re.findall(r"^(black|white)(?:> |, random: )\S", out, re.MULTILINE)
    assert movers == (["black", "white"] if seat == 0 else ["black", "white", "black"])
    option = "-o", "first=white"
    out = play_output(monkeypatch, *arguments[:2], *option, "--second", "human")
    assert "; white begins\n" in out
    assert "white to move\n" in out


def test_forced_move_is_printed_and_played_without_search(monkeypatch):
    start = "1w1w1w/w1w3/3b1w/6/1b1b2/b1b1b1 w"
    arguments = "-g", "mini_checkers", "-p", start, "--first", "human", "--second", "minimax"
    out = play_output(monkeypatch, *arguments)
    assert re.search(r"^white, minimax: \S+ \(the only move\)\n +18", out, re.MULTILINE)
    assert "nodes" not in out


@pytest.mark.parametrize(("level", "depth"), [("normal", 2), ("hard", 4)])
def test_person_plays_checkers_against_minimax(monkeypatch, level, depth):
    """A typed move is answered by a player whose level sets the search depth."""
    player = f"minimax:{level}"
    out = play_output(monkeypatch, "-g", "checkers", "--second", player, lines=["9 13"])
    assert out.startswith(f"Checkers: you (red) against {player}; you begin\n")
    assert "last 9-13\n" in out
    statistics = rf"^black, {player}: \d+-\d+\n  depth {depth} · value "
    assert re.search(statistics, out, re.MULTILINE)


ENDS = "no_pieces", "no_moves"


@pytest.mark.parametrize("person", ["red", "black"])
@pytest.mark.parametrize(
    ("start", "move", "ending"),
    [
        ("8/8/8/3b4/4r3/8/8/8 r", "44x22", "no_pieces"),
        ("8/8/8/7r/b7/1r6/2r5/8 r", "37-26", "no_moves"),
    ],
)
def test_winner_and_reason_are_printed(monkeypatch, person, start, move, ending):
    """Checkers ends when all pieces are captured or the player to move is blocked."""
    seats, lines = ["--first", "human", "--second", "minimax:depth=1"], [move, "quit"]
    if person == "black":
        seats, lines = ["--first", "minimax:depth=1", "--second", "human"], ["quit"]
    out = play_output(monkeypatch, "-g", "checkers", "-p", start, *seats, lines=lines)
    verdict = "you win" if person == "red" else "you lose"
    sentences = {
        end: describe_result(make_game("checkers"), Result(FIRST_WINS, end)) for end in ENDS
    }
    assert f"\n{sentences[ending]}; {verdict}\n" in out
    assert len(set(sentences.values())) == 2
    assert all(sentence.startswith("red wins: ") for sentence in sentences.values())


def test_opponents_of_the_ladder_have_names(monkeypatch):
    out = play_output(monkeypatch, "-g", "mini_checkers", lines=["1", "opponents"])
    lines = out.splitlines()
    assert lines[0] == "Mini checkers: you (black) against Pebble, level 1 of 6; you begin"
    assert "opponents: 1 Pebble, 2 Slate, " in out
    assert re.search(r"^white, Pebble: \d+-\d+$", out, re.MULTILINE)
    listed = [line.split()[:2] for line in lines if " Elo " in line]
    assert listed == [[str(rung.level), rung.name] for rung in rungs(make_game("mini_checkers"))]
    (current,) = (line for line in lines if line.endswith("  in this game"))
    assert current.startswith("1 Pebble ")


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("slate", "Slate, level 2 of 6"),
        ("3", "Flint, level 3 of 6"),
        ("ladder:2", "Slate, level 2 of 6"),
        ("random", "random"),
    ],
)
def test_new_game_begins_against_a_chosen_opponent(monkeypatch, typed, title):
    start = "1w1w1w/w1w1w1/6/6/1b1b2/b1b1b1 b"
    arguments = "-g", "mini_checkers", "-p", start, "--first", "FLINT", "--second", "human"
    out = play_output(monkeypatch, *arguments, lines=["1", f"opponent {typed}", "yes"])
    assert out.startswith("Mini checkers: you (white) against Flint, level 3 of 6; black begins\n")
    head = f"\nMini checkers: you (white) against {title}; black begins\n"
    rest = out.partition(head)[2]
    assert rest.count("pieces: black 5, white 6") == 2
    assert out.endswith("unfinished, after 1 turn\n")


@pytest.mark.parametrize("replies", [["no", "quit"], []])
def test_game_goes_on_unless_a_person_confirms_to_leave_it(monkeypatch, replies):
    out = play_output(monkeypatch, "-o", "size=4", lines=["1", "opponent random", *replies])
    assert "\nblue> opponent random\nleave this game? yes or no: " in out
    assert "\nthe game goes on\n" in out
    assert "random" not in out.partition("the game goes on")[2]


def test_game_without_a_ladder_has_another_opponent(monkeypatch):
    out = play_output(monkeypatch, "-o", "size=4", lines=["opponents", "opponent greedy"])
    assert out.startswith("Capturing & Conquering: you (blue) against minimax:normal; you begin\n")
    assert "error: there is no ladder for capture_conquer with size=4; " in out
    assert "\nCapturing & Conquering: you (blue) against greedy; you begin\n" in out


def test_name_that_resembles_a_level_is_rejected_with_it(monkeypatch):
    out = play_output(monkeypatch, lines=["opponent slatte"])
    reason = "there is no opponent 'slatte'; did you mean Slate? levels: 1 Pebble, 2 Slate, 3 "
    assert f"error: {reason}" in out
    assert "did you mean Pebble?" in play_output(monkeypatch, "--second", "pebbel", status=2)


@pytest.mark.parametrize(("seat", "corner"), [(0, "f6"), (1, "a1")])
def test_goal_and_rules_are_printed(monkeypatch, seat, corner):
    names = ["human", "random"]
    first, second = names if seat == 0 else names[::-1]
    out = play_output(monkeypatch, "--first", first, "--second", second, lines=["rules"])
    assert f"one piece. Your far corner is {corner}.\n" in out
    words = " ".join(out.split())
    assert " ".join(rules_text(make_game("capture_conquer")).split()) in words


def test_players_without_a_person_are_listed_without_the_goal(monkeypatch):
    out = play_output(monkeypatch, "-o", "size=4", "--first", "random", "--second", "greedy")
    assert out.startswith("Capturing & Conquering: blue random, red greedy; blue begins\n   a b")


def test_levels_play_without_statistics(monkeypatch):
    for second, count in (("ladder:3", 0), (rungs(make_game("mini_checkers"))[2].spec, 1)):
        out = play_output(monkeypatch, "-g", "mini_checkers", "--second", second, lines=["1"])
        assert out.count(" nodes\n") == count


def test_pause_follows_each_turn_of_a_player(monkeypatch):
    paused = []
    monkeypatch.setattr("cc_env.play.terminal.time.sleep", paused.append)
    arguments = "-g", "checkers", "--second", "random", "--pause", "1"
    play_output(monkeypatch, *arguments, lines=["1", "1"])
    assert paused == [1.0, 1.0]


def test_invalid_input_is_rejected_with_a_reason(monkeypatch):
    cases = {
        "9 8": "9 is empty; you can move from: 6, 5, 4",
        "18 15": "18 is not yours; you can move from: 6, 5, 4",
        "3 6": "3 cannot move now; you can move from: 6, 5, 4",
        "6 10": "6 cannot go to 10; it can go to: 9, 8",
        "19 20": "'19 20' is not a legal move",
        "6": "move number 6; expected: 1 to 5",
        "0": "move number 0; expected: 1 to 5",
        "99999999": "'99999999' is not a legal move",
        "6-10": "'6-10' is not a legal move\n",
        "41-": "'41-' is not a legal move; did you mean 41-30, 41-32?",
        "6-": "'6-' is not a legal move; did you mean 6-9, 6-8?",
        "hello": "'hello' is not a legal move; type help for the commands",
        "undo": "nothing to take back",
        "save": "nothing after save; expected: save FILE",
        "load": "nothing after load; expected: load FILE",
        "opponent": "nothing after opponent; expected: opponent NAME",
        "opponent 9": "the ladder of mini_checkers has no level '9'; it has: 1 (Pebble), ",
        "opponent nobody": "there is no player 'nobody'; ",
        "load none.jsonl": "none.jsonl",
        "save game.xyz": "unknown suffix '.xyz'; expected: .jsonl, .txt, .svg",
    }
    for text, why in cases.items():
        out = play_output(monkeypatch, "-g", "mini_checkers", lines=[text])
        assert f"\nerror: {why}" in out, out
        assert out.endswith("black> \nunfinished, after 0 turns\n")


def test_cell_selects_a_piece_and_then_its_target(monkeypatch):
    out = play_output(monkeypatch, "--second", "human", lines=["d3", "b2", "f6", "b1", "b3"])
    assert "blue> d3\nerror: d3 is empty; you can move from: " in out
    assert "\nblue> b2\n" in out
    assert "\nblue b2 to> f6\nerror: b2 cannot go to f6; it can go to: c2, b3, c3\n" in out
    assert "\nblue b2 to> b1\n" in out
    assert "\nblue b1 to> b3\n" in out
    assert "last b1-b3\n" in out


@pytest.mark.parametrize("line", ["b2 b3", "B2  b3", "b2-b3", "b2 - b3", "1,1-2,1"])
def test_moves_are_typed_with_blanks_or_in_either_notation(monkeypatch, line):
    assert "last b2-b3\n" in play_output(monkeypatch, "--second", "human", lines=[line])


@pytest.mark.parametrize("line", ["22 15 6", "22x15x6", "22x44x62"])
def test_capture_of_several_pieces_is_typed_as_its_path(monkeypatch, line):
    arguments = "-g", "checkers", "-p", "8/8/2b5/3r4/8/3r4/8/8 b"
    seats = "--first", "human", "--second", "human"
    assert "last 22x15x6\n" in play_output(monkeypatch, *arguments, *seats, lines=[line])


def test_cells_without_names_are_typed_as_row_and_column():
    game = make_game("elsewhere.tictactoe")
    choices = list_choices(game, game.initial)
    assert parse_move(game, game.initial, choices, None, "1 2").turn == (5,)
    with pytest.raises(IllegalAction, match="9 9 is off the board: rows are 0 to 2"):
        parse_move(game, game.initial, choices, None, "9 9")


def test_selecting_a_piece_twice_deselects_it(monkeypatch):
    out = play_output(monkeypatch, "--second", "human", lines=["b1", "b1", "a3 a4"])
    assert "blue b1 to> b1\n" in out
    assert "\nblue> a3 a4\n" in out
    assert "last a3-a4\n" in out


def test_person_accepts_a_draw_offer(monkeypatch):
    out = play_output(monkeypatch, "--second", "human", lines=["draw", "1", "draw"])
    assert "a draw is offered; red may type draw or decline\n" in out
    assert "\nblue offers a draw; type draw, decline, or a move\n" in out
    assert "a draw: both agreed\n" in out


def test_moving_declines_a_draw_offer(monkeypatch):
    out = play_output(monkeypatch, "--second", "human", lines=["draw", "1", "1", "1", "draw"])
    assert out.count("blue offers a draw") == 1
    assert "both agreed" not in out


def test_person_declines_a_draw_offer(monkeypatch):
    out = play_output(monkeypatch, "--second", "human", lines=["draw", "1", "decline", "decline"])
    assert "red> decline\nthe draw is declined\n" in out
    assert "red> decline\nerror: no draw is offered" in out


def screen_output(game, lines, monkeypatch, columns=80, rows=60):
    """Return the output of a game between two people on a terminal of this size."""
    monkeypatch.setattr(Terminal, "shows_progress", True)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", str(rows))
    terminal, remaining = Terminal(), iter(lines)
    with terminal.capture() as captured:
        Console(GameSession(game, (HUMAN, HUMAN)), terminal, lambda prompt: next(remaining)).run()
    return captured.get()


def test_long_move_list_is_not_printed_automatically(monkeypatch):
    game = make_game("cannon")
    out = screen_output(game, ["moves", "1", "quit"], monkeypatch, rows=24)
    start = "37 moves: 29 steps, 8 shots; type moves for the list\n"
    first, _, rest = out.partition(start)
    assert first.count("\n") < 24
    # The command prints the whole list.
    assert rest.startswith("37 moves: 29 steps, 8 shots\nsteps:\n")
    assert "steps:" not in rest.partition("white to move")[2]
    tall_screen = screen_output(game, ["quit"], monkeypatch, rows=60)
    assert "type moves for the list" not in tall_screen
    assert "steps:" in tall_screen


@pytest.mark.parametrize(("rows", "is_listed"), [(18, False), (19, True)])
def test_draw_offer_counts_in_the_height_of_the_move_list(game, rows, is_listed, monkeypatch):
    """Board and caption 8 lines, pieces and clocks 2, the offer 1, the list 7, a prompt 1."""
    out = screen_output(game, ["draw", "1", "quit"], monkeypatch, rows=rows)
    after_offer = out.partition("blue offers a draw; type draw, decline, or a move\n")[2]
    assert after_offer.startswith("16 moves\n") == is_listed
    assert after_offer.startswith("16 moves; type moves for the list\n") != is_listed


@pytest.mark.parametrize("columns", [80, 40])
def test_help_fits_the_terminal(columns, game, monkeypatch):
    out = screen_output(game, ["help", "quit"], monkeypatch, columns=columns)
    text = out[out.index("a move ") : out.index("unfinished")]
    assert max(map(len, text.splitlines())) <= columns
    assert "or both at once: a1 b2" in " ".join(text.split())
    assert {"moves", "decline", "save", "load", "quit"} <= {
        line.split()[0] for line in text.splitlines()
    }


def test_interrupted_game_prints_a_message(game):
    def interrupt(prompt):
        raise KeyboardInterrupt

    terminal = Terminal()
    with terminal.capture() as captured, pytest.raises(KeyboardInterrupt):
        Console(GameSession(game, (HUMAN, HUMAN)), terminal, interrupt).run()
    assert captured.get().endswith("\ninterrupted\nunfinished, after 0 turns\n")


def test_move_list_fits_a_narrow_terminal(game, monkeypatch):
    listed = screen_output(game, ["quit"], monkeypatch, columns=30).partition("16 moves\n")[2]
    assert "  b1   2) b1-d1  3) b1-c2\n       4) b1-b3\n" in listed


def test_unwritable_save_path_prevents_the_game(monkeypatch, tmp_path):
    for place, why in (
        (tmp_path, "is a folder; expected: the name of a file"),
        (tmp_path / "none" / "game.jsonl", "there is no folder"),
        (tmp_path / "game.xyz", "unknown suffix '.xyz'; expected: .jsonl"),
    ):
        out = play_output(monkeypatch, "--save", place, status=2)
        assert out.startswith("error: ")
        assert why in out


def test_default_seed_differs_between_games(monkeypatch, tmp_path):
    """The first player differs between games, too."""
    path = tmp_path / "games.jsonl"
    for arguments in [()] * 2 + [("--seed", "7")] * 2:
        play_output(monkeypatch, "--random-seats", "--save", path, *arguments, lines=["quit"])
    first, second, *fixed = (game.seed for _, game in read_records(path))
    assert first != second
    assert fixed == [7, 7]


def test_refusal_explains_a_mandatory_capture():
    game = make_game("checkers")
    start = game.from_text("8/8/8/3b4/4r3/8/8/1r6 r")
    with pytest.raises(ValueError, match="1 cannot move now; a capture comes first; you can"):
        parse_move(game, start, list_choices(game, start), None, "1 5")


def test_steps_and_captures_are_listed_separately(monkeypatch):
    start = "bbb3/br4/b5/5r/4rr/3rr1 b"
    out = play_output(monkeypatch, "-p", start, lines=[])
    count, steps, captures = map(
        int, re.search(r"(\d+) moves: (\d+) steps, (\d+) captures", out).groups()
    )
    assert (
        count
        == steps + captures
        == len(
            make_game("capture_conquer").legal_actions(
                make_game("capture_conquer").from_text(start)
            )
        )
    )
    assert out.index("steps:") < out.index("captures:")
    assert sorted(map(int, re.findall(r"(\d+)\) ", out))) == list(range(1, count + 1))


def test_move_and_bomb_candidates_are_listed(monkeypatch):
    """A cannon that can move to a cell and also bomb it needs a second input."""
    start = "W1W1W1Ww/2w5/3b4/6ww/6wb/3b2w1/8/1w1B1B1B w"
    arguments = "-g", "cannon", "-p", start, "--first", "human", "--second", "human"
    out = play_output(monkeypatch, *arguments, lines=["g5 g7"])
    move, bomb = re.search(r"which\? (\d+)\) g5-g7  (\d+)\) bomb g7", out).groups()
    for number, turn in ((move, "g5-g7"), (bomb, "bomb g7")):
        out = play_output(monkeypatch, *arguments, lines=["g5", "g7", number])
        assert "which? " in out
        assert f"last {turn}" in out


def test_morris_accepts_letters_and_shows_beads_in_hand(monkeypatch):
    out = play_output(monkeypatch, "-g", "morris", "--second", "human", lines=["a", "A", "b", "zz"])
    assert "white to move, in hand: white 9, black 9" in out
    assert "last A" in out
    assert "\nerror: A is occupied; in hand: white 8, black 9; choose one of: B, C" in out
    assert "\nerror: 'zz' is not a legal move" in out


def test_illegal_placements_of_morris_are_explained(monkeypatch):
    """Each refusal has a reason and is followed by a new prompt."""
    lines = ["a", "AB", "5x", "?", "A", "b"]
    out = play_output(monkeypatch, "-g", "morris", "--second", "human", lines=lines)
    for why in (
        "A is occupied; in hand: white 8, black 9; choose one of: B, C",
        "'5x' is not a legal move",
        "'?' is not a legal move",
    ):
        assert f"\nerror: {why}" in out
    assert out.count("last A\n") == 1
    assert "last B\n" in out


def test_illegal_moves_of_morris_are_explained(monkeypatch):
    """Each refusal has a reason and is followed by a new prompt."""
    start = "ww.w..bbbw............b. w 00"
    refused = {
        "ABC": "'ABC' is not a legal move",
        "YZ": "'YZ' is not a legal move",
        "CF": "C is empty; you can move from: B, D, J",
        "GL": "G is not yours; you can move from: B, D, J",
        "BX": "B cannot go to X; it can go to: C, E",
        "BA": "B cannot go to A; it can go to: C, E",
    }
    arguments = "-g", "morris", "--first", "human", "--second", "human", "-p", start
    out = play_output(monkeypatch, *arguments, lines=[*refused, "b", "c"])
    for why in refused.values():
        assert f"\nerror: {why}" in out
    assert "white B to> " in out
    assert "last BC\n" in out
    for together in ("BC", "bc", "b c"):
        assert "last BC\n" in play_output(monkeypatch, *arguments, lines=[together])


def test_mill_earns_a_free_move_that_the_prompt_explains(monkeypatch):
    start = "ww.....b.b..b.w....w..b. w 00"
    arguments = "-g", "morris", "--first", "human", "--second", "human", "-p", start
    out = play_output(monkeypatch, *arguments, lines=["OC", "H", "1", "TX"])
    assert "white to move, a mill: remove a black bead; white's next move free" in out
    assert "white to move, free move: to any empty point" in out
    assert "last TX" in out


def test_mill_requires_choosing_a_bead_to_remove(monkeypatch):
    """Only a bead of the opponent can be removed."""
    lines = ["a", "x", "b", "w", "c", "a", "d", "x"]
    out = play_output(monkeypatch, "-g", "morris", "--second", "human", lines=lines)
    assert "white to move, a mill: remove a black bead" in out
    assert "\nerror: A is occupied; a mill: remove a black bead" in out
    assert "\nerror: D is empty; a mill: remove a black bead" in out
    assert "last C-X" in out


MORRIS = """\
({a})----------B-----------C
 |           |           |
 |  (b)-----(b)------F   |
 |   |       |       |   |
 |   |   G---H---I   |   |
 |   |   |       |   |   |
 J---K---L       M---N---O
 |   |   |       |   |   |
 |   |   P---Q---R   |   |
 |   |       |       |   |
 |   S-------T-------U   |
 |           |           |
(w)----------W----------(w)
"""


def test_player_decisions_in_morris_are_printed(monkeypatch):
    """The board is printed after the turn, with the beads in hand and the removed bead."""
    arguments = "-g", "morris", "--first", "human", "--second", "minimax:depth=2"
    out = play_output(monkeypatch, *arguments, "-p", "w..bb..................w w 77", lines=["v"])
    assert MORRIS.format(a="w") + "black to move, in hand: white 6, black 7 · last V\n" in out
    answer = out.partition("last V\n")[2]
    assert re.search(r"^black, minimax:depth=2: F$", answer, re.MULTILINE)
    removed = re.search(r"^black, minimax:depth=2: -([AVX])$", answer, re.MULTILINE)[1]
    assert f"white to move, in hand: white 6, black 6 · last F-{removed}\n" in answer
    assert f" {removed}x---" in answer or f"---{removed}x" in answer
    assert answer.count(" |           |           |\n") == 2


@pytest.mark.parametrize("person", ["white", "black"])
def test_result_is_printed_for_winner_and_loser(monkeypatch, person):
    start, players = "ww......bbb...w......... w 00", ["human", "minimax:depth=2"]
    lines = ["OC", "I", "quit"] if person == "white" else ["quit"]
    first, second = players if person == "white" else players[::-1]
    arguments = "-g", "morris", "-p", start, "--first", first, "--second", second
    out = play_output(monkeypatch, *arguments, lines=lines)
    verdict = "you win" if person == "white" else "you lose"
    sentence = describe_result(make_game("morris"), Result(FIRST_WINS, "two_left"))
    assert f"\n{sentence}; {verdict}\n" in out


def test_winning_person_is_informed(monkeypatch, tmp_path):
    out = play_output(
        monkeypatch,
        "--save",
        tmp_path / "g.jsonl",
        "-p",
        "b5/6/6/6/r5/r4b b",
        lines=["moves", "resign", "yes", "1", "undo"],
    )
    assert "red wins: blue resigned; you lose" in out
    assert "error: the game is over; type review, undo, save FILE" in out
    ((_, game),) = read_records(tmp_path / "g.jsonl")
    assert (game.result, game.reason) == ("0-1", "resigned")


@pytest.mark.parametrize("replies", [["no"], ["1"], [""], []])
def test_game_goes_on_unless_a_person_confirms_to_resign(monkeypatch, replies):
    out = play_output(monkeypatch, "--second", "human", lines=["resign", *replies])
    assert "blue resigns? yes or no: " in out
    assert "\nthe game goes on\n" in out
    assert out.endswith("unfinished, after 0 turns\n")


def test_game_that_is_over_cannot_be_resigned(monkeypatch):
    out = play_output(monkeypatch, "--second", "human", lines=["resign", "Y", "resign"])
    assert "red wins: blue resigned\n" in out
    assert "error: the game is over" in out
    assert out.count("yes or no") == 1


def test_review_names_mistakes_and_better_turns(monkeypatch):
    """Red misses the far corner."""
    arguments = "-p", "6/brb2r/b3r1/6/3b2/r2b2 r", "--first", "human", "--second", "human"
    out = play_output(monkeypatch, *arguments, lines=["review", "b2-d2xc2", "review"])
    assert "error: no turns yet to review" in out
    review = out.partition("reviewing 1 turn\n")[2].splitlines()
    assert re.fullmatch(r"red: \d+ % (accuracy|turns that kept the exact value)", review[0])
    assert review[1].startswith("1. red b2-d2xc2??  threw away a proven win in 1 turn: misses a ")
    assert review[2] == "   better: b2-a1"


@pytest.mark.parametrize(("second", "name"), [("human", "blue"), ("random", "you")])
def test_review_of_a_solved_game_is_exact(monkeypatch, second, name):
    arguments = "-o", "size=4", "--first", "human", "--second", second
    out = play_output(monkeypatch, *arguments, lines=["1", "1", "review"])
    review = out.partition("reviewing ")[2]
    assert re.search(rf"^{name}: \d+ % turns that kept the exact value\nred: ", review, re.M)


def test_two_players_are_watched_to_the_end(monkeypatch):
    out = play_output(monkeypatch, "--first", "greedy", "--second", "random", "--seed", "3")
    assert re.search(r"wins: (the far corner is reached|\w+ has one piece left)\n$", out)
    assert "(the only move)" not in out
    assert ">" not in out


def test_scores_are_reported_if_the_game_has_them(monkeypatch):
    out = play_output(monkeypatch, "-g", "cannon", "--first", "random", "--second", "aggressive")
    assert re.search(r"wins: [\w ]+; scores [\d.]+ - [\d.]+\n$", out)


def test_random_seats_are_printed(monkeypatch):
    arguments = "-g", "morris", "--second", "greedy", "--random-seats", "--seed"
    heads = {play_output(monkeypatch, *arguments, seed).splitlines()[0] for seed in range(6)}
    assert heads == {
        "Nine men's morris: you (white) against greedy; you begin",
        "Nine men's morris: you (black) against greedy; white begins",
    }


def test_saved_game_can_be_continued(monkeypatch, tmp_path):
    path = tmp_path / "game.jsonl"
    lines = ["1", "1", f"save {path}", "turns", "quit"]
    out = play_output(monkeypatch, "--second", "human", lines=lines)
    assert f"saved in {path}, 2 turns" in out
    turns = re.search(r"  1\. \S+  2\. \S+", out)[0]
    out = play_output(monkeypatch, "--second", "human", lines=[f"load {path}", "turns", "undo"])
    assert turns in out
    assert "1 turn taken back" in out
    assert out.endswith("unfinished, after 1 turn\n")


def test_games_are_saved_and_loaded_as_pdn(monkeypatch, tmp_path):
    path = tmp_path / "game.pdn"
    arguments = "-g", "checkers", "--second", "human"
    out = play_output(monkeypatch, *arguments, lines=["1", "2", f"save {path}"])
    assert "saved in" in out
    assert "[Event" in path.read_text() or "[Black" in path.read_text()
    out = play_output(monkeypatch, *arguments, lines=[f"load {path}"])
    assert f"loaded the last of 1 game in {path}" in out
    assert out.endswith("unfinished, after 2 turns\n")
    path.write_text("1. 9-13 *\n\n" + path.read_text())
    out = play_output(monkeypatch, *arguments, lines=[f"load {path}"])
    assert f"loaded the last of 2 games in {path}" in out
    path.write_text(path.read_text().removeprefix("1. 9-13 *\n\n"))
    play_output(monkeypatch, *arguments, "--save", tmp_path / "end.pdn", lines=["1", "2"])
    assert (tmp_path / "end.pdn").read_text() == path.read_text()


def test_hint_analysis_help_and_draw_offer_are_printed(monkeypatch):
    arguments = "-g", "mini_checkers", "--hint-player", "minimax:depth=2"
    out = play_output(monkeypatch, *arguments, lines=["hint", "analyze", "help", "board", "draw"])
    assert re.search(r"^chances +\d+ % for .* to win", out, re.MULTILINE)
    assert re.search(r"^best +\d+ % ", out, re.MULTILINE)
    assert re.search(r"try \d+-\d+ \(the choice of minimax:depth=2\)\n", out)
    assert re.search(r"^line +1\. \d+.\d+  2\. ", out, re.MULTILINE)
    assert "take back your last turn" in out
    assert "a draw is offered; Pebble declines" in out


def test_invalid_options_print_one_line_and_exit_with_2(monkeypatch):
    for arguments, why in (
        (["--first", "nobody"], "no player 'nobody'"),
        (["--hint-player", "nobody"], "no player 'nobody'"),
        (["--seconds-per-game", "0"], "seconds_per_game=0.0"),
        (["-p", "x"], "cannot read position 'x'"),
        (["--seed", "-1"], "seed=-1"),
    ):
        out = play_output(monkeypatch, *arguments, status=2)
        assert out.startswith("error: ")
        assert why in out


def test_output_outside_a_terminal_has_no_colors(game):
    terminal = Terminal()
    with terminal.capture() as captured:
        Console(GameSession(game, (HUMAN, HUMAN)), terminal, lambda prompt: "quit").run()
    assert "\x1b" not in captured.get()


def test_pieces_are_colored_on_a_terminal(game, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    with terminal.capture() as captured:
        Console(GameSession(game, (HUMAN, HUMAN)), terminal, lambda prompt: "quit").run()
    assert "\x1b[1;34mb\x1b[0m" in captured.get()


def test_ansi_picture_has_colored_pieces(game):
    picture = draw(game, game.initial, select=(0, 0))
    colored = to_ansi(picture)
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == to_text(picture)
    assert "\x1b[1;34mb\x1b[0m" in colored


def test_play_runs_as_a_module_command():
    run = [sys.executable, "-m", "cc_env", "play", "-g", "mini_checkers", "--second", "random"]
    done = subprocess.run(run, input="1\n1\nquit\n", capture_output=True, text=True, check=True)
    assert not done.stderr
    assert "black> 1\n" in done.stdout
    assert "unfinished, after " in done.stdout


def test_typed_control_characters_are_escaped(monkeypatch):
    out = play_output(monkeypatch, "--second", "human", lines=["\x1b[2J 9,9-9,9", "\x9b1m"])
    assert out.count(r"\x1b[2J 9,9-9,9") == 2  # the line, and the refusal
    assert out.replace("\n", "").isprintable()
