"""The environment of self-play: boards against a pool, from random openings, as a run saves it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.arrays import expect
from cc_env.envs.boards import Boards
from cc_env.envs.opponents import Opponent
from cc_env.envs.sb3 import OpponentVecEnv
from cc_env.errors import BadCheckpoint, BadPosition
from cc_env.game import Game
from cc_env.match import Limits, limit_of_repetitions
from cc_env.openings import opening

OPENINGS = 2048  # positions that games begin at


def make(
    game: Game, count: int, opponents: Sequence[Opponent], opening_turns: int, seed: int
) -> OpponentVecEnv:
    """Return boards whose games begin after 0 to `opening_turns` random turns.

    The limits are the arena's, and draws as there.
    """
    rng = np.random.default_rng(seed)
    openings = np.array([opening(game, opening_turns, rng) for _ in range(OPENINGS)], np.uint64)
    limits = Limits()
    env = OpponentVecEnv(
        game.name,
        count,
        opponents=opponents,
        max_turns=limits.max_turns,
        repetitions=limit_of_repetitions(game, limits.repetitions),
        draw_at_limits=True,
        starts=lambda count, rng: openings[rng.integers(OPENINGS, size=count)],
        **game.options,
    )
    env.seed(seed)
    return env


def state(env: OpponentVecEnv) -> dict[str, NDArray[Any]]:
    """Return copies of all that goes on from step to step, but `rng`."""
    boards = {f"boards.{n}": each for n, each in enumerate(env.boards.snapshot())}
    return {**boards, "met": env.met.copy(), "lengths": env.lengths.copy()}


def load(env: OpponentVecEnv, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Go on with what `state` returned after a step.

    Raises BadCheckpoint, and changes nothing, where that cannot be.
    """
    own = state(env)
    found = {name: expect(arrays, name, each.shape, each.dtype) for name, each in own.items()}
    if not ((found["met"] >= 0) & (found["met"] < len(env.opponents))).all():
        raise BadCheckpoint("met has numbers that are none of an opponent")
    if (found["lengths"] < 0).any():
        raise BadCheckpoint("lengths has numbers below 0")
    before = env.boards.snapshot()
    env.boards.restore([found[f"boards.{n}"] for n in range(len(before))])
    try:
        _check(env.boards)
    except BadCheckpoint:
        env.boards.restore(before)
        raise
    env.met[:], env.lengths[:] = found["met"], found["lengths"]


def _check(boards: Boards) -> None:
    """Raise BadCheckpoint where the boards, restored from a file, cannot be.

    On all of them a game goes on, in which the learner is to move and sees what there is.
    """
    game, every = boards.game, range(boards.count)
    try:
        for rows in (boards.positions, boards.positions_before):
            game.check_words(rows)
    except BadPosition as error:
        raise BadCheckpoint(f"boards: {error}") from None
    masks = np.array([game.action_mask(boards.position(board)) for board in every])
    movers = [game.to_move(boards.position(board)) for board in every]
    is_whole = (
        not boards.done.any()
        and masks.any(1).all()
        and all(boards.turns(board) < boards.max_turns for board in every)
        and all(np.array_equal(movers, each) for each in (boards.seats, boards.to_move))
        and np.array_equal(masks, boards.masks)
        and np.array_equal(boards.seen_by_movers(np.arange(boards.count)), boards.observations)
    )
    if not is_whole:
        raise BadCheckpoint("boards: what is noted of the positions is not what they are")
