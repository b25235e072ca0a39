"""Two people in two browsers: offers and assistance."""

import pytest
from page_server import ignores_playwright_warnings, needs_chromium, open_more, resign

pytestmark = [needs_chromium, ignores_playwright_warnings]


@pytest.fixture
def pair(address, open_pages):
    """Return a function that opens a game and returns the pages of both players."""

    def open_pair(assistance=False):
        page, other = open_pages(address), open_pages(address)
        page.goto(f"{address}#/new/mini_checkers")
        page.select_option("[name=seat1]", "friend")
        page.set_checked("[name=assistance]", assistance)
        page.click("#start button.main")
        page.wait_for_selector("#game[data-decisions='0']")
        other.goto(page.input_value("#links input >> nth=0"))
        other.wait_for_selector("#game[data-decisions='0']")
        return page, other

    return open_pair


def move(page, piece, cell):
    count = int(page.get_attribute("#game", "data-decisions"))
    page.click(f"rect[data-cell='{piece}']")
    page.click(f"rect[data-cell='{cell}']")
    page.wait_for_selector(f"#game[data-decisions='{count + 1}']")


def wait_for_status(page, text):
    page.wait_for_selector(f"#side:has-text('{text}')")


def test_offers_are_accepted_or_declined(pair):
    page, other = pair()
    move(page, "4,1", "3,2")
    for offer, own, decline, declined in (
        ("Draw", "You offer a draw", "Decline draw", "declines the draw"),
        ("Undo", "You ask for an undo", "Decline undo", "declines the undo"),
    ):
        page.click(f"#buttons >> text={offer}")
        page.wait_for_selector(f"#buttons button:disabled:has-text('{offer}')")
        wait_for_status(page, own)
        other.click(f"text={decline}")
        wait_for_status(page, f"White {declined}")
        wait_for_status(other, f"You {declined.replace('declines', 'decline')}")
        # A declined offer is not repeated at once.
        assert page.is_disabled(f"#buttons button:has-text('{offer}')")
        assert other.inner_html("#offers") == ""
    move(other, "1,4", "2,5")
    page.wait_for_selector("#game[data-decisions='2']")
    move(page, "4,3", "3,4")
    page.click("#buttons >> text=Draw")
    other.click("text=Accept draw")
    for client in (page, other):
        wait_for_status(client, "A draw")
        wait_for_status(client, "Both agreed")
        # An undo of the result would be a request to play on.
        assert client.is_hidden("#buttons >> text=Undo")
    page.click("#end-card >> text=Rematch")
    other.click("text=Decline rematch")
    wait_for_status(page, "White declines the rematch")
    before = other.url
    page.click("#end-card >> text=Rematch")
    other.wait_for_selector("text=Accept rematch")
    assert other.url == before
    other.click("text=Accept rematch")
    for client in (page, other):
        client.wait_for_url(lambda url: url != before)
        client.wait_for_selector("#game[data-decisions='0']")
    assert page.text_content("#bottom-seat") == "You"
    page.go_back()
    page.wait_for_selector("text=Go to the rematch")


def test_assistance_is_off_until_the_end(pair):
    page, other = pair()
    for client in (page, other):
        assert client.is_hidden("#buttons >> text=Hint")
        open_more(client)
        assert client.is_hidden("#game button >> text=Analyze")
        # There is no hole in the place of hints.
        row = client.locator("#buttons button span:last-child").all_text_contents()
        assert row == ["Undo", "Draw", "Resign", "Flip", "More"]
    resign(page)
    for client, result, loser in ((page, "You lost", "You"), (other, "You won", "Black")):
        wait_for_status(client, result)
        wait_for_status(client, f"{loser} resigned")
        row = client.locator("#buttons button span:last-child").all_text_contents()
        assert row == ["Flip", "Analyze", "More"]
    assert other.title() == "You won – Mini checkers"
    open_more(other)
    other.click("#game button >> text=Analyze")
    other.wait_for_selector("#analysis[data-decisions='0']")
    # The side of the client is below.
    cell = "#analysis-board rect[data-cell='0,1']"
    assert float(other.get_attribute(cell, "y")) > 300


def test_agreed_assistance_is_available(pair):
    for page in pair(assistance=True):
        assert page.is_visible("#buttons >> text=Hint")
        open_more(page)
        assert page.is_visible("#game button >> text=Analyze")


def test_past_position_stays_while_the_game_continues(pair):
    page, other = pair()
    move(page, "4,1", "3,2")
    page.keyboard.press("ArrowLeft")
    start = "rect[data-cell='4,1'][aria-label='6, black']"
    page.wait_for_selector(start)
    move(other, "1,4", "2,5")
    page.wait_for_selector("#game[data-decisions='2']")
    assert page.is_visible(start)
    assert page.text_content("#message").endswith("turn 0 of 2; press → to return · new move")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("rect.cell.selectable")
    assert page.text_content("#status") == "Your move"
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#message:has-text('after turn 1 of 2')")
    resign(other)
    wait_for_status(page, "turn 1 of 2; press → to return · the game is over")


def test_offer_is_not_shown_as_a_new_move(pair):
    page, other = pair()
    move(page, "4,1", "3,2")
    page.wait_for_selector("#game[data-decisions='1']")
    page.keyboard.press("ArrowLeft")
    wait_for_status(page, "Position after turn 0 of 1")
    other.wait_for_selector("#game[data-decisions='1']")
    other.click("#buttons >> text=Draw")
    page.wait_for_selector("#offers >> text=Accept draw")
    assert page.text_content("#message") == "Position after turn 0 of 1; press → to return"
