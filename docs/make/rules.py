"""The rules of a game, as its lessons tell them: their texts and boards are written once."""

from cc_env.play.descriptions import ending
from cc_env.play.lessons import Lesson, guide_of
from cc_env.rendering.picture import draw
from cc_env.rendering.svg import to_svg
from docs.make.blocks import Block, Page, maker


@maker
def lessons(block: Block) -> str:
    """Return the lessons of a game: the introduction, then a heading, text and boards for each."""
    (name,) = block.words
    lessons = guide_of(name)
    parts = [lessons.introduction.strip()]
    parts += [_lesson(block.page, name, lesson) for lesson in lessons.lessons]
    return "\n\n".join(parts)


def _lesson(page: Page, name: str, lesson: Lesson) -> str:
    sitting = lesson.sitting(name)
    boards = [draw(sitting.game, sitting.position)]
    for turn in lesson.turns:
        sitting.play_turn(sitting.game.parse_turn(sitting.position, turn))
    end = sitting.match.result if sitting.result else None
    if lesson.turns:
        boards.append(draw(sitting.game, sitting.position, last=sitting.last, end=end))
    alt = f"{lesson.title}: before and after {', '.join(lesson.turns)}"
    parts = [f"### {lesson.title}", lesson.text.strip()]
    if lesson.options:
        options = ", ".join(f"`{key}={value!r}`" for key, value in lesson.options.items())
        parts.append(f"The boards below are those of {options}.")
    parts.append(page.picture(to_svg(*boards, columns=2), alt))
    if sitting.result:
        told = ending(sitting)
        parts.append(f"{told[0].upper()}{told[1:]}.")
    return "\n\n".join(parts)
