"""The home page: cards that start games against the ladder."""

import pytest
from page_server import ignores_playwright_warnings, needs_chromium, resign

from cc_env.registry.catalogue import GAMES
from cc_env.version import __version__

pytestmark = [needs_chromium, ignores_playwright_warnings]
RECORD_SHIFTS = """window.shifts = 0;
new PerformanceObserver((list) => { for (const entry of list.getEntries()) shifts += entry.value; })
  .observe({ type: "layout-shift", buffered: true });"""


@pytest.fixture
def open_home(address, open_pages):
    def open_page(**screen):
        page = open_pages(address, reusable=False, **screen)
        page.goto(address)
        page.wait_for_selector(".card")
        return page

    return open_page


def card(page, title):
    return page.locator(".card", has=page.locator(f'h2:text-is("{title}")'))


def test_server_that_is_not_ready_is_waited_for_with_a_notice(address, open_pages):
    page = open_pages(address, reusable=False)
    requests = []
    page.route("**/catalogue", lambda route: requests.append(route))
    page.goto(address)
    page.wait_for_selector("#setting-up:not([hidden])")
    assert page.is_hidden("#home")
    requests[0].continue_()
    page.wait_for_selector(".card")
    assert page.is_hidden("#setting-up")


def test_one_click_starts_a_game_against_the_ladder(open_home):
    page = open_home()
    assert page.locator("#cards .card").count() == len(GAMES)
    card(page, "Mini checkers").locator("button.main").click()
    page.wait_for_selector("#game[data-decisions='0']")
    assert page.text_content("#top-seat").startswith("Pebblelevel 1 of ")
    assert page.title() == "● Your move – Mini checkers"
    page.click(".home")
    page.wait_for_selector(".card")
    assert page.is_hidden("#game")
    assert page.text_content("footer span") == f"Version {__version__}"
    page.click("footer >> text=Custom game")
    page.wait_for_selector("#start:not([hidden])")
    assert page.is_hidden("#home")


def test_watched_computers_have_different_levels(open_home):
    page = open_home()
    page.click("footer >> text=Watch two computers")
    page.wait_for_selector("#start:not([hidden])")
    assert [page.input_value(f"[name=seat{seat}]") for seat in (0, 1)] == ["ladder:2", "ladder:1"]
    page.click("#start button.main")
    page.wait_for_selector("#game[data-decisions]")
    assert page.text_content("#bottom-seat .name") == "Slate"


def test_unfinished_games_are_continued(open_home):
    page = open_home()
    card(page, "Mini checkers").locator("button.main").click()
    page.wait_for_selector("#game[data-decisions='0']")
    address = page.url
    page.click("#board rect[data-cell='4,1']")
    page.click("#board rect[data-cell='3,2']")
    page.wait_for_selector("#game[data-decisions='2']")
    page.click(".home")
    page.wait_for_selector(".continued")
    assert page.text_content(".continued b") == "Mini checkers · you v Pebble"
    assert page.text_content(".continued span span") == "Your move · now"
    assert page.locator(".continued .piece").count() == 12
    page.click("footer >> text=My games")
    page.wait_for_selector("#games li")
    page.click("#games >> text=Resume")
    page.wait_for_selector("#game[data-decisions='2']")
    assert page.url == address
    resign(page)
    page.wait_for_selector("#status:text-is('You lost')")
    page.goto(page.url.split("#")[0] + "#/games")
    page.wait_for_selector("#games >> text=Open")
    with page.expect_download() as download:
        page.click("#games >> text=Export")
    assert download.value.suggested_filename.endswith(".jsonl")
    page.click("#navigation >> text=Play")
    page.wait_for_selector(".card")
    assert page.is_hidden("#continue")
    page.click("footer >> text=My games")
    page.click("#games >> text=Rematch")
    page.wait_for_selector("#game[data-decisions='1']")
    assert page.url != address
    assert page.text_content("#top-seat").startswith("Pebble")
    page.click(".home")
    page.click("footer >> text=My games")
    # The first game is still running.
    page.click("#games >> text=Forget >> nth=0")
    page.click("#games >> text=Really forget?")
    page.click("#games >> text=Forget >> nth=0")
    page.wait_for_selector("#games >> text=No games yet.")


def test_opponent_is_chosen_from_the_ladder(open_home):
    page = open_home()
    page.evaluate(
        "localStorage['ladder mini_checkers'] = "
        """'{"level": 2, "streak": 0, "game": "", "beaten": [1]}'"""
    )
    page.reload()
    card(page, "Mini checkers").locator("button.link").click()
    rows = page.locator("#opponents button")
    names = rows.locator("b").all_text_contents()
    assert names[:3] == ["Pebble", "Slate", "Flint"]
    assert "✓ beaten" in rows.nth(0).text_content()
    assert "beaten" not in rows.nth(1).text_content()
    assert rows.nth(1).get_attribute("aria-current") == "true"
    rows.nth(2).click()
    page.wait_for_selector("#game[data-decisions='0']")
    assert page.text_content("#top-seat").startswith("Flintlevel 3 of ")


def test_friend_is_invited_by_a_link(open_home, open_pages, address):
    page, friend = open_home(), open_pages(address)
    page.select_option("#friend [name=kind]", "mini_checkers")
    page.click("#friend >> text=3+2")
    page.click("#friend >> text=white")
    page.fill("#friend [name=player]", "Bob")
    page.click("#friend >> text=Create link")
    page.wait_for_selector("#game[data-decisions='0']")
    assert page.is_hidden("#own-name")
    assert page.locator(".stone[aria-label=white]").evaluate("e => e.parentElement.id") == (
        "bottom-seat"
    )
    assert page.text_content("#clock0") == "3:00"
    friend.goto(page.input_value("#invitation input"))
    friend.wait_for_selector("rect.selectable")
    assert friend.text_content("#top-seat .name") == "Bob"
    friend.fill("#own-name input", "Ann")
    friend.press("#own-name input", "Enter")
    friend.wait_for_selector("#own-name", state="hidden")
    assert friend.input_value("#settings [name=player]") == "Ann"
    page.wait_for_selector("#invitation", state="hidden")
    page.wait_for_selector("#top-seat .name:text-is('Ann')")
    page.wait_for_selector("#status:text-is('Ann to move')")
    friend.click("#board rect[data-cell='4,1']")
    friend.click("#board rect[data-cell='3,2']")
    page.wait_for_selector("#game[data-decisions='1']")
    page.wait_for_selector("rect.selectable")


def test_standings_of_games_between_people_are_those_of_the_server(open_home):
    page, friend = open_home(), open_home()
    page.select_option("#friend [name=kind]", "mini_checkers")
    page.click("#friend >> text=black")
    page.click("#friend >> text=Create link")
    page.wait_for_selector("#game[data-decisions='0']")
    friend.goto(page.input_value("#invitation input"))
    friend.wait_for_selector("#game[data-decisions='0']")
    friend.click(".home")
    friend.wait_for_selector(".continued >> text=Black to move")
    page.click("#board rect[data-cell='4,1']")
    page.click("#board rect[data-cell='3,2']")
    page.wait_for_selector("#game[data-decisions='1']")
    friend.reload()
    friend.wait_for_selector(".continued >> text=Your move")
    resign(page)
    page.wait_for_selector("#status:text-is('You lost')")
    friend.click("footer >> text=My games")
    friend.wait_for_selector("#games >> text=You won")
    friend.wait_for_selector("#games >> text=Review")


def test_card_offers_the_stored_level(open_home):
    page = open_home()
    page.evaluate('localStorage[\'ladder morris\'] = \'{"level": 2, "streak": 0, "game": ""}\'')
    page.reload()
    button = card(page, "Nine men's morris").locator("button.main")
    assert button.text_content() == "Play Slate"
    assert button.get_attribute("aria-label") == "Nine men's morris: play Slate"
    assert "level 2 of " in card(page, "Nine men's morris").text_content()


@pytest.mark.parametrize("width", [320, 1280])
def test_home_has_no_layout_shift_and_fits_the_screen(width, address, open_pages):
    page = open_pages(address, viewport={"width": width, "height": 800})
    page.context.add_init_script(RECORD_SHIFTS)
    page.goto(address)
    page.wait_for_selector(".card")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("#cards :focus-visible, #cards [tabindex='0']:not([inert] *)").count() == 0
    card(page, "Mini checkers").locator("button.main").click()
    page.wait_for_selector("#game[data-decisions='0']")
    assert page.evaluate("shifts") == 0


def test_rejected_game_shows_the_reason(open_home):
    page = open_home()
    page.route("**/games", lambda route: route.fulfill(status=503, json={"error": "too busy"}))
    button = card(page, "Mini checkers").locator("button.main")
    button.click()
    page.wait_for_selector("#home-error:text-is('too busy')")
    assert button.is_enabled()
    assert button.text_content() == "Play Pebble"


def test_navigation_marks_the_view_and_is_at_the_bottom_of_a_phone(open_home):
    page = open_home(viewport={"width": 390, "height": 844})
    current = "#navigation [aria-current=page]"
    assert page.locator("#navigation").bounding_box()["y"] == 844 - 56
    for name in ("Learn", "Analyze", "Play"):
        page.click(f"#navigation >> text={name}")
        page.wait_for_selector(f"{current}:text-is('{name}')")
        assert page.locator(current).count() == 1
    card(page, "Mini checkers").locator("button.main").click()
    page.wait_for_selector("#game[data-decisions='0']")
    assert page.is_hidden("#navigation")


def test_module_that_cannot_be_loaded_shows_the_reason(open_home):
    page = open_home()
    page.route("**/analysis.js", lambda route: route.abort())
    page.click("#navigation >> text=Analyze")
    page.wait_for_selector("#route-error:text-is('The server cannot be reached')")
    page.unroute("**/analysis.js")
    page.click("#navigation >> text=Play")
    page.wait_for_selector("#route-error", state="hidden")


def test_page_can_be_installed(open_home):
    page = open_home()
    session = page.context.new_cdp_session(page)
    manifest = session.send("Page.getAppManifest")
    assert manifest["url"].endswith("/static/app.webmanifest")
    assert manifest["errors"] == []
    errors = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
    # The contexts of tests are private windows.
    assert [error["errorId"] for error in errors] == ["in-incognito"]


def test_home_is_small_on_the_wire(address, open_pages):
    page = open_pages(address, reusable=False)
    session = page.context.new_cdp_session(page)
    sizes = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    session.send("Network.enable")
    page.goto(address)
    page.wait_for_selector("#daily-puzzle section")
    assert len(sizes) > 15
    assert sum(sizes) <= 60_000
