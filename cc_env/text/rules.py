"""The rules of a game in words, complete for a reader who has never seen the game.

The sentences are in `rule_files/NAME.toml`: a `title`, a `goal`, and `sections` with lists of
sentences. A sentence is a string, or a table of a `text` and the options `when` it holds: their
values, or whether they are set. Words in braces are facts of the game, see `_facts`.
"""

import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cc_env.core.game import Game
from cc_env.text.board import board_text

FILES = Path(__file__).parent / "rule_files"


def rules_text(game: Game) -> str:
    """Return the rules of a game with its options, and the board at the start.

    For games without a file of rules, only the board, the pieces, the endings and a turn.

    Examples:

        >>> import cc_env
        >>> from cc_env.text.rules import rules_text
        >>> print(rules_text(cc_env.make_game("checkers"))[:26])
        Rules of checkers
        <BLANKLINE>
        Two pla
    """
    rules, facts = _read_rules(game), _facts(game)
    parts = [f"Rules of {rules['title']}", rules["goal"]]
    for title, sentences in rules["sections"].items():
        lines = [f"- {text.format_map(facts)}" for text in _valid_sentences(game, sentences)]
        parts.append("\n".join([f"{title}:", *lines]))
    parts += ["The board at the start:", board_text(game, game.initial)]
    return "\n\n".join(parts)


def title_and_goal(game: Game) -> tuple[str, str]:
    """Return the title of a game, and in one or two sentences how it is won."""
    rules = _read_rules(game)
    return rules["title"], rules["goal"]


def _read_rules(game: Game) -> dict[str, Any]:
    path = FILES / f"{game.name}.toml"
    return tomllib.loads(path.read_text("utf-8")) if path.exists() else _known_rules(game)


def _valid_sentences(game: Game, sentences: list[str | dict[str, Any]]) -> Iterator[str]:
    """Yield the sentences that hold for the options of the game."""
    for sentence in sentences:
        if isinstance(sentence, str):
            yield sentence
        elif all(_has_value(game, *item) for item in sentence["when"].items()):
            yield sentence["text"]


def _has_value(game: Game, option: str, value: object) -> bool:
    """Return whether an option has a value; for True and False, whether it is set."""
    actual = game.options[option]
    return bool(actual) is value if isinstance(value, bool) else actual == value


def _facts(game: Game) -> Mapping[str, Any]:
    """Return what sentences may contain in braces.

    All options by name; the numbers of rows and columns, and the letter of the last column; the
    cells where each kind of piece starts, by its letter; the goals of both players; the lines of a
    board of points; the player who moves first, and a turn at the start.
    """
    names = {cell: game.cell_text(cell, "readable") for cell in game.grid.bits}
    start = defaultdict[str, list[str]](list)
    for cell, letter in game.pieces(game.initial).items():
        start[letter].append(names[cell])
    return {
        **game.options,
        "rows": game.grid.rows,
        "columns": game.grid.columns,
        "last_column": chr(ord("a") + game.grid.columns - 1),
        "start": {
            letter: ", ".join(sorted(cells, key=lambda name: (len(name), name)))
            for letter, cells in start.items()
        },
        "goals": [names[cell] for cell in game.goal_cells],
        "lines": ", ".join(_lines(game)),
        "first_player": game.players[game.to_move(game.initial)],
        "first_turn": next(text for _, text in game.readable_turns(game.initial)),
    }


def _lines(game: Game) -> Iterator[str]:
    """Yield the three points of each line of a board of points, such as ABC."""
    for first, last in game.board_lines:
        middle = (first[0] + last[0]) // 2, (first[1] + last[1]) // 2
        yield "".join(game.cell_names[cell] for cell in (first, middle, last))


def _known_rules(game: Game) -> dict[str, Any]:
    """Return the rules of a game without a file, as far as its facts contain them."""
    pieces = [
        f"{letter} is a {game.piece_names.get(letter, 'piece')} of {player}."
        for player, letters in zip(game.players, game.letters, strict=True)
        for letter in letters
    ]
    endings = [f"Possible: {text.format(loser='a player')}." for text in game.endings.values()]
    return {
        "title": game.name,
        "goal": f"A game of two players, {game.players[0]} and {game.players[1]}.",
        "sections": {
            "Board": ["The board has {rows} rows and {columns} columns."],
            "Pieces": pieces,
            **({"End of the game": endings} if endings else {}),
            "Notation of turns": ["One of the turns at the start is written as {first_turn}."],
        },
    }
