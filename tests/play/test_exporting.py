"""Exported files are read as the same game."""

import numpy as np
import pytest

from cc_env.errors import BadRecord
from cc_env.games.factory import make_game
from cc_env.match import record
from cc_env.match.match import RESIGNED
from cc_env.match.record import replay_records
from cc_env.play import importing
from cc_env.play.exporting import export_game, file_suffixes, prepare_export
from cc_env.play.session import HUMAN, GameSession
from cc_env.play.terminal import load, save
from cc_env.registry.catalogue import GAMES
from cc_env.rendering.picture import draw
from cc_env.rendering.svg import read_metadata, to_svg

PEOPLE = HUMAN, HUMAN


def random_session(name, count=12, **options):
    """Return a session after `count` random decisions."""
    session, rng = GameSession(make_game(name, **options), PEOPLE), np.random.default_rng(5)
    while session.result is None and len(session.decisions) < count:
        session.play(int(rng.choice(session.game.legal_actions(session.position))))
    return session


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("is_over", [False, True])
def test_exported_records_can_be_loaded(name, is_over, tmp_path):
    session, path = random_session(name), tmp_path / "game.jsonl"
    if is_over:
        session.resign(0)
    path.write_text(export_game(session, ".jsonl"))
    ((_, game, match),) = replay_records(path)
    assert match.turns == session.match.turns
    assert game.reason == (RESIGNED if is_over else record.UNFINISHED)
    assert game.players == PEOPLE


@pytest.mark.parametrize("is_over", [False, True])
def test_exported_pdn_can_be_loaded(is_over, tmp_path):
    session, path = random_session("checkers"), tmp_path / "game.pdn"
    if is_over:
        session.resign(1)
    path.write_text(export_game(session, ".pdn"))
    ((game, match),) = record.read_foreign(path, make_game("checkers"))
    assert match.turns == session.match.turns
    assert game.outcome == (0 if is_over else -1)
    assert game.players == PEOPLE
    save(session, tmp_path / "saved.pdn")
    assert (tmp_path / "saved.pdn").read_text() == path.read_text()


@pytest.mark.parametrize("count", [12, 10_000])
def test_exported_cannon_logs_can_be_loaded(count, tmp_path):
    session, path = random_session("cannon", count, rows=10), tmp_path / "game.log"
    save(session, path)
    assert path.read_text() == export_game(session, ".log")
    ((game, match),) = record.read_foreign(path, make_game("cannon", rows=10))
    assert match.turns == session.match.turns
    assert (match.result, match.score) == (session.result, session.match.score)
    assert (game.scores is not None) == (count == 10_000)


@pytest.mark.parametrize("name", GAMES)
def test_exported_positions_and_pictures_contain_all_pieces(name):
    session = random_session(name)
    game, position = session.game, session.position
    assert game.from_text(export_game(session, ".txt").rstrip("\n")) == position
    picture = export_game(session, ".svg")
    assert picture.startswith("<svg ")
    assert len(picture) > len(game.pieces(position)) * 40


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("is_over", [False, True])
def test_every_export_can_be_imported_and_loaded(name, is_over, tmp_path):
    session = random_session(name, 12)
    if is_over:
        session.resign(1)
    for ending in file_suffixes(session.game):
        (game,) = importing.read_games(export_game(session, ending), session.game).games
        assert game.game.options == session.game.options
        turns = () if ending == ".txt" else tuple(turn for _, turn in session.match.history)
        assert game.turns == turns
        assert bool(game.result) == (is_over and ending != ".txt")
        save(session, tmp_path / f"game{ending}")
        again, count = load(tmp_path / f"game{ending}", GameSession(session.game, PEOPLE))
        assert count == 1
        assert again.match.turns == ([] if ending == ".txt" else session.match.turns)
        if ending == ".txt":
            assert game.start == again.position == session.position


def test_picture_without_record_is_rejected(tmp_path):
    picture = to_svg(draw(random_session("morris").game, random_session("morris").position))
    with pytest.raises(BadRecord, match="the picture contains no record"):
        importing.read_games(picture)
    path = tmp_path / "game.svg"
    path.write_text(picture)
    with pytest.raises(BadRecord, match="the picture contains no record"):
        load(path, random_session("morris"))
    position = random_session("morris").position
    document = to_svg(draw(random_session("morris").game, position), metadata='<&"> é')
    assert read_metadata(document) == '<&"> é'


@pytest.mark.parametrize("name", GAMES)
def test_export_has_the_state_at_its_request(name):
    session = random_session(name)
    while session.game.mid_turn(session.position):
        session.play(int(session.match.legal_actions[0]))
    kinds = file_suffixes(session.game)
    expected = [export_game(session, kind) for kind in kinds]
    exports = [prepare_export(session, kind) for kind in kinds]
    session.take_back()
    session.play(int(session.match.legal_actions[-1]))
    session.resign(0)
    assert [export() for export in exports] == expected


def test_unknown_suffix_is_rejected_with_the_valid_ones():
    session = random_session("cannon", 3)
    assert file_suffixes(session.game) == [".jsonl", ".log", ".txt", ".svg"]
    for ending in ("", ".", ".pdn", "." * 9000):
        with pytest.raises(ValueError, match=r"expected: \.jsonl, \.log, \.txt, \.svg"):
            export_game(session, ending)
