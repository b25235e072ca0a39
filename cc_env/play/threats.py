"""What the opponent threatens: its best turn if it were to move now."""

import math

from cc_env.core.game import Cell, Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import BadPosition


def find_threat(game: Game, position: Position) -> tuple[Cell, ...]:
    """Return where the opponent's turn would begin and end that wins, or else captures most.

    The opponent is regarded as being to move in the same position. A turn without a moving piece
    has one cell, its target; the result is empty if nothing is threatened.
    """
    if game.mid_turn(position):
        return ()
    opponent = 1 - game.to_move(position)
    board, _, *rest = game.to_text(position).split()
    try:
        passed = game.from_text(" ".join([board, game.letters[opponent][0].lower(), *rest]))
    except BadPosition:
        return ()

    def gain(turn: Turn) -> float:
        is_win = game.outcome(game.play_turn(passed, turn)) == opponent
        return math.inf if is_win else len(game.track(passed, turn).captured)

    best = max(game.turns(passed), key=gain, default=())
    if not best or not gain(best):
        return ()
    path, captured = game.track(passed, best)
    cells = path or captured[:1]
    return (cells[0], cells[-1]) if len(cells) > 1 else tuple(cells)
