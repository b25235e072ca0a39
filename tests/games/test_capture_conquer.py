"""C&C: drawn positions, published and recorded ones, and comparison with path enumeration."""

import re

import numpy as np
import pytest
from chain_walk import all_turns
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.worst_case import WORST
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS
from cc_env.errors import BadOption, BadPosition, IllegalAction, UnknownOption
from cc_env.games.factory import make_game
from cc_env.match.random_games import play_random_games
from cc_env.verification.perft import perft

# The example of the published rules.
EXAMPLE = "6/1bb3/1brrr1/1r1r2/6/6 b"
SIZES = (4, 5, 6, 7, 8)


def turns(text):
    """Return the legal turns of a position, in notation."""
    game = make_game("capture_conquer", size=text.count("/") + 1)
    position = game.from_text(text)
    return {game.turn_text(position, turn) for turn in game.turns(position)}


def result(text):
    """Return the outcome and, if the game is over, the ending."""
    game = make_game("capture_conquer", size=text.count("/") + 1)
    position = game.from_text(text)
    outcome = game.outcome(position)
    return outcome if outcome == ONGOING else (outcome, game.ending(position))


# Drawn positions, one rule each


def test_steps_lead_towards_the_far_corner():
    assert turns("4/1b2/4/3r b") == {"1,1-1,2", "1,1-2,1", "1,1-2,2"}
    assert turns("b3/4/2r1/4 r") == {"2,2-1,1", "2,2-1,2", "2,2-2,1"}


def test_steps_stay_on_the_board_and_off_other_pieces():
    assert turns("4/4/3b/3r b") == set()
    assert turns("4/4/4/2br b") == set()


def test_pieces_jump_in_all_eight_directions():
    around = turns("6/1rrr2/1rbr2/1rrr2/6/5b b")
    for end in ("0,0", "0,2", "0,4", "2,0", "2,4", "4,0", "4,2", "4,4"):
        assert any(turn.startswith(f"2,2-{end}x") for turn in around)


def test_chain_may_stop_after_each_hop():
    assert {"0,0-0,2", "0,0-0,4"} <= turns("bb1b2/6/6/6/6/5r b")


def test_jumping_over_an_own_piece_captures_nothing():
    assert "0,0-0,2" in turns("bb4/6/6/6/6/5r b")


def test_only_the_first_enemy_piece_is_captured():
    text = "br1r2/6/6/6/6/b4r b"
    assert {"0,0-0,2x0,1", "0,0-0,4x0,1"} <= turns(text)
    game = make_game("capture_conquer")
    position = game.from_text(text)
    (action,) = game.parse_turn(position, "0,0-0,4x0,1")
    assert game.to_text(game.apply(position, action)) == "3rb1/6/6/6/6/b4r r"


def test_own_pieces_do_not_shield_an_enemy_piece():
    assert "0,0-0,4x0,3" in turns("bb1r2/6/6/6/6/5r b")


def test_no_hop_lands_on_the_start_cell():
    # From 0,0 over 0,1 1,2 2,1 the fourth hop, over 1,0, would return to the start.
    round_trip = turns("bb3/b1b2/1b3/5/4r b")
    assert {"0,0-0,2", "0,0-2,2", "0,0-2,0"} <= round_trip
    assert not any(turn.startswith("0,0-0,0") for turn in round_trip)


def test_chain_hops_over_each_piece_once():
    # 0,0 over 1,1 to 2,2, over 2,1 to 2,0; a hop to 0,2 would cross 1,1 again.
    reached = turns("b4/1b3/1b3/5/4r b")
    assert {"0,0-2,2", "0,0-2,0"} <= reached
    assert "0,0-0,2" not in reached


def test_chains_with_different_captures_are_different_turns():
    assert {"1,2-3,2x2,2", "1,2-3,2x2,3", "1,2-3,2x3,1", "1,2-3,2x3,3", "1,2-3,2x-"} <= turns(
        EXAMPLE
    )


# Published examples


def test_published_jumps_are_legal():
    published = """3,2x2,2 3,0x2,2 3,4x2,2 1,4x2,2 3,0x- 3,2x3,1 3,4x3,1 1,4x3,1 1,0x- 3,2x- 3,4x3,3
    1,4x3,3 3,4x2,3 1,4x2,3"""
    legal = turns(EXAMPLE)
    assert {f"1,2-{jump}" for jump in published.split()} <= legal
    # Missing from the published list.
    assert "1,2-3,2x2,3" in legal
    assert "1,2-1,3" in legal
    enumerated_turns, _ = all_turns(
        ["......", ".bb...", ".brrr.", ".r.r..", "......", "......"], True
    )
    assert len([turn for turn in legal if turn.startswith("1,2-")]) == len(
        [turn for turn in enumerated_turns if turn[0] == (1, 2)]
    )


def test_published_example_has_37_jump_chains():
    # The two other blue pieces become red: colors do not change the number of paths.
    _, paths = all_turns(["......", ".rb...", ".rrrr.", ".r.r..", "......", "......"], True)
    assert paths - 1 == 37


def test_published_blocked_position_is_a_draw():
    assert turns("6/6/6/6/5b/3brr b") == set()
    assert result("6/6/6/6/5b/3brr b") == (DRAW, "blocked")


# Endings


def test_piece_on_the_far_corner_wins():
    assert result("6/6/6/3rr1/6/4bb r") == (FIRST_WINS, "conquest")
    assert result("rb4/6/6/6/6/4bb b") == (SECOND_WINS, "conquest")


def test_leaving_the_opponent_one_piece_wins():
    assert result("bb4/6/6/6/6/4r1 r") == (FIRST_WINS, "capture")
    assert result("b5/6/6/6/6/3rr1 b") == (SECOND_WINS, "capture")
    assert result("b5/6/6/6/6/4r1 r") == ONGOING


def test_capture_of_the_last_piece_draws_one_against_one():
    game = make_game("capture_conquer")
    position = game.from_text("6/6/2b3/3r2/6/6 b")
    (action,) = game.parse_turn(position, "2,2-4,4x3,3")
    after = game.apply(position, action)
    assert (game.outcome(after), game.ending(after)) == (DRAW, "blocked")
    assert game.from_text(game.to_text(after)) == after


def test_conquest_takes_precedence_over_capture():
    assert result("6/6/6/6/4r1/4bb r") == (FIRST_WINS, "conquest")


# Recorded positions, counts, published statistics


def test_rules_agree_with_reference_positions(assert_agreement):
    assert_agreement("capture_conquer.jsonl.gz", "capture_conquer", 4932)


@pytest.mark.slow
def test_perft_on_6x6_equals_known_counts(game):
    counts = [perft(game, game.initial, depth) for depth in range(1, 7)]
    assert counts == [16, 257, 4945, 98494, 2152352, 48822191]


@pytest.mark.parametrize("size", SIZES)
def test_perft_equals_path_enumeration(size):
    game = make_game("capture_conquer", size=size)

    def count(position, depth):
        if game.outcome(position) != ONGOING:
            return 0
        assert generated_turns(game, position) == enumerated_turns(game, position)
        if depth == 1:
            return len(list(game.turns(position)))
        return sum(
            count(game.play_turn(position, turn), depth - 1) for turn in game.turns(position)
        )

    assert count(game.initial, 2) == perft(game, game.initial, 2)


def test_random_games_have_published_statistics(game):
    counts = play_random_games(game, 10000, seed=1)
    assert counts.unfinished == 0
    assert 0.49 < counts.first_wins / 10000 < 0.52
    assert counts.draws / 10000 < 0.003
    assert 32.5 < counts.turns / 10000 < 34
    assert play_random_games(game, 500, seed=1) == play_random_games(game, 500, seed=1)


# Comparison with path enumeration


def generated_turns(game, position):
    """Return the turns of the move generator, {(start, end, captured)}."""
    triples = set()
    for turn in game.turns(position):
        path, captured = game.track(position, turn)
        triples.add((path[0], path[-1], captured[0] if captured else None))
    return triples


def enumerated_turns(game, position):
    """Return the turns by path enumeration, None if there are too many paths."""
    board, side = game.to_text(position).split()
    rows = [re.sub(r"\d", lambda digit: "." * int(digit[0]), row) for row in board.split("/")]
    return all_turns(rows, side == "b")[0]


@st.composite
def crowded(draw):
    """Draw a position; one of the four parity classes is mostly empty, for long chains."""
    size = draw(st.sampled_from(SIZES))
    weights = draw(st.sampled_from(["..br", ".bbr", ".bbb", "bbbr", ".brr"]))
    empty_class = draw(st.sampled_from([(0, 0), (0, 1), (1, 0), (1, 1), None]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = [
        "".join(
            rng.choice(list(".......b" if (r % 2, c % 2) == empty_class else weights))
            for c in range(size)
        )
        for r in range(size)
    ]
    board = "/".join(rows)
    return board, draw(st.sampled_from("br"))


@given(crowded())
def test_crowded_positions_equal_path_enumeration(board_and_side):
    board, side = board_and_side
    game = make_game("capture_conquer", size=board.count("/") + 1)
    if "b" not in board or "r" not in board:
        return
    position = game.from_text(f"{board} {side}")
    expected = enumerated_turns(game, position)
    if game.outcome(position) == ONGOING and expected is not None:
        assert generated_ends(game, position) == expected


def generated_ends(game, position):
    """Return the same as `generated_turns`, without finding paths, which can take long."""
    triples = set()
    for turn in game.turns(position):
        start, end, *captured = re.split("[-x]", game.turn_text(position, turn))
        cells = [tuple(map(int, cell.split(","))) for cell in (start, end, *filter(None, captured))]
        triples.add((*cells, None) if len(cells) == 2 else tuple(cells))
    return triples


@pytest.mark.slow
@pytest.mark.parametrize("text", WORST)
def test_turns_of_worst_positions_equal_path_enumeration(text):
    game = make_game("capture_conquer", size=8)
    position = game.from_text(text)
    assert generated_ends(game, position) == enumerated_turns(game, position)


# Random play


@given(st.sampled_from(SIZES), st.integers(0, 2**32))
def test_turns_in_random_games_equal_path_enumeration(size, seed):
    game = make_game("capture_conquer", size=size)
    rng = np.random.default_rng(seed)
    (transpose,) = game.symmetries
    position = game.initial
    while game.outcome(position) == ONGOING:
        legal = game.legal_actions(position)
        assert np.all(np.diff(legal) > 0)
        assert np.array_equal(np.flatnonzero(game.action_mask(position)), legal)
        assert game.from_text(game.to_text(position)) == position

        image = transpose.position(position)
        assert sorted(transpose.actions[legal]) == list(game.legal_actions(image))
        planes = game.observe(position)
        turned = planes.reshape(4, -1)[:, transpose.cells].reshape(planes.shape)
        assert np.array_equal(turned, game.observe(image))

        action = int(rng.choice(legal))
        before, position = position, game.apply(position, action)
        assert transpose.position(position) == game.apply(image, transpose.actions[action])
        if not game.mid_turn(position):
            assert game.to_move(position) != game.to_move(before)
    assert not game.legal_actions(position).size
    assert not game.action_mask(position).any()


def test_observations_show_the_board_in_both_frames(game):
    position = game.apply(game.initial, game.parse_turn(game.initial, "0,2-1,3")[0])
    red, blue = game.observe(position), game.observe(position, 0)
    assert np.array_equal(red, game.observe(position, 1))
    assert np.array_equal(blue[0, ::-1, ::-1], red[1])
    assert np.array_equal(blue[1, ::-1, ::-1], red[0])
    assert blue[0, 1, 3] == 1
    assert blue[0, 0, 2] == 0


def test_paths_are_sorted_by_length(game):
    from cc_env.games.capture_conquer.chains import paths

    chains = list(paths(0, 4, own=0b1010 | 1 << 8, enemy=0, empty=0b10100 | 1 << 16))
    lengths = [len(chain.cells) for chain in chains]
    assert lengths == sorted(lengths)
    assert chains[0].cells == (0, 2, 4)


# Bad input


@pytest.mark.parametrize("size", [3, 9, 6.0, "6", None, -1])
def test_invalid_size_is_rejected(size):
    with pytest.raises(BadOption, match=r"size=.*4 to 8"):
        make_game("capture_conquer", size=size)


@pytest.mark.parametrize("corner", [1, 6, 2.5, "3"])
def test_invalid_corner_is_rejected(corner):
    with pytest.raises(BadOption, match=r"corner=.*2 to 5"):
        make_game("capture_conquer", corner=corner)


def test_unknown_name_is_rejected_with_valid_names():
    with pytest.raises(UnknownOption, match=r"no game 'chess'.*capture_conquer"):
        make_game("chess")
    with pytest.raises(UnknownOption, match=r"no option colour; it has: size, corner"):
        make_game("capture_conquer", colour="blue")
    with pytest.raises(UnknownOption, match=r"no option sise; did you mean size\? it has: size"):
        make_game("capture_conquer", sise=6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected: rows"),
        ("6/6/6/6/6/b4r", "expected: rows"),
        ("6/6/6/6/6/b4r w", "expected: rows"),
        ("6/6/6/6/b4r b", "6 rows of 6 cells"),
        ("6/6/6/6/6/b5r b", "6 rows of 6 cells"),
        ("6/6/6/6/6/b3kr b", "6 rows of 6 cells"),
        ("6/6/6/6/6/6 b", "r has just moved, so it needs a piece"),
        ("6/6/6/6/6/b5 b", "r has just moved, so it needs a piece"),
        (f"{EXAMPLE} 1,2-1,3", "leaves a choice"),
        (f"{EXAMPLE} nonsense", "leaves a choice"),
        (f"r{EXAMPLE.replace('6', '5', 1)} 1,2-3,2", r"the game is over \(conquest\)"),
    ],
)
def test_invalid_position_text_is_rejected(game, text, message):
    with pytest.raises(BadPosition, match=message) as caught:
        game.from_text(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", [None, 5, ["6/6/6/6/6/b5 r"]])
def test_malformed_position_text_is_rejected(game, text):
    with pytest.raises(BadPosition, match="is not the text"):
        game.from_text(text)


@pytest.mark.parametrize("depth", [-1, 1.5, "2", True])
def test_invalid_perft_depth_is_rejected(game, depth):
    with pytest.raises(BadOption, match="depth="):
        perft(game, game.initial, depth)


def test_illegal_action_is_rejected_with_its_notation(game):
    with pytest.raises(IllegalAction) as caught:
        game.apply(game.initial, 5)
    message = str(caught.value)
    assert "action 5 (0,0-2,0)" in message
    assert game.to_text(game.initial) in message
    assert "6 (0,0-2,2)" in message
    for action in (-1, 410):
        with pytest.raises(IllegalAction, match=f"^action {action} is not legal in "):
            game.apply(game.initial, action)
    for action in ("a", None, 1.5, 6.0, [6, 7]):
        with pytest.raises(IllegalAction, match=f"^action {re.escape(repr(action))} is not an int"):
            game.apply(game.initial, action)


def test_illegal_turn_is_rejected_with_similar_turns(game):
    position = game.from_text(EXAMPLE)
    with pytest.raises(IllegalAction, match=r"did you mean .*1,2-3,2x-"):
        game.parse_turn(position, "1,2-3,2")
    with pytest.raises(IllegalAction, match=r"legal: b2-d2, "):
        game.parse_turn(position, "9,9-9,9")


def test_sequence_of_actions_is_written_turn_by_turn(game):
    position = game.from_text("6/1bb3/1brrr1/1r1r2/6/6 b")
    turn = game.parse_turn(position, "1,2-3,0x3,3")
    assert len(turn) == 2
    after = game.play_turn(position, turn)
    reply = next(iter(game.turns(after)))
    expected = ["1,2-3,0x3,3", game.turn_text(after, reply)]
    assert game.turn_texts(position, (*turn, *reply)) == expected
    assert game.turn_texts(position, ()) == []
    assert game.turn_texts(position, turn[:1]) == ["1,2-3,0"]


@pytest.mark.parametrize("size", range(4, 9))
def test_action_cells_agree_with_the_notation_and_the_symmetry(size):
    game = make_game("capture_conquer", size=size)
    texts = [game.action_text(game.initial, action) for action in range(game.num_actions)]
    cells = [divmod(cell, size) for cell in game.action_cells.ravel().tolist()]
    for text, start, end in zip(texts, cells[::2], cells[1::2], strict=True):
        if "-" in text[1:-1]:
            assert text.partition("x")[0] == f"{start[0]},{start[1]}-{end[0]},{end[1]}"
        elif text == "x-":
            assert start == end == (size, 0)
        else:
            assert start == end
            assert text == f"x{start[0]},{start[1]}"
    (transpose,) = game.symmetries
    images = np.append(np.argsort(transpose.cells), size * size)
    assert (game.action_cells[transpose.actions] == images[game.action_cells]).all()


def test_position_may_have_more_pieces_than_the_start():
    game, crowded = make_game("capture_conquer", size=4), "bbbb/bb1b/rrrr/rrr1 b"
    assert game.to_text(game.from_text(crowded)) == crowded
    assert len(game.legal_actions(game.from_text(crowded)))
