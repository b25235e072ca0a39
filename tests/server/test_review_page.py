"""The end of a game and its review on the page, in Debian's chromium, driven by Playwright."""

import json
import re
import urllib.request

import pytest
from page_server import ignores_playwright_warnings, needs_chromium
from websockets.sync.client import connect

from cc_env.games.factory import make_game

pytestmark = [needs_chromium, ignores_playwright_warnings]
GAME = make_game("mini_checkers")
# Black, to move, loses by 34-23 and wins by 34-25.
START, MISTAKE, BEST = "1b3b/2w3/6/w3b1/6/b3w1 b", "34-23", "34-25"
# Black captures the last man.
WON = "6/6/6/6/1w4/b5 b"
PHONE = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True}


def play_game(address, turns, start, opponent="ladder:1", resigns=True):
    """Play turns as black, and resign; return the route of the game with black's token."""
    origin = address.rstrip("/")
    fields = {"game": GAME.name, "seats": ["human", opponent], "start": start, "seed": 1}
    request = urllib.request.Request(
        f"{origin}/games", json.dumps(fields).encode(), {"origin": origin}
    )
    with urllib.request.urlopen(request) as response:
        created = json.load(response)
    token = next(filter(None, created["tokens"]))
    path = f"{origin.replace('http', 'ws')}/play/{created['game']}"
    with connect(path, additional_headers={"origin": origin}) as socket:
        socket.send(json.dumps({"tokens": [token]}))
        for text in turns:
            state = receive_own_turn(socket)
            (action,) = GAME.parse_turn(GAME.from_text(state["position"]), text)
            socket.send(
                json.dumps({"command": "play", "action": action, "version": state["version"]})
            )
        state = receive_own_turn(socket)
        if resigns:
            socket.send(json.dumps({"command": "resign", "version": state["version"]}))
            receive_own_turn(socket)
    return f"#/{created['game']}/{token}"


def receive_own_turn(socket):
    """Return the next state in which black is to move or the game is over."""
    while True:
        message = json.loads(socket.recv())
        assert message["type"] != "error", message
        if message["type"] == "state" and (message["result"] or message["is_person"]):
            return message


@pytest.fixture
def open_review(address, open_pages):
    """Return a function that opens the review of a game with a mistake."""

    def open_page(**screen):
        page = open_pages(address, **screen)
        page.goto(f"{address}{play_game(address, [MISTAKE], START)}/review")
        page.wait_for_selector("#review[data-phase=complete]")
        return page

    return open_page


def readable(text):
    position = GAME.from_text(START)
    return GAME.readable_turn_text(position, GAME.parse_turn(position, text)).strip()


def play(page, text):
    """Play a turn of one step at a moment."""
    row, column, end_row, end_column = re.findall(r"\d", text)
    page.click(f"#review rect[data-cell='{row},{column}']")
    page.click(f"#review rect[data-cell='{end_row},{end_column}']")


def test_review_shows_turns_marks_and_moments(open_review):
    page = open_review()
    # The reply is forced, and both values of the mistake are proven.
    assert page.text_content("#review .summary") == "Exact accuracy: You 0\N{NO-BREAK SPACE}%"
    moment = page.locator(".moment")
    assert moment.count() == 1
    assert moment.locator(".title").text_content() == f"Turn 1: {readable(MISTAKE)}??"
    reason, change = moment.locator("p").all_text_contents()
    assert reason.startswith(("Lets White ", "Misses ", "Loses "))
    assert "→" in change or change.startswith("Threw away")
    assert page.locator(".review-turns .sign.blunder").count() >= 1
    assert page.locator("#review .graph .mistake").count() >= 1
    assert page.text_content(".legend").startswith("?!\N{NO-BREAK SPACE}doubtful")
    page.keyboard.press("Home")
    page.wait_for_selector("#review[data-position='0']")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#review[data-position='1']")
    assert page.text_content(".review-turns [aria-current]").startswith(readable(MISTAKE))
    pieces = page.inner_html("#review .pieces")
    page.keyboard.press("f")
    assert page.inner_html("#review .pieces") != pieces


def test_moment_is_tried_until_a_good_turn(open_review):
    page = open_review()
    page.click("text=Retry")
    page.wait_for_selector("#review[data-phase=turn] .task")
    show = page.locator("#review .task-controls button", has_text="Show")
    for mistakes in (1, 2):
        assert show.is_disabled()
        play(page, MISTAKE)
        page.wait_for_selector(f"#review[data-phase=turn][data-mistakes='{mistakes}']")
        assert page.text_content("#review .status").endswith("Try again.")
    assert show.is_enabled()
    play(page, BEST)
    page.wait_for_selector("#review[data-phase=solved]")
    assert page.text_content(".task-card p") == page.text_content("#announcements") == "Correct"
    page.click(".task-card >> text=Back to the review")
    page.wait_for_selector("#review[data-phase=complete] .moment")
    page.click("text=Retry")
    page.wait_for_selector("#review[data-phase=turn] .task")
    page.keyboard.press("Escape")
    page.wait_for_selector("#review[data-phase=complete] .moment")


def test_solution_of_a_moment_is_shown_after_two_tries(open_review):
    page = open_review()
    page.click("text=Retry")
    for mistakes in (1, 2):
        play(page, MISTAKE)
        page.wait_for_selector(f"#review[data-phase=turn][data-mistakes='{mistakes}']")
    page.click("#review .task-controls >> text=Show")
    page.wait_for_selector("#review[data-phase=shown]")
    assert page.text_content(".task-card p") == f"The best turn was {readable(BEST)}"


def test_analysis_opens_at_the_turn_with_the_same_side_up(open_review):
    page = open_review()
    page.keyboard.press("Home")
    page.wait_for_selector("#review[data-position='0']")
    page.keyboard.press("f")
    pieces = page.inner_html("#review .pieces")
    page.click("text=Full analysis")
    page.wait_for_selector("#analysis[data-decisions='0']")
    page.select_option("#seconds", "0")
    assert page.inner_html("#analysis-board .pieces") == pieces
    title = page.text_content("#analysis-title")
    assert title.startswith("You (black) – Pebble (white) · Pebble won: you resigned")
    page.click("#analysis-title >> text=Review")
    # The game has not changed: the review is not computed again.
    page.wait_for_selector("#review[data-phase=complete] .moment")


def test_review_fits_a_phone(open_review):
    page = open_review(**PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    page.tap("text=Retry")
    page.wait_for_selector("#review[data-phase=turn] .task")
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_review_that_is_refused_shows_the_reason(open_pages, address):
    page = open_pages(address)
    page.goto(f"{address}#/no-such-game/review")
    page.wait_for_selector("#review .error:has-text('no such game')")
    page.click("#review >> text=Back to the game")
    page.wait_for_selector("#connection-alert.final")


def test_won_game_offers_its_review_and_the_next_opponent(open_pages, address):
    page = open_pages(address)
    page.goto(address + play_game(address, ["50x32"], WON, resigns=False))
    page.wait_for_selector("#end-card:not([hidden])")
    texts = page.locator("#end-card > *").all_text_contents()
    assert texts == ["Review", "Rematch", "Next: Slate, level 2"]
    page.click("#end-card >> text=Review")
    page.wait_for_selector("#review[data-phase=complete]")
    assert "No moment to try again" in page.text_content(".moments")
    page.go_back()
    page.click("#end-card >> text=Next: Slate")
    page.wait_for_selector("#top-seat:has-text('Slate')")
    page.wait_for_selector("#end-card", state="hidden")


def test_easier_opponent_is_offered_after_two_losses(open_pages, address):
    page = open_pages(address)
    page.goto(address)
    route = play_game(address, [], START, "ladder:3")
    page.goto(address + route)
    page.wait_for_selector("#end-card:not([hidden])")
    assert page.locator("#end-card >> text=Play an easier one").count() == 1
    page.click("#end-card >> text=Play an easier one")
    page.wait_for_selector("#top-seat:has-text('Pebble')")
