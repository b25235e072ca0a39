"""A sitting: the same game as the referee's, decision by decision, with people at it."""

import math

import numpy as np
import pytest

from cc_env.core.rules import DRAW, FIRST_WINS
from cc_env.errors import BadOption, BadRecord, IllegalAction, UnknownOption
from cc_env.games.factory import make_game
from cc_env.match import record, referee
from cc_env.match.match import Limits
from cc_env.match.referee import play_match
from cc_env.play.choices import choices
from cc_env.play.session import HUMAN, Seat, Sitting
from cc_env.players.specs import make_player, temporary_players
from cc_env.registry.catalogue import GAMES


class Watch:
    """A clock that goes on when it is told."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def watch():
    return Watch()


def to_the_end(sitting, rng):
    """Let people play at random and players think."""
    while sitting.result is None:
        if sitting.is_person_to_move:
            sitting.play(int(rng.choice(sitting.game.legal_actions(sitting.position))))
        else:
            sitting.think()
    return sitting


@pytest.mark.parametrize("name", GAMES)
def test_players_play_the_game_that_the_referee_lets_them_play(name):
    game = make_game(name)
    names = "random", "greedy"
    pair = [make_player(kind, game) for kind in names]
    wanted = play_match(game, pair, names=names, seed=5)
    sitting = to_the_end(Sitting(game, names, seed=5), None)
    played = sitting.record()
    assert (played.turns, played.result, played.reason) == (
        wanted.turns,
        wanted.result,
        wanted.reason,
    )
    assert len(sitting.decisions) == sum(len(turn) for _, turn in sitting.match.history)
    assert len(played.seconds) == len(played.turns)
    assert record.replay(played).position == sitting.position


@pytest.mark.parametrize("name", GAMES)
def test_people_and_players_take_turns_and_the_record_goes_on_where_it_was(name):
    rng, game = np.random.default_rng(2), make_game(name)
    sitting = Sitting(game, (HUMAN, "random"), seed=1)
    for _ in range(9):
        if sitting.is_person_to_move:
            sitting.play(int(rng.choice(game.legal_actions(sitting.position))))
        else:
            sitting.think()
    again = Sitting.of(sitting.record())
    assert again.match.turns == sitting.match.turns
    assert [seat.name for seat in again.seats] == [HUMAN, "random"]
    to_the_end(again, rng)
    assert record.replay(again.record()).result == again.result


def test_only_who_is_to_move_moves(game):
    sitting = Sitting(game, (HUMAN, "random"))
    with pytest.raises(IllegalAction, match="no player is to move"):
        sitting.think()
    with pytest.raises(IllegalAction, match=r"is not legal in .* legal:"):
        sitting.play(0)
    with pytest.raises(IllegalAction, match="is not legal"):
        sitting.play_turn((int(game.legal_actions(game.initial)[0]), 0))
    assert not sitting.decisions
    sitting.play(int(game.legal_actions(game.initial)[0]))
    with pytest.raises(IllegalAction, match="random is to move, not a person"):
        sitting.play(int(game.legal_actions(sitting.position)[0]))
    with pytest.raises(UnknownOption, match="no player 'nobody'"):
        Sitting(game, (HUMAN, "nobody"))
    with pytest.raises(BadOption, match="3 seats"):
        Sitting(game, (HUMAN,) * 3)


def test_what_a_person_decided_is_taken_back_with_what_was_answered(game):
    sitting = Sitting(game, (HUMAN, "minimax:depth=1"))
    with pytest.raises(IllegalAction, match="nothing to take back"):
        sitting.take_back()
    first = int(game.legal_actions(game.initial)[0])
    sitting.play(first)
    assert sitting.take_back() == 1
    assert sitting.position == game.initial
    sitting.play(first)
    sitting.think()
    after = sitting.position
    sitting.play(int(game.legal_actions(after)[0]))
    sitting.think()
    assert sitting.take_back() == 2
    assert sitting.position == after
    assert len(sitting.decisions) == len(sitting.seconds) == len(sitting.match.turns) == 2
    sitting.resign(0)
    assert sitting.take_back() == 2
    assert sitting.result is None
    assert sitting.position == game.initial


def test_in_the_middle_of_a_turn_only_what_was_decided_of_it_is_taken_back():
    game = make_game("checkers")
    start = game.from_text("b7/5b1r/b1b3r1/8/4r1r1/7r/b7/7r b")
    sitting = Sitting(game, (HUMAN, HUMAN), start=start)
    jump = next(
        choice for choice in choices(game, start) if game.mid_turn(game.apply(start, choice[0]))
    )
    sitting.play(jump.action)
    assert game.mid_turn(sitting.position)
    assert sitting.record().turns == ()
    assert sitting.take_back() == 0
    assert sitting.position == start


def test_a_clock_that_is_held_does_not_run(game, watch):
    sitting = Sitting(game, (HUMAN, HUMAN), limits=Limits(seconds_per_game=60), now=watch)
    sitting.hold_clock()
    watch.now += 100
    sitting.play(sitting.match.legal_actions[0])
    assert (sitting.left(0), sitting.left(1), sitting.is_held) == (60, 60, True)
    assert not sitting.expire()
    sitting.start_clock()
    watch.now += 7
    assert (sitting.left(0), sitting.left(1), sitting.is_held) == (60, 53, False)


def test_the_clock_runs_for_who_is_to_move_and_comes_back_with_what_is_taken_back(game, watch):
    limits = Limits(seconds_per_game=60, seconds_per_turn=20)
    sitting = Sitting(game, (HUMAN, HUMAN), limits=limits, now=watch)
    watch.now += 15
    assert sitting.clock() == (5, 45)
    assert not sitting.expire()
    sitting.play(int(game.legal_actions(sitting.position)[0]))
    watch.now += 4
    assert (sitting.left(0), sitting.left(1)) == (45, 56)
    sitting.play(int(game.legal_actions(sitting.position)[0]))
    assert sitting.seconds == (15, 4)
    sitting.take_back()
    assert (sitting.left(0), sitting.left(1)) == (45, 60)
    watch.now += 20.5
    assert sitting.expire()
    assert sitting.result == (FIRST_WINS, "time")
    assert sitting.detail == "20.500 s, had 20.000 s"
    game_record = sitting.record()
    assert (game_record.seconds, game_record.turns) == ((15, 20.5), game_record.turns[:1])
    assert record.replay(game_record).result == sitting.result


def test_who_decides_too_late_loses_instead(game, watch):
    sitting = Sitting(game, (HUMAN, HUMAN), limits=Limits(seconds_per_turn=3), now=watch)
    watch.now += 3.5
    sitting.play(int(game.legal_actions(sitting.position)[0]))
    assert sitting.result == (1, "time")
    assert not sitting.match.turns
    assert sitting.left(0) == math.inf


def test_faults_of_players_end_the_game_and_are_told(game):
    with temporary_players(
        wrong=lambda game: Fixed(referee.Decision(-1)), broken=lambda game: Fixed(None)
    ):
        for name, reason in (("wrong", "illegal"), ("broken", "error")):
            sitting = Sitting(game, (name, HUMAN))
            assert sitting.think() is None
            assert sitting.result == (1, reason)
            assert sitting.detail
            assert record.replay(sitting.record()).result == sitting.result


class Fixed:
    def __init__(self, decision):
        self.decision = decision

    def choose(self, position, rng, clock):
        return self.decision


def test_a_decision_without_a_choice_is_played_without_search():
    """checkers6: only-move shortcut: no search is run."""
    game = make_game("mini_checkers")
    start = game.from_text("1w1w1w/w1w3/3b1w/6/1b1b2/b1b1b1 w")
    assert len(game.legal_actions(start)) == 1
    sitting = Sitting(game, (HUMAN, "minimax"), start=start)
    assert not sitting.think().details


def test_draws_are_offered_and_accepted(game):
    sitting = Sitting(game, (HUMAN, HUMAN))
    assert not sitting.offer_draw(0)
    sitting.play(int(game.legal_actions(sitting.position)[0]))
    assert sitting.offered == 0  # who offers may move; who moves instead of accepting declines
    sitting.play(int(game.legal_actions(sitting.position)[0]))
    assert sitting.offered is None
    assert not sitting.offer_draw(1)
    assert sitting.offer_draw(0)
    assert sitting.result == (DRAW, "agreed")
    with pytest.raises(IllegalAction, match=r"over \(agreed\)"):
        sitting.resign(0)
    with pytest.raises(IllegalAction, match="over"):
        sitting.hint()


def test_an_offer_is_declined_by_the_other_player(game):
    sitting = Sitting(game, (HUMAN, HUMAN))
    with pytest.raises(IllegalAction, match="no draw is offered"):
        sitting.decline_draw(1)
    sitting.offer_draw(0)
    with pytest.raises(IllegalAction, match="no draw is offered"):
        sitting.decline_draw(0)
    sitting.decline_draw(1)
    assert sitting.offered is None
    assert not sitting.offer_draw(1)


@pytest.mark.parametrize(
    ("values", "accepts"),
    [
        ([0.0] * 7, False),  # early
        ([0.0] * 8, True),
        ([0.5] + [0.0] * 8, True),
        ([0.0] * 8 + [0.5], False),
        ([-0.9] * 8, True),
        ([0.0] * 4 + [0.1] + [0.0] * 4, False),
        ([None] * 9, False),
    ],
)
def test_a_player_accepts_a_draw_in_a_game_that_has_long_been_level(values, accepts):
    game = make_game("mini_checkers")
    expected = iter(values)

    class Expecting:
        def __init__(self, game):
            self.game = game

        def choose(self, position, rng, clock):
            return referee.Decision(int(self.game.legal_actions(position)[0]), next(expected))

        def for_new_game(self):
            return self

    with temporary_players(expecting=Expecting):
        sitting = Sitting(game, ("expecting", "greedy"))
        for _ in range(len(values) * 2 - 1):
            sitting.think()
        sitting.seats = sitting.seats[0], Seat(HUMAN, None)
        assert sitting.offer_draw(1) == accepts
        assert sitting.offered is None


def test_a_hint_changes_nothing(game, watch):
    sitting = Sitting(game, (HUMAN, HUMAN), now=watch)
    hint = sitting.hint("minimax:depth=2")
    assert hint.action in game.legal_actions(game.initial)
    assert hint.details["depth"] == 2
    assert (sitting.position, sitting.decisions, sitting.seconds) == (game.initial, [], ())


def test_records_that_the_rules_contradict_begin_no_sitting(game):
    played = to_the_end(Sitting(game, ("random", "random")), None).record()
    with pytest.raises(BadRecord):
        Sitting.of(record.Record.from_json(played.to_json().replace(played.turns[0], "0,0-9,9")))
    again = Sitting.of(played)
    assert again.result == record.replay(played).result


# What people point at


@pytest.mark.parametrize("name", GAMES)
def test_every_action_can_be_pointed_at_or_named(name):
    game, rng = make_game(name), np.random.default_rng(7)
    position = game.initial
    for _ in range(200):
        several = choices(game, position)
        if not several:
            break
        pieces = game.pieces(position)
        assert [choice.action for choice in several] == game.legal_actions(position).tolist()
        for choice in several:
            assert set(choice.pieces) <= set(pieces)
            assert choice.is_shot or len(choice.pieces) < 2
            assert choice.text == game.action_text(position, choice.action)
            if choice.cell is None:
                assert not choice.pieces
        position = game.apply(position, int(rng.choice([choice.action for choice in several])))
