"""What people offer each other while they play or afterwards, and what needs their agreement."""

import pytest
from conftest import HERE
from test_app import Connected, begin

from cc_env.match.referee import Decision
from cc_env.players.specs import temporary_players
from cc_env.server import player_pool


@pytest.fixture
def client(serving):
    return serving(hint_player="minimax:depth=1")


@pytest.fixture
def game_of_two(client):
    """Return both players of a game after one decision."""
    opened = begin(client)
    with Connected(client, opened, 0) as first, Connected(client, opened, 1) as second:
        first.play_first()
        second.until("state", decisions=1)
        yield first, second


OFFERS = {"draw": "offered", "take_back": "wanted_back", "rematch": "rematch_offered"}


@pytest.mark.parametrize("offer", OFFERS)
def test_every_offer_can_be_declined_by_the_other_player_alone(offer, game_of_two):
    first, second = game_of_two
    if offer == "rematch":
        first.ask("resign")
    first.ask(offer)
    second.until("state", **{OFFERS[offer]: 0})
    first.ask("decline", offer=offer)
    assert "there is no offer to decline" in first.until("refused")["why"]
    second.ask("decline", offer=offer)
    assert first.until("declined") == {"type": "declined", "offer": offer, "player": 1}
    assert first.state[OFFERS[offer]] is None
    assert first.state["decisions"] == 1
    second.ask("decline", offer=offer)
    assert "there is no offer to decline" in second.until("refused")["why"]


def test_unknown_offers_are_refused(game_of_two):
    for offer in ("money", None, 3, ["draw"]):
        game_of_two[0].ask("decline", offer=offer)
        assert "draw, take_back, rematch" in game_of_two[0].until("refused")["why"]


def test_a_declined_offer_stays_declined_after_a_restart(serving):
    client = serving()
    opened = begin(client)
    with Connected(client, opened, 0) as first, Connected(client, opened, 1) as second:
        first.play_first()
        for offer in ("draw", "take_back"):
            first.ask(offer)
            second.until("state", **{OFFERS[offer]: 0})
        second.ask("decline", offer="draw")
        second.until("declined")
    with Connected(serving(), opened, 1) as second:
        assert (second.state["offered"], second.state["wanted_back"]) == (None, 0)
        second.ask("decline", offer="take_back")
        second.until("declined")
    with Connected(serving(), opened, 1) as second:
        assert (second.state["offered"], second.state["wanted_back"]) == (None, None)


def test_a_rematch_between_two_people_begins_when_both_want_it(game_of_two):
    first, second = game_of_two
    first.ask("resign")
    first.ask("rematch")
    second.until("state", rematch_offered=0)
    first.ask("rematch")  # twice by the same player is not an agreement
    assert first.until("state", rematch_offered=0)
    second.ask("rematch")
    assert first.until("next")["game"] == second.until("next")["game"]


def test_a_rematch_against_a_computer_begins_at_once(client):
    opened = begin(client, seats=("human", "random"))
    with Connected(client, opened, 0) as table:
        table.ask("resign")
        table.ask("rematch")
        assert table.until("next")["game"] != opened["game"]


class Winning:
    """A player that always expects to win."""

    def __init__(self, game):
        self.game = game

    def choose(self, position, rng, clock):
        return Decision(int(self.game.legal_actions(position)[0]), 0.9)


def test_a_computer_that_declines_a_draw_says_so(client, monkeypatch):
    monkeypatch.setitem(player_pool.OPTIONS, "winning", {})
    with (
        temporary_players(winning=Winning),
        Connected(client, begin(client, seats=("human", "winning")), 0) as table,
    ):
        table.play_first()
        table.ask("draw")
        assert table.until("declined") == {"type": "declined", "offer": "draw", "player": 1}
        assert table.state["offered"] is None


def opens_analysis(client, opened, *seats):
    tokens = [opened["tokens"][seat] for seat in seats]
    answer = client.post("/open", json={"room": opened["game"], "tokens": tokens})
    return answer.status_code == 200 or answer.json()["error"]


def test_between_two_people_there_are_no_hints_and_no_analysis_until_the_end(client):
    opened = begin(client)
    with Connected(client, opened, 0) as table:
        assert not table.welcome["assistance"]
        table.ask("hint", version=table.state["version"])
        assert "hints are off while two people play" in table.until("refused")["why"]
        for seats in ((), (0,), (1,)):
            assert "analysis is off while two people play" in opens_analysis(client, opened, *seats)
        table.ask("resign")
        table.until("state", choices=[])
    assert opens_analysis(client, opened) is True


def test_who_holds_both_seats_has_hints_and_analysis(client):
    opened = begin(client)
    with Connected(client, opened, 0, 1) as table:
        assert table.welcome["assistance"]
        table.ask("hint", version=table.state["version"])
        table.until("hint")
    assert opens_analysis(client, opened, 0, 1) is True


def test_hints_and_analysis_are_agreed_on_when_a_game_is_opened(client):
    opened = begin(client, assistance=True)
    with Connected(client, opened, 0) as table:
        assert table.welcome["assistance"]
        table.ask("hint", version=table.state["version"])
        table.until("hint")
    assert opens_analysis(client, opened) is True
    wrong = {"game": "checkers", "seats": ["human", "human"], "assistance": "yes"}
    assert "assistance='yes'" in client.post("/games", json=wrong, headers={"origin": HERE}).text


def test_against_a_computer_hints_and_analysis_are_there(client):
    opened = begin(client, seats=("human", "random"))
    with Connected(client, opened, 0) as table:
        assert table.welcome["assistance"]
    assert opens_analysis(client, opened) is True
