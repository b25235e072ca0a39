"""Turns as text: the legal ones of a position, and the one that a reply in prose chooses."""

import re
from collections.abc import Iterator
from itertools import islice

from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import IllegalAction, format_list, quote

# Legal turns in the message of an error.
_MAX_LISTED_TURNS = 12
# Sentences that choose a turn in a reply without tags; of more, the last ones are compared.
_MAX_CHOICES = 100

# A tag, the box of a formula, or a field of a JSON object; and how each ends, by its first sign.
_NAME = "(?:turn|move|action|answer)"
_OPENING = re.compile(
    rf"""<{_NAME}> | \\boxed\{{(?:\\text\{{)? | "{_NAME}"\s*:\s*" """, re.IGNORECASE | re.VERBOSE
)
_CLOSING = {
    "<": re.compile(f"</{_NAME}>", re.IGNORECASE),
    "\\": re.compile("}"),
    '"': re.compile('"'),
}

# Other signs for the hyphen and the x of the notations. Arrows and "to" replace hyphens between
# digits only, because "A to B" is AB in morris.
_SIGNS = str.maketrans(dict.fromkeys("‐‑‒–—−", "-") | {"×": "x"})
_ARROW = re.compile(r"(?<=\d)\s*(?:-+>|=>|→|\bto\b)\s*(?=[a-z]?\d)", re.IGNORECASE)

# Characters around a turn in a tag.
_MARKS = " \t\r\n*_`'\"“”‘’.!()[]{}#"

_CELL = r"[a-z]?\d{1,2}(?:,\d{1,2})?"
# The form of a turn, between cells with digits or, in capitals, between points.
_TURN = re.compile(
    rf"""s[\s\d]*\d\s*[mb][\s\d]*\d | bomb\s+{_CELL} | {_CELL}(?:\s*[-x]\s*{_CELL})+(?:\s*x\s*-)?
    | (?-i:[A-Z]{{1,2}}(?:-[A-Z]){{0,2}}) | pass""",
    re.IGNORECASE | re.VERBOSE,
)
# What may precede the turn in its sentence: a word such as "so", then a label or a clause in the
# first person.
_INTRODUCTION = re.compile(
    r"""^(?:(?:so|thus|therefore|hence|ok|okay),?\s+)?
    (?: (?:my\s+|the\s+(?=answer|final|best|chosen))?(?:(?:final|best|chosen)\s+)*
        (?:answer|move|turn|action|choice)(?:\s*[:=]|\s+(?:is|will\s+be)(?::|(?=\s)))
      | (?: (?:i|we)(?:\s+(?:will|shall)|['’]ll)?
          | (?:i(?:\s+am|['’]m)|we(?:\s+are|['’]re))\s+going\s+to
          | let(?:['’]s|\s+me|\s+us) )
        \s+(?:play|choose|pick|select|move|place|take|capture|go\s+with)(?::|(?=\s))
    )?\s*(?:from\s+)?""",
    re.IGNORECASE | re.VERBOSE,
)
# Signs of Markdown, except the asterisk of an item of a list.
_MARKUP = re.compile(r"[_`#]|(?<!^)\*|^\*(?=\S)")
_BULLET = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])\s+")
_QUOTATION_MARKS = '""', "''", "“”", "‘’", "[]"
# Numbers within a line, as in "1. a1-c3 2. b2-c3", do not end a sentence.
_END_OF_SENTENCE = re.compile(r"(?<=[.!?])(?<!\s\d\.)\s+")


def legal_turn_texts(game: Game, position: Position, limit: int | None = None) -> list[str]:
    """Return the legal turns in the readable notation, at most `limit` of them.

    There are none when the game is over. In the middle of a turn, they are its continuations.
    """
    return [text for _, text in islice(game.readable_turns(position), limit)]


def find_turn(game: Game, position: Position, reply: str, *, show_legal: bool = True) -> Turn:
    """Return the legal turn that a reply in prose chooses, in any notation of the game.

    It is the content of the last tag <turn>, <move>, <action> or <answer>, whose closing tag may be
    missing, of \\boxed{} or of a JSON field of such a name. A reply without them must end with its
    turn: as its last line, or with an introduction, such as "My move:" or "I play", as its last
    sentence. No other sentence may choose another turn in this way. The guide "Language models"
    has the complete rule.

    Raises IllegalAction if the reply chooses no legal turn or several; if `show_legal`, its message
    lists legal turns.

    Examples:

        >>> import cc_env
        >>> from cc_env.text.turns import find_turn
        >>> game = cc_env.make_game("capture_conquer")
        >>> find_turn(game, game.initial, "Jumps are faster. <turn>A1 - C3</turn>")
        (6,)
        >>> find_turn(game, game.initial, "The step b2-c3 would be slow. So I play 0,0-2,2.")
        (6,)
    """
    reply = _ARROW.sub("-", reply.translate(_SIGNS))
    tagged = tagged_text(reply)
    texts = _final_turns(reply) if tagged is None else [_tagged_turn(tagged)]
    chosen = {_parse(game, position, text) or text: text for text in texts}
    if len(chosen) == 1 and isinstance(turn := next(iter(chosen)), tuple):
        return turn
    reason = _reason(list(chosen.values()))
    raise refusal(game, position, reason) if show_legal else IllegalAction(reason)


def tagged_text(reply: str) -> str | None:
    """Return the content of the last tag, box or field that may hold a turn; None without one."""
    *_, last = None, *_OPENING.finditer(reply)
    if last is None:
        return None
    return _CLOSING[last[0][0]].split(reply[last.end() :], maxsplit=1)[0]


def refusal(game: Game, position: Position, reason: str) -> IllegalAction:
    """Return the error for a reply that chooses no legal turn, with a list of legal turns."""
    texts = legal_turn_texts(game, position, _MAX_LISTED_TURNS + 1)
    if len(texts) > _MAX_LISTED_TURNS:
        texts[_MAX_LISTED_TURNS:] = ["..."]
    return IllegalAction(f"{reason}; legal: {', '.join(texts)}")


def _reason(texts: list[str]) -> str:
    """Return why the texts that a reply chooses are not a single legal turn."""
    quoted = list(map(quote, texts))
    if not quoted:
        return "the reply chooses no turn; expected: <turn>TURN</turn>"
    if len(quoted) == 1:
        return f"{quoted[0]} is not legal"
    return f"the reply chooses {format_list(quoted)}"


def _final_turns(reply: str) -> list[str]:
    """Return the turns that the sentences of a reply choose; [] unless the last one does."""
    texts, before = [""], ""
    for sentence, begins_line in _sentences(reply):
        texts.append(_chosen_text(sentence, before, begins_line))
        before = sentence
    return list(filter(None, texts))[-_MAX_CHOICES:] if texts[-1] else []


def _sentences(reply: str) -> Iterator[tuple[str, bool]]:
    """Yield the sentences of a reply without Markdown, and whether each begins a line.

    They end at the end of their line. Quoted lines and items of lists are a sentence each; a reply
    of a single item is its content.
    """
    lines = [_MARKUP.sub("", line.strip()).strip() for line in reply.splitlines()]
    lines = list(filter(None, lines))
    if len(lines) == 1:
        lines = [_BULLET.sub("", lines[0])]
    for line in lines:
        is_item = line.startswith(">") or _BULLET.match(line)
        for index, sentence in enumerate([line] if is_item else _END_OF_SENTENCE.split(line)):
            yield sentence, index == 0


def _chosen_text(sentence: str, before: str, begins_line: bool) -> str:
    """Return what looks like a turn and is chosen by a sentence after the sentence `before`.

    That is "" if the sentence is anything other than a turn with an optional introduction.
    """
    rest = _INTRODUCTION.sub("", sentence)
    introduction = sentence.removesuffix(rest).rstrip()
    text = _unquote(rest.rstrip(".!")).rstrip(".!")
    if not _TURN.fullmatch(text):
        return ""
    if not before or _INTRODUCTION.fullmatch(f"{before.rstrip(':')}:"):
        return text
    if begins_line and introduction.endswith((":", "=")):
        return "" if before.endswith((":", "?")) else text
    is_after_sentence = before.rstrip(")\"'”’]").endswith((".", "!"))
    return text if is_after_sentence and (begins_line or introduction) else ""


def _unquote(text: str) -> str:
    """Return a text without the quotation marks or brackets around it."""
    return text[1:-1] if f"{text[:1]}{text[1:][-1:]}" in _QUOTATION_MARKS else text


def _parse(game: Game, position: Position, text: str) -> Turn:
    """Return the legal turn written as `text`, () if there is none."""
    try:
        return game.parse_turn(position, text) if text else ()
    except IllegalAction:
        return ()


def _tagged_turn(text: str) -> str:
    """Return the content of a tag without marks and introductions."""
    text = _BULLET.sub("", text.strip(_MARKS))
    return _INTRODUCTION.sub("", text).strip(_MARKS)
