"""How a game is written: positions, actions, endings, and the files of other programs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from cc_env.errors import BadRecord
from cc_env.rules import ONGOING, Position

if TYPE_CHECKING:
    from cc_env.game import Game

Turn = tuple[int, ...]  # the actions of one turn, in order


class BrokenGame(NamedTuple):
    """A game of a text that cannot be read or contradicts the rules."""

    line: int  # of the text, from 1
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


OnBroken = Callable[[BrokenGame], object]
"""Called with each broken game of a text, so that reading goes on with the next."""


def report_broken(broken: BrokenGame, on_broken: OnBroken | None, cause: Exception) -> None:
    """Call `on_broken` with a broken game; raise BadRecord from `cause` where it is None."""
    if on_broken is None:
        raise BadRecord(str(broken)) from cause
    on_broken(broken)


def normalize_newlines(text: str) -> str:
    """Return a text in which each line ends with a line feed, whatever system wrote it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


@dataclass(frozen=True)
class Played:
    """A game as another program's file has it; it need not be played to the end."""

    start: Position
    turns: tuple[Turn, ...]
    players: tuple[str, str] = "?", "?"  # the names of the first and the second
    outcome: int = ONGOING  # ONGOING where the file does not say it
    scores: tuple[float, float] | None = None  # of both, where the file has them
    fault: str = ""  # one of `cc_env.match.FAULTS`, if one ended it; that decided the outcome
    game: "Game | None" = None  # where the file says by which options, else those of the reader
    line: int = 1  # of the file, where the game begins


class Format(NamedTuple):
    """How other programs write down games of a kind.

    `read` yields the games of a text; for a broken one its last argument is called, or BadRecord is
    raised where that argument is None. `count` returns how many games a text has, broken ones
    included. `write` makes the text of a game, or raises BadRecord where the format cannot express
    it. A file with several games has an empty line
    between them, unless the format `is_single`: of one game alone. `options` are those that such
    files mean where nothing else is said, `hint` says what else to try where the rules contradict a
    game.
    """

    read: Callable[[str, "Game", OnBroken | None], Iterator[Played]]
    count: Callable[[str], int]
    write: Callable[["Game", Played], str]
    options: Mapping[str, Any] = MappingProxyType({})
    hint: Callable[["Game"], str] = lambda game: ""
    is_single: bool = False


@dataclass(frozen=True, kw_only=True)
class Notation:
    """How a game is written. What is left out is as the methods of `Game` say.

    `parse_position` raises BadPosition, saying what is wrong with a text; `Game.from_text` adds
    which text it was. `action_text` takes any action id, legal or not. `endings` has a sentence for
    each word that `ending` may return, in which {loser} stands for the player who has lost.
    """

    to_text: Callable[[Position], str] | None = None
    parse_position: Callable[[str], Position] | None = None
    action_text: Callable[[Position, int], str] | None = None
    other_texts: Callable[[Position, int], Iterable[str]] = lambda position, action: ()  # also read
    ending: Callable[[Position], str] | None = None
    endings: Mapping[str, str] = field(default_factory=dict)
    formats: Mapping[str, Format] = field(default_factory=dict)  # by the end of a file's name: .pdn
