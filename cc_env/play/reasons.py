"""What turns do, in words: the facts behind the quality of a turn, from the rules and a search.

Turns have the readable notation.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cc_env.core.game import Game, Turn
from cc_env.core.rules import DRAW, ONGOING, Position
from cc_env.errors import format_count
from cc_env.match.match import RESIGNED, Result
from cc_env.play.descriptions import explain_result
from cc_env.play.lessons import load_guide
from cc_env.puzzles.puzzle import END, Puzzle
from cc_env.puzzles.puzzle import WIN as WIN_TASK
from cc_env.registry.catalogue import GAMES
from cc_env.search.compare import Variation
from cc_env.search.scores import MARGIN, PROVEN, WIN, proven_margin

# Own turns and replies over which captures are counted: a turn, the reply, and the answer to it.
_EXCHANGE_TURNS = 3
# Least expected result of a player who leads.
_MIN_LEAD = 0.1
# Past tenses that do not end in -ed.
_PAST = {"leave": "left", "take": "took", "win": "won"}
_SIBILANTS = "s", "x", "z", "ch", "sh", "o"
_PLURALS = {"man": "men"}


def describe_effect(game: Game, position: Position, turn: Turn, *, infinitive: bool = False) -> str:
    """Return what a turn achieves: "reaches the far corner", "captures 2 men", "" if nothing.

    With `infinitive`, "reach the far corner".
    """
    after = game.play_turn(position, turn)
    phrase = ""
    if game.outcome(after) == game.to_move(position):
        phrase = win_phrase(game, game.ending(after))
    elif captured := _captured_letters(game, position, turn):
        phrase = f"capture {count_pieces(game, captured)}"
    return phrase if infinitive else _third_person(phrase)


def win_phrase(game: Game, ending: str) -> str:
    """Return what the winner does in an ending, in the infinitive: "reach the far corner"."""
    return _win_phrases(game).get(ending, "win")


def _win_phrases(game: Game) -> Mapping[str, str]:
    return load_guide(game.name).wins if game.name in GAMES else {}


def _past_tense(phrase: str) -> str:
    """Return an infinitive in the past tense: "reached the far corner"."""
    verb, space, rest = phrase.partition(" ")
    return f"{_PAST.get(verb, verb.removesuffix('e') + 'ed')}{space}{rest}"


def explain_ending(game: Game, result: Result, detail: str = "") -> str:
    """Return the reason of a result, such as "{0} reached the far corner".

    "{0}" and "{1}" stand for the players. The `detail` of a resignation replaces it, as in
    "{1} left the game".
    """
    if result.outcome == DRAW:
        return explain_result(game, result)
    winner, loser = f"{{{result.outcome}}}", f"{{{1 - result.outcome}}}"
    if result.reason == RESIGNED and detail:
        return f"{loser} {detail}"
    if phrase := _win_phrases(game).get(result.reason):
        return f"{winner} {_past_tense(phrase)}"
    return explain_result(game, result, loser)


def describe_ending(game: Game, result: Result, detail: str = "") -> str:
    """Return the result with its reason, such as "{0} won: {0} reached the far corner".

    "{0}" and "{1}" stand for the players.
    """
    outcome = "a draw" if result.outcome == DRAW else f"{{{result.outcome}}} won"
    return f"{outcome}: {explain_ending(game, result, detail)}"


def describe_task(game: Game, puzzle: Puzzle) -> str:
    """Return the task of a puzzle, such as "Blue to play and win in 3 turns"."""
    color = _color(game, puzzle.position)
    turns = format_count(puzzle.turns, "turn")
    if puzzle.task == WIN_TASK:
        return f"{color} to play and win in {turns}"
    names = set(game.piece_names.values())
    name = names.pop() if len(names) == 1 else "piece"
    return f"{color} to play and capture a {name} in {turns}, before losing one"


def describe_theme(game: Game, theme: str) -> str:
    """Return the name of a theme; for an ending what the winner does."""
    return win_phrase(game, theme.removeprefix(END)) if theme.startswith(END) else theme


def describe_reply(game: Game, position: Position, reply: Turn) -> str:
    """Return a reply as a clause, such as "Red answers e5-a1 and reaches the far corner"."""
    color = _color(game, position)
    clause = f"{color} answers {_text(game, position, reply)}"
    effect = describe_effect(game, position, reply)
    return f"{clause} and {effect}" if effect else clause


def explain_mistake(game: Game, position: Position, played: Variation, best: Variation) -> str:
    """Return why a turn is worse than the best one, such as "loses 2 men".

    Both are variations of the position, which begin with the turns. The best turn is not named, so
    that a person can search for it.
    """
    return (
        _describe_immediate_loss(game, position, played)
        or _describe_missed_win(game, position, best)
        or _describe_forced_results(game, position, played, best)
        or _describe_exchanges(game, position, played, best)
        or _describe_lead(game, position, played, best)
    )


def _describe_immediate_loss(game: Game, position: Position, played: Variation) -> str:
    """Return how the reply to a turn wins, "" if it does not."""
    turns = _split(game, position, played.actions)
    if len(turns) < 2 or game.outcome(turns[1][1]) != 1 - game.to_move(position):
        return ""
    return _describe_permission(game, turns[0][1], turns[1][0])


def _describe_permission(game: Game, position: Position, reply: Turn) -> str:
    """Return what a turn permits the next player: "lets Red capture a man by e5-a1"."""
    effect = describe_effect(game, position, reply, infinitive=True)
    return f"lets {_color(game, position)} {effect} by {_text(game, position, reply)}"


def _describe_missed_win(game: Game, position: Position, best: Variation) -> str:
    """Return how the best turn wins at once, "" if it does not."""
    turn, after = _split(game, position, best.actions)[0]
    if game.outcome(after) != game.to_move(position):
        return ""
    return f"misses a turn that {describe_effect(game, position, turn)}"


def _describe_forced_results(
    game: Game, position: Position, played: Variation, best: Variation
) -> str:
    """Return which side can force a win after the turn, or could before; "" if neither."""
    reply = reply_of(game, position, played)
    if reply and played.score <= -PROVEN < best.score:
        after = _split(game, position, played.actions)[0][1]
        text = _text(game, after, reply)
        return f"lets {_opponent(game, position)} force a win, beginning with {text}"
    return "misses a forced win" if played.score < PROVEN <= best.score else ""


def _describe_exchanges(game: Game, position: Position, played: Variation, best: Variation) -> str:
    """Return the pieces that the turn loses, or that the best turn wins; "" if neither."""
    exchanges = _exchanges(game, position, played, best)
    if exchanges is None:
        return _describe_captures(game, position, played, best)
    if exchanges.played_balance >= exchanges.best_balance:
        return ""
    if exchanges.played_balance < 0:
        lost = exchanges.lost[: -exchanges.played_balance]
        return f"loses {count_pieces(game, lost)}"
    won = exchanges.best_won[: exchanges.best_balance]
    return f"misses a turn that wins {count_pieces(game, won)}"


def _describe_captures(game: Game, position: Position, played: Variation, best: Variation) -> str:
    """Return the capture that the turn permits, or that the best turn makes; "" if neither."""
    (turn, after), *_ = _split(game, position, played.actions)
    (best_turn, best_after), *_ = _split(game, position, best.actions)
    reply, best_reply = reply_of(game, position, played), reply_of(game, position, best)
    if _capture_count(game, after, reply) > _capture_count(game, best_after, best_reply):
        return _describe_permission(game, after, reply)
    if _capture_count(game, position, best_turn) > _capture_count(game, position, turn):
        return f"misses a turn that {describe_effect(game, position, best_turn)}"
    return ""


def _describe_lead(game: Game, position: Position, played: Variation, best: Variation) -> str:
    """Return what the turn changes in the balance of the game, with the reply to it."""
    if played.is_exact and not played.value:
        result = "draw"
    elif best.value <= -_MIN_LEAD:
        result = "increase the lead"
    else:
        result = "take the lead" if played.value < 0 else "catch up"
    reply = reply_of(game, position, played)
    after = _split(game, position, played.actions)[0][1]
    clause = f" by {_text(game, after, reply)}" if reply else ""
    return f"lets {_opponent(game, position)} {result}{clause}"


def _color(game: Game, position: Position) -> str:
    return game.players[game.to_move(position)].capitalize()


def _opponent(game: Game, position: Position) -> str:
    return game.players[1 - game.to_move(position)].capitalize()


class _Exchanges(NamedTuple):
    """The pieces that two lines capture for each side: those won minus those lost, and letters."""

    played_balance: int
    best_balance: int
    # Letters of the mover's pieces that the played line loses.
    lost: list[str]
    # Letters of the opponent's pieces that the best line wins.
    best_won: list[str]


def _exchanges(
    game: Game, position: Position, played: Variation, best: Variation
) -> _Exchanges | None:
    """Return the captures of two lines; None if one is too short to show an answer."""
    exchange, best_exchange = (_exchange(game, position, v.actions) for v in (played, best))
    if exchange is None or best_exchange is None:
        return None
    (lost, won), (best_lost, best_won) = exchange, best_exchange
    return _Exchanges(len(won) - len(lost), len(best_won) - len(best_lost), lost, best_won)


def _exchange(game: Game, position: Position, actions: Turn) -> tuple[list[str], list[str]] | None:
    """Return the letters of the mover's pieces and of the opponent's that a line captures.

    None if the line is too short to show the answer to a capture.
    """
    mover = game.to_move(position)
    captured: tuple[list[str], list[str]] = [], []
    turns = _split(game, position, actions)[:_EXCHANGE_TURNS]
    if len(turns) < _EXCHANGE_TURNS and game.outcome(turns[-1][1]) == ONGOING:
        return None
    for turn, after in turns:
        side = int(game.to_move(position) == mover)
        captured[side].extend(_captured_letters(game, position, turn))
        position = after
    return captured


def turns_to_win(game: Game, position: Position, variation: Variation) -> int | None:
    """Return the winner's own turns to the end of a proven variation, None if none is proven.

    If the variation does not reach the end, it is the greatest number that its score permits.
    """
    if abs(variation.score) < PROVEN:
        return None
    mover = game.to_move(position)
    winner = mover if variation.score > 0 else 1 - mover
    count = 0
    for _, after in _split(game, position, variation.actions):
        count += game.to_move(position) == winner
        position = after
    if game.outcome(position) != ONGOING:
        return count
    return (_decisions_to_end(variation.score) + 1) // 2


def _decisions_to_end(score: int) -> int:
    """Return the number of decisions to the end of the game that a proven score contains."""
    margin = proven_margin(score)
    assert margin is not None
    return WIN + MARGIN * (abs(margin) - 1) - abs(score)


def reply_of(game: Game, position: Position, variation: Variation) -> Turn:
    """Return the second turn of a variation, () if it has none."""
    turns = _split(game, position, variation.actions)
    return turns[1][0] if len(turns) > 1 else ()


def count_pieces(game: Game, letters: list[str]) -> str:
    """Return a number of pieces by their common name: "a king", "2 men"; else "3 pieces"."""
    names = Counter(game.piece_names.get(letter, "piece") for letter in letters)
    name = next(iter(names)) if len(names) == 1 else "piece"
    count = len(letters)
    return f"a {name}" if count == 1 else f"{count} {_PLURALS.get(name, f'{name}s')}"


def _captured_letters(game: Game, position: Position, turn: Turn) -> list[str]:
    pieces = game.pieces(position)
    return [pieces[cell] for cell in game.track(position, turn).captured if cell in pieces]


def _capture_count(game: Game, position: Position, turn: Turn) -> int:
    return len(_captured_letters(game, position, turn)) if turn else 0


def _split(game: Game, position: Position, actions: Turn) -> list[tuple[Turn, Position]]:
    """Return the complete turns of a line, each with the position after it."""
    return list(_turns(game, position, actions))


def _turns(game: Game, position: Position, actions: Turn) -> Iterator[tuple[Turn, Position]]:
    turn: Turn = ()
    for action in actions:
        position = game.apply(position, action)
        turn = (*turn, action)
        if not game.mid_turn(position):
            yield turn, position
            turn = ()


def _text(game: Game, position: Position, turn: Turn) -> str:
    return game.readable_turn_text(position, turn).strip()


def _third_person(phrase: str) -> str:
    """Return an infinitive in the third person: "reaches the far corner"."""
    verb, space, rest = phrase.partition(" ")
    ending = "es" if verb.endswith(_SIBILANTS) else "s"
    return f"{verb}{ending}{space}{rest}" if verb else ""
