"""Game sessions: decisions, clocks, take-backs, draw offers and records."""

import math

import numpy as np
import pytest

from cc_env.core.rules import DRAW, FIRST_WINS
from cc_env.errors import BadOption, BadRecord, IllegalAction, UnknownOption
from cc_env.games.factory import make_game
from cc_env.match import record, referee
from cc_env.match.match import Limits
from cc_env.match.referee import play_match
from cc_env.play.choices import list_choices
from cc_env.play.session import HUMAN, GameSession, Seat
from cc_env.players.specs import make_player, temporary_players
from cc_env.registry.catalogue import GAMES


class Watch:
    """A time source that tests advance."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def watch():
    return Watch()


def to_the_end(session, rng):
    """Let people play at random and players think."""
    while session.result is None:
        if session.is_person_to_move:
            session.play(int(rng.choice(session.game.legal_actions(session.position))))
        else:
            session.play_computer_decision()
    return session


@pytest.mark.parametrize("name", GAMES)
def test_session_plays_the_same_game_as_the_referee(name):
    game = make_game(name)
    names = "random", "greedy"
    pair = [make_player(kind, game) for kind in names]
    expected = play_match(game, pair, names=names, seed=5)
    session = to_the_end(GameSession(game, names, seed=5), None)
    played_record = session.record()
    assert (played_record.turns, played_record.result, played_record.reason) == (
        expected.turns,
        expected.result,
        expected.reason,
    )
    assert len(session.decisions) == sum(len(turn) for _, turn in session.match.history)
    assert len(played_record.seconds) == len(played_record.turns)
    assert record.replay(played_record).position == session.position


@pytest.mark.parametrize("name", GAMES)
def test_record_of_a_mixed_game_can_be_continued(name):
    rng, game = np.random.default_rng(2), make_game(name)
    session = GameSession(game, (HUMAN, "random"), seed=1)
    for _ in range(9):
        if session.is_person_to_move:
            session.play(int(rng.choice(game.legal_actions(session.position))))
        else:
            session.play_computer_decision()
    again = GameSession.from_record(session.record())
    assert again.match.turns == session.match.turns
    assert [seat.name for seat in again.seats] == [HUMAN, "random"]
    to_the_end(again, rng)
    assert record.replay(again.record()).result == again.result


def test_illegal_and_untimely_decisions_are_rejected(game):
    session = GameSession(game, (HUMAN, "random"))
    with pytest.raises(IllegalAction, match="a person is to move"):
        session.play_computer_decision()
    with pytest.raises(IllegalAction, match=r"is not legal in .* legal:"):
        session.play(0)
    with pytest.raises(IllegalAction, match="is not legal"):
        session.play_turn((int(game.legal_actions(game.initial)[0]), 0))
    assert not session.decisions
    session.play(int(game.legal_actions(game.initial)[0]))
    with pytest.raises(IllegalAction, match="random is to move, not a person"):
        session.play(int(game.legal_actions(session.position)[0]))


def test_unknown_player_and_wrong_number_of_seats_are_rejected(game):
    with pytest.raises(UnknownOption, match="no player 'nobody'"):
        GameSession(game, (HUMAN, "nobody"))
    with pytest.raises(BadOption, match="3 seats"):
        GameSession(game, (HUMAN,) * 3)


def test_take_back_before_the_first_turn_is_rejected(game):
    with pytest.raises(IllegalAction, match="nothing to take back"):
        GameSession(game, (HUMAN, "minimax:depth=1")).take_back()


def test_take_back_includes_the_reply(game):
    session = GameSession(game, (HUMAN, "minimax:depth=1"))
    first = int(game.legal_actions(game.initial)[0])
    session.play(first)
    assert session.take_back() == 1
    assert session.position == game.initial
    session.play(first)
    session.play_computer_decision()
    after = session.position
    session.play(int(game.legal_actions(after)[0]))
    session.play_computer_decision()
    assert session.take_back() == 2
    assert session.position == after
    assert len(session.decisions) == len(session.turn_seconds) == len(session.match.turns) == 2
    session.resign(0)
    assert session.take_back() == 2
    assert session.result is None
    assert session.position == game.initial


def test_take_back_within_a_turn_is_limited_to_it():
    game = make_game("checkers")
    start = game.from_text("b7/5b1r/b1b3r1/8/4r1r1/7r/b7/7r b")
    session = GameSession(game, (HUMAN, HUMAN), start=start)
    jump = next(
        choice
        for choice in list_choices(game, start)
        if game.mid_turn(game.apply(start, choice[0]))
    )
    session.play(jump.action)
    assert game.mid_turn(session.position)
    assert session.record().turns == ()
    assert session.take_back() == 0
    assert session.position == start


def test_paused_clock_does_not_run(game, watch):
    session = GameSession(
        game, (HUMAN, HUMAN), limits=Limits(seconds_per_game=60), time_source=watch
    )
    session.pause_clock()
    watch.now += 100
    session.play(session.match.legal_actions[0])
    assert (session.seconds_left(0), session.seconds_left(1), session.is_paused) == (60, 60, True)
    assert not session.forfeit_on_time()
    session.start_clock()
    watch.now += 7
    assert (session.seconds_left(0), session.seconds_left(1), session.is_paused) == (60, 53, False)


def test_increment_is_added_after_each_turn(game, watch):
    limits = Limits(seconds_per_game=60, increment=2)
    session = GameSession(game, (HUMAN, HUMAN), limits=limits, time_source=watch)
    for seconds in (5, 7, 1):
        watch.now += seconds
        session.play(int(game.legal_actions(session.position)[0]))
    assert (session.seconds_left(0), session.seconds_left(1)) == (58, 55)
    session.take_back()
    assert (session.seconds_left(0), session.seconds_left(1)) == (57, 55)
    assert record.replay(session.record()).limits == limits
    watch.now += 57.5
    assert session.forfeit_on_time()


def test_clock_excludes_compiling(game, watch):
    class CompilingPlayer:
        compile_seconds = 30.0

        def choose(self, position, rng, clock):
            watch.now += 31
            return referee.Decision(int(game.legal_actions(position)[0]))

    session = GameSession(
        game,
        (HUMAN, "compiling"),
        limits=Limits(seconds_per_game=20),
        time_source=watch,
        player_factory=lambda spec, game: CompilingPlayer(),
    )
    session.play(int(game.legal_actions(session.position)[0]))
    assert session.play_computer_decision() is not None
    assert session.seconds_left(1) == 19


def test_take_back_restores_the_clock_of_the_mover(game, watch):
    limits = Limits(seconds_per_game=60, seconds_per_turn=20)
    session = GameSession(game, (HUMAN, HUMAN), limits=limits, time_source=watch)
    watch.now += 15
    assert session.clock() == (5, 45)
    assert not session.forfeit_on_time()
    session.play(int(game.legal_actions(session.position)[0]))
    watch.now += 4
    assert (session.seconds_left(0), session.seconds_left(1)) == (45, 56)
    session.play(int(game.legal_actions(session.position)[0]))
    assert session.turn_seconds == (15, 4)
    session.take_back()
    assert (session.seconds_left(0), session.seconds_left(1)) == (45, 60)
    watch.now += 20.5
    assert session.forfeit_on_time()
    assert session.result == (FIRST_WINS, "time")
    assert session.detail == "20.500 s, had 20.000 s"
    game_record = session.record()
    assert (game_record.seconds, game_record.turns) == ((15, 20.5), game_record.turns[:1])
    assert record.replay(game_record).result == session.result


def test_late_decision_loses_on_time(game, watch):
    session = GameSession(
        game, (HUMAN, HUMAN), limits=Limits(seconds_per_turn=3), time_source=watch
    )
    watch.now += 3.5
    session.play(int(game.legal_actions(session.position)[0]))
    assert session.result == (1, "time")
    assert not session.match.turns
    assert session.seconds_left(0) == math.inf


def test_player_faults_end_the_game_with_a_detail(game):
    with temporary_players(
        wrong=lambda game: Fixed(referee.Decision(-1)), broken=lambda game: Fixed(None)
    ):
        for name, reason in (("wrong", "illegal"), ("broken", "error")):
            session = GameSession(game, (name, HUMAN))
            assert session.play_computer_decision() is None
            assert session.result == (1, reason)
            assert session.detail
            assert record.replay(session.record()).result == session.result


class Fixed:
    def __init__(self, decision):
        self.decision = decision

    def choose(self, position, rng, clock):
        return self.decision


def test_forced_decision_is_played_without_search():
    game = make_game("mini_checkers")
    start = game.from_text("1w1w1w/w1w3/3b1w/6/1b1b2/b1b1b1 w")
    assert len(game.legal_actions(start)) == 1
    session = GameSession(game, (HUMAN, "minimax"), start=start)
    assert not session.play_computer_decision().details


def test_draws_are_offered_and_accepted(game):
    session = GameSession(game, (HUMAN, HUMAN))
    assert not session.offer_draw(0)
    session.play(int(game.legal_actions(session.position)[0]))
    # The offering player may move; a move of the other player declines the offer.
    assert session.draw_offered_by == 0
    session.play(int(game.legal_actions(session.position)[0]))
    assert session.draw_offered_by is None
    assert not session.offer_draw(1)
    assert session.offer_draw(0)
    assert session.result == (DRAW, "agreed")


def test_agreed_draw_allows_no_resignation_or_hint(game):
    session = GameSession(game, (HUMAN, HUMAN))
    session.offer_draw(0)
    session.offer_draw(1)
    with pytest.raises(IllegalAction, match=r"over \(agreed\)"):
        session.resign(0)
    with pytest.raises(IllegalAction, match="over"):
        session.hint()


def test_draw_offer_is_declined(game):
    session = GameSession(game, (HUMAN, HUMAN))
    with pytest.raises(IllegalAction, match="no draw is offered"):
        session.decline_draw(1)
    session.offer_draw(0)
    with pytest.raises(IllegalAction, match="no draw is offered"):
        session.decline_draw(0)
    session.decline_draw(1)
    assert session.draw_offered_by is None
    assert not session.offer_draw(1)


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
def test_player_accepts_a_draw_in_a_level_game(values, accepts):
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
        session = GameSession(game, ("expecting", "greedy"))
        for _ in range(len(values) * 2 - 1):
            session.play_computer_decision()
        session.seats = session.seats[0], Seat(HUMAN, None)
        assert session.offer_draw(1) == accepts
        assert session.draw_offered_by is None


def test_hint_does_not_change_the_session(game, watch):
    session = GameSession(game, (HUMAN, HUMAN), time_source=watch)
    hint = session.hint("minimax:depth=2")
    assert hint.action in game.legal_actions(game.initial)
    assert hint.details["depth"] == 2
    assert (session.position, session.decisions, session.turn_seconds) == (game.initial, [], ())


def test_invalid_record_is_rejected(game):
    played_record = to_the_end(GameSession(game, ("random", "random")), None).record()
    with pytest.raises(BadRecord):
        GameSession.from_record(
            record.Record.from_json(
                played_record.to_json().replace(played_record.turns[0], "0,0-9,9")
            )
        )
    again = GameSession.from_record(played_record)
    assert again.result == record.replay(played_record).result


# Selected cells and typed moves


@pytest.mark.parametrize("name", GAMES)
def test_every_action_can_be_selected_or_typed(name):
    game, rng = make_game(name), np.random.default_rng(7)
    position = game.initial
    for _ in range(200):
        several = list_choices(game, position)
        if not several:
            break
        pieces = game.pieces(position)
        assert [choice.action for choice in several] == game.legal_actions(position).tolist()
        for choice in several:
            assert set(choice.pieces) <= set(pieces)
            assert choice.is_shot or len(choice.pieces) < 2
            assert choice.text == game.readable_action_text(position, choice.action)
            if choice.cell is None:
                assert not choice.pieces
        position = game.apply(position, int(rng.choice([choice.action for choice in several])))
