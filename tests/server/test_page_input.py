"""Drags by mouse and real touch events, and keys of other layouts."""

import pytest
from page_server import ignores_playwright_warnings, needs_chromium

pytestmark = [needs_chromium, ignores_playwright_warnings]
# A cannon of black hits g8 and f7.
SHOTS = "W1W1W2w/1w1w4/ww1b1w1w/3b4/b1b5/1b1b1wb1/5b2/1B1B1BbB b"
PHONE = {"viewport": {"width": 390, "height": 500}, "has_touch": True, "is_mobile": True}


@pytest.fixture
def open_game(address, open_pages):
    def open_page(game="mini_checkers", start="", **screen):
        page = open_pages(address, reusable=False, **screen)
        page.goto(f"{address}#/new/{game}")
        page.select_option("[name=seat1]", "you")
        page.fill("[name=start]", start)
        page.click("#start button.main")
        page.wait_for_selector("#game[data-decisions='0']")
        return page

    return open_page


def center(page, cell):
    box = page.locator(f"rect[data-cell='{cell}']").bounding_box()
    return {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}


def transforms(page):
    """Return the places of all pieces."""
    script = "all => all.map(node => node.getAttribute('transform')).sort()"
    return page.eval_on_selector_all("#board .piece", script)


class Fingers:
    """Sends touch events of the browser itself; a point is an identifier with its place."""

    def __init__(self, page):
        self._session = page.context.new_cdp_session(page)

    def send(self, kind, **points):
        touches = [{**place, "id": ord(name)} for name, place in points.items()]
        self._session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})


def between(first, last, share):
    return {axis: first[axis] + share * (last[axis] - first[axis]) for axis in first}


def test_piece_is_dragged_by_touch_while_the_page_stays(open_game):
    page = open_game(**PHONE)
    start, goal = center(page, "4,1"), center(page, "3,2")
    fingers = Fingers(page)
    fingers.send("touchStart", a=start)
    for step in range(1, 9):
        fingers.send("touchMove", a=between(start, goal, step / 8))
    before = page.evaluate("scrollY")
    fingers.send("touchEnd")
    page.wait_for_selector("#game[data-decisions='1']")
    assert page.evaluate("scrollY") == before == 0


def test_second_finger_moves_nothing(open_game):
    page = open_game(**PHONE)
    start, goal, palm = (center(page, cell) for cell in ("4,1", "3,2", "4,5"))
    fingers = Fingers(page)
    fingers.send("touchStart", a=start)
    fingers.send("touchMove", a=between(start, goal, 0.5))
    fingers.send("touchStart", a=between(start, goal, 0.5), b=palm)
    fingers.send("touchMove", a=goal, b=center(page, "3,4"))
    fingers.send("touchEnd")
    page.wait_for_selector("#game[data-decisions='1']")
    assert page.text_content("#moves li") == "6-8"


def test_page_pans_from_an_empty_cell(open_game):
    page = open_game(**{**PHONE, "viewport": {"width": 320, "height": 480}})
    page.evaluate("addEventListener('scroll', () => document.body.classList.add('scrolled'))")
    start = center(page, "2,1")
    fingers = Fingers(page)
    fingers.send("touchStart", a=start)
    for step in range(1, 9):
        fingers.send("touchMove", a={"x": start["x"], "y": start["y"] - 12 * step})
    fingers.send("touchEnd")
    page.wait_for_selector("body.scrolled")


@pytest.mark.parametrize("end", ["outside", "released elsewhere", "blur"])
def test_interrupted_drag_returns_the_piece(end, open_game):
    page = open_game()
    before = transforms(page)
    start = center(page, "4,1")
    page.mouse.move(**start)
    page.mouse.down()
    page.mouse.move(start["x"] + 40, start["y"] - 40)
    assert transforms(page) != before
    if end == "outside":
        page.mouse.move(2, 2)
        page.mouse.up()
    elif end == "blur":
        page.evaluate("dispatchEvent(new Event('blur'))")
    else:
        page.evaluate(
            "document.querySelector('#board svg').dispatchEvent("
            "new PointerEvent('pointermove', { pointerId: 1, buttons: 0, bubbles: true }))"
        )
    assert transforms(page) == before
    page.mouse.up()
    page.drag_and_drop("rect[data-cell='4,1']", "rect[data-cell='3,2']")
    page.wait_for_selector("#game[data-decisions='1']")


@pytest.mark.parametrize(("key", "code"), [("U", "KeyU"), ("г", "KeyU"), ("υ", "KeyU")])
def test_keys_of_other_layouts_are_shortcuts(key, code, open_game):
    page = open_game()
    page.drag_and_drop("rect[data-cell='4,1']", "rect[data-cell='3,2']")
    page.wait_for_selector("#game[data-decisions='1']")
    page.evaluate(
        "(init) => document.body.dispatchEvent("
        "new KeyboardEvent('keydown', { ...init, bubbles: true }))",
        {"key": key, "code": code},
    )
    page.wait_for_selector("#game[data-decisions='0']")


def test_target_is_chosen_before_a_piece(open_game):
    """The only piece that reaches it is selected; several are marked."""
    page = open_game("cannon", SHOTS)
    for message in ("Choose it again to shoot", "bomb g8"):
        page.click("rect[data-cell='0,6']")
        page.wait_for_selector(f"#side >> text={message}")
    page = open_game()
    page.click("rect[data-cell='3,2']")
    assert page.text_content("#message") == "Choose a marked piece to go there"
    assert page.locator("#board .marks .hint").count() == 2


def test_resignation_is_asked_until_the_button_loses_the_focus(address, open_pages):
    page = open_pages(address)
    page.goto(address)
    page.click(".card:has-text('Mini checkers') button.main")
    page.wait_for_selector("#game[data-decisions='0']")
    page.click("#buttons >> text=Resign")
    page.keyboard.press("Shift+Tab")
    assert page.text_content("#buttons button >> nth=3").endswith("Resign")
    page.click("#buttons >> text=Resign")
    page.keyboard.press("Enter")
    page.wait_for_selector("#status:text-is('You lost')")
