"""Evaluation during training: matches against other players, and accuracy.

On boards with a tablebase, the log also has the fraction of the player's decisions that keep the
exact value: `accuracy` over all test positions, `accuracy_with_choice` over those where an action
can be wrong. The test positions are the same at every evaluation, see
`cc_env.accuracy.decisions`.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

from cc_env.accuracy.decisions import measure, sample_uniform
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import BadOption, check_number_of_games, format_list
from cc_env.match.referee import Player
from cc_env.players.specs import check_spec
from cc_env.tablebase.tablebase import SHIPPED, Tablebase
from training import arena
from training.runs.config import MAX_EVALUATIONS, check_integers

NEWEST, BEST = "newest", "best"
TestSet = tuple[Tablebase, tuple[Position, ...]]


@dataclass(frozen=True, kw_only=True)
class EvaluationOpponents:
    """The players that networks are evaluated against, and the test set for accuracy."""

    names: tuple[str, ...] = ("random", "minimax:depth=1", "minimax:depth=3")
    # The opponent whose Elo is 0.
    anchor: str = "minimax:depth=3"
    # Games per opponent; even.
    games: int = 40
    # Number of test positions, sampled from a tablebase; 0: no accuracy.
    positions: int = 500
    # Folder of the tablebase; None: the shipped tables.
    tables: str | None = None

    def __post_init__(self) -> None:
        """Raise BadOption for an invalid player spec, anchor or number."""
        for name in self.names:
            check_spec(name)
        if self.anchor not in self.names:
            raise BadOption(f"unknown anchor {self.anchor!r}; expected: {format_list(self.names)}")
        check_number_of_games(self.games, MAX_EVALUATIONS)
        check_integers(self, positions=(0, MAX_EVALUATIONS))


def score_against(
    game: Game,
    newest: Player,
    best: Player | None,
    opponents: EvaluationOpponents,
    seed: int,
    workers: int | None = 0,
) -> dict[str, float]:
    """Return the newest player's score, 0 to 1, against each opponent and "best", and its "elo".

    Without a `best` player there is no score against it. `workers` is the number of processes, 0
    for this one, None for one per core. On a board with a tablebase, the accuracies are added.
    Raises BadTable for a damaged table.
    """
    entrants: dict[str, str | Player] = {NEWEST: newest}
    if best is not None:
        entrants[BEST] = best
    entrants |= {name: name for name in opponents.names}
    standings = arena.play_tournament(
        entrants,
        game.name,
        options=game.options,
        games=opponents.games,
        seed=seed,
        anchor=opponents.anchor,
        workers=workers,
    ).standings
    scores = {
        name: standings.pair(NEWEST, name).line.score.value
        for name in (BEST, *opponents.names)
        if name in entrants
    }
    ratings = {player.name: player.elo.value for player in standings.players}
    return {**scores, "elo": ratings[NEWEST], **_accuracies(game, newest, opponents)}


def charts(game: Game, opponents: EvaluationOpponents) -> dict[str, list[str]]:
    """Return the charts of evaluations: columns of the log by title."""
    result = {
        "score against": [*opponents.names, BEST],
        f"Elo; {opponents.anchor} has 0": ["elo"],
    }
    if accuracy_test_set(game, opponents):
        title = "fraction of decisions that keep the exact value"
        result[title] = ["accuracy", "accuracy_with_choice"]
    return result


def _accuracies(game: Game, player: Player, opponents: EvaluationOpponents) -> dict[str, float]:
    """Return the accuracies of a player by name, without NaN; {} without a test set."""
    test_set = accuracy_test_set(game, opponents)
    if test_set is None:
        return {}
    measured = measure(player, *test_set)
    accuracies = {
        "accuracy": measured.kept.value,
        "accuracy_with_choice": measured.kept_with_choice.value,
    }
    return {name: value for name, value in accuracies.items() if not math.isnan(value)}


@lru_cache(1)
def accuracy_test_set(game: Game, opponents: EvaluationOpponents) -> TestSet | None:
    """Return a tablebase and test positions; None if accuracy cannot be measured.

    That is the case for games without tables, with 0 test positions, and if the start of the game
    is in no table. Raises BadOption for a missing folder.
    """
    if game.numbering is None or not opponents.positions:
        return None
    tables = Tablebase(game, opponents.tables or SHIPPED)
    is_solved = game.initial in tables
    return (tables, tuple(sample_uniform(tables, opponents.positions))) if is_solved else None
