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
from cc_env.processes import ProcessPool, in_order
from cc_env.puzzles.attempt import Attempt
from cc_env.puzzles.puzzle import Puzzle


class PuzzleResult(NamedTuple):
    """Whether a player solves a puzzle."""

    puzzle: Puzzle
    is_solved: bool
    # Reason of a forfeit; "" without a fault.
    fault: str = ""


@dataclass(frozen=True)
class SolveRate:
    """The results of a player."""

    results: tuple[PuzzleResult, ...]

    @property
    def share(self) -> Interval:
        """The share of solved puzzles with its 95 % interval."""
        return wilson_interval(
            sum(result.is_solved for result in self.results) / len(self.results),
            len(self.results),
        )

    @property
    def faults(self) -> tuple[str, ...]:
        """The reason of each puzzle that the player forfeited, which it does not solve."""
        return tuple(result.fault for result in self.results if result.fault)

    @property
    def by_theme(self) -> Mapping[str, "SolveRate"]:
        """The results by theme; a puzzle has several."""
        themes = dict.fromkeys(t for result in self.results for t in result.puzzle.themes)
        return {
            theme: SolveRate(tuple(r for r in self.results if theme in r.puzzle.themes))
            for theme in themes
        }

    @property
    def by_turns(self) -> Mapping[int, "SolveRate"]:
        """The results by the number of own turns, ascending."""
        return self._group(lambda puzzle: puzzle.turns)

    @property
    def by_difficulty(self) -> Mapping[int, "SolveRate"]:
        """The results by the number of rungs of the ladder that fail, ascending."""
        return self._group(lambda puzzle: len(puzzle.failing_rungs))

    def _group(self, key: Callable[[Puzzle], int]) -> Mapping[int, "SolveRate"]:
        numbers = sorted({key(result.puzzle) for result in self.results})
        return {
            number: SolveRate(tuple(r for r in self.results if key(r.puzzle) == number))
            for number in numbers
        }


def solve_rate(
    player: str | Player | PolicyFunction,
    game: Game,
    puzzles: Iterable[Puzzle],
    *,
    seed: int = 0,
    workers: int = 0,
) -> SolveRate:
    """Return the results of a player: a player spec, a player or a policy function.

    `workers` is the number of processes that solve puzzles at once, 0 for this process alone.
    Raises BadOption if there are no puzzles, the player cannot be created or, with workers, not be
    pickled; IllegalAction if it chooses an illegal action, ChildProcessError if a worker fails.
    """
    check_seed(seed)
    attempts = _Attempts(player, game, list(puzzles), seed)
    if not attempts.puzzles:
        raise BadOption("there are no puzzles; expected: at least one")
    indices = range(len(attempts.puzzles))
    with ProcessPool(attempts, workers) as pool:
        return SolveRate(tuple(in_order(pool.map_unordered(indices), indices)))


class _Attempts:
    """A player's attempts at puzzles, by index; copies in other processes have own players."""

    def __init__(
        self,
        player: str | Player | PolicyFunction,
        game: Game,
        puzzles: list[Puzzle],
        seed: int,
    ) -> None:
        self._arguments = player, game, puzzles, seed
        self.puzzles = puzzles
        self._player = as_player(player, game)

    def __reduce__(self) -> tuple[type["_Attempts"], tuple[object, ...]]:
        return _Attempts, self._arguments

    def __call__(self, index: int) -> PuzzleResult:
        """Return whether the player solves a puzzle; with a fault it does not."""
        _, game, _, seed = self._arguments
        puzzle, rng = self.puzzles[index], np.random.default_rng((seed, index))
        try:
            is_solved = _finds_line(player_for_new_game(self._player), game, puzzle, rng)
        except Forfeit as error:
            return PuzzleResult(puzzle, is_solved=False, fault=f"{error.fault}: {error}")
        return PuzzleResult(puzzle, is_solved)


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
