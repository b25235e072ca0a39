"""Games as files: what is written is read again as the same game."""

import numpy as np
import pytest

from cc_env.errors import BadRecord
from cc_env.games.factory import make_game
from cc_env.match import record
from cc_env.match.match import RESIGNED
from cc_env.match.record import replay_records
from cc_env.play import importing
from cc_env.play.exporting import endings, export_of, exported
from cc_env.play.session import HUMAN, Sitting
from cc_env.play.terminal import load, save
from cc_env.registry.catalogue import GAMES
from cc_env.rendering.picture import draw
from cc_env.rendering.svg import metadata_of, to_svg

PEOPLE = HUMAN, HUMAN


def played(name, count=12, **options):
    """Return a sitting after so many random decisions."""
    sitting, rng = Sitting(make_game(name, **options), PEOPLE), np.random.default_rng(5)
    while sitting.result is None and len(sitting.decisions) < count:
        sitting.play(int(rng.choice(sitting.game.legal_actions(sitting.position))))
    return sitting


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("is_over", [False, True])
def test_records_are_read_again(name, is_over, tmp_path):
    sitting, path = played(name), tmp_path / "game.jsonl"
    if is_over:
        sitting.resign(0)
    path.write_text(exported(sitting, ".jsonl"))
    ((_, game, match),) = replay_records(path)
    assert match.turns == sitting.match.turns
    assert game.reason == (RESIGNED if is_over else record.UNFINISHED)
    assert game.players == PEOPLE


@pytest.mark.parametrize("is_over", [False, True])
def test_pdn_is_read_again(is_over, tmp_path):
    sitting, path = played("checkers"), tmp_path / "game.pdn"
    if is_over:
        sitting.resign(1)
    path.write_text(exported(sitting, ".pdn"))
    ((game, match),) = record.read_foreign(path, make_game("checkers"))
    assert match.turns == sitting.match.turns
    assert game.outcome == (0 if is_over else -1)
    assert game.players == PEOPLE
    save(sitting, tmp_path / "saved.pdn")
    assert (tmp_path / "saved.pdn").read_text() == path.read_text()


@pytest.mark.parametrize("count", [12, 10_000])
def test_logs_of_cannon_are_read_again(count, tmp_path):
    sitting, path = played("cannon", count, rows=10), tmp_path / "game.log"
    save(sitting, path)
    assert path.read_text() == exported(sitting, ".log")
    ((game, match),) = record.read_foreign(path, make_game("cannon", rows=10))
    assert match.turns == sitting.match.turns
    assert (match.result, match.score) == (sitting.result, sitting.match.score)
    assert (game.scores is not None) == (count == 10_000)


@pytest.mark.parametrize("name", GAMES)
def test_positions_are_read_again_and_pictures_show_all_pieces(name):
    sitting = played(name)
    game, position = sitting.game, sitting.position
    assert game.from_text(exported(sitting, ".txt").rstrip("\n")) == position
    picture = exported(sitting, ".svg")
    assert picture.startswith("<svg ")
    assert len(picture) > len(game.pieces(position)) * 40


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("is_over", [False, True])
def test_whatever_is_exported_can_be_imported_and_loaded(name, is_over, tmp_path):
    sitting = played(name, 12)
    if is_over:
        sitting.resign(1)
    for ending in endings(sitting.game):
        (game,) = importing.read(exported(sitting, ending), sitting.game).games
        assert game.game.options == sitting.game.options
        turns = () if ending == ".txt" else tuple(turn for _, turn in sitting.match.history)
        assert game.turns == turns
        assert bool(game.result) == (is_over and ending != ".txt")
        save(sitting, tmp_path / f"game{ending}")
        again, count = load(tmp_path / f"game{ending}", Sitting(sitting.game, PEOPLE))
        assert count == 1
        assert again.match.turns == ([] if ending == ".txt" else sitting.match.turns)
        if ending == ".txt":
            assert game.start == again.position == sitting.position


def test_a_picture_without_a_record_is_refused(tmp_path):
    picture = to_svg(draw(played("morris").game, played("morris").position))
    with pytest.raises(BadRecord, match="this picture has no record of a game"):
        importing.read(picture)
    path = tmp_path / "game.svg"
    path.write_text(picture)
    with pytest.raises(BadRecord, match="this picture has no record of a game"):
        load(path, played("morris"))
    position = played("morris").position
    document = to_svg(draw(played("morris").game, position), metadata='<&"> é')
    assert metadata_of(document) == '<&"> é'


@pytest.mark.parametrize("name", GAMES)
def test_an_export_is_of_the_moment_when_it_was_requested(name):
    sitting = played(name)
    while sitting.game.mid_turn(sitting.position):
        sitting.play(int(sitting.match.legal_actions[0]))
    kinds = endings(sitting.game)
    expected = [exported(sitting, kind) for kind in kinds]
    exports = [export_of(sitting, kind) for kind in kinds]
    sitting.take_back()
    sitting.play(int(sitting.match.legal_actions[-1]))
    sitting.resign(0)
    assert [export() for export in exports] == expected


def test_other_kinds_are_refused_with_those_there_are():
    sitting = played("cannon", 3)
    assert endings(sitting.game) == [".jsonl", ".log", ".txt", ".svg"]
    for ending in ("", ".", ".pdn", "." * 9000):
        with pytest.raises(ValueError, match=r"there are: \.jsonl, \.log, \.txt, \.svg"):
            exported(sitting, ending)
