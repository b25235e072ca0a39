"""Prompts for language models: the instructions of a game, and a position with its legal turns."""

from collections.abc import Iterable
from itertools import islice

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.text.board import board_text, describe_standing
from cc_env.text.rules import rules_text
from cc_env.text.turns import legal_turn_texts

# Legal turns in a prompt.
MAX_SHOWN_TURNS = 500


def instructions(game: Game) -> str:
    """Return the rules of a game and how to reply, for the beginning of a prompt."""
    example = legal_turn_texts(game, game.initial, 1)[0]
    return f"{rules_text(game)}\n\nReply with one turn in a tag, such as <turn>{example}</turn>."


def describe_position(
    game: Game, position: Position, seat: int, end: tuple[int, str] | None = None
) -> str:
    """Return the board as the player in `seat`, 0 or 1, sees it, and all else of the position.

    That is who this player is, and who is to move, with the remark of the game, or how the game
    ended. `end` is (outcome, reason) of a game that was not ended by its position.
    """
    player = f"You are {game.players[seat]} ({', '.join(game.letters[seat])})."
    standing = describe_standing(game, position, end)
    return f"{board_text(game, position, seat)}\n\n{player} {standing[0].upper()}{standing[1:]}."


def list_turns(texts: Iterable[str]) -> str:
    """Return the line that lists legal turns, at most MAX_SHOWN_TURNS of them."""
    shown = list(islice(texts, MAX_SHOWN_TURNS + 1))
    shown[MAX_SHOWN_TURNS:] = ["..."] * (len(shown) > MAX_SHOWN_TURNS)
    return f"Legal turns: {', '.join(shown)}"
