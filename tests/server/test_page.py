"""The page in Debian's chromium, driven by Playwright."""

import re

import numpy as np
import pytest
from page_server import (
    PageServer,
    ignores_playwright_warnings,
    needs_chromium,
    new_game,
    open_more,
    type_move,
)

from cc_env.games.factory import make_game
from cc_env.play.choices import list_choices
from cc_env.players.builtin import RandomPlayer
from cc_env.players.specs import register_player, temporary_players
from cc_env.registry.catalogue import GAMES
from cc_env.rendering import shapes
from cc_env.rendering.shapes import CELL
from cc_env.server import player_pool

SMALL = {"capture_conquer": {"option.size": "4"}}  # options for short games
pytestmark = [needs_chromium, ignores_playwright_warnings]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = PageServer(tmp_path_factory.mktemp("games"))
    yield server
    server.stop()


@pytest.fixture
def open_game(server, open_pages):
    """Return a function that creates a game with the form."""

    def open_page(game, first="you", second="you", options=(), **screen):
        page = open_pages(server.address, **screen)
        page.goto(server.address + "#/new")
        page.select_option("[name=game]", game)
        for name, value in dict(options).items():
            choose = page.select_option if name.startswith("option.") else page.fill
            choose(f"[name='{name}']", value)
        page.select_option("[name=seat0]", first)
        page.select_option("[name=seat1]", second)
        page.click("#start button.main")
        page.wait_for_selector("#game[data-decisions]")
        return page

    return open_page


def decisions(page):
    return int(page.get_attribute("#game", "data-decisions"))


def until(page, count):
    page.wait_for_selector(f"#game[data-decisions='{count}']")


def cells(page, kind):
    names = page.eval_on_selector_all(f"rect.{kind}", "all => all.map(node => node.dataset.cell)")
    return sorted(names)


def cell_label(page, cell):
    """Return the label of a cell."""
    return page.get_attribute(f"rect[data-cell='{cell}']", "aria-label")


def decide(page, rng, choose):
    """Choose a random piece, a random target, and the first of several moves."""
    count = decisions(page)
    if page.locator("#off-board button").count():
        choose("#off-board button >> nth=0")
        until(page, count + 1)
        return
    if not cells(page, "target"):
        choose(f"rect[data-cell='{rng.choice(cells(page, 'selectable'))}']")
    choose(f"rect[data-cell='{rng.choice(cells(page, 'target'))}']")
    page.wait_for_selector(f".board-menu button, #game[data-decisions='{count + 1}']")
    if page.locator(".board-menu button").count():
        choose(".board-menu button >> nth=0")
        until(page, count + 1)


def toward(cell, goal):
    """Return an arrow key that leads from one cell toward another if row 0 is the lowest one."""
    (row, column), (to_row, to_column) = (map(int, cell.split(",")) for cell in (cell, goal))
    if row != to_row:
        return "ArrowUp" if row < to_row else "ArrowDown"
    return "ArrowRight" if column < to_column else "ArrowLeft"


def is_over(page):
    # The card at the end is loaded a moment after the last decision.
    page.wait_for_selector(
        "rect.selectable, rect.target, #off-board button, #end-card:not([hidden]) button",
        state="attached",
    )
    # Not text=Rematch: "reconnecting to send rematch" stays in the page after a slow start.
    return page.locator("#end-card >> text='Rematch'").is_visible()


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_game_can_be_played_by_mouse(name, open_game):
    """After the end, a rematch begins on the same page."""
    page, rng = open_game(name, options=SMALL.get(name, {})), np.random.default_rng(1)
    while not is_over(page):
        decide(page, rng, page.click)
    assert any(word in page.text_content("#status") for word in ("won", "draw"))
    assert page.locator("#moves li").count() > 4
    page.click("text=Rematch")
    until(page, 0)
    assert not is_over(page)


@pytest.mark.slow
def test_game_can_be_played_by_keyboard(open_game):
    page, rng = open_game("capture_conquer", options={"option.size": "4"}), np.random.default_rng(3)

    def press(selector):
        """Move to a cell with arrow keys, or focus another element; press Enter."""
        goal = page.get_attribute(selector, "data-cell") if "data-cell" in selector else None
        if goal is None:
            page.focus(selector)
        elif page.evaluate("!document.activeElement.dataset.cell"):
            page.focus("rect[tabindex='0']")
        while goal and (cell := page.evaluate("document.activeElement.dataset.cell")) != goal:
            page.keyboard.press(toward(cell, goal))
        page.keyboard.press("Enter")

    while not is_over(page):
        decide(page, rng, press)
    assert page.locator("#moves li").count() > 4


@pytest.mark.slow
def test_game_can_be_played_by_touch(open_game):
    phone = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True}
    page = open_game("capture_conquer", options={"option.size": "4"}, **phone)
    rng = np.random.default_rng(2)
    while not is_over(page):
        decide(page, rng, page.tap)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.slow
def test_keyboard_selects_cells_types_moves_undoes_and_hints(open_game):
    """The statistics of the last search are shown next to the board."""
    page = open_game("mini_checkers", second="minimax:easy")
    page.keyboard.press("u")
    assert page.text_content("#message") == "Undo is not possible now"
    page.focus("rect[data-cell='4,1']")
    page.keyboard.press("Enter")
    assert cells(page, "target") == ["3,0", "3,2"]
    for key in ("ArrowUp", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    until(page, 2)
    assert page.text_content("#announcements").startswith("minimax:easy: ")
    assert re.match(r"depth \d+ · value .* · cutoffs .* nodes", page.text_content("#summary"))
    type_move(page, "nonsense")
    page.wait_for_selector("#message.error:has-text('nonsense')")
    page.click("#buttons >> text=Hint")
    page.wait_for_selector("#board .arrow", state="attached")
    assert page.text_content("#message").startswith("Hint: ")
    assert page.text_content("#status") == "Your move"
    page.click("text=Undo")
    until(page, 0)
    assert page.text_content("#announcements") == "Undone. Your move"


def test_past_positions_are_viewed_during_the_game(open_game):
    page = open_game("mini_checkers")
    for count, cell in enumerate(("4,1", "3,2", "1,4", "2,5"), 1):
        page.click(f"rect[data-cell='{cell}']")
        if not count % 2:
            until(page, count // 2)
    assert cell_label(page, "4,1") == "6, empty"
    assert cell_label(page, "1,4") == "13, empty"
    page.click("#moves li:first-child")
    page.wait_for_selector("rect[data-cell='1,4'][aria-label='13, white']")
    assert cell_label(page, "4,1") == "6, empty"
    assert page.text_content("#message").startswith("Position after turn 1 of 2;")
    assert page.text_content("#moves [aria-current=true]") == "6-8"
    assert cells(page, "selectable") == []
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("rect[data-cell='4,1'][aria-label='6, black']")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("rect[data-cell='4,1'][aria-label='6, empty']")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("rect[data-cell='1,4'][aria-label='13, empty']")
    assert page.text_content("#status") == "Black to move"
    assert cells(page, "selectable") != []
    page.click("#moves li:first-child")
    page.wait_for_selector("rect[data-cell='1,4'][aria-label='13, white']")
    type_move(page, "32-23")
    until(page, 3)


def test_form_offers_levels_random_seats_and_lessons(open_game):
    """The title of the page is whose turn it is, and the game."""
    page = open_game("checkers", second="minimax:normal")
    assert page.title() == "● Your move – Checkers"
    assert page.text_content("#top-seat .name") == "minimax:normal"
    new_game(page)
    assert page.text_content("#start h1") == "Custom game"
    for seat in ("seat0", "seat1"):
        names = page.locator(f"[name={seat}] option").evaluate_all("all => all.map(e => e.value)")
        levels = [f"minimax:{level}" for level in ("easy", "normal", "hard", "extreme")]
        assert {"you", "friend", *levels} <= set(names)
    assert page.locator("#start >> text=Choose the first player at random").is_visible()
    page.click("#start >> text=How to play")
    page.wait_for_selector("#lesson1")


def test_pieces_are_reselected_and_dragged(open_game):
    page = open_game("mini_checkers")
    page.click("rect[data-cell='4,1']")
    assert cells(page, "target") == ["3,0", "3,2"]
    page.click("rect[data-cell='4,5']")
    assert cells(page, "target") == ["3,4"]
    page.drag_and_drop("rect[data-cell='4,1']", "rect[data-cell='3,2']")
    until(page, 1)
    assert page.text_content("#moves li") == "6-8"
    page.click("rect[data-cell='1,4']")
    page.click("rect[data-cell='2,5']")
    until(page, 2)


@pytest.mark.slow
def test_game_continues_after_a_server_restart(open_game, server):
    page, rng = open_game("checkers"), np.random.default_rng(3)
    for _ in range(5):
        decide(page, rng, page.click)
    before = page.locator("#moves li").all_text_contents()
    server.restart()
    page.wait_for_selector("#connection-alert", state="hidden")
    decide(page, rng, page.click)
    until(page, 6)
    assert page.locator("#moves li").all_text_contents()[:5] == before
    page.reload()
    until(page, 6)


@pytest.mark.slow
def test_two_browsers_play_each_other(open_game):
    page, rng = open_game("mini_checkers", second="friend"), np.random.default_rng(4)
    link = page.input_value("#links label:has-text('other player') input")
    other = page.context.browser.new_context(color_scheme="dark").new_page()
    other.goto(link)
    until(other, 0)
    decide(page, rng, page.click)
    until(other, 1)
    assert not cells(page, "selectable")
    decide(other, rng, other.click)
    until(page, 2)
    other.context.close()


def test_owner_pauses_and_steps_a_game(open_game, server, open_pages):
    page = open_game("mini_checkers", first="random", second="random")
    page.click("#pace >> text=Pause")
    page.wait_for_selector("#message:has-text('Paused')")
    done = decisions(page)
    page.click("#pace >> text=Step")
    until(page, done + 1)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowRight")
    until(page, done + 2)
    other = open_pages(server.address)
    other.goto(page.input_value("#links input"))
    until(other, done + 2)
    assert other.locator("#pace").is_hidden()
    page.keyboard.press("Space")
    page.wait_for_selector("#pace >> text=Pause")
    page.select_option("#pace select", "0")
    page.wait_for_selector("#pace button:disabled")
    assert decisions(page) > done + 2
    other.wait_for_selector("#message:not(:has-text('hinking'))")
    assert other.locator("#end-card >> text=Rematch").is_hidden()
    before = page.url
    page.click("text=Rematch")
    page.wait_for_url(lambda url: url != before)
    page.wait_for_selector("#pace button")


def cells_with_mark(page, mark):
    """Return the cells with a mark of this color."""
    places = "all => all.map(node => node.parentElement.getAttribute('transform'))"
    transforms = page.eval_on_selector_all(f"#board .marks g > [fill='{mark.fill}']", places)
    numbers = [re.findall(r"[\d.]+", text) for text in transforms]
    return sorted((round(float(y) / CELL), round(float(x) / CELL)) for x, y in numbers)


def test_menu_offers_move_or_bomb(open_game):
    """Cells to move to and cells to shoot at have different marks."""
    start = "W1W1W1Ww/2w5/3b4/6ww/6wb/3b2w1/8/1w1B1B1B w"
    page, game = open_game("cannon", options={"start": start}), make_game("cannon")
    page.click("rect[data-cell='3,6']")
    own = [
        choice for choice in list_choices(game, game.from_text(start)) if (3, 6) in choice.pieces
    ]
    shots, goals = (
        {choice.cell for choice in own if choice.is_shot},
        {choice.cell for choice in own},
    )
    assert cells_with_mark(page, shapes.mark("shot", (0, 0))[0]) == sorted(shots)
    assert cells_with_mark(page, shapes.mark("target", (0, 0))[0]) == sorted(goals - shots)
    assert cells(page, "target") == sorted(f"{row},{column}" for row, column in goals)
    assert page.get_attribute("rect[data-cell='3,6']", "aria-label").endswith("selected")
    assert page.get_attribute("rect[data-cell='1,6']", "aria-label").endswith("can be hit")
    page.click("rect[data-cell='1,6']")
    texts = page.locator(".board-menu button").all_text_contents()
    assert texts == ["go there: g5-g7", "hit: bomb g7"]
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    until(page, 1)
    assert page.text_content("#moves li") == "bomb g7"


def download_export(page, name):
    """Return the path of an exported file."""
    with page.expect_download() as download:
        page.click(f"#export >> text={name}")
    return download.value.path()


def test_game_from_another_position_has_no_log(open_game):
    page = open_game("cannon", options={"start": "W1W1W1Ww/2w5/3b4/6ww/6wb/3b2w1/8/1w1B1B1B w"})
    open_more(page)
    page.click("#export >> text=LOG")
    page.wait_for_selector("#message.error")
    assert "has no log; expected: a game from the initial position" in page.text_content("#message")


def test_exported_game_is_imported(open_game):
    sync_api = pytest.importorskip("playwright.sync_api")
    page = open_game("cannon")
    page.drag_and_drop("rect[data-cell='5,2']", "rect[data-cell='4,1']")
    until(page, 1)
    open_more(page)
    files = {name: download_export(page, name) for name in ("record", "LOG", "position", "picture")}
    assert '"NORMAL", "data": "S 2 5 M 1 4"} Received from client 0' in files["LOG"].read_text()
    for name, path in files.items():
        page.evaluate("location.hash = '#/analyze'")
        page.wait_for_selector("#import[open]")
        page.set_input_files("#import-form [name=file]", path)
        sync_api.expect(page.locator("#import-form textarea")).not_to_have_value("")
        page.click("#import-form button.main")
        page.wait_for_selector("#analysis[data-decisions='0']")
        page.select_option("#seconds", "0")
        turns = page.locator("#analysis-moves button").all_text_contents()
        assert turns == ([] if name == "position" else ["c3-b4"])
        page.evaluate("sessionStorage.clear(); location.hash = '#/new'")
        page.reload()


def lesson_at(page, number, step):
    page.wait_for_selector(f"#lesson{number}[data-step='{step}']")
    return page.text_content(f"#lesson{number} .status")


def in_lesson(page, number, *places):
    for place in places:
        page.click(f"#lesson{number} rect[data-cell='{place}']")


def test_lesson_is_played_on_its_board(open_game):
    page = open_game("mini_checkers", viewport={"width": 320, "height": 640})
    page.click("text=How to play")
    assert lesson_at(page, 1, 0) == "Your move: 6 goes to 8"
    in_lesson(page, 1, "4,1", "3,0")
    assert "allowed, too. Now: 6 goes" in page.text_content("#lesson1 .status")
    in_lesson(page, 1, "4,1", "3,2")
    assert lesson_at(page, 1, 2) == "White: 13-10"
    page.click("#lesson5 .off-board button")
    lesson_at(page, 5, 2)
    page.click("#lesson7 >> text=Show me")
    assert lesson_at(page, 7, 1) == "Black: 14-18 · Black wins: neither side can move"
    page.click("#lesson7 >> text=Again")
    assert lesson_at(page, 7, 0).startswith("Your move")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.click("#learn .play >> nth=0")
    page.wait_for_selector("#start:not([hidden])")
    assert page.input_value("[name=game]") == "mini_checkers"


def test_coordinates_and_sounds_are_stored_settings(open_game):
    page = open_game("mini_checkers", reusable=False)
    page.context.add_init_script(
        "window.soundCount = 0; const Original = AudioContext;"
        "window.AudioContext = class extends Original {"
        "  constructor() { super(); window.soundCount += 1; } };"
    )
    page.reload()
    until(page, 0)
    page.click("#settings summary")
    assert page.is_visible("#board .labels")
    page.uncheck("text=coordinates")
    assert not page.is_visible("#board .labels")
    dark_square = page.locator('#board .ground rect[fill="#cfb585"]').first
    color = "node => getComputedStyle(node).fill"
    assert dark_square.evaluate(color) == "rgb(207, 181, 133)"
    page.check("text=Green board")
    assert dark_square.evaluate(color) == "rgb(147, 176, 106)"
    page.drag_and_drop("rect[data-cell='4,1']", "rect[data-cell='3,2']")
    until(page, 1)
    assert page.evaluate("window.soundCount") == 0
    assert page.get_attribute("#sound", "aria-pressed") == "false"
    page.click("#sound")
    assert page.get_attribute("#sound", "aria-pressed") == "true"
    page.reload()
    until(page, 1)
    assert not page.is_visible("#board .labels")
    assert dark_square.evaluate(color) == "rgb(147, 176, 106)"
    assert page.evaluate("window.soundCount") == 0
    page.drag_and_drop("rect[data-cell='1,4']", "rect[data-cell='2,5']")
    until(page, 2)
    assert page.evaluate("window.soundCount") == 1


def test_capture_chain_is_played_hop_by_hop(open_game):
    """A piece that must capture can go to the cells of its captures only."""
    page = open_game("checkers", options={"start": "8/8/2b5/8/2b1b3/3r4/8/1b6 r"})
    page.click("rect[data-cell='5,3']")
    assert cells(page, "target") == ["3,1", "3,5"]
    page.click("rect[data-cell='3,1']")
    until(page, 1)
    assert cells(page, "target") == ["1,3"]
    page.click("rect[data-cell='1,3']")
    until(page, 2)
    assert page.text_content("#moves li") == "10x17x26"


def test_man_is_crowned_in_the_middle_of_its_chain(open_game):
    page = open_game("checkers", options={"start": "8/3b1b2/2r5/8/8/1b6/2r5/8 r"})
    page.click("rect[data-cell='2,2']")
    for hops, cell in enumerate(("0,4", "2,6"), 1):
        page.click(f"rect[data-cell='{cell}']")
        until(page, hops)
    assert page.text_content("#moves li") == "22x31x24"
    assert page.get_attribute("rect[data-cell='2,6']", "aria-label") == "24, red king"


def test_mill_lets_the_person_choose_the_removed_bead(open_game):
    """Only beads of the opponent can be chosen."""
    page = open_game("morris", options={"start": "ww.bbb.................. w 76"})
    page.click("rect[aria-label^='C,']")
    until(page, 1)
    named = "all => all.map(node => node.getAttribute('aria-label'))"
    goals = page.eval_on_selector_all("rect.target", named)
    assert goals == [f"{name}, black bead, can be hit" for name in "DEF"]
    page.click("rect[aria-label^='E,']")
    until(page, 2)
    assert page.text_content("#moves li") == "C-E"


def test_past_position_stays_after_a_reconnection(open_game):
    sockets = []

    def record_and_connect(route):
        sockets.append(route)
        route.connect_to_server()

    page = open_game("mini_checkers", sockets=record_and_connect)
    page.click("rect[data-cell='4,1']")
    page.click("rect[data-cell='3,2']")
    until(page, 1)
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("rect[data-cell='4,1'][aria-label='6, black']")
    sockets[-1].close(code=1011)
    page.wait_for_selector("#connection-alert", state="visible")
    page.wait_for_selector("#connection-alert", state="hidden")
    page.click("rect[data-cell='4,1']")
    page.keyboard.press("f")
    page.wait_for_selector("#status:text-is('White to move')")
    assert cell_label(page, "4,1") == "6, empty"
    assert len(sockets) == 2


def test_chain_continues_after_a_reconnection(open_game):
    sockets = []

    def record_and_connect(route):
        sockets.append(route)
        route.connect_to_server()

    page = open_game(
        "capture_conquer",
        options={"start": "6/1bb3/1brrr1/1r1r2/6/6 b"},
        sockets=record_and_connect,
    )
    page.drag_and_drop("rect[data-cell='1,2']", "rect[data-cell='1,0']")
    until(page, 1)
    goals = cells(page, "target")
    assert goals
    sockets[-1].close(code=1011)
    page.wait_for_selector("#connection-alert", state="visible")
    page.wait_for_selector("#connection-alert", state="hidden")
    assert len(sockets) == 2
    assert cells(page, "target") == goals
    page.click(f"rect[data-cell='{goals[0]}']")
    until(page, 2)


CONTRASTS = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (part) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    for (; element; element = element.parentElement) {
      const colour = rgb(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const seen = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const typed = element.tagName === "INPUT" && element.value;
    if (!(own || typed) || element.disabled || !element.checkVisibility()) continue;
    const { fill, color } = getComputedStyle(element);
    const pair = [rgb(element.closest("svg") ? fill : color), behind(element)].map(luminance);
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    seen.push([ratio, `${element.tagName} ${(typed || element.textContent).slice(0, 30)}`]);
  }
  return seen;
}"""


def test_all_text_has_enough_contrast(open_game):
    page = open_game("mini_checkers", reusable=False)

    def check_contrasts():
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            contrasts = page.evaluate(CONTRASTS)
            assert len(contrasts) > 12
            assert not [contrast for contrast in contrasts if contrast[0] < 4.5]

    page.click("rect[data-cell='4,1']")
    page.click("rect[data-cell='3,0']")
    until(page, 1)
    check_contrasts()
    open_more(page)
    check_contrasts()
    new_game(page)
    check_contrasts()
    page.click(".home")
    page.wait_for_selector(".card")
    check_contrasts()
    page.click("#navigation >> text=Learn")
    page.click("#learn >> text=Mini checkers")
    page.click("#settings summary")
    page.wait_for_selector("#lesson1")
    check_contrasts()


def test_game_and_player_options_are_used(server, open_pages):
    page = open_pages(server.address)
    page.goto(server.address + "#/new/checkers")
    page.wait_for_selector("[name='option.crowning']")
    assert page.locator("[name='option.crowning'] option").all_text_contents() == [
        "continue",
        "ends move",
    ]
    assert page.is_hidden("[name=spec1]")
    page.select_option("[name=seat1]", "other")
    for name, why in (("", "Name a player"), ("minimax:depth=99", "Depth cannot be 99")):
        page.fill("[name=spec1]", name)
        page.click("#start button.main")
        page.wait_for_selector(f"[name=spec1]:focus[aria-invalid] + #start-error:has-text('{why}')")
    page.fill("[name=spec1]", "minimax:depth=3")
    page.click("#start button.main")
    until(page, 0)
    assert "minimax:depth=3" in page.text_content("#top-seat")


def test_unknown_games_show_links(server, open_pages):
    page = open_pages(server.address)
    page.goto(server.address + "#/none/none")
    alert = page.locator("#connection-alert.final")
    assert alert.locator("h1").text_content() == "There is no such game on this server"
    assert alert.locator("a").text_content() == "Start a new game"
    page.goto(server.address + "#/learn/ludo")
    assert "no lessons for 'ludo'" in page.text_content("#learn .error")
    page.goto(server.address + "#/learn")
    page.wait_for_selector("#learn .error", state="detached")
    names = page.locator("#learn .games b").all_text_contents()
    assert "Mini checkers" in names
    assert len(names) == len(GAMES)


def test_two_invitations_name_the_sides_and_fit(open_game):
    page = open_game("mini_checkers", first="friend", second="friend")
    page.wait_for_selector("#invitation", state="visible")
    labels = page.locator("#invitation label").all_text_contents()
    assert labels == ["Link for black", "Link for white"]
    assert page.evaluate("actions.scrollHeight <= actions.clientHeight")


def test_form_shows_a_player_that_an_option_changes_before_the_game_starts(server, open_pages):
    page = open_pages(server.address)
    page.goto(f"{server.address}#/new/checkers")
    page.fill("[name='option.no_progress_limit']", "20")
    page.press("[name='option.no_progress_limit']", "Enter")
    page.wait_for_selector("#start-error:has-text('cannot play these options')")
    page.press("[name='option.no_progress_limit']", "Enter")
    until(page, 0)
    assert page.text_content("#top-seat .name") == "minimax:easy"


def test_flipping_keeps_the_focus_on_its_cell(open_game):
    page = open_game("mini_checkers")
    page.focus("rect[data-cell='4,1']")
    page.keyboard.press("f")
    assert page.evaluate("document.activeElement.dataset.cell") == "4,1"
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.dataset.cell") == "5,0"


def test_typed_move_closes_the_sheet(open_game):
    page = open_game("mini_checkers")
    type_move(page, "xx")
    page.wait_for_selector("#message.error:has-text('xx')")
    assert page.is_hidden("#more")


def test_invitation_comes_first_until_the_other_player_joins(open_game, server, open_pages):
    page = open_game("mini_checkers", second="friend")
    page.wait_for_selector("#invitation", state="visible")
    assert page.input_value("#invitation input") == page.input_value("#links input >> nth=0")
    assert page.text_content("#bottom-seat") == "You"
    assert page.text_content("#top-seat") == "Other playeraway"
    links = page.eval_on_selector_all("#links input", "all => all.map(node => node.value)")
    other, spectator = (open_pages(server.address) for _ in range(2))
    other.goto(links[0])
    page.wait_for_selector("#invitation", state="hidden")
    spectator.goto(links[1])
    until(spectator, 0)
    assert spectator.text_content("#top-seat").startswith("Person")


def test_header_is_one_line_on_a_phone(open_game):
    page = open_game("capture_conquer", viewport={"width": 390, "height": 640})
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 640})
        assert page.locator("header").bounding_box()["height"] <= 48
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_invalid_minutes_are_rejected(server, open_pages):
    page = open_pages(server.address)
    page.goto(server.address + "#/new")
    for minutes in ("five", "0", "0.01", "1441", "-3"):
        page.fill("[name=minutes]", minutes)
        page.click("#start button.main")
        page.wait_for_selector(f"""#start-error:has-text("'{minutes}'")""")
        assert page.is_visible("#start")
        assert page.evaluate("document.activeElement.name") == "minutes"
        page.wait_for_selector("label:has([name=minutes][aria-invalid]) + #start-error")
    page.fill("[name=minutes]", "3")
    for seconds in ("two", "61", "-1"):
        page.fill("[name=increment]", seconds)
        page.click("#start button.main")
        page.wait_for_selector(f"""#start-error:has-text("'{seconds}'")""")
        assert page.locator("[aria-invalid]").get_attribute("name") == "increment"


def test_unselectable_piece_shows_the_reason(open_game):
    start = "8/8/8/3b4/4r3/8/8/1r6 r"
    page = open_game("checkers", options={"start": start})
    page.click("rect[data-cell='7,1']")
    assert page.text_content("#message.error") == "You must capture: choose a marked piece"
    places = page.locator("#board .marks .hint")
    assert places.count() == 1
    assert places.get_attribute("transform") == f"translate({4 * CELL} {4 * CELL})"
    page.click("rect[data-cell='4,4']")
    target = page.locator("rect[data-cell='2,2']")
    assert target.get_attribute("aria-label") == "22, empty, can be reached by a capture"
    new_game(page)
    page.fill("[name=start]", "")
    page.click("#start button.main")
    until(page, 0)
    page.click("rect[data-cell='7,1']")
    assert (
        page.text_content("#message.error") == "This piece cannot move now: choose a marked piece"
    )


def test_player_declines_a_draw_at_the_start(open_game):
    page = open_game("mini_checkers", second="minimax:easy")
    page.click("#buttons >> text=Draw")
    page.wait_for_selector("#message:text-is('minimax:easy declines the draw')")
    draw = "#buttons button:has-text('Draw')"
    assert page.is_disabled(draw)
    page.click("rect[data-cell='4,1']")
    page.click("rect[data-cell='3,2']")
    until(page, 2)
    assert page.is_enabled(draw)


def test_form_lists_players_for_the_selected_options(server, open_pages, monkeypatch):
    monkeypatch.setitem(player_pool.OPTIONS, "six", {})
    with temporary_players(six=RandomPlayer):
        register_player("six", RandomPlayer, lambda game: game.options.get("size") == 6)
        page = open_pages(server.address)
        page.goto(f"{server.address}#/new/capture_conquer")
        page.select_option("[name=seat1]", "six")
        page.select_option("[name='option.size']", "5")
        page.wait_for_selector("#start-error:has-text('six cannot play these options')")
        assert page.input_value("[name=seat1]") == "minimax:easy"
        assert page.locator("option[value=six]").count() == 0
        page.select_option("[name='option.size']", "6")
        page.wait_for_selector("option[value=six]", state="attached")
        assert page.text_content("#start-error") == ""
        page.fill("[name='option.corner']", "9")
        page.press("[name='option.corner']", "Tab")
        page.wait_for_selector("#start-error:has-text('Corner cannot be 9')")


def test_form_names_the_first_mover(server, open_pages):
    page = open_pages(server.address)
    page.goto(f"{server.address}#/new/mini_checkers")
    labels = page.locator("#seats label span")
    page.wait_for_selector("#seats >> text=Black (moves first)")
    assert labels.all_text_contents() == ["Black (moves first)", "White"]
    page.select_option("[name='option.first']", "white")
    page.wait_for_selector("#seats >> text=White (moves first)")
    assert labels.all_text_contents() == ["Black", "White (moves first)"]
    page.fill("[name=start]", "6/2b3/6/6/6/w5 b")
    page.press("[name=start]", "Tab")
    page.wait_for_selector("#seats >> text=Black (moves first)")


def test_slow_start_shows_the_progress(server, open_pages):
    page = open_pages(server.address, reusable=False)
    routes = []
    page.route("**/games", lambda route: routes.append(route))
    seconds = {"elapsed": 4.0, "expected": 16.0}
    page.route("**/preparation/mini_checkers", lambda route: route.fulfill(json=seconds))
    page.clock.install()
    page.goto(f"{server.address}#/new/mini_checkers")
    page.click("#start button.main")
    page.wait_for_selector("#start button:text-is('Starting …')")
    page.clock.run_for(500)
    page.wait_for_selector("#preparation:has-text('Preparing Mini checkers for the first time')")
    assert "about 12 s" in page.text_content("#preparation")
    assert page.locator("#preparation progress").evaluate("bar => bar.value") == 0.25
    seconds["elapsed"] = 20.0
    page.clock.run_for(500)
    page.wait_for_selector("#preparation:has-text('a few seconds')")
    routes.pop().continue_()
    until(page, 0)
    assert page.locator("#preparation").count() == 0


def test_new_game_is_at_its_top_with_an_accessible_board(open_game):
    page = open_game("mini_checkers", viewport={"width": 640, "height": 400})
    assert page.evaluate("scrollY") == 0
    assert page.text_content("#game h1") == "Mini checkers"
    assert page.evaluate("document.activeElement.id") == "game-title"
    rows = page.locator("[role=grid][aria-label='Mini checkers'] [role=row]")
    assert rows.count() == 6
    assert rows.first.locator("[role=gridcell]").count() == 3
    # Arrow keys lead over the dark squares, which alone are cells.
    page.focus("rect[data-cell='5,0']")
    for key, cell in (
        ("Right", "5,2"),
        ("Up", "4,3"),
        ("Up", "3,2"),
        ("Left", "3,0"),
        ("Down", "4,1"),
    ):
        page.keyboard.press(f"Arrow{key}")
        assert page.evaluate("document.activeElement.dataset.cell") == cell
    titles = page.eval_on_selector_all("#game button[title]", "all => all.map(node => node.title)")
    assert sorted(title for title in titles if len(title) == 1) == ["f", "h", "u"]


def test_previous_game_is_hidden_when_another_starts(open_game):
    sockets = []

    def record_and_connect(route):
        if not sockets:
            route.connect_to_server()
        sockets.append(route)

    page = open_game("mini_checkers", sockets=record_and_connect)
    new_game(page)
    page.select_option("[name=game]", "morris")
    page.click("#start button.main")
    page.wait_for_selector("#start", state="hidden")
    assert page.is_hidden("#game")
