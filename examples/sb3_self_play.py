"""Stable-Baselines3: MaskablePPO learns by playing itself, and snapshots of itself, on many boards.

Run        python -m examples.sb3_self_play --steps 1000000
Reached    100.0 % (63.0 % untrained) in 416 s of CPU time;
           on 4×4 in 16,000 steps 96.0 % (53.0 %), 9 s

A callback adds a snapshot of the policy to the opponents at regular intervals; half of the games
are against the current policy. `python -m training.ppo` also selects snapshots by their strength.
"""

import argparse

import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from cc_env.envs.opponents import Opponent
from cc_env.envs.sb3 import OpponentVecEnv, copy_policy, wrap_policy
from cc_env.envs.scoring import score

SNAPSHOTS = 5


class Snapshots(BaseCallback):
    """Adds a snapshot of the policy to the opponents every `every` steps, up to SNAPSHOTS."""

    def __init__(self, env: OpponentVecEnv, every: int) -> None:
        super().__init__()
        self.env, self.every = env, every

    def _on_rollout_start(self) -> None:
        # One of the opponents is the policy itself.
        snapshots = len(self.env.opponents) - 1
        if self.num_timesteps >= self.every * (snapshots + 1) and snapshots < SNAPSHOTS:
            name = f"after {self.num_timesteps} steps"
            choose = wrap_policy(copy_policy(self.model.policy))
            self.env.opponents.append(Opponent(name, choose, share=1 / SNAPSHOTS))

    def _on_step(self) -> bool:
        return True


def main(size: int = 6, steps: int = 1_000_000, seed: int = 1) -> tuple[float, float]:
    """Train; return the scores against random play, which is no opponent, before and after."""
    env = OpponentVecEnv("capture_conquer", 64, size=size)
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=32, batch_size=256, learning_rate=1e-3, gamma=0.97, seed=seed
    )
    env.opponents[:] = [Opponent("itself", wrap_policy(model.policy))]

    def choose(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        return model.predict(observations, action_masks=masks, deterministic=True)[0]

    before = score(choose, "capture_conquer", size=size).value
    model.learn(steps, callback=Snapshots(env, steps // (SNAPSHOTS + 1)))
    return before, score(choose, "capture_conquer", size=size).value


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=6, help="Size of the board, 4 to 8.")
    parser.add_argument("--steps", type=int, default=1_000_000, help="Steps of the learner.")
    print(main(**vars(parser.parse_args())))
