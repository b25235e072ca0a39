"""How to play each game: short lessons, whose boards play the rule that they explain.

Texts, positions and turns are in `cc_env/play/lesson_files/`, one file a game. What a file claims
of its turns is compared with the rules in tests/play/test_lessons.py.
"""

import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cc_env.core.game import Cell, Game
from cc_env.errors import BadOption, UnknownOption, format_list, suggest
from cc_env.games.factory import make_game
from cc_env.play import move_input, view
from cc_env.play.choices import Choice, list_choices
from cc_env.play.descriptions import describe_ending
from cc_env.play.session import HUMAN, GameSession
from cc_env.registry.catalogue import GAMES
from cc_env.rendering.picture import draw
from cc_env.rendering.text import to_text

FOLDER = Path(__file__).parent / "lesson_files"
WIDTH = 80  # columns of text
SHOWN = (  # of a state: what a board needs
    *("decisions", "pieces", "path", "captured", "last_decision", "mover", "mid_turn", "caption"),
    *("choices", "must_capture", "result"),
)


@dataclass(frozen=True)
class Lesson:
    """A rule in words, and turns that show it. Its fields are the keys in the file."""

    title: str
    text: str  # paragraphs with an empty line between them
    options: Mapping[str, Any] = field(default_factory=dict)  # of the game, if not its defaults
    position: str = ""  # as text, "" for the start
    turns: Sequence[str] = ()  # in notation
    captures: Sequence[str] = ()  # the cells on which they capture, by name, in order
    ends: str = ""  # the reason why the game is over after them, "" if it goes on
    winner: str = ""  # of the game that is over, "" for a draw
    legal: Sequence[str] = ()  # all turns that are legal in the position, () if it does not matter
    illegal: Sequence[str] = ()  # turns that are not

    def start_session(self, name: str) -> GameSession:
        """Return a game at the position, with both seats for people."""
        game = make_game(name, **self.options)
        start = game.from_text(self.position) if self.position else None
        return GameSession(game, (HUMAN, HUMAN), start=start)


@dataclass(frozen=True)
class Guide:
    """All lessons of a game."""

    game: str
    introduction: str  # paragraphs
    lessons: tuple[Lesson, ...]


@cache
def load_guide(name: str) -> Guide:
    """Return the lessons of a game; raises UnknownOption for an unknown game."""
    if name not in GAMES:
        near = suggest(name[:40], GAMES)
        there = f"{near}there are: {format_list(GAMES)}"
        raise UnknownOption(f"there are no lessons for {name[:40]!r}; {there}")
    entries = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    lessons = tuple(Lesson(**entry) for entry in entries["lessons"])
    return Guide(name, entries["introduction"], lessons)


def play_turns(session: GameSession, turns: Sequence[str]) -> Iterator[Choice]:
    """Yield the decisions of turns one by one, each before it is played."""
    for text in turns:
        for action in session.game.parse_turn(session.position, text):
            options = list_choices(session.game, session.position)
            yield next(choice for choice in options if choice.action == action)
            session.play(action)


# For the page


@cache
def lesson_data(name: str) -> dict[str, Any]:
    """Return the lessons of a game as JSON values; raises UnknownOption for an unknown game.

    Each has its paragraphs, the number of its setting, and its `states`: the first, and one after
    each decision. `steps` has, for all but the last, the action that comes next and how to ask for
    it.
    """
    guide = load_guide(name)
    settings: list[dict[str, Any]] = []
    lessons = [_lesson_data(name, lesson, settings) for lesson in guide.lessons]
    introduction = _paragraphs(guide.introduction)
    return {"game": name, "introduction": introduction, "settings": settings, "lessons": lessons}


def _lesson_data(name: str, lesson: Lesson, settings: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a lesson as JSON's values; its setting joins the others unless it is there."""
    session = lesson.start_session(name)
    setting = view.static_state(session.game)
    if setting not in settings:
        settings.append(setting)
    states, steps = [], []
    for choice in play_turns(session, lesson.turns):
        states.append(_shown(session))
        steps.append({"action": choice.action, "instruction": instruction(session.game, choice)})
    states.append(_shown(session))
    return {
        "title": lesson.title,
        "text": _paragraphs(lesson.text),
        "options": _options(lesson),
        "setting": settings.index(setting),
        "states": states,
        "steps": steps,
    }


def _shown(session: GameSession) -> dict[str, Any]:
    state = view.session_state(session)
    turn = state["turns"][-1][1] if state["turns"] else ""
    return {"turn": turn, **{key: state[key] for key in SHOWN}}


def instruction(game: Game, choice: Choice) -> str:
    """Return how to ask somebody for a choice, by the cells to point at."""
    if choice.cell is None:
        return choice.text.strip()
    cell = _place(game, choice.cell)
    if choice.pieces:
        verb = "hits" if choice.is_shot else "goes to"
        return f"{_place(game, choice.pieces[0])} {verb} {cell}"
    return f"take {cell}" if choice.captures else cell


def _place(game: Game, cell: Cell) -> str:
    return game.cell_names.get(cell) or "row {}, column {}".format(
        *move_input.cell_labels(game, cell)
    )


def _paragraphs(text: str) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def _options(lesson: Lesson) -> str:
    return ", ".join(f"{name}={value}" for name, value in lesson.options.items())


# For the terminal


def format_lessons(guide: Guide, number: int | None = None) -> Iterator[str]:
    """Yield the lessons as lines of text, with their boards, or one of them, counted from 1.

    Raises BadOption where there is no lesson of this number.
    """
    if number is not None and not 1 <= number <= len(guide.lessons):
        raise BadOption(f"there is no lesson {number}; there are 1 to {len(guide.lessons)}")
    if number is None:
        yield from _wrapped(guide.introduction)
    for place, lesson in enumerate(guide.lessons, 1):
        if number in (None, place):
            yield f"{place}. {lesson.title}"
            yield ""
            yield from _lesson_lines(guide.game, lesson)


def _lesson_lines(name: str, lesson: Lesson) -> Iterator[str]:
    yield from _wrapped(lesson.text)
    session = lesson.start_session(name)
    if lesson.options:
        yield f"options: {_options(lesson)}"
    yield from _board(session)
    for turn in lesson.turns:
        mover = session.game.players[session.mover]
        session.play_turn(session.game.parse_turn(session.position, turn))
        yield f"{mover}: {turn}"
    if lesson.turns:
        yield from _board(session)
        yield from [describe_ending(session)] if session.result else []
    yield ""


def _board(session: GameSession) -> list[str]:
    picture = draw(session.game, session.position, last=session.last_turn, caption="")
    return to_text(picture).rstrip().splitlines()


def _wrapped(text: str) -> Iterator[str]:
    for paragraph in _paragraphs(text):
        yield from textwrap.wrap(paragraph, WIDTH)
        yield ""
