"""Cannon: soldiers advance, three in a row shoot; a player who has lost two town halls has lost.

Position  soldiers and halls of both sides as bits 11r + c, each in two words, in the frame of the
          player to move (the board is turned by 180 degrees for white; soldiers go towards row 0);
          player: 0 or 1; shape: index into SHAPES; options: bits of RETREATS and SWITCHES
Action    ids ascending by start, then end, of all steps, sideways captures, retreats and shifts
          that stay on the board; then for each cell a bomb on it
Turn      S x y M x y selects a soldier and moves it, S x y B x y bombs; x is the column, y the row,
          from the upper left. Any soldier of the cannon may be selected; texts have the first one.
          Readable: c4-c5 for a move, bomb c7; a1 is the left cell of the lowest row
Ending    halls (two are lost), no_soldiers, no_moves (of the player to move), stagnant (turns led
          to the same position three times); the hall points decide who has won
Symmetry  none: the start is not a mirror image of itself, nor are the halls opposite each other

    8×8 start, as text:  WwWwWwWw/1w1w1w1w/1w1w1w1w/8/8/b1b1b1b1/b1b1b1b1/bBbBbBbB b
                         b soldiers, B halls of black, first   w, W of white
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard import ONE, ZERO
from cc_env.core.bitboard128 import bitboard128
from cc_env.core.game import Cell, Game, Track, Turn
from cc_env.errors import BadPosition, check_bool, check_choice
from cc_env.games.cannon import board, log, rules
from cc_env.games.cannon.board import LETTERS
from cc_env.games.cannon.bots import BOTS
from cc_env.games.cannon.evaluation import STANDARD
from cc_env.games.cannon.rules import Position

# The valid values of options, and the bits of `Position.options`.
RETREATS = {5: ZERO, 8: rules.RETREAT_8}
CHOICES = {"rows": rules.SIZES, "columns": rules.SIZES, "retreat_neighbours": tuple(RETREATS)}
SWITCHES = {
    "retreat_clear_path": rules.RETREAT_CLEAR,
    "bomb_clear_path": rules.BOMB_CLEAR,
    "shift_captures_hall": rules.SHIFT_HALL,
}
# The words of `Cannon.ending`, by end rule.
ENDINGS = "stagnant", "halls", "no_soldiers", "no_moves"


class Cannon(Game):
    """Cannon on `rows` by `columns` cells, 8 or 10 each.

    A soldier may retreat if an enemy soldier is next to it: on one of the 5 cells at its sides and
    in front, or with `retreat_neighbours` 8 on any of the 8; with `retreat_clear_path` only over an
    empty cell. With `bomb_clear_path` a bomb reaches the third cell only over an empty second one.
    With `shift_captures_hall` a shift may end on a hall if the cell behind the cannon is empty.
    Raises BadOption on other values.
    """

    name = "cannon"
    planes = rules.PLANES
    players = "black", "white"
    letters = LETTERS
    repetition_limit = 3
    max_margin = 10
    has_scores = True
    endings = {
        "halls": "two town halls are taken",
        "no_soldiers": "no soldiers are left on one side",
        "no_moves": "no move is left",
        "stagnant": "the same position for the third time",
    }
    formats = {".log": log.FORMAT}
    bots = BOTS
    figures = {"b": "ring", "w": "ring", "B": "square", "W": "square"}
    piece_names = {"b": "soldier", "w": "soldier", "B": "town hall", "W": "town hall"}

    def __init__(
        self,
        rows: Annotated[int, rules.SIZES] = 8,
        columns: Annotated[int, rules.SIZES] = 8,
        retreat_neighbours: Annotated[int, RETREATS] = 5,
        retreat_clear_path: bool = False,
        bomb_clear_path: bool = False,
        shift_captures_hall: bool = False,
    ) -> None:
        self.options = {
            "rows": rows,
            "columns": columns,
            "retreat_neighbours": retreat_neighbours,
            "retreat_clear_path": retreat_clear_path,
            "bomb_clear_path": bomb_clear_path,
            "shift_captures_hall": shift_captures_hall,
        }
        for name, choices in CHOICES.items():
            check_choice(f"cannon: {name}", self.options[name], choices)
            self.options[name] = int(self.options[name])
        options = RETREATS[retreat_neighbours]
        for name, bit in SWITCHES.items():
            check_bool(f"cannon: {name}", self.options[name])
            self.options[name] = bool(self.options[name])
            options |= bit * np.uint64(self.options[name])
        self.initial = rules.initial(int(rows), int(columns), options)
        shape = int(self.initial.shape)
        self.grid = board.grid(shape)
        self.readable_cell_names = board.algebraic_names(shape)
        self.action_cells = board.action_cells(shape)
        self.evaluations = {"standard": STANDARD[int(rows)]}
        super().__init__()

    def ending(self, position: Position) -> str:
        """Return halls, no_soldiers, no_moves, or stagnant for an end by repetition."""
        return ENDINGS[int(rules.end_rule(position))]

    def score(self, position: Position, loser: int | None = None) -> tuple[float, float]:
        """Return the scores of black and white at the end of a game, also by repetition.

        The hall points, 10 in all, and a hundredth for each soldier left. The opponent of a
        `loser` by a fault scores as if it had taken all halls that count.
        """
        margin = int(rules.lead(position, rules.end_rule(position)))
        if loser is not None:
            is_mover = loser == int(position.player)
            halls = board.cell_set(position, "enemy_halls" if is_mover else "own_halls")
            margin = 10 - 4 * (rules.HALLS[position.shape] - halls.bit_count())
            margin = margin if is_mover else -margin
        # `margin` is the lead of the opponent of the player to move.
        own = 5 - margin / 2 + board.cell_set(position, "own").bit_count() / 100
        enemy = 5 + margin / 2 + board.cell_set(position, "enemy").bit_count() / 100
        return (own, enemy) if position.player == ZERO else (enemy, own)

    def pieces(self, position: Position) -> dict[Cell, str]:
        """Return b and w for soldiers, B and W for halls."""
        return board.pieces(position)

    def to_text(self, position: Position) -> str:
        """Return the position in one line: rows from the top, and the side to move."""
        return self.grid.position_text(self.pieces(position), LETTERS, int(position.player))

    def parse_position(self, text: str) -> Position:
        """Parse a position from text; raise BadPosition with the reason if it is invalid."""
        pieces, player, _ = self.grid.parse_position(text, LETTERS)
        sets = dict.fromkeys("".join(LETTERS), 0)
        for cell, letter in pieces.items():
            sets[letter] |= 1 << self.grid.bit(cell, player)
        max_counts = Counter(self.pieces(self.initial).values())
        for letter, count in Counter(pieces.values()).items():
            if count > max_counts[letter]:
                raise BadPosition(
                    f"{count} pieces {letter}; expected: at most {max_counts[letter]}"
                )
        own, enemy = LETTERS[player], LETTERS[1 - player]
        if not sets[enemy[0]]:
            raise BadPosition(f"{enemy[0]} has just moved, so it needs a soldier")
        words = (word for letter in own + enemy for word in bitboard128(sets[letter]))
        rest = np.uint64(player), self.initial.shape, self.initial.options
        return Position(*words, *rest)  # type: ignore[call-arg]

    def is_valid(self, positions: Position) -> NDArray[np.bool_]:
        """Return which positions are valid; the fields of `positions` are arrays of any shape."""
        shape = self.initial.shape
        valid: NDArray[np.bool_] = positions.shape == shape
        valid &= positions.options == self.initial.options
        valid &= positions.player <= ONE
        for word, cells in zip(("low", "high"), rules.BOARD[shape], strict=True):
            occupied = np.zeros_like(positions.player)
            for name in ("own", "own_halls", "enemy", "enemy_halls"):
                pieces = getattr(positions, f"{name}_{word}")
                valid &= pieces & (occupied | ~cells) == ZERO
                occupied |= pieces
        return valid

    def action_text(self, position: Position, action: int) -> str:
        """Return S x y M x y for a move, S x y B x y for a bomb by the first soldier able to shoot.

        The text of a bomb that no soldier can shoot is B x y.
        """
        if not board.is_bomb(position, action):
            return board.move_text(position, action)
        _, target = board.ends(position, action)
        return next(self._bomb_texts(position, action), f"B {board.cell_text(target)}")

    def readable_action_text(self, position: Position, action: int) -> str:
        """Return a1-b2 for a move, bomb b2 for a bomb."""
        start, end = (self.readable_cell_names[cell] for cell in board.ends(position, action))
        return f"bomb {end}" if board.is_bomb(position, action) else f"{start}-{end}"

    def alternative_texts(self, position: Position, action: int) -> Iterable[str]:
        """Return the texts of a bomb by each shooter except the first; none for a move."""
        return islice(self._bomb_texts(position, action), 1, None)

    def _bomb_texts(self, position: Position, action: int) -> Iterator[str]:
        """Yield the text of a bomb by each soldier of the cannons, none for a move."""
        _, target = board.ends(position, action)
        for soldier in self.shooters(position, action):
            yield f"S {board.cell_text(soldier)} B {board.cell_text(target)}"

    def shooters(self, position: Position, action: int) -> tuple[Cell, ...]:
        """Return the soldiers of the cannons that can hit a bomb's cell; none for a move."""
        return board.shooters(position, action) if board.is_bomb(position, action) else ()

    def track(self, position: Position, turn: Turn) -> Track:
        """Return the course of a soldier, or of a bomb from its first soldier, and the capture."""
        (action,) = turn
        start, end = board.ends(position, action)
        is_capture = self.pieces(position).get(end, "-") in LETTERS[1 - int(position.player)]
        captured = (end,) if is_capture else ()
        if not board.is_bomb(position, action):
            return Track((start, end), captured)
        soldiers = self.shooters(position, action)
        return Track((soldiers[0], end) if soldiers else (), captured)


make = Cannon
