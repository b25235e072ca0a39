"""A sitting as a file: its record, what other programs read, the position as text or as a picture.

An unfinished game is written as far as its finished turns go. A picture has the record as metadata.
"""

from cc_env import record
from cc_env.errors import UnknownOption, listed
from cc_env.game import Game
from cc_env.pictures import draw
from cc_env.pictures.svg import to_svg
from cc_env.play.sitting import Sitting

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
    check(sitting.game, ending)
    if ending == RECORD:
        return sitting.record().to_json() + "\n"
    if ending == POSITION:
        return sitting.game.to_text(sitting.position) + "\n"
    if ending == PICTURE:
        position, last = sitting.position, sitting.last
        picture = draw(sitting.game, position, last=last, end=sitting.result)
        return to_svg(picture, metadata=sitting.record().to_json())
    names = sitting.seats[0].name, sitting.seats[1].name
    played = record.played_of(sitting.match, names)
    return sitting.game.notation.formats[ending].write(sitting.game, played)
