"""The rules of a game: the texts and boards of its lessons."""

from cc_env.play.descriptions import describe_result
from cc_env.play.lessons import Lesson, load_guide
from cc_env.rendering.picture import draw
from cc_env.rendering.svg import to_svg
from docs.make.blocks import Block, Page, maker


@maker
def lessons(block: Block) -> str:
    """Return the lessons of a game: two paragraphs, then a heading, text and boards for each."""
    (name,) = block.words
    lessons = load_guide(name)
    parts = [text.strip() for text in (lessons.introduction, lessons.notation) if text]
    parts += [_lesson(block.page, name, lesson) for lesson in lessons.lessons]
    return "\n\n".join(parts)


def _lesson(page: Page, name: str, lesson: Lesson) -> str:
    session, texts = lesson.start_session(name), []
    boards = [draw(session.game, session.position)]
    for turn in lesson.turns:
        before = session.position
        actions = session.game.parse_turn(before, turn)
        session.play_turn(actions)
        texts.append(session.game.readable_turn_text(before, actions).strip())
    end = session.match.result if session.result else None
    if lesson.turns:
        boards.append(draw(session.game, session.position, last=session.last_turn, end=end))
    alt = f"{lesson.title}: before and after {', '.join(texts)}"
    parts = [f"### {lesson.title}", lesson.text.strip()]
    if lesson.options:
        options = ", ".join(f"`{key}={value!r}`" for key, value in lesson.options.items())
        parts.append(f"The boards below are those of {options}.")
    parts.append(page.picture(to_svg(*boards, columns=2), alt))
    if session.result:
        result = describe_result(session.game, session.result)
        parts.append(f"{result[0].upper()}{result[1:]}.")
    return "\n\n".join(parts)
