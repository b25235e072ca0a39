"""Checkers: worked examples, recorded positions and games, counts, evaluations, notation."""

import gzip
import json
import re
from collections import Counter
from itertools import islice

import numpy as np
import pytest
from conftest import ORACLE

from cc_env.core import rules
from cc_env.core.game import BrokenGame, PlayedGame
from cc_env.core.grid import Grid
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS
from cc_env.errors import BadOption, BadPosition, BadRecord, IllegalAction
from cc_env.games.checkers import pdn, pdn_text
from cc_env.games.checkers.evaluation import NEARNESS, SYMMETRIC, Published
from cc_env.games.checkers.rules import CELLS
from cc_env.games.factory import make_game
from cc_env.match import record
from cc_env.match.match import Limits, Match
from cc_env.match.random_games import play_random_games
from cc_env.match.record import replay_foreign
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player
from cc_env.verification.perft import perft

RECORDED = ORACLE / "checkers8.jsonl.gz"
GOLDEN_PDN = """
[Event "A game within a game"]
[Black "One"]
[White "Other"]
[Result "*"]

1. 9-13 {the edge} 22-18 2. 10-14 ; a comment
18x9 (18-15? 11x18) 3. 5x14 $1 23-18! 4. 14x23 27x18 *
"""


@pytest.fixture(scope="module")
def checkers():
    return make_game("checkers")


@pytest.fixture(scope="module")
def english():
    return make_game("checkers", **pdn.ENGLISH)


def place(game, side, idle=0, **letters):
    """Return a position with pieces on cells, such as r=("53", "57")."""
    words = {"red": "r", "red_kings": "R", "black": "b", "black_kings": "B"}
    cells = {divmod(int(at), 10): words[name] for name in letters for at in letters[name].split()}
    return game.from_text(f"{Grid(8, 8).board_text(cells)} {side}" + (f" {idle}" if idle else ""))


def turns(game, position):
    return {game.turn_text(position, turn) for turn in game.turns(position)}


# Worked examples


def test_start_has_seven_turns(checkers):
    legal = turns(checkers, checkers.initial)
    assert legal == {"51-40", "51-42", "53-42", "53-44", "55-44", "55-46", "57-46"}


def test_capture_is_mandatory_for_any_piece(checkers):
    assert turns(checkers, place(checkers, "r", red="53 57", black="42")) == {"53x31"}


def test_capture_must_be_completed(checkers):
    position = place(checkers, "r", red="64", black="53 31 55")
    assert turns(checkers, position) == {"64x42x20", "64x46"}


def test_king_may_capture_back_to_its_start(checkers):
    position = place(checkers, "r", red_kings="53", black="42 22 24 44")
    assert turns(checkers, position) == {"53x31x13x35x53", "53x35x13x31x53"}
    after = {
        checkers.to_text(checkers.play_turn(position, turn)) for turn in checkers.turns(position)
    }
    assert after == {"8/8/8/8/8/3R4/8/8 b"}


def test_crowning_option_decides_whether_a_capture_continues(checkers, english):
    letters = {"red": "20", "black": "11 13 15"}
    assert turns(checkers, place(checkers, "r", **letters)) == {"20x02x24x06"}
    assert turns(english, place(english, "r", **letters)) == {"20x02"}
    two = {"red": "22 62", "black": "13 15 51"}
    assert turns(checkers, place(checkers, "r", **two)) == {"22x04x26", "62x40"}
    assert turns(english, place(english, "r", **two)) == {"22x04", "62x40"}


def test_player_without_a_move_loses(checkers):
    position = place(checkers, "r", red="20", black="11 02")
    assert (checkers.outcome(position), checkers.ending(position)) == (SECOND_WINS, "no_moves")


def test_player_without_pieces_loses(checkers):
    position = place(checkers, "r", red="42", black="31")
    after = checkers.play_turn(position, checkers.parse_turn(position, "42x20"))
    assert (checkers.outcome(after), checkers.ending(after)) == (FIRST_WINS, "no_pieces")


def test_men_step_forward_and_kings_in_all_directions(checkers):
    position = place(checkers, "b", black="22", black_kings="44", red="71")
    assert turns(checkers, position) == {"22-31", "22-33", "44-33", "44-35", "44-53", "44-55"}
    assert turns(checkers, place(checkers, "r", red="33 42", black_kings="00")) == {
        "33-22", "33-24", "42-31"
    }  # fmt: skip


# Draws


def test_game_without_progress_is_drawn(checkers):
    position = place(checkers, "r", idle=79, red_kings="71", black_kings="06")
    after = checkers.play_turn(position, checkers.parse_turn(position, "71-60"))
    assert (checkers.outcome(after), checkers.ending(after)) == (DRAW, "no_progress")
    endless = make_game("checkers", no_progress_limit=None)
    position = place(endless, "r", idle=500, red_kings="71", black_kings="06")
    assert endless.outcome(position) == ONGOING


@pytest.mark.parametrize(
    ("letters", "turn"),
    [({"red": "53", "black": "06"}, "53-42"), ({"red_kings": "53", "black": "42 06"}, "53x31")],
)
def test_man_steps_and_captures_are_progress(checkers, letters, turn):
    position = place(checkers, "r", idle=79, **letters)
    after = checkers.play_turn(position, checkers.parse_turn(position, turn))
    assert checkers.to_text(after).endswith(" b")


def test_win_takes_precedence_over_the_limit(checkers):
    position = place(checkers, "r", idle=79, red_kings="20 22", black="00")
    after = checkers.play_turn(position, checkers.parse_turn(position, "20-11"))
    assert (checkers.outcome(after), checkers.ending(after)) == (FIRST_WINS, "no_moves")


def test_key_ignores_the_progress_counter(checkers):
    match = Match(checkers, place(checkers, "r", red_kings="71", black_kings="06"), Limits())
    for text in ("71-60", "06-17", "60-71", "17-06") * 2:
        assert match.result is None
        for action in checkers.parse_turn(match.position, text):
            match.play(action)
    assert match.result == (DRAW, "repetition")


# Recorded positions and counts


def test_rules_agree_with_reference_positions(assert_agreement):
    assert_agreement(RECORDED, "checkers", 3800)


def recorded_positions():
    with gzip.open(RECORDED, "rt") as file:
        for line in map(json.loads, file):
            if line["kind"] == "position":
                letters = zip(CELLS, line["board"], strict=True)
                yield line, {cell: letter for cell, letter in letters if letter != "."}


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_published_evaluation_equals_recorded_values(checkers, every):
    for line, letters in islice(recorded_positions(), None, None, every):
        position = checkers.from_text(f"{Grid(8, 8).board_text(letters)} {line['turn']}")
        assert rules.evaluate(position, 1, Published()) == line["score"]
        assert rules.evaluate(position, 0, Published()) == -line["score"]


def test_symmetric_evaluation_counts_both_sides_alike(checkers):
    tiles, both = Published(man=np.int64(0)), SYMMETRIC._replace(man=np.int64(0))
    swap = str.maketrans("rRbB", "bBrR")
    for line, letters in islice(recorded_positions(), 300):
        position = checkers.from_text(f"{Grid(8, 8).board_text(letters)} {line['turn']}")
        turned = {(7 - r, 7 - c): letter.translate(swap) for (r, c), letter in letters.items()}
        other = checkers.from_text(
            f"{Grid(8, 8).board_text(turned)} {line['turn'].translate(swap)}"
        )
        black, red = (rules.evaluate(state, 1, tiles) for state in (position, other))
        assert rules.evaluate(position, 1, both) == black - red
        assert rules.evaluate(position, 0, both) == red - black


@pytest.mark.parametrize("level", ["normal", "hard", "depth=6"])
def test_search_wins_a_won_ending(checkers, level):
    """Four kings and two men against a king; without chasing, the search repeats moves."""
    position, rng = checkers.from_text("2R1R3/3r4/2R5/1R6/8/8/r5B1/8 b 8"), np.random.default_rng(0)
    red = make_player(f"minimax:{level}", checkers)
    black = make_player("minimax:depth=6", checkers)
    for _ in range(80):
        mover = black if checkers.to_move(position) else red
        position = checkers.apply(position, mover.choose(position, rng, Clock()).action)
        if checkers.outcome(position) != ONGOING:
            break
    assert checkers.outcome(position) == 0


def test_evaluation_rewards_chasing_a_weak_side(checkers):
    standard = checkers.evaluation()
    weights = np.zeros_like(standard.weights)
    weights[NEARNESS] = 1
    nearness = standard._replace(weights=weights)
    for text, value in (
        # 8 minus a distance of 2, plus 8 minus 3.
        ("8/8/2R5/8/4b3/8/8/1R6 r 0", 11),
        ("8/8/2R5/8/4b3/8/6R1/8 r 0", 12),
        # Only kings count.
        ("8/8/2R5/8/4b3/8/6r1/8 r 0", 6),
        ("8/8/2B5/8/4r3/8/6B1/8 r 0", -12),
        ("8/8/2R5/8/4b3/8/8/1R6 b 0", 11),
        # Neither side is ahead.
        ("8/8/2R5/8/4b3/8/8/8 r 0", 0),
        # A side with three pieces is not chased.
        ("8/8/2R5/1R6/4b3/1R3b2/6b1/1R6 r 0", 0),
    ):
        position = checkers.from_text(text)
        assert rules.evaluate(position, 0, nearness) == value, text
        assert rules.evaluate(position, 1, nearness) == -value


def test_depth_1_choices_equal_recorded_choices(checkers):
    published = make_player("greedy:evaluation=published", checkers)
    rng = np.random.default_rng(0)
    choices = 0
    for line, letters in list(recorded_positions())[::25]:
        if "one_ply" in line:
            position = checkers.from_text(f"{Grid(8, 8).board_text(letters)} {line['turn']}")
            best = place_board(checkers, line["one_ply"], line["turn"])
            while True:
                action = published.choose(position, rng, Clock()).action
                position = checkers.apply(position, action)
                if not checkers.mid_turn(position):
                    break
            if checkers.outcome(position) == ONGOING:
                score = rules.evaluate(position, 1, Published())
                assert score == rules.evaluate(best, 1, Published())
                choices += 1
    assert choices > 80


def place_board(game, board, mover):
    letters = {c: letter for c, letter in zip(CELLS, board, strict=True) if letter != "."}
    return game.from_text(f"{Grid(8, 8).board_text(letters)} {'b' if mover == 'r' else 'r'}")


def test_perft_equals_known_counts(checkers, english):
    same = [7, 49, 302, 1469, 7361, 36768, 179740, 845931]
    for game, more in {english: 3963680, checkers: 3963629}.items():
        counts = [*same, more]
        assert [perft(game, game.initial, depth) for depth, _ in enumerate(counts, 1)] == counts


@pytest.mark.slow
def test_deep_perft_equals_known_counts(checkers, english):
    assert [perft(english, english.initial, depth) for depth in (10, 11)] == [18391564, 85242128]
    assert perft(checkers, checkers.initial, 10) == 18391602


def test_random_games_end_by_the_rules(checkers):
    playouts = play_random_games(checkers, 4000, seed=1)
    assert not playouts.unfinished
    assert playouts.first_wins == pytest.approx(playouts.second_wins, rel=0.15)
    # Some turns are chains.
    assert playouts.decisions > playouts.turns


# Texts, observations, pictures of a turn


def test_positions_round_trip_as_text(checkers):
    rng = np.random.default_rng(1)
    jumpers = idle = 0
    for _ in range(10):
        position = checkers.initial
        while checkers.outcome(position) == ONGOING:
            text = checkers.to_text(position)
            assert checkers.from_text(text) == position
            jumpers += bool(position.jumper)
            idle += bool(position.idle)
            position = checkers.apply(position, int(rng.choice(checkers.legal_actions(position))))
    assert jumpers > 7
    assert idle > 30


def test_only_the_capturing_piece_continues(checkers):
    position = place(checkers, "r", red="64 60", black="53 31 51")
    position = checkers.apply(position, checkers.parse_turn(position, "64x42x20")[0])
    assert checkers.to_text(position) == "8/8/8/1b6/2r5/1b6/r7/8 r x42"
    assert checkers.mid_turn(position)
    assert turns(checkers, position) == {"x20"}
    assert checkers.observe(position)[4].nonzero() == (4, 2)
    assert checkers.observe(position, 1)[4].nonzero() == (3, 5)


def test_observations_show_men_and_kings_in_both_frames(checkers):
    position = place(checkers, "b", red="71", red_kings="00", black="22", black_kings="77")
    own, own_kings, enemy, enemy_kings, jumper = checkers.observe(position)
    assert own[5, 5] == own_kings[0, 0] == enemy[0, 6] == enemy_kings[7, 7] == 1
    assert not jumper.any()
    assert checkers.observe(position).sum() == 4
    own, own_kings, enemy, enemy_kings, _ = checkers.observe(position, 0)
    assert own[7, 1] == own_kings[0, 0] == enemy[2, 2] == enemy_kings[7, 7] == 1


def test_error_of_an_illegal_turn_lists_whole_captures(checkers):
    position = checkers.from_text("8/8/2b5/3r4/8/3r4/8/8 b")
    message = "'22x44' is not legal in '8/8/2b5/3r4/8/3r4/8/8 b'; did you mean 22x44x62?"
    with pytest.raises(IllegalAction, match=f"^{re.escape(message)}$"):
        checkers.parse_turn(position, "22x44")
    message = "'nonsense' is not legal in '8/8/2b5/3r4/8/3r4/8/8 b'; legal: 22x15x6"
    with pytest.raises(IllegalAction, match=f"^{re.escape(message)}$"):
        checkers.parse_turn(position, "nonsense")


def test_track_has_the_path_and_the_captured_pieces(checkers):
    position = place(checkers, "b", black="11", red="22 44")
    (turn,) = checkers.turns(position)
    path, captured = checkers.track(position, turn)
    assert path == ((1, 1), (3, 3), (5, 5))
    assert captured == ((2, 2), (4, 4))


def test_action_cells_agree_with_the_notation_and_are_distinct(checkers):
    position = checkers.initial
    for action in checkers.legal_actions(position):
        start, end = checkers.action_cells[action]
        assert checkers.action_text(position, action) == "{}{}-{}{}".format(
            *divmod(start, 8), *divmod(end, 8)
        )
    assert len({tuple(cells) for cells in checkers.action_cells.tolist()}) == 170


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("8/8/8/8/8/8/8 r", "8 rows of 8 cells"),
        ("8/8/8/8/8/8/8/9 r", "8 rows of 8 cells"),
        ("k7/8/8/8/8/8/8/8 r", "made of r, R, b, B and numbers"),
        ("r7/8/8/8/8/8/8/8 w", "side to move"),
        ("1r6/8/8/8/8/8/8/b7 r", "r on 01, an unused cell"),
        ("8/1b1b1b1b/b1b1b1b1/1b1b1b1b/b1b5/8/8/1r6 r", "14 pieces of b; expected: at most 12"),
        ("8/8/8/8/8/1r6/8/8 r", "b has just moved, so it needs a piece"),
        ("b7/8/8/8/8/1r6/8/8 r -1", "'-1' is neither a number of turns"),
        ("b7/8/8/8/8/1r6/8/8 r 81", "81 turns without progress; after 80 the game is over"),
        ("b7/8/8/8/8/1r6/8/8 r x52", "'x52' is neither a number of turns nor x with a cell"),
        ("b7/8/8/8/8/1r6/8/8 r x51", "no piece on 51 can continue a jump"),
        ("", "side to move"),
        (None, "None is not the text"),
    ],
)
def test_invalid_position_text_is_rejected(checkers, text, message):
    with pytest.raises(BadPosition, match=message):
        checkers.from_text(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"crowning": "never"}, "crowning='never'; expected: continue or ends_move"),
        ({"no_progress_limit": 0}, "no_progress_limit=0"),
        ({"no_progress_limit": 2.5}, r"no_progress_limit=2\.5"),
        ({"size": 8}, "no option size; it has: crowning, no_progress_limit"),
    ],
)
def test_invalid_options_are_rejected(options, message):
    with pytest.raises(BadOption, match=message):
        make_game("checkers", **options)


# Players


def test_quiescence_finds_the_recapture(checkers):
    # After 42-33 the reply is 24x42. At depth 1 only quiescence search finds it.
    position = place(checkers, "r", red="42 60", black="24 06")
    decision = make_player("minimax:depth=1", checkers).choose(
        position, np.random.default_rng(0), Clock()
    )
    assert checkers.action_text(position, decision.action) != "42-33"


@pytest.mark.parametrize(
    ("level", "depth"), [("easy", 1), ("normal", 2), ("hard", 4), ("extreme", 8)]
)
def test_levels_are_the_published_depths(checkers, level, depth):
    player = make_player(f"minimax:{level}", checkers)
    decision = player.choose(checkers.initial, np.random.default_rng(0), Clock())
    assert decision.details["depth"] == depth


def test_stronger_player_wins(checkers):
    from training import arena

    names = "minimax:hard", "minimax:easy,evaluation=published", "random"
    standings = arena.play_tournament(names, "checkers", games=6).standings
    # Many games are draws.
    assert standings.pair(names[0], names[1]).tally.score.value > 0.6
    assert standings.pair(names[0], "random").tally.score.value > 0.95


# Portable Draughts Notation


def test_pdn_numbers_the_cells_from_1_to_32():
    assert pdn_text.number((7, 1)) == 1
    assert pdn_text.number((0, 6)) == 32
    assert sorted(map(pdn_text.number, CELLS)) == list(range(1, 33))


def test_pdn_comments_and_variations_are_skipped(english):
    (game,) = pdn.read(GOLDEN_PDN, english)
    assert game.tags["Black"] == "One"
    assert (game.players, game.outcome) == (("One", "Other"), ONGOING)
    position, texts = game.start, []
    for turn in game.turns:
        texts.append(english.turn_text(position, turn))
        position = english.play_turn(position, turn)
    assert " ".join(texts) == "51-40 22-33 53-42 33x51 60x42 24-33 42x24 15x33"


def test_pdn_games_round_trip(english):
    rng = np.random.default_rng(2)
    lengths = Counter()
    for number in range(20):
        position, turns = english.initial, []
        # The start positions are those after 0 to 19 turns.
        for _ in range(number):
            position = random_turn(english, position, rng)[1]
        start = position
        while english.outcome(position) == ONGOING and len(turns) < 80:
            turn, position = random_turn(english, position, rng)
            turns.append(turn)
        tags = {"Event": f"game {number}"}
        text = pdn.write(english, tuple(turns), start=start, tags=tags, result="1-0")
        (back,) = pdn.read(text, english)
        assert back.turns == tuple(turns)
        assert english.key(back.start) == english.key(start)
        assert back.tags["Event"] == f"game {number}"
        assert max(map(len, text.splitlines()[7:])) < 80
        lengths.update(map(len, turns))
    # Some captures are chains.
    assert len(lengths) > 1


def random_turn(game, position, rng):
    turn = []
    while True:
        turn.append(int(rng.choice(game.legal_actions(position))))
        position = game.apply(position, turn[-1])
        if not game.mid_turn(position):
            return tuple(turn), position


def test_ambiguous_capture_is_written_with_all_cells(checkers):
    position = place(checkers, "r", red_kings="53", black="42 22 24 44")
    texts = {pdn.turn_text(checkers, position, turn) for turn in checkers.turns(position)}
    assert texts == {"10x17x26x19x10", "10x19x26x17x10"}
    for turn in checkers.turns(position):
        assert pdn.parse_turn(checkers, position, pdn.turn_text(checkers, position, turn)) == turn
    with pytest.raises(IllegalAction, match="'10x10' is ambiguous: 10x17x26x19x10, 10x19x26"):
        pdn.parse_turn(checkers, position, "10x10")


@pytest.mark.parametrize(
    "fen", ["B:W6,7,14,15,22,23,32:BK2,K10,K1", "W:WK22:B18,10,26,25,17,9,19,27"]
)
def test_captures_between_the_same_cells_have_different_texts(checkers, fen):
    """A king captures one piece in a jump, and several on a loop to the same cell."""
    position = pdn.parse_position(checkers, fen)
    turns = list(checkers.turns(position))
    texts = [pdn.turn_text(checkers, position, turn) for turn in turns]
    assert len(set(texts)) == len(texts)
    assert [pdn.parse_turn(checkers, position, text) for text in texts] == turns
    assert any(text.count("x") > 2 for text in texts)


def test_pdn_positions_round_trip(checkers):
    position = place(checkers, "b", red="71", red_kings="00", black="22", black_kings="77 06")
    assert pdn.position_text(position) == "W:WK4,22,K32:B1,K29"
    assert checkers.key(pdn.parse_position(checkers, pdn.position_text(position))) == checkers.key(
        position
    )


def test_positions_of_other_programs_are_read(checkers):
    position = pdn.parse_position(checkers, "B:W 21-32:B 1-12.")
    assert position == checkers.initial
    position = pdn.parse_position(checkers, "W:WK30-K32:BK1-2")
    assert pdn.position_text(position) == "W:WK30,K31,K32:BK1,K2"
    # White has lost the last piece.
    for text in ("W:W:B1", "W:B1"):
        assert checkers.outcome(pdn.parse_position(checkers, text)) == FIRST_WINS
    with pytest.raises(BadPosition, match="has just moved, so it needs a piece"):
        pdn.parse_position(checkers, "B:W:B1")


@pytest.mark.parametrize(
    "moves",
    [
        "1. 11-15 23-19 2. 8-11 *",
        "1. 11-15 ! 23-19?? 2. 8-11 (!) *",
        "1 . 11-15 1. ... 23-19 2. 8-11 *",
        "1. 11-15 1... 23-19 2.8-11 *",
        "1. 11-15 ...23-19 2. 8-11 *",
        "% of another program ) }\n1. 11-15\n%\n23-19 2. 8-11 *",
        '1. 11-15 (or 9-14, is best: (both!) {:) or :(} "so" [x] 50%) 23-19 (\n) 8-11 *',
        "\ufeff1. 11-15 {a ( or {two} 23-19 {\n% no ;} 2. 8-11 ; {\n*",
        "1. 11-15 $12 23-19 {1-0} 2. 8-11 *",
        "1. 11x15 23X19 2. 8:11 *",
        "1. 1115 2319 2. 0811 *",
        "1. 11 - 15 23– 19 2. 8 -11 *",
        "1. 11-15(?) 23-19 (!!) 2. 8-11 *",
        "1. 11-15\r\n23-19 ; of old\r\n2. 8-11\r\n*\r\n",
    ],
)
def test_moves_of_other_programs_are_read(english, moves):
    (game,) = pdn.read(moves, english)
    position, texts = game.start, []
    for turn in game.turns:
        texts.append(pdn.turn_text(english, position, turn))
        position = english.play_turn(position, turn)
    assert texts == ["11-15", "23-19", "8-11"]


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        ("1-0", FIRST_WINS),
        ("2-0", FIRST_WINS),
        ("0-1", SECOND_WINS),
        ("0-2", SECOND_WINS),
        ("1/2-1/2", DRAW),
        ("1-1", DRAW),
        ("½-½", DRAW),
        ("*", ONGOING),
    ],
)
def test_result_is_read_after_the_game_or_from_a_tag(english, result, outcome):
    tag = f'[Result "{result}"]\n'
    for text in (result, f"{tag}{result}", f"{tag}*", f'[Result "?"] {result}'):
        assert [game.outcome for game in pdn.read(text, english)] == [outcome]
    text = f"{tag} 1. 11-15\n{tag} 1. 11-16\n{tag} 1. 9-13 {result}\n{tag} 1. 9-14"
    assert [game.outcome for game in pdn.read(text, english)] == [outcome] * 4


def test_tags_may_contain_quotes_and_backslashes(english):
    texts = r'[Event "the \"open\""] [Site "C:\"] [Black "a\\b"]' '\n[White "two\nlines"] *'
    (game,) = pdn.read(texts, english)
    expected_tags = {"Event": 'the "open"', "Site": "C:\\", "Black": "a\\b", "White": "two lines"}
    assert game.tags == expected_tags
    (again,) = pdn.read(pdn.FORMAT.write(english, game), english)
    assert again.tags == expected_tags | {"GameType": "21", "Result": "*"}
    (game,) = pdn.read(pdn.write(english, (), tags={"A": "\\", "B": "]"}), english)
    assert (game.tags["A"], game.tags["B"]) == ("\\", "]")


def test_tags_are_preserved_by_export(english, checkers):
    text = (
        '[Event "e"] [White "w"] [Black "b"] [Result "2-0"] [SetUp "1"] [FEN "B:W30:B1"]'
        ' [GameType "21,B"] 1. 1-6 2-0'
    )
    (game,) = pdn.read(text, english)
    lines = pdn.FORMAT.write(english, game).splitlines()
    assert lines == [
        '[Event "e"]',
        '[White "w"]',
        '[Black "b"]',
        '[GameType "21,B"]',
        '[SetUp "1"]',
        '[FEN "B:W30:B1"]',
        '[Result "1-0"]',
        "",
        "1. 1-6 1-0",
    ]
    (game,) = pdn.read(text, checkers)
    # These are not the rules of English draughts.
    assert "GameType" not in pdn.FORMAT.write(checkers, game)
    plain = PlayedGame(english.initial, (), ("a\nb", "c"), FIRST_WINS)
    assert pdn.FORMAT.write(english, plain).splitlines() == [
        '[Black "a b"]',
        '[White "c"]',
        '[GameType "21"]',
        '[Result "1-0"]',
        "",
        "1-0",
    ]


@pytest.mark.parametrize(
    ("moves", "result", "winner"),
    [
        # Black takes the last piece.
        ('[FEN "B:W14:B9"] 1. 9x18', "1-0", FIRST_WINS),
        # White moves first.
        ('[FEN "W:W30:B21,22"] 1... 30-25 2. 22x29', "1-0", FIRST_WINS),
        # White cannot move.
        ('[FEN "B:W12:B8,3,1"] 1. 1-5', "1-0", FIRST_WINS),
        ('[FEN "W:W18:B14"] 1... 18x9', "0-1", SECOND_WINS),
        ('[FEN "B:W13,14:B5"] 1. 5-9 14x5', "0-1", SECOND_WINS),
    ],
)
def test_result_starts_with_black_who_moves_first(english, moves, result, winner):
    (game,) = pdn.read(f"{moves} {result}", english)
    assert replay_foreign(english, game).result.outcome == game.outcome == winner
    assert f'[Result "{result}"]' in pdn.export(english, game)
    (other,) = pdn.read(f"{moves} {result[::-1]}", english)
    with pytest.raises(BadRecord, match="by the rules it is won by"):
        replay_foreign(english, other)


def test_error_mentions_the_rules_of_pdn(checkers):
    hint = "; PDN is English draughts: crowning=ends_move, no_progress_limit=None"
    english = make_game("checkers", crowning="ends_move", no_progress_limit=None)
    # With crowning="continue" the legal turn is 22x31x24.
    crowned = '[FEN "B:W26,27,9:B22,6"] 1. 22x31 9x2 *'
    endless = '[FEN "B:WK4:BK29"] ' + "29-25 4-8 25-29 8-4 " * 21 + "*"
    for text, message in (
        (crowned, "22x31"),
        (endless, r"move 41: '29-25': the game is over \(no_pro"),
    ):
        assert len(list(pdn.read(text, english))) == 1
        with pytest.raises(BadRecord, match=f"{message}.*{hint}$"):
            list(record.valid_games("text", pdn.read(text, checkers)))
    with pytest.raises(BadRecord, match=r"legal: 9-13, [^;]*$"):
        list(record.valid_games("text", pdn.read("1. 11-20 *", english)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1. 9-13\n22-19 *", "line 2: move 1: '22-19' is not legal"),
        ("1. 9-13 22-18 2. 99-1 *", "line 1: move 2: '99-1' is not legal"),
        ('[Event "x"]', "line 1: move 1: expected a move, a position or a result: 1-0, 0-1"),
        ('[White "x] *', r"line 1: move 1: cannot read '\[White \"x\] \*'"),
        ('[Event "x]', r"line 1: move 1: cannot read '\[Event \"x\]'"),
        ('1. 9-13 [Black clock "x"] [White] *', "the tag White follows a move; expected: tags bef"),
        ('[FEN "B:W40:B1"] *', "40 is neither a cell from 1 to 32"),
        ('[FEN "B:W4:B4"] *', "4 is occupied twice"),
        ('[FEN "nonsense"] *', "'nonsense' is not a position"),
        ('[FEN "B:W30-33:B1"] *', "30-33 is neither a cell from 1 to 32 nor a range of cells"),
        ('[FEN "B:W9-7:B1"] *', "9-7 is neither a cell"),
        ('[FEN "B:W1-3:B2"] *', "2 is occupied twice"),
        ("1. 9-13\n(22-18 *\n\n", r"line 2: move 1: \( without \)"),
        ("1. 9-13 22-18) *", r"line 1: move 2: cannot read '\) \*'"),
        ("\n\nfoo", "line 3: move 1: cannot read 'foo'; expected: a move such as 9-13, a result"),
        ("1. 9-13 22-18\n{no end", "line 2: move 2: cannot read '{no end'"),
        ("1. 9-13 {two {in} one} *", "line 1: move 1: cannot read 'one} \\*'"),
        (f"1. 9-1{'3' * 5000} *", "cannot read '9-1333"),
        ('[Result "1-0"] 9-13 0-1', "line 1: move 1: its results contradict each other: 0-1, 1-0"),
        ('{one\n[Event "x"]\n} *', "line 1: move 1: cannot read '{one'"),
        ('(9-14\n[Event "x"]\n) *', r"line 1: move 1: \( without \)"),
        (f"{'9' * 5000}. 9-13 *", "line 1: move 1: cannot read '9999"),
        ("1. ٩-١٣ *", "line 1: move 1: cannot read '٩-١٣"),
        ('[GameType "20"] *', "GameType '20', number '20'; English draughts is '21,B,8,8,N1,0'"),
        ("1. 9-13 22-18 3. 11-15 *", "line 1: move 2: its number is 3; expected: 2"),
        ("4. 9-13 22-18\n4. 11-15 *", "line 2: move 2: its number is 4; expected: 5"),
        ('[RuleOptions "crowning=oops"] *', "crowning='oops'; expected: continue or ends_move"),
        ('[RuleOptions "size=8"] *', "checkers has no option size"),
        ('[RuleOptions "oops"] *', "'oops'"),
    ],
)
def test_broken_pdn_is_reported_with_line_and_move(english, text, message):
    with pytest.raises(BadRecord, match=message):
        list(record.valid_games("text", pdn.read(text, english)))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ('[Event "b"]\n1. 9-13 22-19 2. 13-17 1-0', "line 7: move 1: '22-19' is not legal"),
        ('[Event "b"]\n[FEN "B:W40:B1"]\n[Site "s"] 1. 9-13 *', "line 7: move 1: 40 is neither"),
        ('[White "b]\n[Site "s"]\n1. 9-13 *', "line 6: move 1: cannot read"),
        ('[Event "b"]\n1. 9-13 {no end\n22-18 1-0', "line 7: move 1: cannot read '{no end'"),
        ('[Event "b"]\n1. 9-13 (no end\n22-18 1-0', r"line 7: move 1: \( without \)"),
        ('[Event "b"]\n1. a3-b4 c5-d6', "line 7: move 1: cannot read 'a3-b4 c5-d6'"),
        ('[Event "b"]\n1. 9-13 0-1 1. 22-18 0-1', "line 7: move 1: '22-18' is not legal"),
        ('[Event "b"]\n[RuleOptions "x=1"]\n1. 9-13', "line 7: move 1: checkers has no option"),
    ],
)
def test_reading_continues_after_broken_games(english, broken, message):
    good = '[Event "{}"]\n[Result "1-0"]\n\n1. 9-13 22-18 1-0\n\n'
    text = good.format("a") + broken + "\n\n" + good.format("c")
    entries = list(pdn.read(text, english))
    (error,) = (entry for entry in entries if isinstance(entry, BrokenGame))
    assert re.match(message, str(error))
    games = [entry for entry in entries if entry is not error and entry.outcome != SECOND_WINS]
    assert [(game.tags["Event"], len(game.turns)) for game in games] == [("a", 2), ("c", 2)]


@pytest.mark.parametrize(
    ("moves", "first"),
    # 10x17x26 takes 14 and 22, 10x19x26 takes 15 and 23.
    [
        ("1. 10x26 15-11", "10x17x26"),
        ("1. 10x26 14-9", "10x19x26"),
        ("1. 10x26 32-28 2. 1-5 22-18", "10x19x26"),
        ("1. 10x26 32-28 2. 1-5 28-32 3. 5-9 14x5", "10x19x26"),
        ("1. 10x17x26", "10x17x26"),
    ],
)
def test_later_moves_resolve_an_ambiguous_capture(english, moves, first):
    (game,) = pdn.read(f'[FEN "B:W14,15,22,23,K32:B1,10"] {moves} *', english)
    assert pdn.turn_text(english, game.start, game.turns[0]) == first
    assert replay_foreign(english, game).history[0] == (game.start, game.turns[0])


def test_unresolved_ambiguous_capture_is_rejected(english):
    setup = '[FEN "B:W14,15,22,23,K32:B1,10"]\n1.'
    message = (
        "line 2: move 2: move 1 is ambiguous: 10x17x26, 10x19x26; the moves after it are legal"
    )
    with pytest.raises(BadRecord, match=message):
        list(record.valid_games("text", pdn.read(f"{setup} 10x26 32-28 *", english)))
    with pytest.raises(BadRecord, match="line 2: move 1: '9-6' is not legal in 'W:W"):
        list(record.valid_games("text", pdn.read(f"{setup} 10x26 9-6 *", english)))
    # Both directions of the round trip capture all pieces.
    loop = '[FEN "B:W22,14,15,23:BK10"] 1. 10x10 1-0'
    assert len(list(pdn.read(loop, english))) == 1


def test_last_of_repeated_tags_counts(english):
    (game,) = pdn.read('[Event "a"]\n[Event "b"]\n[White "?"]\n[White "Bea"]\n*', english)
    assert (game.tags["Event"], game.players) == ("b", ("?", "Bea"))


@pytest.mark.parametrize("missing", ["", "?", "-"])
def test_repeated_tag_without_a_value_is_ignored(english, missing):
    (game,) = pdn.read(f'[White "Bea"]\n[White "{missing}"]\n*', english)
    assert game.players == ("?", "Bea")


@pytest.mark.parametrize("missing", ["", "?", "-"])
def test_red_or_black_without_a_name_is_ignored(english, missing):
    for red, black in ((missing, "Smith"), ("Smith", missing)):
        (game,) = pdn.read(f'[Red "{red}"]\n[Black "{black}"]\n*', english)
        assert game.players == ("Smith", "?")
        assert game.tags == {"Black": "Smith"}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("FEN", ("W:W31:B1", "B:W30:B1")),
        ("Result", ("1-0", "0-1")),
        ("RuleOptions", ("no_progress_limit=80", "no_progress_limit=60")),
        ("White", ("Bea", "Cleo")),
        ("Red", ("Ann", "Dora")),
    ],
)
def test_contradicting_tags_are_rejected(english, name, values):
    tags = [f'[{name} "{value}"]\n' for value in values]
    with pytest.raises(BadRecord, match=f"line 2: move 1: .* {name}: {values[0]}, {values[1]}"):
        list(record.valid_games("text", pdn.read("".join(tags), english)))
    assert len(list(pdn.read("*\n\n".join([*tags, ""]), english))) == 2
    assert len(list(pdn.read(f"{tags[0]}{tags[0]}*", english))) == 1


def test_missing_result_means_ongoing(english):
    games = list(pdn.read('1. 9-13 22-18\n[Event "y"] 1. 9-13 0-0\n[Event "z"] 9-13', english))
    assert [(len(game.turns), game.outcome) for game in games] == [
        (count, -1) for count in (2, 1, 1)
    ]


def test_move_numbers_may_start_anywhere(english):
    for text in (
        "7. 11-15* 23-19 8. 8-11 *",
        "11-15 1... 23-19 2. 8-11 *",
        "1.11-15 23-19* 8-11 *",
    ):
        (game,) = pdn.read(text, english)
        assert (len(game.turns), game.outcome) == (3, ONGOING)


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("1. 9-13 22-18*", [2]),
        ("1. 9-13*\n1. 9-13 *", [1, 1]),
        ("1. 9-13 22-18*\n1. 9-13 *", [2, 1]),
        ('1. 9-13*\n[Event "x"]\n*', [1, 0]),
    ],
)
def test_star_after_the_last_move_is_the_result(english, text, turns):
    games = list(pdn.read(text, english))
    assert [len(game.turns) for game in games] == turns
    assert {game.outcome for game in games} == {ONGOING}


def test_rule_options_are_read_from_a_tag(checkers, english, tmp_path):
    path, crowned = tmp_path / "games.pdn", pdn.parse_position(checkers, "B:W26,27,9:B22,6")
    turn = pdn.parse_turn(checkers, crowned, "22x31x24")
    text = pdn.write(checkers, (turn,), start=crowned)
    assert '[RuleOptions "crowning=continue, no_progress_limit=80"]' in text
    path.write_text(text + "\n1. 9-13 *\n")
    (first, match), (second, other) = record.read_foreign(path, english)
    assert (first.game.options, match.game.options) == (checkers.options, checkers.options)
    assert (second.game.options, other.game.options) == (english.options, english.options)
    assert match.position == checkers.play_turn(crowned, turn)
    (part,) = pdn.read('[RuleOptions "no_progress_limit=9"] *', checkers)
    assert part.game.options == {"crowning": "ends_move", "no_progress_limit": 9}
    (again,) = pdn.read(pdn.export(checkers, first), english)
    assert (again.turns, again.start) == ((turn,), crowned)


def test_inexpressible_games_are_rejected(english):
    with pytest.raises(BadRecord, match="result 'won'"):
        pdn.write(english, (), result="won")
    for tags, message in (
        ({"Event": "two\nlines"}, "a single line of text"),
        ({"two words": ""}, "expected: a word"),
        ({"FEN": "B:W30:B1"}, "tag FEN: use the argument start"),
        ({"SetUp": "1"}, "tag SetUp: use the argument start"),
        ({"Result": "1-0"}, "tag Result: use the argument result"),
        ({"RuleOptions": "crowning=continue"}, "tag RuleOptions: use the argument game"),
        ({"GameType": "20"}, "GameType '20', number '20'"),
    ):
        with pytest.raises(BadRecord, match=message):
            pdn.write(english, (), tags=tags)
    capturing = place(english, "r", red="64", black="53 31 55")
    capturing = english.apply(capturing, english.parse_turn(capturing, "64x42x20")[0])
    with pytest.raises(BadRecord, match="r x42' is in the middle of a turn"):
        pdn.write(english, (), start=capturing)
    with pytest.raises(IllegalAction):
        pdn.write(english, ((0,),))
