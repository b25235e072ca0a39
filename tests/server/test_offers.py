"""Offers of draws, take-backs and rematches, and assistance between people."""

import pytest
from conftest import HERE
from test_app import ORIGIN, PLAY, connect, create_game

from cc_env.match.referee import Decision
from cc_env.play.session import GameSession
from cc_env.players.specs import temporary_players
from cc_env.server import player_pool, room


@pytest.fixture
def client(serving):
    return serving(hint_player="minimax:depth=1")


@pytest.fixture
def game_of_two(client):
    """Return both players of a game after one decision."""
    opened = create_game(client)
    with connect(client, opened, 0) as first, connect(client, opened, 1) as second:
        first.play_first()
        second.until("state", decisions=1)
        yield first, second


OFFERS = {
    "draw": "draw_offered_by",
    "take_back": "take_back_requested_by",
    "rematch": "rematch_offered_by",
}


@pytest.mark.parametrize("offer", OFFERS)
def test_offer_can_be_declined_by_the_other_player_only(offer, game_of_two):
    first, second = game_of_two
    if offer == "rematch":
        first.send_command("resign")
    first.send_command(offer)
    second.until("state", **{OFFERS[offer]: 0})
    first.send_command("decline", offer=offer)
    assert "does not offer" in first.until("error")["reason"]
    second.send_command("decline", offer=offer)
    assert first.until("declined") == {"type": "declined", "offer": offer, "player": 1}
    assert first.state[OFFERS[offer]] is None
    assert first.state["decisions"] == 1
    second.send_command("decline", offer=offer)
    assert "does not offer" in second.until("error")["reason"]


def test_repeated_draw_offer_leaves_other_requests_open(serving):
    """A second offer, which is refused, does not close a request that the journal holds open."""
    client = serving()
    opened = create_game(client)
    with connect(client, opened, 0) as first, connect(client, opened, 1) as second:
        first.play_first()
        first.send_command("draw")
        second.until("state", draw_offered_by=0)
        second.send_command("take_back")
        first.until("state", take_back_requested_by=1)
        first.send_command("draw")
        first.send_command("decline", offer="take_back")
        assert second.until("declined") == {"type": "declined", "offer": "take_back", "player": 0}
    with connect(serving(), opened, 0) as first:
        assert (first.state["draw_offered_by"], first.state["take_back_requested_by"]) == (0, None)


def test_draw_offer_ends_with_the_game(game_of_two, tmp_path):
    """A refused command writes nothing."""
    first, second = game_of_two
    first.send_command("draw")
    first.send_command("resign")
    assert second.until("state", choices=[])["draw_offered_by"] is None
    (path,) = tmp_path.glob("*.jsonl")
    journal = path.read_bytes()
    for _ in range(3):
        second.send_command("decline", offer="draw")
        assert second.until("error")["reason"] == "the other player does not offer: draw"
    assert path.read_bytes() == journal


def test_rematch_and_its_offer_survive_a_restart(serving, tmp_path):
    client = serving()
    opened = create_game(client)
    with connect(client, opened, 0) as first:
        first.send_command("resign")
        first.send_command("rematch")
        first.until("state", rematch_offered_by=0)
    client = serving()
    with connect(client, opened, 1) as second:
        assert second.state["rematch_offered_by"] == 0
        second.send_command("rematch")
        rematch = second.until("rematch")["game"]
    with connect(serving(), opened, 0) as first:
        assert first.until("rematch")["game"] == rematch
    (tmp_path / f"{rematch}.jsonl").unlink()
    with connect(serving(), opened, 0, 1) as both:
        both.send_command("rematch")
        assert both.until("rematch")["game"] != rematch


def test_unknown_offers_are_rejected(game_of_two):
    for offer in ("money", None, 3, ["draw"]):
        game_of_two[0].send_command("decline", offer=offer)
        assert "draw, take_back, rematch" in game_of_two[0].until("error")["reason"]


def test_declined_offer_stays_declined_after_a_restart(serving):
    client = serving()
    opened = create_game(client)
    with connect(client, opened, 0) as first, connect(client, opened, 1) as second:
        first.play_first()
        for offer in ("draw", "take_back"):
            first.send_command(offer)
            second.until("state", **{OFFERS[offer]: 0})
        second.send_command("decline", offer="draw")
        second.until("declined")
    with connect(serving(), opened, 1) as second:
        assert (second.state["draw_offered_by"], second.state["take_back_requested_by"]) == (
            None,
            0,
        )
        second.send_command("decline", offer="take_back")
        second.until("declined")
    with connect(serving(), opened, 1) as second:
        assert (second.state["draw_offered_by"], second.state["take_back_requested_by"]) == (
            None,
            None,
        )


def test_rematch_between_people_needs_both(game_of_two):
    first, second = game_of_two
    first.send_command("resign")
    first.send_command("rematch")
    second.until("state", rematch_offered_by=0)
    first.send_command("rematch")
    assert first.until("state", rematch_offered_by=0)
    second.send_command("rematch")
    assert first.until("rematch")["game"] == second.until("rematch")["game"]


def test_rematch_against_a_player_starts_at_once(client):
    opened = create_game(client, seats=("human", "random"))
    with connect(client, opened, 0) as player:
        player.send_command("resign")
        player.send_command("rematch")
        assert player.until("rematch")["game"] != opened["game"]


class Winning:
    """A player that always expects to win."""

    def __init__(self, game):
        self.game = game

    def choose(self, position, rng, clock):
        return Decision(int(self.game.legal_actions(position)[0]), 0.9)


def test_winning_player_declines_a_draw(client, monkeypatch):
    monkeypatch.setitem(player_pool.OPTIONS, "winning", {})
    with (
        temporary_players(winning=Winning),
        connect(client, create_game(client, seats=("human", "winning")), 0) as player,
    ):
        player.play_first()
        player.send_command("draw")
        assert player.until("declined") == {"type": "declined", "offer": "draw", "player": 1}
        assert player.state["draw_offered_by"] is None


def open_analysis(client, opened, *seats):
    tokens = [opened["tokens"][seat] for seat in seats]
    response = client.post("/open", json={"room": opened["game"], "tokens": tokens})
    return response.status_code == 200 or response.json()["error"]


def test_assistance_is_off_between_people_until_the_end(client):
    opened = create_game(client)
    with connect(client, opened, 0) as player:
        assert not player.welcome["assistance"]
        player.send_command("hint", version=player.state["version"])
        assert "hints are off while two people play" in player.until("error")["reason"]
        for seats in ((), (0,), (1,)):
            assert "analysis is off while two people play" in open_analysis(client, opened, *seats)
        player.send_command("resign")
        player.until("state", choices=[])
    assert open_analysis(client, opened) is True


def test_holder_of_both_seats_has_assistance(client):
    opened = create_game(client)
    with connect(client, opened, 0, 1) as player:
        assert player.welcome["assistance"]
        player.send_command("hint", version=player.state["version"])
        player.until("hint")
    assert open_analysis(client, opened, 0, 1) is True


def test_assistance_is_agreed_on_at_creation(client):
    opened = create_game(client, assistance=True)
    with connect(client, opened, 0) as player:
        assert player.welcome["assistance"]
        player.send_command("hint", version=player.state["version"])
        player.until("hint")
    assert open_analysis(client, opened) is True
    wrong = {"game": "checkers", "seats": ["human", "human"], "assistance": "yes"}
    assert "assistance" in client.post("/games", json=wrong, headers={"origin": HERE}).text


def test_assistance_is_on_against_a_player(client):
    opened = create_game(client, seats=("human", "random"))
    with connect(client, opened, 0) as player:
        assert player.welcome["assistance"]
    assert open_analysis(client, opened) is True


def test_win_is_claimed_when_the_other_player_has_left(client, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(room, "monotonic", lambda: now[0])
    opened = create_game(client)
    with connect(client, opened, 0) as first:
        now[0] += 100
        first.send_command("claim")
        assert "after joining" in first.until("error")["reason"]
        with connect(client, opened, 1):
            first.until("presence", seats=[0, 1])
            now[0] += 100
            first.send_command("claim")
            assert "away for 0 s" in first.until("error")["reason"]
        first.until("presence", seats=[0])
        now[0] += 59
        first.send_command("claim")
        assert "away for 59 s" in first.until("error")["reason"]
        now[0] += 1
        first.send_command("claim")
        result = first.until("state", choices=[])["result"]
        assert (result["outcome"], result["detail"]) == (0, "left the game")
        assert result["explanation"] == "{1} left the game"


@pytest.mark.parametrize("end", ["resign", "draw"])
def test_end_by_a_command_charges_the_running_clock(end, serving, monkeypatch):
    monkeypatch.setattr(GameSession, "elapsed_seconds", 0.0)
    opened = create_game(client := serving(), seconds=600)
    with connect(client, opened, 0) as first, connect(client, opened, 1) as second:
        first.play_first()
        second.until("state", decisions=1)
        monkeypatch.setattr(GameSession, "elapsed_seconds", 7.0)
        first.send_command(end)
        if end == "draw":
            second.until("state", draw_offered_by=0)
            second.send_command(end)
        assert first.until("state", choices=[])["clocks"] == [600.0, 593.0]
    with connect(serving(), opened, 0) as first:
        assert first.state["clocks"] == [600.0, 593.0]


def test_game_with_one_person_cannot_be_claimed(client):
    opened = create_game(client, seats=("human", "random"))
    with connect(client, opened, 0) as player:
        player.send_command("claim")
        assert "between two people" in player.until("error")["reason"]


def test_names_of_people_are_sent_to_all_clients(client):
    opened = create_game(client)
    with connect(client, opened, 0) as first:
        url = f"{PLAY}/{opened['game']}"
        with client.websocket_connect(url, headers=ORIGIN) as socket:
            socket.send_json({"tokens": opened["tokens"][1:], "name": " Ann "})
            assert first.until("presence", seats=[0, 1])["names"] == ["", "Ann"]
        assert first.until("presence", seats=[0])["names"] == ["", "Ann"]


@pytest.mark.parametrize("name", [5, None, "a" * 21, "a\nb", ["Ann"]])
def test_invalid_names_are_rejected(name, client):
    opened = create_game(client)
    with client.websocket_connect(f"{PLAY}/{opened['game']}", headers=ORIGIN) as socket:
        socket.send_json({"tokens": opened["tokens"][:1], "name": name})
        assert "name=" in socket.receive_json()["reason"]
