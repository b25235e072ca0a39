"""The notebook board: its messages, and its front end in a browser."""

import json
import subprocess
import sys

import pytest
from page_server import ignores_playwright_warnings, needs_chromium

from cc_env import play
from cc_env.errors import MissingExtra, UnknownOption
from cc_env.games.factory import make_game
from cc_env.match import record
from cc_env.play import notebook


@pytest.fixture
def new_board(monkeypatch):
    """Return a function that creates a board and records what it sends."""
    boards = []
    monkeypatch.setattr(notebook, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(notebook, "HINT_PLAYER", "greedy")

    def open_board(game="mini_checkers", opponent="greedy", **options):
        board = play.board(game, opponent, **options)
        board.messages = []
        board.send = lambda message, buffers=None: board.messages.append(message)
        boards.append(board)
        board.wait()
        return board

    yield open_board
    for board in boards:
        board.close()


def send_command(board, command, **values):
    """Send a command as the front end does; return the messages sent back."""
    board.messages.clear()
    board.handle_message({"command": command, "version": board.state["version"], **values})
    board.wait()
    return board.messages


def first_choice(board):
    return board.state["choices"][0][0]


def test_opponent_replies_and_the_game_is_recorded(new_board):
    board = new_board()
    assert board.setting["players"] == ["black", "white"]
    assert not send_command(board, "play", action=first_choice(board))
    assert board.state["decisions"] == 2
    assert board.state["is_person"]
    saved = board.session.record()
    assert saved.players == ("human", "greedy")
    assert len(record.replay(saved).turns) == 2
    json.dumps(board.state)


def test_widget_has_a_picture_as_fallback(new_board):
    bundle, _ = new_board()._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert bundle["text/plain"] == "<board of mini_checkers: human, greedy>"
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_board_takes_back_gives_hints_and_starts_a_new_game(new_board):
    board = new_board()
    send_command(board, "play", action=first_choice(board))
    send_command(board, "take_back")
    assert board.state["decisions"] == 0
    (hint,) = send_command(board, "hint")
    assert hint["text"].startswith("greedy would play ")
    assert hint["hint"] in [choice[0] for choice in board.state["choices"]]
    send_command(board, "play", action=hint["hint"])
    before = board.session
    send_command(board, "again")
    assert board.state["decisions"] == 0
    assert board.session is not before
    assert board.session.seed == before.seed + 1


def test_invalid_commands_are_reported_and_change_nothing(new_board):
    board = new_board()
    before = dict(board.state)
    for message in (
        {"command": "play", "action": 10**6, "version": 0},
        {"command": "play", "action": True, "version": 0},
        {"command": "play", "action": first_choice(board), "version": 7},
        {"command": "play"},
        {"command": "take_back"},
        {"command": ["play"]},
        {},
        "play",
        None,
    ):
        board.messages.clear()
        board.handle_message(message)
        assert [list(reply) for reply in board.messages] == [["refused"]]
    assert board.state == before


def test_player_can_move_first_and_two_can_be_watched(new_board):
    board = new_board(second=True)
    assert board.state["decisions"] == 1
    board = new_board(player="random", opponent="greedy", seed=3)
    assert board.state["result"]
    assert board.session.result is not None
    assert not send_command(board, "again")
    assert board.state["result"]
    assert "over" in send_command(board, "hint")[0]["refused"]


def test_board_accepts_games_positions_and_options(new_board):
    board = new_board("capture_conquer", opponent="human", size=4)
    assert board.setting["rows"] == 4
    board = new_board(make_game("mini_checkers"), "human", position="6/2b3/6/6/6/w5 b")
    send_command(board, "play", action=first_choice(board))
    assert board.state["result"]["text"] == "a draw: neither side can move"
    with pytest.raises(UnknownOption, match="no option"):
        play.board("mini_checkers", size=9)
    with pytest.raises(UnknownOption, match="nobody"):
        play.board("mini_checkers", "nobody")


def test_closed_board_stops_the_game(new_board):
    board = new_board(player="random", opponent="random", position="6/2b3/6/6/6/w5 b")
    board.close()
    before = board.state["version"]
    send_command(board, "again")
    assert board.state["decisions"] == 0
    assert board.state["version"] == before + 1


def test_missing_anywidget_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "cc_env.play.notebook", raising=False)
    monkeypatch.delattr(play, "notebook", raising=False)
    with pytest.raises(
        MissingExtra, match=r"needs anywidget: pip install 'PATH\[notebook\]', where"
    ):
        play.board("mini_checkers")


def test_importing_play_imports_no_compiler_or_widgets():
    code = "import cc_env.play, sys; print({'numba', 'anywidget', 'ipywidgets'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


# In a browser, with a model that stands in for anywidget's

MODEL = """async ({ source, css, traits }) => {
  document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
  const heard = {};
  const model = {
    get: (name) => traits[name],
    on: (name, hear) => { heard[name] = hear; },
    off: (name) => { delete heard[name]; },
    send: async (message) => {
      const [state, sent] = await handleMessage(message);
      for (const each of sent) heard["msg:custom"]?.(each);
      if (state.version === traits.state.version) return;
      traits.state = state;
      heard["change:state"]?.();
    },
  };
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const widget = (await import(url)).default;
  window.leave = widget.render({ model, el: document.body });
  window.listeners = () => Object.keys(heard).length;
}"""


@needs_chromium
@ignores_playwright_warnings
def test_notebook_front_end_plays_by_mouse(new_board, browser):
    board, wrong = new_board(second=True), []

    def handle_message(message):
        replies = list(send_command(board, **message))
        return [dict(board.state), replies]

    page = browser.new_page(reduced_motion="reduce")
    page.set_default_timeout(20_000)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.expose_function("handleMessage", handle_message)
    traits = {"setting": dict(board.setting), "state": dict(board.state)}
    page.evaluate(MODEL, {"source": board._esm, "css": board._css, "traits": traits})
    assert "black, greedy: " in page.text_content(".status")
    row = page.get_attribute("rect.cell >> nth=0", "y")
    assert float(row) > 100  # the board is turned: white plays upwards
    for version in (2, 4):
        _, text, pieces, cell = board.state["choices"][0][:4]
        for row, column in (pieces[0], cell):
            page.click(f"rect[data-cell='{row},{column}']")
        page.wait_for_selector(f".cc-env[data-version='{version + 1}']")
        assert board.state["turns"][-2][1] == text
    page.click("text=Hint")
    page.wait_for_selector(".hint")
    page.click("text=Undo")
    page.wait_for_selector(".cc-env[data-version='6']")
    page.click("text=Flip")
    page.click("text=New game")
    page.wait_for_selector(".cc-env[data-version='8']")
    page.evaluate("leave()")
    assert page.evaluate("listeners()") == 0
    page.close()
    assert not wrong
