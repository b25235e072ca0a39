"""Evaluation of a policy by games against a player, played at once from random openings.

Shapes: N boards, A actions; C planes, H rows and W columns of an observation; F fields of a
position.
"""

import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Position
from cc_env.envs.arguments import as_seed
from cc_env.envs.boards import MAX_OPENING_TURNS
from cc_env.envs.opponents import AnyOpponent
from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.errors import BadOption, UnknownKeyword, check_integer, check_number_of_games
from cc_env.match.confidence import clustered_interval
from cc_env.match.openings import exact_opening

# observations int8[N, C, H, W] and masks int8[N, A] -> legal actions int[N]
VectorPolicy = Callable[[NDArray[np.int8], NDArray[np.int8]], object]

MAX_GAMES = 2**20
# Share of repeated games above which `score` warns.
MAX_REPEATED_SHARE = 0.1


class RepeatedGames(UserWarning):
    """Many games of a score are identical; only different games count for its interval."""


@dataclass(frozen=True)
class Score:
    """The mean points of a policy, 1 for a win and 0.5 for a draw, with their 95 % interval.

    The two games of an opening count as a unit of the interval, as in the arena
    (`cc_env.match.confidence.clustered_interval`), and units of the same moves count once.
    """

    value: float
    low: float
    high: float
    games: int
    distinct_games: int

    def __str__(self) -> str:
        points = f"{self.value:.1%} ({self.low:.1%} to {self.high:.1%})"
        return f"{points} in {self.games} games, {self.distinct_games} of them different"


def score(
    choose: VectorPolicy,
    game: str,
    opponent: AnyOpponent = "random",
    games: int = 200,
    seed: int = 0,
    opening_turns: int = 4,
    **arguments: Any,
) -> Score:
    """Play games of a policy from random openings, and return its score.

    Each opening, a position after exactly `opening_turns` random turns, is played from both seats.
    `arguments` are those of `BoardGameVectorEnv` except num_envs, seat, autoreset_mode and
    max_opening_turns, and the game's options. Warns of RepeatedGames. Raises BadOption for an odd
    number of games, for games that end during the opening, without an opponent, and for bad values
    of `arguments`; IllegalAction if the policy chooses an illegal action.

    Examples:

        >>> from cc_env.envs import score
        >>> def first_legal_action(observations, masks):
        ...     return masks.argmax(axis=1)
        >>> result = score(first_legal_action, "capture_conquer", opponent="random", games=20)
        >>> result.low <= result.value <= result.high
        True
        >>> result.games
        20
    """
    _check_arguments(opponent, arguments)
    check_number_of_games(games, MAX_GAMES)
    opening_turns = check_integer("opening_turns", opening_turns, 0, MAX_OPENING_TURNS)
    seeds = np.random.SeedSequence(as_seed(seed)).spawn(3)
    make_envs = partial(
        BoardGameVectorEnv,
        game,
        games // 2,
        opponent=opponent,
        autoreset_mode=AutoresetMode.NEXT_STEP,
        **arguments,
    )
    points: list[float] = []
    hashes: list[list[int]] = []
    with closing(make_envs(seat=0)) as first, closing(make_envs(seat=1)) as second:
        rng = np.random.default_rng(seeds[2])
        openings = [_opening(first.game, opening_turns, rng) for _ in range(games // 2)]
        starts = list(map(first.game.to_text, openings))
        for seat, envs in enumerate((first, second)):
            stream = int(seeds[seat].generate_state(1)[0])
            seat_points, seat_hashes = _play_first_games(choose, envs, starts, stream)
            points += seat_points
            hashes.append(seat_hashes)
    distinct = sum(len(set(seat_hashes)) for seat_hashes in hashes)
    _warn_of_repeats(games, distinct)
    pairs = [hash(games_of_opening) for games_of_opening in zip(*hashes, strict=True)]
    interval = clustered_interval(np.array(points), np.array(2 * pairs))
    return Score(*interval, games, distinct)


def _check_arguments(opponent: object, arguments: dict[str, object]) -> None:
    """Raise BadOption without an opponent, UnknownKeyword for arguments that `score` sets."""
    if opponent is None:
        expected = "a player spec, a player, a function, an Opponent, or several of them"
        raise BadOption(f"opponent=None; expected: {expected}")
    reserved_names = "num_envs", "seat", "autoreset_mode", "max_opening_turns"
    if conflicts := [name for name in reserved_names if name in arguments]:
        error = f"score() got an unexpected keyword argument '{conflicts[0]}'"
        reason = "score() plays all games at once, half of them in each seat, after opening_turns"
        raise UnknownKeyword(f"{error}; {reason} random turns; omit it")


def _opening(game: Game, turns: int, rng: np.random.Generator) -> Position:
    """Return a position after random turns in which no turn ends the game; raise BadOption.

    Both players thus have a decision.
    """

    def continues(position: Position) -> bool:
        after = (game.play_turn(position, turn) for turn in game.turns(position))
        return all(game.outcome(next_position) == ONGOING for next_position in after)

    return exact_opening(game, turns, rng, continues)


def _play_first_games(
    choose: VectorPolicy, envs: BoardGameVectorEnv, starts: list[str], seed: int
) -> tuple[list[float], list[int]]:
    """Return the points of the first game on each board, and a hash of its start and its course.

    The course has the actions of the policy and the position after each of them.
    """
    points = np.full(envs.num_envs, np.nan)
    hashes = list(map(hash, starts))
    observations, infos = envs.reset(seed=seed, options={"position": starts})
    while np.isnan(points).any():
        running = np.flatnonzero(np.isnan(points))
        actions = np.asarray(choose(observations, infos["action_mask"]))
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        for board in running.tolist():
            hashes[board] = hash((hashes[board], actions[board], envs.position(board)))
        ended = running[(terminated | truncated)[running]]
        points[ended] = (1 + rewards[ended]) / 2
    return points.tolist(), hashes


def _warn_of_repeats(games: int, distinct: int) -> None:
    if games - distinct > MAX_REPEATED_SHARE * games:
        text = f"of {games} games only {distinct} are different"
        warnings.warn(f"{text}; use more opening_turns", RepeatedGames, stacklevel=3)
