"""The analysis page in Debian's chromium, driven by Playwright."""

import itertools
import threading
from pathlib import Path

import pytest
from page_server import PageServer, ignores_playwright_warnings, needs_chromium

from cc_env.errors import BadOption
from cc_env.games.factory import make_game
from cc_env.match.match import Match
from cc_env.match.record import Record, decode_text
from cc_env.match.referee import Decision
from cc_env.play.choices import list_choices
from cc_env.players.specs import register_player, temporary_players
from cc_env.server import player_pool

pytestmark = [needs_chromium, ignores_playwright_warnings]
PDN = Path(__file__).parents[1] / "games" / "pdn"
PHONE = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    server = PageServer(tmp_path_factory.mktemp("games"), pause=0.0)
    yield server.address
    server.stop()


@pytest.fixture
def open_analysis(address, open_pages):
    """Return a function that opens the page and imports a text."""

    def open_page(path="#/analyze", text=None, **screen):
        page = open_pages(address, **screen)
        page.goto(address + path)
        if text is not None:
            import_text(page, text)
        return page

    return open_page


def import_text(page, text):
    page.wait_for_selector("#analysis:not([hidden])")
    if not page.is_visible("#import-form"):
        page.click("#import summary")
    page.fill("#import-form [name=text]", text)
    page.click("#import-form button.main")


def until(page, decisions):
    page.wait_for_selector(f"#analysis[data-decisions='{decisions}']")


def turns(page):
    return page.locator("#analysis-moves > li:not(.branch) button").all_text_contents()


def record(name="mini_checkers", count=6):
    """Return the record of a game whose players always play their first choice."""
    game = make_game(name)
    match = Match(game)
    while len(match.turns) < count:
        match.play(int(game.legal_actions(match.position)[0]))
    return Record.from_match(match, players=("ann", "bob")), match


def readable_turns(match):
    return list(itertools.starmap(match.game.readable_turn_text, match.history))


@pytest.mark.slow
def test_keys_step_through_a_game_with_variations(open_analysis):
    game, match = record()
    page = open_analysis(text=game.to_json())
    until(page, 0)
    page.select_option("#seconds", "0")
    assert turns(page) == readable_turns(match)
    assert page.text_content("#analysis-title") == "ann (black) – bob (white)"
    for key, decisions in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 6)):
        page.keyboard.press(key)
        until(page, decisions)
    page.keyboard.press("Home")
    until(page, 0)
    pieces = page.inner_html("#analysis-board .pieces")
    page.keyboard.press("f")
    assert page.inner_html("#analysis-board .pieces") != pieces
    page.keyboard.press("f")
    other = next(cell for cell in page.locator(".cell.selectable").all())
    other.click()
    page.locator(".cell.target").last.click()
    until(page, 1)
    branch = page.locator("#analysis-moves .branch button")
    assert branch.count() == 1
    assert branch.get_attribute("aria-current") == "true"
    page.reload()
    until(page, 0)
    assert page.locator("#analysis-moves .branch button").count() == 1
    page.click("#share")
    assert "address of this page" in page.text_content("#analysis-status")
    # Another browser opens the analysis by its address.
    other = open_analysis("#" + page.url.split("#")[1])
    until(other, 0)
    assert turns(other) == turns(page)
    assert other.locator("#analysis-moves .branch button").count() == 1
    page.locator("#analysis-moves .branch button").click()
    until(page, 1)
    page.click("#remove")
    until(page, 0)
    assert page.locator("#analysis-moves .branch").count() == 0


def test_turns_are_marked_and_graphed(open_analysis):
    game = make_game("mini_checkers")
    match = Match(game, game.from_text("1b3b/2w3/6/w3b1/6/b3w1 b"))
    for text in ("34-23", None):
        turn = game.parse_turn(match.position, text) if text else next(game.turns(match.position))
        for action in turn:
            match.play(action)
    page = open_analysis(text=Record.from_match(match, players=("ann", "bob")).to_json())
    until(page, 0)
    page.select_option("#seconds", "0")
    page.click("#sweep")
    page.wait_for_selector("#graph .curve")
    page.wait_for_selector("#sweep:text-is('Analyze all turns')")
    first = page.locator("#analysis-moves li button").first
    assert first.text_content() == "7-11 ??, blunder"
    assert "better 7-10" in first.get_attribute("title")
    assert page.text_content("#counts").startswith(
        "black: 0 best, 0 good, 0 doubtful, 0 mistakes, 1 blunder"
    )
    assert page.locator("#graph .mistake").count() == 1
    box = page.locator("#graph svg").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 5)
    until(page, 1)
    assert page.locator("#gauge").get_attribute("aria-valuetext").startswith("black ")


@pytest.mark.slow
def test_phone_shows_lines_arrows_and_moves(open_analysis):
    start = make_game("capture_conquer").initial
    text = make_game("capture_conquer").to_text(start)
    page = open_analysis(text=text, **PHONE)
    page.wait_for_selector("#analysis:not([data-depth=''])[data-depth]")
    page.wait_for_selector("#best-lines li")
    assert page.locator("#best-lines li").count() == 3
    assert page.locator("#analysis-board .arrow").count() == 5
    assert page.locator("#all-moves li").count() == 16
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.locator("#best-lines button").first.tap()
    until(page, 1)
    page.wait_for_selector("#analysis-moves .sign", state="attached")
    page.tap("#play-from-here")
    page.wait_for_selector("#start:not([hidden])")
    assert page.input_value("#start [name=start]") != text
    page.tap("#start button.main")
    page.wait_for_selector("#game[data-decisions]")


def test_served_game_is_analyzed_and_invalid_text_rejected(open_analysis):
    page = open_analysis("#/new")
    page.select_option("[name=game]", "mini_checkers")
    page.select_option("[name=seat1]", "you")
    page.click("#start button.main")
    page.wait_for_selector("#game[data-decisions='0']")
    page.drag_and_drop("rect[data-cell='4,1']", "rect[data-cell='3,2']")
    page.wait_for_selector("#game[data-decisions='1']")
    page.click("#buttons >> text=More")
    page.click("#game button >> text=Analyze")
    until(page, 1)
    page.select_option("#seconds", "0")
    # A mark may follow.
    assert [text.split()[0] for text in turns(page)] == ["6-8"]
    assert "The game continues after turn 1; reload" in page.text_content("#analysis-title")
    import_text(page, "no game <b>at all</b>")
    page.wait_for_selector("#analysis-error:not(:empty)")
    assert "nor a position of any game" in page.text_content("#analysis-error")
    import_text(page, "\n".join(record(count=count)[0].to_json() for count in (2, 3)))
    page.wait_for_selector("#game-select option", state="attached")
    until(page, 0)
    page.select_option("#game-select", "1")
    page.wait_for_selector("#analysis-moves li:nth-child(3)")


class Liking:
    """A player whose policy is known."""

    def __init__(self, game):
        self.game = game

    def choose(self, position, rng, clock):
        legal = self.game.legal_actions(position).tolist()
        return Decision(legal[0], 0.2, {"policy": ((legal[0], 0.75), (legal[-1], 0.25))})


def test_policy_is_shown_as_a_heat_map(open_analysis, monkeypatch):
    monkeypatch.setitem(player_pool.OPTIONS, "policy", {})
    with temporary_players(policy=Liking):
        page = open_analysis(text=make_game("checkers").to_text(make_game("checkers").initial))
        until(page, 0)
        page.select_option("#overlay", "from")
        page.select_option("#analyst", "policy")
        page.wait_for_selector("#analysis-board .share")
        shares = sorted(page.locator("#analysis-board .share").all_text_contents())
        assert shares == ["25%", "75%"]
        assert "black" not in page.text_content("#evaluation")
        assert "red 60 %" in page.text_content("#evaluation")


def test_chain_is_played_decision_by_decision(open_analysis):
    game = make_game("capture_conquer")
    page = open_analysis(text="6/1bb3/1brrr1/1r1r2/6/6 b")
    until(page, 0)
    page.select_option("#seconds", "0")
    position = game.from_text("6/1bb3/1brrr1/1r1r2/6/6 b")
    turn = max(game.turns(position), key=len)
    for count, action in enumerate(turn, 1):
        before = game.play_turn(position, turn[: count - 1])
        choice = next(choice for choice in list_choices(game, before) if choice.action == action)
        if not page.locator(".cell.target").count():
            page.click("rect[data-cell='{},{}']".format(*choice.pieces[0]))
        page.click("rect[data-cell='{},{}']".format(*choice.cell))
        until(page, count)
    assert turns(page) == [game.readable_turn_text(position, turn)]
    page.keyboard.press("ArrowLeft")
    until(page, 0)


def test_format_of_a_pdn_game_is_detected(open_analysis):
    page = open_analysis(text="1. 11-15 23-19 2. 8-11 22-17 *")
    until(page, 0)
    page.select_option("#seconds", "0")
    assert len(turns(page)) == 4
    assert page.text_content("#analysis-error") == ""
    page.click("#play-from-here")
    page.wait_for_selector("#start:not([hidden])")
    assert page.input_value("[name='option.no_progress_limit']") == "None"
    page.click("#start button.main")
    page.wait_for_selector("#game[data-decisions='0']")


def test_read_skipped_and_invalid_games_are_counted(open_analysis):
    good, broken = '[FEN "W:WK10:BK3,K4"] *', '[FEN "W:W99:B<b>1</b>"] *'
    page = open_analysis(text="\n\n".join([good, broken, good]))
    until(page, 0)
    page.select_option("#seconds", "0")
    counts = "#import-report p:text-is('{} games in the text: {}')"
    page.wait_for_selector(counts.format(3, "2 read, 0 skipped, 1 invalid"))
    page.click("#import-report summary")
    invalid = page.locator("#import-report li")
    assert invalid.count() == 1
    assert invalid.text_content().startswith("line 3: ")
    assert page.locator("#import-report b").count() == 0
    import_text(page, "\n\n".join([good] * 51))
    page.wait_for_selector(counts.format(51, "50 read, 1 skipped, 0 invalid"))
    assert page.is_hidden("#import-report details")
    page.select_option("#game-select", "49")
    page.wait_for_selector(counts.format(51, "50 read, 1 skipped, 0 invalid"))


def test_controls_work_before_the_first_position(open_analysis):
    page = open_analysis(reusable=False)
    page.route("**/position", lambda route: None)
    with page.expect_request("**/position"):
        import_text(page, "1. 11-15 23-19 *")
    page.select_option("#overlay", "to")
    page.click("#steps button >> nth=0")
    page.click("#play-from-here")
    import_text(page, "garbage")
    page.wait_for_selector("#analysis-error:not(:empty)")
    page.unroute("**/position")
    page.select_option("#seconds", "0")
    until(page, 0)


NUMBERS = "all => all.map(node => [node.value, node.textContent])"


def test_files_are_decoded_as_on_the_command_line(open_analysis):
    sync_api = pytest.importorskip("playwright.sync_api")
    page = open_analysis()
    page.wait_for_selector("#analysis:not([hidden])")
    if not page.is_visible("#import-form"):
        page.click("#import summary")
    for name in ("utf16_little_endian", "utf16_big_endian", "utf8_mark", "windows_1252"):
        path = PDN / f"{name}.pdn"
        page.set_input_files("#import-form [name=file]", path)
        expected = decode_text(path.read_bytes()).replace("\r\n", "\n")
        sync_api.expect(page.locator("#import-form textarea")).to_have_value(expected)


def test_turns_are_numbered_within_their_line(open_analysis):
    game, match = record(count=4)
    page = open_analysis(text=game.to_json())
    until(page, 0)
    page.select_option("#seconds", "0")
    page.click(".cell.selectable >> nth=-1")
    page.click(".cell.target >> nth=-1")
    until(page, 1)
    page.keyboard.press("ArrowLeft")
    until(page, 0)
    main = page.eval_on_selector_all("#analysis-moves > li:not(.branch)", NUMBERS)
    assert main == [[number, text] for number, text in enumerate(readable_turns(match), 1)]
    branch = page.eval_on_selector_all("#analysis-moves .branch li", NUMBERS)
    assert [number for number, _ in branch] == [1]


def test_form_names_the_mover_of_an_analyzed_position(open_analysis):
    page = open_analysis(text="8/8/8/3b4/4r3/8/8/8 b")
    until(page, 0)
    page.select_option("#seconds", "0")
    page.click("#play-from-here")
    page.wait_for_selector("#seats >> text=Black (moves first)")
    assert page.locator("#seats label span").all_text_contents() == ["Red", "Black (moves first)"]


class StoppablePlayer:
    """A player that thinks until it is stopped, or its time is up."""

    def __init__(self, game):
        self.game, self._stopped = game, threading.Event()

    def choose(self, position, rng, clock):
        self._stopped.wait(clock.turn)
        self._stopped.clear()
        return Decision(int(self.game.legal_actions(position)[0]))

    def stop(self):
        self._stopped.set()


def test_invalid_text_is_rejected_during_a_search(open_analysis, monkeypatch):
    monkeypatch.setitem(player_pool.OPTIONS, "waiting", {})
    with temporary_players(waiting=StoppablePlayer):
        page = open_analysis(
            text=make_game("mini_checkers").to_text(make_game("mini_checkers").initial),
            reusable=False,
        )
        until(page, 0)
        page.select_option("#seconds", "10")
        page.select_option("#analyst", "waiting")
        page.wait_for_selector("#evaluation:has-text('waiting gives no winning chances')")
        finished = []
        page.on("requestfinished", lambda request: finished.append(request.post_data_json))
        import_text(page, "garbage")
        page.wait_for_selector("#analysis-error:not(:empty)")
        assert not [request for request in finished if request.get("seconds") == 10]


def test_error_of_a_player_is_shown(open_analysis, monkeypatch):
    def fail(game):
        raise BadOption("no weights for this game")

    monkeypatch.setitem(player_pool.OPTIONS, "failing", {})
    with temporary_players(failing=fail):
        page = open_analysis(
            text=make_game("mini_checkers").to_text(make_game("mini_checkers").initial)
        )
        until(page, 0)
        page.select_option("#analyst", "failing")
        page.wait_for_selector("#analysis-error:has-text('no weights for this game')")
        assert page.text_content("#evaluation") == ""


def test_analysts_for_the_options_are_listed(open_analysis, monkeypatch):
    monkeypatch.setitem(player_pool.OPTIONS, "six", {})
    with temporary_players(six=Liking):
        register_player("six", Liking, lambda game: game.options.get("size") == 6)
        for size, count in ((6, 1), (5, 0)):
            page = open_analysis()
            page.select_option("#import-form [name=game]", "capture_conquer")
            page.select_option("#import-form [name='option.size']", str(size))
            page.click("#import-form button.main")
            until(page, 0)
            assert page.locator("#analyst option[value=six]").count() == count
            page.select_option("#seconds", "0")


def test_missing_heat_map_is_reported(open_analysis):
    page = open_analysis(
        text=make_game("mini_checkers").to_text(make_game("mini_checkers").initial)
    )
    until(page, 0)
    page.select_option("#overlay", "from")
    page.wait_for_selector("#evaluation:has-text('has no heat map')")
    page.select_option("#overlay", "arrows")
    page.wait_for_selector("#evaluation:not(:has-text('has no heat map'))")


def test_empty_graph_has_no_player_color(open_analysis):
    game, _ = record(count=4)
    page = open_analysis(text=game.to_json())
    until(page, 0)
    page.select_option("#seconds", "0")
    page.wait_for_selector("#graph rect")
    assert page.eval_on_selector_all("#graph [fill^='#']", "all => all.length") == 0
    assert page.text_content("#analysis h1") == "Analysis of Mini checkers"


def test_distances_to_a_win_are_shown(open_analysis):
    page = open_analysis(text="6/brb2r/b3r1/6/3b2/r2b2 r")
    page.wait_for_selector("#evaluation:has-text('red wins in 1 turn')")
    texts = page.locator("#best-lines .chances").all_text_contents()
    assert texts[0] == "win 1"
    page.select_option("#seconds", "0")


def test_exact_values_are_shown_where_tables_ship(open_analysis):
    page = open_analysis()
    page.select_option("#import-form [name=game]", "capture_conquer")
    page.select_option("#import-form [name='option.size']", "4")
    page.fill("#import-form [name=text]", "brrb/b3/2r1/4 b")
    page.click("#import-form button.main")
    page.wait_for_selector("#evaluation:has-text('blue wins in 5 turns')")
    assert page.locator("#analyst option:checked").text_content() == "perfect"
    page.select_option("#seconds", "0")
