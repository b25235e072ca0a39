"""Turns as text: the legal ones of a position, and the one that a reply in prose chooses."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import IllegalAction, format_list

# Legal turns in the message of an error, and characters of a turn that it quotes.
_MAX_LISTED_TURNS = 12
MAX_QUOTED_LENGTH = 40
# What looks like a turn in a reply without tags; of more, the last ones are read.
_MAX_MENTIONS = 100

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

# Characters around a turn on a line of its own, and the beginning of an item of a list, also of one
# in a single line.
_MARKS = " \t*_`'\"“”‘’.!()[]{}#"
_BULLET = re.compile(r"^(?:[-*•]|\d{1,3}[.)])\s+")
_NUMBER = re.compile(r"(?<=\s)\d{1,3}[.)]\s+")
_INTRODUCTION = re.compile(
    r"""^(?:(?:so|then|thus|therefore|ok|okay|well|now)[,:]?\s+)?
    (?: (?: (?:(?:my|the|final|best|chosen)\s+)* (?:answer|move|turn|action|choice)
            (?:\s*[:=]|\s+is:?|\s+will\s+be:?)
          | i(?:\s+will|'ll|’ll)? (?:\s+(?:play|choose|pick|select|move|place|go\s+with))?:?(?=\s) )
        [\s*_`]* )? (?:from\s+)?""",
    re.IGNORECASE | re.VERBOSE,
)

_CELL = r"[a-z]?\d{1,2}(?:,\d{1,2})?"
# The form of turns between cells with digits. Others, such as those of morris, look like words.
_FORM = rf"""(?: s[\s\d]*\d\s*[mb][\s\d]*\d | bomb\s+{_CELL}
    | {_CELL}(?:\s*[-x]\s*{_CELL})+(?:\s*x\s*-)? )"""
_MENTION = re.compile(rf"(?<![\w,.-]) {_FORM} (?!\w)", re.IGNORECASE | re.VERBOSE)
_TURN = re.compile(
    rf"{_FORM} | (?-i:[A-Z]{{1,2}}(?:-[A-Z]){{0,2}}) | pass", re.IGNORECASE | re.VERBOSE
)
_END_OF_SENTENCE = re.compile(r"(?<=\?)|[.!]")
_END_OF_CLAUSE = re.compile(r"[,;()]|\b(?:so|but|therefore|hence|while|whereas)\b", re.IGNORECASE)
# A clause that announces its turn, as in "I will now play" or "my answer is".
_ANNOUNCEMENT = re.compile(
    r"""\b(?:(?:i|we)(?:['’](?:ll|m))?|let['’]s|let\s+(?:us|me))
        (?:\s+(?:will|now|just|simply|then|therefore|finally|am|going|want|have|must|shall|to))*
        \s+(?:play|choose|pick|select|move|place|go|take|capture|jump|step|advance|shift|start|open
            |begin|continue)\b
    | \b(?:answer|move|turn|action|choice)\s*(?:is\b|will\s+be\b|[:=])""",
    re.IGNORECASE | re.VERBOSE,
)
# Words that mention a turn without choosing it, in a clause and in a whole sentence.
_DOUBT = re.compile(
    r"""\b(?:not|cannot|\w+n['’]t|no|never|avoid\w*|instead|when|after|before
    |because|since|as|like|would|could|might|may|should|can|consider\w*|compar\w*
    |candidates?|options?|alternatives?|also|example|such|legal|illegal|los\w+|bad|worse|weak\w*
    |mistake|blunder\w*|threat\w*|allow\w*|played|moved|was|were|did|had|previous\w*|last|earlier
    |opponent\w*|he|she|they|you|repl\w+|expect\w*|follow\w*|second|later|next|too)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_CONDITION = re.compile(r"\b(?:if|unless)\b|\?", re.IGNORECASE)


class _Mention(NamedTuple):
    """A text that looks like a turn, and the legal turn that it is; () if it is none."""

    text: str
    turn: Turn
    is_answer: bool


def legal_turn_texts(game: Game, position: Position, limit: int | None = None) -> list[str]:
    """Return the legal turns in the readable notation, at most `limit` of them.

    There are none when the game is over. In the middle of a turn, they are its continuations.
    """
    return [text for _, text in islice(game.readable_turns(position), limit)]


def find_turn(game: Game, position: Position, reply: str) -> Turn:
    """Return the legal turn that a reply in prose chooses, in any notation of the game.

    It is the content of the last tag <turn>, <move>, <action> or <answer>, whose closing tag may be
    missing, of \\boxed{} or of a JSON field of such a name. A reply without them chooses the turn
    that it announces, as in "My move: a1-c3" or "so I play a1-c3", or that is a sentence or the
    only such line of its own. Clauses with words of doubt, such as "not" or "would", announce
    nothing. Turns of letters alone need a tag or, in capitals, a line of their own.

    Raises IllegalAction, with a list of legal turns, if the reply chooses no legal turn or several.

    Examples:

        >>> import cc_env
        >>> from cc_env.text.turns import find_turn
        >>> game = cc_env.make_game("capture_conquer")
        >>> find_turn(game, game.initial, "Jumps are faster. <turn>A1 - C3</turn>")
        (6,)
        >>> find_turn(game, game.initial, "The step b2-c3 would be slow, so I play 0,0-2,2.")
        (6,)
    """
    reply = _ARROW.sub("-", reply.translate(_SIGNS))
    tagged = tagged_text(reply)
    if tagged is None:
        texts = list(_texts(reply))[-_MAX_MENTIONS:]
    else:
        texts = [(_without_introduction(_strip(tagged)), True)]
    turns = {text: _parse(game, position, text) for text in dict(texts)}
    chosen = _chosen([_Mention(text, turns[text], is_answer) for text, is_answer in texts])
    if len(chosen) == 1 and chosen[0].turn:
        return chosen[0].turn
    raise refusal(game, position, _reason(chosen))


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


def _reason(chosen: list[_Mention]) -> str:
    """Return why the chosen turns are not a single legal turn."""
    texts = [ascii(mention.text[:MAX_QUOTED_LENGTH]) for mention in chosen]
    if not texts:
        return "the reply chooses no turn; expected: <turn>TURN</turn>"
    return (
        f"{texts[0]} is not legal" if len(texts) == 1 else f"the reply chooses {format_list(texts)}"
    )


def _chosen(mentions: list[_Mention]) -> list[_Mention]:
    """Return the different turns that the answers are, and the legal ones mentioned afterwards."""
    answers = [mention for mention in mentions if mention.is_answer]
    last = max((index for index, each in enumerate(mentions) if each.is_answer), default=0)
    later = [mention for mention in mentions[last:] if answers and mention.turn]
    return list({mention.turn or mention.text: mention for mention in answers + later}.values())


def _texts(reply: str) -> Iterator[tuple[str, bool]]:
    """Yield what looks like a turn in a reply, and whether the reply presents it as its answer.

    Clauses with words of doubt are skipped.
    """
    lines = list(map(_strip, reply.splitlines()))
    is_single = sum(map(bool, map(_TURN.fullmatch, lines))) == 1
    for line in lines:
        rest = _without_introduction(line)
        if _TURN.fullmatch(line):
            yield line, is_single
        elif _TURN.fullmatch(rest):
            yield rest, True
        else:
            yield from _texts_in_prose(line)


def _texts_in_prose(line: str) -> Iterator[tuple[str, bool]]:
    """Yield what looks like a turn in a line, as `_texts`.

    Answers are sentences that consist of a turn, and turns that their clause announces.
    """
    line = _NUMBER.sub("", line)
    texts = iter(_MENTION.findall(line))
    # Turns may contain commas, which do not end their clause.
    for sentence in _END_OF_SENTENCE.split(_MENTION.sub("@", line.replace("@", " "))):
        is_turn = _without_introduction(sentence.strip(_MARKS)) == "@"
        is_condition = bool(_CONDITION.search(sentence))
        for clause in _END_OF_CLAUSE.split(sentence):
            is_doubtful = is_condition or bool(_DOUBT.search(clause))
            for before, text in zip(
                clause.split("@"), islice(texts, clause.count("@")), strict=False
            ):
                is_announced = _ANNOUNCEMENT.search(before) and not _DOUBT.search(before)
                is_answer = not is_condition and (is_turn or bool(is_announced))
                if is_answer or not is_doubtful:
                    yield text, is_answer


def _parse(game: Game, position: Position, text: str) -> Turn:
    """Return the legal turn written as `text`, () if there is none."""
    try:
        return game.parse_turn(position, text) if text else ()
    except IllegalAction:
        return ()


def _strip(line: str) -> str:
    """Return a line without marks of lists, quotes and emphasis."""
    return _BULLET.sub("", line.strip(), count=1).strip(_MARKS)


def _without_introduction(line: str) -> str:
    """Return what follows an introduction, such as "My move:"; the line itself without one."""
    return _INTRODUCTION.sub("", line, count=1).strip(_MARKS)
