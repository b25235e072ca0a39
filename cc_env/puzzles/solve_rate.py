"""The share of puzzles that a player solves, by theme and difficulty.

    rate = solve_rate("policy", game, shipped_puzzles(game))
    print(rate.share, rate.by_theme["quiet"])

A puzzle with a proof is solved by the whole line: the player's turns, against the defender's best
replies, reach the goal within the puzzle's number of own turns. Of a puzzle that tables judge, only
the first turn counts.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cc_env.core.game import Game, Turn
from cc_env.core.random_streams import check_seed
from cc_env.core.rules import ONGOING, Position
from cc_env.errors import BadOption, Forfeit
from cc_env.match.confidence import Interval, wilson_interval
from cc_env.match.referee import Clock, Player, check_decision, player_for_new_game
from cc_env.players.builtin import PolicyFunction
from cc_env.players.specs import as_player
from cc_env.puzzles.attempt import Attempt
from cc_env.puzzles.puzzle import Puzzle


class Answer(NamedTuple):
    """The result of a player for one puzzle."""

    puzzle: Puzzle
    is_solved: bool


@dataclass(frozen=True)
class SolveRate:
    """The answers of a player."""

    answers: tuple[Answer, ...]

    @property
    def share(self) -> Interval:
        """The share of solved puzzles with its 95 % interval."""
        return wilson_interval(
            sum(answer.is_solved for answer in self.answers) / len(self.answers),
            len(self.answers),
        )

    @property
    def by_theme(self) -> Mapping[str, "SolveRate"]:
        """The answers by theme; a puzzle has several."""
        themes = dict.fromkeys(t for answer in self.answers for t in answer.puzzle.themes)
        return {
            theme: SolveRate(tuple(a for a in self.answers if theme in a.puzzle.themes))
            for theme in themes
        }

    @property
    def by_turns(self) -> Mapping[int, "SolveRate"]:
        """The answers by the number of own turns, ascending."""
        return self._group(lambda puzzle: puzzle.turns)

    @property
    def by_difficulty(self) -> Mapping[int, "SolveRate"]:
        """The answers by the number of levels of the ladder that fail, ascending."""
        return self._group(lambda puzzle: len(puzzle.failed))

    def _group(self, key: Callable[[Puzzle], int]) -> Mapping[int, "SolveRate"]:
        numbers = sorted({key(answer.puzzle) for answer in self.answers})
        return {
            number: SolveRate(tuple(a for a in self.answers if key(a.puzzle) == number))
            for number in numbers
        }


def solve_rate(
    player: str | Player | PolicyFunction,
    game: Game,
    puzzles: Iterable[Puzzle],
    *,
    seed: int = 0,
) -> SolveRate:
    """Return the answers of a player: a player spec, a player or a policy function.

    Raises BadOption if there are no puzzles or the player cannot be created, IllegalAction if it
    chooses an illegal action.
    """
    check_seed(seed)
    player = as_player(player, game)
    answers = []
    for index, puzzle in enumerate(puzzles):
        rng = np.random.default_rng((seed, index))
        answers.append(Answer(puzzle, _solves(player_for_new_game(player), game, puzzle, rng)))
    if not answers:
        raise BadOption("there are no puzzles; expected: at least one")
    return SolveRate(tuple(answers))


def _solves(player: Player, game: Game, puzzle: Puzzle, rng: np.random.Generator) -> bool:
    """Return whether a player solves a puzzle; a fault, such as a missing reply, does not."""
    try:
        return _finds_line(player, game, puzzle, rng)
    except Forfeit:
        return False


def _finds_line(player: Player, game: Game, puzzle: Puzzle, rng: np.random.Generator) -> bool:
    """Return whether a player's turns reach the goal; raise Forfeit as the player."""
    turn = _choose_turn(player, game, puzzle.position, rng)
    if turn not in puzzle.solutions or not puzzle.proof:
        return turn in puzzle.solutions
    attempt = Attempt(game, puzzle)
    while attempt.play(turn).is_correct:
        if attempt.is_solved:
            return True
        turn = _choose_turn(player, game, attempt.position, rng)
    return False


def _choose_turn(player: Player, game: Game, position: Position, rng: np.random.Generator) -> Turn:
    """Return a player's turn, without limits of time."""
    turn: Turn = ()
    while not turn or (game.mid_turn(position) and game.outcome(position) == ONGOING):
        decision = check_decision(player.choose(position, rng, Clock()))
        action = game.check_action(position, decision.action)
        turn, position = (*turn, action), game.apply(position, action)
    return turn
