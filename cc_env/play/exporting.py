"""A session as a file: its record, what other programs read, the position as text or as a picture.

An unfinished game is written as far as its finished turns go. A picture has the record as metadata.
"""

from collections.abc import Callable

from cc_env.core.game import Game
from cc_env.errors import UnknownOption, format_list
from cc_env.match.record import export_match
from cc_env.play.session import GameSession
from cc_env.rendering.picture import draw
from cc_env.rendering.svg import to_svg

RECORD_SUFFIX, POSITION_SUFFIX, PICTURE_SUFFIX = ".jsonl", ".txt", ".svg"
MEDIA_TYPES = {
    RECORD_SUFFIX: "application/x-ndjson",
    PICTURE_SUFFIX: "image/svg+xml",
}  # media types; others are text


def file_suffixes(game: Game) -> list[str]:
    """Return how the names of files end that a game can be written to."""
    return [RECORD_SUFFIX, *game.formats, POSITION_SUFFIX, PICTURE_SUFFIX]


def check_suffix(game: Game, ending: str) -> None:
    """Raise UnknownOption where a game cannot be written to a file whose name ends so."""
    if ending not in (known := file_suffixes(game)):
        raise UnknownOption(
            f"{ending[:40]!r} is not a kind of file; there are: {format_list(known)}"
        )


def export_game(session: GameSession, ending: str) -> str:
    """Return what is in a file whose name ends so.

    Raises UnknownOption as `check_suffix`, BadRecord for a game that the format cannot express.
    """
    return prepare_export(session, ending)()


def prepare_export(session: GameSession, ending: str) -> Callable[[], str]:
    """Return a function that does the work of `export_game`, for another thread.

    Its result is that of the session as it is now, whatever changes in it later. Raises
    UnknownOption as `check_suffix`; the function raises BadRecord.
    """
    game, position, last, end = session.game, session.position, session.last_turn, session.result
    check_suffix(game, ending)
    names = session.seats[0].name, session.seats[1].name
    record, played = session.record(), export_match(session.match, names)

    def to_text() -> str:
        if ending == RECORD_SUFFIX:
            return record.to_json() + "\n"
        if ending == POSITION_SUFFIX:
            return game.to_text(position) + "\n"
        if ending == PICTURE_SUFFIX:
            return to_svg(draw(game, position, last=last, end=end), metadata=record.to_json())
        return game.formats[ending].write(game, played)

    return to_text
