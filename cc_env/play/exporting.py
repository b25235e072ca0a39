"""A sitting as a file: its record, what other programs read, the position as text or as a picture.

An unfinished game is written as far as its finished turns go. A picture has the record as metadata.
"""

from collections.abc import Callable

from cc_env.core.game import Game
from cc_env.errors import UnknownOption, listed
from cc_env.match.record import export_match
from cc_env.play.session import Sitting
from cc_env.rendering.picture import draw
from cc_env.rendering.svg import to_svg

RECORD, POSITION, PICTURE = ".jsonl", ".txt", ".svg"
KINDS = {RECORD: "application/x-ndjson", PICTURE: "image/svg+xml"}  # media types; others are text


def endings(game: Game) -> list[str]:
    """Return how the names of files end that a game can be written to."""
    return [RECORD, *game.notation.formats, POSITION, PICTURE]


def check(game: Game, ending: str) -> None:
    """Raise UnknownOption where a game cannot be written to a file whose name ends so."""
    if ending not in (known := endings(game)):
        raise UnknownOption(f"{ending[:40]!r} is not a kind of file; there are: {listed(known)}")


def exported(sitting: Sitting, ending: str) -> str:
    """Return what is in a file whose name ends so.

    Raises UnknownOption as `check`, BadRecord for a game that the format cannot express.
    """
    return export_of(sitting, ending)()


def export_of(sitting: Sitting, ending: str) -> Callable[[], str]:
    """Return a function that does the work of `exported`, for another thread.

    Its result is that of the sitting as it is now, whatever changes in it later. Raises
    UnknownOption as `check`; the function raises BadRecord.
    """
    game, position, last, end = sitting.game, sitting.position, sitting.last, sitting.result
    check(game, ending)
    names = sitting.seats[0].name, sitting.seats[1].name
    record, played = sitting.record(), export_match(sitting.match, names)

    def to_text() -> str:
        if ending == RECORD:
            return record.to_json() + "\n"
        if ending == POSITION:
            return game.to_text(position) + "\n"
        if ending == PICTURE:
            return to_svg(draw(game, position, last=last, end=end), metadata=record.to_json())
        return game.notation.formats[ending].write(game, played)

    return to_text
