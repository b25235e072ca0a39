"""Random whole games, as CheckerBoard, pydraughts and py-draughts write them in PDN."""

import random
import textwrap
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fuzz.mutations import SEEDS
from fuzz.pdn_grammar import FENS
from hypothesis import strategies as st

from cc_env.core.game import Game, Turn
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS, Position
from cc_env.games.checkers import pdn, pdn_text

BLACK_SCORES = {FIRST_WINS: "1-0", SECOND_WINS: "0-1", DRAW: "1/2-1/2", ONGOING: "*"}
WHITE_SCORES = BLACK_SCORES | {FIRST_WINS: "0-1", SECOND_WINS: "1-0"}


class WholeGame(NamedTuple):
    """A game, possibly to its end by the rules."""

    start: Position
    turns: tuple[Turn, ...]
    outcome: int


class Program(NamedTuple):
    """How a program writes games; without a FEN, `first_color` begins."""

    dialect: str | None
    first_color: str
    write: Callable[[Game, WholeGame], str]


def whole_games(game: Game, program: Program) -> st.SearchStrategy[list[WholeGame]]:
    """Return a strategy of lists of games from the start of a program and other positions."""
    return st.builds(lambda seed: _whole_games(random.Random(seed), game, program), SEEDS)


def _whole_games(rng: random.Random, game: Game, program: Program) -> list[WholeGame]:
    usual = f"{program.first_color}{pdn.position_text(game.initial)[1:]}"
    fens = [
        rng.choice((usual, usual, pdn.position_text(game.initial), *FENS))
        for _ in range(rng.randint(1, 2))
    ]
    return [_whole_game(rng, game, pdn.parse_position(game, fen)) for fen in fens]


def _whole_game(rng: random.Random, game: Game, start: Position) -> WholeGame:
    position, turns = start, list[Turn]()
    for _ in range(rng.choice((0, 1, 2, 7, 150))):
        if game.outcome(position) != ONGOING:
            break
        turns.append(rng.choice(list(game.turns(position))))
        position = game.play_turn(position, turns[-1])
    outcome = game.outcome(position)
    if outcome == ONGOING:
        outcome = rng.choice(list(BLACK_SCORES))
    return WholeGame(start, tuple(turns), outcome)


def _checkerboard(game: Game, played: WholeGame) -> str:
    """Return a game with a number before each move of Black, in short lines."""
    result, tags = BLACK_SCORES[played.outcome], '[Event ""]\n[Black "?"]\n[White "?"]\n'
    if played.start != game.initial:
        tags += f'[SetUp "1"]\n[FEN "{pdn.position_text(played.start)}"]\n'
    words = [*_numbered(_moves(game, played), game.to_move(played.start), 0), result]
    return f'{tags}[Result "{result}"]\n' + "\n".join(textwrap.wrap(" ".join(words), 80))


def _pydraughts(game: Game, played: WholeGame) -> str:
    """Return a game with a FEN, and a number before each move of White."""
    fen = pdn.position_text(played.start)
    words = _numbered(_moves(game, played), game.to_move(played.start), 1)
    moves = " ".join([*words, BLACK_SCORES[played.outcome]])
    return f'[GameType "21,B,8,8,N1,0"]\n[FEN "{fen}"]\n\n{moves}\n'


def _py_draughts(game: Game, played: WholeGame) -> str:
    """Return a game with White's score first and all cells of captures, without a FEN for White."""
    fen, result = pdn.position_text(played.start), WHITE_SCORES[played.outcome]
    tags = f'[GameType "23"]\n[Variant "American checkers"]\n[Result "{result}"]\n'
    if fen != f"W{pdn.position_text(game.initial)[1:]}":
        tags += f'[FEN "{fen}"]\n'
    words = _numbered(_moves(game, played, whole=True), game.to_move(played.start), 1)
    return tags + " ".join([*words, result])


PROGRAMS = {
    "CheckerBoard": Program(None, "B", _checkerboard),
    "pydraughts": Program(None, "B", _pydraughts),
    "py-draughts": Program("py-draughts", "W", _py_draughts),
}


def _moves(game: Game, played: WholeGame, whole: bool = False) -> list[str]:
    """Return the notation of the turns; captures by their ends if they suffice, unless `whole`."""
    position, texts = played.start, list[str]()
    for turn in played.turns:
        track = game.track(position, turn)
        cells = map(str, map(pdn_text.number, track.path))
        path = ("x" if track.captured else "-").join(cells)
        texts.append(path if whole else pdn.turn_text(game, position, turn))
        position = game.play_turn(position, turn)
    return texts


def _numbered(moves: Sequence[str], first: int, numbered: int) -> list[str]:
    """Return the moves with a number before those of a player, and before the first one.

    `first` is the mover of the first move.
    """
    words, number = list[str](), 1
    for index, move in enumerate(moves):
        is_own = (index + first) % 2 == numbered
        number += is_own and index > 0
        if is_own or not index:
            words.append(f"{number}." if is_own else f"{number}...")
        words.append(move)
    return words
