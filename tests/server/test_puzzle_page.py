"""Puzzles on the page in Debian's chromium, driven by Playwright."""

import datetime
from unittest import mock

import pytest
from page_server import PageServer, ignores_playwright_warnings, needs_chromium

from cc_env.games.factory import make_game
from cc_env.ladder import rungs
from cc_env.play.choices import list_choices
from cc_env.puzzles import Attempt, shipped_puzzles
from cc_env.puzzles.difficulty import puzzle_rating
from cc_env.puzzles.puzzle import THEMES
from cc_env.registry.catalogue import GAMES
from cc_env.server import puzzle_api

pytestmark = [needs_chromium, ignores_playwright_warnings]
GAME = make_game("mini_checkers")
# The defender has a choice.
PUZZLE = next(p for p in shipped_puzzles(GAME) if p.turns == 2 and "forced" not in p.themes)
FIRST_RATING = round(rungs(GAME)[1].elo.value)
TODAY = datetime.date(2026, 11, 29)
PHONE = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with mock.patch.object(puzzle_api, "_today", return_value=TODAY):
        server = PageServer(tmp_path_factory.mktemp("games"))
        yield server.address
        server.stop()


@pytest.fixture
def open_puzzle(address, open_pages):
    """Return a function that opens a puzzle, by default PUZZLE."""

    def open_page(route=f"#/puzzle/mini_checkers/{PUZZLE.number:04}", **options):
        page = open_pages(address, **options)
        page.goto(address + route)
        page.wait_for_selector("#puzzles[data-phase=turn] .task")
        return page

    return open_page


def play(page, position, turn):
    """Play a turn by clicks."""
    for action in turn:
        choice = next(c for c in list_choices(GAME, position) if c.action == action)
        for cell in (*choice.pieces[:1], choice.cell):
            page.click("#puzzles rect[data-cell='{},{}']".format(*cell))
        position = GAME.apply(position, action)


def solve(page):
    attempt = Attempt(GAME, PUZZLE)
    while not attempt.is_solved:
        turn = attempt.solutions()[0]
        play(page, attempt.position, turn)
        attempt.play(turn)
        phase = "solved" if attempt.is_solved else "turn"
        turns = PUZZLE.turns - attempt.turns_left
        page.wait_for_selector(f"#puzzles[data-phase={phase}][data-turns='{turns}']")


def stored(page):
    return page.evaluate("JSON.parse(localStorage['puzzles mini_checkers'] ?? null)")


def gain(score):
    """Return the change of the first rating by a first result."""
    expected = 1 / (1 + 10 ** ((puzzle_rating(PUZZLE, rungs(GAME)) - FIRST_RATING) / 400))
    return round(40 * (score - expected))


def wrong_turn():
    return next(turn for turn in GAME.turns(PUZZLE.position) if turn not in PUZZLE.solutions)


def test_solved_puzzle_raises_the_rating_and_leads_to_the_next(open_puzzle):
    page = open_puzzle()
    assert page.text_content("#puzzles h1").endswith("to play and win in 2 turns")
    assert f"of {len(rungs(GAME))} opponents fail" in page.text_content("#puzzles .note")
    solve(page)
    rating = FIRST_RATING + gain(1)
    text = f"Solved, +{gain(1)} ({rating:,})"
    assert page.text_content(".task-card p") == page.text_content("#announcements") == text
    assert stored(page) == {"rating": rating, "results": {str(PUZZLE.number): True}}
    assert len(page.locator(".task-turns li").all()) == 3
    page.keyboard.press("Space")
    page.wait_for_selector("#puzzles[data-phase=turn][data-turns='0']")
    assert int(page.evaluate("location.hash.split('/')[3]")) != PUZZLE.number
    page.go_back()
    page.wait_for_selector("#puzzles[data-phase=turn]")
    solve(page)
    # A later result changes nothing.
    assert page.text_content(".task-card p") == "Solved"
    assert stored(page)["rating"] == rating


def test_wrong_turn_shows_its_refutation_and_counts_once(open_puzzle):
    page = open_puzzle(reusable=False)
    page.clock.install()
    pieces = page.inner_html("#puzzles .pieces")
    for _ in range(2):
        play(page, PUZZLE.position, wrong_turn())
        page.wait_for_selector("#puzzles[data-phase=refuted] .arrow")
        assert "answers" in page.text_content("#puzzles .status")
        assert page.text_content("#puzzles .status").endswith("Try again.")
        page.clock.run_for(600)
        page.clock.run_for(600)
        page.clock.run_for(600)
        page.wait_for_selector("#puzzles[data-phase=turn]")
        assert page.inner_html("#puzzles .pieces") == pieces
    assert stored(page) == {
        "rating": FIRST_RATING + gain(0),
        "results": {str(PUZZLE.number): False},
    }
    page.clock.resume()
    solve(page)
    assert page.text_content(".task-card p").startswith("Solved after 2 mistakes, −")


def test_control_pressed_while_the_page_waits_follows(open_puzzle):
    page = open_puzzle(reusable=False)
    requests = []
    page.route("**/puzzle/solution", lambda route: requests.append(route))
    page.keyboard.press("h")
    page.wait_for_selector("#puzzles[data-phase=busy]")
    page.keyboard.press("h")
    requests[0].continue_()
    page.wait_for_selector("#puzzles[data-phase=hint2] .arrow")


def test_hints_show_the_piece_and_then_the_move(open_puzzle):
    page = open_puzzle()
    page.keyboard.press("h")
    page.wait_for_selector("#puzzles[data-phase=hint1] .marks .hint")
    assert page.locator("#puzzles .arrow").count() == 0
    # With Caps Lock.
    page.keyboard.press("Shift+H")
    page.wait_for_selector("#puzzles[data-phase=hint2] .arrow")
    texts = [GAME.readable_turn_text(PUZZLE.position, turn).strip() for turn in PUZZLE.solutions]
    assert page.text_content("#puzzles .status").removeprefix("Hint: ") in texts
    solve(page)
    assert page.text_content(".task-card p") == "Solved with a hint"
    disabled = page.locator(".task-controls button:disabled")
    assert [text[1:] for text in disabled.all_text_contents()] == ["Hint", "Solution", "Skip"]
    assert stored(page) is None


def test_solution_is_played_and_counts_as_a_failure(open_puzzle):
    page = open_puzzle()
    page.click("#puzzles >> text=Solution")
    page.wait_for_selector("#puzzles[data-phase=shown]")
    assert page.text_content(".task-card p").startswith("Solution shown, −")
    assert stored(page)["results"] == {str(PUZZLE.number): False}
    page.click(".task-card >> text=Analyze")
    page.wait_for_selector("#analysis[data-decisions='0']")
    page.select_option("#seconds", "0")
    assert page.input_value("#analysis-position") == GAME.to_text(PUZZLE.position)


def test_game_continues_from_a_puzzle(open_puzzle):
    page = open_puzzle()
    page.click("#puzzles >> text=Solution")
    page.wait_for_selector("#puzzles[data-phase=shown]")
    page.click(".task-card >> text=Play on from here")
    page.wait_for_selector("#game[data-decisions='0']")
    assert "Pebble" in page.text_content("#board-panel")


def test_solver_is_below_and_the_board_flips(open_puzzle):
    white = next(p for p in shipped_puzzles(GAME) if GAME.to_move(p.position) == 1)
    page = open_puzzle(f"#/puzzle/mini_checkers/{white.number}")
    # White's men go towards the last row, which is above.
    rows = "node => Number(node.getAttribute('y'))"
    top = page.eval_on_selector("#puzzles .cell[data-cell='5,0']", rows)
    page.keyboard.press("f")
    assert page.eval_on_selector("#puzzles .cell[data-cell='5,0']", rows) > top


def test_home_lists_games_themes_and_the_daily_puzzle(open_pages, address):
    page = open_pages(address)
    page.goto(f"{address}#/puzzles")
    page.wait_for_selector(".tile")
    assert page.locator(".tile").count() == len(GAMES)
    assert page.text_content(".daily h2") == "Puzzle of the day"
    tile = page.locator(".tile", has=page.locator("h2:text-is('Mini checkers')"))
    assert f"{FIRST_RATING} your rating" in tile.text_content()
    assert "0 of 330 solved" in tile.text_content()
    theme = page.locator(".themes", has=page.locator("h3:text-is('Mini checkers')")).locator(
        "a >> text=sacrifice"
    )
    theme.click()
    page.wait_for_selector("#puzzles[data-phase=turn]")
    assert page.evaluate("location.hash.split('/')[4]") == "sacrifice"
    assert " · sacrifice · " in f" · {page.text_content('#puzzles .note')}"
    before = page.url
    page.keyboard.press("n")
    page.wait_for_url(lambda url: url != before)
    page.wait_for_selector("#puzzles[data-phase=turn]")
    assert page.evaluate("location.hash.split('/')[4]") == "sacrifice"
    page.goto(f"{address}#/puzzles")
    page.click(".daily >> text=Solve")
    page.wait_for_selector("#puzzles[data-phase=turn]")
    assert page.text_content("#puzzles .note").startswith("Puzzle of the day · ")


def test_invalid_addresses_show_the_reason(open_pages, address):
    page = open_pages(address)
    puzzles = "9999", "x", "1/length", "1/%"
    for name in ("chess", "constructor", *(f"mini_checkers/{puzzle}" for puzzle in puzzles)):
        page.goto(f"{address}#/puzzle/{name}")
        page.wait_for_selector("#puzzles .error:not(:empty)")
        page.click("#puzzles >> text=All puzzles")
        page.wait_for_selector(".tile")


def test_phone_fits_and_is_touched(open_puzzle):
    page = open_puzzle(**PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    page.tap("#puzzles >> text=Hint")
    page.wait_for_selector("#puzzles[data-phase=hint1]")


def test_days_in_a_row_and_ratings_are_counted(open_pages, address):
    page = open_pages(address)
    page.goto(address)
    script = """async (days) => {
      const progress = await import("/static/progress.js");
      return days.map((day) => [progress.countDays(day), progress.recordDay(day)]);
    }"""
    days = ["2026-02-27", "2026-02-28", "2026-02-28", "2026-03-01", "2026-03-03", "2026-03-04"]
    counts = [[0, 1], [1, 2], [2, 2], [2, 3], [0, 1], [1, 2]]
    assert page.evaluate(script, days) == counts
    choose = """async ([ratings, results, numbers]) => {
      const { chooseNext } = await import("/static/progress.js");
      return chooseNext(ratings, { rating: 300, results }, numbers, 1);
    }"""
    ratings = [300, 100, 500, 340]
    assert page.evaluate(choose, [ratings, {}, [1, 2, 3, 4]]) == 4
    assert page.evaluate(choose, [ratings, {4: False}, [1, 2, 3, 4]]) == 2
    assert page.evaluate(choose, [ratings, {4: False, 2: True, 3: True}, [1, 2, 3, 4]]) == 4
    assert page.evaluate(choose, [ratings, {}, [1]]) == 1


@pytest.mark.parametrize("junk", ["{", "[]", '{"rating": "x", "results": 3}', "null", '"a"'])
def test_damaged_progress_is_replaced(junk, open_pages, address):
    page = open_pages(address)
    page.goto(address)
    page.evaluate(f"localStorage['puzzles mini_checkers'] = localStorage['puzzle days'] = {junk!r}")
    page.goto(f"{address}#/puzzles")
    page.wait_for_selector(".tile")
    assert f"{FIRST_RATING} your rating" in page.text_content(".tiles")


def test_themes_are_explained(address, open_pages):
    page = open_pages(address)
    page.goto(f"{address}#/puzzles")
    page.click("#puzzles summary")
    names = page.locator(".theme-notes dt").all_text_contents()
    assert names == list(THEMES)
    assert page.is_visible(".theme-notes dd >> nth=0")
    quiet = page.locator(".themes a[title*='neither captures']")
    assert quiet.first.text_content().startswith("quiet ")
