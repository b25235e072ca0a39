"""Opponents of the ladder on the page."""

from page_server import ignores_playwright_warnings, needs_chromium, new_game, open_more, resign

pytestmark = [needs_chromium, ignores_playwright_warnings]


def start(page):
    page.click("#start button.main")
    page.wait_for_selector("#game[data-decisions='0']")


def lose(page):
    resign(page)
    page.wait_for_selector("#status:has-text('You lost')")


def selected_opponent(page):
    new_game(page)
    return page.input_value("[name=seat1]")


def test_default_opponent_is_the_first_of_the_ladder(address, open_pages):
    page = open_pages(address)
    page.goto(f"{address}#/new/mini_checkers")
    page.wait_for_selector("#start:not([hidden])")
    assert page.input_value("[name=seat1]") == "ladder:1"
    start(page)
    assert page.text_content("#top-seat").startswith("Pebblelevel 1 of ")
    page.click("rect[data-cell='4,1']")
    page.click("rect[data-cell='3,2']")
    page.wait_for_selector("#game[data-decisions='2']")
    assert page.text_content("#announcements").startswith("Pebble: ")


def test_game_without_a_ladder_has_another_default_opponent(address, open_pages):
    page = open_pages(address)
    page.goto(f"{address}#/new/capture_conquer")
    page.select_option("[name='option.size']", "4")
    page.wait_for_selector("[name=seat1] option[value='ladder:1']", state="detached")
    assert page.input_value("[name=seat1]") == "minimax:easy"
    message = "Pebble, level 1 of 8 cannot play these options; Red is now minimax:easy"
    assert page.text_content("#start-error") == message


def test_two_losses_lower_the_level(address, open_pages):
    """The level is that of the last game, and each game counts once."""
    page = open_pages(address, reusable=False)
    page.goto(f"{address}#/new/mini_checkers")
    page.select_option("[name=seat1]", "ladder:3")
    start(page)
    lose(page)
    page.reload()
    page.wait_for_selector("#status:has-text('You lost')")
    assert selected_opponent(page) == "ladder:3"
    start(page)
    lose(page)
    assert selected_opponent(page) == "ladder:2"
    page.reload()
    page.wait_for_selector("#start:not([hidden])")
    page.select_option("[name=game]", "checkers")
    assert page.input_value("[name=seat1]") == "ladder:1"


def test_two_wins_raise_the_level_up_to_the_last(address, open_pages):
    page = open_pages(address)
    page.goto(address)
    script = """async (levels) => {
      const ladder = await import("/static/ladder.js");
      const rungs = ["Pebble", "Slate", "Flint"];
      let game = 0;
      return levels.map(([level, score]) => {
        ladder.countResult("morris", String((game += 1)), level, score, rungs);
        return ladder.defaultOpponent("morris", rungs);
      });
    }"""
    results = [(1, 1), (1, 0), (1, -1), (1, 1), (1, 1), (1, 1), (2, 1), (2, 1), (3, 1), (3, 1)]
    levels = [1, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    opponents = page.evaluate(script, results)
    assert opponents == [f"ladder:{level}" for level in levels]


def test_threat_of_a_weak_opponent_is_shown_on_request(address, open_pages):
    page = open_pages(address)
    page.goto(f"{address}#/new/capture_conquer")
    page.fill("[name=start]", "6/1r4/6/3b2/2r3/b3b1 b")
    start(page)
    open_more(page)
    arrow = page.locator("#board .arrow line[stroke-dasharray]")
    assert arrow.count() == 0
    page.check("#threats input")
    assert arrow.count() == 1
    page.keyboard.press("Escape")
    new_game(page)
    page.select_option("[name=seat1]", "ladder:3")
    start(page)
    open_more(page)
    assert page.is_hidden("#threats")


def test_new_game_is_against_the_same_or_the_next_opponent_or_custom(address, open_pages):
    page = open_pages(address)
    page.goto(address)
    page.click(".card:has-text('Mini checkers') button.main")
    page.wait_for_selector("#game[data-decisions='0']")
    new_games = page.locator("#new-games > *")
    for label, opponent in (("Pebble again", "Pebble"), ("Slate, level 2", "Slate")):
        open_more(page)
        assert new_games.all_text_contents() == ["Pebble again", "Slate, level 2", "Custom game"]
        before = page.url
        page.click(f"#new-games >> text={label}")
        page.wait_for_url(lambda url, before=before: url != before)
        page.wait_for_selector(f"#top-seat .name:text-is('{opponent}')")
        page.wait_for_selector("#game[data-decisions='0']")
    # The next game is against the new opponent, too.
    assert selected_opponent(page) == "ladder:2"


def test_form_explains_the_options(address, open_pages):
    page = open_pages(address)
    page.goto(f"{address}#/new/morris")
    page.wait_for_selector("#start:not([hidden])")
    field = page.locator("[name='option.flying']")
    note = page.locator(f"#{field.get_attribute('aria-describedby')}")
    assert note.text_content() == "A player with three beads may move to any empty point."
