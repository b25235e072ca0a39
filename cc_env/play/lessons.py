"""Short lessons for each game; their boards demonstrate the rules they explain.

Texts, positions and turns are in `cc_env/play/lesson_files/`, one file per game.
tests/play/test_lessons.py checks what the files claim about their turns.
"""

import json
import math
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cc_env.core.game import Game
from cc_env.errors import BadOption, UnknownOption, format_list, suggest
from cc_env.games.factory import make_game
from cc_env.play import view
from cc_env.play.choices import Choice, list_choices
from cc_env.play.descriptions import describe_result
from cc_env.play.session import HUMAN, GameSession
from cc_env.registry.catalogue import GAMES
from cc_env.rendering.picture import draw
from cc_env.rendering.text import to_text

FOLDER = Path(__file__).parent / "lesson_files"
TEXT_WIDTH = 80
# Speed of a reader of lessons, and of playing their turns.
_WORDS_PER_MINUTE = 220
_SECONDS_PER_TURN = 2
# Keys of a session state that the page needs to draw a lesson.
_STATE_KEYS = (
    *("decisions", "pieces", "path", "captured", "last_decision", "mover", "mid_turn", "caption"),
    *("choices", "must_capture", "result"),
)


@dataclass(frozen=True)
class Lesson:
    """A rule in words with turns that demonstrate it. The fields are the keys of the file."""

    title: str
    # Paragraphs separated by empty lines.
    text: str
    # Options of the game that differ from the defaults.
    options: Mapping[str, Any] = field(default_factory=dict)
    # Position as text, "" for the initial one.
    position: str = ""
    turns: Sequence[str] = ()
    # Names of the cells on which the turns capture, in order.
    captures: Sequence[str] = ()
    # Reason of the ending after the turns, "" if the game continues.
    ends: str = ""
    # Winner after the turns, "" for a draw.
    winner: str = ""
    # All legal turns of the position; () if they are not checked.
    legal: Sequence[str] = ()
    illegal: Sequence[str] = ()

    def start_session(self, name: str) -> GameSession:
        """Return a session at the position, with a person in both seats."""
        game = make_game(name, **self.options)
        start = game.from_text(self.position) if self.position else None
        return GameSession(game, (HUMAN, HUMAN), start=start)


@dataclass(frozen=True)
class Guide:
    """All lessons of a game."""

    game: str
    # One sentence.
    summary: str
    # Paragraphs separated by empty lines.
    introduction: str
    # Explanation of the readable notation for the terminal, "" if there is none.
    notation: str
    # What the winner does by the last turn, in the infinitive, for the words of `Game.ending`.
    wins: Mapping[str, str]
    # One line about each option of the game.
    options: Mapping[str, str]
    lessons: tuple[Lesson, ...]

    @property
    def minutes(self) -> int:
        """The minutes that reading all lessons and playing their turns takes."""
        texts = self.introduction, *(lesson.text for lesson in self.lessons)
        turns = sum(len(lesson.turns) for lesson in self.lessons)
        seconds = 60 * len(" ".join(texts).split()) / _WORDS_PER_MINUTE + _SECONDS_PER_TURN * turns
        return math.ceil(seconds / 60)


@cache
def load_guide(name: str) -> Guide:
    """Return the lessons of a game; raise UnknownOption for an unknown game."""
    if name not in GAMES:
        hint = suggest(name[:40], GAMES)
        raise UnknownOption(f"no lessons for {name[:40]!r}; {hint}expected: {format_list(GAMES)}")
    entries = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    lessons = tuple(Lesson(**entry) for entry in entries["lessons"])
    texts = entries["summary"], entries["introduction"], entries.get("notation", "")
    return Guide(name, *texts, entries["wins"], entries["options"], lessons)


def play_turns(session: GameSession, turns: Sequence[str]) -> Iterator[Choice]:
    """Play turns decision by decision; yield each choice before it is played."""
    for text in turns:
        for action in session.game.parse_turn(session.position, text):
            options = list_choices(session.game, session.position)
            yield next(choice for choice in options if choice.action == action)
            session.play(action)


# Lessons for the page


@cache
def guide_json(name: str) -> str:
    """Return all lessons of a game as a JSON object; raise UnknownOption for an unknown game.

    Each lesson has its paragraphs, the index of its `setting` (the static state of its game), and
    its `states`: the first one and one after each decision. `steps` contains, for each state but
    the last, the next action and its instruction.
    """
    guide = load_guide(name)
    settings: list[dict[str, Any]] = []
    lessons = [_lesson_data(name, lesson, settings) for lesson in guide.lessons]
    introduction = _paragraphs(guide.introduction)
    return json.dumps(
        {"game": name, "introduction": introduction, "settings": settings, "lessons": lessons}
    )


def _lesson_data(name: str, lesson: Lesson, settings: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a lesson as JSON values; add its setting to `settings` unless they contain it."""
    session = lesson.start_session(name)
    setting = view.static_state(session.game)
    if setting not in settings:
        settings.append(setting)
    states: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    for choice in play_turns(session, lesson.turns):
        states.append(_lesson_state(session))
        steps.append({"action": choice.action, "instruction": instruction(session.game, choice)})
    states.append(_lesson_state(session))
    return {
        "title": lesson.title,
        "text": _paragraphs(lesson.text),
        "options": _option_words(lesson),
        "setting": settings.index(setting),
        "states": states,
        "steps": steps,
    }


def _lesson_state(session: GameSession) -> dict[str, Any]:
    """Return the keys of the session's state that the page needs, and the last turn as text."""
    state = view.session_state(session)
    turn = state["turns"][-1][1] if state["turns"] else ""
    return {"turn": turn, **{key: state[key] for key in _STATE_KEYS}}


def instruction(game: Game, choice: Choice) -> str:
    """Return the instruction for a choice, by the cells to select."""
    if choice.cell is None:
        return choice.text.strip()
    cell = game.cell_text(choice.cell, "readable")
    if choice.pieces:
        verb = "hits" if choice.is_shot else "goes to"
        return f"{game.cell_text(choice.pieces[0], 'readable')} {verb} {cell}"
    return f"take {cell}" if choice.captures else cell


def _paragraphs(text: str) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def _option_text(lesson: Lesson) -> str:
    return ", ".join(f"{name}={value}" for name, value in lesson.options.items())


def _option_words(lesson: Lesson) -> str:
    """Return the options in words: "size 8, flying"."""
    options = lesson.options.items()
    texts = (name if value is True else f"{name} {value}" for name, value in options)
    return ", ".join(texts).replace("_", " ")


# Lessons for the terminal


def format_lessons(guide: Guide, number: int | None = None) -> Iterator[str]:
    """Yield the lessons, or only lesson `number` (from 1), as lines of text with boards.

    Raises BadOption if there is no lesson with this number.
    """
    if number is not None and not 1 <= number <= len(guide.lessons):
        raise BadOption(f"lesson={number}; expected: 1 to {len(guide.lessons)}")
    if number is None:
        yield from _wrap(f"{guide.introduction}\n\n{guide.notation}".strip())
    for index, lesson in enumerate(guide.lessons, 1):
        if number in (None, index):
            yield f"{index}. {lesson.title}"
            yield ""
            yield from _lesson_lines(guide.game, lesson)


def _lesson_lines(name: str, lesson: Lesson) -> Iterator[str]:
    """Yield a lesson as lines: text, board, turns, and the board after them."""
    yield from _wrap(lesson.text)
    session = lesson.start_session(name)
    if lesson.options:
        yield f"options: {_option_text(lesson)}"
    yield from _board_lines(session)
    for turn in lesson.turns:
        game, before = session.game, session.position
        actions = game.parse_turn(before, turn)
        session.play_turn(actions)
        mover = game.players[game.to_move(before)]
        yield f"{mover}: {game.readable_turn_text(before, actions).strip()}"
    if lesson.turns:
        yield from _board_lines(session)
    if session.result:
        yield describe_result(session.game, session.result)
    yield ""


def _board_lines(session: GameSession) -> list[str]:
    picture = draw(session.game, session.position, last=session.last_turn, caption="")
    return to_text(picture).rstrip().splitlines()


def _wrap(text: str) -> Iterator[str]:
    for paragraph in _paragraphs(text):
        yield from textwrap.wrap(paragraph, TEXT_WIDTH)
        yield ""
