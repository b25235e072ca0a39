"""Random PDN files with their expected contents, each written in a random dialect.

Each file is made from a seed, as in mutations.py.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

from fuzz.mutations import SEEDS
from hypothesis import strategies as st

from cc_env.core.game import Game, Turn
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS, Position
from cc_env.games.checkers import pdn

TAGS = "Site", "Date", "Round", "Annotator", "White-Rating", "PDN3"
# Names that are not PDN, and brackets without a readable tag.
TAGS += "Black Type", "A.B", "Time/move", "'F", "Ü:1", "21-17", "1.", "*", "(a", "{b"
UNREADABLE = "[Board]", '[A[b] "x"]', '[A "b" "c"]', "[Place Riga]", '["x"]', "[]", "[x", '[A "b'
VALUES = "", "?", "Riga LAT", 'the "Open"', "C:\\", "[x]", "{a} ; (b", "Łódź 1½", "1-0", "日本"
RESULTS = {
    FIRST_WINS: ("1-0", "2-0", "1–0", "1 - 0"),
    SECOND_WINS: ("0-1", "0-2", "0−1", "0 -1"),
    DRAW: ("1/2-1/2", "1-1", "½-½", "1/2–1/2"),
    ONGOING: ("*",),
}
# Values of the tag Result.
UNDECIDED = "*", "White resigned", "0-0", "1+ - 1-", "?", ""
FENS = "W:W21,22,K10:B1,2,K30", "B:W30,31,K32:B1,K5", "W:WK4,12:BK29,20", "B:W17,18,26:B9,10,1"
# Captures of a king between the same two cells, in one jump and in several.
FENS += "B:W6,7,14,15,22,23,32:BK2,K10,K1", "W:WK22:B18,10,26,25,17,9,19,27"
DASHES = "-", "-", "–", "−", "\u2010", " - ", "- "
CAPTURES = "x", "x", "X", "×", ":", " x ", "-"
COMMENT_WORDS = "a", "9-13", "1-0", "*", "1.", " ", "\n", "[", "]", ";", "%", "$1", "!", "Ü", "%clk"
NUMBERINGS = "pairs", "pairs", "dots", "apart", "plies", "bare", "none", "white", "white"


class Expected(NamedTuple):
    """The expected content of a game in a file."""

    start: Position
    turns: tuple[Turn, ...]
    outcome: int
    players: tuple[str, str]
    tags: dict[str, str]


class File(NamedTuple):
    """A PDN file."""

    text: str
    games: list[Expected]


def files(game: Game, max_games: int = 4) -> st.SearchStrategy[File]:
    """Return a strategy of files of games; `game` must have the rules of English draughts."""
    return st.builds(lambda seed: _file(random.Random(seed), game, max_games), SEEDS)


def _file(rng: random.Random, game: Game, max_games: int) -> File:
    parts = [rng.choice(("", "\ufeff", "\n", "% by a program\n", "{all}"))]
    games = []
    needs_header = False
    for _ in range(rng.randint(1, max_games)):
        text, expected, needs_header = _game(rng, game, needs_header)
        parts.append(text)
        games.append(expected)
    parts.append(rng.choice(("", "\n", "\x1a", "\x1a\x1a [Event", "; end")))
    return File("".join(parts).replace("\n", rng.choice(("\n", "\n", "\r\n", "\r"))), games)


def _game(rng: random.Random, game: Game, needs_header: bool) -> tuple[str, Expected, bool]:
    """Return a game as text, its expected content, and whether the next game needs a header."""
    has_header = needs_header or rng.random() < 0.8
    fen = rng.choice(FENS) if has_header and rng.random() < 0.3 else ""
    start = pdn.parse_position(game, fen) if fen else game.initial
    turns = _turns(rng, game, start, rng.choice((0, 1, 2, 3, 5, 8)) if has_header else 3)
    outcome = rng.choice(list(RESULTS))
    # Whether the result follows the moves.
    has_result = not has_header or rng.random() < 0.8
    tags = _tags(rng, fen, outcome, has_result) if has_header else {}
    header = _header(rng, tags)
    movetext = _movetext(rng, game, start, turns)
    if has_result or rng.random() < 0.3:
        movetext += f" {rng.choice(RESULTS[outcome])}"
    other_tags = {
        name: value for name, value in tags.items() if name not in ("FEN", "Result", "SetUp")
    }
    black = other_tags.pop("Red", None)
    if black not in (None, "", "?"):
        other_tags["Black"] = black
    players = other_tags.get("Black") or "?", other_tags.get("White") or "?"
    text = f"{header}{movetext}\n{rng.choice(('', chr(10), _comment(rng) + chr(10)))}"
    return text, Expected(start, turns, outcome, players, other_tags), not has_result


def _turns(rng: random.Random, game: Game, start: Position, max_turns: int) -> tuple[Turn, ...]:
    """Return random turns that do not end the game."""
    position, turns = start, []
    for _ in range(max_turns):
        turn = rng.choice(list(game.turns(position)))
        position = game.play_turn(position, turn)
        if game.outcome(position) != ONGOING:
            break
        turns.append(turn)
    return tuple(turns)


def _tags(rng: random.Random, fen: str, outcome: int, has_result: bool) -> dict[str, str]:
    """Return random tags; the result is among them unless the moves are followed by it."""
    tags = {"Event": rng.choice(VALUES)}
    tags |= {name: rng.choice(VALUES) for name in rng.sample(TAGS, rng.randint(0, 3))}
    tags |= {
        color: rng.choice(VALUES)
        for color in rng.sample(("Black", "White"), 2)[: rng.randint(0, 2)]
    }
    if "Black" in tags and rng.random() < 0.3:
        tags["Red"] = tags.pop("Black") or "Ann"
    if fen:
        tags |= {"SetUp": "1", "FEN": _fen(rng, fen)}
    if not has_result or rng.random() < 0.6:
        has_tag = not has_result or rng.random() < 0.7
        texts = RESULTS[outcome] if has_tag else ("*", "?", "", "by agreement")
        if outcome == ONGOING and rng.random() < 0.5:
            texts = (
                # The last two count as a missing tag.
                UNDECIDED if has_result else UNDECIDED[:-2]
            )
        tags["Result"] = rng.choice(texts)
    return tags


def _fen(rng: random.Random, fen: str) -> str:
    changes = (
        lambda: fen,
        lambda: fen + rng.choice((".", ":H0:F1", ":F12")),
        lambda: fen.lower(),
        lambda: fen.replace(":", " : ").replace(",", ", "),
    )
    return rng.choice(changes)()


def _header(rng: random.Random, tags: dict[str, str]) -> str:
    """Return the tags as text."""
    lines = []
    for name, value in tags.items():
        name = rng.choice((name, name, name.lower(), name.upper())) if name not in TAGS else name
        value = value.replace("\\", "\\\\").replace('"', '\\"')
        blank = rng.choice((" ", " ", "", "  ", "\n", ": ", "= "))
        lines.append(f'[{rng.choice(("", " "))}{name}{blank}"{value}"{rng.choice(("", " "))}]')
    if lines and rng.random() < 0.3:
        lines.insert(rng.randrange(len(lines)), rng.choice(UNREADABLE) + "\n")
    gaps = rng.choice((("\n",), ("\n", "\n", "\n\n"), (" ",), ("\n; aside\n",)))
    text = "".join(line + rng.choice(gaps) for line in lines)
    return "\n" + text + rng.choice(("\n", "\n\n", "")) if lines else "\n"


def _movetext(rng: random.Random, game: Game, start: Position, turns: Sequence[Turn]) -> str:
    numbering, first = rng.choice(NUMBERINGS), game.to_move(start)
    words, offset = [], rng.choice((0, 0, 0, 20))
    # A move without a number begins a game only on a new line.
    if numbering == "none" and not first:
        numbering = "pairs"
    for index, turn in enumerate(turns):
        words.append(_number(numbering, index, first, offset))
        is_last = index + 1 == len(turns)
        words.append(_move(rng, game, start, turn) + rng.choice(("", "", "!", "?!", "*"[is_last:])))
        words.append(rng.choice(("", "", "", "$3", "(?)", "...", _comment(rng))))
        start = game.play_turn(start, turn)
    separators = rng.choice(((" ",), (" ", "\n"), ("\t",), ("\n",)))
    return "".join(word + rng.choice(separators) for word in words if word)


def _number(numbering: str, index: int, first: int, offset: int) -> str:
    """Return the number before a move; the mover of the first one is `first`."""
    move, is_second = (index + first) // 2 + 1 + offset, (index + first) % 2
    if numbering == "plies":
        return f"{index + 1 + offset}."
    if numbering == "white":
        # Those of pydraughts and py-draughts: 1... Black 2. White Black
        is_white, dots = (index + first) % 2, "." if first or index else "..."
        return f"{(index + 3 - first) // 2 + offset}{dots}" if is_white or not index else ""
    if numbering == "none" or (is_second and index and numbering not in ("dots", "apart")):
        return ""
    dots = {"apart": ". ..." if is_second else ".", "bare": "."}.get(numbering, "...")
    return f"{move}{dots}" if is_second or numbering in ("apart", "bare") else f"{move}."


def _move(rng: random.Random, game: Game, position: Position, turn: Turn) -> str:
    text = pdn.turn_text(game, position, turn)
    if text.count("x") + text.count("-") == 1 and rng.random() < 0.1:
        return "".join(f"{int(cell):02}" for cell in text.replace("x", "-").split("-"))
    return text.replace("-", rng.choice(DASHES)).replace("x", rng.choice(CAPTURES))


def _comment(rng: random.Random) -> str:
    """Return a comment, or a variation."""
    inside = " ".join(rng.choice(COMMENT_WORDS) for _ in range(rng.randrange(5)))
    variation = inside.replace(";", "")
    return rng.choice(
        (f"{{{inside}}}", f"; {inside.replace(chr(10), ' ')}\n", f"({variation} (9-14) {{)}})")
    )
