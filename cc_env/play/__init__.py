"""Play: people, players and programs at a board, in the terminal, a notebook and over lines."""

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
    """Return a board for a notebook, to play against an opponent, or to watch another `player`.

    Both are spoken names, or "human". The opponent moves second, or first if the player is
    `second`; `position` is a text, by default the start; `options` are those of the game. The
    result has the game in progress as its `session`. Raises MissingExtra without the extra
    `notebook`; BadOption, BadPosition.
    """
    from cc_env.games.factory import make_game
    from cc_env.play.notebook import NotebookBoard

    made = make_game(game, **options) if isinstance(game, str) else game
    names = (opponent, player) if second else (player, opponent)
    start = None if position is None else made.from_text(position)
    return NotebookBoard(made, names, start=start, seed=seed)
