"""How well a policy plays: whole games against a player, many at once.

Shapes: N boards, A actions; C planes, H rows and W columns of an observation.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.errors import BadOption, is_whole
from cc_env.players import Function
from cc_env.referee import Player

# observations int8[N, C, H, W] and masks int8[N, A] -> legal actions int[N]
Policy = Callable[[NDArray[np.int8], NDArray[np.int8]], Any]


def score(
    choose: Policy,
    game: str,
    opponent: str | Player | Function = "random",
    games: int = 200,
    seed: int = 0,
    **arguments: Any,
) -> float:
    """Return the mean points, 1 for a win and 0.5 for a draw, of a policy in so many games.

    It plays half of them in each seat. The other arguments are those of `BoardGameVectorEnv`, the
    options of the game among them. Raises BadOption for an odd number of games, and as the
    environment does; IllegalAction where the policy chooses what is not legal.
    """
    if not is_whole(games, 2) or games % 2:
        raise BadOption(f"games={games!r}; it is an even number, half of them for each seat")
    points = []
    for seat in (0, 1):
        envs = BoardGameVectorEnv(
            game,
            games // 2,
            opponent=opponent,
            seat=seat,
            autoreset_mode=AutoresetMode.SAME_STEP,
            **arguments,
        )
        points += _first_games(choose, envs, seed + seat)
    return float(np.mean(points))


def _first_games(choose: Policy, envs: BoardGameVectorEnv, seed: int) -> list[float]:
    """Return the points of the first game on each board."""
    points = np.full(envs.num_envs, np.nan)
    observations, infos = envs.reset(seed=seed)
    while np.isnan(points).any():
        actions = np.asarray(choose(observations, infos["action_mask"]))
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        ended = (terminated | truncated) & np.isnan(points)
        points[ended] = (1 + rewards[ended]) / 2
    return list(points)
