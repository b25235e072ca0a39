"""The environment in which PPO and DQN learn, and its state for checkpoints.

Shapes: N boards, F fields of a position.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from agents.weight_files import AnyArray, checked_array
from cc_env.core.game import Game
from cc_env.envs.boards import Boards
from cc_env.envs.opponents import AnyOpponent
from cc_env.envs.sb3 import OpponentVecEnv
from cc_env.errors import BadCheckpoint, BadPosition
from cc_env.jit.compiler import jit
from cc_env.match.match import Limits, effective_repetition_limit
from cc_env.search.scores import expected_result
from training.runs.state import MAX_NUMBER
from training.selfplay.search_games import evaluate_positions


class SelfPlayEnv(OpponentVecEnv):
    """`OpponentVecEnv` with the limits of the arena, other rewards for draws, and reward shaping.

    A game that reaches a limit is drawn. A draw is rewarded with -`contempt`. With the weight
    `shaping`, which may change at any time, a decision is also rewarded with the change of the
    potential: shaping * (gamma * after - before). With a constant weight, and the learner's
    discount `gamma`, this does not change which policy is best (Ng, Harada and Russell, "Policy
    invariance under reward transformations", 1999). The potential is the result, -1 to 1, that the
    game's default evaluation expects for the learner; it is 0 after the end of a game. The returns
    in infos include neither.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int,
        opponents: AnyOpponent,
        *,
        seed: int,
        gamma: float = 0.99,
        contempt: float = 0,
        **options: Any,
    ) -> None:
        """Create boards without reward shaping; `options` are further ones of `OpponentVecEnv`."""
        limits = Limits()
        super().__init__(
            game.name,
            num_envs,
            opponents=opponents,
            max_turns=limits.max_turns,
            repetitions=effective_repetition_limit(game, limits.repetitions),
            draw_at_limits=True,
            **{**options, **game.options},
        )
        self.shaping = 0.0
        self._gamma, self._contempt = gamma, contempt
        self.seed(seed)

    def step_wait(self) -> VecEnvStepReturn:
        """Play the stored actions and the replies; the rewards have contempt and shaping."""
        before = self.potentials() if self.shaping else 0
        observations, rewards, dones, infos = super().step_wait()
        rewards[dones & (rewards == 0)] = -self._contempt
        if self.shaping:
            after = np.where(dones, 0, self.potentials())
            rewards += (self.shaping * (self._gamma * after - before)).astype(np.float32)
        return observations, rewards, dones, infos

    def potentials(self) -> NDArray[np.float64]:
        """Return the potentials of the current positions, float64[N], -1 to 1."""
        # The learner is to move.
        scores = evaluate_positions(self.game, self.game.evaluation(), self.boards.positions)
        results = np.empty(len(scores))
        _write_expected_results(scores, results)
        return results


@jit
def _write_expected_results(scores: NDArray[np.int64], results: NDArray[np.float64]) -> None:
    for index in range(len(scores)):
        results[index] = expected_result(scores[index])


def state(env: OpponentVecEnv) -> dict[str, AnyArray]:
    """Return copies of the state between steps.

    The arrays boards.NAME are those of `Boards.snapshot`; `lengths`, int64[N], are the numbers of
    decisions in the games so far.
    """
    boards = {f"boards.{name}": array for name, array in env.boards.snapshot().items()}
    return {**boards, "lengths": env.lengths.copy()}


def load(env: OpponentVecEnv, arrays: Mapping[str, AnyArray]) -> None:
    """Restore the arrays of `state`.

    Raises BadCheckpoint, and changes nothing, if the arrays are not a valid state.
    """
    current = state(env)
    saved = {
        name: checked_array(arrays, name, like.shape, like.dtype) for name, like in current.items()
    }
    low, high = saved["lengths"].min(), saved["lengths"].max()
    if low < 0 or high > MAX_NUMBER:
        raise BadCheckpoint(f"lengths has {low} to {high}; expected: 0 to {MAX_NUMBER}")
    before = env.boards.snapshot()
    env.boards.restore({name: saved[f"boards.{name}"] for name in before})
    try:
        _check(env.boards, len(env.opponents))
        _check_history(env.boards, saved["lengths"])
    except BadCheckpoint:
        env.boards.restore(before)
        raise
    env.lengths[:] = saved["lengths"]


def _check(boards: Boards, opponents: int) -> None:
    """Raise BadCheckpoint if boards restored from a file are inconsistent.

    On each board a game against one of the `opponents` is in progress, the learner is to move, and
    masks and observations agree with the position.
    """
    game, indices = boards.game, boards.opponents
    if not (indices < opponents).all() or (indices < -1).any():
        valid = f"-1 to {opponents - 1}"
        raise BadCheckpoint(
            f"boards: opponents {indices.min()} to {indices.max()}; expected: {valid}"
        )
    every = range(boards.count)
    try:
        for rows in (boards.positions, boards.positions_before):
            game.check_positions(rows)
    except BadPosition as error:
        raise BadCheckpoint(f"boards: {error}") from None
    masks = np.array([game.action_mask(boards.position(board)) for board in every])
    movers = [game.to_move(boards.position(board)) for board in every]
    is_consistent = (
        not boards.done.any()
        and masks.any(1).all()
        and all(boards.turns(board) < boards.max_turns for board in every)
        and all(np.array_equal(movers, seats) for seats in (boards.seats, boards.to_move))
        and np.array_equal(masks, boards.masks)
        and np.array_equal(boards.observe_movers(np.arange(boards.count)), boards.observations)
    )
    if not is_consistent:
        raise BadCheckpoint("boards: seats, masks or observations disagree with the positions")


def _check_history(boards: Boards, lengths: NDArray[np.int64]) -> None:
    """Raise BadCheckpoint if the history of consistent boards contradicts their games.

    `lengths`, int64[N], are 0 before the learner's first decision. Repetitions are counted by keys;
    the newest one belongs to the position in which the current turn began.
    """
    snapshot = boards.snapshot()
    keys = snapshot["keys"]
    if not np.array_equal(snapshot["episode_has_step"], lengths > 0):
        raise BadCheckpoint("lengths: 0 in a game with decisions, or more in one without")
    for board in range(boards.count if keys.shape[1] else 0):
        position = boards.position(board)
        if boards.game.mid_turn(position):
            position = boards.game.make_position(boards.positions_before[board])
        if keys[board, boards.turns(board) % keys.shape[1]] != boards.game.key(position):
            raise BadCheckpoint(
                "boards: the keys that count repetitions do not contain that of the position"
            )
