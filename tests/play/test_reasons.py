"""The facts behind the quality of a turn, in words."""

import pytest

from cc_env.core.rules import DRAW
from cc_env.games.factory import make_game
from cc_env.match.match import RESIGNED, Result
from cc_env.play import reasons
from cc_env.play.lessons import load_guide
from cc_env.registry.catalogue import GAMES
from cc_env.search.compare import Variation
from cc_env.search.scores import PROVEN, WIN

CC = make_game("capture_conquer")
# Red reaches the corner by b5-a6, or takes a piece.
RACE = CC.from_text("6/brb2r/b3r1/6/3b2/r2b2 r")
CHECKERS = make_game("checkers")


def line(game, position, *texts, score=0):
    """Return a variation of turns, in any notation."""
    actions = ()
    for text in texts:
        turn = game.parse_turn(position, text)
        position, actions = game.play_turn(position, turn), actions + turn
    return Variation(actions, max(-1.0, min(1.0, score / PROVEN)), score)


def explain(game, text, played, best, played_score=0, best_score=0):
    position = game.from_text(text)
    variations = (
        line(game, position, *played, score=played_score),
        line(game, position, *best, score=best_score),
    )
    return reasons.explain_mistake(game, position, *variations)


def test_effects_are_wins_and_captures():
    corner, capture = CC.parse_turn(RACE, "1,1-0,0"), CC.parse_turn(RACE, "1,1-1,3x1,2")
    assert reasons.describe_effect(CC, RACE, corner) == "reaches the far corner"
    assert reasons.describe_effect(CC, RACE, corner, infinitive=True) == "reach the far corner"
    assert reasons.describe_effect(CC, RACE, capture) == "captures a piece"
    first = next(CC.turns(CC.initial))
    assert reasons.describe_effect(CC, CC.initial, first) == ""


def test_reply_names_the_color_the_turn_and_its_effect():
    corner = CC.parse_turn(RACE, "1,1-0,0")
    text = CC.readable_turn_text(RACE, corner)
    assert (
        reasons.describe_reply(CC, RACE, corner) == f"Red answers {text} and reaches the far corner"
    )


def test_missed_and_permitted_wins_in_one_turn_are_named():
    text = CC.to_text(RACE)
    reason = explain(CC, text, ["1,1-1,3x1,2"], ["1,1-0,0"], best_score=WIN - 1)
    assert reason == "misses a turn that reaches the far corner"
    before = CC.from_text("6/1r3b/6/6/r5/3bb1 b")
    quiet, winning = next(CC.turns(before)), "1,1-0,0"
    played = line(CC, before, CC.turn_text(before, quiet), winning, score=2 - WIN)
    other = line(CC, before, CC.turn_text(before, list(CC.turns(before))[1]))
    assert reasons.explain_mistake(CC, before, played, other).startswith(
        "lets Red reach the far corner by "
    )


def test_forced_wins_are_named():
    text, first = CC.to_text(CC.initial), CC.turn_text(CC.initial, next(CC.turns(CC.initial)))
    turns = [CC.turn_text(CC.initial, turn) for turn in CC.turns(CC.initial)]
    after = CC.play_turn(CC.initial, next(CC.turns(CC.initial)))
    reply = next(CC.turns(after))
    lost = explain(CC, text, [first, CC.turn_text(after, reply)], turns[1:2], played_score=10 - WIN)
    assert lost == f"lets Red force a win, beginning with {CC.readable_turn_text(after, reply)}"
    missed = explain(CC, text, [first], turns[1:2], best_score=WIN - 9)
    assert missed == "misses a forced win"


@pytest.mark.parametrize(
    ("played", "best", "is_exact", "result"),
    [
        (0.2, 0.8, False, "catch up"),
        (-0.3, 0.4, False, "take the lead"),
        (-0.8, -0.3, False, "increase the lead"),
        (0.0, 1.0, True, "draw"),
    ],
)
def test_turn_without_another_reason_has_the_reply_and_the_balance(played, best, is_exact, result):
    turn, other, *_ = CC.turns(CC.initial)
    after = CC.play_turn(CC.initial, turn)
    reply = next(CC.turns(after))
    mistake = Variation((*turn, *reply), played, 0, is_exact)
    reason = reasons.explain_mistake(CC, CC.initial, mistake, Variation(other, best))
    assert reason == f"lets Red {result} by {CC.readable_turn_text(after, reply)}"
    mistake = mistake._replace(actions=turn)
    reason = reasons.explain_mistake(CC, CC.initial, mistake, Variation(other, best))
    assert reason == f"lets Red {result}"


# A man of red may step in front of a man of black.
EXCHANGE = "b7/8/2b5/8/2r5/8/4r3/8 r"


def test_lost_and_missed_pieces_are_counted_after_the_answer():
    position = CHECKERS.from_text(EXCHANGE)
    turns = {CHECKERS.turn_text(position, turn): turn for turn in CHECKERS.turns(position)}
    losing, waiting = "42-33", "64-55"
    assert {losing, waiting} <= set(turns)
    after = CHECKERS.play_turn(position, turns[losing])
    jump = next(t for t in CHECKERS.turns(after) if CHECKERS.track(after, t).captured)
    jumped = CHECKERS.play_turn(after, jump)
    answer = next(CHECKERS.turns(jumped))
    waited = CHECKERS.play_turn(position, turns[waiting])
    quiet = next(CHECKERS.turns(waited))
    best = [waiting, CHECKERS.turn_text(waited, quiet)]
    best.append(CHECKERS.turn_text(*_next(CHECKERS, CHECKERS.play_turn(waited, quiet))))
    played = [losing, CHECKERS.turn_text(after, jump), CHECKERS.turn_text(jumped, answer)]
    assert explain(CHECKERS, EXCHANGE, played, best) == "loses a man"
    # Without the answer to the capture, it may be an exchange.
    text = CHECKERS.readable_turn_text(after, jump)
    assert explain(CHECKERS, EXCHANGE, played[:2], best) == f"lets Black capture a man by {text}"


def test_missed_capture_is_named_without_its_answer():
    text = "5r/6/6/1r4/1b3b/r3b1 b"
    position = CC.from_text(text)
    turns = {CC.turn_text(position, turn): turn for turn in CC.turns(position)}
    capture = next(text for text, turn in turns.items() if CC.track(position, turn).captured)
    quiet = next(text for text, turn in turns.items() if not CC.track(position, turn).captured)
    assert explain(CC, text, [quiet], [capture]) == "misses a turn that captures a piece"


def _next(game, position):
    return position, next(game.turns(position))


@pytest.mark.parametrize(
    ("letters", "text"),
    [
        (["r"], "a man"),
        (["r", "b"], "2 men"),
        (["R", "R", "R"], "3 kings"),
        (["r", "R"], "2 pieces"),
    ],
)
def test_captured_pieces_are_counted_by_name(letters, text):
    assert reasons.count_pieces(CHECKERS, letters) == text


def test_distance_to_a_win_is_in_own_turns():
    won = line(CC, RACE, "1,1-0,0", score=WIN - 1)
    assert reasons.turns_to_win(CC, RACE, won) == 1
    first = CC.turn_text(CC.initial, next(CC.turns(CC.initial)))
    for score, turns in ((WIN - 5, 3), (6 - WIN, 3), (0, None), (PROVEN - 1, None)):
        assert (
            reasons.turns_to_win(CC, CC.initial, line(CC, CC.initial, first, score=score)) == turns
        )


@pytest.mark.parametrize("name", GAMES)
def test_every_win_has_a_phrase(name):
    game = make_game(name)
    wins = load_guide(name).wins
    assert set(wins) <= set(game.endings)
    draws = {"blocked", "no_progress", "stagnant"}
    assert set(wins) == set(game.endings) - draws


@pytest.mark.parametrize(
    ("name", "outcome", "reason", "text"),
    [
        ("capture_conquer", 1, "conquest", "{1} reached the far corner"),
        ("capture_conquer", DRAW, "blocked", "no move is left"),
        ("checkers", 1, "no_pieces", "{1} captured the last piece"),
        ("cannon", 0, "halls", "{0} took the second town hall"),
        ("morris", 0, "two_left", "{0} took all enemy beads but two"),
        ("mini_checkers", 1, "both_stuck", "{1} won by more men with both sides blocked"),
        ("mini_checkers", DRAW, "both_stuck", "neither side can move"),
        ("checkers", 1, "time", "{0} ran out of time"),
        ("checkers", DRAW, "agreed", "both agreed"),
    ],
)
def test_ending_names_the_players_by_number(name, outcome, reason, text):
    assert reasons.explain_ending(make_game(name), Result(outcome, reason), "detail") == text


def test_detail_of_a_resignation_replaces_it():
    resigned = Result(0, RESIGNED)
    assert reasons.explain_ending(CC, resigned) == "{1} resigned"
    assert reasons.explain_ending(CC, resigned, "left the game") == "{1} left the game"


def test_game_without_lessons_has_a_default_phrase(tutorials):
    game = make_game("connect_four")
    assert reasons.win_phrase(game, "won") == "win"
