"""The folder of games: lock, private files, expiry, damaged journals."""

import asyncio
import json
import os
import re
import stat

import pytest
from fuzz.harness import call_or_reject
from starlette.testclient import TestClient

from cc_env import files
from cc_env.errors import BadRecord, FolderInUse, UnknownOption
from cc_env.games.factory import make_game
from cc_env.play.session import HUMAN
from cc_env.players.specs import make_player
from cc_env.server import app, storage
from cc_env.server.journal import GameSetup, Journal, add_tokens, decision_entry, result_entry
from cc_env.server.limits import BusyError, ServerLimits
from cc_env.server.lobby import Lobby
from cc_env.server.storage import DAY_SECONDS, GameFolder

PEOPLE = HUMAN, HUMAN
ORIGIN = "http://127.0.0.1:8000"
OPENING = {"game": "mini_checkers", "seats": list(PEOPLE), "seed": 1}


def setup(name="mini_checkers"):
    game = make_game(name)
    return add_tokens(GameSetup(game.name, dict(game.options), PEOPLE))


def open_folder(path, **limits):
    return GameFolder(path, ServerLimits(**limits))


def store(folder, count=1, lines=1):
    """Store games of some lines each; return their names."""
    names = [folder.create(setup()) for _ in range(count)]
    for name in names:
        for _ in range(lines - 1):
            folder.journal(name).append({"do": "offer", "player": 0})
    return names


def age(path, name, days, now):
    changed = now - days * DAY_SECONDS
    os.utime(path / f"{name}.jsonl", (changed, changed))


def test_folder_belongs_to_one_server(tmp_path):
    """Otherwise two servers could confirm a move of the same seat."""
    first = open_folder(tmp_path)
    with pytest.raises(FolderInUse, match="another server"):
        app.create_app(tmp_path)
    first.close()
    open_folder(tmp_path).close()


def test_removed_lock_file_does_not_unlock_the_folder(tmp_path):
    first = open_folder(tmp_path)
    (tmp_path / files.LOCK_NAME).unlink()
    for _ in range(2):
        with pytest.raises(FolderInUse, match=f"^{tmp_path} is in use by another server$"):
            open_folder(tmp_path)
    first.close()
    open_folder(tmp_path).close()


def test_folder_without_locks_is_locked_by_its_file(tmp_path, monkeypatch):
    """Network file systems lock no folders."""
    flock = files.fcntl.flock

    def lock_files_only(file, operation):
        if isinstance(file, int) and stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError(9, "Bad file descriptor")
        flock(file, operation)

    monkeypatch.setattr(files.fcntl, "flock", lock_files_only)
    first = open_folder(tmp_path)
    with pytest.raises(FolderInUse):
        open_folder(tmp_path)
    first.close()
    open_folder(tmp_path).close()


def test_journals_are_private(tmp_path):
    """Journals contain the tokens of the seats."""
    folder = open_folder(tmp_path)
    (name,) = store(folder)
    (tmp_path / f"{name}.jsonl").chmod(0o755)
    (other,) = store(folder)
    folder.select_removals()
    for game_name in (name, other):
        assert stat.S_IMODE((tmp_path / f"{game_name}.jsonl").stat().st_mode) == 0o600
    folder.close()


def test_games_expire_after_their_last_change(tmp_path):
    now = 1e9
    folder = open_folder(tmp_path, unplayed_days=1, stored_days=10)
    unplayed, with_moves = store(folder, 3), store(folder, 3, lines=2)
    for days, *names in zip((0.5, 2, 11), unplayed, with_moves, strict=True):
        for name in names:
            age(tmp_path, name, days, now)
    assert {game.name for game in folder.select_removals(now)} == {*unplayed[1:], with_moves[2]}
    folder.close()


def test_wrong_file_time_lets_no_game_expire(tmp_path):
    """The journal contains the time, too; periods without any change do not count."""
    folder = open_folder(tmp_path, stored_games=4)
    other, played = store(folder, 2, lines=2)
    (unplayed,) = store(folder)
    for name in (played, unplayed):
        os.utime(tmp_path / f"{name}.jsonl", (0, 0))
    assert not folder.select_removals()
    # A copy of an earlier version's journal, without times.
    path = tmp_path / f"{played}.jsonl"
    path.write_text(re.sub(r',"at":\d+', "", path.read_text()))
    for seconds in (0, 1, DAY_SECONDS, -DAY_SECONDS):
        os.utime(path, (seconds, seconds))
        assert not folder.select_removals()
    os.utime(path)
    # The game with the oldest file time is not the one that changed least recently.
    os.utime(tmp_path / f"{other}.jsonl", (1e9, 1e9))
    store(folder)
    assert [game.name for game in folder.select_removals()] == [unplayed]
    folder.close()


def test_clock_that_jumps_by_years_lets_no_game_expire(tmp_path):
    folder = open_folder(tmp_path)
    names = store(folder) + store(folder, 2, lines=2)
    path = tmp_path / f"{names[-1]}.jsonl"
    now = path.stat().st_mtime
    for years in (20, -20, 1000):
        assert not folder.select_removals(now + years * 365 * DAY_SECONDS)
    wrong = now + 20 * 365 * DAY_SECONDS
    # A game continues while the clock is wrong, and after that.
    os.utime(path, (wrong, wrong))
    for later in (wrong + 3600, now + 3600):
        assert not folder.select_removals(later)
    (unplayed,) = folder.select_removals(now + 2 * DAY_SECONDS)
    assert unplayed.name == names[0]
    folder.close()


def test_full_folder_expires_least_recent_games(tmp_path):
    now = 1e9
    folder = open_folder(tmp_path, stored_games=4)
    unplayed, with_moves = store(folder, 2), store(folder, 2, lines=2)
    for number, name in enumerate((*unplayed, *with_moves)):
        age(tmp_path, name, 0.9 - number / 10, now)
    with pytest.raises(BusyError, match="4"):
        store(folder)
    due = folder.select_removals(now)
    assert [game.name for game in due] == unplayed[:1]
    for game in due:
        folder.remove(game)
    assert store(folder)
    with pytest.raises(UnknownOption):
        folder.journal(unplayed[0])
    folder.close()


def test_games_deleted_by_hand_free_space(tmp_path):
    folder = open_folder(tmp_path, stored_games=2)
    names = store(folder, 2)
    (tmp_path / f"{names[0]}.jsonl").unlink()
    assert not folder.select_removals()
    assert store(folder)
    folder.close()


def test_folder_size_is_limited(tmp_path):
    folder = open_folder(tmp_path, stored_bytes=2000)
    names = store(folder, 3)
    while not folder.is_full:
        names += store(folder)
    assert len(names) < 20
    for game in folder.select_removals():
        folder.remove(game)
    assert not folder.is_full
    assert len(list(tmp_path.glob("*.jsonl"))) == len(names) - 1
    folder.close()


def test_full_server_replaces_oldest_unplayed_games(serving, tmp_path):
    """A new game can be created on a full server, which removes unplayed games first."""
    client = serving(stored_games=3)
    for _ in range(8):
        assert client.post("/games", json=OPENING).status_code == 201
    assert len(list(tmp_path.glob("*.jsonl"))) <= 3


def test_loaded_game_does_not_expire(tmp_path):
    async def remove_unloaded_game():
        folder = open_folder(tmp_path, unplayed_days=0)
        lobby = Lobby(folder, cores=1)
        name, other = store(folder, 2)
        for game_name in (name, other):
            age(tmp_path, game_name, 5, 1e9)
        await lobby.find_room(name)
        await lobby.remove_expired()
        assert [path.stem for path in tmp_path.glob("*.jsonl")] == [name]
        lobby.close()

    asyncio.run(remove_unloaded_game())


def test_unstorable_game_is_rejected_and_leaves_no_file(serving, tmp_path, monkeypatch):
    """The response has status 503; a later request succeeds."""
    client = serving()

    class Full:
        def __init__(self, file, mode):
            os.close(file)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def write(self, content):
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as context:
        context.setattr("os.fdopen", Full)
        response = client.post("/games", json=OPENING)
    assert response.status_code == 503
    assert response.json() == {"error": app.UNAVAILABLE}
    assert not list(tmp_path.glob("*.jsonl"))
    assert client.post("/games", json=OPENING).status_code == 201


@pytest.mark.parametrize("content", [b"", b"\n", b"{}\n", b"\xff\n", b'{"game":1}\n'])
def test_damaged_game_causes_one_error_and_one_log_line(content, serving, tmp_path, caplog):
    client = serving()
    (tmp_path / f"{'A' * 16}.jsonl").write_bytes(content)
    response = client.get(f"/games/{'A' * 16}.txt")
    assert response.status_code == 500
    assert response.json() == {"error": "the stored game cannot be read"}
    (line,) = [record for record in caplog.records if record.name == "cc_env.server"]
    assert str(tmp_path) in line.getMessage()
    assert not line.exc_info


def test_game_that_cannot_be_read_now_is_not_reported_as_damaged(serving, tmp_path, monkeypatch):
    client = serving()
    name = client.post("/games", json=OPENING).json()["game"]
    client = serving()

    def read_lines(path):
        yield 1, path.read_text().splitlines()[0]
        raise BadRecord(f"{path}, after line 1: I/O error") from OSError(5, "I/O error")

    with monkeypatch.context() as context:
        context.setattr("cc_env.server.journal.read_lines", read_lines)
        response = client.get(f"/games/{name}.txt")
    assert response.status_code == 503
    assert response.json() == {"error": "this game cannot be read now"}
    assert client.get(f"/games/{name}.txt").status_code == 200


def test_folder_named_like_a_game_is_ignored(serving, tmp_path):
    client = serving()
    (tmp_path / f"{'A' * 16}.jsonl").mkdir()
    assert client.get(f"/games/{'A' * 16}.txt").status_code == 404


def test_empty_journal_is_rejected(tmp_path):
    path = tmp_path / "game.jsonl"
    path.touch()
    with pytest.raises(BadRecord, match="line 1"):
        Journal(path).read(make_player)


def test_deleted_journal_is_not_recreated(tmp_path):
    """A new file would lack the setup and the earlier lines."""
    folder = open_folder(tmp_path)
    (name,) = store(folder)
    journal = folder.journal(name)
    journal.path.unlink()
    with pytest.raises(FileNotFoundError):
        journal.append({"do": "offer", "player": 0})
    assert not journal.path.exists()
    folder.close()


def test_created_file_is_new_and_private(tmp_path):
    path = tmp_path / "secret"
    files.create_private(path, "a")
    with pytest.raises(FileExistsError):
        files.create_private(path, "b")
    assert path.read_text() == "a"


def journal_of(path, name):
    """Write a journal with decisions, take-backs, offers and an end; return its bytes."""
    journal, game = Journal(path), make_game(name)
    journal.create(setup(name))
    session = journal.read(make_player).session
    for number in range(8):
        session.play(session.match.legal_actions[0])
        journal.append({**decision_entry(session.decisions[-1]), "seconds": 0.25})
        if number in (3, 6):
            session.take_back()
            journal.append({"do": "take_back"})
    journal.append({"do": "offer", "player": 0})
    journal.append({"do": "request_take_back", "player": 1})
    session.resign(0)
    journal.append(result_entry(session))
    assert game.name == session.game.name
    return path.read_bytes()


def read(path):
    saved_game = Journal(path).read(make_player)
    return (
        saved_game.session.decisions,
        saved_game.session.result,
        saved_game.take_back_requested_by,
    )


@pytest.mark.parametrize("name", ["mini_checkers", "morris"])
def test_truncated_journal_keeps_complete_lines(name, tmp_path):
    """A killed process may leave a file of any length."""
    path, cut = tmp_path / "game.jsonl", tmp_path / "cut.jsonl"
    content = journal_of(path, name)
    complete, expected = [], None
    for length in range(len(content) + 1):
        cut.write_bytes(content[:length])
        lines = content[:length].count(b"\n")
        if not lines:
            with pytest.raises(BadRecord):
                read(cut)
        elif lines != len(complete):
            complete.append(length)
            expected = read(cut)
        elif length % 7 == 0 or length == len(content):
            assert read(cut) == expected
            assert cut.read_bytes() == content[: complete[-1]]
    assert len(complete) == content.count(b"\n")


def test_journal_with_flipped_bit_is_read_or_rejected(tmp_path):
    path = tmp_path / "game.jsonl"
    content = journal_of(path, "mini_checkers")
    done = {True: 0, False: 0}
    for place in range(0, len(content), 3):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        done[call_or_reject(lambda: read(path)) is not None] += 1
    assert min(done.values()) > 0


def test_full_game_allows_moves_only(serving):
    """Otherwise a file grows until it takes many seconds to open."""
    client = serving(journal_bytes=700)
    opened = client.post("/games", json=OPENING).json()
    place = f"ws://127.0.0.1:8000/play/{opened['game']}"
    with client.websocket_connect(place, headers={"origin": ORIGIN}) as socket:

        def until(*kinds):
            while (message := socket.receive_json())["type"] not in kinds:
                pass
            return message

        def send_command(command, **fields):
            socket.send_json({"command": command, **fields})

        socket.send_json({"tokens": opened["tokens"]})
        state = until("state")
        response = state
        while response["type"] == "state":
            send_command("play", action=state["choices"][0][0], version=response["version"])
            after_move = until("state")
            send_command("take_back")
            response = until("state", "error")
        assert "full" in response["reason"]
        send_command("play", action=after_move["choices"][0][0], version=after_move["version"])
        assert until("state", "error")["decisions"] == 2


def test_other_files_and_names_are_ignored(tmp_path):
    (tmp_path / "notes.jsonl").write_text("mine")
    folder = open_folder(tmp_path, unplayed_days=0)
    assert not folder.select_removals(1e12)
    for name in ("../../etc/passwd", "notes", "", "x" * 17):
        with pytest.raises(UnknownOption):
            folder.journal(name)
    folder.close()
    assert json.dumps(storage.GAME_NAME.pattern)


def test_folder_is_unlocked_after_shutdown(tmp_path):
    with TestClient(app.create_app(tmp_path), base_url=ORIGIN), pytest.raises(FolderInUse):
        open_folder(tmp_path)
    open_folder(tmp_path).close()
