"""Game sessions and their front ends without a server: terminal, notebook, UGI engine."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cc_env.core.game import Game
    from cc_env.play.notebook import NotebookBoard


def board(
    game: "str | Game" = "capture_conquer",
    opponent: str = "minimax:normal",
    *,
    player: str = "human",
    second: bool = False,
    position: str | None = None,
    seed: int = 0,
    **options: Any,
) -> "NotebookBoard":
    """Return a notebook board on which `player` plays against `opponent`.

    Both are player specs or "human". `player` moves first, or second if `second`. `position` is a
    position as text, by default the initial one; `options` are options of the game. The game in
    progress is the attribute `session` of the board. Raises MissingExtra without the extra
    `notebook`, BadOption for an invalid game, option, player or seed, BadPosition for an invalid
    position.
    """
    from cc_env.games.factory import make_game
    from cc_env.play.notebook import NotebookBoard

    board_game = make_game(game, **options) if isinstance(game, str) else game
    names = (opponent, player) if second else (player, opponent)
    start = None if position is None else board_game.from_text(position)
    return NotebookBoard(board_game, names, start=start, seed=seed)
