"""What the browser stores: settings, and the seats of games, which stay out of the address."""

import pytest
from page_server import ignores_playwright_warnings, needs_chromium

pytestmark = [needs_chromium, ignores_playwright_warnings]
DENY = """for (const name of ["localStorage", "sessionStorage"]) {
  const get = () => { throw new DOMException("denied", "SecurityError"); };
  Object.defineProperty(window, name, { get });
}"""
REMOVE = """for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, name, { value: null });
}"""
FILL = """Storage.prototype.setItem = () => {
  throw new DOMException("The quota has been exceeded.", "QuotaExceededError");
};"""


def start_game(page, address, second="ladder:1"):
    page.goto(f"{address}#/new/mini_checkers")
    page.wait_for_selector("#start:not([hidden])")
    page.select_option("[name=seat1]", second)
    page.click("#start button.main")
    page.wait_for_selector("#game[data-decisions='0']")


def play_first_move(page):
    page.click("rect[data-cell='4,1']")
    page.click("rect[data-cell='3,2']")


@pytest.mark.parametrize("script", [DENY, REMOVE, FILL], ids=["denied", "null", "full"])
def test_page_works_without_storage(script, address, open_pages):
    """All routes work with defaults, and the seat of a game survives a reload."""
    page = open_pages(address, reusable=False)
    page.context.add_init_script(script)
    page.goto(address)
    page.click(".card:has-text('Mini checkers') button.main")
    page.wait_for_selector("#game[data-decisions='0']")
    page.reload()
    page.wait_for_selector("rect.selectable")
    play_first_move(page)
    page.wait_for_selector("#game[data-decisions='2']")
    page.go_back()
    page.wait_for_selector(".card")
    page.go_forward()
    page.wait_for_selector("rect.selectable")
    page.click("#settings summary")
    page.uncheck("text=coordinates")
    assert page.is_hidden("#board .labels")
    page.goto(f"{address}#/analyze")
    page.select_option("#import-form [name=game]", "morris")
    page.click("#import-form button.main")
    page.wait_for_selector("#analysis[data-decisions='0']")
    page.click("#play-from-here")
    page.wait_for_selector("#start:not([hidden])")
    assert page.input_value("[name=game]") == "morris"
    page.goto(f"{address}#/learn/mini_checkers")
    page.wait_for_selector("#lesson1")


def test_address_is_safe_to_share(address, open_pages):
    """It has the name of the game alone; the seat stays in the browser, also for a later visit."""
    page, other = (open_pages(address, reusable=False) for _ in range(2))
    start_game(page, address)
    shared = page.url
    assert len(shared) == len(f"{address}#/") + 16
    other.goto(shared)
    other.wait_for_selector("#game[data-decisions='0']")
    assert other.locator("rect.selectable").count() == 0
    page.goto("about:blank")
    page.goto(shared)
    page.wait_for_selector("rect.selectable")


def test_invitation_leaves_the_address_and_gives_its_author_no_seat(address, open_pages):
    page, friend = (open_pages(address, reusable=False) for _ in range(2))
    start_game(page, address, "friend")
    shared, invitation = page.url, page.input_value("#links input >> nth=0")
    assert invitation.startswith(f"{shared}/")
    friend.goto(invitation)
    friend.wait_for_selector("#game[data-decisions='0']")
    assert friend.url == shared
    page.goto(invitation)
    page.wait_for_url(shared)
    page.wait_for_selector("rect.selectable")
    play_first_move(page)
    friend.wait_for_selector("#game[data-decisions='1']")
    assert friend.locator("rect.selectable").count() > 0
    assert page.locator("rect.selectable").count() == 0
    friend.reload()
    friend.wait_for_selector("rect.selectable")


def test_stored_setting_of_another_type_is_ignored(address, open_pages):
    page = open_pages(address, reusable=False)
    page.goto(address)
    page.evaluate("localStorage.games = '7'; localStorage['ladder morris'] = '{'")
    page.reload()
    page.click(".card:has-text('morris') button.main")
    page.wait_for_selector("#game[data-decisions='0']")
    assert page.evaluate("JSON.parse(localStorage.games).length") == 1
