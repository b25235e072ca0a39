"""Export of a game session: record, formats of other programs, position as text, picture.

Of a game in progress the complete turns are exported. Pictures contain the record as metadata.
"""

from collections.abc import Callable
from functools import partial

from cc_env.core.game import Game
from cc_env.errors import check_name
from cc_env.match.record import export_match
from cc_env.play.session import GameSession
from cc_env.rendering.picture import draw
from cc_env.rendering.svg import to_svg

RECORD_SUFFIX, POSITION_SUFFIX, PICTURE_SUFFIX = ".jsonl", ".txt", ".svg"
# Media types by suffix; files with other suffixes are text/plain.
MEDIA_TYPES = {
    RECORD_SUFFIX: "application/x-ndjson",
    PICTURE_SUFFIX: "image/svg+xml",
}


def file_suffixes(game: Game) -> list[str]:
    """Return the suffixes of the files that a game can be exported to."""
    return [RECORD_SUFFIX, *game.formats, POSITION_SUFFIX, PICTURE_SUFFIX]


def check_suffix(game: Game, suffix: str) -> None:
    """Raise UnknownOption if a game cannot be exported to a file with this suffix."""
    check_name("suffix", suffix, file_suffixes(game))


def export_game(session: GameSession, suffix: str) -> str:
    """Return a game as the content of a file with this suffix.

    Raises UnknownOption for an unknown suffix, BadRecord for a game that the format cannot express.
    """
    return prepare_export(session, suffix)()


def prepare_export(session: GameSession, suffix: str) -> Callable[[], str]:
    """Return a function that exports the game as it is now; it may run in another thread.

    Raises UnknownOption for an unknown suffix; the function raises BadRecord.
    """
    game, position, last, end = session.game, session.position, session.last_turn, session.result
    check_suffix(game, suffix)
    if suffix in game.formats:
        names = session.seats[0].name, session.seats[1].name
        return partial(game.formats[suffix].write, game, export_match(session.match, names))
    if suffix == POSITION_SUFFIX:
        return lambda: game.to_text(position) + "\n"
    record = session.record()
    if suffix == RECORD_SUFFIX:
        return lambda: record.to_json() + "\n"
    return lambda: to_svg(draw(game, position, last=last, end=end), metadata=record.to_json())
