"""Nothing moves: games are played to their end on several screens without a layout shift."""

import pytest
from page_server import ignores_playwright_warnings, needs_chromium

pytestmark = [needs_chromium, ignores_playwright_warnings]
RECORD_SHIFTS = """window.shifts = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    shifts.push([entry.value, ...entry.sources.map(({ node }) => node?.id || node?.className)]);
  }
}).observe({ type: "layout-shift", buffered: true });"""
SCREENS = {
    "desktop": {"viewport": {"width": 1280, "height": 800}},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
    "landscape": {"viewport": {"width": 844, "height": 390}, "has_touch": True, "is_mobile": True},
}


def play(page, text, decisions):
    piece, cell = text.split()
    page.click(f"#board rect[data-cell='{piece}']")
    page.click(f"#board rect[data-cell='{cell}']")
    page.wait_for_selector(f"#game[data-decisions='{decisions}']")


@pytest.mark.parametrize("screen", SCREENS)
def test_whole_game_has_no_layout_shift(screen, address, open_pages):
    """Turns, a refusal, a hint, an offer, a past position, an undo and the end."""
    page = open_pages(address, **SCREENS[screen])
    page.context.add_init_script(RECORD_SHIFTS)
    page.goto(f"{address}#/new/mini_checkers")
    page.select_option("[name=seat1]", "minimax:easy")
    page.click("#start button.main")
    page.wait_for_selector("#game[data-decisions='0']")
    page.evaluate("shifts.length = 0")
    play(page, "4,1 3,2", 2)
    page.click("#buttons >> text=Hint")
    page.wait_for_selector("#board .arrow", state="attached")
    page.click("#buttons >> text=Draw")
    page.wait_for_selector("#message:has-text('declines the draw')")
    page.click("#moves li >> nth=0")
    page.wait_for_selector("#message:has-text('Position after turn 1 of 2')")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("rect.selectable")
    page.click("#buttons >> text=Undo")
    page.wait_for_selector("#game[data-decisions='0']")
    page.click("#buttons >> text=Resign")
    page.click("#buttons >> text=Really resign?")
    page.wait_for_selector("#end-card:not([hidden])")
    page.wait_for_selector("#end-card button")
    assert page.evaluate("shifts") == []
    size = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert size[0] == size[1]


@pytest.mark.parametrize("screen", [*SCREENS, "zoom"])
def test_turn_and_controls_are_on_the_screen(screen, address, open_pages):
    """A page of 1280×800 at 200 % is one of 640×400."""
    viewport = SCREENS.get(screen, {"viewport": {"width": 640, "height": 400}})
    page = open_pages(address, **viewport)
    page.goto(address)
    page.click(".card:has-text('Mini checkers') button.main")
    page.wait_for_selector("#game[data-decisions='0']")
    height = page.evaluate("innerHeight")
    for name in ("#top-seat", "#bottom-seat", "#board", "#status", "#buttons"):
        box = page.locator(name).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= height + 1
    for control in page.locator("#buttons button").all():
        box = control.bounding_box()
        assert min(box["width"], box["height"]) >= 44


def test_squares_have_enough_contrast(address, open_pages):
    page = open_pages(address)
    page.goto(address)
    page.click(".card:has-text('Mini checkers') button.main")
    page.wait_for_selector("#game[data-decisions='0']")
    fills = page.eval_on_selector_all(
        "#board .ground rect", "all => all.map(node => node.getAttribute('fill'))"
    )
    light, dark = (luminance(fill) for fill in sorted(set(fills), reverse=True))
    assert (light + 0.05) / (dark + 0.05) >= 1.6


def luminance(color):
    """Return the relative luminance of a color, "#rrggbb"."""
    parts = [int(color[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
