"""Review of a game: the quality of its turns, the moments to try again, and a summary.

Values are those of a player, exact where tables or a proof have them. Winning chances are in
percent, those of the mover.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Any, NamedTuple

from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import format_count
from cc_env.games.factory import make_game
from cc_env.match.referee import Player
from cc_env.play import reasons
from cc_env.play.analysis import (
    Mark,
    TimeBudget,
    TurnAssessment,
    assess_turn,
    compare_turns,
    first_turn,
)
from cc_env.play.descriptions import winning_chances
from cc_env.search.compare import ComparingPlayer
from cc_env.tablebase.tablebase import Tablebase

MAX_MOMENTS = 3
# Time for each turn, and for each moment and try.
TURN_SECONDS, MOMENT_SECONDS = 0.1, 0.5
# Losses of winning chances, in percent: the least one of a moment and of a turning point, and the
# greatest one of a turn that is as good as the best.
MIN_MOMENT_LOSS, MIN_TURNING_LOSS, MAX_RETRY_LOSS = 10.0, 20.0, 5.0
# Mark of the only turn that does not lose MIN_TURNING_LOSS.
ONLY_GOOD = Mark("only good move", "!", 0.0)
# The accuracy of a turn is 100 % * exp(-loss / _LOSS_SCALE), as on lichess.
_LOSS_SCALE = 23.0


@dataclass(frozen=True)
class ReviewedTurn:
    """A turn with its quality."""

    # 0 or 1.
    mover: int
    turn: Turn
    assessment: TurnAssessment
    mark: Mark | None
    # Why the turn is worse than the best one, "" if it loses less than MIN_MOMENT_LOSS.
    reason: str
    # What the turn changed: "threw away a proven win in 9 turns", or chances such as "46 % → 0 %".
    change: str
    # Whether the loss is exact.
    is_exact: bool

    @property
    def loss(self) -> float | None:
        """The lost winning chances; None for a forced turn or a player without values."""
        return self.assessment.loss

    @property
    def is_turning_point(self) -> bool:
        """Whether the turn changed the course of the game."""
        return (self.loss or 0.0) >= MIN_TURNING_LOSS


class Accuracy(NamedTuple):
    """The accuracy of a player in a game."""

    percent: float
    # Whether it is the share of turns that kept the exact value.
    is_exact: bool


def reviewer_spec(game: Game) -> str:
    """Return the spec of the player that reviews a game: the perfect one if tables ship."""
    return f"{'perfect' if shipped_tables(game) else 'minimax'}:seconds=60"


def review_turn(
    game: Game, position: Position, player: Player, time: TimeBudget, *, turn: Turn
) -> ReviewedTurn:
    """Return the quality of a turn; raise IllegalAction if it is illegal."""
    assessment = assess_turn(game, position, turn, player, time)
    played, best = assessment.played, assessment.best
    mark, reason, change = assessment.mark, "", ""
    is_exact = _is_exact(game, position)
    if played and best:
        is_exact |= played.is_exact and best.is_exact
        if (assessment.loss or 0.0) >= MIN_MOMENT_LOSS:
            reason = reasons.explain_mistake(game, position, played, best)
            change = _describe_change(game, position, assessment)
    elif assessment.loss == 0 and _is_only_good(game, position, turn, player, time):
        mark = ONLY_GOOD
    mover = game.to_move(position)
    return ReviewedTurn(mover, turn, assessment, mark, reason, change, is_exact)


def _is_exact(game: Game, position: Position) -> bool:
    """Return whether a shipped table has the value of a position."""
    tables = shipped_tables(game)
    return tables is not None and position in tables


def shipped_tables(game: Game) -> Tablebase | None:
    """Return the shipped tables of a game, None if there are none."""
    return _read_tables(game.name, tuple(game.options.items()))


@lru_cache(maxsize=32)
def _read_tables(name: str, options: tuple[tuple[str, Any], ...]) -> Tablebase | None:
    game = make_game(name, **dict(options))
    tables = Tablebase(game) if game.numbering else None
    return tables if tables and tables.paths else None


def _describe_change(game: Game, position: Position, assessment: TurnAssessment) -> str:
    """Return what a turn changed, in words."""
    played, best = assessment.played, assessment.best
    assert played is not None
    assert best is not None
    if best.is_exact and best.value > played.value:
        if best.value > 0:
            turns = reasons.turns_to_win(game, position, best)
            distance = f" in {format_count(turns, 'turn')}" if turns else ""
            return f"threw away a proven win{distance}"
        if best.value == 0 and played.is_exact:
            return "threw away a proven draw"
    before, after = winning_chances(best.value), winning_chances(played.value)
    return f"{before:.0f} % → {after:.0f} %"


def _is_only_good(
    game: Game, position: Position, turn: Turn, player: Player, time: TimeBudget
) -> bool:
    """Return whether every other first decision than that of the turn loses MIN_TURNING_LOSS."""
    choices = [(int(action),) for action in game.choices(position)]
    if len(choices) < 2 or not isinstance(player, ComparingPlayer):
        return False
    variations = compare_turns(game, position, choices, player, time)
    chances = {v.actions[0]: winning_chances(v.value) for v in variations}
    own = chances.pop(turn[0])
    return own - max(chances.values()) >= MIN_TURNING_LOSS


def moment_candidates(turns: Sequence[ReviewedTurn], player: int | None = None) -> list[int]:
    """Return the indices of turns that may be moments, the greatest losses first.

    Only those of a player, unless it is None. Of equal losses, the earlier one comes first.
    """
    losses = {
        index: turn.loss
        for index, turn in enumerate(turns)
        if turn.loss is not None and turn.loss >= MIN_MOMENT_LOSS and player in (None, turn.mover)
    }
    return sorted(losses, key=lambda index: -losses[index])


def review_game(
    game: Game,
    history: Sequence[tuple[Position, Turn]],
    player: Player,
    *,
    seat: int | None = None,
    turn_seconds: float = TURN_SECONDS,
    moment_seconds: float = MOMENT_SECONDS,
) -> tuple[list[ReviewedTurn], dict[int, ReviewedTurn]]:
    """Return the quality of each turn, and the moments by index, each confirmed by a longer search.

    `history` has the position before each turn. The moments are at most MAX_MOMENTS, those of the
    player in `seat`, or of both if it is None.
    """

    def review(index: int, seconds: float) -> ReviewedTurn:
        position, turn = history[index]
        time = TimeBudget(seconds)
        time.start(player)
        return review_turn(game, position, player, time, turn=turn)

    turns = [review(index, turn_seconds) for index in range(len(history))]
    moments: dict[int, ReviewedTurn] = {}
    for index in moment_candidates(turns, seat):
        if len(moments) == MAX_MOMENTS:
            break
        confirmed = review(index, moment_seconds)
        if (confirmed.loss or 0.0) >= MIN_MOMENT_LOSS:
            moments[index] = confirmed
    return turns, dict(sorted(moments.items()))


def describe_review(
    game: Game,
    history: Sequence[tuple[Position, Turn]],
    turns: Sequence[ReviewedTurn],
    moments: Mapping[int, ReviewedTurn],
    seat: int | None = None,
) -> Iterator[str]:
    """Yield a review as lines: accuracies, and the moments with reasons and better turns.

    The player in `seat` is "you".
    """
    names = ["you" if player == seat else name for player, name in enumerate(game.players)]
    for player, name in enumerate(names):
        if result := accuracy(turns, player):
            kind = "turns that kept the exact value" if result.is_exact else "accuracy"
            yield f"{name}: {result.percent:.0f} % {kind}"
    if not moments:
        yield "no mistakes to look at"
    for index, moment in moments.items():
        position, turn = history[index]
        text = game.readable_turn_text(position, turn).strip()
        sign = moment.mark.sign if moment.mark else ""
        heading = f"{index + 1}. {names[moment.mover]} {text}{sign}"
        yield f"{heading}  {moment.change}: {moment.reason}"
        best = first_turn(game, position, moment.assessment.line)
        yield f"   better: {game.readable_turn_text(position, best).strip()}"


def accuracy(turns: Sequence[ReviewedTurn], player: int) -> Accuracy | None:
    """Return the accuracy of a player's turns; None if none of them could be graded."""
    graded = [turn for turn in turns if turn.mover == player and turn.loss is not None]
    if not graded:
        return None
    is_exact = all(turn.is_exact for turn in graded)
    if is_exact:
        return Accuracy(100 * fmean(turn.loss == 0 for turn in graded), True)
    shares = (math.exp(-(turn.loss or 0.0) / _LOSS_SCALE) for turn in graded)
    return Accuracy(100 * fmean(shares), False)
